"""What it costs to learn ranges and categories instead of declaring them.

``python benchmarks/private_columns.py run`` fits three public tables at epsilon 0.1, 1 and 8,
delta 1e-6, with the schemas in ``schemas/``: as they are, with every range of a feature private,
with every list of categories private, and with both. Splits and the reading of files are those of
``tables.py``; the share of the budget is the default. Accuracy or R2 on test rows are means over
three splits with their deviation. Results: ``results/private_columns.json``.
"""

from __future__ import annotations

import json
import tempfile
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from arguments import parser_of
from discreet import (
    Categories,
    PrivateLogisticRegression,
    PrivateRidge,
    Range,
    Schema,
)
from problems import data_directory
from tables import HERE, TABLES, frame_of

RESULTS = HERE / "results" / "private_columns.json"
SETS = ("insurance", "compas", "adult")
EPSILONS = (0.1, 1.0, 8.0)
SPLITS = 3


def private(schema: Schema, target: str, *, ranges: bool, categories: bool) -> Schema:
    """Return the schema with ranges, categories or both of its features left to be learned."""
    changed: dict[str, Any] = {}
    for name, column in schema.features(target).items():
        if ranges and isinstance(column, Range):
            changed[name] = Range("private", missing=column.missing)
        elif categories and isinstance(column, Categories) and isinstance(column.choices[0], str):
            named = column.missing in ("refuse", "blank", "indicator")
            changed[name] = Categories("private", missing=column.missing if named else None)
    return schema.with_columns(changed)


WAYS = {
    "declared": (False, False),
    "private ranges": (True, False),
    "private categories": (False, True),
    "both": (True, True),
}


def one_split(name: str, lines: list[str], seed: int, folder: Path) -> dict[str, dict[str, float]]:
    """Return the score of every way at every epsilon."""
    table, declared = TABLES[name], Schema.from_toml(HERE / "schemas" / f"{name}.toml")
    head, rows = ([], lines) if table.header is not None else (lines[:1], lines[1:])
    order = np.random.default_rng(seed).permutation(len(rows))
    frames = []
    for part in (order[len(rows) // 5 :], order[: len(rows) // 5]):
        path = folder / "part.csv"
        path.write_text("\n".join([*head, *(rows[i] for i in part)]) + "\n")
        frames.append(frame_of(path, table))
    train, test = frames
    real = declared.column(table.target).classes is None
    kind = PrivateRidge if real else PrivateLogisticRegression
    test = test[test[table.target].notna()]
    found: dict[str, dict[str, float]] = {}
    for way, (ranges, categories) in WAYS.items():
        schema = private(declared, table.target, ranges=ranges, categories=categories)
        found[way] = {}
        for epsilon in EPSILONS:
            model = kind(epsilon=epsilon, delta=1e-6, schema=schema, target=table.target)
            model.set_params(random_state=seed).fit(train)
            found[way][str(epsilon)] = float(model.score(test))
    return found


def main() -> None:
    """Measure and write."""
    parser = parser_of(__doc__)
    parser.add_argument("--data", help="folder of the data sets")
    directory = data_directory(parser.parse_args().data)
    results: dict[str, Any] = {}
    warnings.simplefilter("ignore")
    for name in SETS:
        lines = TABLES[name].lines(directory)
        if lines is None:
            print(f"{name}: not found in the data folder, skipped")
            continue
        with tempfile.TemporaryDirectory() as folder:
            runs = [one_split(name, lines, seed, Path(folder)) for seed in range(SPLITS)]
        results[name] = {
            way: {
                e: [
                    round(float(np.mean([run[way][e] for run in runs])), 4),
                    round(float(np.std([run[way][e] for run in runs])), 4),
                ]
                for e in map(str, EPSILONS)
            }
            for way in WAYS
        }
        print(name, json.dumps(results[name], indent=1), flush=True)
    RESULTS.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
