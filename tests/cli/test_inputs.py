"""Reading files: any delimiter, encoding and packing, in blocks, whatever stands in other rows."""

from __future__ import annotations

import gzip
import io
import json
import sys
import traceback
import zipfile

import numpy as np
import pandas as pd
import pytest

import discreet
from discreet import Schema, load
from discreet.cli.shared import delimited
from discreet.cli.shared.inputs import Inputs
from discreet.cli.shared.models import MODELS, NO_MODELS, predicts_classes
from discreet.errors import DiscreetError, InvalidData, InvalidParameter

SCHEMA = Schema.from_dict(
    {
        "missing": "blank",
        "columns": {
            "a": {"range": [0, 9]},
            "b": {"categories": ["", "x", "y"]},
            "t": {"categories": [0, 1]},
        },
    }
)
TEXT = "a,b,t\n1.5,x,0\n2,y,1\n"
X, Y = [[1.5, 0, 1, 0], [2, 0, 0, 1]], [0, 1]


def read(*paths, target="t", schema=SCHEMA, **form):
    inputs = Inputs(tuple(paths), delimited.Format(**form))
    return schema.encode_blocks(inputs.tables(schema.columns, strict=False), target)


def same(found, expected=(X, Y)):
    np.testing.assert_array_equal(found.X, expected[0])
    assert list(found.y) == expected[1]


@pytest.mark.parametrize("mark", [",", ";", "\t", "|", " "])
@pytest.mark.parametrize("quoted", [False, True])
def test_the_delimiter_is_found_from_the_first_line(tmp_path, mark, quoted):
    text = TEXT.replace(",", mark)
    if quoted:
        text = text.replace("x", '"x"').replace("a" + mark, f'"a"{mark}')
    path = tmp_path / "data.csv"
    path.write_text(text)
    same(read(path))
    same(read(path, delimiter=mark))


def test_the_delimiter_does_not_depend_on_rows(tmp_path):
    path = tmp_path / "data.csv"
    path.write_text("a,b,t\n1;5;5;5,x,0\n")
    found = read(path)
    assert np.isnan(found.X[0, 0])
    assert found.y.tolist() == [0]


def test_decimal_commas_are_read_in_columns_of_numbers_alone(tmp_path):
    path = tmp_path / "data.csv"
    path.write_text("a;b;t\n1,5;x;0\n2;y;1\n2.5;y;1\n")
    found = read(path, decimal=",")
    np.testing.assert_array_equal(found.X[:2], X)
    assert np.isnan(found.X[2, 0])  # a point is no mark here, and may part thousands


@pytest.mark.parametrize(
    ("encoding", "stated"),
    [("utf-8", None), ("utf-8-sig", None), ("utf-16", None), ("latin-1", "latin-1")],
)
def test_encodings(tmp_path, encoding, stated):
    path, schema = tmp_path / "data.csv", Schema.from_dict(
        {"columns": {"größe": {"range": [0, 9]}, "t": {"categories": ["é", "è"]}}}
    )  # fmt: skip
    path.write_bytes("größe,t\n1,é\n2,è\n".encode(encoding))
    same(read(path, schema=schema, encoding=stated), ([[1], [2]], ["é", "è"]))


@pytest.mark.parametrize("kind", ["gz", "zst"])
def test_packed_files_are_unpacked(tmp_path, kind):
    path = tmp_path / f"data.csv.{kind}"
    if kind == "gz":
        path.write_bytes(gzip.compress(TEXT.encode()))
    else:
        path.write_bytes(pytest.importorskip("zstandard").compress(TEXT.encode()))
    same(read(path))


