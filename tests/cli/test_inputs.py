"""Reading rows: each cell by itself, in blocks, whatever stands in the others."""

import gzip
import traceback
import zipfile

import numpy as np
import pytest

from discreet.cli import table
from discreet.cli.schema import Categorical, Numeric, Schema
from discreet.errors import InvalidData

SCHEMA = Schema.from_dict(
    {
        "missing": "blank",
        "columns": {
            "a": {"range": [0, 1]},
            "b": {"categories": ["", "x", "y"]},
            "t": {"categories": [0, 1]},
        },
    }
)
CELLS = ["1", " 2.5 ", "1e3", "", "nan", "-inf", "True", "12345678901234567890", "0x1", "1,5", None]


@pytest.mark.parametrize(
    "column", [Numeric("a", (0.0, 1.0)), Categorical("a", ("1", "True")), Categorical("a", (1, 2))]
)
def test_a_cell_is_encoded_alone_as_among_others(column):
    together = column.encode(CELLS)
    alone = np.vstack([column.encode([cell]) for cell in CELLS])
    np.testing.assert_array_equal(together, alone)
    assert np.isnan(together[-1]).all()


@pytest.mark.parametrize("cell", ["1_0", "\u0661\u0662", "\uff11", "1\u0660"])
@pytest.mark.parametrize("column", [Numeric("a", (0.0, 20.0)), Categorical("a", (1, 10, 12))])
def test_only_plain_digits_make_a_number(column, cell):
    assert np.isnan(column.encode([cell])).all()
    assert not np.isnan(column.encode(["\u00a010 "])).any()  # spaces of any kind are ignored


def test_blocks_of_any_size_give_the_same_rows(tmp_path, monkeypatch):
    path = tmp_path / "data.csv"
    lines = ["a,b,t", "0.1,x,0", "", "0.2,,1.0", "0.3", "z,y,1", '0.5,"x",2', "0.6,y,1"]
    path.write_text("\n".join(lines))

    def read():
        blocks = list(table.read_blocks(path, SCHEMA, "t", labelled=True))
        return len(blocks), [np.concatenate(part) for part in zip(*blocks, strict=True)]

    count, whole = read()
    monkeypatch.setattr(table, "_CELLS", 6)
    many, pieces = read()
    assert (count, many) == (1, 3)
    for one, other in zip(whole, pieces, strict=True):
        np.testing.assert_array_equal(one, other)
    X, y, good = whole
    assert good.tolist() == [True, True, False, False, False, True]
    assert y[good].tolist() == [0, 1, 1]
    assert X[good].tolist() == [[0.1, 0, 1, 0], [0.2, 1, 0, 0], [0.6, 0, 0, 1]]


def test_default_row_norm_is_never_exceeded_and_is_attained():
    schema = Schema.from_dict(
        {
            "columns": {
                "a": {"range": [0, 4]},
                "b": {"categories": ["x", "y", "z"]},
                "t": {"range": [0, 1]},
            }
        }
    )
    bounds = schema.bounds("t")
    ranges = np.array(bounds.ranges(4))
    middle, half = ranges.mean(axis=1), np.diff(ranges, axis=1)[:, 0] / 2
    for number in ("0", "4", "2"):
        for category in "xyz":
            row = np.hstack(
                [schema.columns[0].encode([number]), schema.columns[1].encode(category)]
            )
            scaled = (row[0] - middle) / half
            assert np.linalg.norm(scaled) <= bounds.row_norm * (1 + 1e-12)
    assert bounds.row_norm == pytest.approx(2**0.5)


def test_schema_round_trip():
    assert Schema.from_dict(SCHEMA.to_dict()) == SCHEMA


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize(
    ("text", "good"),
    [
        ("a|1||0|", [True, False, True]),
        ("a|1||0", [True, False, True]),
        ("a||1|", [False, True]),
        ("a|1||", [True, False]),
        ("a|1|||", [True, False, False]),
        ('a|1|""|', [True, False]),
        ("a,c|1,2||0,|||", [True, True]),  # with more columns an empty line is no row
    ],
)
def test_empty_lines_are_rows_of_a_file_of_one_column(tmp_path, text, good, end):
    path = tmp_path / "new.csv"
    path.write_bytes(text.replace("|", end).encode())
    schema = Schema.from_dict(
        {"missing": "blank", "columns": {"a": {"range": [0, 1]}, "t": {"categories": [0, 1]}}}
    )
    (block,) = table.read_blocks(path, schema, "t", labelled=False)
    assert block.good.tolist() == good


def test_an_empty_line_of_one_column_may_be_a_category(tmp_path):
    path = tmp_path / "new.csv"
    path.write_text("b\nx\n\n")
    columns = {c.name: c.to_dict() for c in SCHEMA.columns if c.name != "a"}
    schema = Schema.from_dict({"columns": columns})
    (block,) = table.read_blocks(path, schema, "t", labelled=False)
    assert block.X.tolist() == [[0, 1, 0], [1, 0, 0]]


@pytest.mark.parametrize("kind", ["gzip", "zip"])
def test_packed_files_are_said_to_be_packed(tmp_path, kind):
    path = tmp_path / "data.csv"
    if kind == "gzip":
        path.write_bytes(gzip.compress(b"a,b,t\n1,x,0\n"))
    else:
        with zipfile.ZipFile(path, "w") as file:
            file.writestr("data.csv", "a,b,t\n1,x,0\n")
    with pytest.raises(InvalidData, match=r"is compressed.* Unpack it first"):
        next(table.read_blocks(path, SCHEMA, "t", labelled=True))


def test_a_byte_that_is_no_text_is_not_quoted(tmp_path):
    path = tmp_path / "data.csv"
    path.write_bytes(b"a,b,t\n1,\xe9\xe8,0\n")
    with pytest.raises(InvalidData, match="UTF-8") as caught:
        list(table.read_blocks(path, SCHEMA, "t", labelled=True))
    report = traceback.TracebackException.from_exception(caught.value, limit=0)
    assert "0xe9" not in "".join(report.format(chain=True))
