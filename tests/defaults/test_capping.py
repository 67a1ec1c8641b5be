"""Capped gradients are used by public facts only, and where they help."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest

from discreet import Bounds, Budget, PrivateLogisticRegression
from discreet.accounting.utility import mean_squared_noise
from discreet.algorithms import ObjectivePerturbation
from discreet.algorithms.perturbation import ObjectivePerturbationPlan
from discreet.defaults import Asked, recommend
from discreet.defaults.capping import capped
from discreet.defaults.case import Case
from discreet.defaults.early_stopping import reach
from discreet.defaults.rules import OneRun
from discreet.losses import Logistic
from discreet.losses.calibrated_logistic import CalibratedLogistic
from discreet.problem import Problem, rows_against_noise
from discreet.sets import L2Ball
from discreet.tuned.defaults import CLIP_SCARCE, REACH_PERTURBED, REGIONS

BINARY = Bounds(row_norm=1.0, classes=(0, 1))


def problem(n_rows: int | None, **changes: object) -> Problem:
    settings: dict[str, object] = {"loss": Logistic(), "bounds": BINARY, "n_features": 20}
    return Problem(**(settings | {"n_rows": n_rows} | changes))  # type: ignore[arg-type]


def clip(n_rows: int, budget: Budget) -> float:
    task = capped(Case(problem(n_rows), budget))
    assert isinstance(task.loss, CalibratedLogistic)
    return task.loss.clip


def capped_objective(task: Problem, budget: Budget) -> ObjectivePerturbationPlan:
    case = Case(task, budget)
    assert OneRun().applies(case)
    plan = OneRun().plan(case)
    assert isinstance(plan, ObjectivePerturbationPlan)
    return plan


@pytest.mark.parametrize("budget", [Budget(1.0), Budget(1.0, 1e-6)])
def test_the_clip_rises_with_the_rows_until_there_is_none(budget: Budget) -> None:
    clips = [clip(n, budget) for n in (10, 1000, 4000, 25_000)]
    assert all(a < b for a, b in pairwise(clips))
    assert clips[0] == pytest.approx(CLIP_SCARCE, abs=0.001)
    assert clips[-1] == pytest.approx(0.7)
    assert rows_against_noise(problem(10**6), budget) > REGIONS[-2].below
    assert recommend(problem(10**6), budget).problem.loss == Logistic()
    assert recommend(problem(4000, n_features=60), budget).problem.loss != Logistic()


def test_the_clip_is_in_units_of_the_row_norm() -> None:
    longer = problem(1000, bounds=Bounds(row_norm=3.0, classes=(0, 1)))
    task = capped(Case(longer, Budget(1.0)))
    assert task.terms.lipschitz == pytest.approx(3.0 * clip(1000, Budget(1.0)))


def test_a_secret_size_caps_nothing() -> None:
    plan = recommend(problem(None, neighbours="add-remove"), Budget(1.0))
    assert plan.problem.loss == Logistic()


@pytest.mark.parametrize("neighbours", ["zero-out", "replace-one"])
def test_a_cap_for_each_row_costs_what_one_cap_for_all_does(neighbours: str) -> None:
    task = problem(4000, n_features=60, neighbours=neighbours)
    plan = capped_objective(task, Budget(1.0))
    assert isinstance(plan.problem.loss, CalibratedLogistic)
    # One cap for all rows has slopes up to it and curvature up to one less it.
    terms, cap = plan.problem.terms, plan.problem.loss.clip
    assert terms.lipschitz == cap
    assert terms.smoothness == pytest.approx(1.0 - cap, rel=1e-5)
    assert terms.smoothness >= 1.0 - cap


def test_without_a_delta_capping_saves_noise_and_adds_no_curvature() -> None:
    task = problem(4000, n_features=60)
    plan = capped_objective(task, Budget(1.0))
    assert plan.problem.terms.smoothness == pytest.approx(task.terms.smoothness, rel=1e-5)
    assert plan.scale < 0.85 * ObjectivePerturbation().plan(task, Budget(1.0)).scale


def test_without_a_delta_the_ridge_is_for_weights_somewhat_beyond_reach() -> None:
    for rows in (500, 4000):
        task = problem(rows, n_features=60)
        plan = capped_objective(task, Budget(1.0))
        norm = REACH_PERTURBED * reach(task, rows_against_noise(task, Budget(1.0)))
        noise = math.sqrt(mean_squared_noise("gamma", plan.scale, 60))
        assert plan.strength == pytest.approx(noise / norm, rel=0.2)


@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_with_rows_in_plenty_the_ridge_is_for_the_stretched_reach(delta: float) -> None:
    task, budget = problem(200_000, n_features=60), Budget(8.0, delta)
    plan = recommend(task, budget)
    assert isinstance(plan, ObjectivePerturbationPlan)
    assert plan.problem.loss == Logistic()
    ratio = rows_against_noise(task, budget)
    assert ratio > REGIONS[-2].below
    assert plan.norm_guess == pytest.approx(reach(task, ratio))
    assert plan.aim == pytest.approx(2.5 * reach(task, ratio), rel=0.02)
    shorter = recommend(task, budget, Asked(norm_guess=5.0))
    assert isinstance(shorter, ObjectivePerturbationPlan)
    assert shorter.strength > plan.strength


def test_a_stated_guess_of_the_norm_sets_the_ridge_without_a_delta() -> None:
    task, budget = problem(4000, n_features=60), Budget(1.0)
    short, long = (
        recommend(task, budget, Asked(norm_guess=norm)).facts()["strength"] for norm in (1.0, 100.0)
    )
    assert long < capped_objective(task, budget).strength < short


def test_only_a_model_with_auto_and_next_to_no_penalty_is_capped() -> None:
    def loss(**settings: object) -> object:
        model = PrivateLogisticRegression(epsilon=1.0, delta=0.0, bounds=BINARY, **settings)
        return model.plan(60, 1000).problem.loss

    assert isinstance(loss(), CalibratedLogistic)
    assert loss(C=100.0) == loss()
    for settings in (
        {"algorithm": "objective-perturbation"},
        {"C": 0.01},
        {"constraint": L2Ball(radius=3.0)},
    ):
        assert loss(**settings) == Logistic()


def test_it_beats_the_logistic_loss_where_noise_dominates() -> None:
    rng = np.random.default_rng(5)
    n, p = 10_000, 60
    X = rng.normal(size=(n, p)) / np.sqrt(2 * p)
    X /= np.maximum(np.linalg.norm(X, axis=1), 1.0)[:, None]
    y = (rng.random(n) < 1 / (1 + np.exp(-X @ (12 * rng.normal(size=p) / np.sqrt(p))))).astype(int)

    def risk(algorithm: str) -> float:
        values = []
        for seed in range(8):
            model = PrivateLogisticRegression(
                epsilon=1.0,
                delta=0.0,
                bounds=BINARY,
                neighbours="replace-one",
                algorithm=algorithm,
                fit_intercept=False,
                random_state=seed,
            ).fit(X, y)
            margin = (2 * y - 1) * model.decision_function(X)
            values.append(float(np.logaddexp(0, -margin).mean()))
        return float(np.mean(values))

    assert risk("auto") < risk("objective-perturbation") - 0.003


@pytest.mark.parametrize("neighbours", ["zero-out", "replace-one", "add-remove"])
def test_the_guarantee_is_the_budget(neighbours: str) -> None:
    model = PrivateLogisticRegression(
        epsilon=0.5, delta=0.0, bounds=BINARY, neighbours=neighbours, n_rows=300, random_state=0
    )
    X = np.random.default_rng(0).normal(size=(300, 40))
    assert isinstance(model.plan(40, 300).problem.loss, CalibratedLogistic)
    guarantee = model.fit(X, (X[:, 0] > 0).astype(int)).guarantee_
    assert (guarantee.epsilon, guarantee.delta) == (0.5, 0.0)
    assert guarantee.event.delta(0.5) == 0.0
