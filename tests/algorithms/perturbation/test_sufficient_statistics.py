"""Sufficient statistics against exact integers, brute force over neighbours and known optima."""

from __future__ import annotations

import math
import tracemalloc
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from scipy import stats

from discreet import PrivateRidge
from discreet.accounting import Budget, gaussian_multiplier
from discreet.algorithms import SufficientStatistics
from discreet.algorithms.perturbation import compiled_moments, second_moments
from discreet.algorithms.perturbation.second_moments import SecondMoments
from discreet.algorithms.perturbation.sufficient_statistics import (
    SufficientStatisticsPlan,
    stein_strength,
)
from discreet.bounds import Bounds, unit_roundoff
from discreet.data import ArraySource, Grouping, RawBlock, Rows, bounding, capped_source
from discreet.data.fused import Loop
from discreet.defaults import Asked, recommend
from discreet.errors import Incompatible, InvalidData, InvalidParameter
from discreet.losses import Clipped, Logistic, Squared
from discreet.mechanisms.release_noise import ReleaseNoise
from discreet.noise import Seeded
from discreet.problem import Problem
from discreet.regularizers import L1
from discreet.sets import L1Ball, L2Ball
from discreet.solvers.trust_region import trust_region

UNIT = Bounds(row_norm=1.0, label=(-1.0, 1.0))
RELATIONS = ("zero-out", "replace-one", "add-remove")


def problem(**changes: object) -> Problem:
    settings: dict[str, object] = {
        "loss": Squared(), "bounds": UNIT, "n_features": 2, "n_rows": 3, "neighbours": "zero-out",
    }  # fmt: skip
    return Problem(**(settings | changes))  # type: ignore[arg-type]


# The trust-region solve.


def test_trust_region_vectors() -> None:
    A, c = np.diag([-1.0, 0.5, 2.0]), np.array([0.3, -0.2, 1.0])
    w = trust_region(A, c, 1.5)
    assert w == pytest.approx([1.46249729, -0.11729321, 0.31199996], abs=1e-8)
    assert 0.5 * w @ A @ w - c @ w == pytest.approx(-1.74287355, abs=1e-8)
    hard = trust_region(np.diag([-1.0, 2.0]), np.array([0.0, 1.0]), 2.0)
    assert abs(hard[0]) == pytest.approx(1.97202659, abs=1e-8)
    assert hard[1] == pytest.approx(1 / 3, abs=1e-8)


def test_trust_region_is_a_global_minimum() -> None:
    rng = np.random.default_rng(0)
    for _ in range(200):
        p = int(rng.integers(1, 6))
        basis = np.linalg.qr(rng.normal(size=(p, p)))[0]
        values = rng.choice([-2.0, -1.0, 0.0, 1e-9, 1.0, 3.0], size=p)  # repeated and singular
        A = (basis * values) @ basis.T
        c = basis @ (rng.normal(size=p) * rng.choice([0.0, 1e-12, 1.0], size=p))
        radius = float(rng.choice([0.1, 1.0, 30.0]))
        w = trust_region(A, c, radius)
        assert np.linalg.norm(w) <= radius * (1 + 1e-12)
        mine = 0.5 * w @ A @ w - c @ w
        others = rng.normal(size=(300, p))
        others *= radius * rng.random((300, 1)) / np.linalg.norm(others, axis=1)[:, None]
        local = others[np.argmin(0.5 * np.sum(others @ A * others, axis=1) - others @ c)]
        for _ in range(200):  # projected gradient from the best random point
            local = local - 0.2 * (A @ local - c)
            local *= min(1.0, radius / np.linalg.norm(local))
        assert mine <= 0.5 * local @ A @ local - c @ local + 1e-9 * (1 + abs(mine))


def test_inverting_and_rescaling_is_not_the_minimum() -> None:
    # What the authors' code does with an indefinite matrix.
    A, c = np.diag([-1.0, 2.0]), np.array([0.3, 1.0])
    naive = np.linalg.solve(A, c)
    naive *= 1.5 / np.linalg.norm(naive)
    best = trust_region(A, c, 1.5)
    assert 0.5 * best @ A @ best - c @ best < 0.5 * naive @ A @ naive - c @ naive - 0.1


# Exact sums.


