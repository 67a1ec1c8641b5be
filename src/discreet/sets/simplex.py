"""The simplex of nonnegative weights with a fixed sum."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from discreet.bounds import Array
from discreet.checks import positive
from discreet.sets.base import AxisVertices, Polytope, expected_max_chi


@dataclass(frozen=True, kw_only=True)
class Simplex(Polytope):
    """Nonnegative weights that add up to ``total``; one vertex per coordinate.

    Examples
    --------
    >>> Simplex().project(np.array([1.0, 1.0]))
    array([0.5, 0.5])
    """

    total: float = 1.0
    name: ClassVar[str] = "simplex"
    closed_form: ClassVar[bool] = True

    def __post_init__(self) -> None:
        positive("total", self.total)

    @property
    def axis_vertices(self) -> AxisVertices:
        return AxisVertices(self.total, signed=False)

    def has_interior(self, shape: tuple[int, ...]) -> bool:
        return False

    def project(self, w: Array) -> Array:
        return np.maximum(w - simplex_threshold(w.ravel(), self.total), 0.0)

    def minimize_linear(self, g: Array) -> Array:
        out = np.zeros_like(g)
        out.flat[np.argmin(g)] = self.total
        return out

    def radius(self, dim: int) -> float:
        return self.total

    def diameter(self, dim: int) -> float:
        return 0.0 if dim == 1 else math.sqrt(2.0) * self.total

    def gaussian_width(self, dim: int) -> float:
        return self.total * expected_max_chi({1: dim})

    def vertices(self, dim: int) -> Array:
        return self.total * np.eye(dim)

    def n_vertices(self, dim: int) -> int:
        return dim


def simplex_threshold(w: Array, total: float) -> float:
    """Return the ``t`` for which the positive parts of ``w - t`` add up to ``total``.

    Sorting finds the coordinates that stay positive (Held, Wolfe, Crowder 1974;
    Duchi et al. 2008), so the answer is exact up to rounding.

    >>> simplex_threshold(np.array([3.0, 1.0, -5.0]), 2.0)
    1.0
    """
    top = np.sort(w)[::-1]
    # Measured from the largest entry, so that a common shift of w costs no digits.
    drops = top - top[0]
    thresholds = (np.cumsum(drops) - total) / np.arange(1, w.size + 1)
    kept = int(np.count_nonzero(drops > thresholds))
    return float(top[0] + thresholds[kept - 1])
