"""``discreet fit``: what it writes, what it says, what it refuses."""

import json
import re

import numpy as np
import pytest

from discreet import Bounds, PrivateElasticNet, PrivateLogisticRegression, load

FIT = "fit data.csv --target rich --epsilon 1 --schema schema.toml --out model.json --force"
SECRET = "987654.321"


def save(path, rows):
    path.write_text("\n".join(",".join(row) for row in rows) + "\n")


def encoded(rows):
    body = rows[1:]
    X = [[float(r[1]), float(r[2]), r[3] == "office", r[3] == "field"] for r in body]
    return np.array(X, dtype=float), np.array([r[4] for r in body])


BOUNDS = Bounds(
    row_norm=3**0.5,
    typical_norm=(1 + 2**0.5) ** 0.5,
    features=[(20, 80), (0, 60), (-1, 1), (-1, 1)],
    classes=("no", "yes"),
)


def test_model_equals_the_estimator_on_the_encoded_rows(folder, run, rows):
    code, out, err = run(FIT + " --seed 5 --card card.txt")
    assert code == 0
    assert "epsilon = 1, delta = 1e-06 per row" in out
    assert err.splitlines() == [
        "reading data.csv",
        "  300 rows",
        "fitting",
        "model written to model.json",
        "card written to card.txt",
    ]
    expected = PrivateLogisticRegression(bounds=BOUNDS, random_state=5).fit(*encoded(rows))
    model = load("model.json")
    np.testing.assert_array_equal(model.coef_, expected.coef_)
    np.testing.assert_array_equal(model.intercept_, expected.intercept_)
    assert model.guarantee_ == expected.guarantee_


def test_files_hold_neither_data_nor_seed(folder, run):
    run(FIT + " --seed 5 --card card.txt")
    text = (folder / "model.json").read_text()
    assert SECRET not in text + (folder / "card.txt").read_text()
    content = json.loads(text)
    assert content["parameters"].get("random_state") is None
    assert ["age", {"range": [20.0, 80.0]}] in content["parameters"]["schema"]["columns"]
    assert content["parameters"]["target"] == "rich"


@pytest.mark.parametrize("model", ["ridge", "huber", "elastic-net"])
def test_regressors(folder, run, model):
    code, out, _ = run(FIT.replace("rich", "hours") + f" --model {model} --quiet")
    assert code == 0
    assert "epsilon = 1" in out
    assert load("model.json").n_features_in_ == 5  # age, two jobs, two answers


def test_default_model_follows_the_target(folder, run):
    run(FIT)
    assert json.loads((folder / "model.json").read_text())["estimator"].endswith("Regression")
    run(FIT.replace("rich", "age"))
    assert json.loads((folder / "model.json").read_text())["estimator"] == "PrivateRidge"


def test_numeric_classes_match_by_value(folder, run, rows):
    for row in rows[1:]:
        row[4] = {"no": "0", "yes": "1.0"}[row[4]]
    save(folder / "data.csv", rows)
    schema = (folder / "schema.toml").read_text().replace('["no", "yes"]', "[0, 1]")
    (folder / "schema.toml").write_text(schema)
    assert run(FIT)[0] == 0
    assert load("model.json").classes_.tolist() == [0, 1]


def test_size_is_not_shown_under_add_remove(folder, run):
    schema = (folder / "schema.toml").read_text()
    (folder / "schema.toml").write_text('neighbours = "add-remove"\nn_rows = 250\n' + schema)
    code, out, err = run(FIT)
    assert code == 0
    assert "neighbours: add-remove" in out
    shown = out + err + (folder / "model.json").read_text()
    assert not re.search(r"(?<![\d.])300(?![\d.])", shown)  # digits of a weight do not count


# Blank rows.


def blank_schema(folder, extra=""):
    schema = (folder / "schema.toml").read_text()
    (folder / "schema.toml").write_text(f'missing = "blank"\n{extra}' + schema)


@pytest.mark.parametrize("bad", [(1, ""), (1, "abc"), (2, "inf"), (3, "sea"), (4, "?")])
def test_unreadable_cell_is_refused_by_column_and_can_be_blank(folder, run, rows, bad):
    place, cell = bad
    rows[10][place] = cell
    save(folder / "data.csv", rows)
    code, _, err = run(FIT)
    assert code == 1
    assert f"Column '{rows[0][place]}' has a cell that is missing" in err
    assert "10" not in err.replace("missing", "")
    assert not (folder / "model.json").exists()
    blank_schema(folder)
    assert run(FIT)[0] == 0


