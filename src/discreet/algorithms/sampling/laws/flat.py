"""Polytopes without interior, in coordinates of the flat they lie in.

A simplex has no volume in the space of the weights, so no density lives on it
there. In an orthonormal basis of the differences of its vertices it has: lengths
and projections stay what they were, and there is one coordinate fewer.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from discreet.bounds import Array
from discreet.sets import ConvexSet, Polytope
from discreet.sets.base import hull


@dataclass(frozen=True, eq=False)
class Flat(ConvexSet):
    """The points ``v`` for which ``origin + basis @ v`` lies in a polytope.

    Parameters
    ----------
    inner, shape
        The polytope and the shape of its points.
    origin, basis
        A flat point of its hull and orthonormal columns that span the hull.

    Examples
    --------
    >>> from discreet.sets import Simplex
    >>> flat = flattened(Simplex(), (3,))
    >>> flat.basis.shape, round(flat.diameter(2), 6)
    ((3, 2), 1.414214)
    """

    inner: Polytope
    shape: tuple[int, ...]
    origin: Array
    basis: Array

    @property
    def name(self) -> str:
        return self.inner.name

    def lift(self, v: Array) -> Array:
        """Return the point of the hull with coordinates ``v``, shaped like the weights."""
        return np.asarray(self.origin + self.basis @ v).reshape(self.shape)

    def coordinates(self, w: Array) -> Array:
        """Return the coordinates of the point of the hull nearest to ``w``."""
        return np.asarray((w.ravel() - self.origin) @ self.basis)

    def project(self, w: Array) -> Array:
        # The basis is orthonormal, so the nearest point is the nearest one in the flat as well.
        return self.coordinates(self.inner.project(self.lift(w)))

    def minimize_linear(self, g: Array) -> Array:
        return self.coordinates(self.inner.minimize_linear((self.basis @ g).reshape(self.shape)))

    def radius(self, dim: int) -> float:
        vertices = self.inner.vertices(self.origin.size)
        return float(np.linalg.norm(vertices - self.origin, axis=1).max())

    def diameter(self, dim: int) -> float:
        return self.inner.diameter(self.origin.size)

    def gaussian_width(self, dim: int) -> float:
        return self.radius(dim) * math.sqrt(dim)


def flattened(constraint: ConvexSet, shape: tuple[int, ...]) -> Flat | None:
    """Return a polytope in the coordinates of its hull; None for sets that need no such help."""
    if not isinstance(constraint, Polytope) or constraint.has_interior(shape):
        return None
    origin, directions = hull(constraint.vertices(math.prod(shape)))
    return Flat(constraint, shape, origin, directions.T.copy()) if len(directions) else None
