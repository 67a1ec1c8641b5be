"""The Euclidean distance: geometric medians."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from discreet.bounds import Array
from discreet.losses.base import Regularity
from discreet.losses.vector import VectorLoss


@dataclass(frozen=True, kw_only=True)
class EuclideanDistance(VectorLoss):
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

    name: ClassVar[str] = "euclidean-distance"
    proved_convex: ClassVar[bool] = True
    range_at_extreme_labels: ClassVar[bool] = True
    nonnegative: ClassVar[bool] = True

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
        return self._regularity(1.0, math.inf)
