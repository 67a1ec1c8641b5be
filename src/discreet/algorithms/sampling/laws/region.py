"""A bounded convex set as finitely many public lattice points.

Every sampler of this room draws lattice points, so a draw carries no low-order
bits that could tell how it was found, and probabilities are sums over a finite
set. The lattice is so fine (2**40 points a side) that accuracy does not notice.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from discreet.algorithms.sampling.laws.flat import Flat, flattened
from discreet.bounds import Array, Integers
from discreet.errors import Incompatible
from discreet.sets import ConvexSet

BITS = 40
"""Lattice points a side, as a power of two."""

EDGE = 2.0**-32
"""Points this close to the set, in units of its diameter, count as inside."""

CLEAR = 1e3
"""Edges from the set at which rounding leaves the direction to it straight."""


@dataclass(frozen=True)
class Region:
    """The lattice points of a bounded set, cut by a ball if there is one.

    Parameters
    ----------
    constraint, shape
        The set, and the shape of its points; a :class:`Flat` for a set with no
        interior in the space of the weights.
    low, step, counts
        Coordinate ``j`` of a point is ``(low[j] + i) * step[j]`` for ``i`` in
        ``0 .. counts[j] - 1``; steps are powers of two, so it is exact.
    centre, radius
        The ball, with a flat centre.

    Examples
    --------
    >>> from discreet.sets import L2Ball
    >>> region = Region.of(L2Ball(radius=1.0), (2,), bits=2)
    >>> region.points(np.array([[0, 0], [2, 2]])).tolist()
    [[-1.0, -1.0], [0.0, 0.0]]
    >>> region.contains(np.array([-1.0, -1.0])), region.contains(np.array([0.5, 0.5]))
    (False, True)
    """

    constraint: ConvexSet
    shape: tuple[int, ...]
    low: Integers
    step: Array
    counts: Integers
    centre: Array
    radius: float
    edge: float

    @classmethod
    def of(
        cls,
        constraint: ConvexSet,
        shape: tuple[int, ...],
        *,
        centre: Array | None = None,
        radius: float = math.inf,
        bits: int = BITS,
    ) -> Region:
        """Lay the lattice over the smallest box that holds the set.

        ``shape`` and ``centre`` are those of the weights.
        """
        flat = flattened(constraint, shape)
        if flat is not None:
            constraint, shape = flat, (flat.basis.shape[1],)
            centre = None if centre is None else flat.coordinates(centre)
        low, high = _box(constraint, shape)
        centre = np.zeros(low.size) if centre is None else centre.ravel()
        low, high = np.maximum(low, centre - radius), np.minimum(high, centre + radius)
        if not np.isfinite(high - low).all():
            raise Incompatible(
                "Sampling needs a bounded constraint set: over an unbounded one the density has "
                "no bounded sensitivity. Pass constraint=L2Ball(radius=...) or a Box."
            )
        if not ((high > low).all() and constraint.has_interior(shape)):
            raise Incompatible(
                f"The set {constraint.name!r} has no interior in the space of the weights, so no "
                "density lives on it. Use a set of full dimension, a simplex or a vertex polytope."
            )
        # No more than 2**51 steps from zero, so that every lattice point is an exact float.
        size = np.maximum(np.abs(low), np.abs(high))
        fine = np.ceil(np.log2(high - low)) - bits
        step = np.exp2(np.maximum(fine, np.ceil(np.log2(size)) - 51))
        first, last = np.ceil(low / step), np.floor(high / step)
        diameter = min(constraint.diameter(low.size), 2.0 * radius)
        return cls(
            constraint,
            shape,
            first.astype(np.int64),
            step,
            np.maximum(last - first + 1, 1).astype(np.int64),
            centre,
            radius,
            EDGE * diameter,
        )

    @property
    def dimension(self) -> int:
        """Number of coordinates."""
        return int(self.low.size)

    @property
    def full(self) -> bool:
        """Whether every lattice point of the box is inside."""
        return self.constraint.separable and math.isinf(self.radius)

    def points(self, index: Integers) -> Array:
        """Return the lattice points of rows of indices; exact."""
        return np.asarray((self.low + index) * self.step)

    def lift(self, point: Array) -> Array:
        """Return the weights a flat point stands for."""
        flat = self.constraint
        return flat.lift(point) if isinstance(flat, Flat) else point.reshape(self.shape)

    def pull(self, gradient: Array) -> Array:
        """Return a gradient in the weights as one in flat points; a matrix goes by its columns."""
        flat = self.constraint
        return np.asarray(flat.basis.T @ gradient) if isinstance(flat, Flat) else gradient

    def contains(self, point: Array) -> bool:
        """Return whether a flat point counts as inside: a public rule, the same for all data."""
        # privacy: no sampler may reach a point of the edge that another cannot.
        index = point / self.step - self.low
        if not ((index >= 0.0) & (index < self.counts)).all():
            return False
        if not float(np.linalg.norm(point - self.centre)) <= self.radius:
            return False
        return self._distance(point) <= self.edge

    def nearest(self, point: Array) -> Array:
        """Return a flat point of the set near ``point``, not always on the lattice."""
        return self._project(self._pulled(point))

    def wall(self, point: Array) -> tuple[Array, Array]:
        """Return ``a`` and a unit (or zero) ``n`` with ``<n, w - a> <= 2 edge`` inside.

        ``point`` lies outside; the wall separates it from the set, or passes close by where it
        lies within rounding of it.
        """
        anchor, normal, size = self._outward(point)
        if 0.0 < size <= CLEAR * self.edge:
            # Too close to tell the direction well: much the same wall, seen from further out.
            anchor, normal, size = self._outward(anchor + 4.0 * CLEAR * self.edge * normal / size)
        # No wall is better than a crooked one.
        return anchor, normal / size if size > CLEAR * self.edge else 0.0 * normal

    def _outward(self, point: Array) -> tuple[Array, Array, float]:
        """Return the nearest point of the set or of its ball, the way from there, its length."""
        anchor = self._pulled(point)
        if (anchor == point).all():
            anchor = self._project(point)
        normal = point - anchor
        return anchor, normal, float(np.linalg.norm(normal))

    def _pulled(self, point: Array) -> Array:
        offset = point - self.centre
        size = float(np.linalg.norm(offset))
        return point if size <= self.radius else self.centre + offset * (self.radius / size)

    def _project(self, point: Array) -> Array:
        return np.asarray(self.constraint.project(point.reshape(self.shape))).ravel()

    def misses(self, low: Array, high: Array) -> bool:
        """Return True only if the box from ``low`` to ``high`` holds no point inside."""
        nearest = np.clip(self.centre, low, high)
        if float(np.linalg.norm(nearest - self.centre)) > self.radius * (1.0 + EDGE):
            return True
        reach = 0.5 * float(np.linalg.norm(high - low)) * (1.0 + EDGE)
        return self._distance(0.5 * (low + high)) > reach + 2.0 * self.edge

    def _distance(self, point: Array) -> float:
        return float(np.linalg.norm(self._project(point) - point))


def _box(constraint: ConvexSet, shape: tuple[int, ...]) -> tuple[Array, Array]:
    """Return the lowest and highest coordinates of the points of a set."""
    size = math.prod(shape)
    if math.isinf(constraint.radius(size)) and not constraint.separable:
        return np.full(size, -math.inf), np.full(size, math.inf)
    if constraint.separable:
        low, high = constraint.limits(shape)
        return low.ravel(), high.ravel()
    units = [unit.reshape(shape) for unit in np.eye(size)]
    high = np.array([constraint.support(unit) for unit in units])
    low = np.array([-constraint.support(-unit) for unit in units])
    return low, high
