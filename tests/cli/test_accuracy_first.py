"""``discreet accuracy-first``: what is paid for is kept, and messages name options."""

import json
import os
import re
import subprocess
import sys

import pytest

from discreet import AccuracyFirst, load
from discreet.cli import accuracy_first

FIRST = "accuracy-first data.csv --target rich --schema schema.toml --out model.json --force"
EASY = f"{FIRST} --max-error 0.2 --max-epsilon 20"


def test_model_picture_and_cost(folder, run):
    code, out, err = run(f"{EASY} --card card.txt --plot path.png --seed 1")
    assert code == 0
    assert "Meets excess risk 0.2" in out
    assert err.splitlines()[-3:] == [
        "model written to model.json", "card written to card.txt", "path drawn in path.png"
    ]  # fmt: skip
    assert (folder / "card.txt").read_text() == run("card model.json")[1]
    assert (folder / "path.png").stat().st_size > 1000
    assert f"epsilon = {load('model.json').guarantee_.epsilon:.6g}" in out
    assert load("model.json").target == "rich"
    assert json.loads((folder / "model.json").read_text())["accuracy_first"]["steps"]
    assert run("predict model.json data.csv --out p.csv")[0] == 0


def test_model_survives_readers_that_left(folder):
    ours, theirs = os.pipe()
    os.close(ours)
    done = subprocess.run(
        [sys.executable, "-m", "discreet", *EASY.split(), "--progress"],
        stdout=theirs,
        stderr=theirs,
        env=os.environ | {"PYTHONUNBUFFERED": "1"},  # so that the first line fails
        check=False,
    )
    os.close(theirs)
    assert done.returncode == 0
    assert load("model.json").guarantee_.secure


def test_model_survives_a_picture_that_fails(folder, run, monkeypatch):
    def broken(path, model):
        raise OSError(28, "No space left on device", str(path))

    monkeypatch.setattr(accuracy_first, "path_plot", broken)
    code, out, err = run(f"{EASY} --plot path.png")
    assert code == 1
    assert "No space left" in err
    assert "Meets excess risk" in out
    load("model.json")


def test_an_interruption_tells_what_is_left(folder, run, monkeypatch):
    def interrupted(*args, **kwargs):
        raise KeyboardInterrupt

    for place, said in (
        ("discreet.AccuracyFirst.fit", "no model was written. The run cost at most the last"),
        ("discreet.cli.accuracy_first._write", "model.json may not have been written"),
        ("discreet.cli.accuracy_first.path_plot", "the model is in model.json; its guarantee"),
    ):
        with monkeypatch.context() as patch:
            patch.setattr(place, interrupted)
            code, _, err = run(f"{EASY} --quiet --plot path.png")
        assert code == 130
        assert err.startswith(f"discreet: interrupted: {said}")


@pytest.mark.parametrize("spell", ["--plot path.png", "--plot path.xyz", "--plot path"])
def test_picture_that_cannot_be_drawn_is_refused_before_the_data_is_read(
    folder, run, monkeypatch, spell
):
    if spell.endswith("png"):
        monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    code, _, err = run(f"{EASY} {spell}")
    assert code == 1
    assert ("pip install 'matplotlib" if spell.endswith("png") else "--plot must end in") in err
    assert "reading" not in err


def test_missed_target_is_priced_and_leaves_no_model(folder, run):
    tested = f"{FIRST} --metric loss --max-error 0.25 --max-epsilon 20 --plot path.png"
    code, out, err = run(f"{tested} --seed 1")
    assert code == 1
    assert "was spent and no model was released" in out
    assert "no model was written; what was spent stays spent. Allow a larger --max-error" in err
    assert not (folder / "model.json").exists()
    assert (folder / "path.png").exists()
    code, out, err = run(f"{tested} --seed 1 --release-last")
    assert code == 1
    assert "the model that was written did not meet the target" in err
    load("model.json")


