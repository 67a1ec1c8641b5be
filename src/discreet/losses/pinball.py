"""Quantile regression: the pinball loss and its smoothed form."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from discreet.bounds import Array
from discreet.checks import between, positive
from discreet.losses.base import Loss, Regularity, Target, crossing, scalar_regularity
from discreet.losses.scalar import ScalarSlope


def _slope(z: float, y: float, quantile: float) -> float:
    above = 1.0 - quantile if z > y else 0.0
    return -quantile if z < y else above


def _smoothed_slope(z: float, y: float, quantile: float, width: float) -> float:
    return min(max((z - y) / width, -quantile), 1.0 - quantile)


@dataclass(frozen=True, kw_only=True)
class Quantile(Loss):
    """The pinball loss ``max(q t, (q - 1) t)`` with ``t = y - z`` and ``q = quantile``.

    The slope in ``z`` lies in ``[-q, 1 - q]``. It jumps at ``z = y``, so
    objective perturbation refuses it; use :class:`SmoothedQuantile` there.

    References
    ----------
    Koenker, Bassett, *Regression quantiles*, Econometrica 46 (1978).

    Examples
    --------
    >>> Quantile(quantile=0.9).value(np.array([0.0, 2.0]), np.array([1.0, 1.0])).round(6)
    array([0.9, 0.1])
    """

    quantile: float = 0.5
    name: ClassVar[str] = "quantile"
    proved_convex: ClassVar[bool] = True
    range_at_extreme_labels: ClassVar[bool] = True
    nonnegative: ClassVar[bool] = True
    smoothed: ClassVar[str | None] = "smoothed-quantile"
    target: ClassVar[Target] = "real"

    def __post_init__(self) -> None:
        between("quantile", self.quantile, 0.0, 1.0)

    def value(self, z: Array, y: Array) -> Array:
        t = y - z
        return np.maximum(self.quantile * t, (self.quantile - 1.0) * t)

    def slope(self, z: Array, y: Array) -> Array:
        return np.where(z < y, -self.quantile, np.where(z > y, 1.0 - self.quantile, 0.0))

    def scalar_slope(self) -> tuple[ScalarSlope, tuple[float, ...]]:
        return _slope, (self.quantile,)

    def curvature(self, z: Array, y: Array) -> Array:
        return np.zeros_like(z)

    def regularity(self, *, label: float, reach: float) -> Regularity:
        return scalar_regularity(slopes=(self.quantile, 1.0 - self.quantile), smoothness=math.inf)

    def slope_inverse(self, level: Array, y: Array) -> Array:
        return crossing(level, -self.quantile, 1.0 - self.quantile, y)

    def corner(self, y: Array) -> tuple[Array, Array, Array]:
        return y, np.full_like(y, -self.quantile), np.full_like(y, 1.0 - self.quantile)

    def rounded(self, width: float) -> tuple[Loss, float]:
        return SmoothedQuantile(quantile=self.quantile, width=width), 1.0


@dataclass(frozen=True, kw_only=True)
class SmoothedQuantile(Loss):
    """The pinball loss with its corner rounded over a span of ``width``.

    With ``t = y - z``, ``q = quantile`` and ``k = width`` it is
    ``t^2 / (2 k)`` for ``(q - 1) k <= t <= q k`` and linear outside. The slope
    in ``z`` lies in ``[-q, 1 - q]``; the curvature is at most ``1 / k``.

    References
    ----------
    Chen, *A finite smoothing algorithm for quantile regression*, Journal of
    Computational and Graphical Statistics 16 (2007).

    Examples
    --------
    >>> loss = SmoothedQuantile(quantile=0.9, width=0.5)
    >>> loss.slope(np.array([-2.0, 1.0, 3.0]), np.array([1.0, 1.0, 1.0])).round(6) + 0.0
    array([-0.9,  0. ,  0.1])
    """

    quantile: float = 0.5
    width: float = 0.5
    name: ClassVar[str] = "smoothed-quantile"
    proved_convex: ClassVar[bool] = True
    range_at_extreme_labels: ClassVar[bool] = True
    curvature_unimodal: ClassVar[bool] = True
    nonnegative: ClassVar[bool] = True
    target: ClassVar[Target] = "real"

    def __post_init__(self) -> None:
        between("quantile", self.quantile, 0.0, 1.0)
        positive("width", self.width)

    def value(self, z: Array, y: Array) -> Array:
        slope = self.slope(z, y)
        return slope * (z - y) - 0.5 * self.width * slope**2

    def slope(self, z: Array, y: Array) -> Array:
        return np.clip((z - y) / self.width, -self.quantile, 1.0 - self.quantile)

    def scalar_slope(self) -> tuple[ScalarSlope, tuple[float, ...]]:
        return _smoothed_slope, (self.quantile, self.width)

    def curvature(self, z: Array, y: Array) -> Array:
        t = (z - y) / self.width
        inside = (-self.quantile < t) & (t < 1.0 - self.quantile)
        return np.where(inside, 1.0 / self.width, 0.0)

    def regularity(self, *, label: float, reach: float) -> Regularity:
        return scalar_regularity(
            slopes=(self.quantile, 1.0 - self.quantile), smoothness=1.0 / self.width
        )

    def slope_inverse(self, level: Array, y: Array) -> Array:
        return crossing(level, -self.quantile, 1.0 - self.quantile, y + self.width * level)
