"""A plan says of a fit what the fit will do, by public facts alone."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

from discreet import (
    AccuracyFirst,
    Bounds,
    PrivateElasticNet,
    PrivateGeometricMedian,
    PrivateHuberRegressor,
    PrivateLasso,
    PrivateLinearSVC,
    PrivateLogisticRegression,
    PrivateQuantileRegressor,
    PrivateRidge,
    PrivateSGDClassifier,
    PrivateSGDRegressor,
    PrivateSparseLogisticRegression,
    PrivateSparseRegression,
    PrivateStreamClassifier,
    PrivateStreamRegressor,
    TooFewRows,
    UndeclaredBounds,
)
from discreet.errors import InvalidParameter
from discreet.estimators.shared.claims import LABELS_PUBLIC, SCHEMA_PUBLIC

BOUNDS = Bounds(features=(-1, 1), label=(-1, 1), classes=(0, 1))
N = 300
X = np.random.default_rng(0).uniform(-1, 1, size=(N, 2))
Y = (X[:, 0] > 0).astype(int)

STREAMS = [PrivateStreamClassifier, PrivateStreamRegressor]
SPARSE = [PrivateLasso, PrivateSparseLogisticRegression, PrivateSparseRegression]
DENSE = [
    PrivateElasticNet,
    PrivateGeometricMedian,
    PrivateHuberRegressor,
    PrivateLinearSVC,
    PrivateLogisticRegression,
    PrivateQuantileRegressor,
    PrivateRidge,
    PrivateSGDClassifier,
    PrivateSGDRegressor,
]


@pytest.mark.parametrize("kind", DENSE + SPARSE + STREAMS)
@pytest.mark.parametrize("neighbours", ["zero-out", "add-remove"])
def test_a_plan_promises_what_the_fit_does(kind: type, neighbours: str) -> None:
    if kind in STREAMS and neighbours == "add-remove":
        pytest.skip("streams have no such neighbours")
    model: Any = kind(bounds=BOUNDS, neighbours=neighbours, n_rows=N)
    guarantee = model.plan(2, N).guarantee
    assert SCHEMA_PUBLIC in guarantee.assumptions
    assert guarantee == model.fit(X, Y).guarantee_
    seeded = model.set_params(random_state=0).fit(X, Y).guarantee_
    assert replace(seeded, secure=True) == guarantee


@pytest.mark.parametrize("method", ["one-shot", "certificate", "noise-reduction", "doubling"])
def test_accuracy_first_says_what_it_assumes(method: str) -> None:
    ridge = PrivateRidge(bounds=BOUNDS, delta=0.0)
    model = AccuracyFirst(ridge, max_error=0.3, max_epsilon=50.0, method=method, random_state=0)
    assumed = model.fit(X, Y).guarantee_.assumptions
    assert assumed.count(SCHEMA_PUBLIC) == 1
    assert LABELS_PUBLIC not in assumed


@pytest.mark.parametrize("kind", [PrivateLogisticRegression, PrivateLinearSVC])
def test_a_plan_warns_that_it_is_for_two_classes_where_none_are_declared(kind: type) -> None:
    model: Any = kind(bounds=Bounds(row_norm=1.0))
    with pytest.warns(UndeclaredBounds, match="classes, so two are planned for") as caught:
        plan = model.plan(2, N)
    assert {w.filename for w in caught} == {__file__}
    assert LABELS_PUBLIC in plan.guarantee.assumptions
    with pytest.warns(UndeclaredBounds, match="classes"):
        assert model.fit(X, Y).guarantee_ == plan.guarantee


def test_accuracy_first_warns_that_it_plans_for_two_classes() -> None:
    model = AccuracyFirst(PrivateLogisticRegression(bounds=Bounds(row_norm=1.0)), max_epsilon=99.0)
    with pytest.warns(UndeclaredBounds, match="AccuracyFirst: .* two are planned for"):
        model.plan(2, N)


# The size where it is secret.


@pytest.mark.parametrize("kind", DENSE + SPARSE)
def test_rows_of_a_plan_are_a_declared_size(kind: type) -> None:
    model: Any = kind(bounds=BOUNDS, neighbours="add-remove")
    declared = kind(bounds=BOUNDS, neighbours="add-remove", n_rows=N)
    assert model.plan(2, N).facts() == declared.plan(2, N).facts() == declared.plan(2).facts()
    assert model.plan(2, N).problem.n_rows == N
    assert model.n_rows is None  # a fit still counts on nothing
    with pytest.raises(InvalidParameter, match="n_rows of the plan differs"):
        declared.plan(2, N + 1)


def test_rows_of_an_accuracy_first_plan_are_a_declared_size() -> None:
    inner = PrivateRidge(bounds=BOUNDS, neighbours="add-remove")
    declared = PrivateRidge(bounds=BOUNDS, neighbours="add-remove", n_rows=N)
    plans = [
        AccuracyFirst(m, max_error=0.3, max_epsilon=50.0).plan(2, N) for m in (inner, declared)
    ]
    assert plans[0].facts() == plans[1].facts()
    with pytest.raises(InvalidParameter, match="n_rows of the plan differs"):
        AccuracyFirst(declared).plan(2, N + 1)


def test_a_fit_never_counts_its_rows_where_their_number_is_secret() -> None:
    model = PrivateLogisticRegression(bounds=BOUNDS, neighbours="add-remove", random_state=0)
    weights = [model.set_params(n_rows=n).fit(X, Y).coef_ for n in (5000, None, 5000)]
    assert np.array_equal(weights[0], weights[2])
    assert not np.array_equal(weights[0], weights[1])


# Weights of rows.


@pytest.mark.parametrize("kind", DENSE + SPARSE + STREAMS)
def test_weights_that_no_row_can_have_are_refused(kind: type) -> None:
    model: Any = kind(bounds=replace(BOUNDS, weight=3.0))
    with pytest.raises(InvalidParameter, match=r"bounds\.weight must be 1"):
        model.plan(2, N)
    with pytest.raises(InvalidParameter, match=r"bounds\.weight must be 1"):
        model.fit(X, Y)


# Too few rows.


@pytest.mark.parametrize("kind", DENSE)
@pytest.mark.parametrize("delta", [1e-6, 0.0])
@pytest.mark.filterwarnings("default::discreet.errors.TooFewRows")
def test_too_few_rows_are_warned_of_by_public_facts(kind: type, delta: float) -> None:
    few: Any = kind(epsilon=0.01, delta=delta, bounds=BOUNDS, random_state=0)
    with pytest.warns(TooFewRows, match=f"{kind.__name__}: the rows are too few") as caught:
        few.plan(2, 5)
    assert [w.filename for w in caught] == [__file__]
    said = []
    for rows, labels in ((X[:5], Y[:5]), (0 * X[:5], 0 * Y[:5])):
        with pytest.warns(TooFewRows) as caught:
            few.fit(rows, labels)
        said.append([str(w.message) for w in caught])
    assert said[0] == said[1]
    assert len(said[0]) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        kind(bounds=BOUNDS, delta=delta).fit(X, Y)


@pytest.mark.parametrize("kind", DENSE)
@pytest.mark.filterwarnings("default::discreet.errors.TooFewRows")
def test_rows_are_too_few_as_declared_where_their_number_is_secret(kind: type) -> None:
    model: Any = kind(epsilon=0.2, bounds=BOUNDS, neighbours="add-remove", n_rows=5)
    with pytest.warns(TooFewRows):
        model.fit(X, Y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        clone(model).set_params(n_rows=N).fit(X[:2], Y[:2])


@pytest.mark.parametrize("kind", SPARSE + STREAMS)
@pytest.mark.filterwarnings("default::discreet.errors.TooFewRows")
def test_few_rows_pass_where_noise_does_not_grow_with_weights_or_more_may_come(kind: type) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        kind(epsilon=0.1, bounds=BOUNDS).plan(1000, N)
