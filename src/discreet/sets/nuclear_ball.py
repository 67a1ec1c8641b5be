"""The ball of the nuclear norm, which favours matrices of low rank."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from discreet.bounds import Array
from discreet.errors import Incompatible
from discreet.sets.base import Ball
from discreet.sets.simplex import simplex_threshold


@dataclass(frozen=True, init=False, repr=False)
class NuclearBall(Ball):
    """Matrices whose singular values add up to at most ``radius``.

    Weights must be two-dimensional. The Gaussian width of m x n matrices is at
    most ``radius * (sqrt(m) + sqrt(n))``; give ``shape=(m, n)`` to have that
    bound, otherwise the Euclidean ball's is used.

    Examples
    --------
    >>> NuclearBall(radius=1.0).project(np.diag([3.0, 2.0])).round(6)
    array([[1., 0.],
           [0., 0.]])
    """

    shape: tuple[int, int] | None
    name: ClassVar[str] = "nuclear-ball"
    closed_form: ClassVar[bool] = True
    norm: ClassVar[str | None] = "nuclear"

    def __init__(self, *, radius: float, shape: tuple[int, int] | None = None) -> None:
        super().__init__(radius=radius)
        object.__setattr__(self, "shape", shape)

    def __repr__(self) -> str:
        return f"NuclearBall(radius={self.size!r}, shape={self.shape!r})"

    def project(self, w: Array) -> Array:
        left, values, right = singular_values(w)
        if float(values.sum()) <= self.size:
            return w
        kept = np.maximum(values - simplex_threshold(values, self.size), 0.0)
        return np.asarray((left * kept) @ right)

    def minimize_linear(self, g: Array) -> Array:
        left, _, right = singular_values(g)
        return -self.size * np.outer(left[:, 0], right[0])

    def gaussian_width(self, dim: int) -> float:
        euclidean = math.sqrt(dim)
        if self.shape is None:
            return self.size * euclidean
        return self.size * min(euclidean, math.sqrt(self.shape[0]) + math.sqrt(self.shape[1]))


def singular_values(w: Array) -> tuple[Array, Array, Array]:
    """Return the thin singular value decomposition of a matrix of weights.

    >>> singular_values(np.diag([3.0, 2.0]))[1]
    array([3., 2.])
    """
    if w.ndim != 2:
        raise Incompatible(
            "The nuclear norm is defined for matrices, but these weights are a vector. Use it with "
            "a loss of several outputs, such as softmax."
        )
    left, values, right = np.linalg.svd(w, full_matrices=False)
    return left, values, right
