"""``discreet predict`` and ``discreet card`` on a fitted model."""

import csv
import io
import json
import sys

import numpy as np
import pandas as pd
import pytest

from discreet import Bounds, Guarantee, PrivateLogisticRegression, PrivateRidge, Schema, load
from discreet.accounting.events import Pure
from discreet.cli.main import main
from discreet.files.checksums import with_checksum
from discreet.report import card_dict, render

FIT = "fit data.csv --target rich --epsilon 1 --schema schema.toml --out model.json --force --quiet"


@pytest.fixture
def fitted(folder, run):
    assert run(FIT)[0] == 0
    return folder


def predictions(path):
    with path.open(newline="") as file:
        return list(csv.reader(file))


def frame(rows):
    table = pd.DataFrame(rows[1:], columns=rows[0])
    return table.astype({"age": float, "hours": float})


def test_predictions_equal_those_in_python(fitted, run, rows):
    code, _, _ = run("predict model.json data.csv --out p.csv --proba")
    assert code == 0
    header, *lines = predictions(fitted / "p.csv")
    assert header == ["rich", "p(no)", "p(yes)"]
    model = load("model.json")
    assert [line[0] for line in lines] == model.predict(frame(rows)).tolist()
    shown = np.array([line[1:] for line in lines], dtype=float)
    np.testing.assert_allclose(shown, model.predict_proba(frame(rows)), rtol=1e-12)


def test_predictions_may_be_parquet(fitted, run, rows):
    parquet = pytest.importorskip("pyarrow.parquet")
    run("predict model.json data.csv --out p.csv --proba")
    assert run("predict model.json data.csv --out p.parquet --proba")[0] == 0
    table = parquet.read_table(fitted / "p.parquet").to_pydict()
    header, *lines = predictions(fitted / "p.csv")
    assert list(table) == header
    assert table["rich"] == [line[0] for line in lines]
    assert table["p(yes)"] == [float(line[2]) for line in lines]


def test_features_are_named_by_the_schema(fitted, run, rows):
    model, names = load("model.json"), ["age", "hours", "job=office", "job=field"]
    assert list(model.feature_names_in_) == names
    turned = frame(rows)[["hours", "job", "age"]]
    np.testing.assert_array_equal(model.predict(turned), model.predict(frame(rows)))
    card = json.loads(run("card model.json --format json")[1])
    assert card["model"]["feature_names"] == names


def test_a_model_of_python_is_used_by_the_command(folder, run, rows):
    schema = Schema.from_toml("schema.toml")
    PrivateLogisticRegression(schema=schema, target="rich").fit(frame(rows)).save("python.json")
    assert run("predict python.json data.csv --out p.csv")[0] == 0
    model = load("python.json")
    assert [line[0] for line in predictions(folder / "p.csv")[1:]] == model.predict(
        frame(rows)
    ).tolist()
    assert "column age: 20 to 80" in run("card python.json")[1]


def test_new_rows_need_no_target_and_columns_in_any_order(fitted, run, rows):
    run("predict model.json data.csv --out p.csv")
    turned = [[r[3], r[2], r[1]] for r in rows]
    (fitted / "new.csv").write_text("\n".join(",".join(r) for r in turned) + "\n")
    assert run("predict model.json new.csv --out q.csv")[0] == 0
    assert predictions(fitted / "q.csv") == predictions(fitted / "p.csv")


def test_regression_predictions(folder, run, rows):
    run(FIT.replace("rich", "hours"))
    assert run("predict model.json data.csv --out p.csv")[0] == 0
    assert len(predictions(folder / "p.csv")) == len(rows)
    assert float(predictions(folder / "p.csv")[1][0]) > -1e6


