"""Polytopes as private Frank-Wolfe sees them: how far rows can tell vertices apart.

A row ``x`` enters the score of a vertex ``v`` through ``<x, v>``. What counts is
its *spread*, the largest ``|<x, v - v'>|`` over vertices and admissible rows,
and its *reach*, the largest ``|<x, v>|``. Rows are bounded in the largest-entry
norm and in the Euclidean norm, and either may give the better bound.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from scipy.spatial.distance import pdist

from discreet.bounds import Array
from discreet.errors import Incompatible
from discreet.noise import Randomness, exponential_mechanism, permute_and_flip, signs
from discreet.sets import ConvexSet, Polytope


@dataclass(frozen=True, kw_only=True)
class Vertices(ABC):
    """The vertices of a polytope: their sizes, and a private choice among them.

    Parameters
    ----------
    dimension
        Number of coordinates.
    widths, sizes
        Largest l1 and l2 norm of a difference of vertices, and of a vertex.
    log_count
        Logarithm of the number of vertices.
    """

    dimension: int
    widths: tuple[float, float]
    sizes: tuple[float, float]
    log_count: float

    def spread(self, peak: float, norm: float) -> float:
        """Largest ``|<x, v - v'>|`` over rows with entries up to ``peak`` and that norm."""
        return min(peak * self.widths[0], norm * self.widths[1])

    def reach(self, peak: float, norm: float) -> float:
        """Largest ``|<x, v>|`` over such rows."""
        return min(peak * self.sizes[0], norm * self.sizes[1])

    @property
    def terms(self) -> int:
        """How many products a computed score adds up, for its rounding error."""
        return 1

    @property
    def support(self) -> int:
        """How many entries of a vertex are not zero, at most."""
        return self.dimension

    @abstractmethod
    def choose(self, gradient: Array, scale: float, random: Randomness, *, pure: bool) -> Array:
        """Return a vertex, likelier the smaller ``<v, gradient>``, on that noise scale."""


class _Listed(Vertices):
    """Vertices whose scores are computed one by one."""

    def choose(self, gradient: Array, scale: float, random: Randomness, *, pure: bool) -> Array:
        pick = permute_and_flip if pure else exponential_mechanism
        return self._vertex(pick(-self._scores(gradient) / scale, random))

    @abstractmethod
    def _scores(self, gradient: Array) -> Array: ...

    @abstractmethod
    def _vertex(self, index: int) -> Array: ...


@dataclass(frozen=True, kw_only=True)
class CrossPolytope(_Listed):
    """Both ends of every axis, at distance ``size``."""

    size: float

    @property
    def support(self) -> int:
        return 1

    def _scores(self, gradient: Array) -> Array:
        scores = self.size * gradient
        return np.concatenate([scores, -scores])

    def _vertex(self, index: int) -> Array:
        return self.signed(index % self.dimension, 1 if index < self.dimension else -1)

    def signed(self, j: int, sign: int) -> Array:
        """Return the vertex ``sign * size * e_j``."""
        vertex = np.zeros(self.dimension)
        vertex[j] = sign * self.size
        return vertex


@dataclass(frozen=True, kw_only=True)
class Corners(_Listed):
    """One end of every axis, at distance ``size``."""

    size: float

    @property
    def support(self) -> int:
        return 1

    def _scores(self, gradient: Array) -> Array:
        return self.size * gradient

    def _vertex(self, index: int) -> Array:
        vertex = np.zeros(self.dimension)
        vertex[index] = self.size
        return vertex


@dataclass(frozen=True, kw_only=True, eq=False)
class VertexList(_Listed):
    """Any vertices, one per row of ``points``."""

    points: Array

    @property
    def terms(self) -> int:
        return self.dimension

    def _scores(self, gradient: Array) -> Array:
        return np.asarray(self.points @ gradient)

    def _vertex(self, index: int) -> Array:
        return np.array(self.points[index])


@dataclass(frozen=True, kw_only=True, eq=False)
class BoxCorners(Vertices):
    """All corners of a box: the exponential mechanism factorises into coordinates."""

    low: Array
    high: Array

    def choose(self, gradient: Array, scale: float, random: Randomness, *, pure: bool) -> Array:
        # privacy: corners are products, so independent coins are the exponential mechanism
        # over all of them, pure budget or not.
        high = signs(-(self.high - self.low) * gradient / scale, random)
        return np.where(high, self.high, self.low)


def vertices_of(constraint: ConvexSet, dimension: int) -> Vertices | None:
    """Return the vertices of a polytope, or None for a set that has infinitely many.

    Examples
    --------
    >>> from discreet.sets import L1Ball
    >>> vertices = vertices_of(L1Ball(radius=2.0), 5)
    >>> vertices.spread(peak=1.0, norm=3.0), round(math.exp(vertices.log_count))
    (4.0, 10)
    """
    axes = constraint.axis_vertices
    if axes is not None:
        r, root2 = axes.size, math.sqrt(2.0) if dimension > 1 else 0.0
        # Two ends of one axis lie furthest apart; without signs, ends of two axes.
        widths = (2.0 * r, 2.0 * r) if axes.signed else (root2 * root2 * r, root2 * r)
        return (CrossPolytope if axes.signed else Corners)(
            dimension=dimension,
            widths=widths,
            sizes=(r, r),
            log_count=math.log(2.0 * dimension if axes.signed else dimension),
            size=r,
        )
    if isinstance(constraint, Polytope):
        points = constraint.vertices(dimension)
        apart = [float(pdist(points, m).max(initial=0.0)) for m in ("cityblock", "euclidean")]
        sizes = [float(np.linalg.norm(points, order, axis=1).max()) for order in (1, 2)]
        return VertexList(
            dimension=dimension,
            widths=(_up(apart[0], dimension), _up(apart[1], dimension)),
            sizes=(_up(sizes[0], dimension), _up(sizes[1], dimension)),
            log_count=math.log(len(points)),
            points=points,
        )
    if constraint.separable:
        low, high = constraint.limits((dimension,))
        width, size = high - low, np.maximum(np.abs(low), np.abs(high))
        if not np.isfinite(width).all():
            raise Incompatible("Frank-Wolfe needs a bounded set. Give the box finite limits.")
        return BoxCorners(
            dimension=dimension,
            widths=(
                _up(float(width.sum()), dimension),
                _up(constraint.diameter(dimension), dimension),
            ),
            sizes=(_up(float(size.sum()), dimension), _up(constraint.radius(dimension), dimension)),
            log_count=float(np.count_nonzero(width)) * math.log(2.0),
            low=low,
            high=high,
        )
    return None


def _up(size: float, terms: int) -> float:
    """Round a computed size outwards."""
    return size * (1.0 + (terms + 8) * 2.0**-52)