def test_sums_are_the_integers_they_should_be() -> None:
    rng = np.random.default_rng(1)
    n, p = 9000, 3  # three blocks
    X, y = rng.normal(size=(n, p)), rng.uniform(-2, 2, size=n)
    X[5], y[7] = np.nan, np.nan  # blank rows
    task = problem(n_features=p, n_rows=n)
    moments = SecondMoments.of(task)
    gram, cross = moments.integers(task, ArraySource(X, y))
    rows = task.bound(ArraySource(X, y))
    steps = 2.0**moments.bits
    whole = [[int(v) for v in row] for row in np.trunc(rows.X * steps)]
    labels = [int(v) for v in np.trunc(rows.y * steps)]
    for i in range(p):
        assert int(cross[i]) == sum(x[i] * t for x, t in zip(whole, labels, strict=True))
        for j in range(p):
            assert int(gram[i, j]) == sum(x[i] * x[j] for x in whole)
    order = rng.permutation(n)
    again = moments.integers(task, ArraySource(X[order], y[order]))
    assert (again[0] == gram).all()
    assert (again[1] == cross).all()
    exact = rows.X.T @ rows.X
    assert gram * moments.unit == pytest.approx(exact, abs=n * 2.0 ** (1 - moments.bits))


@pytest.mark.parametrize("room", [1.0, 2.0, 16.0, 0.5, 3.0, 2.0**-13.01])
def test_no_room_for_labels_lets_their_sums_overflow(room: float) -> None:
    """All sums of one label more, over as many rows as one block holds."""
    task = problem(n_features=1, n_rows=4096)
    if room not in (1.0, 2.0, 16.0):
        with pytest.raises(InvalidParameter, match="power of two"):
            SufficientStatistics(label_room=room).plan(task, Budget(1.0, 1e-6))
        return
    plan = SufficientStatistics(label_room=room).plan(task, Budget(1.0, 1e-6))
    sums = []
    for count in range(4000, 4097, 8):
        y = np.where(np.arange(4096) < count, 1.0, 0.0)
        _, cross = plan.moments.integers(task, ArraySource(np.ones((4096, 1)), y))
        sums.append(cross[0] * plan.moments.unit)
    steps = np.diff(sums)
    assert (steps > 0).all()
    assert (steps <= 8 * plan.sensitivity).all()


def test_sparse_and_weighted_rows() -> None:
    rng = np.random.default_rng(2)
    X, y = rng.normal(size=(50, 3)) * (rng.random((50, 3)) < 0.5), rng.uniform(-1, 1, 50)
    weight = rng.uniform(0, 5, 50)
    task = problem(n_features=3, n_rows=50, bounds=Bounds(row_norm=1.0, label=(-1, 1), weight=4.0))
    moments = SecondMoments.of(task)
    dense = moments.integers(task, ArraySource(X, y, weight))
    sparse = moments.integers(task, ArraySource(sp.csr_array(X), y, weight))
    rows = task.bound(ArraySource(X, y, weight))
    for a, b in zip(dense, sparse, strict=True):
        assert (a == b).all()
    scale = moments.unit * moments.row_scale**2
    truth = (rows.X.T * rows.weight) @ rows.X
    assert dense[0] * scale == pytest.approx(truth, abs=1e-3)


class OnePass(ArraySource):
    """Rows that can be read once only, a few at a time."""

    def __init__(self, X: np.ndarray, y: np.ndarray) -> None:
        super().__init__(X, y)
        self.passes = 0

    def blocks(self) -> Iterator[RawBlock]:
        self.passes += 1
        for start in range(0, self.n_rows, 7):
            yield RawBlock(self._X[start : start + 7], self._y[start : start + 7], None)


def test_one_pass_is_enough() -> None:
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(100, 2)), rng.uniform(-1, 1, 100)
    plan = SufficientStatistics().plan(problem(n_rows=100), Budget(1.0, 1e-6))
    source = OnePass(X, y)
    whole = plan.run(ArraySource(X, y), Seeded(0)).weights
    assert (plan.run(source, Seeded(0)).weights == whole).all()
    assert source.passes == 1


# Sensitivity, end to end.


def statistics(task: Problem, moments: SecondMoments, X: np.ndarray, y: np.ndarray, double: float):
    gram, cross = (m * moments.unit for m in moments.integers(task, ArraySource(X, y)))
    upper = np.triu_indices(len(cross), 1)
    return np.concatenate([np.diag(gram), double * gram[upper], cross])