def test_unreadable_cells_are_refused_or_add_nothing(folder, run, rows):
    rows[2][1] = ""
    (folder / "new.csv").write_text("\n".join(",".join(r) for r in rows) + "\n")
    run(FIT)
    code, _, err = run("predict model.json new.csv --out p.csv")
    assert code == 1
    assert "Column 'age'" in err
    assert "Correct the data" in err
    assert not (folder / "p.csv").exists()
    text = (folder / "schema.toml").read_text()
    (folder / "schema.toml").write_text('missing = "blank"\n' + text)
    run(FIT)
    assert run("predict model.json new.csv --out p.csv --proba")[0] == 0
    lines = predictions(folder / "p.csv")
    assert len(lines) == len(rows)
    assert all(line[0] in ("no", "yes") for line in lines[1:])
    rows[2][1] = "50"  # the middle of the range
    (folder / "new.csv").write_text("\n".join(",".join(r) for r in rows) + "\n")
    run("predict model.json new.csv --out q.csv --proba")
    assert predictions(folder / "q.csv") == lines


def test_an_empty_cell_of_one_column_is_a_row(folder, run, rows):
    schema = "[columns]\nage = { range = [20, 80] }\nhours = { range = [0, 60] }\n"
    (folder / "schema.toml").write_text(schema)
    (folder / "new.csv").write_text("age\n20\n\n80\n")
    run(FIT.replace("rich", "hours"))
    code, _, err = run("predict model.json new.csv --out p.csv")
    assert code == 1
    assert "Column 'age' has a cell that is missing" in err
    (folder / "schema.toml").write_text('missing = "blank"\n' + schema)
    run(FIT.replace("rich", "hours"))
    assert run("predict model.json new.csv --out p.csv")[0] == 0
    assert [line != [""] for line in predictions(folder / "p.csv")] == [True] * 4


@pytest.mark.parametrize("cell", ["4_1", "\u0664\u0661"])
def test_numbers_are_read_as_in_a_fit(fitted, run, rows, cell):
    rows[3][1] = cell
    text = "\n".join(",".join(row) for row in rows) + "\n"
    (fitted / "new.csv").write_text(text, encoding="utf-8")
    code, _, err = run("predict model.json new.csv --out p.csv")
    assert code == 1
    assert "Column 'age' has a cell that is missing or not a finite number" in err


def test_any_terminal_can_show_a_card(folder, rows, monkeypatch):
    (folder / "schema.toml").write_text(
        (folder / "schema.toml").read_text().replace("age", '"größe"'), encoding="utf-8"
    )
    rows[0][1] = "größe"
    text = "\n".join(",".join(row) for row in rows) + "\n"
    (folder / "data.csv").write_text(text, encoding="utf-8")
    terminal = io.BytesIO()
    for name in ("stdout", "stderr"):
        monkeypatch.setattr(sys, name, io.TextIOWrapper(terminal, encoding="ascii"))
    fit = "fit data.csv --target rich --epsilon 1 --schema schema.toml --out modèle.json"
    for line in (fit, "card modèle.json"):
        assert main(line.split()) == 0
    sys.stdout.flush()
    assert b"column gr\\xf6\\xdfe" in terminal.getvalue()


def test_card_as_text_and_json(fitted, run):
    code, text, _ = run("card model.json")
    assert code == 0
    assert "PRIVACY CARD" in text
    assert "column age: 20 to 80" in text
    assert run("card model.json --format json --out card.json")[0] == 0
    card = json.loads((fitted / "card.json").read_text())
    assert Guarantee.from_dict(card["guarantee"]) == load("model.json").guarantee_
    assert card["schema"]["columns"]["rich"] == {"categories": ["no", "yes"]}


ABOUT = """\
name = "Income"
curators = ["An office"]
authors = ["A. Analyst"]
description = "Who is rich."
intended_use = "Tests."
region = "Nowhere"
date = 2030-01-02
tuning = "Nothing was tuned."
"""


