"""Descent by default: where public facts say so, and better there."""

from __future__ import annotations

import numpy as np
import pytest

from discreet import Bounds, PrivateHuberRegressor, PrivateRidge
from discreet.accounting import Budget
from discreet.algorithms.gradient.noisy_gradient import NoisyGradientPlan
from discreet.defaults import Asked, recommend
from discreet.defaults.learned_clip import LearnedClipPlan
from discreet.losses import Huber
from discreet.problem import Problem, rows_against_noise
from discreet.regularizers import L1
from discreet.sets import L2Ball
from discreet.tuned.defaults import REGIONS

BOUNDS = Bounds(features=(-1, 1), label=(-1, 1))
BOTH = pytest.mark.parametrize("kind", [PrivateRidge, PrivateHuberRegressor])


def problem(n_rows: int | None, **changes: object) -> Problem:
    given = {"loss": Huber(threshold=0.25), "bounds": BOUNDS, "n_features": 8, "n_rows": n_rows}
    return Problem(**(given | changes))  # type: ignore[arg-type]


def descent(task: Problem, budget: Budget) -> NoisyGradientPlan | None:
    """Return the plan that is recommended, if it takes steps with momentum."""
    plan = recommend(task, budget, Asked())
    return plan if isinstance(plan, NoisyGradientPlan) else None


def test_rows_against_noise_decide() -> None:
    budget = Budget(1.0, 1e-6)
    for n_rows in (200, 400, 5000, 10_000, 20_000):
        ratio = rows_against_noise(problem(n_rows), budget)
        taken = descent(problem(n_rows), budget) is not None
        assert taken == (ratio < REGIONS[1].below)
    plan = descent(problem(5000), budget)
    assert plan is not None
    assert plan.guarantee.event.delta(1.0) <= 1e-6
    # Pure noise pays for every step, and a size that is secret tells nothing.
    assert descent(problem(5000), Budget(1.0)) is None
    assert descent(problem(None, neighbours="add-remove"), budget) is None


@BOTH
def test_what_is_asked_for_is_not_passed_over(kind: type) -> None:
    plan = kind(bounds=BOUNDS).plan(8, 3000)
    learned = isinstance(plan, LearnedClipPlan)
    assert learned == (kind is PrivateRidge)
    assert isinstance(plan.usual if learned else plan, NoisyGradientPlan)
    for asked in (
        {"alpha": 50.0},
        {"norm_guess": 3.0},
        {"regularizer": L1(strength=5.0)},
        {"constraint": L2Ball(radius=2.0)},
        {"algorithm": "objective-perturbation"},
    ):
        plan = kind(bounds=BOUNDS, **asked).plan(8, 3000)
        usual = kind(bounds=BOUNDS).plan(8, 3000)
        assert (plan.facts(), plan.problem) != (usual.facts(), usual.problem)
    clipped = PrivateRidge(bounds=BOUNDS, clip=100.0).plan(8, 3000)
    assert clipped.facts()["algorithm"] == "sufficient-statistics"


@BOTH
def test_less_error_than_objective_perturbation(kind: type) -> None:
    rng = np.random.default_rng(11)
    X = rng.uniform(-1, 1, size=(2000, 12))
    y = np.clip(X @ rng.normal(size=12) / 8 + 0.1 * rng.normal(size=2000), -1, 1)
    errors = {
        algorithm: np.mean(
            [
                np.mean((kind(bounds=BOUNDS, algorithm=algorithm, random_state=seed).fit(X, y)
                         .predict(X) - y) ** 2)
                for seed in range(6)
            ]
        )
        for algorithm in ("auto", "objective-perturbation")
    }  # fmt: skip
    assert errors["auto"] - 0.01 < 0.5 * (errors["objective-perturbation"] - 0.01)