def neighbour_pairs(relation: str, row_norm: float, l1: bool) -> Iterator[tuple]:
    """Yield rows and labels of two neighbours, worst cases and random ones."""
    rng = np.random.default_rng(4)
    base, labels = np.array([[0.3, 0.1], [0.2, -0.4]]), np.array([0.5, -0.2])

    def direction(angle: float) -> np.ndarray:
        w = np.array([math.cos(angle), math.sin(angle)])
        return row_norm * w / (np.abs(w).sum() if l1 else 1.0)

    for k in range(240):
        a = direction(rng.uniform(0, 2 * np.pi) if k % 3 else rng.choice([0.0, np.pi / 2]))
        b = direction(np.arctan2(*a[::-1]) + [np.pi / 2, np.pi / 3, rng.uniform(0, np.pi)][k % 3])
        for s, t in ((1.0, 1.0), (1.0, -1.0)):
            one, two = np.vstack([base, a]), np.vstack([base, b])
            first, second = np.append(labels, s), np.append(labels, t)
            if relation == "replace-one":
                yield one, first, two, second
            elif relation == "zero-out":
                yield one, first, np.vstack([base, [np.nan, 0.0]]), second
            else:
                yield one, first, base, labels


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize(("norm", "row_norm"), [("l2", 1.0), ("l2", 0.5), ("l1", 1.0)])
def test_no_pair_of_neighbours_is_further_apart_than_claimed(
    relation: str, norm: str, row_norm: float
) -> None:
    bounds = Bounds(row_norm=row_norm, label=(-1, 1))
    task = problem(neighbours=relation, bounds=bounds)
    l1 = norm == "l1"
    moments = SecondMoments.of(task, row_l1=row_norm if l1 else None)
    claim = moments.l1_sensitivity(relation) if l1 else moments.l2_sensitivity(relation)
    double, worst = 2.0 if l1 else math.sqrt(2.0), 0.0
    for X, y, X2, y2 in neighbour_pairs(relation, row_norm, l1):
        gap = statistics(task, moments, X, y, double) - statistics(task, moments, X2, y2, double)
        worst = max(worst, float(np.abs(gap).sum() if l1 else np.linalg.norm(gap)))
    assert worst <= claim
    assert worst > 0.999 * claim  # so half the claim, or the printed add/remove one, is broken


@pytest.mark.parametrize("weight", [0.3, 1.0, 4.0])
@pytest.mark.parametrize("ridge", ["stein", "adassp"])
@pytest.mark.parametrize("kind", ["gaussian", "gamma", "laplace"])
@pytest.mark.parametrize("relation", RELATIONS)
def test_all_that_is_released_of_weighted_rows_is_paid_for(
    monkeypatch: pytest.MonkeyPatch, relation: str, kind: str, ridge: str, weight: float
) -> None:
    """The least eigenvalue counts as well, and a row counts as often as its weight says."""
    bounds = Bounds(row_norm=1.0, label=(-1.0, 1.0), weight=weight)
    task = problem(neighbours=relation, bounds=bounds, n_features=1, n_rows=2)
    budget = Budget(0.5, 1e-6 if kind == "gaussian" else 0.0)
    plan = SufficientStatistics(ridge=ridge, noise=kind).plan(task, budget)  # type: ignore[arg-type]
    sums: list[np.ndarray] = []
    monkeypatch.setattr(ReleaseNoise, "add", lambda self, v, random: sums.append(v) or v)
    rows = [(x, y, weight) for x in (-1.0, 0.0, 1.0) for y in (-1.0, 0.0, 1.0)]
    for x, y, w in [*rows, (math.nan, 0.0, weight)]:
        X, labels, weights = np.array([[0.3], [x]]), np.array([0.5, y]), np.array([weight, w])
        size = 1 if relation == "add-remove" and math.isnan(x) else 2
        plan.released(ArraySource(X[:size], labels[:size], weights[:size]), Seeded(0))
    *found, without = sums
    others = found if relation == "replace-one" else [without]
    order = 1 if kind == "laplace" else 2
    worst = max(float(np.linalg.norm(a - b, order)) for a in found for b in others)
    # Noise of one unit hides so much.
    unit = gaussian_multiplier(0.5, 1e-6) if kind == "gaussian" else 2.0
    assert worst <= plan.noise.scale / unit
    if relation != "replace-one":
        assert worst > 0.999 * plan.noise.scale / unit