def test_blank_rows_count_for_nothing_and_leave_the_plan_alone(folder, run, rows):
    blank_schema(folder)
    rows[3][1], rows[4] = "", ["only", "two"]
    save(folder / "data.csv", rows)
    code, out, err = run(FIT + " --seed 3")
    assert code == 0
    assert "  300 rows" in err
    assert "neighbours: zero-out" in out
    X, y = encoded([[*rows[0]], *rows[1:3], rows[2], rows[2], *rows[5:]])
    X[2:4] = np.nan
    expected = PrivateLogisticRegression(bounds=BOUNDS, missing="blank", random_state=3).fit(X, y)
    model = load("model.json")
    np.testing.assert_array_equal(model.coef_, expected.coef_)
    assert model.guarantee_ == expected.guarantee_
    assert model.guarantee_.under("add-remove") is None
    assert (model.neighbours, model.n_rows) == ("zero-out", None)


def test_plan_uses_the_size_of_the_file_not_of_the_rows_in_use(folder, run, rows):
    # The penalty of the elastic net is scaled by the number of rows, so a plan that counted
    # only the rows in use would show how many are blank.
    blank_schema(folder)
    rows[3][1], rows[4][1] = "", ""
    save(folder / "data.csv", rows)
    perturbed = "objective-perturbation"
    options = f" --model elastic-net --algorithm {perturbed} --seed 3"
    code, _, _ = run(FIT.replace("rich", "hours") + options)
    assert code == 0
    kept = [r for r in rows[1:] if r[1]]
    X = [
        [float(r[1]), r[3] == "office", r[3] == "field", r[4] == "no", r[4] == "yes"] for r in kept
    ]
    y = [float(r[2]) for r in kept]
    ranges = [(20, 80), *[(-1, 1)] * 4]
    settings = {
        "bounds": Bounds(row_norm=3**0.5, features=ranges, label=(0, 60)),
        "neighbours": "add-remove",
        "algorithm": perturbed,
        "random_state": 3,
    }
    coef = load("model.json").coef_
    np.testing.assert_allclose(coef, PrivateElasticNet(**settings, n_rows=300).fit(X, y).coef_)
    other = PrivateElasticNet(**settings, n_rows=298).fit(X, y).coef_
    assert not np.allclose(coef, other, rtol=1e-6)


@pytest.mark.parametrize("options", ["", " --algorithm bolt-on"])
@pytest.mark.parametrize("relation", ["zero-out", "replace-one"])
def test_blank_goes_with_every_relation_and_algorithm(folder, run, rows, relation, options):
    blank_schema(folder, f'neighbours = "{relation}"\n')
    rows[3][1] = ""
    save(folder / "data.csv", rows)
    code, out, _ = run(FIT + options)
    assert code == 0
    assert f"neighbours: {relation}" in out


# Refusals, all before anything is written.


