"""Distances: least absolute deviations and the geometric median."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from discreet.checks import integer
from discreet.losses.base import Loss, Regularity, Target, crossing, scalar_regularity
from discreet.losses.scalar import ScalarSlope
from discreet.types import Array


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


@dataclass(frozen=True, kw_only=True)
class EuclideanDistance(Loss):
    """The distance ``||z - y||_2`` to a point ``y`` of ``dim`` coordinates.

    With the single feature ``x = 1`` the minimiser of its sum is the geometric
    median. The slope is a unit vector; it jumps at ``z = y``, so the loss is
    not smooth. For a single coordinate use :class:`Absolute`.

    References
    ----------
    Bassily, Smith, Thakurta, *Private empirical risk minimization: efficient
    algorithms and tight error bounds*, FOCS 2014.

    Examples
    --------
    >>> EuclideanDistance(dim=2).value(np.array([[3.0, 4.0]]), np.zeros((1, 2)))
    array([5.])
    """

    dim: int = 2
    name: ClassVar[str] = "euclidean-distance"
    target: ClassVar[Target] = "vector"

    def __post_init__(self) -> None:
        integer("dim", self.dim, minimum=2)

    @property
    def outputs(self) -> int:
        return self.dim

    def value(self, z: Array, y: Array) -> Array:
        return np.asarray(np.linalg.norm(z - y, axis=1))

    def _direction(self, z: Array, y: Array) -> tuple[Array, Array]:
        """Return unit vectors and distances; a distance of zero is paired with a zero vector."""
        distance = np.linalg.norm(z - y, axis=1)[:, None]
        return (z - y) / np.where(distance > 0.0, distance, 1.0), distance

    def slope(self, z: Array, y: Array) -> Array:
        return self._direction(z, y)[0]

    def curvature(self, z: Array, y: Array) -> Array:
        unit, distance = self._direction(z, y)
        flat = np.eye(self.dim) - unit[:, :, None] * unit[:, None, :]
        safe = np.where(distance > 0.0, distance, np.inf)
        return flat / safe[:, :, None]

    def regularity(self, *, label: float, reach: float) -> Regularity:
        return Regularity(
            lipschitz=1.0,
            smoothness=math.inf,
            trace=math.inf,
            rank=self.dim,
            one_signed=False,
            slopes=(1.0, 1.0),
            vertices=(),
            scalar=False,
            self_bounded=False,
        )
