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
from sklearn.utils.estimator_checks import parametrize_with_checks

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
from discreet.errors import InvalidData, InvalidParameter, WeakBudget
from discreet.estimators.sampling import draw_quantile, quantile_scale
from discreet.noise import Seeded
from discreet.samplers import PiecewiseLinear


@parametrize_with_checks([PrivateMedian(), PrivateQuantile(quantile=0.9)])
def test_scikit_learn_check(estimator: object, check: object) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UndeclaredBounds)
        check(estimator)  # type: ignore[operator]


def log_law(values: tuple[int, ...], quantile: float, scale: float, size: int) -> np.ndarray:
    law = PiecewiseLinear.pinball(
        np.array(values, dtype=np.int64), size=size, quantile=quantile, scale=scale
    )
    scores = law.scores(np.arange(size))
    return -scores - np.logaddexp.reduce(-scores)


def worst_ratio(quantile: float, neighbours: str, scale: float, size: int, n: int) -> float:
    laws = {
        values: log_law(values, quantile, scale, size)
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


def test_the_bound_is_used_not_wasted() -> None:
    """The median of 400 equal values: the specification reports 0.995 epsilon."""
    size, n = 4001, 400
    scale = quantile_scale(0.5, 1.0, "replace-one", n, size)
    one = log_law((0,) * n, 0.5, scale, size)
    two = log_law((*(0,) * (n - 1), size - 1), 0.5, scale, size)
    assert 0.98 <= np.abs(one - two).max() <= 1.0


def test_draws_sit_on_one_public_lattice() -> None:
    limits, size = (-1.0, 2.0), 2**40
    for seed, values in enumerate(([0.1, 0.2], [1.7, math.nan])):
        drawn = draw_quantile(np.array(values), 0.5, limits, 1.0, "zero-out", Seeded(seed))
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
    model = PrivateMedian(bounds=Bounds(features=(-1.7e308, 1.7e308)))
    with pytest.raises(InvalidParameter, match="too wide"):
        model.fit(np.array([[-1e308], [0.0], [1e308]]))
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


def test_a_secret_number_of_rows_sets_neither_lattice_nor_scale(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen, real = [], PiecewiseLinear.pinball

    def pinball(index: np.ndarray, **given: Any) -> PiecewiseLinear:
        seen.append((given["size"], given["scale"]))
        return real(index, **given)

    monkeypatch.setattr(PiecewiseLinear, "pinball", pinball)
    for n in (5, 6):
        draw_quantile(np.arange(float(n)), 0.5, (0.0, 10.0), 1.0, "add-remove", Seeded(0))
    assert seen[0] == seen[1]
