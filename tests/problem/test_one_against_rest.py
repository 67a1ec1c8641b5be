"""One class against the rest: all fits together cost the budget, and no more."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.stats import norm

from discreet import Bounds, PrivateLinearSVC, PrivateSGDClassifier, load
from discreet.accounting import Budget, Composed, Gaussian
from discreet.algorithms import NoisyGradient
from discreet.algorithms.gradient.noisy_gradient import NoisyGradientPlan
from discreet.data import ArraySource, RawBlock, Source
from discreet.errors import InvalidParameter
from discreet.losses import Hinge
from discreet.noise import Randomness, Seeded
from discreet.problem import Problem, Release
from discreet.problem.one_against_rest import OneAgainstRest, one_against_rest

BUDGET = Budget(1.0, 1e-6)
PROBLEM = Problem(
    loss=Hinge(), bounds=Bounds(row_norm=1.0, classes=(0, 1)), n_features=3, n_rows=300
)


def each(part: Budget) -> object:
    return NoisyGradient(steps=20).plan(PROBLEM, part)


def exact_delta(multiplier: float, epsilon: float) -> float:
    """The delta of Gaussian noise, from its two tails."""
    half = 1.0 / (2.0 * multiplier)
    near, far = norm.sf(epsilon * multiplier - half), norm.sf(epsilon * multiplier + half)
    return float(near - math.exp(epsilon) * far)


@pytest.mark.parametrize("fits", [2, 3, 10])
def test_gaussian_fits_use_the_budget_up_and_no_more(fits: int) -> None:
    plan = one_against_rest(each, BUDGET, fits)  # type: ignore[arg-type]
    one = plan.each.guarantee.event
    assert isinstance(one, Gaussian)
    # Independent noises of one deviation against a shift in each: one noise against their length.
    assert 0.999e-6 < exact_delta(one.multiplier / math.sqrt(fits), 1.0) <= 1e-6
    assert (plan.guarantee.epsilon, plan.guarantee.delta) == (1.0, 1e-6)
    assert plan.guarantee.event == Composed((one,) * fits)
    assert plan.guarantee.theorem.startswith("composition/fixed; ")
    assert plan.guarantee.theorem.endswith(plan.each.guarantee.theorem)
    # What basic composition would allow has more noise, and one fit less would be too little.
    basic = brentq(lambda m: exact_delta(m, 1.0 / fits) - 1e-6 / fits, 1.0, 1e3)
    assert one.multiplier < {2: 0.75, 3: 0.6, 10: 0.34}[fits] * basic
    assert exact_delta(one.multiplier / math.sqrt(fits + 1), 1.0) > 1.5e-6


def test_pure_budgets_are_split() -> None:
    plan = one_against_rest(each, Budget(1.0), 4)  # type: ignore[arg-type]
    assert plan.each.guarantee.epsilon == 0.25
    assert plan.guarantee.event.delta(1.0) == 0.0
    assert plan.guarantee.event.delta(0.99) > 0.0


def test_a_law_that_composes_worse_is_given_less() -> None:
    """Plans whose event is that of less noise than a Gaussian one has: the check must refuse."""

    class Costly:
        def __init__(self, part: Budget) -> None:
            plan = each(part)
            self.problem = plan.problem  # type: ignore[attr-defined]
            event = Gaussian(0.75 * plan.guarantee.event.multiplier)  # type: ignore[attr-defined]
            self.guarantee = replace(plan.guarantee, event=event)  # type: ignore[attr-defined]

    plan = one_against_rest(Costly, BUDGET, 9)  # type: ignore[arg-type]
    assert plan.event.delta(1.0) <= 1e-6
    assert 1 / 9 < plan.each.guarantee.epsilon < 0.25


def test_parts_that_cannot_be_planned_are_passed_over() -> None:
    def timid(part: Budget) -> object:
        if part.epsilon > 0.2:
            raise InvalidParameter("too wide")
        return each(part)

    plan = one_against_rest(timid, BUDGET, 9)  # type: ignore[arg-type]
    assert 1 / 9 < plan.each.guarantee.epsilon <= 0.2


def test_every_class_is_fitted_against_the_rest() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 3)), rng.integers(0, 3, size=300)
    plan = one_against_rest(each, BUDGET, 3)  # type: ignore[arg-type]
    together = plan.run(ArraySource(X, y), Seeded(5))
    random = Seeded(5)
    for k in range(3):
        alone = plan.each.run(ArraySource(X, (y == k).astype(int)), random)
        # Sums of all classes are taken together, so only their rounding may differ.
        np.testing.assert_allclose(together.weights[:, k], alone.weights, rtol=1e-9, atol=1e-12)
    assert together.guarantee == replace(plan.guarantee, secure=False)


@pytest.mark.parametrize("kind", [PrivateLinearSVC, PrivateSGDClassifier])
def test_a_plan_promises_what_the_fit_does(kind: type, tmp_path) -> None:
    model = kind(bounds=Bounds(row_norm=2.0, classes=("a", "b", "c")), random_state=0)
    plan = model.plan(4, 120)
    assert isinstance(plan, OneAgainstRest)
    assert plan.guarantee.epsilon == 1.0
    assert plan.facts()["fits, one class against the rest"] == 3
    assert "epsilon = 1, delta = 1e-06" in str(plan)
    y = np.repeat(["a", "b", "c"], 40)
    fitted = model.fit(np.eye(4)[np.repeat([0, 1, 2], 40)], y)
    assert fitted.coef_.shape == (3, 4)
    assert fitted.intercept_.shape == (3,)
    assert fitted.guarantee_.event == plan.guarantee.event
    fitted.save(tmp_path / "model.json")
    assert load(tmp_path / "model.json").guarantee_ == fitted.guarantee_


class Turned(ArraySource):
    """A source whose rows come the other way round in every other reading."""

    def __init__(self, X: np.ndarray, y: np.ndarray) -> None:
        super().__init__(X, y)
        self.readings = 0

    def blocks(self) -> Iterator[RawBlock]:
        self.readings += 1
        for block in super().blocks():
            turn = slice(None, None, 1 if self.readings % 2 else -1)
            yield block._replace(X=block.X[turn], y=block.y[turn])


@pytest.mark.parametrize("fits", [3, 130])
def test_rows_have_the_labels_they_were_read_with(fits: int) -> None:
    # privacy: else a row would count at two places, with its features and with its label.
    rng = np.random.default_rng(0)
    # Some labels are of no class.
    X, y = rng.normal(size=(300, 3)), rng.integers(-1, fits + 1, 300)
    plan = one_against_rest(lambda b: NoisyGradient(steps=2).plan(PROBLEM, b), BUDGET, fits)
    source, random = Turned(X, y), Seeded(1)
    found = plan.run(source, Seeded(1)).weights
    assert source.readings == 1
    for k in range(fits):
        alone = plan.each.run(ArraySource(X, (y == k).astype(int)), random)
        np.testing.assert_allclose(found[:, k], alone.weights, rtol=1e-9, atol=1e-12)


def test_a_plan_that_runs_in_another_way_is_run_that_way() -> None:
    class Still(NoisyGradientPlan):
        def run(self, source: Source, random: Randomness) -> Release:
            return Release(np.zeros(3), self.guarantee)

    def still(part: Budget) -> Still:
        plan = NoisyGradient(steps=20).plan(PROBLEM, part)
        return Still(plan.problem, plan.budget, plan.config, plan.sampler)

    source = ArraySource(np.ones((300, 3)), np.zeros(300, int))
    assert not one_against_rest(still, BUDGET, 3).run(source, Seeded(1)).weights.any()


def test_no_rows_and_one_row_both_give_weights() -> None:
    # privacy: they are neighbours under add-remove.
    task = replace(PROBLEM, neighbours="add-remove")
    plan = one_against_rest(lambda part: NoisyGradient(steps=3).plan(task, part), BUDGET, 3)
    for n_rows in (0, 1):
        source = ArraySource(np.ones((n_rows, 3)), np.zeros(n_rows, int))
        assert plan.run(source, Seeded(1)).weights.shape == (3, 3)
