"""Second moments with the squares of labels: what a row moves, and what is released."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy import stats

from discreet import PrivateRidge
from discreet.accounting import Budget
from discreet.algorithms import SufficientStatistics
from discreet.algorithms.perturbation import SecondMoments
from discreet.bounds import Bounds
from discreet.data import ArraySource
from discreet.errors import Incompatible, MissingBound
from discreet.inference import AugmentedMomentsPlan, InferredRelease
from discreet.losses import Squared
from discreet.noise import Seeded
from discreet.problem import Problem
from discreet.regularizers import L1
from discreet.sets import L2Ball

BUDGET = Budget(1.0, 1e-6)


def problem(**changes: Any) -> Problem:
    given = {"bounds": Bounds(row_norm=1.0, label=(-1, 1)), "n_features": 3, "n_rows": 500}
    return Problem(loss=Squared(), **(given | changes))


def planned(target: str = "table", budget: Budget = BUDGET, **changes: Any) -> AugmentedMomentsPlan:
    return AugmentedMomentsPlan.of(SufficientStatistics().plan(problem(**changes), budget), target)


def summed(moments: SecondMoments, rows: Any, labels: Any) -> Any:
    """Return the sum of v v' in units of the scales, written out."""
    v = np.column_stack([np.asarray(rows) / moments.row_scale, labels / moments.label_scale])
    return v.T @ v


@pytest.mark.parametrize("neighbours", ["zero-out", "replace-one", "add-remove"])
def test_no_pair_of_neighbours_is_further_apart_than_claimed(neighbours: str) -> None:
    random = np.random.default_rng(0)
    for norm, label in ((1.0, 1.0), (3.0, 0.7), (0.4, 2.5)):
        moments = SecondMoments(dimension=3, row_norm=norm, label=label, capacity=100)
        claim, worst = moments.augmented_sensitivity(neighbours), 0.0
        for _ in range(400):
            rows = random.normal(size=(2, 3))
            rows *= norm / np.linalg.norm(rows, axis=1, keepdims=True)
            labels = label * random.choice([-1.0, 1.0, 0.3], 2)
            change = summed(moments, rows[:1], labels[:1])
            if neighbours == "replace-one":
                change = change - summed(moments, rows[1:], labels[1:])
            worst = max(worst, float(np.linalg.norm(change)))
        assert worst <= claim
        assert worst > (0.9 if norm >= label else 0.6) * claim


def test_the_bounds_are_attained() -> None:
    moments = SecondMoments(dimension=2, row_norm=1.0, label=0.5, capacity=10)
    x, y = 1.0 / moments.row_scale, 0.5 / moments.label_scale
    one = summed(moments, [[1.0, 0.0]], np.array([0.5]))
    assert np.linalg.norm(one) == pytest.approx(moments.augmented_sensitivity("zero-out"))
    # Rows that make v and u orthogonal: the inner product of rows cancels that of labels.
    cosine = -(y**2) / x**2
    other = [[cosine, math.sqrt(1 - cosine**2)]]
    apart = np.linalg.norm(one - summed(moments, other, np.array([0.5])))
    assert apart == pytest.approx(moments.augmented_sensitivity("replace-one"))


@pytest.mark.parametrize("neighbours", ["zero-out", "replace-one"])
def test_rounded_rows_are_no_further_apart_than_claimed(neighbours: str) -> None:
    random = np.random.default_rng(4)
    bounds = Bounds(row_norm=1.0, label=(-1, 1))
    one = problem(neighbours="add-remove", n_features=6, bounds=bounds)
    # So many rows leave few bits, and the step is coarse.
    coarse = SecondMoments(dimension=6, row_norm=1.0, label=1.0, capacity=2**42, nearest=True)
    claim, worst = coarse.augmented_sensitivity(neighbours), 0.0
    for _ in range(300):
        row = random.uniform(0.3, 0.45, (2, 6)) * [[1.0], [-1.0]]
        row[1, ::2] *= -1.0
        row /= np.maximum(1.0, np.linalg.norm(row, axis=1, keepdims=True))
        sums = [coarse.augmented(one, ArraySource(x[None], np.array([1.0]))) for x in row]
        change = sums[0] - sums[1] if neighbours == "replace-one" else sums[0]
        worst = max(worst, float(np.linalg.norm(change)) * coarse.unit)
    assert worst <= claim
    if neighbours == "zero-out":
        assert worst > replace(coarse, nearest=False).augmented_sensitivity(neighbours)


