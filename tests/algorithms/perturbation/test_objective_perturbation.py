"""Objective perturbation end to end, against exact laws in one dimension."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy import stats
from scipy.optimize import brentq
from scipy.special import expit

from discreet.accounting import GAMMA_MODES, MODES, Budget, gamma_scale
from discreet.algorithms import (
    ExponentialSampling,
    Localization,
    ObjectivePerturbation,
    OutputPerturbation,
    SufficientStatistics,
)
from discreet.bounds import Bounds, Neighbours
from discreet.data import ArraySource
from discreet.errors import (
    Incompatible,
    InvalidData,
    InvalidParameter,
    MissingBound,
)
from discreet.losses import (
    Clipped,
    EuclideanDistance,
    Hinge,
    Huber,
    HuberisedHinge,
    Logistic,
    Loss,
    Poisson,
    SmoothedQuantile,
    Softmax,
    Squared,
    SquaredVector,
)
from discreet.noise import Seeded, System
from discreet.problem import Problem
from discreet.regularizers import L1, ElasticNet, Indicator, Ridge, Zero
from discreet.sets import Box, Intersection, L1Ball, L2Ball, Simplex
from discreet.tuned.algorithms import OUTPUT_SHARES, RIDGE_NOISE

NEIGHBOURS = ["zero-out", "replace-one", "add-remove"]


def problem(loss: Loss | None = None, **changes: object) -> Problem:
    settings: dict[str, object] = {
        "loss": Logistic() if loss is None else loss,
        "bounds": Bounds(row_norm=1.0, classes=(0, 1)),
        "n_features": 1,
        "n_rows": 4,
    }
    return Problem(**(settings | changes))  # type: ignore[arg-type]


def draws(plan: object, source: ArraySource, count: int) -> np.ndarray:
    random = Seeded(11)
    return np.array([plan.run(source, random).weights.ravel() for _ in range(count)])  # type: ignore[attr-defined]


# The law of a release: in one dimension w <= t exactly when the tilt is above -Obj'(t).

X = np.array([[1.0], [0.5], [-0.25], [40.0]])  # the last row is scaled down to norm 1
CLIPPED = np.array([1.0, 0.5, -0.25, 1.0])
Y = np.array([1, 0, 1, 1])


def logistic_slope(w: np.ndarray) -> np.ndarray:
    signs = 2.0 * Y - 1.0
    return -(signs * CLIPPED * expit(-np.outer(w, signs * CLIPPED))).sum(axis=1)


@pytest.mark.parametrize("delta", [1e-5, 0.0])
@pytest.mark.parametrize("neighbours", ["zero-out", "replace-one"])
def test_releases_follow_the_exact_law(delta: float, neighbours: str) -> None:
    plan = ObjectivePerturbation().plan(problem(neighbours=neighbours), Budget(1.0, delta))
    tilt = stats.norm(scale=plan.scale) if delta else stats.laplace(scale=plan.scale)

    def law(w: np.ndarray) -> np.ndarray:
        return tilt.cdf(logistic_slope(np.ravel(w)) + plan.strength * np.ravel(w))

    sample = draws(plan, ArraySource(X, Y), 350).ravel()
    assert stats.kstest(sample, law).pvalue > 1e-4

    # Half the noise, or the long row left as it is, is caught.
    def half(w: np.ndarray) -> np.ndarray:
        return tilt.cdf(2 * (logistic_slope(np.ravel(w)) + plan.strength * np.ravel(w)))

    assert stats.kstest(sample, half).pvalue < 1e-6


def test_a_constraint_is_solved_and_not_projected_afterwards() -> None:
    # In one dimension solving over [0, 1] puts the outside mass of the law on the ends.
    plan = ObjectivePerturbation().plan(
        problem(constraint=Box(low=0.0, high=0.5)), Budget(1.0, 1e-5)
    )
    sample = draws(plan, ArraySource(X, Y), 300).ravel()

    def law(w: float) -> float:
        slope = float(logistic_slope(np.array([w]))[0]) + plan.strength * w
        return float(stats.norm.cdf(slope / plan.scale))

    low, high = (sample < 0.001).sum(), (sample > 0.499).sum()
    assert stats.binomtest(int(low), 300, law(0.001)).pvalue > 1e-4
    assert stats.binomtest(int(high), 300, 1 - law(0.499)).pvalue > 1e-4
    assert sample.min() >= 0.0
    assert sample.max() <= 0.5


def test_a_constrained_solution_differs_from_the_projected_one() -> None:
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(300, 2)) @ np.array([[1.0, 0.9], [0.0, 0.3]])
    labels = (rows[:, 0] > 0).astype(int)
    budget = Budget(20.0, 1e-5)
    free = problem(n_features=2, n_rows=300)
    tied = problem(n_features=2, n_rows=300, constraint=L2Ball(radius=1.0))
    one = ObjectivePerturbation(strength=1.0).plan(tied, budget)
    two = ObjectivePerturbation(strength=1.0).plan(free, budget)
    source = ArraySource(rows, labels)
    inside = one.run(source, Seeded(3)).weights
    outside = two.run(source, Seeded(3)).weights
    assert np.linalg.norm(inside) <= 1.0
    assert np.linalg.norm(inside - tied.constraint.project(outside)) > 1e-3


# Test vectors of the specification.


@pytest.mark.parametrize("algorithm", [ObjectivePerturbation, OutputPerturbation, Localization])
def test_a_longer_guess_leaves_room_for_the_rounding_of_longer_weights(algorithm: Any) -> None:
    """What a refused certificate advises has to help."""
    task = problem(n_features=10, n_rows=10**7)
    budget = Budget(8.0, 0.0 if algorithm is Localization else 1e-8)
    plans = [algorithm(norm_guess=guess).plan(task, budget) for guess in (None, 1e3, 1e5)]
    usual, long, longer = (plan.tolerance for plan in plans)
    assert usual < long < longer


def test_amp_vector() -> None:
    asked = ObjectivePerturbation(strength=1 / 0.99, norm_guess=1e9)
    plan = asked.plan(problem(), Budget(1.0, 1e-5))
    assert plan.scale == pytest.approx(3.76721642095, rel=1e-9)
    assert plan.strength == pytest.approx(1.0101010101, rel=1e-9)
    assert plan.tolerance == pytest.approx(3.76721642095e-8, rel=1e-9)
    # The grid's surcharge is the only difference from real arithmetic.
    assert plan.noise.scale == pytest.approx(2.70032689996e-5, rel=1e-3)
    assert plan.noise.scale >= 2.70032689996e-5


def test_the_output_noise_needs_the_factor_two() -> None:
    """A solver that leans one way on one data set and the other way on its neighbour is hidden."""
    plan = ObjectivePerturbation().plan(problem(), Budget(1.0, 1e-5))
    rows = plan.problem.bound(ArraySource(np.full((4, 1), np.nan), Y))  # all blank, no curvature
    tilt, w = 3.0, {}
    for side in (-1.0, 1.0):
        w[side] = np.array([(side * plan.tolerance - tilt) / plan.strength])
        gradient = rows.gradient(Logistic(), w[side]) + plan.strength * w[side] + tilt
        assert abs(gradient[0]) == pytest.approx(plan.tolerance)  # so the point is certified
    apart, epsilon = float(w[1.0][0] - w[-1.0][0]), plan.output.epsilon

    def delta(scale: float) -> float:
        mu = apart / scale
        upper, lower = (stats.norm.cdf(s * mu / 2 - epsilon / mu) for s in (1, -1))
        return float(upper - math.exp(epsilon) * lower)

    assert 0.9 * plan.output.delta < delta(plan.noise.scale) <= plan.output.delta
    assert delta(plan.noise.scale / 2) > plan.output.delta


def test_row_weights_scale_noise_and_strength() -> None:
    weighted = problem(bounds=Bounds(row_norm=1.0, classes=(0, 1), weight=3.0))
    budget = Budget(1 / 0.99, 1e-5 / 0.99)
    plan = ObjectivePerturbation(strength=3.0).plan(weighted, budget)
    assert plan.scale == pytest.approx(11.1918949044, rel=1e-9)
    # Left to choose, both the strength and the noise are three times those of one weight.
    free, usual = (
        ObjectivePerturbation(norm_guess=1e9).plan(task, budget) for task in (weighted, problem())
    )
    assert free.strength == pytest.approx(3 * usual.strength, rel=1e-5)
    assert free.scale == pytest.approx(3 * usual.scale, rel=1e-5)


def test_intercept_counts_in_the_row_norm() -> None:
    budget = Budget(1 / 0.99, 1e-5 / 0.99)
    plan = ObjectivePerturbation(strength=2.0).plan(problem(intercept=1.0), budget)
    assert plan.scale == pytest.approx(5.27590985417, rel=1e-9)
    free, usual = (
        ObjectivePerturbation(norm_guess=1e9).plan(problem(intercept=c), budget) for c in (1.0, 0.0)
    )
    assert free.strength == pytest.approx(2 * usual.strength, rel=1e-5)


def test_scaling_rows_scales_the_noise() -> None:
    one = ObjectivePerturbation(strength=5.0).plan(problem(), Budget(1.0, 1e-5))
    longer = problem(bounds=Bounds(row_norm=3.0, classes=(0, 1)))
    three = ObjectivePerturbation(strength=45.0).plan(longer, Budget(1.0, 1e-5))
    assert three.scale == pytest.approx(3 * one.scale, rel=1e-9)


# Every loss, set and regularizer that objective perturbation accepts runs and keeps its promises.

REAL = Bounds(row_norm=1.0, label=(-1.0, 1.0))
LOSSES = [
    (Logistic(), Bounds(row_norm=1.0, classes=(0, 1)), "logistic"),
    (HuberisedHinge(), Bounds(row_norm=1.0, classes=(0, 1)), "sharp"),
    (Huber(threshold=0.5), REAL, "sharp"),
    (SmoothedQuantile(quantile=0.2, width=0.5), REAL, "sharp"),
    (Clipped(loss=Squared(), clip=1.0), REAL, "sharp"),
    (Clipped(loss=Logistic(), clip=0.5), Bounds(row_norm=1.0, classes=(0, 1)), "sharp"),
    (Poisson(limit=2.0), Bounds(row_norm=1.0, label=(0.0, 5.0)), "sharp"),
    (Softmax(n_classes=3), Bounds(row_norm=1.0, classes=(0, 1, 2)), "sharp"),
]


@pytest.mark.parametrize(("loss", "bounds", "mode"), LOSSES, ids=lambda v: getattr(v, "name", ""))
@pytest.mark.parametrize("delta", [1e-5, 0.0])
@pytest.mark.parametrize("neighbours", NEIGHBOURS)
def test_every_smooth_loss_runs(
    loss: Loss, bounds: Bounds, mode: str, delta: float, neighbours: str
) -> None:
    rng = np.random.default_rng(1)
    rows = rng.normal(size=(60, 3))
    labels = rng.integers(0, 3 if loss.outputs == 3 else 2, size=60)
    task = problem(loss, bounds=bounds, n_features=3, n_rows=60, neighbours=neighbours)
    plan = ObjectivePerturbation().plan(task, Budget(1.0, delta))
    assert plan.mode == (mode if delta or mode == "logistic" else "tight")
    release = plan.run(ArraySource(rows, labels), Seeded(0))
    assert release.weights.shape == task.shape
    assert not release.guarantee.secure
    assert release.guarantee.neighbours == neighbours
    assert math.isfinite(plan.expected_excess)


@pytest.mark.parametrize(
    "changes",
    [
        {"regularizer": L1(strength=2.0)},
        {"regularizer": ElasticNet(l1=2.0, l2=1.0)},
        {"regularizer": Ridge(strength=3.0), "constraint": L1Ball(radius=0.5)},
        {"constraint": Simplex()},
        {"constraint": Box(low=-0.1, high=0.1), "regularizer": L1(strength=1.0)},
    ],
    ids=["l1", "elastic-net", "ridge and l1 ball", "simplex", "l1 and box"],
)
def test_constraints_and_regularizers_cost_no_noise(changes: dict[str, object]) -> None:
    rng = np.random.default_rng(2)
    rows, labels = rng.normal(size=(80, 3)), rng.integers(0, 2, size=80)
    task = problem(n_features=3, n_rows=80, **changes)
    settings = ObjectivePerturbation(strength=4.0)
    plan = settings.plan(task, Budget(1.0, 1e-5))
    plain = settings.plan(problem(n_features=3, n_rows=80), Budget(1.0, 1e-5))
    assert plan.scale == plain.scale
    weights = plan.run(ArraySource(rows, labels), Seeded(0)).weights
    assert np.allclose(task.constraint.project(weights), weights, atol=1e-12)


def test_the_ridge_of_a_regularizer_counts_as_strength() -> None:
    plan = ObjectivePerturbation().plan(
        problem(regularizer=Ridge(strength=500.0)), Budget(1.0, 1e-5)
    )
    assert plan.strength == 500.0


@pytest.mark.parametrize("mode", ["logistic", "sharp", "rkw23", "rkw23-tight", "kst12"])
def test_modes_are_selectable_and_ordered(mode: str) -> None:
    budget = Budget(1.0, 1e-5)
    best = ObjectivePerturbation(strength=8.0).plan(problem(), budget)
    plan = ObjectivePerturbation(mode=mode, strength=8.0).plan(problem(), budget)
    assert plan.mode == mode
    assert plan.scale >= best.scale * (1 - 1e-12)


@pytest.mark.parametrize("neighbours", NEIGHBOURS)
@pytest.mark.parametrize("delta", [1e-6, 0.0])
def test_a_weaker_ridge_is_taken_where_it_costs_little_noise(
    delta: float, neighbours: Neighbours
) -> None:
    task = problem(n_features=50, n_rows=100_000, neighbours=neighbours)
    for epsilon, share in ((1.0, 0.55), (8.0, 0.25)):
        plan = ObjectivePerturbation(norm_guess=1e9).plan(task, Budget(epsilon, delta))
        inner, terms = plan.inner, task.terms
        floor = MODES["logistic"].floor(terms, inner.epsilon, neighbours)
        if delta:
            assert plan.mode == "logistic"
            first = MODES["logistic"].sigma(terms, inner.epsilon, inner.delta, floor, neighbours)
        else:
            first = gamma_scale(terms, inner.epsilon, floor, neighbours)
        assert plan.strength < share * floor
        assert first < plan.scale <= RIDGE_NOISE * first * (1 + 1e-9)
        assert plan.guarantee.event.delta(epsilon) <= delta * (1 + 1e-6) + 1e-15


@pytest.mark.parametrize("neighbours", NEIGHBOURS)
def test_a_strength_below_the_usual_floor_costs_noise(neighbours: str) -> None:
    """It used to be refused, or raised."""
    budget, task = Budget(1.0, 1e-5), problem(neighbours=neighbours)
    weakest = ObjectivePerturbation(norm_guess=1e9).plan(task, budget).strength
    scales = [
        ObjectivePerturbation(strength=times * weakest).plan(task, budget).scale
        for times in (1.0, 1.5, 3.0)
    ]
    assert scales == sorted(scales, reverse=True)


@pytest.mark.parametrize("mode", ["logistic", "tight", "kst12", "cms11"])
def test_pure_modes_are_selectable(mode: str) -> None:
    plan = ObjectivePerturbation(mode=mode, strength=30.0).plan(problem(), Budget(1.0))
    assert plan.scale >= 1.0 / 0.99 * (1 - 1e-12)


@pytest.mark.parametrize("neighbours", ["zero-out", "replace-one"])
@pytest.mark.parametrize("mode", sorted(GAMMA_MODES))
def test_pure_modes_find_a_strength_of_their_own(mode: str, neighbours: str) -> None:
    task = problem(neighbours=neighbours)
    for epsilon in (0.1, 1.0, 4.0, 10.0):
        plan = ObjectivePerturbation(mode=mode, norm_guess=1e9).plan(task, Budget(epsilon))
        # No rule is left with so little of epsilon that its noise is out of proportion.
        assert plan.scale * epsilon < (2.0 if neighbours == "zero-out" else 4.0) * 2.1


def test_the_plan_meets_its_own_budget() -> None:
    for budget in (Budget(0.1, 1e-6), Budget(1.0, 1e-5), Budget(8.0, 1e-6), Budget(1.0)):
        guarantee = ObjectivePerturbation().plan(problem(), budget).guarantee
        assert guarantee.event.delta(budget.epsilon) <= budget.delta * (1 + 1e-9) + 1e-15


# What is guaranteed.


@pytest.mark.parametrize("algorithm", [ObjectivePerturbation, OutputPerturbation])
@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_the_pull_of_a_ridge_that_was_asked_for_is_no_loss(algorithm: Any, delta: float) -> None:
    ridges = (1e3, 1e4, 1e5)
    tasks = [problem(n_rows=1000, regularizer=Ridge(strength=ridge)) for ridge in ridges]
    plans = [algorithm().plan(task, Budget(1.0, delta)) for task in tasks]
    assert [plan.strength for plan in plans] == pytest.approx(ridges)
    bounds = [plan.expected_excess for plan in plans]
    assert bounds == sorted(bounds, reverse=True)
    assert bounds[-1] < ridges[-1] / 2 * plans[-1].norm_guess ** 2 / 1e6
    # One that is added by the plan pulls where nobody asked.
    added = algorithm(strength=1e5).plan(problem(n_rows=1000), Budget(1.0, delta))
    assert added.expected_excess > 1e5 / 2 * added.norm_guess**2


@pytest.mark.parametrize(
    ("algorithm", "loss"),
    [
        (ExponentialSampling, Logistic()),
        (ExponentialSampling, Hinge()),
        (Localization, Logistic()),
        (SufficientStatistics, Squared()),
    ],
)
def test_no_other_plan_charges_the_ridge_that_was_asked_for(algorithm: Any, loss: Loss) -> None:
    bounds = REAL if isinstance(loss, Squared) else Bounds(row_norm=1.0, classes=(0, 1))
    task = problem(loss, n_rows=1000, bounds=bounds, constraint=L2Ball(radius=60.0))
    asked = replace(task, regularizer=Ridge(strength=2.0))
    plan = algorithm(norm_guess=60.0).plan(asked, Budget(1.0))
    added = algorithm(norm_guess=60.0, strength=2.0).plan(task, Budget(1.0))
    assert plan.strength == added.strength == 2.0
    assert added.expected_excess == pytest.approx(plan.expected_excess + 60.0**2, rel=1e-6)
    assert plan.expected_excess > 0.0


@pytest.mark.parametrize("loss", [Logistic(), Huber()])
def test_bounds_are_for_weights_of_one_norm_and_grow_with_the_noise(loss: Any) -> None:
    bounds = REAL if isinstance(loss, Huber) else Bounds(row_norm=1.0, classes=(0, 1))
    for delta in (0.0, 1e-6):
        plans = [
            ObjectivePerturbation().plan(
                problem(loss, bounds=bounds, n_rows=5000, neighbours=relation), Budget(e, delta)
            )
            for e in (10.0, 1.0, 0.1)
            for relation in ("zero-out", "replace-one")
        ]
        assert len({plan.norm_guess for plan in plans}) == 1
        assert len({plan.aim for plan in plans}) > 1
        assert [plan.facts()["norm guess"] for plan in plans] == [plans[0].norm_guess] * 6
        promised = [plan.expected_excess for plan in plans]
        assert promised == sorted(promised)


# Refusals, each with its reason.


@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_a_vector_loss_that_is_bounded_on_the_set_only_is_refused(delta: float) -> None:
    vectors = Bounds(row_norm=1.0, label=(-1.0, 1.0))
    task = problem(SquaredVector(dim=2), bounds=vectors, constraint=L2Ball(radius=1.0))
    with pytest.raises(Incompatible, match="on the set only"):
        ObjectivePerturbation().plan(task, Budget(1.0, delta))
    scalar = problem(Squared(), bounds=vectors, constraint=L2Ball(radius=1.0))
    assert ObjectivePerturbation().plan(scalar, Budget(1.0, delta)).guarantee.epsilon == 1.0


def test_a_set_given_as_a_penalty_holds_the_released_weights() -> None:
    ball, wide = L2Ball(radius=0.01), Box(low=-1.0, high=0.005)
    inside = problem(regularizer=Indicator(constraint=ball), constraint=wide, n_features=3)
    assert inside.constraint == Intersection(sets=(ball, wide))
    assert inside.regularizer == Zero()
    alone = problem(regularizer=Indicator(constraint=ball), n_features=3)
    assert alone.constraint == ball
    source = ArraySource(np.eye(4, 3), np.array([0, 1, 0, 1]))
    for algorithm in (ObjectivePerturbation(), OutputPerturbation()):
        weights = algorithm.plan(alone, Budget(1.0)).run(source, Seeded(0)).weights
        assert np.linalg.norm(weights) <= 0.01 * (1 + 1e-9)


def test_pure_noise_names_its_rule_and_proof() -> None:
    for mode, name in (("auto", "gamma-logistic"), ("cms11", "gamma"), ("tight", "gamma")):
        plan = ObjectivePerturbation(mode=mode).plan(problem(), Budget(1.0))
        assert plan.facts()["mode"] == ("logistic" if mode == "auto" else mode)
        assert f"objective-perturbation/{name}" in plan.guarantee.theorem.split("; ")


def test_refusals() -> None:
    budget = Budget(1.0, 1e-5)
    with pytest.raises(Incompatible, match=r"smooth loss.* Use the loss 'huberised-hinge', which"):
        ObjectivePerturbation().plan(problem(Hinge()), budget)
    with pytest.raises(MissingBound, match=r"unbounded.* Bound .*L2Ball\(.* or .*Clipped\(loss="):
        ObjectivePerturbation().plan(problem(Squared(), bounds=REAL), budget)
    vectors = problem(EuclideanDistance(dim=2), n_features=1, bounds=Bounds(row_norm=1.0))
    with pytest.raises(Incompatible, match=r"smooth loss.* Use noisy-gradient"):
        ObjectivePerturbation().plan(vectors, budget)
    with pytest.raises(Incompatible, match="logistic"):
        ObjectivePerturbation(mode="logistic").plan(problem(Huber(), bounds=REAL), budget)
    with pytest.raises(Incompatible, match="prox"):
        ObjectivePerturbation().plan(
            problem(n_features=3, regularizer=L1(strength=1.0), constraint=Simplex()), budget
        )
    with pytest.raises(InvalidParameter, match="mode"):
        ObjectivePerturbation(mode="sharpest").plan(problem(), budget)
    with pytest.raises(InvalidParameter, match="mode with delta = 0 must be one of 'auto', "):
        ObjectivePerturbation(mode="sharp").plan(problem(), Budget(1.0))


def test_the_shape_of_the_data_must_match_the_plan() -> None:
    plan = ObjectivePerturbation().plan(problem(), Budget(1.0, 1e-5))
    with pytest.raises(InvalidData, match="features"):
        plan.run(ArraySource(np.ones((4, 2)), Y), Seeded(0))
    with pytest.raises(InvalidData, match="rows"):
        plan.run(ArraySource(X[:3], Y[:3]), Seeded(0))


def test_a_secret_size_is_not_compared() -> None:
    task = problem(neighbours="add-remove", n_rows=None)
    plan = ObjectivePerturbation().plan(task, Budget(1.0, 1e-5))
    assert plan.run(ArraySource(X[:3], Y[:3]), System()).guarantee.secure


def test_a_public_size_is_needed() -> None:
    with pytest.raises(MissingBound, match="n_rows"):
        problem(n_rows=None)


@pytest.mark.parametrize("strength", [1e2, 1e4, 1e6])
def test_strong_ridges_do_not_clip_the_weights(strength: float) -> None:
    """The output noise lives on a grid whose reach must hold the minimiser."""
    n = 100_000
    asked = problem(n_features=2, n_rows=n)
    plan = ObjectivePerturbation(strength=strength).plan(asked, Budget(1.0, 1e-6))
    assert plan.noise.noise.grid.reach >= min(n / strength, 64 * plan.aim)
    X, y = np.repeat([[1.0, 0.0]], n, axis=0), np.ones(n)
    weights = plan.run(ArraySource(X, y), Seeded(0)).weights

    def gradient(w: float) -> float:
        return n * float(expit(-w)) - strength * w

    exact = brentq(gradient, 0.0, 100.0)
    assert weights[0] == pytest.approx(exact, abs=8 * plan.scale / strength)


@pytest.mark.parametrize("algorithm", [ObjectivePerturbation, OutputPerturbation])
@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_the_certified_minimum_is_asked_for_and_released_with_all_its_noise(
    monkeypatch: pytest.MonkeyPatch, algorithm: Any, delta: float
) -> None:
    asked: dict[str, Any] = {}
    point = np.array([0.3])
    monkeypatch.setattr(
        f"{algorithm.__module__}.minimise", lambda rows, loss, **given: asked.update(given) or point
    )
    rng = np.random.default_rng(1)
    for ridge in rng.uniform(0.01, 5.0, 30):
        task = problem(regularizer=Ridge(strength=float(ridge)))
        strength = float(ridge * rng.uniform(1.0, 1.5))
        plan = algorithm(strength=strength).plan(task, Budget(1.0, delta))
        released, random = plan.run(ArraySource(X, Y), Seeded(3)).weights, Seeded(3)
        if algorithm is ObjectivePerturbation:
            assert (asked["linear"] == plan.tilt.sample(task.shape, random)).all()
            assert asked["linear_error"] >= plan.tilt.displacement(1)
        assert (released == plan.noise.add(point, random)).all()
        assert asked["tolerance"] <= plan.tolerance
        # The ridge that was asked for and that of the regularizer are enough as real numbers.
        ridges = asked["strength"], task.regularizer.strong_convexity
        assert sum(map(Fraction, ridges)) > Fraction(plan.strength)
        assert sum(ridges) >= plan.strength


@pytest.mark.parametrize("delta", [0.0, 1e-6])
@pytest.mark.parametrize("epsilon", [1.0, 8.0])
def test_the_share_of_output_noise_is_about_the_best(epsilon: float, delta: float) -> None:
    budget, algorithm, shares = Budget(epsilon, delta), ObjectivePerturbation(), set()
    for n_rows in (10**5, 10**6, 10**7, 10**8):
        task = Problem(
            loss=Huber(threshold=0.5),
            bounds=Bounds(row_norm=1.0, label=(-1, 1)),
            n_features=20,
            n_rows=n_rows,
            constraint=Box(low=-3.0, high=3.0),
            regularizer=Ridge(strength=1.0),
        )
        plan = algorithm.plan(task, budget)
        if plan.correction is None:
            all_of_them = [algorithm._calibrated(task, budget, s, 0.0) for s in OUTPUT_SHARES]
            assert plan.spread <= 1.01 * min(other.spread for other in all_of_them)
            shares.add(plan.output)
    assert len(shares) > 1
