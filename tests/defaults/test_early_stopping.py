"""Descent stopped early: momentum is post-processing, and the plan is made of public facts."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from discreet import PrivateLogisticRegression
from discreet.accounting import Budget, epsilon_at
from discreet.algorithms import NoisyGradient
from discreet.algorithms.gradient import NoisyGradientPlan
from discreet.bounds import Array, Bounds
from discreet.data import ArraySource
from discreet.data.clipped.clipped_sums import ClippedSums
from discreet.defaults import Asked, recommend
from discreet.errors import Incompatible, InvalidParameter
from discreet.losses import Logistic
from discreet.losses.calibrated_logistic import CalibratedLogistic
from discreet.noise import Seeded
from discreet.problem import Problem, rows_against_noise
from discreet.tuned.defaults import (
    LEAST_RATE,
    LONGEST,
    MOMENTUM,
    REACH,
    REACH_LEAST,
    REACH_ROWS,
    REGIONS,
)

BINARY = Bounds(row_norm=1.0, classes=(0, 1))
BUDGET = Budget(1.0, 1e-6)


def problem(n_rows: int = 400, n_features: int = 3, neighbours: str = "zero-out") -> Problem:
    return Problem(
        loss=Logistic(),
        bounds=BINARY,
        n_features=n_features,
        n_rows=n_rows,
        neighbours=neighbours,  # type: ignore[arg-type]
    )


def early_stopping(
    task: Problem, budget: Budget, norm_guess: float | None = None
) -> NoisyGradientPlan | None:
    """Return the plan that is recommended, if it is one of early stopping."""
    plan = recommend(task, budget, Asked(norm_guess=norm_guess))
    return plan if isinstance(plan, NoisyGradientPlan) else None


def data(n: int, p: int) -> ArraySource:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, p))
    X /= np.linalg.norm(X, axis=1)[:, None]
    return ArraySource(X, (X[:, 0] > 0).astype(int))


def test_batches_of_nearly_all_rows_are_all_rows() -> None:
    for n_features in range(3998, 4006):
        assert early_stopping(problem(1000, n_features), BUDGET) is not None


def test_momentum_is_heavy_ball_with_averaged_directions() -> None:
    step, m = 1e-2, 0.75
    config = NoisyGradient(steps=5, step=step, momentum=m, output="last", rule="smooth")
    plan = config.plan(problem(), BUDGET)
    released = plan.run(data(400, 3), Seeded(7)).weights
    w, direction = np.zeros(3), np.zeros(3)
    drawn = plan.noise.stream((3,), Seeded(7))
    with ClippedSums(problem().bound(data(400, 3)), Logistic()) as sums:
        for _ in range(5):
            gradient = plan.noise.cover(sums.full(w, plan.clip), next(drawn))
            direction = m * direction + (1 - m) * gradient
            w = w - step * direction
    np.testing.assert_allclose(released, w, rtol=1e-9)
    plain = NoisyGradient(steps=5, step=step, output="last", rule="smooth").plan(problem(), BUDGET)
    assert np.linalg.norm(plain.run(data(400, 3), Seeded(7)).weights - w) > 1e-3


def test_momentum_costs_no_privacy_and_no_noise() -> None:
    plain, heavy = (
        NoisyGradient(steps=50, step=1e-3, momentum=m).plan(problem(), BUDGET) for m in (0.0, 0.9)
    )
    assert heavy.event == plain.event
    assert heavy.noise == plain.noise


@pytest.mark.parametrize("momentum", [-0.1, 1.0, float("nan")])
def test_momentum_must_be_a_part(momentum: float) -> None:
    with pytest.raises(InvalidParameter, match="momentum"):
        NoisyGradient(momentum=momentum).plan(problem(), BUDGET)


def test_a_hidden_state_has_no_momentum() -> None:
    with pytest.raises(Incompatible, match="momentum"):
        NoisyGradient(hidden_state=True, momentum=0.5).plan(problem(), BUDGET)


@pytest.mark.parametrize("neighbours", ["zero-out", "replace-one", "add-remove"])
@pytest.mark.parametrize(("n_rows", "epsilon"), [(300, 1.0), (30_000, 0.1), (700_000, 0.1)])
def test_the_plan_keeps_the_budget(n_rows: int, epsilon: float, neighbours: str) -> None:
    plan = early_stopping(problem(n_rows, 120, neighbours), Budget(epsilon, 1e-6))
    assert plan is not None
    assert isinstance(plan.problem.loss, CalibratedLogistic)
    assert plan.clip == plan.problem.loss.clip
    assert epsilon_at(plan.event, 1e-6) <= epsilon * (1 + 1e-6)
    assert plan.sampler.rate == 1.0 or plan.sampler.rate >= LEAST_RATE * 0.999


def test_many_rows_are_read_in_batches_and_more_are_left_to_objective_perturbation() -> None:
    few, many, more = (problem(n, 100) for n in (3_000, 500_000, 3_000_000))
    budget = Budget(0.1, 1e-6)
    plans = [early_stopping(p, budget) for p in (few, many, more)]
    assert plans[0] is not None
    assert plans[0].sampler.rate == 1.0
    assert plans[1] is not None
    assert plans[1].sampler.rate < 0.2
    assert plans[2] is None
    assert rows_against_noise(more, budget) > REGIONS[-2].below


@pytest.mark.parametrize(("n_rows", "n_features"), [(3000, 8), (20_000, 60), (20_000, 120)])
def test_noise_moves_a_weight_by_the_reach_whatever_the_sizes(n_rows: int, n_features: int) -> None:
    task, budget = problem(n_rows, n_features), Budget(0.5, 1e-6)
    plan = early_stopping(task, budget)
    assert plan is not None
    assert plan.config.step is not None
    moved = plan.config.step * plan.noise.scale / plan.sampler.rate * np.sqrt(plan.steps)
    # What is kept for the length is more noise in the steps.
    kept = np.sqrt(plan.sums / plan.steps)
    grown = np.cbrt(rows_against_noise(task, budget) / REACH_ROWS)
    assert grown > REACH_LEAST
    assert moved == pytest.approx(REACH["sign"] * grown * kept, rel=0.02)


def test_the_reach_has_a_least_value() -> None:
    for n_rows in (20, 60):
        plan = early_stopping(problem(n_rows), BUDGET)
        assert plan is not None
        assert plan.norm_guess == pytest.approx(REACH["sign"] * REACH_LEAST * np.sqrt(3.0))


def test_momentum_is_what_the_steps_need() -> None:
    plans = [early_stopping(problem(n, 40), BUDGET) for n in (300, 3000, 12_000, 20_000)]
    momenta = [plan.momentum for plan in plans if plan is not None]
    assert momenta == sorted(momenta)
    assert 0.0 <= momenta[0] < 0.5 < momenta[-1] <= MOMENTUM
    for plan in plans:
        assert plan is not None
        assert plan.config.step is not None
        bend = 0.25 * min(1.0, 2.0 * plan.clip) * plan.problem.n_rows
        stable = 2.0 * (1.0 + plan.momentum) / (1.0 - plan.momentum) / bend
        assert plan.config.step <= stable / 2.0 * (1.0 + 1e-9)


def test_the_line_search_is_conservative_once_rows_are_not_few() -> None:
    few, more = (early_stopping(problem(n, 120), Budget(1.0, 1e-6)) for n in (10_000, 40_000))
    assert few is not None
    assert more is not None
    assert (few.config.conservative, more.config.conservative) == (False, True)
    assert 0 < more.config.line_search < 0.04 * more.steps
    assert more.norm_guess > few.norm_guess


def test_no_guess_of_the_norm_makes_a_run_endless() -> None:
    plans = [early_stopping(problem(), BUDGET, norm_guess=g) for g in (LONGEST, 1e300)]
    assert plans[0] == plans[1]


def test_steps_stay_stable_when_all_rows_are_alike() -> None:
    """One direction carries everything: the worst case for the length of steps."""
    n, p = 20_000, 40
    X = np.zeros((n, p))
    X[:, 0] = 1.0
    y = (np.arange(n) % 4 != 0).astype(int)
    model = PrivateLogisticRegression(
        epsilon=1.0, bounds=BINARY, fit_intercept=False, random_state=3
    ).fit(X, y)
    assert model.coef_[0, 0] == pytest.approx(np.log(3), abs=0.25)


def test_a_clip_below_half_changes_nothing_for_rows_as_long_as_the_bound() -> None:
    def weights(clip: float, step: float) -> Array:
        task = replace(problem(), loss=CalibratedLogistic(clip=clip))
        config = NoisyGradient(steps=40, step=step, momentum=0.5, rule="smooth")
        return config.plan(task, BUDGET).run(data(400, 3), Seeded(1)).weights

    np.testing.assert_allclose(weights(0.25, 0.02), weights(0.5, 0.01), rtol=1e-6)
    assert np.abs(weights(0.7, 0.01) - weights(0.5, 0.01)).max() > 1e-3


def test_it_beats_objective_perturbation_where_noise_dominates() -> None:
    rng = np.random.default_rng(5)
    n, p = 4000, 20
    X = rng.normal(size=(n, p)) / np.sqrt(2 * p)
    X /= np.maximum(np.linalg.norm(X, axis=1), 1.0)[:, None]
    y = (rng.random(n) < 1 / (1 + np.exp(-X @ (12 * rng.normal(size=p) / np.sqrt(p))))).astype(int)

    def risk(algorithm: str) -> float:
        values = []
        for seed in range(6):
            model = PrivateLogisticRegression(
                epsilon=0.5,
                bounds=BINARY,
                algorithm=algorithm,
                fit_intercept=False,
                random_state=seed,
            ).fit(X, y)
            margin = (2 * y - 1) * model.decision_function(X)
            values.append(float(np.logaddexp(0, -margin).mean()))
        return float(np.mean(values))

    assert risk("auto") < risk("objective-perturbation")
