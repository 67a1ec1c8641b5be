"""Medians and quantiles against exact ratios, and the samplers behind the linear estimators."""

from __future__ import annotations

import itertools
import math
import warnings
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from discreet import (
    Bounds,
    PrivateHuberRegressor,
    PrivateLinearSVC,
    PrivateLogisticRegression,
    PrivateMedian,
    PrivateQuantile,
    PrivateRidge,
    UndeclaredBounds,
    load,
)
from discreet.algorithms.sampling.laws import (
    PiecewiseLinear,
    draw_quantile,
    quantile_scale,
    rank_lattice,
    rank_scale,
)
from discreet.errors import InvalidData, InvalidParameter, WeakBudget
from discreet.noise import Seeded


def log_law(
    values: tuple[int, ...], quantile: float, scale: float, size: int, score: str = "pinball"
) -> np.ndarray:
    made = getattr(PiecewiseLinear, score)
    law = made(np.array(values, dtype=np.int64), size=size, quantile=quantile, scale=scale)
    scores = law.scores(np.arange(size))
    return -scores - np.logaddexp.reduce(-scores)


def worst_ratio(
    quantile: float, neighbours: str, scale: float, size: int, n: int, score: str = "pinball"
) -> float:
    laws = {
        values: log_law(values, quantile, scale, size, score)
        for k in (n - 1, n)
        for values in itertools.combinations_with_replacement(range(size), k)
    }
    worst = 0.0
    for values in itertools.combinations_with_replacement(range(size), n):
        for i in range(n):
            rest = values[:i] + values[i + 1 :]
            others = [rest]
            if neighbours == "replace-one":
                others = [tuple(sorted((*rest, v))) for v in range(size)]
            for other in others:
                worst = max(worst, float(np.abs(laws[values] - laws[other]).max()))
    return worst


@pytest.mark.parametrize("neighbours", ["zero-out", "replace-one"])
@pytest.mark.parametrize("quantile", [0.5, 0.85])
def test_no_neighbour_has_a_log_ratio_above_epsilon(quantile: float, neighbours: str) -> None:
    """Every data set of three values on a lattice of six, against every neighbour."""
    size, epsilon = 6, 2.0
    scale = quantile_scale(quantile, epsilon, neighbours, 3, size)
    found = worst_ratio(quantile, neighbours, scale, size, 3)
    assert found <= epsilon
    assert worst_ratio(quantile, neighbours, 4.0 * scale, size, 3) > epsilon  # planted


@pytest.mark.parametrize("neighbours", ["zero-out", "replace-one"])
@pytest.mark.parametrize("quantile", [0.5, 0.3, 0.85])
def test_no_neighbour_has_a_log_ratio_of_ranks_above_epsilon(
    quantile: float, neighbours: str
) -> None:
    size, epsilon = 6, 2.0
    scale = rank_scale(quantile, epsilon, neighbours, 4)
    found = worst_ratio(quantile, neighbours, scale, size, 4, "ranks")
    assert found <= epsilon
    assert worst_ratio(quantile, neighbours, 4.0 * scale, size, 4, "ranks") > epsilon  # planted