def test_what_is_needed_for_zstandard_is_said(tmp_path, monkeypatch):
    path = tmp_path / "data.csv.zst"
    path.write_bytes(b"\x28\xb5\x2f\xfd rest")
    for name in ("compression", "zstandard"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(DiscreetError, match=r"pip install 'zstandard>=0\.22'"):
        read(path)


def test_archives_and_damaged_files_are_called_that(tmp_path):
    path = tmp_path / "data.csv"
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("data.csv", TEXT)
    with pytest.raises(InvalidData, match=r"is a zip archive.* Unpack it first"):
        read(path)
    path.write_bytes(gzip.compress(TEXT.encode() * 1000)[:-20])
    with pytest.raises(InvalidData, match="compressed, and damaged"):
        read(path)


@pytest.mark.parametrize("kind", ["parquet", "arrow"])
def test_parquet_and_arrow(tmp_path, kind):
    arrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    feather = pytest.importorskip("pyarrow.feather")
    table = arrow.table({"id": [7, 8], "t": [0, 1], "b": ["x", "y"], "a": [1.5, 2.0]})
    path = tmp_path / f"data.{kind}"
    if kind == "parquet":
        parquet.write_table(table, path)
    else:
        feather.write_feather(table, path)
    same(read(path))
    assert Inputs((path,), delimited.Format()).types() == {
        "id": "int64", "t": "int64", "b": "string", "a": "double"
    }  # fmt: skip
    path.write_bytes(path.read_bytes()[:40])
    with pytest.raises(InvalidData, match="cannot be read as"):
        read(path)


def test_several_files_and_standard_input(tmp_path, monkeypatch):
    one, two = tmp_path / "one.csv", tmp_path / "two.csv.gz"
    one.write_text(TEXT)
    two.write_bytes(gzip.compress(b"t;b;a\n1;y;3\n"))
    same(read(one, two), ([*X, [3, 0, 0, 1]], [*Y, 1]))
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO(TEXT.encode()))))
    same(read(type(one)("-")))


def test_files_without_a_first_line_of_names(tmp_path):
    path = tmp_path / "data"
    path.write_text("nonsense\n1.5, x, 0\n2, y, 1\n")
    same(read(path, header=["a", "b", "t"], skip=1))
    path.write_text("1.5  x 0\n2 y   1\n")
    same(read(path, header=["a", "b", "t"]))


def test_blocks_of_any_size_give_the_same_rows(tmp_path, monkeypatch):
    path = tmp_path / "data.csv"
    lines = ["a,b,t", "0.1,x,0", "", "0.2,,1.0", "0.3", "z,y,1", '0.5,"x",2', "0.6,y,1"]
    path.write_text("\n".join(lines))
    whole = read(path)
    monkeypatch.setattr(delimited, "_CELLS", 6)
    pieces = read(path)
    np.testing.assert_array_equal(whole.X, pieces.X)
    assert list(whole.y) == list(pieces.y) == [0, 1, None, 1, None, 1]
    good = ~np.isnan(whole.X).any(axis=1)
    assert good.tolist() == [True, True, False, False, True, True]
    assert whole.X[good].tolist() == [
        [0.1, 0, 1, 0],
        [0.2, 1, 0, 0],
        [0.5, 0, 1, 0],
        [0.6, 0, 0, 1],
    ]


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
    schema = Schema.from_dict({"missing": "blank", "columns": {"a": {"range": [0, 1]}}})
    assert (~np.isnan(read(path, schema=schema, target=None).X[:, 0])).tolist() == good


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b'a,b,t\n1,"x,0\n', "a quotation mark is opened and not closed"),
        (b'a,b,t\n1,"x"5,0\n', "a quotation mark stands inside a cell"),
        (b"a,b,t\n1," + b"x" * 200_000 + b",0\n", "longer than 131,072 characters"),
        (b"a,b,t\n1,\xe9\xe8,0\n", "cannot be read as text in UTF-8. Name its encoding"),
        (b"a,c,t\n1,x,0\n", "no column 'b'"),
        (b"987654,x,0\n", "no column 'a'"),
        (b"", "is empty"),
        (b"\n", "is empty"),
        (b"a,b,t\n", "has no rows"),
    ],
)
def test_faults_are_told_without_values(tmp_path, content, said):
    path = tmp_path / "data.csv"
    path.write_bytes(content)
    with pytest.raises(InvalidData, match=said) as caught:
        read(path)
    report = traceback.TracebackException.from_exception(caught.value, limit=0)
    shown = "".join(report.format(chain=True))
    assert not any(value in shown for value in ("987654", "0xe9", '"x"'))


