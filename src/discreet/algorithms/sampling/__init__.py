"""Exponential mechanisms over weights: points drawn with density exp(-c * objective)."""

from discreet.algorithms.sampling.exponential_sampling import ExponentialSampling
from discreet.algorithms.sampling.localization import Localization
from discreet.algorithms.sampling.sensitivity import MOST_ROWS

__all__ = [
    "MOST_ROWS",
    "ExponentialSampling",
    "Localization",
]
