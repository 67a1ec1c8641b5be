"""Robust regression."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from discreet.bounds import Array
from discreet.checks import positive
from discreet.losses.base import Loss, Regularity, Target, crossing, scalar_regularity
from discreet.losses.scalar import ScalarSlope


def _slope(z: float, y: float, threshold: float) -> float:
    return min(max(z - y, -threshold), threshold)


@dataclass(frozen=True, kw_only=True)
class Huber(Loss):
    """Half the squared error up to ``threshold``, linear beyond.

    With ``t = y - z`` and ``k = threshold`` it is ``t^2 / 2`` for ``|t| <= k``
    and ``k |t| - k^2 / 2`` beyond. The slope lies in ``[-k, k]`` whatever the
    label; the curvature is at most 1.

    References
    ----------
    Huber, *Robust estimation of a location parameter*, Annals of Mathematical
    Statistics 35 (1964).

    Examples
    --------
    >>> Huber(threshold=1.0).value(np.array([0.5, 3.0]), np.array([0.0, 0.0]))
    array([0.125, 2.5  ])
    """

    threshold: float = 1.0
    name: ClassVar[str] = "huber"
    proved_convex: ClassVar[bool] = True
    range_at_extreme_labels: ClassVar[bool] = True
    curvature_unimodal: ClassVar[bool] = True
    nonnegative: ClassVar[bool] = True
    target: ClassVar[Target] = "real"

    def __post_init__(self) -> None:
        positive("threshold", self.threshold)

    def value(self, z: Array, y: Array) -> Array:
        slope = self.slope(z, y)
        return slope * (z - y) - 0.5 * slope**2

    def slope(self, z: Array, y: Array) -> Array:
        return np.clip(z - y, -self.threshold, self.threshold)

    def scalar_slope(self) -> tuple[ScalarSlope, tuple[float, ...]]:
        return _slope, (self.threshold,)

    def curvature(self, z: Array, y: Array) -> Array:
        return np.where(np.abs(z - y) < self.threshold, 1.0, 0.0)

    def regularity(self, *, label: float, reach: float) -> Regularity:
        # privacy: a bound that holds within reach is enough, because a scalar loss may be
        # continued linearly beyond it without moving the constrained minimiser.
        bound = min(self.threshold, label + reach)
        return scalar_regularity(slopes=(bound, bound), smoothness=1.0)

    def slope_inverse(self, level: Array, y: Array) -> Array:
        return crossing(level, -self.threshold, self.threshold, y + level)
