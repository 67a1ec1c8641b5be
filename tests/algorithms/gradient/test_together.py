"""Descents side by side: the weights of one run after the other, and when each runs alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from discreet.accounting import Budget
from discreet.algorithms import NoisyGradient
from discreet.algorithms.gradient import together
from discreet.bounds import Bounds
from discreet.data import ArraySource, Grouping
from discreet.losses import CalibratedLogistic, Hinge, Logistic
from discreet.noise import Seeded
from discreet.problem import Problem

N, P = 400, 5


def problem(**changes: Any) -> Problem:
    bounds = Bounds(row_norm=1.0, classes=(0, 1))
    settings = {"loss": Hinge(), "bounds": bounds, "n_features": P, "n_rows": N}
    return Problem(**(settings | changes))


def data(count: int, kind: Any = np.asarray) -> list[ArraySource]:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(N, P)) / 2, rng.integers(0, count, N)
    X[7, 1] = np.nan
    return [ArraySource(kind(X), (y == k).astype(int)) for k in range(count)]


@pytest.mark.parametrize(
    ("loss", "options", "side"),
    [
        (Hinge(), {}, True),
        (Logistic(), {}, True),
        (CalibratedLogistic(clip=0.5), {}, True),
        (Logistic(), {"rule": "accelerated"}, True),
        (Hinge(), {"rule": "adaptive", "norm_guess": 3.0}, True),
        (Hinge(), {"sampler": "poisson", "batch": 50}, False),
        (Hinge(), {"adaptive_clip": True}, False),
        (Logistic(), {"hidden_state": True}, False),
        (Logistic(), {"line_search": 2}, False),
    ],
)
def test_weights_are_those_of_one_run_after_the_other(
    loss: Any, options: dict[str, Any], side: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes: list[int] = []
    descents = together._descents

    def seen(plan: Any, several: Any, random: Any) -> Any:
        sizes.append(len(several))
        return descents(plan, several, random)

    monkeypatch.setattr(together, "_descents", seen)
    plan = NoisyGradient(**({"steps": 20} | options)).plan(problem(loss=loss), Budget(2.0, 1e-6))
    found = plan.run_together(data(3), Seeded(4))
    assert found is not None
    assert sizes == ([3] if side else [])
    random = Seeded(4)
    for weights, source in zip(found, data(3), strict=True):
        alone = plan.run(source, random).weights
        np.testing.assert_allclose(weights, alone, rtol=1e-9, atol=1e-12)
        if not side:
            np.testing.assert_array_equal(weights, alone)


@pytest.mark.parametrize("kind", [np.float32, sp.csr_array])
def test_rows_of_other_kinds_go_side_by_side_too(kind: Any) -> None:
    plan = NoisyGradient(steps=10).plan(problem(), Budget(2.0, 1e-6))
    found, random = plan.run_together(data(2, kind), Seeded(4)), Seeded(4)
    assert found is not None
    for weights, source in zip(found, data(2, kind), strict=True):
        alone = plan.run(source, random).weights
        np.testing.assert_allclose(weights, alone, rtol=1e-3, atol=1e-4)


def test_runs_whose_rows_may_shift_are_not_side_by_side(monkeypatch: pytest.MonkeyPatch) -> None:
    # privacy: products of matrices may round a row by its position.
    monkeypatch.setattr(together, "_descents", None)
    plan = NoisyGradient(steps=5).plan(problem(neighbours="add-remove"), Budget(2.0, 1e-6))
    assert plan.run_together(data(2), Seeded(0)) is not None


def test_noise_of_runs_side_by_side_takes_no_more_memory_than_rows(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    plan = NoisyGradient(steps=150).plan(problem(), Budget(2.0, 1e-6))
    rows = plan.problem.bound(data(2)[0])
    assert together._columns(plan, rows) == together.MOST_COLUMNS
    monkeypatch.setattr(together, "STOCK", 0)
    assert together._columns(plan, rows) == N // 150
    long = NoisyGradient(steps=2 * N).plan(problem(), Budget(2.0, 1e-6))
    assert together._columns(long, rows) == 1


def test_labels_of_runs_side_by_side_take_no_more_memory_than_rows(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    plan = NoisyGradient(steps=1).plan(problem(), Budget(2.0, 1e-6))
    rows = plan.problem.bound(data(2)[0])
    assert together._columns(plan, rows) == together.MOST_COLUMNS
    monkeypatch.setattr(together, "STOCK", 0)
    assert together._columns(plan, rows) == P // 2


def test_groups_of_rows_run_one_after_the_other() -> None:
    task = problem(grouping=Grouping(2, "weight"))
    plan = NoisyGradient(steps=5).plan(task, Budget(2.0, 1e-6))
    assert plan.run_together(data(2), Seeded(0)) is None
