"""Noise on the objective, on its minimiser, or on the sums it is made of."""

from discreet.algorithms.perturbation.noisy_covariance import NoisyCovariance
from discreet.algorithms.perturbation.objective_perturbation import (
    ObjectivePerturbation,
    ObjectivePerturbationPlan,
    many_rows,
)
from discreet.algorithms.perturbation.output_perturbation import OutputPerturbation
from discreet.algorithms.perturbation.recentred import RecentredPerturbation
from discreet.algorithms.perturbation.second_moments import (
    SecondMoments,
    packed,
    unpacked,
)
from discreet.algorithms.perturbation.sufficient_statistics import (
    SufficientStatistics,
    SufficientStatisticsPlan,
    stein_strength,
)

__all__ = [
    "NoisyCovariance",
    "ObjectivePerturbation",
    "ObjectivePerturbationPlan",
    "OutputPerturbation",
    "RecentredPerturbation",
    "SecondMoments",
    "SufficientStatistics",
    "SufficientStatisticsPlan",
    "many_rows",
    "packed",
    "stein_strength",
    "unpacked",
]