def test_rounding_does_not_move_intervals_of_many_rows() -> None:
    random = np.random.default_rng(5)
    X = random.uniform(-1, 1, (20_000, 2))
    y = 0.5 * X[:, 0] - 0.2 * X[:, 1] + 0.1
    # Declared for so many rows that the step is 2^-9.
    plan = planned(
        neighbours="add-remove", n_rows=2**30, n_features=2, intercept=1.0,
        bounds=Bounds(features=(-1, 1), label=(-1, 1)),
    )  # fmt: skip
    assert plan.moments.bits == 9
    exact = plan.moments.augmented(plan.problem, ArraySource(X, y)) * plan.moments.unit
    assert np.abs(plan._intervals(exact).estimate - [0.5, -0.2, 0.1]).max() < 5e-5


def test_the_sums_are_those_of_exact_integers() -> None:
    random = np.random.default_rng(1)
    X, y = random.uniform(-0.5, 0.5, (500, 3)), random.uniform(-1, 1, 500)
    plan = planned()
    found = plan.moments.augmented(plan.problem, ArraySource(X, y)) * plan.moments.unit
    assert np.abs(found - summed(plan.moments, X, y)).max() < 500 * 2.0 ** -(plan.moments.bits - 1)
    assert (found == plan.moments.augmented(plan.problem, ArraySource(X[::-1], y[::-1]))
            * plan.moments.unit).all()  # fmt: skip


def test_all_released_entries_follow_their_law() -> None:
    random = np.random.default_rng(2)
    X, y = random.uniform(-0.5, 0.5, (500, 3)), random.uniform(-1, 1, 500)
    plan, noise = planned(), Seeded(3)
    exact = plan.moments.augmented(plan.problem, ArraySource(X, y)) * plan.moments.unit
    sums = plan.partial(ArraySource(X, y))
    draws = np.array([plan.noisy(sums, noise) - exact for _ in range(300)])
    assert (draws == draws.transpose(0, 2, 1)).all()
    s = plan.noise.scale
    assert s >= plan.sensitivity * 4.2  # the multiplier of epsilon 1, delta 1e-6
    for (i, j), scale in {(0, 0): s, (3, 3): s, (0, 3): s / 2**0.5, (1, 2): s / 2**0.5}.items():
        sample = draws[:, i, j]
        assert stats.kstest(sample, stats.norm(scale=scale).cdf).pvalue > 1e-4
        assert stats.kstest(sample, stats.norm(scale=scale / 2).cdf).pvalue < 1e-6
    together = np.corrcoef(draws[:, *np.triu_indices(4)].T) - np.eye(10)
    assert np.abs(together).max() < 0.3  # independent entries: 1/sqrt(300) each


def test_what_is_claimed_is_what_the_noise_costs() -> None:
    for relation in ("zero-out", "replace-one"):
        plan = planned(neighbours=relation)
        claim = plan.guarantee
        assert claim.theorem == "inference/augmented-moments"
        apart = plan.noise.scale / plan.moments.augmented_sensitivity(relation)
        delta = stats.norm.cdf(0.5 / apart - apart) - math.e * stats.norm.cdf(-0.5 / apart - apart)
        assert delta <= 1e-6
        assert delta > 0.99e-6


def test_labels_are_counted_so_that_noise_is_nearly_least() -> None:
    for norm, label in ((1.0, 1.0), (1.0, 1.9), (1.9, 1.0), (7.0, 0.3)):
        plan = planned(bounds=Bounds(row_norm=norm, label=(-label, label)))
        x, y = norm / plan.moments.row_scale, plan.moments.label / plan.moments.label_scale
        k = (y / x) ** 2
        assert (1 + k) * math.sqrt(1 + 1 / k) <= 1.1 * 1.5 * math.sqrt(3)


