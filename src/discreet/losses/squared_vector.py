"""Least squares for a vector of labels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from discreet.bounds import Array
from discreet.losses.base import Regularity
from discreet.losses.vector import VectorLoss


@dataclass(frozen=True, kw_only=True)
class SquaredVector(VectorLoss):
    """Half the squared distance ``||z - y||^2 / 2`` to a vector of ``dim`` labels.

    Its weights are a matrix, so the nuclear norm can ask for few directions.
    The slope is bounded by ``label + reach``.

    References
    ----------
    Talwar, Thakurta, Zhang, *Nearly-optimal private LASSO*, NeurIPS 2015.

    Examples
    --------
    >>> SquaredVector(dim=2).value(np.array([[3.0, 4.0]]), np.zeros((1, 2)))
    array([12.5])
    """

    name: ClassVar[str] = "squared-vector"
    proved_convex: ClassVar[bool] = True
    range_at_extreme_labels: ClassVar[bool] = True
    nonnegative: ClassVar[bool] = True
    squared_distance: ClassVar[bool] = True

    def value(self, z: Array, y: Array) -> Array:
        return np.asarray(0.5 * np.sum((z - y) ** 2, axis=1))

    def slope(self, z: Array, y: Array) -> Array:
        return z - y

    def curvature(self, z: Array, y: Array) -> Array:
        return np.broadcast_to(np.eye(self.dim), (len(z), self.dim, self.dim)).copy()

    def regularity(self, *, label: float, reach: float) -> Regularity:
        return self._regularity(label + reach, 1.0)