@pytest.mark.parametrize(
    "form", [{"delimiter": ";;"}, {"delimiter": '"'}, {"encoding": "klingon"}, {"skip": -1}]
)
def test_bad_formats_are_refused(form):
    with pytest.raises(InvalidParameter) as caught:
        delimited.Format(**form)
    assert caught.value.parameter == next(iter(form))


# Every estimator, by one file or by options.

FIT = "fit data.csv --epsilon 4 --schema schema.toml --out model.json --force --quiet"


@pytest.mark.filterwarnings("ignore::discreet.estimators.NoStableSupport")
@pytest.mark.parametrize("name", MODELS)
def test_every_estimator_is_reached(folder, run, name):
    target = "" if name in ("median", "quantile", "geometric-median") else " --target hours"
    if predicts_classes(name):
        target = " --target rich"
    if not target:
        (folder / "schema.toml").write_text("[columns]\nage = { range = [20, 80] }\n")
    code, _, err = run(f"{FIT}{target} --model {name} --seed 1")
    assert (code, err) == (0, "")
    assert type(load("model.json")).__name__ == MODELS[name]
    assert name in run("models")[1]
    assert MODELS[name] in run(f"models {name}")[1]
    assert run("card model.json")[0] == 0
    # The same by a file, which takes parameters too.
    (folder / "run.toml").write_text(
        f'data = "data.csv"\nmodel = "{name}"\nepsilon = 4\nschema = "schema.toml"\nseed = 1\n'
        f'out = "again.json"\nquiet = true\n'
        + (f'target = "{target.split()[1]}"\n' if target else "")
    )
    assert run("fit run.toml")[0] == 0
    assert load("again.json").to_dict() == load("model.json").to_dict()
    if not target:
        assert run("predict model.json data.csv --out p.csv")[0] == 1
        return
    assert run(f"plan --schema schema.toml{target} --rows 300 --epsilon 4 --model {name}")[0] == 0
    assert run("predict model.json data.csv --out p.csv")[0] == 0
    assert run("predict model.json data.csv --out p.parquet")[0] == 0
    by_text, by_arrow = pd.read_csv("p.csv"), pd.read_parquet("p.parquet")
    assert len(by_text) == 300
    pd.testing.assert_frame_equal(by_text, by_arrow, check_dtype=False)


def test_the_table_of_models_holds_every_estimator():
    estimators = {n for n in discreet.__all__ if hasattr(getattr(discreet, n), "get_params")}
    assert estimators - {"AccuracyFirst", *NO_MODELS} == set(MODELS.values())


def test_weights_of_classes_are_set_by_option_and_by_file(folder, run):
    line = f'{FIT} --target rich --seed 1 --set class_weight={{"no":1,"yes":5}}'
    assert run(line)[0] == 0
    (folder / "run.toml").write_text(
        'data = "data.csv"\ntarget = "rich"\nepsilon = 4\nschema = "schema.toml"\nseed = 1\n'
        'out = "again.json"\n[set]\nclass_weight = { no = 1, yes = 5 }\nfit_intercept = true\n'
    )
    assert run("fit run.toml")[0] == 0
    assert load("again.json").to_dict() == load("model.json").to_dict()
    assert load("model.json").class_weight == {"no": 1, "yes": 5}


