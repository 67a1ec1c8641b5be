"""``discreet example``: made-up rows and the files that the pages of the documentation use."""

from __future__ import annotations

import argparse
import io
from pathlib import Path
from typing import Any

import numpy as np

from discreet.cli.shared.files import add_force, check_outputs, make_folder, print_result
from discreet.files.writing import write_text

ROWS = {"data.csv": 5000, "new.csv": 2000}
"""How many made-up rows each file has."""

FILES = {
    "schema.toml": """\
# schema.toml
missing = "blank"  # a row with an empty cell counts for nothing

[columns]
age = { range = [17, 90] }
hours = { range = [0, 100], missing = 40 }
job = { categories = ["private", "public", "none"], other = "none" }
visit = { date = ["2020-01-01", "2026-12-31"] }
smoker = { boolean = true }
income = { categories = ["low", "high"] }
""",
    "run.toml": """\
# run.toml
data = ["data.csv", "new.csv"]
target = "income"
epsilon = 1
out = "run.json"
card = "card.txt"

[set]
norm_guess = 2

[schema.columns]
age = { range = [17, 90] }
income = { categories = ["low", "high"] }
""",
    "about.toml": """\
# about.toml
name = "Who earns more"
curators = ["Office of Examples"]
authors = ["A. Analyst"]
description = "Logistic regression of income on what else was asked."
intended_use = "Planning of a survey."
region = "Example County"
date = 2030-01-02
tuning = "Columns and ranges come from the code book. Nothing was tuned."
""",
    "code-book.json": """\
{
  "age": {"min": 17, "max": 90},
  "hours": {"min": 0, "max": 100},
  "job": {"values": ["private", "public", "none"]},
  "income": {"values": ["low", "high"]}
}
""",
}
"""Files that say what is public about the rows, as the documentation shows them."""

_EPILOG = """\
examples:
  discreet example
  discreet fit data.csv --target income --epsilon 1 --schema schema.toml --out model.json
  discreet card model.json

data.csv and new.csv hold made-up people. The same rows are written every time, and no
row is about anybody, so you can look at them. The other files declare what is public.
"""


def add(verbs: Any) -> None:
    """Add the verb to the command line."""
    parser = verbs.add_parser(
        "example",
        help="write made-up rows and a schema, to try the other commands on",
        description="Write made-up rows, a schema and the other files that the documentation uses.",
        epilog=_EPILOG,
    )
    parser.add_argument(
        "--out", type=Path, default=Path("."), help="folder to write to (default: this one)"
    )
    add_force(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> None:
    """Write the files."""
    make_folder(args.out, "example")
    names = [*ROWS, *FILES]
    check_outputs(*(args.out / name for name in names), force=args.force, paid=True)
    random = np.random.default_rng(0)
    for name, n_rows in ROWS.items():
        write_text(args.out / name, people(n_rows, random))
    for name, text in FILES.items():
        write_text(args.out / name, text)
    print_result(f"Written to {args.out}: {', '.join(names)}")


def people(n_rows: int, random: np.random.Generator) -> str:
    """Return made-up people as CSV text, each with one to three rows.

    Examples
    --------
    >>> people(1, np.random.default_rng(0)).splitlines()[0]
    'person,age,hours,job,visit,smoker,income'
    """
    person = np.repeat(np.arange(n_rows), random.integers(1, 4, n_rows))[:n_rows]
    age = random.integers(18, 90, n_rows)[person]
    hours = random.integers(0, 80, n_rows)
    job = random.choice(["private", "public", "none", "retired"], n_rows, p=[0.6, 0.2, 0.1, 0.1])
    pay = hours + 0.3 * age - 20 * np.isin(job, ["none", "retired"]) + random.normal(0, 10, n_rows)
    columns = {
        "person": [f"p{i}" for i in person],
        "age": age,
        "hours": np.where(random.random(n_rows) < 0.02, "", hours.astype(str)),
        "job": job,
        "visit": np.datetime64("2024-01-01") + random.integers(0, 700, n_rows),
        "smoker": random.choice(["no", "yes", ""], n_rows, p=[0.7, 0.28, 0.02]),
        "income": np.where(pay > 50, "high", "low"),
    }
    out = io.StringIO()
    np.savetxt(
        out,
        np.column_stack([np.asarray(c).astype(str) for c in columns.values()]),
        fmt="%s",
        delimiter=",",
        header=",".join(columns),
        comments="",
    )
    return out.getvalue()
