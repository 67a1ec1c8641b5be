"""``discreet fit --inference`` and ``discreet summary``."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from discreet.cli.main import main

SCHEMA = "[columns]\nage = { range = [20, 80] }\nhours = { range = [0, 100] }\n"


@pytest.fixture
def model(tmp_path: Path) -> Path:
    random = np.random.default_rng(0)
    age = random.uniform(20, 80, 3000)
    hours = np.clip(20 + 0.4 * age + random.normal(size=3000), 0, 100)
    lines = ["age,hours", *(f"{a},{h}" for a, h in zip(age, hours, strict=True))]
    (tmp_path / "data.csv").write_text("\n".join(lines) + "\n")
    (tmp_path / "schema.toml").write_text(SCHEMA)
    out = tmp_path / "model.json"
    code = main([
        "fit", str(tmp_path / "data.csv"), "--target", "hours", "--epsilon", "2", "--inference",
        "population", "--schema", str(tmp_path / "schema.toml"), "--out", str(out), "--quiet",
        "--seed", "0",
    ])  # fmt: skip
    assert code == 0
    return out


def test_a_summary_of_a_file(model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    assert main(["summary", str(model), "--level", "0.9"]) == 0
    text = capsys.readouterr().out
    assert "age" in text
    assert "intercept" in text
    assert "[0.05" in text
    picture = model.with_name("coefficients.png")
    out = model.with_name("summary.json")
    assert main(["summary", str(model), "--json", "--out", str(out), "--plot", str(picture)]) == 0
    held = json.loads(out.read_text())
    assert held["low"][0] < 0.4 < held["high"][0]
    assert picture.stat().st_size > 1000


def test_a_bad_level_and_a_model_without_a_table(
    model: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["summary", str(model), "--level", "2"]) == 1
    assert "level" in capsys.readouterr().err


def test_a_plan_says_what_intervals_cost(capsys: pytest.CaptureFixture[str]) -> None:
    plan = ["plan", "--model", "ridge", "--rows", "20000", "--features", "3", "--row-norm", "1"]
    assert main([*plan, "--epsilon", "1", "--inference", "table"]) == 0
    assert "squares of labels" in capsys.readouterr().out
    assert main(["plan", "--model", "lasso", "--rows", "20000", "--features", "3", "--row-norm",
                 "1", "--epsilon", "1", "--inference", "table"]) == 1  # fmt: skip
    assert "inference" in capsys.readouterr().err
