"""Newton steps after objective perturbation."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.special import expit

from discreet.accounting import Budget, Gaussian
from discreet.algorithms import ObjectivePerturbation
from discreet.algorithms.perturbation.correction import Correction
from discreet.algorithms.perturbation.objective_perturbation import ObjectivePerturbationPlan
from discreet.bounds import NEIGHBOURS, Bounds
from discreet.data import ArraySource, Rows
from discreet.defaults import recommend
from discreet.losses import Huber, Logistic, Softmax
from discreet.noise import Seeded
from discreet.problem import Problem
from discreet.regularizers import L1, Ridge, Zero
from discreet.sets import AllSpace, L2Ball
from discreet.solvers.minimize import minimise

BUDGETS = (Budget(1.0, 1e-6), Budget(0.1, 1e-6), Budget(1.0))


def problem(**changes: Any) -> Problem:
    settings: dict[str, Any] = {
        "loss": Logistic(),
        "bounds": Bounds(row_norm=1.0, label=(-1, 1), classes=(0, 1)),
        "n_features": 3,
        "n_rows": 10**8,
    }
    return Problem(**(settings | changes))


def drawn(n: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(3)
    X = rng.normal(size=(n, 3))
    X /= np.maximum(1.0, np.linalg.norm(X, axis=1))[:, None]
    return X, (rng.random(n) < expit(X @ [3.0, -2.0, 1.0])).astype(int)


def data(n: int) -> ArraySource:
    return ArraySource(*drawn(n))


@pytest.mark.parametrize("neighbours", NEIGHBOURS)
@pytest.mark.parametrize("budget", BUDGETS, ids=str)
def test_run_and_steps_together_cost_no_more_than_the_budget(neighbours, budget):
    plan = ObjectivePerturbation().plan(problem(neighbours=neighbours), budget)
    assert plan.correction is not None
    assert plan.event.delta(budget.epsilon) <= budget.delta * (1 + 1e-9)
    for part in (plan.noise.event, plan.correction.event):  # each of them is in the sum
        assert plan.event.delta(0.5 * budget.epsilon) >= part.delta(0.5 * budget.epsilon)
    assert plan.guarantee.epsilon == budget.epsilon
    assert plan.guarantee.delta == budget.delta


def test_the_steps_alone_use_their_budget_to_the_full():
    correction = Correction(problem(), Budget(1.0, 1e-6))
    assert 0.999e-6 < correction.event.delta(1.0) <= 1e-6
    # An independent count: three Gaussian releases are one of multiplier 1/sqrt(sum 1/m^2).
    noises = [*(g.scale for g in correction.gradients), correction.hessian.scale / 0.25]
    whole = 1.0 / math.sqrt(sum(1.0 / scale**2 for scale in noises))
    assert Gaussian(whole).delta(1.0) <= 1e-6


def test_a_replacement_counts_twice_in_gradients():
    one, two = (
        Correction(problem(neighbours=n), Budget(1.0, 1e-6)).gradients
        for n in ("zero-out", "replace-one")
    )
    assert [b.scale / a.scale for a, b in zip(one, two, strict=True)] == pytest.approx([2.0, 2.0])


def test_few_rows_are_left_to_the_run_alone():
    for budget in BUDGETS:
        assert ObjectivePerturbation().plan(problem(n_rows=100_000), budget).correction is None
    assert ObjectivePerturbation().plan(problem(n_rows=None, neighbours="add-remove"), BUDGETS[0])


@pytest.mark.parametrize("budget", BUDGETS, ids=str)
@pytest.mark.parametrize("n_rows", [100_000, 2_000_000, 10**8])
def test_whether_steps_follow_is_known_before_the_rest_is_planned(n_rows, budget):
    algorithm, task = ObjectivePerturbation(), problem(n_rows=n_rows)
    corrected = algorithm.plan(task, budget).correction is not None
    assert algorithm.may_correct(task, budget) == corrected
    # With a ridge of one's own only the number of rows is looked at.
    assert ObjectivePerturbation(strength=1.0).may_correct(task, budget) == (n_rows > 10**6)


def test_two_runs_give_way_to_steps_where_rows_are_very_many():
    assert isinstance(recommend(problem(), Budget(1.0, 1e-6)), ObjectivePerturbationPlan)
    few = recommend(problem(n_rows=10**6), Budget(1.0, 1e-6))
    assert not isinstance(few, ObjectivePerturbationPlan)


def steps_for(task: Problem, budget: Budget) -> ObjectivePerturbationPlan:
    """Return the plan with steps, whether or not it is the better one."""
    return ObjectivePerturbation()._corrected(task, budget, 0.0)


@pytest.mark.parametrize("neighbours", NEIGHBOURS)
@pytest.mark.parametrize("budget", [Budget(1.0, 1e-6), Budget(1.0)], ids=str)
def test_released_weights_are_as_close_as_planned(neighbours, budget):
    n = 15_000
    task, source = problem(n_rows=n, neighbours=neighbours), data(n)
    rows = task.bound(source)
    best = minimise(rows, Logistic(), linear=np.zeros(3), strength=1e-9, tolerance=1e-5)
    plan = steps_for(task, budget)
    noise = plan.correction.gradients[1]
    inverse = np.linalg.inv(rows.hessian(Logistic(), best))
    expected = math.sqrt(noise.mean_square / 3 * np.trace(inverse @ inverse))
    far = [np.linalg.norm(plan.run(source, Seeded(s)).weights - best) for s in range(12)]
    assert math.sqrt(np.mean(np.square(far))) <= 2.0 * expected


def quiet(task: Problem, weights: np.ndarray, rows: Rows, ridge: float = 0.0) -> np.ndarray:
    """Return what the steps make of weights at a huge budget, with next to no noise."""
    return Correction(task, Budget(1e6, 1e-6), ridge).fitted(rows, weights, Seeded(0))


@pytest.mark.parametrize(
    ("regularizer", "constraint", "ridge"),
    [
        (Zero(), AllSpace(), 0.0),
        (Zero(), AllSpace(), 300.0),
        (Ridge(strength=500.0), AllSpace(), 0.0),
        (L1(strength=900.0), AllSpace(), 0.0),
        (Zero(), L2Ball(radius=1.5), 0.0),
    ],
    ids=["plain", "asked", "ridge", "lasso", "ball"],
)
def test_without_noise_the_steps_find_the_minimiser(regularizer, constraint, ridge):
    n = 20_000
    task = problem(n_rows=n, regularizer=regularizer, constraint=constraint)
    rows = task.bound(data(n))
    best = minimise(
        rows,
        task.loss,
        linear=np.zeros(3),
        strength=ridge + 1e-9,
        tolerance=1e-4,
        regularizer=regularizer,
        constraint=constraint,
    )
    start = constraint.project(best + 0.03)
    found = quiet(task, start, rows, ridge)
    assert np.linalg.norm(found - best) <= 0.01 * np.linalg.norm(start - best)


@pytest.mark.parametrize("loss", [Softmax(n_classes=3), Huber(threshold=0.5)], ids=lambda k: k.name)
def test_other_losses_take_the_same_steps(loss):
    n, source = 20_000, data(20_000)
    bounds = Bounds(row_norm=1.0, label=(-1, 1), classes=(0, 1, 2))
    task = problem(loss=loss, n_rows=n, bounds=bounds, regularizer=Ridge(strength=100.0))
    rows = task.bound(source)
    best = minimise(rows, loss, linear=np.zeros(task.shape), strength=100.0, tolerance=1e-4)
    found = quiet(task, best + 0.03, rows)
    assert np.linalg.norm(found - best) <= 0.02 * np.linalg.norm(0.03 + 0 * best)


def test_flat_directions_do_not_run_away():
    n = 50_000
    X, y = drawn(n)
    X = X[:, [0, 0, 1]] / math.sqrt(2)
    task = problem(n_rows=n)
    weights = steps_for(task, Budget(1.0, 1e-6)).run(ArraySource(X, y), Seeded(0)).weights
    assert np.linalg.norm(weights) < 100.0


def test_a_ridge_that_was_asked_for_is_kept():
    plan = replace(ObjectivePerturbation(), strength=1e4).plan(problem(), Budget(1.0, 1e-6))
    if plan.correction is not None:
        assert plan.correction.ridge == 1e4
    assert steps_for(problem(regularizer=Ridge(strength=7.0)), BUDGETS[0]).correction.ridge == 0.0
