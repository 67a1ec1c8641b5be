"""A schema: what it declares, tables of every library, and drafts without values."""

from __future__ import annotations

import tomllib
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline

from discreet import (
    Boolean,
    Bounds,
    Categories,
    Date,
    PrivateLogisticRegression,
    Range,
    Schema,
)
from discreet.errors import InvalidData, InvalidParameter

SCHEMA = Schema(
    {
        "age": Range(0, 100),
        "job": Categories(["a", "b", "c"]),
        "visit": Date("2020-01-01", "2021-01-01"),
        "ok": Boolean(),
        "rich": Categories(["no", "yes"]),
    },
    missing="blank",
)
FRAME = pd.DataFrame(
    {
        "id": [7, 8, 9],
        "ok": [True, False, True],
        "age": [20.0, np.nan, 40.0],
        "job": ["a", "zz", None],
        "visit": pd.to_datetime(["2020-01-02", None, "2020-01-04"]),
        "rich": ["yes", "no", None],
    }
)
NAN = np.nan
ENCODED = [[20, 1, 0, 0, 1, 1], [NAN, NAN, NAN, NAN, NAN, -1], [40, NAN, NAN, NAN, 3, 1]]

TABLES: dict[str, Any] = {
    "pandas": FRAME,
    "nullable pandas": FRAME.convert_dtypes(),
    "pandas of objects": FRAME.astype(object),
    "pandas of categories": FRAME.astype({"job": "category"}),
    "polars": pl.from_pandas(FRAME),
    "arrow": pa.Table.from_pandas(FRAME),
    "batch": pa.RecordBatch.from_pandas(FRAME),
    "mapping": FRAME.to_dict("list"),
}


@pytest.mark.parametrize("kind", TABLES)
def test_every_library_gives_the_same_rows_and_labels(kind: str) -> None:
    X, y = SCHEMA.encode(TABLES[kind], "rich", labelled=True)
    np.testing.assert_array_equal(X, ENCODED)
    assert list(y) == ["yes", "no", None]


def test_rows_are_no_longer_than_the_root_of_the_number_of_columns() -> None:
    assert SCHEMA.bounds_for("rich").row_norm == 2.0
    assert SCHEMA.bounds.row_norm == pytest.approx(5**0.5)
    assert SCHEMA.bounds_for("age").label == (0.0, 100.0)
    assert SCHEMA.bounds_for("ok").classes == (False, True)
    with pytest.raises(InvalidParameter, match="cannot be predicted"):
        SCHEMA.bounds_for("visit")


def test_refusals_name_columns_and_no_values() -> None:
    strict = Schema(SCHEMA.columns)
    with pytest.raises(InvalidData, match="Column 'age' has a cell") as caught:
        strict.encode(FRAME.assign(age=["987654.x", 1, 2]), "rich")
    assert "987654" not in str(caught.value)
    with pytest.raises(InvalidData, match="has no column 'job'"):
        strict.encode(FRAME.drop(columns="job"), "rich")
    with pytest.raises(InvalidData, match="more than one column 'job'"):
        strict.encode(pd.concat([FRAME, FRAME[["job"]]], axis=1), "rich")
    with pytest.raises(InvalidData, match="has no names"):
        strict.encode(np.zeros((3, 4)), "rich")
    with pytest.raises(InvalidData, match="differ in length"):
        Schema({"a": Range(0, 1), "b": Range(0, 1)}).encode({"a": [1], "b": [1, 2]})


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ({}, "declares its columns"),
        ({"columns": {"a": {"range": [0, 1], "colour": 1}}}, "has no key 'colour' beside range"),
        ({"columns": {"a": {"range": [0, 1], "codes": [1, 2]}}}, "needs one of"),
        ({"columns": {"a": {"rnge": [0, 1]}}}, "needs one of"),
        ({"colums": {}}, "Did you mean 'columns'"),
        ({"columns": {"a": {"date": "2020-01-01"}}}, "pair"),
        ({"columns": {"a": {"categories": ["b", "c"]}, "a=b": {"range": [0, 1]}}}, "one name"),
        ({"neighbours": "add-remove", "columns": {"a": {"range": [0, 1]}}}, "n_rows = "),
    ],
)
def test_schemas_that_make_no_sense_are_refused(content: dict, said: str) -> None:
    with pytest.raises(InvalidParameter, match=said):
        Schema.from_dict(content)


