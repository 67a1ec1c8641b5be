"""Tables as people have them: every row gets the prediction it has in a clean table, or a reason.

One model, fitted to a clean data frame with every kind of column, predicts the same cells held by
other libraries, types and orders.
"""

from __future__ import annotations

import datetime as dt
import decimal
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from discreet import (
    Boolean,
    Categories,
    Codes,
    Date,
    Duration,
    Ordinal,
    PrivateLogisticRegression,
    Range,
    Schema,
)
from discreet.errors import InvalidData

RANDOM = np.random.default_rng(11)
N = 120
DAYS = RANDOM.integers(0, 1700, N)
FRAME = pd.DataFrame(
    {
        "y": RANDOM.choice(["no", "yes"], N),
        "age": RANDOM.integers(18, 90, N),
        "code": RANDOM.choice([1, 2, 3], N),
        "zip": RANDOM.choice(["01", "02", "10", "99"], N),
        "day": pd.to_datetime("2020-01-01") + pd.to_timedelta(DAYS, unit="D"),
        "stay": pd.to_timedelta(RANDOM.integers(0, 30, N), unit="D"),
        "ok": RANDOM.choice([True, False], N),
        "grade": RANDOM.choice(["low", "mid", "high"], N),
        "icd": RANDOM.integers(1, 6, N),
        "extra": "not declared",
    }
)
SCHEMA = Schema(
    {
        "age": Range(18, 90),
        "code": Categories([1, 2, 3]),
        "zip": Categories(["01", "02", "10"], other="10"),
        "day": Date("2020-01-01", "2024-12-31"),
        "stay": Duration(0, 30),
        "ok": Boolean(),
        "grade": Ordinal(["low", "mid", "high"]),
        "icd": Codes(1, 5),
        "y": Categories(["no", "yes"]),
    },
    missing="blank",
)


def unfitted() -> PrivateLogisticRegression:
    return PrivateLogisticRegression(schema=SCHEMA, target="y", random_state=0, epsilon=5.0)


@pytest.fixture(scope="module")
def model() -> Any:
    return unfitted().fit(FRAME)


def categorical() -> pd.DataFrame:
    return FRAME.astype(dict.fromkeys(("zip", "grade", "code"), "category"))


def spoilt(cell: Any) -> pd.DataFrame:
    frame = FRAME.astype(object)
    frame.iloc[3, :] = cell
    return frame


SAME = {
    "columns in another order": FRAME[FRAME.columns[::-1]],
    "no target": FRAME.drop(columns="y"),
    "all text": FRAME.astype(str),
    "codes as text": FRAME.astype({"code": str, "icd": str}),
    "codes as floats": FRAME.astype({"code": float, "icd": np.float32}),
    "categories of pandas": categorical(),
    "types with missing values": FRAME.convert_dtypes(),
    "types of Arrow in pandas": FRAME.convert_dtypes(dtype_backend="pyarrow"),
    "sparse": FRAME.assign(age=pd.arrays.SparseArray(FRAME.age)),
    "polars": pl.from_pandas(FRAME),
    "categories of polars": pl.from_pandas(FRAME).with_columns(pl.col("zip").cast(pl.Categorical)),
    "Arrow": pa.Table.from_pandas(FRAME),
    "Arrow batch": pa.RecordBatch.from_pandas(FRAME),
    "Arrow dictionaries": pa.Table.from_pandas(categorical()),
    "lists": {name: FRAME[name].tolist() for name in FRAME},
    "masked arrays": {n: np.ma.array(FRAME[n]) if n == "age" else FRAME[n] for n in FRAME},
    "an index that repeats": FRAME.set_index(pd.Index(RANDOM.integers(0, 3, N))),
    "an unused column twice": pd.concat([FRAME, FRAME[["extra"]]], axis=1),
    "decimals": FRAME.assign(age=[decimal.Decimal(int(a)) for a in FRAME.age]),
    "dates": FRAME.assign(day=FRAME.day.dt.date),
    "dates as text": FRAME.assign(day=FRAME.day.dt.strftime("%Y-%m-%d")),
    "periods": FRAME.assign(day=FRAME.day.dt.to_period("D")),
    "moments of a zone": FRAME.assign(day=FRAME.day.dt.tz_localize("Europe/Berlin")),
    "days as numbers": FRAME.assign(stay=FRAME.stay.dt.days),
    "durations of Python": FRAME.assign(stay=[s.to_pytimedelta() for s in FRAME.stay]),
    "yes and no": FRAME.assign(ok=FRAME.ok.map({True: "yes", False: "no"})),
    "zero and one": FRAME.assign(ok=FRAME.ok.astype(int)),
}


@pytest.mark.parametrize("name", SAME)
def test_the_same_cells_get_the_same_predictions(model, name):
    assert np.array_equal(model.predict_proba(SAME[name]), model.predict_proba(FRAME))


@pytest.mark.parametrize(
    "cell",
    [
        None,
        np.nan,
        pd.NA,
        pd.NaT,
        "",
        "?",
        b"x",
        dt.date(1900, 1, 1),
        3j,
        object(),
        np.inf,
        "1e999",
    ],
    ids=lambda cell: "object" if type(cell) is object else str(cell),
)
def test_a_row_of_nothing_readable_gets_a_prediction_and_moves_no_other(model, cell):
    found = model.predict_proba(spoilt(cell))
    assert np.isfinite(found).all()
    others = np.arange(N) != 3
    assert np.array_equal(found[others], model.predict_proba(FRAME)[others])


def test_one_row_is_enough(model):
    assert np.array_equal(model.predict_proba(FRAME[7:8]), model.predict_proba(FRAME)[7:8])


@pytest.mark.parametrize(
    ("table", "said"),
    [
        (FRAME[:0], "no rows"),
        (pl.from_pandas(FRAME[:0]), "no rows"),
        (pd.concat([FRAME, FRAME[["age"]]], axis=1), "more than one column 'age'"),
        (FRAME.drop(columns="age"), "no column 'age'"),
        (FRAME.set_axis(range(10), axis=1), "no column"),
        (np.zeros((3, 8)), "no names"),
        (pl.from_pandas(FRAME).lazy(), "collect"),
        (FRAME.to_dict("records"), "DataFrame"),
        (FRAME.iloc[0].to_dict(), r"'age': \[41\]"),
        ({"age": "old"} | {n: FRAME[n] for n in FRAME if n != "age"}, "single cell"),
        ({n: FRAME[n][: 5 if n == "age" else 9] for n in FRAME}, "differ in length"),
    ],
)
def test_what_is_no_table_of_these_columns_is_refused_in_words(model, table, said):
    with pytest.raises(InvalidData, match=said):
        model.predict(table)


@pytest.mark.parametrize(
    "labels",
    [
        FRAME.y.tolist(),
        FRAME.y.astype("category"),
        FRAME[["y"]],
        pa.array(FRAME.y),
        pl.from_pandas(FRAME)["y"],
        pl.from_pandas(FRAME[["y"]]),
    ],
    ids=lambda labels: type(labels).__name__,
)
def test_labels_of_any_library_are_the_same_labels(model, labels):
    again = unfitted().fit(FRAME.drop(columns="y"), labels)
    assert (again.coef_ == model.coef_).all()


@pytest.mark.parametrize("labels", [FRAME[["y", "zip"]], FRAME.y[:5], FRAME.y[:5].tolist()])
def test_labels_of_another_shape_are_refused(labels):
    with pytest.raises(InvalidData, match=r"one column|inconsistent"):
        unfitted().fit(FRAME.drop(columns="y"), labels)
