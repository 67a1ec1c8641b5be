"""Kinds of columns: each cell by itself, whatever stands in the others."""

from __future__ import annotations

import datetime as datetime_module
import math
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pytest

import discreet.schema
from discreet import Boolean, Categories, Codes, Date, Duration, Ordinal, Range, Schema
from discreet.errors import InvalidParameter
from discreet.schema.column import UNREADABLE, Column
from discreet.schema.kinds import KINDS

COLUMNS: dict[str, Column] = {
    "range": Range(0, 10),
    "text": Categories(["1", "True", "x"]),
    "other": Categories(["1", "True"], other="rest"),
    "numbers": Categories([1, 2, 3]),
    "baseline": Categories(["1", "True"], other="rest", baseline="True"),
    "codes": Codes(1, 4, other=4),
    "boolean": Boolean(),
    "words": Boolean("x", "1"),
    "ordinal": Ordinal(["1", "x", "True"]),
    "date": Date("2020-01-01", "2021-01-01"),
    "duration": Duration(0, 48, "hours"),
}
CELLS = [
    "1", " 2.5 ", "1e3", "", "nan", "-inf", "True", "x", "12345678901234567890", "0x1", "1,5",
    "2020-02-30", "2020-02-03", "P1DT2H", "26:30", None, UNREADABLE, 1, 2.0, math.nan, True,
    pd.NA, pd.NaT, Decimal("3"), date(2020, 3, 1), datetime(2020, 3, 1, 12), timedelta(hours=5),
    np.datetime64("2020-04-01"), np.timedelta64(90, "m"), object(), [1], b"x",
]  # fmt: skip
RULES = ("refuse", "blank", "indicator")


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("name", COLUMNS)
def test_a_cell_is_encoded_alone_as_among_others(name: str, rule: str) -> None:
    column = COLUMNS[name]
    together = column.encode(CELLS, rule)
    alone = np.vstack([column.encode([cell], rule) for cell in CELLS])
    np.testing.assert_array_equal(together, alone)
    assert together.shape[1] == len(column.features("c", rule))
    assert np.isnan(together).any() == (rule != "indicator")


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("name", COLUMNS)
def test_no_block_is_longer_than_one_column_of_numbers(name: str, rule: str) -> None:
    column = COLUMNS[name]
    block = column.encode(CELLS, rule)
    low, high = np.array(list(column.features("c", rule).values())).T
    inside = np.clip(block[~np.isnan(block).any(axis=1)], low, high)
    scaled = (inside - (low + high) / 2) / ((high - low) / 2)
    lengths = np.linalg.norm(scaled, axis=1)
    assert lengths.max() <= 1.0 + 1e-12
    assert len(lengths) > 2


@pytest.mark.parametrize(
    ("column", "cells", "expected"),
    [
        (Range(0, 9), [" 4.5", "5", True, Decimal("2"), 3], [4.5, 5, 1, 2, 3]),
        (Range(0, 9), ["1_0", "\u0661", "\uff11", "inf", None, "x"], [math.nan] * 6),
        (Ordinal(["low", "mid", "high"]), ["low", " mid ", "high"], [-1, 0, 1]),
        (Boolean(), ["YES", "f", 1, 0.0, False, "t", "2"], [1, -1, 1, -1, -1, 1, math.nan]),
        (Boolean("nein", "ja"), ["ja", "nein", "yes"], [1, -1, math.nan]),
        (
            Date("2020-01-01", "2021-01-01"),
            ["2020-01-02", "2020-01-02T12:00", date(2020, 1, 3), np.datetime64("2020-01-04"), "?"],
            [1, 1.5, 2, 3, math.nan],
        ),
        (Date("2020-01-01", "2021-01-01", "%d.%m.%Y"), ["03.01.2020", "2020-01-03"], [2, math.nan]),
        (
            Duration(0, 48, "hours"),
            ["5", "12:30", "1 day, 2:00:00", "P1DT2H", timedelta(hours=3), "-1:00", "12h"],
            [5, 12.5, 26, 26, 3, -1, math.nan],
        ),
    ],
)
def test_cells_are_read_as_documented(column: Column, cells: list[Any], expected: list) -> None:
    np.testing.assert_allclose(column.encode(cells, "blank")[:, 0], expected)


