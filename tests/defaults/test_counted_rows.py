"""A secret number of rows is counted with noise first, and the rest goes to the plan for it."""

from __future__ import annotations

import contextlib
import math
import warnings
from dataclasses import fields, replace
from typing import Any

import numpy as np
import pytest

from discreet import (
    Bounds,
    Budget,
    PrivateHuberRegressor,
    PrivateLinearSVC,
    PrivateLogisticRegression,
    PrivateRidge,
    PrivateSearch,
)
from discreet.accounting import Approximate, Pure
from discreet.data import ArraySource
from discreet.defaults import Asked, recommend
from discreet.defaults.counted_rows import CountedRowsPlan
from discreet.defaults.learned_clip import LearnedClipPlan
from discreet.errors import DiscreetError, Incompatible, InvalidParameter
from discreet.ledger import Ledger
from discreet.noise import Seeded
from discreet.problem import Plan

BOUNDS = Bounds(features=(-1, 1), label=(-1, 1), classes=(0, 1))
KINDS = (PrivateRidge, PrivateHuberRegressor, PrivateLogisticRegression, PrivateLinearSVC)


def model(kind: type = PrivateLogisticRegression, /, **stated: Any) -> Any:
    return kind(**({"bounds": BOUNDS, "neighbours": "add-remove", "random_state": 0} | stated))


def data(kind: type, size: int) -> tuple[Any, Any]:
    rng = np.random.default_rng(size)
    X = rng.uniform(-1, 1, (size, 4))
    y = 0.7 * X[:, 0] + 0.1 * rng.normal(size=size)
    return X, y if "Regressor" in kind.__name__ or kind is PrivateRidge else (y > 0).astype(int)


def counted(plan: Any, size: int, seed: int) -> float:
    """Return the noisy count of so many rows, by the plan it leads to."""
    seen: list[int] = []

    class Watched(CountedRowsPlan):
        def sized(self, size: int) -> Plan:
            seen.append(size)
            return plan.unsized

    watched = Watched(**{f.name: getattr(plan, f.name) for f in fields(plan)})
    watched.run(ArraySource(np.zeros((size, 4)), np.zeros(size)), Seeded(seed))
    return seen[0]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("delta", [1e-6, 0.0])
def test_a_secret_size_is_counted_and_no_other(kind: type, delta: float) -> None:
    plan = model(kind, delta=delta).plan(4)
    assert plan.algorithm == "counted-rows"
    assert "because" in str(plan)
    assert "the number of rows is secret" in str(plan)
    # Declared, public or in groups, a number needs no count.
    assert model(kind, delta=delta).plan(4, 3000).algorithm != "counted-rows"
    assert model(kind, delta=delta, n_rows=3000).plan(4).algorithm != "counted-rows"
    assert kind(bounds=BOUNDS, delta=delta).plan(4, 3000).algorithm != "counted-rows"
    grouped = model(kind, delta=1e-6, rows_per_group=2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with contextlib.suppress(DiscreetError):
            assert grouped.plan(4).algorithm != "counted-rows"


@pytest.mark.parametrize("delta", [1e-6, 0.0])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 8.0])
def test_count_and_plan_cost_the_budget(epsilon: float, delta: float) -> None:
    plan = model(epsilon=epsilon, delta=delta).plan(4)
    assert (plan.guarantee.epsilon, plan.guarantee.delta) == (epsilon, delta)
    first, last = plan.event.events
    assert first == Pure(plan.count.epsilon)
    assert last == (Approximate(plan.rest.epsilon, delta) if delta else Pure(plan.rest.epsilon))
    # Basic composition is the second accountant.
    assert plan.count.epsilon + plan.rest.epsilon <= epsilon
    assert plan.event.delta(epsilon) <= delta
    # With a tenth more for the plan the budget would not do.
    more = replace(plan, rest=Budget(1.1 * plan.rest.epsilon, delta))
    assert more.event.delta(epsilon) > delta


@pytest.mark.parametrize("size", [1, 60, 500, 5000, 10**6, 10**9])
def test_no_plan_that_may_follow_costs_more_than_its_part(size: int) -> None:
    for kind in KINDS:
        for delta in (1e-6, 0.0):
            plan = model(kind, delta=delta).plan(4)
            found = plan.sized(size)
            assert found.guarantee.neighbours == "add-remove"
            assert found.guarantee.epsilon <= plan.rest.epsilon
            assert found.guarantee.delta <= delta
            assert found.guarantee.event.delta(plan.rest.epsilon) <= delta * (1 + 1e-9)
            # It does not count again.
            assert found.algorithm != "counted-rows"


def test_the_count_has_noise_of_the_scale_that_is_paid_for() -> None:
    plan = model(epsilon=2.0).plan(4)
    scale = 1.0 / plan.count.epsilon
    assert plan.noise.scale == pytest.approx(scale, rel=1e-4)
    assert plan.noise.scale >= scale
    rows, draws = 5000, 400
    off = np.array([counted(plan, rows, seed) for seed in range(draws)]) - rows
    # The mean size of Laplace noise is its scale, with a relative error of 1/20 here.
    assert np.abs(off).mean() == pytest.approx(scale, rel=0.25)
    assert abs(off.mean()) < 5.0 * math.sqrt(2.0 / draws) * scale
    # One row more moves the count by one, whatever the row is: the noise is that of its seed.
    assert [counted(plan, rows + 1, seed) for seed in range(20)] == list(off[:20] + rows + 1)


