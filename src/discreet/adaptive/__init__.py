"""Accuracy first: the least privacy loss that meets an accuracy target.

Models come from private to accurate along one path of shrinking noise
(:mod:`~discreet.adaptive.noise_reduction`, :mod:`~discreet.adaptive.paths`). A
run stops by a certificate made of released values, by a private test, or needs
neither because the epsilon was worked out from the target.
"""

from discreet.adaptive.above_threshold import METRICS, AboveThreshold, Sensitivity
from discreet.adaptive.certified_stop import Certificate, certified
from discreet.adaptive.doubling import Doubling
from discreet.adaptive.methods import METHODS, AccuracyPlan, choose
from discreet.adaptive.noise_reduction import (
    BrownianReduction,
    GammaReduction,
    IntegerLaplaceReduction,
    LaplaceReduction,
    geometric_levels,
)
from discreet.adaptive.one_shot import OneShot
from discreet.adaptive.outcome import Outcome, Step
from discreet.adaptive.paths import OutputPath, StatisticsPath
from discreet.adaptive.query import Query
from discreet.adaptive.task import Task
from discreet.adaptive.threshold_stop import ThresholdStop

__all__ = [
    "METHODS",
    "METRICS",
    "AboveThreshold",
    "AccuracyPlan",
    "BrownianReduction",
    "Certificate",
    "Doubling",
    "GammaReduction",
    "IntegerLaplaceReduction",
    "LaplaceReduction",
    "OneShot",
    "Outcome",
    "OutputPath",
    "Query",
    "Sensitivity",
    "StatisticsPath",
    "Step",
    "Task",
    "ThresholdStop",
    "certified",
    "choose",
    "geometric_levels",
]
