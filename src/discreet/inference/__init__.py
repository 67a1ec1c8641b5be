"""Intervals of coefficients: for the table without its noise, or for the population."""

from discreet.inference.augmented_moments import AugmentedMomentsPlan
from discreet.inference.base import TARGETS, Inference, InferredRelease
from discreet.inference.choosing import REASONS, algorithm_with_intervals, with_intervals
from discreet.inference.moment_intervals import MomentIntervals
from discreet.inference.summary import Summary

INTERVALS: tuple[type[Inference], ...] = (MomentIntervals,)
"""What a fit may leave behind for intervals, one class for every method."""

__all__ = [
    "INTERVALS",
    "REASONS",
    "TARGETS",
    "AugmentedMomentsPlan",
    "Inference",
    "InferredRelease",
    "MomentIntervals",
    "Summary",
    "algorithm_with_intervals",
    "with_intervals",
]