def test_a_count_with_half_the_noise_is_told_apart_better_than_claimed() -> None:
    plan = model(epsilon=50.0).plan(4)
    claimed = plan.count.epsilon

    def log_ratio(found: Any) -> float:
        """Return how well counts of 40 and of 41 rows are told apart, by exact chances."""
        noise = found.noise

        # A whole number is hit by noise that rounds to it; Laplace tails have exact chances.
        def above(distance: float) -> float:
            tail = 0.5 * math.exp(-abs(distance) / noise.scale)
            return tail if distance >= 0 else 1.0 - tail

        one, two = above(60.5 - 40), above(60.5 - 41)
        return math.log(two / one)

    assert log_ratio(plan) <= claimed
    half = replace(plan, count=Budget(2 * claimed))
    assert log_ratio(half) > 1.9 * claimed


@pytest.mark.parametrize("kind", KINDS)
def test_a_fit_is_that_of_the_plan_for_the_count(kind: type) -> None:
    X, y = data(kind, 3000)
    fitted = model(kind, epsilon=2.0).fit(X, y)
    assert fitted.algorithm_ == "counted-rows"
    assert fitted.n_rows_ is None
    known = kind(bounds=BOUNDS, epsilon=2.0, random_state=0).fit(X, y)
    assert fitted.score(X, y) > known.score(X, y) - 0.02
    # What follows the count is named after it, and only what was claimed is claimed.
    assert fitted.guarantee_.theorem.startswith("counted-rows; ")
    assert (fitted.guarantee_.epsilon, fitted.guarantee_.delta) == (2.0, 1e-6)
    again = model(kind, epsilon=2.0, algorithm="counted-rows", settings=fitted.settings_).fit(X, y)
    np.testing.assert_array_equal(again.coef_, fitted.coef_)
    loaded = type(fitted).from_dict(fitted.to_dict())
    assert loaded.guarantee_ == fitted.guarantee_


def test_regression_learns_its_clip_after_the_count() -> None:
    plan = model(PrivateRidge, epsilon=1.0).plan(4)
    assert isinstance(plan.sized(20_000), LearnedClipPlan)
    few = plan.sized(300)
    usual = PrivateRidge(bounds=BOUNDS, epsilon=plan.rest.epsilon).plan(4, 300)
    assert few.problem.loss == usual.problem.loss
    stated = model(PrivateRidge, clip=0.5).plan(4).sized(20_000)
    assert stated.algorithm != "learned-clip"
    assert stated.problem.loss.clip == pytest.approx(0.5 * stated.problem.typical_norm)


def test_a_size_without_a_plan_gets_the_plan_that_does_without_one() -> None:
    plan = model().plan(4)

    def refuses(*_: Any) -> Plan:
        raise Incompatible("no plan for this size")

    assert replace(plan, recommend=refuses).sized(7) is plan.unsized


def test_more_rows_make_a_plan_for_more_rows() -> None:
    plan = model(epsilon=1.0).plan(20)
    few, many = plan.sized(2000), plan.sized(10**6)
    assert few.algorithm == "noisy-gradient"
    assert many.algorithm == "recentred-perturbation"


def test_a_ledger_is_charged_the_whole_before_the_count(tmp_path: Any) -> None:
    ledger = Ledger.create(tmp_path / "ledger", dataset="people", epsilon=3.0, delta=1e-5)
    X, y = data(PrivateLogisticRegression, 500)
    model(epsilon=1.0, random_state=None, ledger=ledger).fit(X, y)
    assert [entry.algorithm for entry in ledger.history()] == ["counted-rows"]
    (place,) = ledger.balance().accounts
    assert ledger.balance().used(place) == pytest.approx(1 / 3, rel=1e-9)


def test_parts_and_searches_keep_their_curves() -> None:
    # A count would leave points, which add up: three classes, and the candidates of a search.
    bounds = replace(BOUNDS, classes=(0, 1, 2))
    against = PrivateLinearSVC(bounds=bounds, neighbours="add-remove").plan(4)
    assert against.algorithm == "objective-perturbation"
    assert against.each.guarantee.epsilon > 1 / 3
    X, y = data(PrivateLogisticRegression, 4000)
    search = PrivateSearch(
        model(), {"C": [1.0, 10.0]}, epsilon=4.0, verbose=False, random_state=0
    ).fit(X, y)
    assert search.best_estimator_.algorithm_ == "best of a search: objective-perturbation"
    # Ranges that are learned first leave a point in any case.
    unknown = Bounds(features="private", classes=(0, 1))
    learned = model(bounds=unknown, epsilon=4.0).fit(X, y)
    assert learned.algorithm_ == "counted-rows"


def test_by_name_it_is_refused_in_words_where_nothing_is_to_be_counted() -> None:
    with pytest.raises(Incompatible, match="whose number is secret and not declared"):
        model(algorithm="counted-rows").plan(4, 3000)
    with pytest.raises(InvalidParameter, match="no settings"):
        model(algorithm="counted-rows", settings={"share": 0.1}).plan(4)


def test_a_budget_too_small_to_be_split_is_spent_on_one_plan() -> None:
    problem, _ = model()._public_problem(4, None)
    tiny = recommend(problem, Budget(1.5e-3, 1e-6), Asked())
    assert tiny.guarantee.epsilon == 1.5e-3
