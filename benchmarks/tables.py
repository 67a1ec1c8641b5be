"""Raw tables to models, in Python and from the shell, against matrices scaled by hand.

``python benchmarks/tables.py run`` splits the text of seven public files into training and test
lines, five times, and fits each training part four ways at epsilon 1, delta 1e-6, with no setting
besides the schema in ``schemas/``:

- ``python``: a data frame as pandas reads it, with the schema;
- ``shell``: ``discreet plan``, ``fit``, ``predict`` and ``card``, each a process of its own;
- ``scaled``: a matrix whose columns were mapped to [-1, 1] by hand, with the same row norm;
- ``unit rows``: that matrix with every row scaled to norm 1, as the literature does.

Python and shell use other seeds; ``same`` says whether one seed gave both the same weights. Test
accuracy and area under the ROC curve, or R2, are means over the splits with their deviation; rows
without a label are not scored. ``not private`` is scikit-learn's model of the scaled matrix. The
ranges of the schemas are round numbers, chosen by people who had seen the tables. Results:
``results/tables.json`` and ``tables.md``.
"""

from __future__ import annotations

import gzip
import json
import math
import subprocess
import sys
import tempfile
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import r2_score, roc_auc_score

from arguments import parser_of
from discreet import Bounds, PrivateLogisticRegression, PrivateRidge, Schema, load
from problems import data_directory

HERE = Path(__file__).resolve().parent
RESULTS = HERE / "results" / "tables.json"
SPLITS = 5
BUDGET = {"epsilon": 1.0, "delta": 1e-6}

ADULT = (
    "age,workclass,fnlwgt,education,education_num,marital_status,occupation,relationship,race,sex,"
    "capital_gain,capital_loss,hours_per_week,native_country,income"
)
GERMAN = (
    "status,duration,history,purpose,amount,savings,employment,rate,personal,debtors,residence,"
    "property,age,plans,housing,credits,job,dependants,telephone,foreign,risk"
)


@dataclass(frozen=True)
class Table:
    """A file of rows: where it is, what is predicted, and names of columns if it has none."""

    path: str
    target: str
    header: str | None = None
    separator: str = ","
    member: str | None = None

    def lines(self, directory: Path) -> list[str] | None:
        """Return the lines of the file; None if it is absent."""
        path = directory / self.path
        if not path.is_file():
            return None
        if self.member is not None:
            return zipfile.ZipFile(path).read(self.member).decode().splitlines()
        return gzip.decompress(path.read_bytes()).decode().splitlines()


TABLES = {
    "adult": Table("adult/adult.data.gz", "income", ADULT),
    "diabetes130": Table(
        "diabetes130/dataset_diabetes.zip",
        "readmitted",
        member="dataset_diabetes/diabetic_data.csv",
    ),
    "compas": Table("compas/compas-scores-two-years-noid.csv.gz", "two_year_recid"),
    "german-credit": Table("german-credit/german.data.gz", "risk", GERMAN, " "),
    "insurance": Table("insurance/insurance.csv.gz", "charges"),
    "nhanes": Table("nhanes-2009-2012/NHANESraw.csv.gz", "Diabetes"),
    "acs": Table("acs-nist-excerpts/national2019.csv.gz", "PINCP"),
}


def frame_of(path: Path, table: Table) -> pd.DataFrame:
    """Read a file as people do."""
    names = None if table.header is None else table.header.split(",")
    return pd.read_csv(path, sep=table.separator, names=names, skipinitialspace=True)


def scores(y: Any, found: Any, chances: Any) -> dict[str, float]:
    """Return accuracy and area under the curve, or R2, of the rows that have a label."""
    there = ~np.isnan(y)
    if chances is None:
        return {"r2": float(r2_score(y[there], found[there]))}
    accuracy = float((found[there] == y[there]).mean())
    return {"accuracy": accuracy, "auc": float(roc_auc_score(y[there], chances[there]))}


