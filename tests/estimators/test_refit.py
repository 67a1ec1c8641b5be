"""A refused fit leaves no model, never parts of two, and no fit warns of its rows."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

import discreet
from discreet import (
    AccuracyFirst,
    Bounds,
    PrivateLogisticRegression,
    PrivateRidge,
    PrivateSearch,
    PrivateStreamClassifier,
    PrivateStreamRegressor,
)
from discreet.errors import DiscreetError, InvalidParameter, Uncounted
from discreet.estimators.shared import charging

BOUNDS = Bounds(features=(-1, 1), label=(-1, 1), classes=(0, 1, 2))
RNG = np.random.default_rng(3)
X = RNG.uniform(-1, 1, size=(60, 2))
Y = np.arange(60) % 2
EVERY = [
    kind
    for name in discreet.__all__
    if inspect.isclass(kind := getattr(discreet, name))
    and hasattr(kind, "get_params")
    and name not in ("PrivateBounds", "PrivateCategories")  # they learn what others are told
]


def made(kind: type) -> Any:
    if kind is AccuracyFirst:
        return AccuracyFirst(PrivateRidge(bounds=BOUNDS), max_error=0.4, max_epsilon=500.0)
    if kind is PrivateSearch:
        return PrivateSearch(PrivateRidge(bounds=BOUNDS), {"alpha": [1.0, 9.0]}, verbose=False)
    return kind(bounds=Bounds(features=(-1, 1), label=(-1, 1), classes=(0, 1)))


def spoil(model: Any) -> None:
    if isinstance(model, AccuracyFirst):
        model.set_params(max_epsilon=-1.0)
    elif isinstance(model, PrivateSearch):
        model.set_params(epsilon=-1.0)
    else:
        model.set_params(epsilon=-1.0, bounds=BOUNDS)


def left(model: Any) -> set[str]:
    return {name for name in vars(model) if name.endswith("_")}


@pytest.mark.parametrize("kind", EVERY, ids=lambda kind: kind.__name__)
def test_a_refused_refit_leaves_no_mixture(kind: type) -> None:
    model = made(kind).fit(X, Y)
    check_is_fitted(model)
    spoil(model)
    with pytest.raises(DiscreetError):
        model.fit(pd.DataFrame(RNG.uniform(size=(60, 3)), columns=list("abc")), np.arange(60) % 3)
    with pytest.raises(NotFittedError):
        check_is_fitted(model)
    assert not left(model)
    if hasattr(model, "predict"):
        with pytest.raises(NotFittedError):
            model.predict(X)


@pytest.mark.parametrize("kind", EVERY, ids=lambda kind: kind.__name__)
def test_weights_of_rows_are_refused_in_words(kind: type) -> None:
    with pytest.raises(InvalidParameter, match=f"{kind.__name__} takes no sample_weight: every"):
        made(kind).fit(X, Y, sample_weight=np.ones(60))
    assert not has_fit_parameter(made(kind), "sample_weight")


@pytest.mark.parametrize("kind", EVERY, ids=lambda kind: kind.__name__)
def test_a_refit_leaves_nothing_of_the_earlier_model(kind: type) -> None:
    model = made(kind).fit(pd.DataFrame(X, columns=["a", "b"]), Y)
    assert list(model.feature_names_in_) == ["a", "b"]
    fresh = made(kind).fit(X, Y)
    assert left(model.fit(X, Y)) == left(fresh)


def said(call: Callable[[], Any]) -> int:
    """Return how often a call warns that fits add up."""
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        call()
    return sum(w.category is Uncounted for w in seen)


@pytest.mark.parametrize("kind", EVERY, ids=lambda kind: kind.__name__)
def test_a_second_fit_and_model_selection_warn_once(
    kind: type, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(charging, "_said", set())
    model = made(kind)
    assert [said(lambda: model.fit(X, Y)) for _ in range(3)] == [0, 1, 0]
    named = "max_epsilon" if kind is AccuracyFirst else "epsilon"
    grid = {named: [400.0, 500.0]}
    search = GridSearchCV(made(kind), grid, cv=2, scoring=lambda *rows: 0.0)
    assert [said(lambda: search.fit(X, Y)) for _ in range(2)] == [1, 0]
    monkeypatch.setattr(charging, "_said", set())
    folds = {"cv": 2, "scoring": lambda *rows: 0.0}
    assert [said(lambda: cross_val_score(made(kind), X, Y, **folds)) for _ in range(2)] == [1, 0]


def test_a_refused_start_of_a_stream_can_be_repeated(tmp_path: Path) -> None:
    bounds = Bounds(features=(-1, 1), classes=(0, 1))
    model = PrivateStreamClassifier(bounds=bounds, state_path=tmp_path / "state").fit(X, Y)
    with pytest.raises(DiscreetError, match="state_path"):
        model.fit(X[:, :1], Y)
    with pytest.raises(NotFittedError):
        model.begin_pass()
    model.set_params(state_path=None).partial_fit(X[:, :1], Y)
    assert model.rows_seen_ == 60
    assert model.coef_.shape == (1, 1)


@pytest.mark.parametrize("kind", EVERY, ids=lambda kind: kind.__name__)
def test_no_warning_of_numpy_tells_what_rows_are_like(kind: type) -> None:
    tiny = X.copy()
    tiny[0] = 1e-320, -1e-160
    with np.errstate(all="raise"):
        made(kind).set_params(random_state=0).fit(tiny, Y)


def test_numpy_is_silent_where_one_row_alone_bends_the_density() -> None:
    lonely = np.column_stack([X[:, 0], np.zeros(60)])
    model = PrivateLogisticRegression(
        epsilon=2.0, delta=0.0, bounds=Bounds(features=(-1, 1), classes=(0, 1)),
        fit_intercept=False, algorithm="exponential-sampling", random_state=1,
    )  # fmt: skip
    for cell in (0.0, 1e-160, 1e-320):
        lonely[0, 1] = cell
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            model.fit(lonely, Y)


def test_numpy_is_silent_when_a_stream_goes_on() -> None:
    bounds = Bounds(features=(-1, 1), label=(-1, 1))
    with np.errstate(all="raise"):
        model = PrivateStreamRegressor(bounds=bounds, n_rows=200, random_state=0)
        for _ in range(2):
            model.partial_fit(np.column_stack([X[:, 0], np.full(60, 1e-320)]), X[:, 0])
