"""The hull of a list of vertices."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from scipy.spatial.distance import pdist

from discreet.bounds import Array, unit_roundoff
from discreet.errors import InvalidParameter, NotCertified
from discreet.sets.base import Polytope


@dataclass(frozen=True, kw_only=True)
class VertexPolytope(Polytope):
    """The convex hull of ``points``, one tuple of coordinates per vertex.

    Projection follows Wolfe's finite active-set method and stops only when no
    vertex improves the point beyond rounding. How closely it is then rounded
    depends on the shape of the polytope, so minimisers are certified by the
    linear oracle, which is exact. The Gaussian width is bounded by
    ``max ||v|| * min(sqrt(2 ln(2 m)), sqrt(p))`` for m vertices.

    References
    ----------
    Wolfe, *Finding the nearest point in a polytope*, Mathematical Programming
    11 (1976).

    Examples
    --------
    >>> triangle = VertexPolytope(points=((0.0, 0.0), (1.0, 0.0), (0.0, 1.0)))
    >>> triangle.project(np.array([1.0, 1.0]))
    array([0.5, 0.5])
    """

    points: tuple[tuple[float, ...], ...]
    name: ClassVar[str] = "vertex-polytope"

    def __post_init__(self) -> None:
        try:
            array = np.asarray(self.points, dtype=np.float64)
        except ValueError:
            array = np.empty(0)
        if array.ndim != 2 or array.size == 0 or not np.isfinite(array).all():
            raise InvalidParameter(
                "points must be a table of finite numbers: one row per vertex, one column per "
                "coordinate."
            )
        object.__setattr__(self, "points", tuple(map(tuple, array.tolist())))

    @cached_property
    def _array(self) -> Array:
        return np.asarray(self.points)

    def _checked(self, dim: int) -> Array:
        if self._array.shape[1] != dim:
            raise InvalidParameter(
                f"The vertices have {self._array.shape[1]} coordinates but the weights have {dim}."
            )
        return self._array

    def project(self, w: Array) -> Array:
        return nearest_point(self._checked(w.size), w.ravel()).reshape(w.shape)

    def outside(self, w: Array, v: Array) -> float:
        point, shares = _nearest(self._checked(w.size), w.ravel())
        # privacy: a mean of vertices is in the hull; shares and sum are off by rounding only
        if not np.array_equal(point, v.ravel()) or not bool((shares >= 0.0).all()):
            return math.inf
        terms = np.count_nonzero(shares)
        off = abs(math.fsum(shares) - 1.0) + (terms + 3) * unit_roundoff()
        return 1.01 * off * self.radius(w.size)

    def minimize_linear(self, g: Array) -> Array:
        array = self._checked(g.size)
        best = int(np.argmin(array @ g.ravel()))
        return np.array(array[best]).reshape(g.shape)

    def radius(self, dim: int) -> float:
        return float(np.linalg.norm(self._checked(dim), axis=1).max())

    def diameter(self, dim: int) -> float:
        return float(pdist(self._checked(dim)).max(initial=0.0))

    def gaussian_width(self, dim: int) -> float:
        many = math.sqrt(2.0 * math.log(2.0 * self.n_vertices(dim)))
        return self.radius(dim) * min(many, math.sqrt(dim))

    def vertices(self, dim: int) -> Array:
        return self._checked(dim).copy()

    def n_vertices(self, dim: int) -> int:
        return len(self._checked(dim))


def nearest_point(vertices: Array, w: Array) -> Array:
    """Return the point of the hull of ``vertices`` nearest to ``w``.

    >>> nearest_point(np.array([[0.0, 0.0], [2.0, 0.0]]), np.array([1.0, 3.0]))
    array([1., 0.])
    """
    return _nearest(vertices, w)[0]


def _nearest(vertices: Array, w: Array) -> tuple[Array, Array]:
    """Return the nearest point, and the shares of the vertices that it is a mean of."""
    active = [int(np.argmin(np.linalg.norm(vertices - w, axis=1)))]
    weights = np.ones(1)
    reach = float(np.abs(vertices - vertices[active[0]]).max())
    scale = float(np.abs(vertices).max() + np.abs(w).max())
    for _ in range(100 * (len(vertices) + len(w))):
        point = weights @ vertices[active]
        residual = point - w
        # How much a step towards each vertex would gain; rounding hides up to the noise.
        gaps = (point - vertices) @ residual
        best = int(np.argmax(gaps))
        noise = 8.0 * unit_roundoff() * reach * (float(np.abs(residual).sum()) + scale)
        if best in active or gaps[best] <= noise:
            shares = np.zeros(len(vertices))
            shares[active] = weights
            return np.asarray(point), shares
        active.append(best)
        weights = np.append(weights, 0.0)
        while True:
            target = _affine_minimum(vertices[active], w)
            if (target > 0.0).all():
                weights = target
                break
            # Walk towards the affine minimum until a weight reaches zero, and drop it.
            falling = target <= 0.0
            ratios = weights[falling] / (weights[falling] - target[falling])
            weights = weights + min(1.0, float(ratios.min())) * (target - weights)
            weights[np.flatnonzero(falling)[int(np.argmin(ratios))]] = 0.0
            kept = weights > 0.0
            active = [i for i, keep in zip(active, kept, strict=True) if keep]
            weights = weights[kept] / weights[kept].sum()
    raise NotCertified(
        "The projection on the polytope did not converge: its vertices are nearly dependent. "
        "Remove vertices that almost coincide."
    )


def _affine_minimum(vertices: Array, w: Array) -> Array:
    """Return the weights, adding up to one, of the affine hull's point nearest to ``w``."""
    edges = vertices[1:] - vertices[0]
    steps = np.linalg.lstsq(edges.T, w - vertices[0], rcond=None)[0]
    return np.concatenate([[1.0 - steps.sum()], steps])
