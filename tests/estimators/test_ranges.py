"""Ranges: what becomes of 0 and of their middle, and which are refused."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from discreet import (
    Bounds,
    PrivateGeometricMedian,
    PrivateLasso,
    PrivateLinearSVC,
    PrivateLogisticRegression,
    PrivateMedian,
    PrivateQuantile,
    PrivateRidge,
    PrivateSparseRegression,
    PrivateStreamRegressor,
    load,
)
from discreet.accounting.events import Curve
from discreet.errors import Incompatible, InvalidParameter

RANGES = [(0.0, 50.0), (-10.0, 30.0), (100.0, 104.0)]
LOW, HIGH = np.array(RANGES).T
SCALED = np.random.default_rng(0).uniform(-1.0, 1.0, (1500, 3))
X = LOW + (SCALED + 1.0) / 2.0 * (HIGH - LOW)
Y = SCALED @ [0.5, -0.3, 0.1] + 0.1
REGRESSORS = [
    PrivateRidge(algorithm=name) for name in ("auto", "sufficient-statistics", "noisy-gradient")
] + [PrivateLasso(), PrivateSparseRegression(size=2), PrivateStreamRegressor()]


@pytest.mark.parametrize(
    "model", REGRESSORS, ids=lambda m: f"{type(m).__name__}-{getattr(m, 'algorithm', '')}"
)
@pytest.mark.parametrize("norm", [None, 0.8])
def test_columns_in_natural_units_are_fitted_like_columns_scaled_beforehand(model, norm):
    def fitted(rows, ranges):
        bounds = Bounds(features=ranges, label=(-1, 1), row_norm=norm)
        return model.set_params(epsilon=8.0, bounds=bounds, random_state=0).fit(rows, Y)

    expected = fitted(SCALED, (-1, 1)).predict(SCALED)
    np.testing.assert_allclose(fitted(X, RANGES).predict(X), expected, atol=1e-6)


def test_zero_stays_zero_in_sparse_rows_and_where_it_is_asked_for():
    rows = np.where(SCALED > 0.0, SCALED, 0.0)
    plain = Bounds(features=(0, 2), label=(-1, 1))
    kept = Bounds(features=(0, 2), label=(-1, 1), centred=False)
    symmetric = Bounds(features=(-2, 2), label=(-1, 1))

    def fitted(given, bounds, **settings):
        model = PrivateRidge(epsilon=1.0, bounds=bounds, random_state=0, **settings).fit(given, Y)
        return np.append(model.coef_, model.intercept_)

    sparse = fitted(sp.csr_array(rows), plain)
    np.testing.assert_allclose(fitted(rows, kept), sparse, rtol=1e-9)
    np.testing.assert_allclose(fitted(rows, symmetric), sparse, rtol=1e-9)
    assert not np.allclose(fitted(rows, plain), sparse, rtol=1e-3)
    np.testing.assert_allclose(
        fitted(rows, plain, fit_intercept=False), fitted(rows, kept, fit_intercept=False)
    )
    for given, settings in ((sp.csr_array(rows), {}), (rows, {"fit_intercept": False})):
        centred = Bounds(features=(0, 2), label=(-1, 1), centred=True)
        with pytest.raises(Incompatible, match="centred"):
            fitted(given, centred, **settings)


def test_the_plan_does_not_depend_on_whether_ranges_are_centred():
    plans = [
        PrivateRidge(bounds=Bounds(features=RANGES, label=(-1, 1), centred=centred)).plan(3, 1500)
        for centred in (None, True, False)
    ]
    assert plans[0].facts() == plans[1].facts() == plans[2].facts()


@pytest.mark.parametrize("norm", [None, 0.8])
def test_a_model_predicts_alike_for_dense_and_sparse_rows_and_after_it_was_stored(norm, tmp_path):
    bounds = Bounds(features=[(0, 50), (-10, 30), (0, 1)], classes=(0, 1), row_norm=norm)
    rows = np.abs(SCALED) * [50.0, 30.0, 1.0]
    for fitted_on in (rows, sp.csr_array(rows)):
        model = PrivateLogisticRegression(bounds=bounds, random_state=0)
        model.fit(fitted_on, (Y > 0.1).astype(int)).save(tmp_path / "model.json")
        expected = model.decision_function(rows)
        np.testing.assert_allclose(model.decision_function(sp.csr_array(rows)), expected)
        np.testing.assert_array_equal(
            load(tmp_path / "model.json").decision_function(rows), expected
        )


@pytest.mark.parametrize("first", [X[:700], sp.csr_array(X[:700])], ids=["dense", "sparse"])
def test_a_stream_takes_dense_and_sparse_rows_alike(first):
    bounds = Bounds(features=[(0, 50), (-10, 30), (0, 104)], label=(-1, 1))

    def weights(second):
        model = PrivateStreamRegressor(epsilon=8.0, bounds=bounds, random_state=0)
        return model.partial_fit(first, Y[:700]).partial_fit(second, Y[700:]).coef_

    np.testing.assert_allclose(weights(X[700:]), weights(sp.csr_array(X[700:])), rtol=1e-9)


@pytest.mark.parametrize("limits", [(0, 1e300), (-1.7e308, 1.7e308), (0, 1e-300), (0, 5e-324)])
@pytest.mark.parametrize(
    "kind", [PrivateGeometricMedian, PrivateMedian, PrivateQuantile, PrivateRidge]
)
def test_ranges_beyond_what_can_be_squared_are_refused(kind, limits):
    with pytest.raises(InvalidParameter, match="Choose other units"):
        kind(bounds={"features": limits}).fit(X, Y)
    with pytest.raises(InvalidParameter, match="Choose other units"):
        PrivateRidge(bounds={"row_norm": 1.0, "label": limits}).fit(X, Y)


@pytest.mark.parametrize("limits", [(0, 1e50), (-1e50, 1e50), (0, 1e-50)])
def test_the_widest_and_narrowest_ranges_give_numbers(limits):
    bounds = Bounds(features=limits, label=limits)
    for kind in (PrivateGeometricMedian, PrivateMedian, PrivateRidge):
        model = kind(bounds=bounds, random_state=0).fit(X, Y)
        held = model.quantiles_ if kind is PrivateMedian else model.coef_
        assert np.isfinite(held).all()


def test_planning_for_many_classes_takes_no_more_work_than_for_few(monkeypatch):
    priced = []
    curve = Curve.delta
    monkeypatch.setattr(Curve, "delta", lambda self, e: priced.append(1) or curve(self, e))

    def work(classes: int) -> int:
        priced.clear()
        model = PrivateLinearSVC(bounds=Bounds(row_norm=1.0, classes=tuple(range(classes))))
        assert model.plan(10, 100_000).guarantee.epsilon == 1.0
        return len(priced)

    assert work(16_000) < 3 * work(16)
