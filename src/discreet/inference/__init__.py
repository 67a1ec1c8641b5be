"""Intervals of coefficients: for the table without its noise, or for the population."""

from discreet.inference.augmented_moments import AugmentedMomentsPlan
from discreet.inference.base import TARGETS, Inference, InferredRelease
from discreet.inference.choosing import REASONS, algorithm_with_intervals, with_intervals
from discreet.inference.curvature_intervals import CurvatureIntervals
from discreet.inference.curvature_release import CurvaturePlan, with_curvature
from discreet.inference.descent_law import arriving_steps
from discreet.inference.moment_intervals import MomentIntervals
from discreet.inference.summary import Summary

INTERVALS: tuple[type[Inference], ...] = (MomentIntervals, CurvatureIntervals)
"""What a fit may leave behind for intervals, one class for every method."""

__all__ = [
    "INTERVALS",
    "REASONS",
    "TARGETS",
    "AugmentedMomentsPlan",
    "CurvatureIntervals",
    "CurvaturePlan",
    "Inference",
    "InferredRelease",
    "MomentIntervals",
    "Summary",
    "algorithm_with_intervals",
    "arriving_steps",
    "with_curvature",
    "with_intervals",
]