def test_a_card_in_every_format(fitted, run):
    yaml = pytest.importorskip("yaml")
    (fitted / "about.toml").write_text(ABOUT)
    code, _, err = run("card model.json --format registry")
    assert code == 1
    assert "--about about.toml" in err
    code, text, _ = run("card model.json --format registry --about about.toml --name Wealth")
    assert code == 0
    assert yaml.safe_load(text)["deployment"]["basic"]["name"] == "Wealth"
    assert "Published by" in run("card model.json --curator me --curator you")[1]
    assert run("card model.json --format html --out card.html --about about.toml")[0] == 0
    assert "<svg" in (fitted / "card.html").read_text()
    assert run("card model.json --format huggingface")[1].startswith("---\nlibrary_name")
    code, _, err = run("card model.json --evaluation scores.json")
    assert code == 1
    assert "discreet report" in err
    code, _, err = run("card model.json --sector Helthcare")
    assert code == 1
    assert "Did you mean 'Healthcare'" in err
    code, _, err = run("card model.json --rows 5")
    assert code == 1
    assert "is not the number of rows" in err


def test_a_report_with_evaluation_and_ledger(folder, run):
    run("ledger create people.ledger --dataset people --epsilon 3 --delta 1e-5")
    assert run(FIT + " --ledger people.ledger")[0] == 0
    assert run("evaluate model.json data.csv --epsilon 1 --out scores.json")[0] == 0
    (folder / "about.toml").write_text(ABOUT)
    line = "report model.json --out report.html --evaluation scores.json --ledger people.ledger"
    assert run(f"{line} --about about.toml --proofs docs/proofs --rehearse")[0] == 0
    page = (folder / "report.html").read_text()
    for said in (
        "How good it is",
        "Releases (1)",
        "href='docs/proofs/",
        "Income",
        "300 made-up rows",
    ):
        assert said in page
    assert "987654" not in page
    code, _, err = run("report model.json --out report.html --evaluation data.csv")
    assert code == 1
    assert "data.csv is not an evaluation file" in err
    code, _, err = run("report model.json --out model.json")
    assert code == 1
    assert "named twice" in err


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({}, []),
        ({"epsilon": 0.0}, []),
        ({"epsilon": 60.0}, ["epsilon = 60"]),
        ({"epsilon": 60.0, "delta": 0.5}, ["epsilon = 60", "delta = 0.5"]),
        ({"delta": 1.5}, ["delta is not below 1"]),  # as the sum of a composition may be
        # What is fixed in advance counts, not what a run happened to cost.
        ({"kind": "ex-post", "reserved": (60.0, 0.0)}, ["epsilon = 60"]),
    ],
)
def test_card_cautions_about_weak_budgets(changes, said):
    guarantee = Guarantee(
        **{"epsilon": 1.0, "delta": 0.0, "neighbours": "zero-out", "event": Pure(1.0)} | changes,
        theorem="T",
    )
    card = card_dict(guarantee)
    assert [c[: len(s)] for c, s in zip(card["cautions"], said, strict=True)] == said
    assert ("\nCAUTION\n" in render(card)) == bool(said)


def test_card_of_a_model_saved_from_python(folder, run):
    X = np.linspace(0, 1, 50).reshape(-1, 1)
    bounds = Bounds(features=(0, 1), label=(0, 1))
    PrivateRidge(bounds=bounds).fit(X, X.ravel()).save("model.json")
    code, text, _ = run("card model.json --date 2030-01-02")
    assert code == 0
    assert "2030-01-02" in text
    code, _, err = run("predict model.json data.csv --out p.csv")
    assert code == 1
    assert "holds no schema" in err


@pytest.mark.parametrize(
    ("content", "message"),
    [("{", "it is not JSON"), ("[]", "not a model file"), ("{}", "not a discreet model")],
)
def test_what_is_no_model_is_refused(folder, run, content, message):
    (folder / "model.json").write_text(content)
    code, _, err = run("card model.json")
    assert code == 1
    assert message in err


def test_only_logistic_models_give_probabilities(folder, run):
    run(FIT + " --model svm")
    code, _, err = run("predict model.json data.csv --out p.csv --proba")
    assert code == 1
    assert "gives no probabilities" in err


def test_rows_of_another_length_are_called_that(fitted, run, rows):
    for row in (rows[2][:-1], [*rows[2], "1"]):
        lines = [rows[0], rows[1], row]
        (fitted / "new.csv").write_text("\n".join(",".join(r) for r in lines) + "\n")
        code, _, err = run("predict model.json new.csv --out p.csv")
        assert code == 1
        assert "A row has more or fewer cells than the first line. Correct the file" in err


