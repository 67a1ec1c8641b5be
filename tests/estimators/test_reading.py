"""What a refused data set may be told: nothing it holds, not even how many rows."""

from __future__ import annotations

import datetime
import traceback
import warnings
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import discreet
from discreet import AccuracyFirst, Bounds, PrivateGeometricMedian, PrivateRidge
from discreet.errors import InvalidData, TooFewRows
from discreet.estimators.shared.base import PrivateEstimator
from discreet.estimators.shared.persistence import LOADABLE
from discreet.estimators.shared.reading import check_labels, read_rows, read_weights

ROWS = 37
SECRETS = ("Ada Lovelace", "271828", "2.71828", "36", str(ROWS))
RNG = np.random.default_rng(3)
X = RNG.normal(size=(ROWS, 2))
Y = np.arange(ROWS) % 2


def estimators() -> list[Any]:
    public: list[Any] = [kind for name, kind in LOADABLE.items() if name in discreet.__all__]
    assert len(public) > 10
    bounds = Bounds(features=(-1, 1), label=(-1, 1), classes=(0, 1))
    made = [kind(bounds=bounds, random_state=0) for kind in public]
    made.append(PrivateGeometricMedian(bounds=Bounds(row_norm=0.01), random_state=0))
    ridge = PrivateRidge(bounds=bounds)
    return [*made, AccuracyFirst(ridge, max_error=0.4, max_epsilon=500.0, random_state=0)]


def spoilt(value: Any, dtype: Any = object) -> Any:
    rows = X.astype(dtype)
    rows[3, 1] = value
    return rows


def refusal(model: Any, rows: Any, labels: Any) -> str:
    """Return what a traceback of the refusal would say, without the lines of code."""
    try:
        model.fit(rows, labels)
    except (ValueError, TypeError) as error:
        report = traceback.TracebackException.from_exception(error, limit=0)
        return "".join(report.format(chain=True))
    return ""


BAD: dict[str, tuple[Any, Any]] = {
    "text": (spoilt("Ada Lovelace"), Y),
    "text in a frame": (pd.DataFrame({"a": X[:, 0], "b": spoilt("Ada Lovelace")[:, 1]}), Y),
    "complex": (spoilt(271828j, np.complex128), Y),
    "one dimension": (np.where(Y == 0, 271828.0, X[:, 0]), Y),
    "ragged": ([[1.0, 271828.0], *[[1.0]] * (ROWS - 1)], Y),
    "a whole number beyond float64": (spoilt(271828 * 10**400), Y),
    "a label beyond float64": (X, [271828 * 10**400, *Y[1:]]),
    "a series": (pd.Series(np.where(Y == 0, 271828.0, X[:, 0])), Y),
    "one label less": (X, Y[:-1]),
    "labels in two columns": (X, np.column_stack([Y, Y])),
    "text as a label": (X, np.where(Y == 0, "Ada Lovelace", "1").astype(object)),
    "a strange label": (X, np.where(np.arange(ROWS) == 5, 271828, Y)),
    "a missing label": (X, [None, *Y[1:]]),
    "labels of two types": (X, np.array(["Ada Lovelace", *Y[1:]], dtype=object)),
    "days": (np.datetime64("2000-01-01") + np.arange(2 * ROWS).reshape(ROWS, 2), Y),
    "a mapping": ({"a": X[:, 0], "Ada Lovelace": X[:, 1]}, Y),
    "bytes as labels": (X, np.where(Y == 0, b"Ada Lovelace", b"271828")),
    "three dimensions": (np.full((ROWS, 2, 2), 271828.0), Y),
}


@pytest.mark.parametrize("model", estimators(), ids=lambda model: type(model).__name__)
@pytest.mark.parametrize("case", BAD)
def test_no_message_tells_about_the_rows(model: PrivateEstimator, case: str) -> None:
    rows, labels = BAD[case]
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        said = refusal(model, rows, labels)
    said += "".join(str(warning.message) for warning in seen)
    assert not [secret for secret in SECRETS if secret in said]


@pytest.mark.parametrize("model", estimators(), ids=lambda model: type(model).__name__)
def test_no_warning_tells_about_the_rows(model: PrivateEstimator) -> None:
    """One row that overflows sums must not be seen, nor that there are few rows."""
    huge = X.copy()
    huge[3] = 1e308
    huge[4] = -1e308
    told = []
    for rows, labels in ((X, Y), (huge, Y), (X[:2], Y[:2])):
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            # Their number is public here; test_plan.py has the neighbours for which it is not.
            warnings.simplefilter("ignore", TooFewRows)
            model.fit(rows, labels)
        told.append([str(warning.message) for warning in seen])
    assert told[0] == told[1] == told[2]


