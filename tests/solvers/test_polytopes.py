"""Minimisers over the hull of vertices: certified by the linear oracle, or refused."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from discreet.accounting import Budget
from discreet.algorithms import ALGORITHMS, ObjectivePerturbation, OutputPerturbation
from discreet.bounds import Array, Bounds
from discreet.data import ArraySource, Rows
from discreet.errors import Incompatible
from discreet.losses import Logistic, Squared
from discreet.noise import Seeded
from discreet.problem import Problem
from discreet.regularizers import L1
from discreet.sets import VertexPolytope
from discreet.sets.vertex_polytope import _nearest
from discreet.solvers.minimize import minimise
from discreet.solvers.objective import Objective
from discreet.solvers.proximal import certify_in

RNG = np.random.default_rng(7)


def polytope(count: int, dim: int, seed: int) -> VertexPolytope:
    points = np.random.default_rng(seed).normal(size=(count, dim))
    return VertexPolytope(points=tuple(map(tuple, points.tolist())))


def best_of_faces(points: Array, matrix: Array, vector: Array) -> Array:
    """Return the minimiser of ``w'Mw/2 - <v, w>`` over the hull: the best face's own one."""
    found, least = points[0], math.inf
    for size in range(1, points.shape[1] + 2):
        for face in itertools.combinations(range(len(points)), size):
            corner, edges = points[face[0]], points[list(face[1:])] - points[face[0]]
            slope = vector - matrix @ corner
            steps = np.linalg.solve(edges @ matrix @ edges.T, edges @ slope) if size > 1 else []
            shares = np.append(1.0 - np.sum(steps), steps)
            w = corner + (np.asarray(steps) @ edges if size > 1 else 0.0)
            value = 0.5 * w @ matrix @ w - vector @ w
            if (shares >= 0.0).all() and value < least:
                found, least = w, value
    return np.asarray(found)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("dim", [1, 2, 3])
def test_minimisers_are_as_close_as_certified(seed: int, dim: int) -> None:
    rng = np.random.default_rng(seed)
    hull = polytope(5 + seed, dim, seed)
    X, y, tilt = rng.normal(size=(40, dim)), rng.normal(size=40), rng.normal(size=dim)
    strength, tolerance = 10.0 ** rng.uniform(-1, 2), 1e-4
    w = minimise(
        Rows(X, y), Squared(), linear=tilt, strength=strength, tolerance=tolerance, constraint=hull
    )
    matrix = X.T @ X + strength * np.eye(dim)
    truth = best_of_faces(np.array(hull.points), matrix, X.T @ y - tilt)
    assert np.linalg.norm(w - truth) <= tolerance / strength


def test_points_far_from_the_minimiser_are_not_accepted() -> None:
    """A certificate holds for the point it is given, whatever led there."""
    rng = np.random.default_rng(1)
    hull = polytope(8, 2, 3)
    objective = Objective(Rows(rng.normal(size=(30, 2)), rng.normal(size=30)), Squared(),
                          np.zeros(2), 2.0)  # fmt: skip
    matrix = objective.hessian(np.zeros(2))
    vector = -objective.evaluate(np.zeros(2))[1]
    truth = best_of_faces(np.array(hull.points), matrix, vector)
    accepted = 0
    for room in (1e-6, 1e-3, 0.1, 3.0):
        for size in (0.0, 1e-9, 1e-5, 1e-2, 1.0):
            w = truth + size * rng.normal(size=2)
            t = certify_in(hull, objective, lambda v, _: hull.project(v), w, 0.0 * w, 1.0, room)
            if t is not None:
                accepted += 1
                assert np.linalg.norm(t - truth) <= room / objective.strength
    assert accepted >= 4


def test_on_a_short_set_the_distance_is_the_root_of_the_gap() -> None:
    hull = VertexPolytope(points=((0.9,), (1.0,)))
    # Half the squared distance from 1, twice: the gap at 0.9 is 2 times 0.1 squared.
    objective = Objective(Rows(np.zeros((1, 1)), np.zeros(1)), Squared(), np.array([-2.0]), 2.0)
    for room, taken in ((0.19, False), (0.21, True)):
        t = certify_in(hull, objective, lambda v, _: hull.project(v), np.array([0.9]),
                       np.zeros(1), 1.0, room)  # fmt: skip
        assert (t is not None) == taken


def test_how_far_a_projection_is_outside_in_exact_arithmetic() -> None:
    hull = polytope(6, 3, 5)
    for w in RNG.normal(size=(20, 3)) * 3:
        v = hull.project(w)
        off = hull.outside(w, v)
        assert 0.0 < off < 1e-13
        shares = [Fraction(x) for x in _nearest(np.array(hull.points), w)[1].tolist()]
        mean = [sum(a * Fraction(x) for a, x in zip(shares, column, strict=True)) / sum(shares)
                for column in zip(*hull.points, strict=True)]  # fmt: skip
        apart = sum((m - Fraction(x)) ** 2 for m, x in zip(mean, v.tolist(), strict=True))
        assert apart <= Fraction(off) ** 2
        # privacy: of a point that is not the projection nothing is proved.
        assert hull.outside(w, v + 1e-15) == math.inf
        assert hull.outside(w + 1.0, v + 0.1) == math.inf


def problem(n: int = 30, neighbours: str = "replace-one", **more: object) -> Problem:
    return Problem(
        loss=Logistic(), bounds=Bounds(row_norm=1.0, classes=(0, 1)), n_features=2, n_rows=n,
        neighbours=neighbours, constraint=polytope(7, 2, 2), **more,
    )  # type: ignore[arg-type]  # fmt: skip


def test_minimisers_of_neighbours_are_as_close_as_planned() -> None:
    plan = OutputPerturbation(strength=1.0).plan(problem(), Budget(1.0))
    widest = 0.0
    for k in range(30):
        X, y = RNG.normal(size=(30, 2)), RNG.integers(0, 2, 30)
        other = X.copy()
        other[0] = -5 * X[0] if k % 2 else RNG.normal(size=2)
        points = [
            minimise(plan.problem.bound(ArraySource(rows, y)), Logistic(), linear=np.zeros(2),
                     strength=1.0, tolerance=plan.tolerance, constraint=plan.problem.constraint)
            for rows in (X, other)
        ]  # fmt: skip
        widest = max(widest, float(np.linalg.norm(points[0] - points[1])))
    assert 0.02 * plan.sensitivity < widest <= plan.sensitivity


@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_releases_lie_in_the_hull_and_near_its_best_point(delta: float) -> None:
    n = 20_000
    X = RNG.normal(size=(n, 2)) / 2
    y = (X @ [3.0, -1.0] + RNG.logistic(size=n) > 0).astype(int)
    given = problem(n, "zero-out")
    plan = ObjectivePerturbation().plan(given, Budget(1.0, delta))
    best = minimise(given.bound(ArraySource(X, y)), Logistic(), linear=np.zeros(2), strength=1e-3,
                    tolerance=1e-2, constraint=given.constraint)  # fmt: skip
    found = np.array([plan.run(ArraySource(X, y), Seeded(s)).weights for s in range(5)])
    again = np.array([given.constraint.project(w) for w in found])
    assert np.abs(found - again).max() < 1e-12
    assert np.linalg.norm(found - best, axis=1).mean() < 0.2


def test_what_is_not_proved_is_refused() -> None:
    for name in ("noisy-gradient", "recentred-perturbation", "localization"):
        with pytest.raises(Incompatible):
            ALGORITHMS[name]().plan(problem(), Budget(1.0, 0.0 if name == "localization" else 1e-6))
    with pytest.raises(Incompatible):
        ObjectivePerturbation().plan(problem(regularizer=L1(strength=1.0)), Budget(1.0))
