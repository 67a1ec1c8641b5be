"""The absolute error: least absolute deviations."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from discreet.bounds import Array
from discreet.losses.base import Loss, Regularity, Target, crossing, scalar_regularity
from discreet.losses.pinball import SmoothedQuantile
from discreet.losses.scalar import ScalarSlope


def _absolute_slope(z: float, y: float) -> float:
    below = -1.0 if z < y else 0.0
    return 1.0 if z > y else below


@dataclass(frozen=True)
class Absolute(Loss):
    """The absolute error ``|y - z|``: slope in [-1, 1], not smooth.

    References
    ----------
    Koenker, Bassett, *Regression quantiles*, Econometrica 46 (1978).

    Examples
    --------
    >>> Absolute().value(np.array([3.0]), np.array([1.0]))
    array([2.])
    """

    name: ClassVar[str] = "absolute"
    proved_convex: ClassVar[bool] = True
    range_at_extreme_labels: ClassVar[bool] = True
    nonnegative: ClassVar[bool] = True
    smoothed: ClassVar[str | None] = "huber"
    target: ClassVar[Target] = "real"

    def value(self, z: Array, y: Array) -> Array:
        return np.abs(z - y)

    def slope(self, z: Array, y: Array) -> Array:
        return np.sign(z - y)

    def scalar_slope(self) -> tuple[ScalarSlope, tuple[float, ...]]:
        return _absolute_slope, ()

    def curvature(self, z: Array, y: Array) -> Array:
        return np.zeros_like(z)

    def regularity(self, *, label: float, reach: float) -> Regularity:
        return scalar_regularity(slopes=(1.0, 1.0), smoothness=math.inf)

    def slope_inverse(self, level: Array, y: Array) -> Array:
        return crossing(level, -1.0, 1.0, y)

    def corner(self, y: Array) -> tuple[Array, Array, Array]:
        return y, np.full_like(y, -1.0), np.ones_like(y)

    def rounded(self, width: float) -> tuple[Loss, float]:
        return SmoothedQuantile(quantile=0.5, width=width), 2.0