@pytest.mark.parametrize("ridge", ["stein", "adassp"])
@pytest.mark.parametrize("kind", ["gaussian", "gamma", "laplace"])
@pytest.mark.parametrize("relation", RELATIONS)
def test_all_that_a_group_of_rows_adds_is_paid_for(
    monkeypatch: pytest.MonkeyPatch, relation: str, kind: str, ridge: str
) -> None:
    # Under replace-one sizes are numbers of groups.
    n = 2 if relation == "replace-one" else 5
    task = problem(neighbours=relation, n_features=1, n_rows=n, grouping=Grouping(3))
    budget = Budget(0.5, 1e-6 if kind == "gaussian" else 0.0)
    plan = SufficientStatistics(ridge=ridge, noise=kind).plan(task, budget)  # type: ignore[arg-type]
    sums: list[np.ndarray] = []
    monkeypatch.setattr(ReleaseNoise, "add", lambda self, v, random: sums.append(v) or v)
    for x, y in [(x, y) for x in (-1.0, 0.0, 1.0) for y in (-1.0, 0.0, 1.0)] + [(math.nan, 0.0)]:
        # Two rows of one group, and three equal ones of another that may be missing.
        X, labels = np.array([[0.3], [0.1], [x], [x], [x]]), np.array([0.5, -0.5, y, y, y])
        size = 2 if relation == "add-remove" and math.isnan(x) else 5
        source = ArraySource(X[:size], labels[:size], groups=list("aabbb")[:size])
        plan.released(capped_source(source, Grouping(3), Seeded(0)), Seeded(0))
    *found, without = sums
    others = found if relation == "replace-one" else [without]
    order = 1 if kind == "laplace" else 2
    worst = max(float(np.linalg.norm(a - b, order)) for a in found for b in others)
    unit = gaussian_multiplier(0.5, 1e-6) if kind == "gaussian" else 2.0
    assert worst <= plan.noise.scale / unit
    if relation != "replace-one":
        assert worst > 0.999 * plan.noise.scale / unit


def test_joint_replacement_sensitivity_over_a_fine_grid() -> None:
    # Of the last pair labels are so much longer than rows that a label alone is turned over.
    for x, y in ((1.0, 1.0), (1.0, 0.3), (0.4, 1.0), (1.0, 1.5), (0.55, 1.0)):
        moments = SecondMoments(dimension=3, row_norm=x, label=y, capacity=10)
        unit, other = moments.row_scale**2, moments.row_scale * moments.label_scale
        norms, labels = np.linspace(0, x, 6), np.linspace(-y, y, 7)
        a, b, s, t, cosine = np.ix_(norms, norms, labels, labels, np.linspace(-1, 1, 401))
        inner = a * b * cosine
        square = (a**4 + b**4 - 2 * inner**2) / unit**2
        square = square + ((s * a) ** 2 + (t * b) ** 2 - 2 * s * t * inner) / other**2
        claim = moments.l2_sensitivity("replace-one")
        assert math.sqrt(square.max()) <= claim * (1 + 1e-12)
        assert math.sqrt(square.max()) > 0.9999 * claim
        assert claim < 2 * moments.l2_sensitivity("zero-out")  # the triangle inequality is loose


# Noise, and what is done with it.


@pytest.mark.parametrize(("kind", "delta"), [("gaussian", 1e-5), ("laplace", 0.0)])
def test_releases_follow_the_noise_law(kind: str, delta: float) -> None:
    task = problem(n_rows=4)
    X, y = np.array([[1.0, 0.0], [0.5, 0.5], [-0.2, 0.1], [0.0, 1.0]]), np.array([1, -1, 0.5, 0.0])
    plan = SufficientStatistics(noise=kind).plan(task, Budget(1.0, delta))  # type: ignore[arg-type]
    random = Seeded(6)
    draws = [plan.released(ArraySource(X, y), random)[:2] for _ in range(500)]
    law = stats.norm if kind == "gaussian" else stats.laplace
    exact = X.T @ X
    half = 2.0 if kind == "laplace" else math.sqrt(2.0)
    for sample, centre, scale in (
        ([m[0, 0] for m, _ in draws], exact[0, 0], plan.noise.scale),
        ([m[0, 1] for m, _ in draws], exact[0, 1], plan.noise.scale / half),
        ([v[1] for _, v in draws], (X.T @ y)[1], plan.noise.scale),
    ):
        assert stats.kstest(sample, law(loc=centre, scale=scale).cdf).pvalue > 1e-4
        assert stats.kstest(sample, law(loc=centre, scale=scale / 2).cdf).pvalue < 1e-6
    assert all(m[0, 1] == m[1, 0] for m, _ in draws)