def test_the_encoder_learns_nothing_and_stands_in_pipelines() -> None:
    encoder = SCHEMA.encoder("rich")
    whole = encoder.fit(FRAME).transform(FRAME)
    np.testing.assert_array_equal(whole, clone(encoder).transform(FRAME))
    for k in range(3):
        np.testing.assert_array_equal(encoder.transform(FRAME[k : k + 1]), whole[k : k + 1])
    assert encoder.get_feature_names_out().tolist() == SCHEMA.names("rich")
    named = clone(encoder).set_output(transform="pandas").transform(FRAME)
    assert list(named) == SCHEMA.names("rich")
    bounds = SCHEMA.bounds_for("rich")
    many, labels = pd.concat([FRAME] * 50), ["yes", "no", "no"] * 50
    last = PrivateLogisticRegression(bounds=bounds, missing="blank", random_state=0)
    pipe = make_pipeline(encoder, last).fit(many, labels)
    direct = PrivateLogisticRegression(schema=SCHEMA, target="rich", random_state=0)
    np.testing.assert_array_equal(direct.fit(many, labels).coef_, last.coef_)
    assert pipe.predict(FRAME).tolist() == direct.predict(FRAME).tolist()


def test_blocks_are_put_together() -> None:
    frame = pd.concat([FRAME] * 4)
    blocks = [frame[:5], frame[5:6], frame[6:]]
    together, whole = SCHEMA.encode_blocks(blocks, "rich"), SCHEMA.encode(frame, "rich")
    np.testing.assert_array_equal(together.X, whole.X)
    assert list(together.y) == ["yes", "no", None] * 4


# Drafts.


def test_a_draft_is_made_of_names_types_and_a_dictionary_alone() -> None:
    words = {
        "age": {"description": "Age at\nvisit", "min": 0, "max": 99},
        "sex": {"values": {"1": "male", "2": "female"}},
        "zip": {"values": ["01", "02"]},
        "income": {"values": {"N": "none", "min": -9000, "max": 500}},
        "mood": {"ordinal": ["bad", "good"]},
    }
    types = dict.fromkeys(words, "int64") | {"seen": "datetime64[ns]", "ok": "bool", "n": "Float64"}
    text = Schema.draft(types | {"odd name": "object"}, words)
    schema = Schema.from_dict(tomllib.loads(text))
    assert schema.columns["sex"] == Categories([1, 2])
    assert schema.columns["zip"] == Categories(["01", "02"])
    assert schema.columns["income"] == Range(-9000, 500, missing="indicator")
    assert list(schema.columns) == [*words, "ok"]
    for line in ("# seen = { date", "# n = { range", '# "odd name" = { categories'):
        assert line in text
    assert "# Age at\n" in text


def test_a_draft_of_a_frame_does_not_look_at_its_values() -> None:
    text = Schema.draft(FRAME.dtypes)
    assert text == Schema.draft(FRAME.iloc[:0].dtypes)
    assert not any(word in text for word in ("zz", "2020", "20.0"))
    with pytest.raises(InvalidParameter, match="describes none of these columns"):
        Schema.draft(["age"], {"size": {}})


def test_bounds_and_schema_do_not_declare_the_same_twice() -> None:
    model = PrivateLogisticRegression(schema=SCHEMA, target="rich", bounds=Bounds(features=(0, 1)))
    with pytest.raises(ValueError, match="Both bounds and schema declare features"):
        model.fit(FRAME)
