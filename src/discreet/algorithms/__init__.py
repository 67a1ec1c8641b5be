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
from discreet.problem import Algorithm

ALGORITHMS: dict[str, Callable[..., Algorithm]] = {
    ObjectivePerturbation.name: ObjectivePerturbation,
    RecentredPerturbation.name: RecentredPerturbation,
    OutputPerturbation.name: OutputPerturbation,
    BoltOn.name: BoltOn,
    SufficientStatistics.name: SufficientStatistics,
    FrankWolfe.name: FrankWolfe,
    SupportSelection.name: SupportSelection,
    NoisyGradient.name: NoisyGradient,
    MirrorDescent.name: MirrorDescent,
    NoisyNewton.name: NoisyNewton,
    FTRL.name: FTRL,
    ExponentialSampling.name: ExponentialSampling,
    Localization.name: Localization,
    Purification.name: Purification,
}
"""Algorithms by name.

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