def test_calibration_of_the_design() -> None:
    task = problem(n_features=38, n_rows=1000)
    multiplier = gaussian_multiplier(1.0, 1e-6)
    assert 1 / multiplier == pytest.approx(0.2367044, abs=1e-7)
    adassp = SufficientStatistics(ridge="adassp").plan(task, Budget(1.0, 1e-6))
    assert adassp.noise.scale == pytest.approx(math.sqrt(3) * multiplier, rel=1e-4)
    assert adassp.noise.scale < 0.65 * 3 * math.sqrt(math.log(6e6))  # Wang's, 1.6 times larger
    replace = problem(n_features=38, n_rows=1000, neighbours="replace-one")
    gaussian = SufficientStatistics().plan(replace, Budget(1.0, 1e-6))
    assert gaussian.noise.scale == pytest.approx(math.sqrt(4.5) * multiplier, rel=1e-4)
    laplace = SufficientStatistics(row_l1=1.0).plan(replace, Budget(0.5))
    assert laplace.kind == "laplace"
    assert laplace.noise.scale == pytest.approx(4 / 0.5, rel=1e-4)


def test_stein_estimate_is_unbiased() -> None:
    rng = np.random.default_rng(7)
    p, s, t, strength = 3, 2.0, 3.0, 15.0
    M, m = np.diag([60.0, 40.0, 20.0]), np.array([30.0, -20.0, 10.0])
    estimates, truths = [], []
    for _ in range(6_000):
        noise = rng.normal(size=(p, p))
        A, c = M + s * (noise + noise.T) / 2, m + t * rng.normal(size=p)
        K = np.linalg.inv(A + strength * np.eye(p))
        w = K @ c
        guess = 0.5 * w @ A @ w - c @ w
        guess += 0.5 * s * s * (np.trace(K) * w @ w + w @ K @ w) + t * t * np.trace(K)
        estimates.append(guess)
        truths.append(0.5 * w @ M @ w - m @ w)
    gap = np.array(estimates) - np.array(truths)
    assert abs(gap.mean()) < 4.5 * gap.std() / math.sqrt(len(gap))
    biased = gap - t * t * np.trace(np.linalg.inv(M + strength * np.eye(p)))
    assert abs(biased.mean()) > 8 * biased.std() / math.sqrt(len(gap))


def test_stein_strength_follows_the_noise() -> None:
    M, m = np.diag([1000.0, 10.0, 1.0]), np.array([1000.0, 10.0, 1.0])
    found = [stein_strength(M, m, s, s) for s in (0.01, 1.0, 30.0, 1000.0)]
    assert found == sorted(found)
    assert stein_strength(M, m, 1e-3, 1e-3, least=7.0) == 7.0


@pytest.mark.parametrize("ridge", ["stein", "adassp"])
@pytest.mark.parametrize("delta", [1e-6, 0.0])
def test_much_budget_gives_the_ridge_solution(ridge: str, delta: float) -> None:
    rng = np.random.default_rng(8)
    X = rng.uniform(-0.5, 0.5, size=(4000, 3))
    y = np.clip(X @ [0.5, -0.4, 0.2] + 0.05 * rng.normal(size=4000), -1, 1)
    task = problem(n_features=3, n_rows=4000)
    algorithm = SufficientStatistics(ridge=ridge, strength=5.0)  # type: ignore[arg-type]
    w = algorithm.plan(task, Budget(2000.0, delta)).run(ArraySource(X, y), Seeded(0)).weights
    exact = np.linalg.solve(X.T @ X + 5.0 * np.eye(3), X.T @ y)
    assert w == pytest.approx(exact, abs=0.01)


