"""``discreet evaluate`` on a fitted model."""

import json

import numpy as np
import pytest

from discreet import load

FIT = "fit data.csv --target rich --epsilon 1 --schema schema.toml --out model.json --quiet"


@pytest.fixture
def fitted(folder, run):
    assert run(FIT)[0] == 0
    return folder


def test_prints_a_table_and_writes_numbers_and_curves(fitted, run):
    code, out, err = run(
        "evaluate model.json data.csv --epsilon 2 --out scores.json --out curves.png"
    )
    assert code == 0, err
    assert "accuracy" in out
    assert "area under ROC" in out
    assert "epsilon = 2, delta = 1e-06 per row" in out
    content = json.loads((fitted / "scores.json").read_text())
    assert content["guarantee"]["secure"] is True
    assert 0 <= content["metrics"]["accuracy"]["value"] <= 1
    assert (fitted / "curves.png").stat().st_size > 5000
    again = "evaluate model.json data.csv --epsilon 2 --out scores.json"
    assert run(again)[0] == 1  # scores are paid for
    assert run(f"{again} --force")[0] == 0
    assert "written to scores.json" in err


def test_without_noise_it_counts_right_answers(fitted, run, rows):
    line = "evaluate model.json data.csv --epsilon 1e6 --metrics accuracy --out s.json --quiet"
    code, _, err = run(line)
    assert code == 0
    assert "reading" not in err
    table = dict(zip(rows[0], zip(*rows[1:], strict=True), strict=True))
    right = np.mean(load("model.json").predict(table) == np.array(table["rich"]))
    content = json.loads((fitted / "s.json").read_text())
    assert content["metrics"]["accuracy"]["value"] == pytest.approx(right, abs=1e-4)


def test_numbers_are_evaluated_by_their_range(folder, run):
    assert run(FIT.replace("rich", "hours"))[0] == 0
    code, out, err = run("evaluate model.json data.csv --epsilon 5 --metrics mse,mae")
    assert code == 0, err
    assert "mean absolute error" in out


def test_unreadable_rows_are_blank_where_the_schema_says_so(fitted, run, rows):
    schema = 'missing = "blank"\n' + (fitted / "schema.toml").read_text()
    (fitted / "blank.toml").write_text(schema)
    spoilt = [row[:] for row in rows]
    for row in spoilt[1:101]:
        row[1] = "?"
    (fitted / "spoilt.csv").write_text("\n".join(",".join(r) for r in spoilt) + "\n")
    code, _, err = run("evaluate model.json spoilt.csv --epsilon 1")
    assert code == 1
    assert "'age'" in err
    line = "evaluate model.json spoilt.csv --epsilon 1e6 --schema blank.toml --metrics confusion"
    code, _, err = run(line + " --out s.json")
    assert code == 0, err
    cells = np.array(json.loads((fitted / "s.json").read_text())["released"]["histogram"])
    assert cells.sum() == pytest.approx(200, abs=0.1)


@pytest.mark.parametrize(
    ("extra", "said"),
    [
        ("--out scores.txt", ".json"),
        ("--out model.json", "named twice"),
        ("--metrics speed", "metrics"),
        ("--metrics accuracy --out c.png", "no curve"),
        ("--target age", "other features"),
        ("--epsilon -1", "epsilon"),
    ],
)
def test_what_cannot_be_done_is_refused_before_rows_are_read(fitted, run, extra, said):
    (fitted / "data.csv").write_text("not,a,table\n")
    line = f"evaluate model.json data.csv --epsilon 1 {extra}"
    code, out, err = run(line)
    assert code == 1
    assert said in err
    assert out == ""


def test_a_seed_is_told(fitted, run):
    code, out, _ = run("evaluate model.json data.csv --epsilon 1 --seed 1 --metrics accuracy")
    assert code == 0
    assert "NOT private" in out
