"""Least squares."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from discreet.bounds import Array
from discreet.losses.base import Loss, Regularity, Target, scalar_regularity
from discreet.losses.scalar import ScalarSlope


def _slope(z: float, y: float) -> float:
    return z - y


@dataclass(frozen=True)
class Squared(Loss):
    """Half the squared error, ``(y - z)^2 / 2``.

    The curvature is 1. The slope is bounded by ``label + reach``, hence only
    when both the label and the prediction are bounded; otherwise clip its
    gradient, which turns it into a Huber loss row by row.

    References
    ----------
    Kifer, Smith, Thakurta, *Private convex empirical risk minimization and
    high-dimensional regression*, COLT 2012.

    Examples
    --------
    >>> Squared().value(np.array([3.0]), np.array([1.0]))
    array([2.])
    >>> Squared().regularity(label=1.0, reach=2.0).lipschitz
    3.0
    """

    name: ClassVar[str] = "squared"
    proved_convex: ClassVar[bool] = True
    range_at_extreme_labels: ClassVar[bool] = True
    curvature_unimodal: ClassVar[bool] = True
    quadratic: ClassVar[bool] = True
    nonnegative: ClassVar[bool] = True
    target: ClassVar[Target] = "real"

    def value(self, z: Array, y: Array) -> Array:
        return np.asarray(0.5 * (z - y) ** 2)

    def slope(self, z: Array, y: Array) -> Array:
        return z - y

    def scalar_slope(self) -> tuple[ScalarSlope, tuple[float, ...]]:
        return _slope, ()

    def curvature(self, z: Array, y: Array) -> Array:
        return np.ones_like(z)

    def regularity(self, *, label: float, reach: float) -> Regularity:
        return scalar_regularity(slopes=(label + reach, label + reach), smoothness=1.0)

    def slope_inverse(self, level: Array, y: Array) -> Array:
        return y + level
