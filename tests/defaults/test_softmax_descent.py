"""Softmax by descent: taken where noise blurs, within the budget, and better there."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from discreet import PrivateLogisticRegression
from discreet.accounting import Budget, epsilon_at
from discreet.algorithms.gradient import NoisyGradientPlan
from discreet.bounds import Bounds, Neighbours
from discreet.defaults import recommend
from discreet.losses import Softmax
from discreet.problem import Problem, rows_against_noise
from discreet.tuned.defaults import LEAST_RATE_SOFTMAX as LEAST_RATE
from discreet.tuned.defaults import SOFTMAX_ROWS
from discreet.tuned.defaults import WORK_SOFTMAX as WORK

THREE = Bounds(row_norm=1.0, classes=(0, 1, 2))
BUDGET = Budget(1.0, 1e-6)


def problem(n_rows: int, n_features: int = 8, neighbours: Neighbours = "zero-out") -> Problem:
    return Problem(
        loss=Softmax(n_classes=3),
        bounds=THREE,
        n_features=n_features,
        n_rows=n_rows,
        neighbours=neighbours,
    )


def softmax_descent(task: Problem, budget: Budget) -> NoisyGradientPlan | None:
    """Return the plan that is recommended, if it takes steps."""
    plan = recommend(task, budget)
    return plan if isinstance(plan, NoisyGradientPlan) else None


@pytest.mark.parametrize("neighbours", ["zero-out", "replace-one", "add-remove"])
@pytest.mark.parametrize("n_rows", [300, 300_000])
def test_the_plan_keeps_the_budget(n_rows: int, neighbours: Neighbours) -> None:
    plan = softmax_descent(problem(n_rows, 300, neighbours), BUDGET)
    assert plan is not None
    assert plan.rule.name == "heavy-ball"
    assert plan.clip == 1.0
    assert epsilon_at(plan.event, 1e-6) <= 1.0 + 1e-6
    work = n_rows * 900 * plan.steps * plan.sampler.rate
    assert plan.sampler.rate == 1.0 or plan.sampler.rate >= 0.999 * LEAST_RATE
    assert work <= 1.1 * WORK or plan.sampler.rate == pytest.approx(LEAST_RATE, rel=1e-3)


def test_it_stops_where_directions_stand_out() -> None:
    low, high = 5000, 500_000
    assert softmax_descent(problem(low), BUDGET) is not None
    assert softmax_descent(problem(high), BUDGET) is None
    bar = SOFTMAX_ROWS * math.sqrt(24)
    assert rows_against_noise(problem(low), BUDGET) < bar
    assert rows_against_noise(problem(high), BUDGET) > bar
    # The size may be secret.
    secret = Problem(loss=Softmax(n_classes=3), bounds=THREE, n_features=8, neighbours="add-remove")
    assert softmax_descent(secret, BUDGET) is None


@pytest.mark.parametrize(
    ("settings", "taken"),
    [
        ({}, "noisy-gradient"),
        ({"delta": 0.0}, "objective-perturbation"),
        ({"C": 1.0}, "noisy-gradient"),
        ({"C": 0.001}, "objective-perturbation"),
        ({"algorithm": "objective-perturbation"}, "objective-perturbation"),
    ],
)
def test_the_estimator_takes_it_unless_told_otherwise(
    settings: dict[str, object], taken: str
) -> None:
    model = PrivateLogisticRegression(bounds=THREE, **settings)  # type: ignore[arg-type]
    assert model.plan(n_features=8, n_rows=2000).facts()["algorithm"] == taken


def test_it_beats_objective_perturbation_where_noise_dominates(default_and_perturbed: Any) -> None:
    rng = np.random.default_rng(5)
    n, p = 1500, 12
    X = rng.normal(size=(n, p))
    X /= np.linalg.norm(X, axis=1)[:, None]
    scores = X @ (8 * rng.normal(size=(p, 3)) / np.sqrt(p)) + rng.gumbel(size=(n, 3))
    default, perturbed = default_and_perturbed(
        X, scores.argmax(axis=1), seeds=4, epsilon=0.5, bounds=THREE
    )
    assert default < 0.95 * perturbed