def test_scikit_learn_would_tell() -> None:
    """The messages kept back are real: this check has something to find."""
    from sklearn.linear_model import Ridge

    with pytest.raises(ValueError, match="Ada Lovelace"):
        Ridge().fit(*BAD["text"])
    with pytest.raises(ValueError, match=r"2\.71828"):
        Ridge().fit(*BAD["one dimension"])
    with pytest.raises(ValueError, match="36"):
        Ridge().fit(*BAD["one label less"])


def test_rows_are_not_counted_where_there_is_no_column() -> None:
    with pytest.raises(InvalidData, match="0 feature") as caught:
        read_rows(PrivateRidge(), np.empty((8317, 0)))
    assert "8317" not in str(caught.value)
    assert str(caught.value).startswith("X has no columns. Pass at least one. ")


class Table:
    """What numpy and this library see of a pyarrow table."""

    def __init__(self, *columns: Any) -> None:
        self.columns = [np.asarray(column) for column in columns]

    def __len__(self) -> int:
        return len(self.columns[0])

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return np.stack([np.asarray(column, dtype=dtype) for column in self.columns], axis=1)


DAYS = pd.Series(pd.date_range("2000-01-01", periods=ROWS))
DAY = datetime.date(2000, 1, 1)
TEXT = pd.DataFrame({"a": X[:, 0], "b": "Ada", "c": "Lovelace", "d": Y == 0})
NUMERALS = X.astype(str)
PERIODS = pd.Series(pd.period_range("2000", periods=ROWS))
INTERVALS = pd.Series(pd.interval_range(0, ROWS))


class DaskFrame:
    """Answers as a Dask frame does: for names of columns, and with text for unknown sizes."""

    columns = ("age", "size")

    def __init__(self, rows: Any) -> None:
        self.rows = rows

    def __dask_graph__(self) -> Any:
        return {"rows": self.rows}

    def items(self) -> Any:
        return [(name, self) for name in self.columns]

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return np.asarray(self.rows)


class SparkFrame:
    columns = ("age", "size")

    def toPandas(self) -> Any:
        raise AssertionError("rows are read")


class Relation:
    columns = ("age", "size")

    def fetchdf(self) -> Any:
        raise AssertionError("rows are read")


