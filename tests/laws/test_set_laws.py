"""Every listed set obeys the laws; a new line in SETS is tested without editing this file."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest
from scipy.spatial.distance import pdist

from discreet.bounds import Array
from discreet.errors import Incompatible
from discreet.regularizers import L1, combined_prox
from discreet.sets import (
    SETS,
    AllSpace,
    AxisVertices,
    Box,
    ConvexSet,
    GroupBall,
    Intersection,
    L1Ball,
    L2Ball,
    LqBall,
    NuclearBall,
    Simplex,
    VertexPolytope,
)
from discreet.testing import SET_LAWS, check_set
from discreet.testing.set_laws import Law, extreme_points, is_bounded, is_projection, shape

CUBE = tuple((a, b, c) for a in (-1.0, 1.0) for b in (0.0, 2.0) for c in (-3.0, 1.0))

VARIANTS: list[ConvexSet] = [
    L2Ball(radius=3.0),
    L1Ball(radius=0.5),
    LqBall(radius=2.0, power=1.9),
    LqBall(radius=0.7, power=1.1),
    Box(low=(-1.0, 0.0, 0.5, -2.0, 3.0), high=(1.0, 0.0, 2.0, -1.0, 4.0)),
    Box(low=0.0, high=math.inf),
    Simplex(total=2.5),
    GroupBall(radius=2.0, groups=(0, 1, 0, 2, 1)),
    NuclearBall(radius=2.0, shape=(4, 3)),
    VertexPolytope(points=CUBE),
    Intersection(sets=(Box(low=-1.0, high=0.5), Box(low=-0.3, high=2.0))),
    Intersection(sets=(L2Ball(radius=2.0), Box(low=0.0, high=math.inf))),
    Intersection(sets=(L2Ball(radius=1.2), Box(low=(0.5, -1.0, -1.0, 0.0, -9.0), high=1.0))),
    Intersection(sets=(Box(low=0.05, high=0.4), Simplex())),
    Intersection(sets=(L1Ball(radius=2.0), L1Ball(radius=1.0))),
]
ALL = [*SETS.values(), *VARIANTS]
EXACT = [c for c in [*SETS.own, *VARIANTS] if is_bounded(c) and not isinstance(c, Intersection)]
"""Sets whose sizes are exact, not only bounds."""


def test_the_table_is_keyed_by_name() -> None:
    assert all(name == constraint.name for name, constraint in SETS.items())


@pytest.mark.parametrize("law", SET_LAWS, ids=lambda law: law.__name__)
@pytest.mark.parametrize("constraint", ALL, ids=repr)
def test_sets_obey_the_laws(constraint: ConvexSet, law: Law) -> None:
    law(constraint)


@pytest.mark.parametrize("constraint", EXACT, ids=repr)
def test_sizes_are_not_wasteful(constraint: ConvexSet) -> None:
    dim, extreme = math.prod(shape(constraint)), extreme_points(constraint)
    assert np.linalg.norm(extreme, axis=1).max() >= 0.99 * constraint.radius(dim)
    assert pdist(extreme).max() >= 0.75 * constraint.diameter(dim)
    if constraint.name in ("l2-ball", "l1-ball", "box", "simplex", "group-ball"):
        draws = np.random.default_rng(5).normal(size=(1500, *shape(constraint)))
        found = np.array([max(constraint.support(b), constraint.support(-b)) for b in draws])
        error = 4.5 * float(found.std()) / math.sqrt(len(found))
        assert constraint.gaussian_width(dim) <= found.mean() + error


def test_pairs_are_known_by_what_they_declare() -> None:
    """A separable set that is no Box meets a ball, a simplex and a penalty like one."""

    @dataclass(frozen=True)
    class Cube(ConvexSet):
        name: ClassVar[str] = "cube"
        closed_form: ClassVar[bool] = True
        separable: ClassVar[bool] = True

        def limits(self, shape: tuple[int, ...]) -> tuple[Array, Array]:
            return np.full(shape, -0.4), np.full(shape, 0.6)

        def project(self, w: Array) -> Array:
            return np.clip(w, -0.4, 0.6)

        def minimize_linear(self, g: Array) -> Array:
            return np.where(g > 0, -0.4, 0.6)

        def radius(self, dim: int) -> float:
            return 0.6 * math.sqrt(dim)

        def diameter(self, dim: int) -> float:
            return math.sqrt(dim)

        def gaussian_width(self, dim: int) -> float:
            return 0.6 * dim

    check_set(Cube())
    box, w = Box(low=-0.4, high=0.6), np.array([1.0, -2.0, 0.3])
    for other in (L2Ball(radius=0.5), Simplex()):
        both = [Intersection(sets=(other, one)).project(w) for one in (Cube(), box)]
        np.testing.assert_array_equal(*both)
    proxes = [combined_prox(L1(strength=0.1), one)(w, 1.0) for one in (Cube(), box)]
    np.testing.assert_array_equal(*proxes)


def test_an_unknown_pair_is_refused() -> None:
    with pytest.raises(Incompatible, match="l1-ball with l2-ball"):
        Intersection(sets=(L1Ball(radius=1.0), L2Ball(radius=1.0)))


def test_the_projection_check_rejects_wrong_projections() -> None:
    """Projecting on the ball and then on the box is not the nearest point of both."""
    ball, box = L2Ball(radius=1.2), Box(low=(0.5, -1.0, -1.0, 0.0, -9.0), high=1.0)
    both = Intersection(sets=(ball, box))
    w = np.array([-1.0, 3.0, -2.0, 0.3, 1.0])
    assert is_projection(both, w, both.project(w))
    assert not is_projection(both, w, box.project(ball.project(w)))
    assert not is_projection(both, w, ball.project(box.project(w)))
    assert not is_projection(both, w, both.project(w) * (1 - 1e-6))


# What a set may not say.


@dataclass(frozen=True, kw_only=True)
class WholeLie(Box):
    whole_space: ClassVar[bool] = True


@dataclass(frozen=True, init=False, repr=False)
class SeparableLie(L2Ball):
    separable: ClassVar[bool] = True

    def limits(self, shape: tuple[int, ...]) -> tuple[Array, Array]:
        return np.full(shape, -self.size), np.full(shape, self.size)


@dataclass(frozen=True, init=False, repr=False)
class EuclideanLie(L1Ball):
    norm: ClassVar[str | None] = "l2"
    closed_form: ClassVar[bool] = True


@dataclass(frozen=True, kw_only=True)
class NormLie(Box):
    """A ball of the largest entry, not of the sum of singular values."""

    norm: ClassVar[str | None] = "nuclear"
    closed_form: ClassVar[bool] = True


@dataclass(frozen=True, kw_only=True)
class OffCentreLie(Box):
    norm: ClassVar[str | None] = "largest"


@dataclass(frozen=True, kw_only=True)
class AxisLie(Simplex):
    @property
    def axis_vertices(self) -> AxisVertices:
        return AxisVertices(self.total, signed=True)


@dataclass(frozen=True, init=False, repr=False)
class ClosedLie(L2Ball):
    closed_form: ClassVar[bool] = True

    def project(self, w: Array) -> Array:
        norm = float(np.linalg.norm(w))
        # As an iteration that ends a little early leaves it.
        return w if norm <= self.size else w * ((self.size + 1e-12 * (norm - self.size)) / norm)


@dataclass(frozen=True, kw_only=True)
class InteriorLie(Simplex):
    def has_interior(self, shape: tuple[int, ...]) -> bool:
        return True


@dataclass(frozen=True, init=False, repr=False)
class RadiusLie(L1Ball):
    def radius(self, dim: int) -> float:
        return 0.9 * self.size


@pytest.mark.parametrize(
    ("lie", "words"),
    [
        (WholeLie(), "whole_space"),
        (SeparableLie(radius=1.0), "separable"),
        (EuclideanLie(radius=1.0), "norm 'l2'"),
        (NormLie(), "exact, as norm"),
        (OffCentreLie(low=0.0, high=1.0), "symmetric"),
        (AxisLie(), "axis_vertices"),
        (ClosedLie(radius=1.0), "closed_form"),
        (InteriorLie(), "has_interior"),
        (RadiusLie(radius=1.0), "radius"),
    ],
    ids=lambda v: type(v).__name__ if isinstance(v, ConvexSet) else "",
)
def test_a_lie_is_caught(lie: ConvexSet, words: str) -> None:
    with pytest.raises(AssertionError, match=words):
        check_set(lie)


def test_a_subclass_declares_its_facts_anew() -> None:
    @dataclass(frozen=True, init=False, repr=False)
    class Mine(L2Ball):
        def project(self, w: Array) -> Array:
            return 0.5 * super().project(w)

    assert not Mine(radius=1.0).closed_form
    assert Mine(radius=1.0).norm is None
    with pytest.raises(Incompatible, match="iterative"):
        combined_prox(L1(), Mine(radius=1.0))
    assert AllSpace().whole_space