def changed(**values):
    return lambda content: content | {"parameters": content["parameters"] | values}


def declared(*columns):
    return {"part": "Schema", "columns": list(columns)}


@pytest.mark.parametrize(
    "damage",
    [
        changed(schema=[]),
        changed(schema="columns"),
        changed(schema={}),
        changed(schema=declared()),
        changed(schema=declared(["age"])),
        changed(schema=declared(["age", {"range": [80, 20]}])),
        changed(schema=declared(["age", {"range": [20, 80]}])),
        changed(schema=declared(["age", {"range": [20, 80]}]) | {"colour": "red"}),
        changed(target=None),
        changed(target=3),
        changed(target="poor"),
        changed(target="age"),
        changed(target="job"),  # as many features, but others
        lambda content: json.loads(json.dumps(content).replace("job=field", "job=other")),
    ],
)
@pytest.mark.parametrize("line", ["card model.json", "predict model.json data.csv --out p.csv"])
def test_damaged_schema_is_one_clear_error(fitted, run, damage, line):
    content = json.loads((fitted / "model.json").read_text())
    (fitted / "model.json").write_text(json.dumps(with_checksum(damage(content))))
    code, out, err = run(line)
    assert code == 1
    assert out == ""
    expected = "This model file is damaged or was edited; use the file discreet wrote."
    assert err == f"discreet: InvalidData: model.json: {expected}\n"
    assert not (fitted / "p.csv").exists()


@pytest.mark.parametrize("line", ["card model.json", "predict model.json data.csv --out p.csv"])
@pytest.mark.parametrize(
    ("place", "value"),
    [
        ("estimator", None),
        ("parameters", None),
        ("parameters", {"colour": "red"}),
        ("parameters", []),
        ("model", None),
        ("model", {"coef_": [1.0]}),
        ("model.algorithm_", None),
        ("model.coef_", [[1.0]]),
        ("guarantee", None),
        ("guarantee", {"epsilon": 1.0}),
        ("guarantee.event", {"event": "magic"}),
    ],
)
def test_damaged_model_is_one_clear_error(fitted, run, place, value, line):
    content = part = json.loads((fitted / "model.json").read_text())
    *outer, last = place.split(".")
    for name in outer:
        part = part[name]
    part.pop(last)
    if value is not None:
        part[last] = value
    (fitted / "model.json").write_text(json.dumps(with_checksum(content)))
    code, out, err = run(line)
    assert code == 1
    assert out == ""
    assert "This model file is damaged or was edited; use the file discreet wrote." in err
    assert err.count("\n") == 1
    assert not (fitted / "p.csv").exists()


@pytest.mark.parametrize("sign", ["\x1b[2J", "\x9b2J", "\u202e", "\x07"])
def test_nothing_from_a_file_steers_the_terminal(folder, run, rows, sign):
    from discreet import load
    from discreet.report import About, card_text

    name = f"age{sign}"
    declared = (folder / "schema.toml").read_text().replace("age =", f"{json.dumps(name)} =")
    (folder / "schema.toml").write_text(declared, encoding="utf-8")
    rows[0][1] = f'"{name}"'
    text = "\n".join(",".join(row) for row in rows) + "\n"
    (folder / "data.csv").write_text(text, encoding="utf-8", newline="")
    said = [run(FIT), run("card model.json"), run("card model.json --format json")]
    assert [code for code, _, _ in said] == [0, 0, 0]
    assert "age\\" in said[1][1]
    (folder / "new.csv").write_text("hours,job\n1,field\n")
    said += [run("predict model.json new.csv --out p.csv"), run(f"card {sign}.json")]
    texts = [text for _, out, err in said for text in (out, err)]
    texts.append(card_text(load(folder / "model.json"), about=About(notes=f"x{sign}")))
    assert all(text.replace("\n", "").isprintable() for text in texts)
