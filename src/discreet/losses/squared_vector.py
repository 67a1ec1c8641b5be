"""Least squares with several labels per row: matrix regression."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from discreet.checks import integer
from discreet.losses.base import Loss, Regularity, Target
from discreet.types import Array


@dataclass(frozen=True, kw_only=True)
class SquaredVector(Loss):
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

    dim: int = 2
    name: ClassVar[str] = "squared-vector"
    target: ClassVar[Target] = "vector"

    def __post_init__(self) -> None:
        integer("dim", self.dim, minimum=2)

    @property
    def outputs(self) -> int:
        return self.dim

    def value(self, z: Array, y: Array) -> Array:
        return np.asarray(0.5 * np.sum((z - y) ** 2, axis=1))

    def slope(self, z: Array, y: Array) -> Array:
        return z - y

    def curvature(self, z: Array, y: Array) -> Array:
        return np.broadcast_to(np.eye(self.dim), (len(z), self.dim, self.dim)).copy()

    def regularity(self, *, label: float, reach: float) -> Regularity:
        return Regularity(
            lipschitz=label + reach,
            smoothness=1.0,
            trace=float(self.dim),
            rank=self.dim,
            one_signed=False,
            slopes=(label + reach, label + reach),
            vertices=(),
            scalar=False,
            self_bounded=False,
        )