def test_parameters_are_set_by_name(folder, run):
    line = f"{FIT} --target hours --model lasso --set radius=3 --set fit-intercept=false"
    assert run(line)[0] == 0
    model = load("model.json")
    assert (model.radius, model.fit_intercept) == (3, False)
    assert run(f"{FIT} --target rich --set constraint=L2Ball(radius=3)")[0] == 0
    assert load("model.json").constraint == discreet.sets.L2Ball(radius=3.0)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("--set radios=3", "Did you mean 'radius'?"),
        ("--set radius", "takes name=value"),
        ("--set epsilon=3", "takes name=value"),
        ("--set random_state=3", "takes name=value"),
        ("--set radius=-3", "(--set radius)"),
        ("--algorithm bolt-on", "PrivateLasso has no parameter 'algorithm'"),
    ],
)
def test_settings_that_a_model_does_not_have_are_refused(folder, run, options, said):
    code, _, err = run(f"{FIT} --target hours --model lasso {options}")
    assert code == 1
    assert said in err


def test_a_run_in_one_file_is_the_same_run(folder, run):
    options = "--target hours --model lasso --set radius=3 --seed 5 --delta 1e-7"
    assert run(f"{FIT} {options}")[0] == 0
    by_options = json.loads((folder / "model.json").read_text())
    place = folder / "kept"
    place.mkdir()
    schema = (folder / "schema.toml").read_text().replace("[columns]", "[schema.columns]")
    (place / "run.toml").write_text(
        'data = "../data.csv"\ntarget = "hours"\nmodel = "lasso"\nepsilon = 4\ndelta = 1e-7\n'
        'out = "model.json"\nseed = 5\nquiet = true\n[set]\nradius = 3\n' + schema
    )
    assert run("fit kept/run.toml")[0] == 0
    assert json.loads((place / "model.json").read_text()) == by_options
    assert run("fit kept/run.toml")[0] == 1  # it was paid for
    assert run("fit kept/run.toml --epsilon 2 --force")[0] == 0
    assert load(place / "model.json").guarantee_.epsilon == 2.0


@pytest.mark.parametrize(
    ("text", "said"), [("data = ", "run.toml: "), ('out = "x"', "run.toml names no data")]
)
def test_a_bad_run_file_is_one_line(folder, run, text, said):
    (folder / "run.toml").write_text(text)
    code, _, err = run("fit run.toml")
    assert code == 1
    assert said in err


def test_a_draft_is_completed_and_used(folder, run):
    words = {"job": {"values": ["office", "field"]}, "rich": {"values": ["no", "yes"]}}
    words |= {"age": {"min": 20, "max": 80}, "hours": {"range": [0, 60]}}
    (folder / "book.json").write_text(json.dumps(words))
    assert run("schema draft data.csv --dictionary book.json --out new.toml")[0] == 0
    text = (folder / "new.toml").read_text()
    assert "# id = " in text
    assert run("schema check new.toml")[1] == "new.toml: 4 columns, 6 features\n"
    assert run(FIT.replace("schema.toml", "new.toml") + " --target rich --seed 1")[0] == 0
    new = load("model.json").coef_
    run(FIT + " --target rich --seed 1")
    assert new.shape == load("model.json").coef_.shape
    assert run("schema draft data.csv")[1].count("# ") >= 5


def test_a_dictionary_may_be_packed(folder, run):
    book = gzip.compress(b'{"age": {"min": 20, "max": 80}}')
    (folder / "book.json.gz").write_bytes(book)
    code, out, _ = run("schema draft data.csv --dictionary book.json.gz")
    assert code == 0
    assert "age = { range = [20, 80] }" in out


def test_python_and_command_line_fit_the_same_model(folder, run, rows):
    frame = pd.read_csv("data.csv")
    schema = Schema.from_toml("schema.toml")
    model = discreet.PrivateLogisticRegression(
        epsilon=4.0, schema=schema, target="rich", random_state=7
    ).fit(frame)
    assert run(FIT + " --target rich --seed 7")[0] == 0
    again = load("model.json")
    np.testing.assert_array_equal(again.coef_, model.coef_)
    assert again.guarantee_ == model.guarantee_
    assert again.to_dict() == model.to_dict()