@pytest.mark.parametrize("neighbours", ["zero-out", "replace-one"])
@pytest.mark.parametrize("quantile", [0.5, 0.3, 0.85])
def test_the_range_of_ranks_is_used_not_wasted(quantile: float, neighbours: str) -> None:
    """Of many values one moves: scores change by amounts that differ by what is paid for."""
    size, n = 50, 400
    spread = np.sort(np.arange(n) * size // n)
    worst = 0.0
    for gone in (0, n - 1):
        rest = np.delete(spread, gone)
        other = np.append(rest, size - 1 - spread[gone]) if neighbours == "replace-one" else rest
        laws = [log_law(tuple(v), quantile, 1.0, size, "ranks") for v in (spread, other)]
        worst = max(worst, float(np.ptp(laws[0] - laws[1])))
    assert 0.99 <= worst * rank_scale(quantile, 1.0, neighbours, n) <= 1.0


@pytest.mark.parametrize(("neighbours", "one"), [("zero-out", 1.8), ("replace-one", 2.0)])
def test_the_scale_of_ranks_pays_for_scores_that_are_rounded(neighbours: str, one: float) -> None:
    rows = 2**30
    scale = Fraction(rank_scale(0.9, 1.0, neighbours, rows))
    assert scale * (Fraction(one) + 4 * rows * Fraction(1, 2**50)) <= 1


def test_ranks_are_off_by_no_more_than_is_said() -> None:
    """Whatever the data is: one value, two far apart, all the same, or spread."""
    epsilon, beta = 0.5, 0.01
    columns = [
        np.full(400, 3.0),
        np.repeat([0.0, 10.0], 200),
        np.linspace(2.0, 2.001, 400),
        np.append(np.full(399, 9.9), 0.1),
    ]
    for values in columns:
        scale = rank_scale(0.5, epsilon, "zero-out", values.size)
        most = math.log(rank_lattice(0.5, scale, values.size) / beta) / scale
        for seed in range(25):
            found = draw_quantile(values, 0.5, (0.0, 10.0), epsilon, "zero-out", Seeded(seed))
            step = 10.0 / rank_lattice(0.5, scale, values.size)
            under, over = (values < found - step).sum(), (values > found + step).sum()
            assert max(under, over) - 200 <= most


def test_many_rows_give_ranks_a_smaller_error_than_the_pinball_loss() -> None:
    values = np.random.default_rng(2).normal(5.0, 1.0, 4000)
    errors = {
        score: np.mean(
            [
                abs(draw_quantile(values, 0.5, (0, 100), 1.0, "zero-out", Seeded(s), score) - 5.0)
                for s in range(30)
            ]
        )
        for score in ("ranks", "pinball")
    }
    assert errors["ranks"] < 0.2 * errors["pinball"]


def test_few_rows_are_drawn_from_few_points() -> None:
    """Else points far away would outweigh the right one by their number."""
    few = [
        draw_quantile(np.full(30, 3.0), 0.5, (0, 10), 1.0, "zero-out", Seeded(s)) for s in range(50)
    ]
    assert np.mean(np.abs(np.array(few) - 3.0) < 0.1) > 0.9


def test_the_bound_is_used_not_wasted() -> None:
    """The median of 400 equal values: the specification reports 0.995 epsilon."""
    size, n = 4001, 400
    scale = quantile_scale(0.5, 1.0, "replace-one", n, size)
    one = log_law((0,) * n, 0.5, scale, size)
    two = log_law((*(0,) * (n - 1), size - 1), 0.5, scale, size)
    assert 0.98 <= np.abs(one - two).max() <= 1.0


def test_draws_sit_on_one_public_lattice() -> None:
    limits = (-1.0, 2.0)
    for seed, values in enumerate(([0.1, 0.2], [1.7, math.nan], [0.1, 0.2], [1.7, math.nan])):
        score, size = ("pinball", 2**40) if seed < 2 else ("ranks", 2**16)
        drawn = draw_quantile(np.array(values), 0.5, limits, 1.0, "zero-out", Seeded(seed), score)
        step = (drawn + 1.0) / 3.0 * (size - 1)
        assert abs(step - round(step)) < 1e-3


def test_fit_estimates_and_says_what_it_costs(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(50, 10, 4000), rng.uniform(0, 1, 4000)])
    bounds = Bounds(features=[(0, 100), (0, 1)])
    model = PrivateQuantile(quantile=0.25, epsilon=2.0, bounds=bounds, random_state=0).fit(X)
    assert model.quantiles_ == pytest.approx(np.quantile(X, 0.25, axis=0), abs=2.0)
    assert model.guarantee_.event.delta(2.0) <= 1e-12
    assert not model.guarantee_.secure
    model.save(tmp_path / "model.json")
    again = load(tmp_path / "model.json")
    assert (again.quantiles_ == model.quantiles_).all()
    assert again.guarantee_ == model.guarantee_
    spoiled = X.copy()
    spoiled[:, 0] = 1e9
    assert PrivateMedian(bounds=bounds).fit(spoiled).quantiles_[0] <= 100.0


