"""Sparse models: choose a few features privately, then fit on them alone."""

from discreet.algorithms.support.support_selection import SupportSelection

__all__ = [
    "SupportSelection",
]
