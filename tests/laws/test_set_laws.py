"""Laws every constraint set must obey; a new line in SETS is tested without editing this file.

The support function certifies a projection: ``v`` is the nearest point to ``w``
if and only if it is in the set and ``support(w - v) <= <w - v, v>``.
"""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import pytest
from scipy.spatial.distance import pdist

from discreet.bounds import Array
from discreet.errors import Incompatible
from discreet.sets import (
    SETS,
    Box,
    ConvexSet,
    GroupBall,
    Intersection,
    L1Ball,
    L2Ball,
    LqBall,
    NuclearBall,
    Polytope,
    Simplex,
    VertexPolytope,
)

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
# Sets whose sizes are exact, not only bounds.
EXACT_WIDTH = ("l2-ball", "l1-ball", "box", "simplex", "group-ball")


def shape(constraint: ConvexSet) -> tuple[int, ...]:
    if isinstance(constraint, VertexPolytope):
        return (len(constraint.points[0]),)
    return (4, 3) if constraint.name == "nuclear-ball" else (5,)


def cloud(constraint: ConvexSet, n: int, seed: int = 0) -> list[Array]:
    """Points near, far, tied, at zero, and along the axes."""
    rng = np.random.default_rng(seed)
    size = shape(constraint)
    scales = rng.choice([0.1, 1.0, 10.0, 1000.0], n)
    out = [s * rng.normal(size=size) for s in scales]
    out += [np.round(s * rng.normal(size=size)) for s in (1.0, 3.0) for _ in range(n // 4)]
    axis = np.zeros(size)
    axis.flat[0] = 5.0
    return [*out, np.zeros(size), np.ones(size), -np.ones(size), axis, -axis]


@cache
def walls(constraint: ConvexSet) -> tuple[Array, Array]:
    """Half-spaces around a set: normals, one a row, and how far the set reaches along them."""
    size = shape(constraint)
    normals = np.vstack(
        [np.random.default_rng(9).normal(size=(20, math.prod(size))), np.eye(math.prod(size))]
    )
    return normals, np.array([constraint.support(g.reshape(size)) for g in normals])


def is_projection(constraint: ConvexSet, w: Array, v: Array) -> bool:
    """Whether ``v`` is the nearest point to ``w``, judged by the support function alone."""
    tolerance = 1e-11 * (1.0 + float(np.linalg.norm(w)))
    normals, reach = walls(constraint)
    inside = normals @ v.ravel() <= reach + tolerance * (1 + np.linalg.norm(normals, axis=1))
    # Along w - v the set reaches v, and no further.
    gap = constraint.support(w - v) - float(np.sum((w - v) * v))
    return bool(inside.all()) and abs(gap) <= tolerance * (1.0 + float(np.linalg.norm(w - v)))


def test_the_table_is_keyed_by_name() -> None:
    assert all(name == constraint.name for name, constraint in SETS.items())


@pytest.mark.parametrize("constraint", ALL, ids=repr)
def test_sets_are_hashable_values(constraint: ConvexSet) -> None:
    assert hash(constraint) == hash(constraint)
    with pytest.raises(AttributeError):
        constraint.anything = 1  # type: ignore[attr-defined]


@pytest.mark.parametrize("constraint", ALL, ids=repr)
def test_projection_is_the_nearest_point(constraint: ConvexSet) -> None:
    for w in cloud(constraint, 60):
        before = w.copy()
        assert is_projection(constraint, w, constraint.project(w))
        assert (w == before).all()


@pytest.mark.parametrize("constraint", ALL, ids=repr)
def test_projection_is_idempotent_and_non_expansive(constraint: ConvexSet) -> None:
    points = cloud(constraint, 60, seed=1)
    images = [constraint.project(w) for w in points]
    for w, v in zip(points, images, strict=True):
        slack = 1e-13 * (1.0 + float(np.linalg.norm(w)))
        assert np.linalg.norm(constraint.project(v) - v) <= slack
    for (a, pa), (b, pb) in zip(
        zip(points, images, strict=True),
        zip(points[1:], images[1:], strict=False),
        strict=False,
    ):
        assert np.linalg.norm(pa - pb) <= np.linalg.norm(a - b) * (1 + 1e-12) + 1e-12


def bounded(constraint: ConvexSet) -> bool:
    return math.isfinite(constraint.radius(math.prod(shape(constraint))))


BOUNDED = [constraint for constraint in ALL if bounded(constraint)]


@pytest.mark.parametrize("constraint", BOUNDED, ids=repr)
def test_oracle_attains_the_support_function(constraint: ConvexSet) -> None:
    inside = np.array([constraint.project(w).ravel() for w in cloud(constraint, 60, seed=2)])
    for g in cloud(constraint, 40, seed=3):
        best = constraint.minimize_linear(g)
        slack = 1e-12 * (1 + float(np.linalg.norm(g)))
        assert np.linalg.norm(constraint.project(best) - best) <= 1e-12
        assert float(np.sum(g * best)) == pytest.approx(-constraint.support(-g), abs=slack)
        assert (inside @ g.ravel()).min() >= float(np.sum(g * best)) - 2 * slack
        # Going far in a direction and projecting ends at the oracle's value.
        far = constraint.project(-1e9 * g / max(1e-300, float(np.linalg.norm(g))))
        if g.any():
            assert float(np.sum(g * far)) == pytest.approx(float(np.sum(g * best)), abs=1e5 * slack)


@pytest.mark.parametrize("constraint", [c for c in ALL if not bounded(c)], ids=repr)
def test_unbounded_sets_say_so(constraint: ConvexSet) -> None:
    down = -np.ones(shape(constraint))
    assert constraint.support(-down) == math.inf
    assert constraint.diameter(5) == math.inf
    assert constraint.gaussian_width(5) == math.inf
    with pytest.raises(Incompatible, match="no minimum"):
        constraint.minimize_linear(down)


@pytest.mark.parametrize("constraint", BOUNDED, ids=repr)
def test_radius_and_diameter_dominate(constraint: ConvexSet) -> None:
    dim = math.prod(shape(constraint))
    extreme = np.array(
        [constraint.minimize_linear(g).ravel() for g in cloud(constraint, 100, seed=4)]
    )
    longest, widest = np.linalg.norm(extreme, axis=1).max(), pdist(extreme).max()
    assert longest <= constraint.radius(dim) * (1 + 1e-12)
    assert widest <= constraint.diameter(dim) * (1 + 1e-12)
    if not isinstance(constraint, Intersection):
        assert longest >= 0.99 * constraint.radius(dim)
        assert widest >= 0.75 * constraint.diameter(dim)


@pytest.mark.parametrize("constraint", BOUNDED, ids=repr)
def test_gaussian_width_dominates_monte_carlo(constraint: ConvexSet) -> None:
    dim = math.prod(shape(constraint))
    draws = np.random.default_rng(5).normal(size=(1500, *shape(constraint)))
    found = np.array([max(constraint.support(b), constraint.support(-b)) for b in draws])
    error = 4.5 * float(found.std()) / math.sqrt(len(found))
    width = constraint.gaussian_width(dim)
    assert width >= found.mean() - error
    if constraint.name in EXACT_WIDTH:
        assert width <= found.mean() + error


@pytest.mark.parametrize("constraint", [c for c in ALL if isinstance(c, Polytope)], ids=repr)
def test_vertices_span_the_polytope(constraint: Polytope) -> None:
    dim = math.prod(shape(constraint))
    vertices = constraint.vertices(dim)
    assert vertices.shape == (constraint.n_vertices(dim), dim)
    for v in vertices:
        np.testing.assert_allclose(constraint.project(v), v, atol=1e-14)
    for g in cloud(constraint, 40, seed=6):
        assert float((vertices @ g).max()) == pytest.approx(constraint.support(g), abs=1e-10)


@pytest.mark.parametrize(
    "constraint",
    [c for c in ALL if not isinstance(c, VertexPolytope) and c.name != "nuclear-ball"],
    ids=repr,
)
def test_matrices_are_treated_like_their_entries(constraint: ConvexSet) -> None:
    """With one column a (p, 1) matrix must give the same answers as a vector."""
    for w in cloud(constraint, 20, seed=7):
        np.testing.assert_array_equal(
            constraint.project(w[:, None]), constraint.project(w)[:, None]
        )


def test_the_projection_check_rejects_wrong_projections() -> None:
    """Projecting on the ball and then on the box is not the nearest point of both."""
    ball, box = L2Ball(radius=1.2), Box(low=(0.5, -1.0, -1.0, 0.0, -9.0), high=1.0)
    both = Intersection(sets=(ball, box))
    w = np.array([-1.0, 3.0, -2.0, 0.3, 1.0])
    assert is_projection(both, w, both.project(w))
    assert not is_projection(both, w, box.project(ball.project(w)))
    assert not is_projection(both, w, ball.project(box.project(w)))
    assert not is_projection(both, w, both.project(w) * (1 - 1e-6))
