"""A small file of made-up people, its schema, and a way to run the command."""

import numpy as np
import pytest

from discreet.cli.main import main

SECRET = "987654.321"
"""A value planted in the data that must never come out."""

SCHEMA = """\
[columns]
age = { range = [20, 80] }
hours = { range = [0, 60] }
job = { categories = ["office", "field"] }
rich = { categories = ["no", "yes"] }
"""


def table(n=300, seed=0):
    random = np.random.default_rng(seed)
    age, hours = random.uniform(20, 80, n), random.uniform(0, 60, n)
    job = random.choice(["office", "field"], n)
    rich = np.where(hours + 20 * (job == "office") > 40, "yes", "no")
    rows = [
        [str(i), f"{a:.3f}", f"{h:.3f}", j, r]
        for i, (a, h, j, r) in enumerate(zip(age, hours, job, rich, strict=True))
    ]
    rows[7][1] = SECRET  # outside the declared range: clipped, and never shown
    return [["id", "age", "hours", "job", "rich"], *rows]


def write(path, rows):
    path.write_text("\n".join(",".join(row) for row in rows) + "\n")
    return path


@pytest.fixture
def rows():
    return table()


@pytest.fixture
def folder(tmp_path, monkeypatch, rows):
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "data.csv", rows)
    (tmp_path / "schema.toml").write_text(SCHEMA)
    return tmp_path


@pytest.fixture
def run(capsys):
    """Run the command; return (code, stdout, stderr) after looking for the secret."""

    def call(line):
        code = main(line.split())
        out, err = capsys.readouterr()
        assert SECRET not in out + err
        assert "Traceback" not in err
        return code, out, err

    return call
