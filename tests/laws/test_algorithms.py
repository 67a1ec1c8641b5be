"""Laws every registered algorithm obeys."""

from __future__ import annotations

import json

import numpy as np
import pytest

from discreet.accounting import Budget, Guarantee
from discreet.algorithms import ALGORITHMS, Problem, describe
from discreet.data import ArraySource
from discreet.losses import Logistic, Squared
from discreet.noise import Seeded, System
from discreet.types import Bounds

TABLE = pytest.mark.parametrize("name", sorted(ALGORITHMS))
SHAPES = pytest.mark.parametrize("delta", [0.0, 1e-6])


LEAST_SQUARES = ("sufficient-statistics",)
"""Algorithms that exist for the squared loss only."""


def problem(name: str, neighbours: str = "zero-out") -> Problem:
    squared = name in LEAST_SQUARES
    return Problem(
        loss=Squared() if squared else Logistic(),
        bounds=Bounds(row_norm=1.0, label=(0, 1), classes=(0, 1)),
        n_features=3,
        n_rows=200,
        neighbours=neighbours,  # type: ignore[arg-type]
        intercept=0.5,
    )


def data() -> ArraySource:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    return ArraySource(X, (X[:, 0] > 0).astype(int))


@TABLE
@SHAPES
def test_a_plan_is_made_and_printed_with_no_data(name: str, delta: float) -> None:
    plan = ALGORITHMS[name]().plan(problem(name), Budget(1.0, delta))
    assert plan.guarantee.epsilon == 1.0
    assert plan.guarantee.delta == delta
    text = describe(plan)
    assert name in text
    assert "noise" in text
    assert plan.expected_excess > 0
    assert Guarantee.from_dict(json.loads(json.dumps(plan.guarantee.to_dict()))) == plan.guarantee


@TABLE
@SHAPES
@pytest.mark.parametrize("neighbours", ["zero-out", "replace-one"])
def test_the_claim_is_at_least_what_the_event_costs(
    name: str, delta: float, neighbours: str
) -> None:
    guarantee = ALGORITHMS[name]().plan(problem(name, neighbours), Budget(1.0, delta)).guarantee
    assert guarantee.event.delta(1.0) <= delta * (1 + 1e-9) + 1e-15


@TABLE
@SHAPES
def test_a_run_gives_weights_and_guarantee_only(name: str, delta: float) -> None:
    release = ALGORITHMS[name]().plan(problem(name), Budget(1.0, delta)).run(data(), Seeded(1))
    assert set(vars(release)) == {"weights", "guarantee"}
    assert release.weights.shape == (4,)
    assert not release.guarantee.secure


@TABLE
def test_a_seed_repeats_a_run_and_the_system_does_not(name: str) -> None:
    plan = ALGORITHMS[name]().plan(problem(name), Budget(1.0, 1e-6))
    one, two = (plan.run(data(), Seeded(7)).weights for _ in range(2))
    assert (one == two).all()
    free = plan.run(data(), System())
    assert (free.weights != one).any()
    assert free.guarantee.secure


@TABLE
def test_less_budget_means_more_expected_error(name: str) -> None:
    errors = [
        ALGORITHMS[name]().plan(problem(name), Budget(epsilon, 1e-6)).expected_excess
        for epsilon in (0.1, 1.0, 8.0)
    ]
    assert errors == sorted(errors, reverse=True)


@TABLE
def test_replacement_needs_more_noise_than_blanking(name: str) -> None:
    zero, one = (
        ALGORITHMS[name]().plan(problem(name, n), Budget(1.0, 1e-6)).expected_excess
        for n in ("zero-out", "replace-one")
    )
    assert one > zero