def test_arrays_of_a_type_are_read_as_their_cells() -> None:
    days = np.array(["2020-01-02", "NaT"], dtype="datetime64[ns]")
    spans = np.array([90, "NaT"], dtype="timedelta64[m]")
    for column, cells in (
        (Date("2020-01-01", "2021-01-01"), days),
        (Duration(0, 9, "hours"), spans),
        (Range(0, 9), np.array([3, 4], dtype=np.int16)),
        (Boolean(), np.array([True, False])),
    ):
        np.testing.assert_array_equal(column.encode(cells, "blank"),
                                      column.encode(list(cells), "blank"))  # fmt: skip


def test_a_value_stands_for_missing_cells_and_other_for_undeclared_ones() -> None:
    assert Range(0, 9, missing=4).encode(["", "7"], 4).tolist() == [[4], [7]]
    jobs = Categories(["a", "b"], other="rest", missing="a")
    assert jobs.encode(["b", "zzz", "", None], "a").tolist() == [
        [0, 1, 0], [0, 0, 1], [1, 0, 0], [1, 0, 0]
    ]  # fmt: skip
    fewer = Categories(["a", "b"], other="rest", baseline="b")
    assert list(fewer.features("c", "indicator")) == ["c=a", "c=rest", "c missing"]
    assert fewer.encode(["a", "b", "z", ""], "indicator").tolist() == [
        [1, 0, 0], [0, 0, 0], [0, 1, 0], [0, 0, 1]
    ]  # fmt: skip
    assert fewer.classes == ("a", "b", "rest")  # as a target nothing is left out
    empty = Categories(["", "a"])
    assert empty.encode(["", None, "a"], "refuse").tolist() == [[1, 0], [1, 0], [0, 1]]
    assert Codes(1, 3, other=3).encode([1, 77, ""], "indicator").tolist() == [
        [1, 0, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: Range(3, 3), "low < high"),
        (lambda: Range(0, 9, missing="lots"), "missing must be one of"),
        (lambda: Categories(["a"]), "at least two"),
        (lambda: Categories("ab"), "must be a list"),
        (lambda: Categories(["a", 1]), "all text or all numbers"),
        (lambda: Categories(["a", "a "]), "twice"),
        (lambda: Categories(["a", "b"], missing="c"), "missing must be one of"),
        (lambda: Categories(["a", "b"], other=3), "other must be text"),
        (lambda: Categories([1, 2**53 + 1]), "no cell is read as"),
        (lambda: Categories(["a", "b"], baseline="c"), "baseline must be one"),
        (lambda: Categories("private", baseline="a"), "must be the category other"),
        (lambda: Codes(0, 3, baseline=9), "baseline must be one"),
        (lambda: Codes(3, 1), "first < last"),
        (lambda: Codes(0, 10**6), "at most 10,000"),
        (lambda: Codes(0, 3, other=9), "one of the declared codes"),
        (lambda: Boolean("no"), "both words"),
        (lambda: Ordinal(["low"]), "at least two"),
        (lambda: Date("2020-01-01", "2019-01-01"), "first < last"),
        (lambda: Date("soon", "2019-01-01"), "must be a date"),
        (lambda: Duration(0, 9, "fortnights"), "unit must be one of"),
    ],
)
def test_declarations_that_make_no_sense_are_refused(make: Any, said: str) -> None:
    with pytest.raises(InvalidParameter, match=said):
        make()


@pytest.mark.parametrize("name", COLUMNS)
def test_a_declaration_survives_a_file(name: str, tmp_path) -> None:
    schema = Schema({name: COLUMNS[name]}, missing="indicator")
    path = tmp_path / "schema.toml"
    path.write_text(schema.to_toml(), encoding="utf-8")
    assert Schema.from_toml(path) == schema
    assert KINDS[COLUMNS[name].key] is type(COLUMNS[name])
    words = vars(discreet.schema) | {"datetime": datetime_module}
    assert eval(repr(COLUMNS[name]), words) == COLUMNS[name]