def replaced(old, new):
    return lambda folder: (folder / "schema.toml").write_text(
        (folder / "schema.toml").read_text().replace(old, new)
    )


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (replaced("[columns]", "[colums]"), "Did you mean 'columns'?"),
        (replaced("[columns]", "columns = 3\n[x]"), "A schema has no key 'x'"),
        (
            replaced("range = [20, 80]", "range = [80, 20]"),
            "'age': range must have low < high",
        ),
        (replaced("range = [20, 80]", "range = [20]"), "must be a pair (low, high)"),
        (replaced("range = [20, 80]", "ranges = [20, 80]"), "Column 'age' needs one of: range"),
        (
            replaced('["office", "field"]', '["office"]'),
            "must be a list of at least two",
        ),
        (replaced('["office", "field"]', '["office", "office"]'), "hold a value twice"),
        (replaced('["office", "field"]', "[1, nan]"), "a number that no cell is read as"),
        (replaced('["office", "field"]', f"[1, {2**53 + 1}]"), "Declare long numbers as text"),
        (replaced('["office", "field"]', f"[1, {10**400}]"), "Declare long numbers as text"),
        (replaced('["office", "field"]', '["office", 1]'), "all text or all numbers"),
        (replaced("[columns]", "row_norm = -1\n[columns]"), "row_norm must be finite"),
        (replaced("[columns]", "row_norm = 1e80\n[columns]"), "row_norm must lie between"),
        (
            replaced("[columns]", 'neighbours = "add-remove"\nn_rows = 10000000000000\n[columns]'),
            "n_rows must be at most",
        ),
        (replaced("[columns]", 'neighbours = "add-remove"\n[columns]'), "n_rows = ..."),
        (replaced("[columns]", 'missing = "drop"\n[columns]'), "missing must be one of"),
        (replaced("rich =", 'missing = "blank"\nrich ='), "'missing' stands below [columns]"),
        (
            lambda folder: (folder / "schema.toml").write_text(
                '[columns]\nrich = { categories = ["no", "yes"] }\n'
            ),
            "Add the features under [columns]",
        ),
        (replaced("rich =", "poor ="), "The schema declares no column 'rich'"),
        (replaced("age =", "wage ="), "data.csv has no column 'wage'"),
        (replaced("[columns]", "]["), "schema.toml: "),
        (lambda folder: (folder / "schema.toml").unlink(), "No such file or directory"),
        (lambda folder: (folder / "data.csv").unlink(), "No such file or directory"),
        (lambda folder: (folder / "data.csv").write_text(""), "data.csv is empty"),
        (lambda folder: (folder / "data.csv").write_text("\n"), "data.csv is empty"),
        (
            lambda folder: (folder / "data.csv").write_text("age;hours;rich\n1;2;no\n"),
            "cells were taken to be separated by ';'",
        ),
        (
            lambda folder: (folder / "data.csv").write_text("age\thours\trich\n"),
            "cells were taken to be separated by a tab",
        ),
        (
            lambda folder: (folder / "data.csv").write_text("age,hours,job,rich\n30,2,field\n"),
            "A row has more or fewer cells than the first line",
        ),
        (
            lambda folder: (folder / "data.csv").write_text(
                "age,hours,job,rich\n30,2,5,field,no\n"
            ),
            "A row has more or fewer cells than the first line",
        ),
        (lambda folder: (folder / "data.csv").write_bytes(b"age,\xff\xfe\n"), "UTF-8"),
        (
            lambda folder: (folder / "data.csv").write_text("age,hours,job,rich\n"),
            "data.csv has no rows",
        ),
        (
            lambda folder: (folder / "data.csv").write_text("age,age,hours,job,rich\n"),
            "more than one column 'age'",
        ),
        (
            lambda folder: (folder / "data.csv").write_text(f'age,hours,job,rich\n"{SECRET}"x,1\n'),
            "a quotation mark stands inside a cell",
        ),
    ],
)
def test_refusals_are_one_clean_line(folder, run, damage, message):
    damage(folder)
    code, out, err = run(FIT + " --quiet")
    assert code == 1
    assert message in err
    assert err.startswith("discreet: ")
    assert err.count("\n") == 1
    assert out == ""
    assert not (folder / "model.json").exists()


def test_a_cell_may_be_too_long(folder, run, rows):
    rows[2][0] = "x" * 200_000
    save(folder / "data.csv", rows)
    code, _, err = run(FIT)
    assert code == 1
    assert "a cell is longer than 131,072 characters" in err


@pytest.mark.parametrize(
    ("place", "said", "written"),
    [
        ("discreet.cli.fit.read", "no model was written. If rows had been read", False),
        ("discreet.PrivateLogisticRegression.fit", "no model was written. If rows", False),
        ("discreet.cli.fit.write_model", "model.json may not have been written, and", False),
        ("discreet.report.card_text", "the model is in model.json, and the budget is", True),
    ],
)
def test_an_interruption_tells_what_is_left(folder, run, monkeypatch, place, said, written):
    def interrupted(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr(place, interrupted)
    code, out, err = run(f"{FIT} --card card.txt --quiet")
    assert (code, out) == (130, "")
    assert err.startswith(f"discreet: interrupted: {said}")
    assert err.count("\n") == 1
    assert (folder / "model.json").exists() == written


def test_a_column_may_have_the_name_of_a_key(folder, run, rows):
    replaced("hours =", "missing =")(folder)
    rows[0][2] = "missing"
    save(folder / "data.csv", rows)
    assert run(FIT)[0] == 0


def test_one_row_is_counted_as_one(folder, run, rows):
    save(folder / "data.csv", rows[:2])
    assert "  1 row\n" in run(FIT)[2]


def test_file_without_header_shows_no_row(folder, run, rows):
    rows[1][1] = SECRET
    save(folder / "data.csv", rows[1:])
    code, _, err = run(FIT)
    assert code == 1
    assert "The first line of the file must name its columns" in err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--epsilon -1", "epsilon must be finite and positive"),
        ("--epsilon nan", "epsilon must be finite and positive"),
        ("--delta 1", "delta must be below 1"),
        ("--model ridge", "PrivateRidge predicts numbers"),
        (
            "--algorithm magic",
            "algorithm must be one of 'auto', 'counted-rows', 'learned-clip'",
        ),
        ("--out nowhere/model.json", "does not exist"),
        ("--card nowhere/card.txt", "does not exist"),
    ],
)
def test_bad_options_are_refused_before_the_data_is_read(folder, run, options, message):
    code, _, err = run(f"{FIT} {options}")
    assert code == 1
    assert message in err
    assert "reading" not in err


