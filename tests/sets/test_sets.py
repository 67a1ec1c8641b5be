"""What is particular to single sets: explicit membership, tabulated sizes, refusals."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest
from scipy.optimize import minimize

from discreet.bounds import Array
from discreet.errors import Incompatible, InvalidParameter
from discreet.sets import (
    AllSpace,
    Box,
    ConvexSet,
    GroupBall,
    Intersection,
    L1Ball,
    L2Ball,
    NuclearBall,
    Simplex,
    VertexPolytope,
)
from discreet.sets.vertex_polytope import nearest_point


def quadratic_programme(vertices: Array, w: Array) -> Array:
    """The nearest point of a hull by a general solver over the vertex weights."""
    n = len(vertices)
    gram, linear = vertices @ vertices.T, vertices @ w
    result = minimize(
        lambda a: 0.5 * a @ gram @ a - linear @ a,
        np.full(n, 1.0 / n),
        jac=lambda a: gram @ a - linear,
        bounds=[(0.0, 1.0)] * n,
        constraints={"type": "eq", "fun": lambda a: a.sum() - 1.0, "jac": np.ones_like},
        method="SLSQP",
        options={"ftol": 1e-15, "maxiter": 1000},
    )
    weights = np.maximum(result.x, 0.0)
    return np.asarray(weights @ vertices / weights.sum())


@pytest.mark.parametrize(("n", "p"), [(3, 2), (6, 3), (12, 4), (5, 8), (30, 5)])
def test_polytope_projection_against_a_quadratic_programme(n: int, p: int) -> None:
    rng = np.random.default_rng(n * p)
    for _ in range(15):
        vertices, w = rng.normal(size=(n, p)), rng.normal(size=p) * rng.choice([0.3, 2.0, 20.0])
        ours, theirs = nearest_point(vertices, w), quadratic_programme(vertices, w)
        # The general solver is right to a few millionths, more or less by machine.
        np.testing.assert_allclose(ours, theirs, atol=2e-5)
        assert np.linalg.norm(ours - w) <= np.linalg.norm(theirs - w) + 1e-12
        # The nearest point is the one from which no vertex lies towards w.
        assert ((vertices - ours) @ (w - ours)).max() <= 1e-12


def test_polytope_projection_is_exact_where_the_answer_is_known() -> None:
    """A cross-polytope and a cube written as vertex lists, against their own projections."""
    rng = np.random.default_rng(0)
    cross = VertexPolytope(points=tuple(map(tuple, L1Ball(radius=1.5).vertices(6).tolist())))
    corners = np.array(np.meshgrid(*[[-1.0, 2.0]] * 4)).reshape(4, -1).T
    cube = VertexPolytope(points=tuple(map(tuple, corners.tolist())))
    for scale in (0.1, 1.0, 10.0, 1e3):
        for _ in range(25):
            w = scale * rng.normal(size=6)
            np.testing.assert_allclose(
                cross.project(w), L1Ball(radius=1.5).project(w), atol=1e-12 * max(1.0, scale)
            )
            np.testing.assert_allclose(
                cube.project(w[:4]),
                Box(low=-1.0, high=2.0).project(w[:4]),
                atol=1e-12 * max(1.0, scale),
            )


def test_polytope_projection_survives_redundant_vertices() -> None:
    """Repeated, collinear and interior points must change nothing."""
    rng = np.random.default_rng(1)
    square = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    extra = np.vstack([square, square, [[0.5, 0.0], [0.25, 0.75], [1.0, 0.3]]])
    for _ in range(200):
        w = rng.normal(size=2) * 2
        np.testing.assert_allclose(nearest_point(extra, w), np.clip(w, 0.0, 1.0), atol=1e-12)
    np.testing.assert_array_equal(nearest_point(np.array([[2.0, 3.0]]), np.zeros(2)), [2.0, 3.0])


@pytest.mark.parametrize(
    ("p", "l1", "l2"), [(10, 1.8807, 3.0843), (100, 2.7470, 9.9750), (1000, 3.4354, 31.615)]
)
def test_widths_match_the_table(p: int, l1: float, l2: float) -> None:
    assert L1Ball(radius=1.0).gaussian_width(p) == pytest.approx(l1, abs=6e-5)
    assert Simplex().gaussian_width(p) == pytest.approx(l1, abs=6e-5)
    assert L2Ball(radius=1.0).gaussian_width(p) == pytest.approx(l2, rel=2e-5)
    assert GroupBall(radius=1.0, groups=p).gaussian_width(p) == pytest.approx(l2, rel=2e-5)
    assert L1Ball(radius=1.0).gaussian_width(p) <= math.sqrt(2 * math.log(2 * p))
    groups = GroupBall(radius=1.0, groups=5).gaussian_width(p)
    assert groups <= math.sqrt(5) + math.sqrt(2 * math.log(p / 5))
    assert Box(low=-2.0, high=2.0).gaussian_width(p) == pytest.approx(
        2 * p * math.sqrt(2 / math.pi)
    )


def test_nuclear_width_uses_its_shape() -> None:
    ball = NuclearBall(radius=1.0, shape=(30, 50))
    assert ball.gaussian_width(1500) == pytest.approx(math.sqrt(30) + math.sqrt(50))
    assert NuclearBall(radius=1.0).gaussian_width(1500) == pytest.approx(math.sqrt(1500))


def test_projections_satisfy_their_own_norms() -> None:
    rng = np.random.default_rng(2)
    groups = np.array([0, 1, 0, 2, 1, 1])
    for _ in range(100):
        w, m = 3 * rng.normal(size=6), 3 * rng.normal(size=(4, 3))
        assert np.abs(L1Ball(radius=1.0).project(w)).sum() <= 1 + 1e-12
        simplex = Simplex(total=2.0).project(w)
        assert simplex.min() >= 0
        assert simplex.sum() == pytest.approx(2.0, rel=1e-13)
        v = GroupBall(radius=1.0, groups=tuple(groups.tolist())).project(w)
        assert sum(np.linalg.norm(v[groups == g]) for g in range(3)) <= 1 + 1e-12
        assert np.linalg.norm(NuclearBall(radius=1.0).project(m), "nuc") <= 1 + 1e-12


def brute_projection(w: Array, inside: list[dict[str, object]], start: Array) -> Array:
    result = minimize(
        lambda v: float(np.sum((v - w) ** 2)),
        start,
        jac=lambda v: 2 * (v - w),
        constraints=inside,
        method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 500},
    )
    return np.asarray(result.x)


def test_ball_and_box_against_a_general_solver() -> None:
    rng = np.random.default_rng(3)
    low, high = np.array([0.3, -1.0, -2.0]), np.array([1.0, 0.5, 0.1])
    both = Intersection(sets=(Box(low=tuple(low), high=tuple(high)), L2Ball(radius=0.9)))
    for _ in range(40):
        w = rng.normal(size=3) * 2
        constraints = [
            {"type": "ineq", "fun": lambda v: 0.81 - v @ v},
            {"type": "ineq", "fun": lambda v: v - low},
            {"type": "ineq", "fun": lambda v: high - v},
        ]
        expected = brute_projection(w, constraints, np.array([0.3, 0.0, 0.0]))
        np.testing.assert_allclose(both.project(w), expected, atol=1e-5)
        linear = both.minimize_linear(w)
        assert np.linalg.norm(linear) <= 0.9 + 1e-12
        assert ((low <= linear) & (linear <= high)).all()


def test_simplex_and_box_against_a_general_solver() -> None:
    rng = np.random.default_rng(4)
    both = Intersection(sets=(Simplex(), Box(low=-1.0, high=0.4)))
    for _ in range(40):
        w = rng.normal(size=4)
        constraints = [
            {"type": "eq", "fun": lambda v: v.sum() - 1},
            {"type": "ineq", "fun": lambda v: v},
            {"type": "ineq", "fun": lambda v: 0.4 - v},
        ]
        np.testing.assert_allclose(
            both.project(w), brute_projection(w, constraints, np.full(4, 0.25)), atol=1e-6
        )
    np.testing.assert_allclose(
        both.minimize_linear(np.array([3.0, 1.0, 2.0, 9.0])), [0.2, 0.4, 0.4, 0]
    )


def test_ball_and_box_keep_their_digits_when_a_corner_nearly_touches_the_sphere() -> None:
    """The free part is a difference of squares; plain subtraction would lose half the digits."""
    for high in (0.5, 0.7071, 0.7071067811, 0.7071067811865475):
        box = Box(low=-9.0, high=(high, high, 9.0))
        with mpmath.workdps(40):
            free = float(mpmath.sqrt(1 - 2 * mpmath.mpf(high) ** 2))
        v = Intersection(sets=(L2Ball(radius=1.0), box)).project(np.array([50.0, 40.0, 5 * free]))
        assert v[0] == v[1] == high
        assert v[2] == pytest.approx(free, rel=1e-14)


@pytest.mark.parametrize(
    ("sets", "expected"),
    [
        ((L2Ball(radius=2.0), L2Ball(radius=1.0)), L2Ball(radius=1.0)),
        ((AllSpace(), Simplex()), Simplex()),
        ((Simplex(), Simplex()), Simplex()),
        ((Box(low=-1.0, high=3.0), Box(low=0.0, high=(5.0, 2.0))), Box(low=0.0, high=(3.0, 2.0))),
        (
            (GroupBall(radius=1.0, groups=2), GroupBall(radius=3.0, groups=2)),
            GroupBall(radius=1.0, groups=2),
        ),
    ],
)
def test_intersections_that_are_again_a_set(
    sets: tuple[ConvexSet, ...], expected: ConvexSet
) -> None:
    assert Intersection(sets=sets).parts == (expected,)


@pytest.mark.parametrize(
    "sets",
    [
        (L1Ball(radius=1.0), L2Ball(radius=1.0)),
        (L1Ball(radius=1.0), Box()),
        (Simplex(), L2Ball(radius=0.8)),
        (Simplex(), Simplex(total=2.0)),
        (GroupBall(radius=1.0, groups=2), GroupBall(radius=1.0, groups=3)),
        (L2Ball(radius=1.0), Simplex(), Box()),
        (),
    ],
)
def test_intersections_without_an_exact_projection_are_refused(sets: tuple[ConvexSet, ...]) -> None:
    with pytest.raises(Incompatible, match="No exact projection"):
        Intersection(sets=sets)


def test_nested_intersections_are_flattened() -> None:
    inner = Intersection(sets=(L2Ball(radius=2.0), Box()))
    outer = Intersection(sets=(inner, Box(low=0.0, high=9.0), L2Ball(radius=1.0)))
    assert outer.parts == (L2Ball(radius=1.0), Box(low=0.0, high=1.0))


def test_empty_intersections_are_refused() -> None:
    with pytest.raises(InvalidParameter, match="no point in common"):
        Intersection(sets=(L2Ball(radius=1.0), Box(low=2.0, high=3.0))).project(np.zeros(2))
    with pytest.raises(InvalidParameter, match="no point in common"):
        Intersection(sets=(Simplex(), Box(low=-1.0, high=0.2))).project(np.zeros(3))
    with pytest.raises(InvalidParameter, match="low must be at most high"):
        Intersection(sets=(Box(low=-2.0, high=-1.0), Box(low=0.0, high=1.0)))


def test_limits_and_groups_take_whole_rows_of_a_matrix() -> None:
    w = np.full((2, 3), 9.0)
    box = Box(low=-1.0, high=(1.0, 2.0))
    np.testing.assert_array_equal(box.project(w), [[1.0] * 3, [2.0] * 3])
    assert box.radius(6) == pytest.approx(math.sqrt(3 * 1 + 3 * 4))
    rows = GroupBall(radius=1.0, groups=(0, 1))
    norms = np.linalg.norm(rows.project(w), axis=1)
    np.testing.assert_allclose(norms, 0.5)
    assert rows.gaussian_width(6) == GroupBall(radius=1.0, groups=3).gaussian_width(6)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: L2Ball(radius=0.0), "radius"),
        (lambda: Simplex(total=-1.0), "total"),
        (lambda: Box(low=1.0, high=0.0), "low must be at most high"),
        (lambda: Box(low=math.nan), "none of them NaN"),
        (lambda: Box(low=(0.0, 0.0), high=(1.0, 1.0, 1.0)), "same number"),
        (lambda: Box(low=(0.0, 0.0)).project(np.zeros(4)), "one per coordinate"),
        (lambda: GroupBall(radius=1.0, groups=(0, 2)), "without a gap"),
        (lambda: GroupBall(radius=1.0, groups=0), "groups"),
        (lambda: GroupBall(radius=1.0, groups=(0, 1)).project(np.zeros(4)), "one group per"),
        (lambda: VertexPolytope(points=((0.0,), (1.0, 2.0))), "table of finite numbers"),
        (lambda: VertexPolytope(points=((0.0,), (1.0,))).project(np.zeros(2)), "coordinates"),
    ],
)
def test_bad_parameters_are_named(build: object, message: str) -> None:
    with pytest.raises(InvalidParameter, match=message):
        build()  # type: ignore[operator]


def test_the_nuclear_ball_wants_matrices() -> None:
    with pytest.raises(Incompatible, match="matrices"):
        NuclearBall(radius=1.0).project(np.zeros(3))


def test_balls_print_and_compare_by_value() -> None:
    assert repr(L2Ball(radius=2)) == "L2Ball(radius=2.0)"
    assert L2Ball(radius=1.0) == L2Ball(radius=1.0) != L1Ball(radius=1.0)
    assert "groups=3" in repr(GroupBall(radius=1.0, groups=3))
