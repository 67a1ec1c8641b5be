"""What a constraint set is: projection, linear oracle, and its sizes.

Sets hold weights of shape ``(p,)`` or ``(p, K)``; ``dim`` is the number of
entries. Sizes are Euclidean (Frobenius). A set never depends on the data.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from scipy.integrate import quad
from scipy.special import gammaincc

from discreet.bounds import Array
from discreet.checks import positive
from discreet.parts import Part


@dataclass(frozen=True)
class AxisVertices:
    """The vertices ``size e_j`` of every axis and, if ``signed``, ``-size e_j`` too."""

    size: float
    signed: bool


class ConvexSet(Part):
    """A non-empty, closed, convex set of weights.

    Besides its formulas a set may declare facts, named in ``FACTS``. They claim nothing
    unless a class states them in its own body; a subclass inherits none.
    :func:`discreet.testing.check_set` tests each.

    Examples
    --------
    >>> from discreet.sets import L2Ball
    >>> L2Ball(radius=1.0).project(np.array([3.0, 4.0]))
    array([0.6, 0.8])
    """

    FACTS: ClassVar[tuple[str, ...]] = (
        "closed_form",
        "outside",
        "whole_space",
        "separable",
        "norm",
        "axis_vertices",
    )

    @property
    @abstractmethod
    def name(self) -> str:
        """The name under which the set is known."""

    @property
    def closed_form(self) -> bool:
        """Whether projection is a formula, not an iteration.

        Certificates rely on it: the computed projection ``v`` of ``w`` is then within
        ``2 (dim + 8) u (||w|| + ||v||)`` of the true one, ``u`` the unit roundoff.
        """
        return False

    def outside(self, w: Array, v: Array) -> float:
        """Return a proven bound on how far ``v``, the computed projection of ``w``, is outside.

        For sets whose projection is an iteration. Together with an exact :meth:`minimize_linear`
        it certifies minimisers. Infinite, the default, where nothing is proved.
        """
        return math.inf

    @property
    def certifies(self) -> bool:
        """Whether minimisers over the set are certified although projection is an iteration."""
        return type(self).outside is not ConvexSet.outside

    @property
    def whole_space(self) -> bool:
        """Whether every vector belongs to the set."""
        return False

    @property
    def separable(self) -> bool:
        """Whether the set limits each coordinate on its own; it then defines :meth:`limits`."""
        return False

    def limits(self, shape: tuple[int, ...]) -> tuple[Array, Array]:
        """Return the lowest and the highest weights of a separable set."""
        raise NotImplementedError(f"{self.name} does not limit each coordinate on its own.")

    @property
    def norm(self) -> str | None:
        """The norm of which the set is a ball around zero, or None.

        A penalty of the same name must have the set as its ball and keep this: projecting after
        its prox shrinks every part of the weights and turns none, as for sums of the lengths of
        parts. ``"l2"`` is the Euclidean norm.
        """
        return None

    @property
    def axis_vertices(self) -> AxisVertices | None:
        """The vertices of a polytope that lie on the axes, or None."""
        return None

    def meet(self, other: ConvexSet) -> ConvexSet | None:
        """Return the points common to both sets as a set of the same kind, or None."""
        if self.norm is None or self.norm != other.norm:
            return None
        return self if self.radius(1) <= other.radius(1) else other

    def has_interior(self, shape: tuple[int, ...]) -> bool:
        """Return whether the set fills the space of the weights; densities need it."""
        return True

    @abstractmethod
    def project(self, w: Array) -> Array:
        """Return the point of the set nearest to ``w``; it may be ``w`` itself."""

    @abstractmethod
    def minimize_linear(self, g: Array) -> Array:
        """Return a point of the set where ``<g, .>`` is smallest."""

    def support(self, g: Array) -> float:
        """Return the largest value of ``<g, .>`` over the set."""
        return float(np.sum(g * self.minimize_linear(-g)))

    @abstractmethod
    def radius(self, dim: int) -> float:
        """Return the largest norm of a point of the set, ``inf`` if unbounded."""

    @abstractmethod
    def diameter(self, dim: int) -> float:
        """Return the largest distance between two points of the set."""

    @abstractmethod
    def gaussian_width(self, dim: int) -> float:
        """Return ``E sup |<b, w>|`` over the set for standard normal ``b``, or a bound on it."""


@dataclass(frozen=True, init=False, repr=False)
class Ball(ConvexSet):
    """The points of norm at most ``radius``, for a norm that is at least the Euclidean one.

    Examples
    --------
    >>> from discreet.sets import L1Ball
    >>> L1Ball(radius=2.0).diameter(3)
    4.0
    """

    # ``radius`` is already the method; files store the field under the constructor's word.
    size: float = field(metadata={"argument": "radius"})

    def __init__(self, *, radius: float) -> None:
        object.__setattr__(self, "size", positive("radius", radius))

    def __repr__(self) -> str:
        return f"{type(self).__name__}(radius={self.size!r})"

    def radius(self, dim: int) -> float:
        return self.size

    def diameter(self, dim: int) -> float:
        return 2.0 * self.size


class Polytope(ConvexSet):
    """A convex set that is the hull of finitely many vertices.

    Examples
    --------
    >>> from discreet.sets import Simplex
    >>> Simplex().vertices(2)
    array([[1., 0.],
           [0., 1.]])
    """

    @abstractmethod
    def vertices(self, dim: int) -> Array:
        """Return the vertices, one per row, shape ``(n_vertices, dim)``."""

    @abstractmethod
    def n_vertices(self, dim: int) -> int:
        """Return the number of vertices."""

    def has_interior(self, shape: tuple[int, ...]) -> bool:
        return len(hull(self.vertices(math.prod(shape)))[1]) == math.prod(shape)


def hull(vertices: Array) -> tuple[Array, Array]:
    """Return the mean of the vertices, and orthonormal rows that span their differences.

    >>> hull(np.array([[0.0, 1.0], [1.0, 0.0]]))[1].shape
    (1, 2)
    """
    origin = vertices.mean(axis=0)
    _, sizes, directions = np.linalg.svd(vertices - origin, full_matrices=False)
    rank = int((sizes > 1e-9 * max(sizes.max(initial=0.0), 1e-300)).sum())
    return origin, directions[:rank]


def expected_max_chi(sizes: Mapping[int, int]) -> float:
    """Return ``E max_g ||b_g||`` for independent normal blocks; ``sizes`` maps size to count.

    The integral of one minus the product of the distribution functions. For
    blocks of size one this is the mean of the largest ``|b_j|``.

    >>> round(expected_max_chi({1: 10}), 4), round(expected_max_chi({10: 1}), 4)
    (1.8807, 3.0843)
    """

    def tail(t: float) -> float:
        log_below = 0.0
        for size, count in sizes.items():
            above = float(gammaincc(size / 2.0, t * t / 2.0))
            if above >= 1.0:
                return 1.0
            log_below += count * math.log1p(-above)
        return -math.expm1(log_below)

    # The tail drops from one to zero around this point, over a width of about one.
    centre = math.sqrt(max(sizes)) + math.sqrt(2.0 * math.log(sum(sizes.values())))
    below, _ = quad(tail, 0.0, centre, limit=200)
    above, _ = quad(tail, centre, centre + 12.0, limit=200)
    return float(below + above)
