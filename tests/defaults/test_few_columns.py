"""Frank-Wolfe, or one solve where it would take as many steps as there are columns."""

import numpy as np
import pytest

from discreet import Bounds, PrivateLasso, PrivateSparseLogisticRegression
from discreet.accounting import Budget
from discreet.algorithms import FrankWolfe, ObjectivePerturbation, SufficientStatistics
from discreet.bounds import NEIGHBOURS
from discreet.defaults import over_l1_ball
from discreet.losses import Logistic, Squared
from discreet.problem import Problem
from discreet.sets import L1Ball

BUDGET = Budget(1.0, 1e-6)


def problem(columns, rows=100_000, loss=None, neighbours="zero-out"):
    loss = Squared() if loss is None else loss
    labels = {"label": (-1, 1)} if loss == Squared() else {"classes": (0, 1)}
    return Problem(
        loss=loss,
        bounds=Bounds(features=(-1, 1), **labels),
        n_features=columns,
        n_rows=rows,
        neighbours=neighbours,
        constraint=L1Ball(radius=1.0),
    )


@pytest.mark.parametrize("neighbours", NEIGHBOURS)
@pytest.mark.parametrize("loss", [Squared(), Logistic()], ids=["squared", "logistic"])
def test_few_columns_are_solved_at_once_with_a_smaller_bound_for_the_same_budget(loss, neighbours):
    given = problem(3, loss=loss, neighbours=neighbours)
    plan, steps = over_l1_ball(given, BUDGET, FrankWolfe()), FrankWolfe().plan(given, BUDGET)
    assert steps.steps >= given.dimension
    assert plan.algorithm in (SufficientStatistics.name, ObjectivePerturbation.name)
    assert plan.expected_excess < steps.expected_excess
    assert plan.problem == given
    assert plan.guarantee.epsilon <= BUDGET.epsilon * (1 + 1e-9)
    assert f"{steps.steps} steps" in str(plan)


def test_the_border_is_as_many_steps_as_columns():
    counts = [FrankWolfe().plan(problem(c), BUDGET).steps for c in range(100, 160, 4)]
    for columns, steps in zip(range(100, 160, 4), counts, strict=True):
        found = over_l1_ball(problem(columns), BUDGET, FrankWolfe()).algorithm
        assert (found == FrankWolfe.name) == (steps < columns)
    assert counts[0] >= 100
    assert counts[-1] < 156


@pytest.mark.parametrize("asked", [{"steps": 50}, {"stale": 0.1}])
def test_what_is_asked_of_frank_wolfe_is_done(asked):
    plan = over_l1_ball(problem(3), BUDGET, FrankWolfe(**asked))
    assert plan.algorithm == FrankWolfe.name


@pytest.mark.parametrize("kind", [PrivateLasso, PrivateSparseLogisticRegression])
def test_estimators_of_few_columns_stay_in_the_ball_and_name_what_they_did(kind):
    rng = np.random.default_rng(5)
    X = rng.uniform(-1, 1, (20_000, 4))
    y = np.clip(X[:, 0] * 0.6, -1, 1)
    bounds = Bounds(features=(-1, 1), label=(-1, 1))
    if kind is PrivateSparseLogisticRegression:
        y, bounds = (y > 0).astype(int), Bounds(features=(-1, 1), classes=(0, 1))
    model = kind(radius=0.7, bounds=bounds, random_state=0).fit(X, y)
    assert model.algorithm_ != FrankWolfe.name
    assert np.abs(model.coef_).sum() <= 0.7 * (1 + 1e-6)
    assert np.abs(model.coef_).argmax() == 0
    assert np.abs(kind(radius=0.7, bounds=bounds, steps=3).fit(X, y).coef_).sum() <= 0.7 * 1.001