def test_constraints_and_penalties_are_post_processing() -> None:
    rng = np.random.default_rng(9)
    X, y = rng.uniform(-0.5, 0.5, size=(4000, 3)), np.zeros(4000)
    y = np.clip(X @ [0.9, -0.4, 0.01], -1, 1)
    source, budget = ArraySource(X, y), Budget(500.0, 1e-6)
    ball = problem(n_features=3, n_rows=4000, constraint=L2Ball(radius=0.5))
    w = SufficientStatistics().plan(ball, budget).run(source, Seeded(0)).weights
    assert np.linalg.norm(w) == pytest.approx(0.5)
    l1 = problem(n_features=3, n_rows=4000, constraint=L1Ball(radius=0.5))
    w = SufficientStatistics().plan(l1, budget).run(source, Seeded(0)).weights
    assert np.abs(w).sum() <= 0.5 + 1e-9
    assert w[0] == pytest.approx(0.5, abs=0.02)
    lasso = problem(n_features=3, n_rows=4000, regularizer=L1(strength=30.0))
    w = SufficientStatistics().plan(lasso, budget).run(source, Seeded(0)).weights
    assert abs(w[2]) < 1e-9
    assert w[0] > 0.7


def test_noise_that_drowns_the_data_still_gives_an_answer() -> None:
    task = problem(n_features=5, n_rows=20)
    X = np.random.default_rng(0).normal(size=(20, 5))
    for seed in range(20):
        plan = SufficientStatistics().plan(task, Budget(1e-3, 1e-9))
        assert np.isfinite(plan.run(ArraySource(X, X[:, 0]), Seeded(seed)).weights).all()


def test_private_ridge_takes_it_by_name_and_when_it_promises_less_error() -> None:
    X = np.linspace(0, 10, 3000).reshape(-1, 1)
    bounds = Bounds(features=(0, 10), label=(0, 30))
    model = PrivateRidge(
        epsilon=2.0, bounds=bounds, algorithm="sufficient-statistics", random_state=0
    ).fit(X, 3 * X.ravel())
    assert model.algorithm_ == "sufficient-statistics"
    assert model.predict([[5.0]])[0] == pytest.approx(15, abs=1.0)
    for clip, chosen in ((1.0, "objective-perturbation"), (50.0, "sufficient-statistics")):
        plan = PrivateRidge(bounds=bounds, clip=clip).plan(1, 30_000)
        assert plan.facts()["algorithm"] == chosen
        others = [recommend(plan.problem, Budget(1.0, 1e-6), Asked(algorithm=a)).expected_excess
                  for a in ("objective-perturbation", "sufficient-statistics")]  # fmt: skip
        # Pure noise, which no algorithm named above takes by itself, may be smaller still.
        assert plan.expected_excess <= min(others) * (1 + 1e-9)


def test_private_ridge_clips_by_public_facts_unless_told() -> None:
    bounds = Bounds(features=(-1, 1), label=(-1, 1))

    def clip_of(n_rows: int, **changes: object) -> float:
        found = PrivateRidge(bounds=bounds, **changes)._problem(bounds, 4, n_rows)  # type: ignore[arg-type]
        return found.loss.clip / found.row_norm  # type: ignore[attr-defined,no-any-return]

    assert clip_of(1000, clip=0.7) == pytest.approx(0.7)
    assert clip_of(100, epsilon=0.1) == pytest.approx(0.125)
    assert clip_of(10**9) == pytest.approx(2.0)
    grown = [clip_of(n) for n in (1_000, 4_000, 16_000)]
    assert grown[1] == pytest.approx(2 * grown[0])  # the root of the number of rows
    assert grown[2] == pytest.approx(4 * grown[0])
    assert clip_of(4_000, neighbours="replace-one") < grown[1]
    # A secret number of rows decides nothing.
    assert clip_of(5, neighbours="add-remove") == clip_of(50_000, neighbours="add-remove") == 2.0
    # Nor do the rows: only their shape is asked for.
    X = np.random.default_rng(0).uniform(-1, 1, size=(500, 4))
    for y in (X[:, 0], 1e6 * X[:, 0]):
        model = PrivateRidge(bounds=bounds, random_state=0).fit(X, y)
        assert model.clip is None


def test_refusals() -> None:
    budget = Budget(1.0, 1e-6)
    binary = Bounds(row_norm=1.0, classes=(0, 1))
    for loss in (Logistic(), Clipped(loss=Logistic(), clip=1.0)):
        with pytest.raises(Incompatible, match="squared loss only"):
            SufficientStatistics().plan(problem(loss=loss, bounds=binary), budget)
    with pytest.raises(InvalidParameter, match="ridge"):
        SufficientStatistics(ridge="guess").plan(problem(), budget)  # type: ignore[arg-type]
    with pytest.raises(InvalidParameter, match="row_l1"):
        SufficientStatistics(row_l1=0.0).plan(problem(), budget)
    with pytest.raises(Incompatible, match="delta > 0"):
        SufficientStatistics(noise="gaussian").plan(problem(), Budget(1.0)).noise  # noqa: B018
    plan = SufficientStatistics().plan(problem(n_rows=4), budget)
    with pytest.raises(InvalidData, match="rows"):
        plan.run(ArraySource(np.ones((3, 2)), np.ones(3)), Seeded(0))