def in_python(train: Path, test: Path, table: Table, schema: Path, seed: int) -> Any:
    """Fit and predict a data frame; return the model too."""
    declared = Schema.from_toml(schema)
    kind = (
        PrivateRidge
        if declared.column(table.target).classes is None
        else (PrivateLogisticRegression)
    )
    model = kind(**BUDGET, schema=declared, target=table.target, random_state=seed)
    model.fit(frame_of(train, table))
    new = frame_of(test, table)
    found = model.predict(new)
    if kind is PrivateRidge:
        return found, None, model
    return np.searchsorted(model.classes_, found), model.predict_proba(new)[:, 1], model


def in_shell(train: Path, test: Path, table: Table, schema: Path, seed: int) -> Any:
    """Plan, fit, predict and write a card, by four commands; return the model too."""
    said = [] if table.header is None else ["--header", table.header]
    folder, classes = train.parent, Schema.from_toml(schema).column(table.target).classes
    model, found = folder / "model.json", folder / "found.csv"
    asked = ["--schema", schema, "--target", table.target, "--epsilon", 1]
    rows = len(train.read_text().splitlines()) - (table.header is None)
    for command in (
        ["plan", *asked, "--rows", rows],
        ["fit", train, *asked, *said, "--out", model, "--force", "--seed", seed],
        ["predict", model, test, *said, "--out", found, *["--proba"] * (classes is not None)],
        ["card", model],
    ):
        words = [sys.executable, "-m", "discreet", *map(str, command)]
        subprocess.run(words, check=True, capture_output=True)
    answer, fitted = pd.read_csv(found), load(model)
    if classes is None:
        return answer.iloc[:, 0].to_numpy(), None, fitted
    labels = answer.iloc[:, 0].to_numpy().astype(fitted.classes_.dtype)
    return np.searchsorted(fitted.classes_, labels), answer.iloc[:, 2].to_numpy(), fitted


def by_hand(X: Any, y: Any, new: Any, bounds: Bounds, seed: int) -> Any:
    """Fit a matrix whose rows have a declared norm and nothing else."""
    there = ~np.isnan(y)
    kind = PrivateRidge if bounds.classes is None else PrivateLogisticRegression
    model = kind(**BUDGET, bounds=bounds, random_state=seed).fit(X[there], y[there])
    return model.predict(new), None if kind is PrivateRidge else model.predict_proba(new)[:, 1]


def not_private(X: Any, y: Any, new: Any, bounds: Bounds) -> Any:
    """Fit scikit-learn's model to the same matrix."""
    there = ~np.isnan(y)
    if bounds.classes is None:
        return Ridge(alpha=1.0).fit(X[there], y[there]).predict(new), None
    model = LogisticRegression(C=100.0, max_iter=2000).fit(X[there], y[there])
    return model.predict(new), model.predict_proba(new)[:, 1]


def matrix(path: Path, table: Table, schema: Schema) -> Any:
    """Return columns mapped to [-1, 1] with 0 for what is missing, and labels as numbers."""
    X, y = schema.encode(frame_of(path, table), table.target, labelled=True)
    low, high = np.array(schema.bounds_for(table.target).features).T
    X = np.nan_to_num((np.clip(X, low, high) - (low + high) / 2) / ((high - low) / 2))
    classes = schema.column(table.target).classes
    if classes is None:
        return X, y
    at = {c: float(k) for k, c in enumerate(np.unique(np.asarray(classes)).tolist())}
    return X, np.array([at.get(v, math.nan) for v in y.tolist()])


