"""``discreet tune``: the winner is written, and costs are said first."""

import json

import pytest

from discreet import load

TUNE = "tune data.csv --target rich --epsilon 3 --schema schema.toml --grid C=0.1,10"


def test_the_winner_is_written_with_the_guarantee_of_the_search(folder, run):
    code, out, err = run(f"{TUNE} --out model.json")
    assert code == 0, err
    assert "chosen: C = " in out
    assert "epsilon = 3" in out
    assert "Tuning pays only if" in err
    assert err.index("Tuning pays") < err.index("searching")
    assert "\\n" not in err
    model = load("model.json")
    assert model.guarantee_.epsilon == 3.0
    assert model.guarantee_.theorem.startswith("tuning/")
    assert run("predict model.json data.csv --out p.csv")[0] == 0
    assert run("card model.json")[0] == 0
    content = json.loads((folder / "model.json").read_text())
    assert "scores" not in json.dumps(content["model"])


def test_a_plan_reads_no_row(folder, run):
    (folder / "data.csv").unlink()
    line = f"{TUNE} --grid fit_intercept=true,false --plan-only --rows 500 --expected-tries 8"
    line += " --delta 0"
    code, out, err = run(line)
    assert code == 0, err
    assert "candidates" in out
    assert " 4\n" in out
    assert "geometric, 8 expected" in out


def test_numbers_are_tuned(folder, run):
    line = TUNE.replace("rich", "hours").replace("C=0.1,10", "alpha=1,100")
    code, out, err = run(f"{line} --out model.json --quiet")
    assert code == 0, err
    assert "alpha = " in out
    assert "searching" not in err


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (TUNE, "--out"),
        (f"{TUNE} --out m.json --plan-only", "--out"),
        (f"{TUNE} --out m.json --grid C", "--grid C"),
        (f"{TUNE} --out m.json --grid epsilon=1,2", "epsilon"),
        (f"{TUNE} --out m.json --scoring speed", "metrics"),
        (f"{TUNE} --out m.json --holdout 2", "holdout"),
    ],
)
def test_what_cannot_be_done_is_refused(folder, run, line, said):
    code, out, err = run(line)
    assert code == 1
    assert said in err
    assert out == ""


def test_blank_rows_count_for_nothing(folder, run):
    schema = 'missing = "blank"\n' + (folder / "schema.toml").read_text()
    (folder / "schema.toml").write_text(schema)
    lines = (folder / "data.csv").read_text().splitlines()
    (folder / "data.csv").write_text("\n".join([*lines, "?" + "," * lines[0].count(",")]) + "\n")
    code, _, err = run(f"{TUNE} --set norm_guess=2 --out m.json")
    assert code == 0, err
    assert load("m.json").norm_guess == 2
