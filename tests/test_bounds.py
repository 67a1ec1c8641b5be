"""What bounds accept, and what they say to what they do not."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from discreet import (
    AccuracyFirst,
    Bounds,
    PrivateGeometricMedian,
    PrivateLogisticRegression,
    PrivateMedian,
    PrivateRidge,
    PrivateStreamClassifier,
    load,
)
from discreet.errors import InvalidParameter

# Checks.


@pytest.mark.parametrize(
    ("classes", "match"),
    [
        (("a", 1), "all text or all numbers"),
        ("yes", "list of labels"),
        (b"yes", "list of labels"),
        (3, "list of labels"),
        ({0: "no", 1: "yes"}, "list of labels"),
        ((0, float("nan")), "missing"),
        ((0, np.nan), "missing"),
        ((None, 1), "missing"),
        (("no", pd.NA), "missing"),
        (([0], [1]), "not lists"),
        (np.array([[0, 1]]), "not lists"),
        ((0,), "two different"),
        ((0, 0), "two different"),
    ],
)
def test_classes_that_are_none(classes: Any, match: str) -> None:
    with pytest.raises(InvalidParameter, match=match):
        Bounds(classes=classes)


def test_classes_may_come_in_any_collection() -> None:
    for classes in ([0, 1], (0, 1), np.array([0, 1]), pd.Index([0, 1]), range(2)):
        assert Bounds(classes=classes).classes == (0, 1)
    assert Bounds(classes=("no", "yes")).classes == ("no", "yes")


@pytest.mark.parametrize(
    ("features", "match"),
    [
        ((), "one pair"),
        (5, "one pair"),
        ((0, 0, 1), "one pair"),
        ((0,), "one pair"),
        ("ab", "one pair"),
        ([(0, 1), 5], "one pair"),
        ({(0, 1), (1, 2)}, "one pair"),
        ([(0, 1), (0, 1, 2)], r"features\[1\]"),
        ((1, 0), "low < high"),
        ({}, "features names no column"),
        ({"age": 5}, r"features\['age'\] must be a pair"),
        ({1: (0, 1)}, "as text"),
    ],
)
def test_features_that_are_no_ranges(features: Any, match: str) -> None:
    with pytest.raises(InvalidParameter, match=match):
        Bounds(features=features)


@pytest.mark.parametrize(
    ("features", "names"),
    [(None, ["a"]), ((0, 1), ["a", "b"]), ([(0, 1)], ["a", "b"]), ([(0, 1)], "a")],
)
def test_names_need_a_range_each(features: Any, names: Any) -> None:
    with pytest.raises(InvalidParameter):
        Bounds(features=features, names=names)


@pytest.mark.parametrize("shape", [("2", 100), (2.5, 100), (0, 100), (2, "100"), (2, 0)])
def test_a_plan_says_what_shape_it_takes(shape: Any) -> None:
    bounds = Bounds(features=(0, 1), label=(0, 1))
    for model in (PrivateRidge(bounds=bounds), AccuracyFirst(PrivateRidge(bounds=bounds))):
        with pytest.raises(InvalidParameter, match="whole number"):
            model.plan(*shape)


# Ranges by name.

NAMED = Bounds(features={"age": (17, 90), "size": (40, 200)}, label=(0, 1), classes=(0, 1))
BY_PLACE = Bounds(features=[(40, 200), (17, 90)], label=(0, 1), classes=(0, 1))
RNG = np.random.default_rng(0)
COLUMNS = {"size": RNG.uniform(40, 200, 300), "age": RNG.uniform(17, 90, 300)}
Y = (COLUMNS["size"] > 120).astype(int)


@pytest.mark.parametrize(
    "model",
    [
        PrivateRidge(random_state=0),
        PrivateLogisticRegression(random_state=0),
        PrivateStreamClassifier(random_state=0),
        PrivateGeometricMedian(random_state=0),
        PrivateMedian(random_state=0),
        AccuracyFirst(PrivateRidge(), max_error=0.4, max_epsilon=500.0, random_state=0),
    ],
    ids=lambda model: type(model).__name__,
)
@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_ranges_follow_the_names_of_the_columns(model: Any, frame: Any) -> None:
    found = []
    for bounds in (NAMED, BY_PLACE):
        owner = model.estimator if isinstance(model, AccuracyFirst) else model
        owner.set_params(bounds=bounds)
        model.fit(frame(COLUMNS), Y)
        fitted = model.estimator_ if isinstance(model, AccuracyFirst) else model
        found.append(fitted.quantiles_ if isinstance(model, PrivateMedian) else fitted.coef_)
    assert np.array_equal(*found)


def test_names_that_do_not_match_are_listed() -> None:
    model = PrivateRidge(bounds=NAMED)
    with pytest.raises(InvalidParameter, match=r"range: \['height'\]. Not in X: \['size'\]"):
        model.fit(pd.DataFrame({"height": COLUMNS["size"], "age": COLUMNS["age"]}), Y)
    with pytest.raises(InvalidParameter, match=r"range: \['more'\]. Not in X: \[\]"):
        model.fit(pd.DataFrame(COLUMNS | {"more": COLUMNS["age"]}), Y)
    with pytest.raises(InvalidParameter, match="no column names"):
        model.fit(np.column_stack(list(COLUMNS.values())), Y)


def test_named_ranges_are_planned_saved_and_equal(tmp_path: Any) -> None:
    model = PrivateRidge(bounds={"features": {"age": (17, 90), "size": (40, 200)}, "label": (0, 1)})
    assert model.plan(2, 300).guarantee.epsilon == 1.0
    model.set_params(bounds=NAMED).fit(pd.DataFrame(COLUMNS), Y).save(tmp_path / "model.json")
    assert load(tmp_path / "model.json").bounds == NAMED
    assert Bounds.of(json.loads(json.dumps(NAMED.to_dict()))) == NAMED
    assert hash(NAMED) != hash(BY_PLACE)


def test_numbers_too_large_for_a_float_are_refused() -> None:
    with pytest.raises(InvalidParameter, match="row_norm must be a number that fits"):
        Bounds(row_norm=10**400)


def test_bounds_print_what_is_declared_and_can_be_read_back():
    for bounds in (
        Bounds(),
        Bounds(row_norm=2.0, weight=3.0),
        Bounds(features=(0, 1), classes=("no", "yes")),
        Bounds(features={"age": (17, 90), "size": (40, 200)}, label=(0, 10)),
    ):
        assert eval(repr(bounds)) == bounds
    assert "'age': (17.0, 90.0)" in repr(bounds)
    assert "row_norm" not in repr(bounds)