def test_refusals_and_warnings() -> None:
    with pytest.warns(UndeclaredBounds, match="features"):
        PrivateMedian().fit([[0.0], [1.0]])
    with pytest.raises(InvalidParameter, match="quantile"):
        PrivateQuantile(quantile=1.0, bounds={"features": (0, 1)}).fit([[0.5]])
    with pytest.raises(InvalidParameter, match="neighbours"):
        PrivateMedian(neighbours="none", bounds={"features": (0, 1)}).fit([[0.5]])


@pytest.mark.parametrize("algorithm", ["exponential-sampling", "localization"])
def test_linear_estimators_take_the_samplers(algorithm: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    X = rng.uniform(-1, 1, size=(3000, 2))
    labels, target = (X[:, 0] > X[:, 1]).astype(int), X @ [0.5, -0.5]
    common = {"delta": 0.0, "epsilon": 4.0, "algorithm": algorithm, "random_state": 0}
    classes = Bounds(row_norm=1.0, classes=(0, 1))
    for kind in (PrivateLogisticRegression, PrivateLinearSVC):
        model = kind(bounds=classes, norm_guess=6.0, **common).fit(X, labels)
        assert model.score(X, labels) > 0.85
        assert model.algorithm_ == algorithm
        assert model.guarantee_.delta == 0.0
    bounds = Bounds(row_norm=1.0, label=(-1.0, 1.0))
    for kind in (PrivateRidge, PrivateHuberRegressor):
        model = kind(bounds=bounds, norm_guess=2.0, **common).fit(X, target)
        assert model.score(X, target) > 0.5
        model.save(tmp_path / "model.json")
        assert load(tmp_path / "model.json").guarantee_ == model.guarantee_


def test_a_range_beyond_float64_is_refused() -> None:
    """Its values could not be told apart from numbers that are no places on the lattice."""
    wide, values = (-1.7e308, 1.7e308), np.array([-1e308, 0.0, 1e308])
    with pytest.raises(InvalidParameter, match="too wide"):
        draw_quantile(values, 0.5, wide, 1.0, "zero-out", Seeded(0))
    low, high = -8e307, 8e307
    drawn = draw_quantile(np.linspace(low, high, 99), 0.5, (low, high), 1e3, "zero-out", Seeded(0))
    assert abs(drawn) < 0.1 * high


@pytest.mark.parametrize("epsilon", [1e-300, 1e300])
def test_an_epsilon_beyond_meaning_is_refused(epsilon: float) -> None:
    with pytest.raises(InvalidParameter, match="epsilon must lie between"):
        PrivateMedian(epsilon=epsilon, bounds=Bounds(features=(0, 1))).fit(np.ones((9, 1)))


@pytest.mark.filterwarnings("default::discreet.errors.WeakBudget")
@pytest.mark.parametrize("kind", [PrivateMedian, PrivateQuantile])
def test_a_weak_budget_is_warned_of(kind: type[PrivateMedian | PrivateQuantile]) -> None:
    bounds, rows = Bounds(features=(0, 1)), np.zeros((20, 1))
    with pytest.warns(WeakBudget, match=f"{kind.__name__}: epsilon = 60"):
        kind(epsilon=60.0, bounds=bounds).fit(rows)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        kind(epsilon=50.0, bounds=bounds).fit(rows)


@pytest.mark.parametrize("by", ["ranks", "pinball"])
def test_the_median_is_the_quantile_of_one_half(by: str) -> None:
    rows, bounds = np.random.default_rng(0).uniform(0, 1, (200, 2)), Bounds(features=(0, 1))
    one = PrivateMedian(bounds=bounds, by=by, random_state=3).fit(rows)
    two = PrivateQuantile(bounds=bounds, by=by, quantile=0.5, random_state=3).fit(rows)
    np.testing.assert_array_equal(np.ravel(one.quantiles_), np.ravel(two.quantiles_))
    assert one.guarantee_ == two.guarantee_


def test_what_is_refused_where_missing_values_are_not() -> None:
    model = PrivateMedian(bounds=Bounds(features=(0, 1)))
    with pytest.raises(InvalidData, match=r"^X has an infinite value.* NaN may stay"):
        model.fit([[np.inf], [np.nan], [0.5]])
    model.fit([[np.nan], [0.5]])


@pytest.mark.parametrize(
    ("neighbours", "one"), [("zero-out", 0.9), ("replace-one", 1.0), ("add-remove", 0.9)]
)
def test_the_scale_pays_for_scores_that_are_rounded(neighbours: str, one: float) -> None:
    rows, size = 2**30, 2**20
    scale = Fraction(quantile_scale(0.9, 1.0, neighbours, rows, size))
    assert scale * size * (Fraction(one) + 4 * rows * Fraction(1, 2**48)) <= 1


@pytest.mark.parametrize(
    ("neighbours", "per_unit"), [("add-remove", None), ("add-remove", 2), ("replace-one", 2)]
)
@pytest.mark.parametrize("score", ["ranks", "pinball"])
def test_a_secret_number_of_rows_sets_neither_lattice_nor_scale(
    monkeypatch: pytest.MonkeyPatch, score: str, neighbours: str, per_unit: int | None
) -> None:
    seen, real = [], getattr(PiecewiseLinear, score)

    def noted(index: np.ndarray, **given: Any) -> PiecewiseLinear:
        seen.append((given["size"], given["scale"]))
        return real(index, **given)

    monkeypatch.setattr(PiecewiseLinear, score, noted)
    for n in (5, 600):
        values = np.arange(float(n))
        draw_quantile(values, 0.5, (0.0, 10.0), 1.0, neighbours, Seeded(0), score, per_unit)
    assert seen[0] == seen[1]


def test_several_quantiles_share_the_budget_and_stand_in_order(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    X = np.column_stack([np.linspace(0, 10, 3000), np.linspace(-5, 5, 3000)])
    bounds, asked = Bounds(features=(-10, 10)), [0.75, 0.25, 0.5]
    model = PrivateQuantile(quantile=asked, epsilon=6.0, bounds=bounds, random_state=0).fit(X)
    np.testing.assert_allclose(model.quantiles_, [[7.5, 2.5], [2.5, -2.5], [5.0, 0.0]], atol=0.1)
    model.save(tmp_path / "quartiles.json")
    np.testing.assert_array_equal(load(tmp_path / "quartiles.json").quantiles_, model.quantiles_)
    # However noisy, a higher quantile is never below a lower one.
    for seed in range(20):
        vague = PrivateQuantile(quantile=asked, epsilon=1e-3, bounds=bounds, random_state=seed)
        assert (np.diff(vague.fit(X[:20]).quantiles_[[1, 2, 0]], axis=0) >= 0).all()
    spent: list[float] = []

    def free(values: Any, quantile: float, limits: Any, epsilon: float, *rest: Any) -> float:
        spent.append(epsilon)
        return 0.0

    monkeypatch.setattr("discreet.estimators.quantiles.draw_quantile", free)
    model.fit(X)
    assert len(spent) == 6
    assert math.fsum(spent) <= 6.0
    assert [event.eta for event in model.guarantee_.event.events] == spent  # type: ignore[attr-defined]
    for none in ([], [0.5, 1.5], [[0.5]]):
        with pytest.raises(InvalidParameter, match="quantile"):
            PrivateQuantile(quantile=none, bounds=bounds).fit(X)
