"""Pure noise where it is smaller than Gaussian noise."""

from __future__ import annotations

import math

import numpy as np
import pytest

from discreet.accounting import Budget, gaussian_multiplier
from discreet.algorithms import NoisyGradient, ObjectivePerturbation, OutputPerturbation
from discreet.bounds import Bounds
from discreet.data import ArraySource
from discreet.defaults.pure_noise import PureNoise, with_least_noise
from discreet.errors import BudgetTooSmall
from discreet.losses import Logistic
from discreet.noise import Seeded
from discreet.problem import Plan, Problem
from discreet.regularizers import Ridge


def problem(p: int, strength: float = 200.0, n_rows: int | None = 20_000) -> Problem:
    return Problem(
        loss=Logistic(),
        bounds=Bounds(row_norm=1.0, classes=(0, 1)),
        n_features=p,
        n_rows=n_rows,
        neighbours="zero-out" if n_rows else "add-remove",
        regularizer=Ridge(strength=strength),
    )


@pytest.mark.parametrize("budget", [Budget(1.0, 1e-6), Budget(0.1, 1e-6), Budget(8.0, 1e-6)])
def test_output_noise_is_pure_exactly_where_it_is_smaller(budget: Budget) -> None:
    sigma = gaussian_multiplier(budget.epsilon, budget.delta)
    crossing = (budget.epsilon * sigma) ** 2 - 1
    for p in (2, math.floor(crossing - 0.5), math.ceil(crossing + 0.5), 60):
        given = problem(p)
        found = with_least_noise(
            lambda part, given=given: OutputPerturbation().plan(given, part), budget, alone=True
        )
        assert (found.guarantee.delta == 0.0) == (p < crossing)
        assert found.guarantee.epsilon == budget.epsilon


def test_the_plan_says_which_noise_and_why() -> None:
    given = problem(6)
    plan = with_least_noise(
        lambda part: OutputPerturbation().plan(given, part), Budget(1.0, 1e-6), alone=True
    )
    assert isinstance(plan, PureNoise)
    facts = plan.facts()
    assert "stands alone" in facts["noise is pure"]
    assert "gamma noise scale" in facts
    assert plan.expected_excess < plan.gaussian
    assert "delta = 0" in str(plan)
    rows = ArraySource(np.zeros((20_000, 6)), np.zeros(20_000, dtype=int))
    assert plan.run(rows, Seeded(0)).guarantee.delta == 0.0


def test_what_shares_its_budget_keeps_gaussian_noise() -> None:
    given, budget = problem(3), Budget(1.0, 1e-6)

    def each(part: Budget) -> Plan:
        return ObjectivePerturbation().plan(given, part)

    assert with_least_noise(each, budget, alone=False).guarantee.delta == 1e-6
    assert with_least_noise(each, budget, alone=True).guarantee.delta == 0.0
    assert not isinstance(with_least_noise(each, Budget(1.0), alone=True), PureNoise)


def test_methods_of_many_steps_and_bounds_unknown_keep_gaussian_noise() -> None:
    budget, given = Budget(1.0, 1e-6), problem(3)
    steps = with_least_noise(lambda part: NoisyGradient().plan(given, part), budget, alone=True)
    assert steps.guarantee.delta == 1e-6
    secret = problem(3, n_rows=None)
    unknown = with_least_noise(
        lambda part: OutputPerturbation(strength=9.0).plan(secret, part), budget, alone=True
    )
    assert unknown.expected_excess == math.inf
    assert unknown.guarantee.delta == 1e-6


def test_where_no_pure_plan_exists_the_usual_one_stays() -> None:
    given = problem(3)

    def each(part: Budget) -> Plan:
        if part.delta == 0.0:
            raise BudgetTooSmall("no pure plan")
        return OutputPerturbation().plan(given, part)

    assert with_least_noise(each, Budget(1.0, 1e-6), alone=True).guarantee.delta == 1e-6


def test_of_two_algorithms_bounds_are_not_compared() -> None:
    given = problem(3)

    def each(part: Budget) -> Plan:
        kind = OutputPerturbation if part.delta else ObjectivePerturbation
        return kind().plan(given, part)

    assert with_least_noise(each, Budget(1.0, 1e-6), alone=True).guarantee.delta == 1e-6


@pytest.mark.parametrize("p", [3, 40])
def test_the_choice_is_the_better_one_on_data(p: int) -> None:
    rng = np.random.default_rng(p)
    n, budget = 1000, Budget(1.0, 1e-6)
    X = rng.normal(size=(n, p))
    X /= np.linalg.norm(X, axis=1)[:, None]
    y = (X[:, 0] + 0.2 * rng.normal(size=n) > 0).astype(int)
    given = problem(p, strength=30.0, n_rows=n)
    found = {}
    exact = OutputPerturbation().plan(given, Budget(1e6)).run(ArraySource(X, y), Seeded(0)).weights
    for delta in (0.0, 1e-6):
        plan = OutputPerturbation().plan(given, Budget(1.0, delta))
        runs = [plan.run(ArraySource(X, y), Seeded(i)).weights - exact for i in range(40)]
        found[delta] = float(np.mean(np.sum(np.square(runs), axis=1)))
    chosen = with_least_noise(
        lambda part: OutputPerturbation().plan(given, part), budget, alone=True
    )
    assert min(found, key=lambda delta: found[delta]) == chosen.guarantee.delta