ADVICE: dict[str, tuple[Any, Any, str]] = {
    "NaN": (spoilt(np.nan, float), Y, "^X has a missing or non-finite value .* fixed rule"),
    "infinity": (spoilt(np.inf, float), Y, "^X has a missing or non-finite value"),
    "label": (X, np.where(Y == 0, np.nan, 1.0), "^y has a missing or non-finite value"),
    "no rows": (X[:0], Y[:0], "^X has no rows"),
    "a series": (pd.Series(X[:, 0]), Y, "^Expected 2D array.*to_frame"),
    "beyond float64": (spoilt(10**400), Y, "real numbers only"),
    "a missing label": (X, [None, *Y[1:]], "^y has a missing or non-finite value"),
    "days": (pd.DataFrame({"a": DAYS, "b": Y}), Y, "^X holds dates or durations.*fixed rule"),
    "nothing but days": (pd.DataFrame({"a": DAYS}), Y, "^X holds dates or durations"),
    "days in polars": (pl.DataFrame({"a": list(DAYS)}), Y, "^X holds dates or durations"),
    "days as labels": (X, DAYS, "^y holds dates or durations"),
    "days in a table": (Table(X[:, 0], DAYS), Y, "^X holds dates or durations"),
    "days in lists": ([[np.datetime64(DAY)]] * ROWS, Y, "^X holds dates or durations"),
    "days among numbers": ([[1.0, DAY]] * ROWS, Y, "^X holds dates or durations"),
    "a day": (spoilt(DAY), Y, "^X holds dates or durations"),
    "a time stamp": (spoilt(DAYS[0]), Y, "^X holds dates or durations"),
    "a time of day": (spoilt(datetime.time(12)), Y, "^X holds dates or durations"),
    "a duration": (spoilt(pd.Timedelta(days=1)), Y, "^X holds dates or durations"),
    "periods": (PERIODS.to_frame(), Y, "^X holds dates or durations"),
    "days as labels in a list": (X, [DAY] * ROWS, "^y holds dates or durations"),
    "periods as labels": (X, PERIODS, "^y holds dates or durations"),
    "intervals": (INTERVALS.to_frame(), Y, "must be a real number.*data frame of numbers"),
    "a mapping": ({"a": X[:, 0]}, Y, "must be a real number.*data frame of numbers"),
    "mappings": ([{"a": 1.0}] * ROWS, Y, "must be a real number.*data frame of numbers"),
    "text": (TEXT, Y, r"^X .* holds text; X\.dtypes .*encode other text by a fixed rule"),
    "numerals": (NUMERALS, Y, r"^X .* holds text; .*numbers with X\.astype"),
    "numerals as bytes": (X.astype("S"), Y, "^X .* holds text"),
    "numerals as objects": (NUMERALS.astype(object), Y, "^X .* holds text"),
    "a numeral": (spoilt("1.5"), Y, "^X .* holds text"),
    "numerals in a frame": (pd.DataFrame(NUMERALS, dtype="string"), Y, "^X .* holds text"),
    "numerals as categories": (pd.DataFrame(NUMERALS, dtype="category"), Y, "^X .* holds text"),
    "numerals in polars": (pl.DataFrame(NUMERALS), Y, "^X .* holds text"),
    "numerals in a table": (Table(X[:, 0], NUMERALS[:, 1]), Y, "^X .* holds text"),
    "numerals in lists": (NUMERALS.tolist(), Y, "^X .* holds text"),
    "numerals as labels": (X, NUMERALS[:, 0].astype(object), "^y .* holds text"),
    "three dimensions": (np.zeros((ROWS, 2, 2)), Y, "^Expected 2D array"),
    "text as labels": (X, ["Ada"] * ROWS, "^y must hold real numbers only, and it holds text"),
    "text as labels in polars": (X, pl.Series(["Ada"] * ROWS), "^y must hold real numbers only"),
    "numbers and text as labels": (X, [1.0, *["Ada"] * (ROWS - 1)], "labels differ in type"),
    "a mask": (np.ma.masked_array(X), Y, r"^X is a masked array.*X\.filled"),
    "masked labels": (X, np.ma.masked_array(Y), r"^y is a masked array.*y\.filled"),
    "a lazy frame": (pl.LazyFrame(X), Y, r"^X is a LazyFrame.*X\.collect\(\)"),
    "a Dask frame": (DaskFrame(X), Y, r"^X is a Dask collection.*Pass X\.compute\(\)"),
    "labels in Dask": (X, DaskFrame(Y), r"^y is a Dask collection.*Pass y\.compute\(\)"),
    "a Spark frame": (SparkFrame(), Y, r"^X is a Spark data frame.*Pass X\.toPandas\(\)"),
    "a DuckDB relation": (Relation(), Y, r"^X is a DuckDB relation.*Pass X\.df\(\)"),
    "a matrix": (X.view(np.matrix), Y, r"^X is an np\.matrix.*np\.asarray\(X\)"),
    "a matrix of labels": (X, Y.reshape(-1, 1).view(np.matrix), r"np\.asarray\(y\)"),
    "text in polars": (pl.DataFrame(TEXT.to_dict("list")), Y, r"^X .* holds text; X\.dtypes"),
    "sparse without zeros": (
        pd.DataFrame(X).astype(pd.SparseDtype(float)),
        Y,
        "fill value 0",
    ),
}


@pytest.mark.parametrize("case", ADVICE)
def test_refusals_give_advice_of_this_library(case: str) -> None:
    rows, labels, advice = ADVICE[case]
    with pytest.raises(InvalidData, match=advice) as caught:
        PrivateRidge(bounds=Bounds(features=(-1, 1), label=(-1, 1))).fit(rows, labels)
    assert "imputer" not in str(caught.value)
    assert "shape=" not in str(caught.value)


NUMBERS: dict[str, Any] = {
    "objects": X.astype(object),
    "lists": X.tolist(),
    "a list of rows": list(X),
    "a frame": pd.DataFrame(X),
    "a frame of objects": pd.DataFrame(X).astype(object),
    "a frame of nullable numbers": pd.DataFrame(X).astype("Float64"),
    "polars": pl.DataFrame(X),
    "a table": Table(*X.T),
}


@pytest.mark.parametrize("case", NUMBERS)
def test_numbers_are_read_however_they_are_held(case: str) -> None:
    np.testing.assert_array_equal(read_rows(PrivateRidge(), NUMBERS[case], dtype=np.float64), X)


def test_a_cell_of_text_does_not_tell_its_column() -> None:
    said = set()
    for column in ("a", "b"):
        rows = pd.DataFrame({"a": X[:, 0], "b": X[:, 1]}).astype({column: object})
        rows.loc[3, column] = "Ada"
        with pytest.raises(InvalidData) as caught:
            read_rows(PrivateRidge(), rows, Y)
        said.add(str(caught.value))
    assert len(said) == 1


