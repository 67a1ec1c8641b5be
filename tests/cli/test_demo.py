"""``discreet demo``: small here, but the whole way."""

import json

import pytest

from discreet import load


def test_demo_writes_everything_it_says(folder, run):
    code, out, err = run("demo --out here --epsilon 1 8 --fits 2 --seed 1")
    assert code == 0
    assert err == ""
    assert "This data is public" in out
    assert "median test accuracy   lowest and highest of 2 fits" in out
    assert "not private" in out
    assert "epsilon = 1, delta = 1e-05 per row" in out
    written = {path.name for path in (folder / "here").iterdir()}
    assert written == {"accuracy.png", "card.txt", "card.json", "model.json", "report.html"}
    assert "column worst radius: 5 to 30" in (folder / "here" / "card.txt").read_text()
    card = json.loads((folder / "here" / "card.json").read_text())
    model = load(folder / "here" / "model.json")
    assert card["guarantee"] == model.guarantee_.to_dict()
    assert card["model"]["feature_names"] == list(model.feature_names_in_)


def test_accuracy_approaches_the_non_private_model(folder, run):
    _, out, _ = run("demo --epsilon 100 --fits 1 --seed 1")
    accuracy = {
        name: float(line.split(name)[1].split("%")[0])
        for line in out.splitlines()
        for name in ("   100", "not private", "guessing")
        if name in line and "%" in line
    }
    assert accuracy["not private"] - 5 < accuracy["   100"]
    assert accuracy["guessing"] + 20 < accuracy["   100"]


def test_demo_without_matplotlib_says_so_and_goes_on(folder, run, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "matplotlib.figure", None)
    code, out, err = run("demo --epsilon 1 --fits 1 --seed 1")
    assert code == 0
    assert "pip install 'matplotlib" in err
    assert "Written to demo: report.html, model.json" in out


def test_bad_settings_are_refused(folder, run):
    assert run("demo --fits 0")[0] == 1
    assert run("demo --epsilon 0 --fits 1")[0] == 1


@pytest.mark.parametrize("place", ["data.csv", "data.csv/demo"])
def test_a_file_in_the_place_of_the_folder_is_refused(folder, run, place):
    code, out, err = run(f"demo --out {place}")
    assert (code, out) == (1, "")
    assert "Pass another folder, e.g. --out demo" in err
