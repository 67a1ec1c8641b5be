"""Fits of made-up rows: what a plan is worth, before any data exists."""

from discreet.rehearsal.rehearse import rehearse
from discreet.rehearsal.verdicts import Rehearsal

__all__ = ["Rehearsal", "rehearse"]