@pytest.mark.parametrize("cell", [{}, DAYS[0], pd.NA])
def test_a_cell_that_is_no_number_does_not_tell_its_type(cell: Any) -> None:
    rows = X.astype(object)
    rows[3, 0] = cell
    with pytest.raises(InvalidData) as caught:
        read_rows(PrivateRidge(), rows, Y)
    assert not any(word in str(caught.value) for word in ("dict", "Timestamp", "NAType"))
    assert "a missing value" in str(caught.value) or cell is not pd.NA


UNLIKE: dict[str, Any] = {
    "None": ["no", None],
    "NaN": pd.Series(["no", "yes"]).where([True, False]),
    "two types": np.array(["no", 7], dtype=object),
    "NaN in a list": ["no", float("nan")],
    "two types in a list": ["no", 7],
    "null in polars": pl.Series(["no", None]),
}


@pytest.mark.parametrize("case", UNLIKE)
def test_classes_that_are_missing_or_mixed_are_told_apart_from_wrong_ones(case: str) -> None:
    model = discreet.PrivateLinearSVC(bounds=Bounds(features=(-1, 1), classes=("no", "yes")))
    with pytest.raises(InvalidData, match="label of y is missing"):
        model.fit(X[:2], UNLIKE[case])


def test_a_missing_text_label_is_no_matter_of_numbers() -> None:
    model = discreet.PrivateLinearSVC(bounds=Bounds(features=(-1, 1), classes=("no", "yes")))
    with pytest.raises(InvalidData, match="missing"):
        model.fit(X[:2], pd.Series(["no", None], dtype="string"))


def test_columns_named_by_text_and_numbers_are_told_so() -> None:
    with pytest.raises(TypeError, match="all input features have string names"):
        PrivateRidge(bounds=Bounds(features=(-1, 1))).fit(pd.DataFrame(X, columns=["a", 1]), Y)


def test_columns_of_one_name_are_told_so() -> None:
    from sklearn.linear_model import Ridge

    twice = pd.DataFrame(X, columns=["a", "a"])
    try:
        Ridge().fit(twice, Y)
    except ValueError:
        with pytest.raises(InvalidData, match="several columns of one name"):
            PrivateRidge(bounds=Bounds(features=(-1, 1))).fit(twice, Y)
    else:
        pytest.skip("this scikit-learn takes them")


def test_a_median_of_a_series_is_told_about_columns() -> None:
    with pytest.raises(InvalidData, match="Expected 2D array"):
        discreet.PrivateMedian(bounds=Bounds(features=(-1, 1))).fit(pd.Series(X[:, 0]))


@pytest.mark.parametrize("labels", [DAYS, [DAY] * ROWS, PERIODS], ids=["stamps", "days", "periods"])
def test_days_are_no_classes(labels: Any) -> None:
    with pytest.raises(InvalidData, match=r"^y holds dates or durations"):
        discreet.PrivateLinearSVC(bounds=Bounds(features=(-1, 1))).fit(X, labels)


@pytest.mark.parametrize("kind", ["S", object, list])
def test_bytes_are_no_classes(kind: Any) -> None:
    labels = np.array([b"no", b"yes"], dtype="S")[Y]
    given = list(labels) if kind is list else labels.astype(kind)
    with pytest.raises(InvalidData, match=r"^y holds bytes.*Decode"):
        discreet.PrivateLinearSVC(bounds=Bounds(features=(-1, 1))).fit(X, given)


@pytest.mark.parametrize("kind", [str, int])
def test_classes_that_look_like_names_or_numbers_must_be_declared(kind: Any) -> None:
    rows, labels = np.zeros((102, 1)), np.repeat(np.arange(51), 2).astype(kind)
    bounds = Bounds(features=(-1, 1))
    with pytest.raises(InvalidData, match=r"more than 50 different labels.*Bounds\(classes="):
        discreet.PrivateLogisticRegression(bounds=bounds).fit(rows, labels)
    with pytest.warns(discreet.UndeclaredBounds, match="classes"):
        discreet.PrivateLogisticRegression(bounds=bounds).fit(rows[:100], labels[:100])
    declared = Bounds(features=(-1, 1), classes=tuple(np.unique(labels).tolist()))
    assert len(discreet.PrivateLogisticRegression(bounds=declared).fit(rows, labels).classes_) == 51


