"""Algorithms: one file each, and one line in the table below."""

from __future__ import annotations

from collections.abc import Callable

from discreet.algorithms.frank_wolfe import FrankWolfe
from discreet.algorithms.gradient import BoltOn, MirrorDescent, NoisyGradient, NoisyNewton
from discreet.algorithms.perturbation import (
    ObjectivePerturbation,
    OutputPerturbation,
    RecentredPerturbation,
    SufficientStatistics,
)
from discreet.algorithms.purification import Purification
from discreet.algorithms.sampling import ExponentialSampling, Localization
from discreet.algorithms.stream import FTRL
from discreet.algorithms.support import SupportSelection
from discreet.parts import Table
from discreet.problem import Algorithm

ALGORITHMS = Table[Callable[..., Algorithm]](
    "discreet.algorithms",
    (
        ObjectivePerturbation,
        RecentredPerturbation,
        OutputPerturbation,
        BoltOn,
        SufficientStatistics,
        FrankWolfe,
        SupportSelection,
        NoisyGradient,
        MirrorDescent,
        NoisyNewton,
        FTRL,
        ExponentialSampling,
        Localization,
        Purification,
    ),
    lambda part: isinstance(part, type) and hasattr(part, "name") and hasattr(part, "plan"),
)
"""Algorithms by name, and those of installed packages.

The n^2-step algorithm of :mod:`discreet.algorithms.gradient.bst14` is not listed: its noise
is as printed in 2014, whatever the relation, and not calibrated to the budget.
"""

__all__ = [
    "ALGORITHMS",
    "FTRL",
    "BoltOn",
    "ExponentialSampling",
    "FrankWolfe",
    "Localization",
    "MirrorDescent",
    "NoisyGradient",
    "NoisyNewton",
    "ObjectivePerturbation",
    "OutputPerturbation",
    "Purification",
    "RecentredPerturbation",
    "SufficientStatistics",
    "SupportSelection",
]