# Cautions: said before the budget is spent, in the way of nothing.


def cautions(err):
    return [line for line in err.splitlines() if line.startswith("caution: ")]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("", []),
        ("--delta 0.003", []),
        ("--delta 0.004", ["delta = 0.004 is not below one over the number of rows"]),
        ("--epsilon 60 --delta 0.5", ["epsilon = 60 bounds", "delta = 0.5 allows publishing"]),
        ("--epsilon 60 --delta 0.004", ["epsilon = 60 bounds", "delta = 0.004 is not below"]),
    ],
)
def test_weak_budgets_are_cautioned_about(folder, run, options, said):
    code, _, err = run(f"{FIT} {options} --quiet --card card.txt")
    assert code == 0
    found = cautions(err)
    assert len(found) == len(said)
    assert all(part in line for part, line in zip(said, found, strict=True))
    assert "300" not in err
    assert ("CAUTION" in (folder / "card.txt").read_text()) == ("epsilon = 60" in err)


def test_too_few_rows_are_cautioned_about_before_they_are_fitted(folder, run):
    code, _, err = run(f"{FIT} --epsilon 0.001")
    assert code == 0
    assert "the rows are too few for this budget" in cautions(err)[0]
    assert err.index("caution: ") < err.index("fitting")
    assert "Warning" not in err
    assert "TooFewRows" not in err


def test_too_few_rows_under_add_remove_are_those_declared(folder, run):
    schema = (folder / "schema.toml").read_text()
    for size, said in ((10**6, 0), (2, 1)):
        declared = f'neighbours = "add-remove"\nn_rows = {size}\n' + schema
        (folder / "schema.toml").write_text(declared)
        assert len(cautions(run(f"{FIT} --epsilon 0.01 --delta 1e-9")[2])) == said


def test_cautions_under_add_remove_use_the_declared_size_only(folder, run):
    schema = (folder / "schema.toml").read_text()
    (folder / "schema.toml").write_text('neighbours = "add-remove"\nn_rows = 200\n' + schema)
    assert cautions(run(FIT + " --delta 0.004")[2]) == []
    assert len(cautions(run(FIT + " --delta 0.005")[2])) == 1


def test_files_beyond_memory_are_read_part_by_part(folder, run, rows, monkeypatch):
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    from discreet.data import parts_read
    from discreet.data.storage import spill

    names, body = rows[0], rows[1:]
    columns = {
        name: [float(row[j]) if j in (1, 2) else row[j] for row in body]
        for j, name in enumerate(names)
    }
    whole = pa.table(columns)
    for k, part in enumerate((whole.slice(0, 100), whole.slice(100))):
        pq.write_table(part, folder / f"{k}.parquet")
    fit = FIT.replace("data.csv", "0.parquet 1.parquet") + " --seed 5"
    assert run(fit)[0] == 0
    there = load("model.json")
    monkeypatch.setattr(spill, "_LEAST", 1)
    monkeypatch.setattr(parts_read, "PACE", 0.0)
    code, _, err = run(fit + " --memory 4KB --spill .")
    assert code == 0
    assert "fitting, part by part" in err
    assert "100 of 300 rows, about" in err
    np.testing.assert_array_equal(load("model.json").coef_, there.coef_)
    assert sorted(p.name for p in folder.iterdir() if p.suffix == ".parquet") == [
        "0.parquet",
        "1.parquet",
    ]
    code, _, err = run(fit + " --memory lots")
    assert code != 0
    assert "such as '2GB'" in err
