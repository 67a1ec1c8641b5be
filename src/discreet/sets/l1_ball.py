"""The cross-polytope."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from discreet.bounds import Array
from discreet.sets.base import AxisVertices, Ball, Polytope, expected_max_chi
from discreet.sets.simplex import simplex_threshold


@dataclass(frozen=True, init=False, repr=False)
class L1Ball(Ball, Polytope):
    """Weights whose absolute values add up to at most ``radius``; ``2 p`` vertices.

    Projection subtracts one threshold from every absolute value and is exact up
    to rounding. The Gaussian width is ``radius * E max |b_j|``.

    References
    ----------
    Duchi, Shalev-Shwartz, Singer, Chandra, *Efficient projections onto the
    l1-ball*, ICML 2008.

    Examples
    --------
    >>> L1Ball(radius=1.0).project(np.array([2.0, -1.0]))
    array([ 1., -0.])
    """

    name: ClassVar[str] = "l1-ball"
    closed_form: ClassVar[bool] = True
    norm: ClassVar[str | None] = "l1"

    @property
    def axis_vertices(self) -> AxisVertices:
        return AxisVertices(self.size, signed=True)

    def has_interior(self, shape: tuple[int, ...]) -> bool:
        return True

    def project(self, w: Array) -> Array:
        size = np.abs(w)
        if float(size.sum()) <= self.size:
            return w
        threshold = simplex_threshold(size.ravel(), self.size)
        return np.copysign(np.maximum(size - threshold, 0.0), w)

    def minimize_linear(self, g: Array) -> Array:
        out = np.zeros_like(g)
        best = int(np.argmax(np.abs(g)))
        out.flat[best] = -self.size if g.flat[best] > 0 else self.size
        return out

    def gaussian_width(self, dim: int) -> float:
        return self.size * expected_max_chi({1: dim})

    def vertices(self, dim: int) -> Array:
        return self.size * np.concatenate([np.eye(dim), -np.eye(dim)])

    def n_vertices(self, dim: int) -> int:
        return 2 * dim