def split(table: Table, lines: list[str], seed: int, folder: Path) -> tuple[Path, Path]:
    """Write training lines and every fifth, drawn at random, for a test; return both files."""
    head, rows = ([], lines) if table.header is not None else (lines[:1], lines[1:])
    order = np.random.default_rng(seed).permutation(len(rows))
    train, test = folder / "train.csv", folder / "test.csv"
    for path, part in ((train, order[len(rows) // 5 :]), (test, order[: len(rows) // 5])):
        path.write_text("\n".join([*head, *(rows[i] for i in part)]) + "\n")
    return train, test


def one_split(name: str, table: Table, lines: list[str], seed: int, folder: Path) -> Any:
    """Return the scores of every way, and whether one seed gave Python and shell one model."""
    schema_file = HERE / "schemas" / f"{name}.toml"
    schema = Schema.from_toml(schema_file)
    train, test = split(table, lines, seed, folder)
    (X, y), (new, truth) = (matrix(p, table, schema) for p in (train, test))
    bounds = schema.bounds_for(table.target)
    labels = {"classes": None if bounds.classes is None else (0, 1), "label": bounds.label}
    norm = Bounds(row_norm=bounds.row_norm, **labels)
    one = [part / np.linalg.norm(part, axis=1, keepdims=True) for part in (X, new)]
    shell, python = (way(train, test, table, schema_file, seed) for way in (in_shell, in_python))
    other = in_python(train, test, table, schema_file, seed + 1000)
    ways = {
        "python": other[:2],
        "shell": shell[:2],
        "scaled": by_hand(X, y, new, norm, seed + 2000),
        "unit rows": by_hand(one[0], y, one[1], Bounds(row_norm=1.0, **labels), seed + 3000),
        "not private": not_private(X, y, new, bounds),
    }
    same = bool(np.array_equal(shell[2].coef_, python[2].coef_))
    promises = {m.guarantee_.to_dict()["epsilon"] for m in (shell[2], python[2], other[2])}
    found = {way: scores(truth, *answer) for way, answer in ways.items()}
    return found, same and len(promises) == 1, X.shape


def measured(name: str, table: Table, directory: Path) -> dict[str, Any] | None:
    """Return means and deviations over the splits; None without the data."""
    lines = table.lines(directory)
    if lines is None:
        return None
    with tempfile.TemporaryDirectory() as folder:
        runs = [one_split(name, table, lines, seed, Path(folder)) for seed in range(SPLITS)]
    means = {
        way: {
            metric: [round(float(f([r[0][way][metric] for r in runs])), 4) for f in (np.mean, _sd)]
            for metric in runs[0][0][way]
        }
        for way in runs[0][0]
    }
    rows, columns = runs[0][2]
    return {"rows": rows, "features": columns, "same": all(r[1] for r in runs), "means": means}


def _sd(values: Any) -> float:
    return float(np.std(values, ddof=1))


def main() -> None:
    """Measure every table and write the results."""
    parser = parser_of(__doc__)
    parser.add_argument("--data", help="directory of the data sets")
    parser.add_argument("--tables", nargs="+", choices=list(TABLES), default=list(TABLES))
    args = parser.parse_args()
    directory = data_directory(args.data)
    found = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    for name in args.tables:
        table = TABLES[name]
        result = measured(name, table, directory)
        if result is None:
            print(f"{name}: {directory / table.path} is absent; skipped")
            continue
        found[name] = result
        print(name, json.dumps(result), flush=True)
    RESULTS.write_text(json.dumps(found, indent=1) + "\n")
    RESULTS.with_suffix(".md").write_text(as_table(found))


def as_table(found: dict[str, Any]) -> str:
    """Return the results as a table of Markdown."""
    ways = ("python", "shell", "scaled", "unit rows", "not private")
    lines = [f"| table | rows | features | metric | {' | '.join(ways)} | same |"]
    lines.append("|" + "---|" * (len(ways) + 5))
    for name, result in found.items():
        for metric in result["means"]["python"]:
            cells = (result["means"][way][metric] for way in ways)
            said = " | ".join(f"{mean:.3f} ± {sd:.3f}" for mean, sd in cells)
            size = f"{result['rows']:,} | {result['features']}"
            lines.append(f"| {name} | {size} | {metric} | {said} | {result['same']} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
