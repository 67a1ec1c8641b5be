"""Capped slopes are used by public facts only, and where they help."""

from __future__ import annotations

import numpy as np
import pytest

from discreet import Bounds, Budget, PrivateLogisticRegression
from discreet.algorithms import ObjectivePerturbation, Problem
from discreet.algorithms.base import rows_against_noise
from discreet.algorithms.capping import PLENTY_OF_ROWS, SAVED, capped, capped_objective
from discreet.losses import CappedLogistic, Logistic
from discreet.sets import L2Ball

BINARY = Bounds(row_norm=1.0, classes=(0, 1))


def problem(n_rows: int | None, **changes: object) -> Problem:
    settings: dict[str, object] = {"loss": Logistic(), "bounds": BINARY, "n_features": 20}
    return Problem(**(settings | {"n_rows": n_rows} | changes))  # type: ignore[arg-type]


def test_the_cap_rises_with_the_rows_until_there_is_none() -> None:
    caps = []
    for n in (100, 1000, 10_000, 40_000):
        task = capped(problem(n), Budget(1.0))
        assert task is not None
        assert isinstance(task.loss, CappedLogistic)
        caps.append(task.loss.cap)
    assert caps == sorted(caps)
    assert 0.5 <= caps[0] < caps[-1] <= 0.7
    assert rows_against_noise(problem(10**6), Budget(1.0)) > PLENTY_OF_ROWS
    assert capped(problem(10**6), Budget(1.0)) is None


def test_a_secret_size_caps_nothing() -> None:
    assert capped(problem(None, neighbours="add-remove"), Budget(1.0)) is None


def test_where_no_noise_is_saved_nothing_is_capped() -> None:
    assert capped(problem(1000, n_features=2), Budget(1.0)) is not None
    assert capped_objective(problem(1000, n_features=2), Budget(1.0)) is None
    task = problem(4000, n_features=60)
    plan = capped_objective(task, Budget(1.0))
    assert plan is not None
    assert plan.scale <= SAVED * ObjectivePerturbation().plan(task, Budget(1.0)).scale


def test_only_the_plain_model_with_auto_is_capped() -> None:
    def loss(**settings: object) -> object:
        model = PrivateLogisticRegression(epsilon=1.0, delta=0.0, bounds=BINARY, **settings)
        return model.plan(60, 1000).problem.loss

    assert isinstance(loss(), CappedLogistic)
    for settings in (
        {"algorithm": "objective-perturbation"},
        {"C": 1.0},
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
    assert isinstance(model.plan(40, 300).problem.loss, CappedLogistic)
    guarantee = model.fit(X, (X[:, 0] > 0).astype(int)).guarantee_
    assert (guarantee.epsilon, guarantee.delta) == (0.5, 0.0)
    assert guarantee.event.delta(0.5) == 0.0