SCORED: dict[str, Any] = {
    "text": np.where(Y == 0, "Ada Lovelace", "1"),
    "text as objects": np.where(Y == 0, "Ada Lovelace", "1").astype(object),
    "two types": np.array(["Ada Lovelace", *Y[1:]], dtype=object),
    "bytes": np.where(Y == 0, b"Ada Lovelace", b"1"),
    "days": DAYS,
    "one label less": Y[:-1],
    "two columns": np.column_stack([Y, Y]),
    "a missing label": np.where(Y == 0, np.nan, 271828.0),
}


@pytest.mark.parametrize(
    "model",
    [model for model in estimators() if hasattr(model, "score")],
    ids=lambda model: type(model).__name__,
)
@pytest.mark.parametrize("case", SCORED)
def test_no_score_tells_about_the_rows(model: Any, case: str) -> None:
    model.fit(X, Y)
    with pytest.raises(InvalidData) as caught:
        model.score(X, SCORED[case])
    report = traceback.TracebackException.from_exception(caught.value, limit=0)
    said = "".join(report.format(chain=True))
    assert not [secret for secret in SECRETS if secret in said]


@pytest.mark.parametrize("kind", [PrivateRidge, discreet.PrivateLinearSVC])
@pytest.mark.parametrize(
    "weights", [np.ones(ROWS - 1), ["Ada Lovelace"] * ROWS, np.full(ROWS, np.nan), 1.0]
)
def test_weights_of_a_score_are_read_here_too(kind: Any, weights: Any) -> None:
    model = kind(bounds=Bounds(features=(-1, 1), label=(-1, 1), classes=(0, 1))).fit(X, Y)
    with pytest.raises(InvalidData, match=r"^sample_weight must be"):
        model.score(X, Y, sample_weight=weights)


def test_labels_of_another_type_cannot_be_scored() -> None:
    model = discreet.PrivateLinearSVC(bounds=Bounds(features=(-1, 1), classes=("no", "yes")))
    model.fit(X, np.where(Y == 0, "no", "yes"))
    with pytest.raises(InvalidData, match=r"^y holds labels of another type"):
        model.score(X, Y)


def test_scores_are_those_of_scikit_learn() -> None:
    from sklearn.metrics import accuracy_score, r2_score

    frame, weights = pd.DataFrame(X, columns=["a", "b"]), np.arange(ROWS)
    bounds = Bounds(features=(-1, 1), label=(-1, 1), classes=(0, 1))
    for kind, score in ((PrivateRidge, r2_score), (discreet.PrivateLinearSVC, accuracy_score)):
        model = kind(bounds=bounds).fit(frame, Y)
        found = model.predict(frame)
        assert model.score(frame, list(Y)) == score(Y, found)
        assert model.score(frame, Y, weights) == score(Y, found, sample_weight=weights)
    assert model.score(frame, Y + 5) == 0.0  # labels never seen are wrong, not refused


def test_what_predicts_nothing_has_no_score() -> None:
    assert not hasattr(PrivateGeometricMedian(), "score")


def test_many_classes_of_few_rows_are_not_warned_of() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_labels(np.arange(25))


def test_weights_of_another_length_do_not_count_the_rows() -> None:
    with pytest.raises(InvalidData) as caught:
        read_weights([1.0], 12345)
    assert "12345" not in str(caught.value)


def test_no_cause_of_a_refusal_tells_the_type_of_a_cell() -> None:
    class Patient:
        pass

    with pytest.raises(InvalidData) as caught:
        read_rows(PrivateRidge(), spoilt(Patient()), Y, dtype=np.float64)
    report = traceback.TracebackException.from_exception(caught.value, limit=0)
    assert "Patient" not in "".join(report.format(chain=True))


@pytest.mark.parametrize("said", [RuntimeError("Ada Lovelace"), ValueError("This is Ada Lovelace")])
def test_what_a_cell_says_when_it_is_read_is_not_passed_on(said: Exception) -> None:
    class Talkative:
        def __float__(self) -> float:
            raise said

    with pytest.raises(InvalidData) as caught:
        PrivateRidge(bounds=Bounds(row_norm=1.0, label=(-1, 1))).fit(spoilt(Talkative()), Y)
    assert "Lovelace" not in str(caught.value)


def test_too_little_memory_does_not_count_the_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*rows: Any, **options: Any) -> Any:
        raise MemoryError(f"Unable to allocate an array with shape ({ROWS}, 2)")

    monkeypatch.setattr("discreet.estimators.shared.reading.validate_data", full)
    with pytest.raises(MemoryError) as caught:
        read_rows(PrivateRidge(), X, Y)
    assert str(ROWS) not in str(caught.value)