def test_data_beyond_memory_is_read_in_blocks(tmp_path: Path) -> None:
    n, p = 100_000, 20
    X = np.memmap(tmp_path / "rows", dtype=np.float64, mode="w+", shape=(n, p))
    X[:] = np.random.default_rng(0).uniform(-1.0, 1.0, size=(n, p))
    model = PrivateRidge(
        bounds=Bounds(features=(-1, 1), label=(-1, 1)),
        algorithm="sufficient-statistics",
        random_state=0,
    )
    labels = 0.5 * np.asarray(X[:, 0])
    tracemalloc.start()
    try:
        model.fit(X, labels)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < X.nbytes / 3
    assert model.coef_[0] == pytest.approx(0.5, abs=0.05)


@pytest.mark.parametrize("ridge", ["stein", "adassp", "fixed"])
def test_nothing_is_released_beside_the_noisy_sums(
    monkeypatch: pytest.MonkeyPatch, ridge: str
) -> None:
    """With noise that hides all, other rows give the same release bit by bit."""
    task = problem(n_features=3, n_rows=20)
    plan = SufficientStatistics(ridge=ridge).plan(task, Budget(1e4, 1e-3))  # type: ignore[arg-type]
    sums: list[np.ndarray] = []
    monkeypatch.setattr(
        ReleaseNoise, "add", lambda self, v, random: sums.append(v) or np.zeros_like(v)
    )
    monkeypatch.setattr(SufficientStatisticsPlan, "_adassp", lambda self, eigenvalue: eigenvalue)
    rng = np.random.default_rng(0)
    one, two = (
        plan.released(ArraySource(rng.normal(size=(20, 3)), rng.uniform(-1, 1, 20)), Seeded(0))
        for _ in range(2)
    )
    assert (sums[0] != sums[1]).all()
    for a, b in zip(one, two, strict=True):
        np.testing.assert_array_equal(a, b)


def test_the_rounding_of_products_with_the_root_of_two_is_paid_for() -> None:
    plan = SufficientStatistics().plan(problem(), Budget(1.0, 1e-6))
    rounding = 4 * unit_roundoff() * 2 * plan.moments.capacity * 2
    assert plan.sensitivity >= plan.moments.l2_sensitivity("zero-out") + rounding


class InBlocks(ArraySource):
    """Rows of zeros in blocks of any size."""

    def __init__(self, n_rows: int, n_features: int, size: int) -> None:
        super().__init__(np.zeros((n_rows, n_features)), np.zeros(n_rows))
        self.size = size

    def blocks(self) -> Iterator[RawBlock]:
        for start in range(0, self.n_rows, self.size):
            part = slice(start, start + self.size)
            yield RawBlock(self._X[part], self._y[part], None)


def test_no_number_of_rows_overflows(monkeypatch: pytest.MonkeyPatch) -> None:
    # Every row stands for a block whose sums are as large as they can be.
    for way in ("_block", "_compiled"):
        monkeypatch.setattr(
            SecondMoments, way, lambda self, rows, part: np.full((4, 4), 2**52, dtype=np.int64)
        )
    moments = SecondMoments(dimension=3, row_norm=1.0, label=1.0, capacity=2500)
    task = problem(n_features=3, n_rows=2500)
    for found in moments.integers(task, InBlocks(2500, 3, size=1)):
        assert (found == 2.0**51).all()