@pytest.mark.parametrize(
    ("options", "message", "option"),
    [
        ("--max-error 0 --max-epsilon 1", "max_error must be finite and positive", "max-error"),
        ("--max-error 0.1 --max-epsilon -1", "max_epsilon must be finite", "max-epsilon"),
        ("--max-error 0.1 --max-epsilon 1 --confidence 2", "confidence must lie", "confidence"),
        ("--max-error 0.1 --max-epsilon 1 --validation 2", "validation must lie", "validation"),
        ("--max-error 0.1 --max-epsilon 1 --delta 1", "delta must be below 1", None),
        ("--max-error 2 --max-epsilon 1", "max_error is the error that may", "max-error"),
        (
            "--max-error 90 --max-epsilon 1",
            "a single answer for all rows leaves at most",
            "max-error",
        ),
        ("--max-error 0.6 --max-epsilon 1 --metric error-rate", "at most 0.5", "max-error"),
        ("--max-error 0.1 --max-epsilon 1 --metric loss --method theory", "is for exc", "method"),
        ("--max-error 0.1 --max-epsilon 1 --validation 0.3", "validation is for", "validation"),
        ("--max-error 0.1 --max-epsilon 1 --target hours --metric error-rate", "a class", "metric"),
        ("--max-error 0.1 --max-epsilon 1 --target hours --model elastic-net", "ridge pen", None),
    ],
)
def test_bad_options_are_refused_by_name_before_the_data_is_read(
    folder, run, options, message, option
):
    code, _, err = run(f"{FIRST} {options}")
    assert code == 1
    assert message in err
    assert "reading" not in err
    if option is not None:
        assert err.endswith(f" (--{option})\n")


@pytest.mark.parametrize(
    ("options", "option"),
    [
        ("--max-error 0.001 --max-epsilon 0.01", "max-epsilon"),
        ("--max-error 0.1 --max-epsilon 0.01 --metric loss", "max-epsilon"),
        ("--max-error 0.1 --max-epsilon 1e-4 --method doubling", "max-epsilon"),
        ("--max-error 0.001 --max-epsilon 0.01 --target hours --method theory", "max-epsilon"),
    ],
)
def test_a_plan_that_is_refused_names_its_option(folder, run, options, option):
    code, _, err = run(f"{FIRST} {options} --quiet")
    assert code == 1
    assert err.endswith(f" (--{option})\n")
    assert not (folder / "model.json").exists()


def test_more_than_two_categories(folder, run):
    schema = (folder / "schema.toml").read_text().replace('"yes"]', '"yes", "very"]')
    (folder / "schema.toml").write_text(schema)
    code, out, _ = run(f"{FIRST} --max-error 0.5 --max-epsilon 200 --seed 0")
    assert code == 0
    assert "Meets excess risk 0.5" in out
    assert load("model.json").coef_.shape[0] == 3


def declare(folder, line):
    schema = folder / "schema.toml"
    schema.write_text(f"{line}\n{schema.read_text()}")


def test_blank_rows_are_rows_of_the_fit(folder, run, rows, monkeypatch):
    seen, real = [], AccuracyFirst.fit

    def fit(self, X, y=None, **options):
        seen.append((self.estimator.neighbours, self.estimator.n_rows, X.X.shape[0]))
        return real(self, X, y, **options)

    monkeypatch.setattr(AccuracyFirst, "fit", fit)
    declare(folder, 'missing = "blank"')
    rows[3][1] = ""
    (folder / "data.csv").write_text("\n".join(",".join(row) for row in rows) + "\n")
    assert run(f"{EASY} --seed 1")[0] == 0
    assert seen == [("zero-out", None, 300)]
    guarantee = load("model.json").guarantee_
    assert guarantee.neighbours == "zero-out"
    assert guarantee.under("add-remove") is None


def test_cautions_under_add_remove_go_by_the_declared_size(folder, run):
    # 300 rows in the file, 200 declared: 0.004 lies between 1/300 and 1/200.
    declare(folder, 'neighbours = "add-remove"\nn_rows = 200')
    err = run(f"{EASY} --delta 0.004 --seed 1 --quiet")[2]
    assert "number of rows" not in err
    assert not re.search(r"(?<![\d.])300(?![\d.])", err)