def test_the_weights_are_those_of_the_noisy_equations() -> None:
    random = np.random.default_rng(4)
    X = random.uniform(-0.5, 0.5, (500, 3))
    plan = planned(budget=Budget(1e5, 1e-6))
    release = plan.run(ArraySource(X, X @ [0.5, -0.2, 0.1]), Seeded(0))
    assert isinstance(release, InferredRelease)
    assert np.abs(release.weights - [0.5, -0.2, 0.1]).max() < 1e-2
    assert np.abs(release.inference.estimate - release.weights).max() < 1e-2


def test_what_has_no_intervals_is_refused_before_a_row_is_read() -> None:
    pure = SufficientStatistics().plan(problem(), Budget(1.0))
    with pytest.raises(Incompatible, match="Gaussian noise"):
        AugmentedMomentsPlan.of(pure, "table")
    conservative = SufficientStatistics(ridge="adassp").plan(problem(), BUDGET)
    with pytest.raises(Incompatible, match="adassp"):
        AugmentedMomentsPlan.of(conservative, "table")
    for part in ({"regularizer": L1(strength=1.0)}, {"constraint": L2Ball(radius=1.0)}):
        with pytest.raises(Incompatible, match="ridge as the only penalty"):
            planned(**part)
    with pytest.raises(MissingBound, match="n_rows"):
        planned("population", neighbours="add-remove", n_rows=None)
    assert planned("table", neighbours="add-remove", n_rows=None).target == "table"


def test_rows_are_counted_by_the_constant_column() -> None:
    plan = planned("population", intercept=0.5, budget=Budget(1e5, 1e-6))
    X, y = np.full((500, 3), 0.3), np.full(500, np.nan)
    y[:200] = 0.5
    release = plan.run(ArraySource(X, y), Seeded(0))
    assert release.inference.rows == pytest.approx(200, abs=1)  # type: ignore[attr-defined]
    plan = planned("population")
    assert plan.run(ArraySource(X, y), Seeded(0)).inference.rows == 500  # type: ignore[attr-defined]


def test_a_larger_declared_ridge_is_that_of_the_table() -> None:
    fit = SufficientStatistics(strength=40.0).plan(problem(), BUDGET)
    plan = AugmentedMomentsPlan.of(fit, "table")
    release = plan.run(ArraySource(np.full((500, 3), 0.3), np.zeros(500)), Seeded(0))
    assert release.inference.strength == 40.0 / plan.moments.row_scale**2  # type: ignore[attr-defined]
    assert replace(plan, target="population").target == "population"


def test_parts_of_the_rows_give_the_release_of_all() -> None:
    random = np.random.default_rng(5)
    X, y = random.uniform(-0.5, 0.5, (500, 3)), random.uniform(-1, 1, 500)
    plan = planned()
    sums = [plan.partial(ArraySource(X[k::3], y[k::3])) for k in range(3)]
    together = plan.finish(sum(sums), Seeded(0))  # type: ignore[arg-type]
    whole: Any = plan.run(ArraySource(X, y), Seeded(0))
    assert (together.inference.interval() == whole.inference.interval()).all()


def test_groups_have_the_noise_of_all_their_rows() -> None:
    random = np.random.default_rng(6)
    X = random.uniform(-1, 1, (3000, 2))
    settings: dict[str, Any] = {"bounds": Bounds(features=(-1, 1), label=(-1, 1)), "epsilon": 4.0}
    one = PrivateRidge(inference="table", **settings).plan(2, 3000)
    many = PrivateRidge(inference="table", rows_per_group=3, **settings)
    # Rows of a group are rounded towards zero, so they do not grow by half a step.
    found = many.plan(2, 3000).sensitivity  # type: ignore[attr-defined]
    assert found == pytest.approx(3 * one.sensitivity, rel=1e-5)  # type: ignore[attr-defined]
    assert found < 3 * one.sensitivity  # type: ignore[attr-defined]
    many.fit(X, X[:, 0] / 2, groups=np.repeat(np.arange(1000), 3))
    assert many.guarantee_.unit == "group"
    assert np.isfinite(many.interval()).all()
    with pytest.raises(Incompatible, match="independent rows"):
        PrivateRidge(inference="population", rows_per_group=3, **settings).plan(2, 3000)