def test_no_block_holds_more_than_sums_of_floats_hold_exactly(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Under add-remove there may be far more rows than were declared.
    task = problem(n_rows=10, neighbours="add-remove")
    moments, sizes, real = SecondMoments.of(task), [], SecondMoments._block
    monkeypatch.setattr(second_moments, "loop_for", lambda *_: None)
    monkeypatch.setattr(
        SecondMoments,
        "_block",
        lambda self, rows, part: sizes.append(part.stop - part.start) or real(self, rows, part),
    )
    moments.integers(task, InBlocks(70_000, 2, size=70_000))
    assert sum(sizes) == 70_000
    assert max(sizes) * 4**moments.bits <= 2**53


@pytest.mark.parametrize(
    ("loss", "neighbours", "bits"),
    [(Squared(), "zero-out", 20), (Clipped(loss=Squared(), clip=0.5), "add-remove", 12)],
)
@pytest.mark.parametrize("row_l1", [None, 0.8])
@pytest.mark.parametrize("nearest", [False, True])
def test_compiled_sums_are_those_of_numpy(
    loss: Any, neighbours: str, bits: int, row_l1: float | None, nearest: bool
) -> None:
    pytest.importorskip("numba")
    task = problem(loss=loss, n_features=20, n_rows=5001, neighbours=neighbours, intercept=1.0)
    capacity = 2 ** (51 - 2 * bits)
    moments = replace(SecondMoments.of(task, row_l1=row_l1), capacity=capacity, nearest=nearest)
    assert moments.bits == bits
    rng = np.random.default_rng(0)
    X, y = rng.uniform(-1.2, 1.2, (5001, 20)), rng.uniform(-1.2, 1.2, 5001)
    X[17], weight = np.nan, rng.choice([0.0, 0.3, 1.0], 5001)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(second_moments, "loop_for", lambda *_: None)
        plain = moments.partial(task, ArraySource(X, y, weight))
        for order in "CF":
            patch.setattr(second_moments, "loop_for", lambda *_: Loop())
            patch.setattr(bounding, "loop_for", lambda *_: Loop())
            source = ArraySource(np.asarray(X, order=order), y, weight)
            assert _whole(moments.partial(task, source)) == _whole(plain)


@pytest.mark.parametrize("p", [1, 2, 7])
@pytest.mark.parametrize("intercept", [0.0, 1.0])
@pytest.mark.parametrize("kind", [np.float64, np.float32])
def test_columns_of_tables_are_summed_as_stored_rows_are(
    p: int, intercept: float, kind: type, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("numba")
    bounds = Bounds(features=[(-1.0, 2.0)] * p, row_norm=0.9, label=(0.0, 1.0))
    task = Problem(loss=Squared(), bounds=bounds, n_features=p, n_rows=700, intercept=intercept)
    rng = np.random.default_rng(p)
    X, y = np.asfortranarray(rng.uniform(-2, 3, (700, p)).astype(kind)), rng.uniform(-1, 2, 700)
    # Rows that cannot be read, in a tile of good ones and beside a label that counts.
    X[3, 0], X[300, p - 1], y[5], y[131] = np.nan, np.inf, np.nan, -np.inf
    moments = SecondMoments.of(task)
    plain = moments.partial(task, ArraySource(X, y))
    monkeypatch.setattr(second_moments, "loop_for", lambda *_: Loop())
    stored = []
    monkeypatch.setattr(bounding.Bounding, "apply", lambda *_, **__: stored.append(1))
    found = moments.partial(task, ArraySource(X, y))
    assert (found == plain).all()
    assert not stored
    other = X.copy(order="F")
    other[3], other[300], other[5] = 7.0, -1.0, 0.5
    other[3, 0] = other[300, 0] = np.nan
    # privacy: nothing of a row that is blank is in any sum.
    assert (moments.partial(task, ArraySource(other, y)) == plain).all()
    with pytest.raises(InvalidData, match="another width"):
        task.bounding.each_column(RawBlock(np.ones((4, p + 1)), y[:4], None), None, None, None)


def test_rows_are_scaled_alike_however_they_are_stored() -> None:
    # Whether they are is decided by the number of rows, which may be secret.
    task = problem(n_features=40, n_rows=500, neighbours="add-remove")
    X = np.random.default_rng(0).uniform(-1, 1, (500, 40))
    rows = task.bound(ArraySource(X, X[:, 0]))
    turned = Rows(np.asfortranarray(rows.X), rows.y, rows.weight, rows.norms)
    moments = SecondMoments.of(task, row_l1=0.8)
    one, other = (moments._scaled(r, slice(0, 500))[2] for r in (rows, turned))
    assert one.tobytes() == other.tobytes()


def _whole(partial: Any) -> list[int]:
    high, low = partial[:-2].reshape(2, -1).tolist()
    return [a * 2**30 + b for a, b in zip(high, low, strict=True)] + partial[-2:].tolist()


def test_tiles_of_compiled_sums_are_exact_and_so_are_all_of_them() -> None:
    assert compiled_moments.TILE * 4**20 <= 2**53
    assert second_moments._COMPILED * 4**20 < 2**63
