"""Privacy per person beside privacy per row: patients with many rows.

``python benchmarks/people.py run`` fits the 101,766 hospital stays of 71,518 patients of
``diabetes130`` (readmission within 30 days, ``schemas/diabetes130.toml``) at delta 1e-6. A fifth
of the patients,
with all their stays, is kept apart for tests, three times. Logistic regression with default
settings
is fitted per row and per patient (``patient_nbr``) with 1, 2, 3 and 5 rows per patient by both
rules. ``converted`` is the epsilon that a fit per row at epsilon 1 has for so many rows of one
patient, by ``Guarantee.for_group``. The numbers of rows were fixed before any result was seen.
Results: ``results/people.json`` and ``people.md``.
"""

from __future__ import annotations

import argparse
import json
import sys
import warnings
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.metrics import accuracy_score, roc_auc_score

from discreet import PrivateLogisticRegression, Schema
from discreet.schema import Encoded

HERE = Path(__file__).parent
RESULTS = HERE / "results"
EPSILONS = (0.3, 1.0, 3.0)
ROWS = (1, 2, 3, 5)
SPLITS = 3


def stays(folder: Path) -> pd.DataFrame | None:
    """Return the stays as people read them, or None if the file is not there."""
    path = folder / "diabetes130" / "dataset_diabetes.zip"
    if not path.exists():
        return None
    with zipfile.ZipFile(path).open("dataset_diabetes/diabetic_data.csv") as file:
        return pd.read_csv(file, na_values="?", low_memory=False)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("step", choices=("run",))
    parser.add_argument("--data", type=Path, default=Path("data"), help="folder of data sets")
    args = parser.parse_args()
    table = stays(args.data)
    if table is None:
        sys.exit("diabetes130 is not there. Get it from the UCI repository, and pass --data.")
    schema = Schema.from_toml(HERE / "schemas" / "diabetes130.toml")
    people, early = table["patient_nbr"].to_numpy(), (table["readmitted"] == "<30").to_numpy()
    rows = schema.encode(table, "readmitted", labelled=True)
    found: dict[str, list[list[float]]] = {}
    for split in range(SPLITS):
        random = np.random.default_rng(split)
        held = np.isin(people, random.permutation(np.unique(people))[: len(set(people)) // 5])
        train, test = Encoded(rows.X[~held], rows.y[~held]), Encoded(rows.X[held], None)
        for epsilon in EPSILONS:
            ways = {"per row": {}}
            ways |= {
                f"per patient, {k} {'row' if k == 1 else 'rows'}, {rule}": {
                    "rows_per_group": k,
                    "group_rule": rule,
                }
                for k in ROWS
                for rule in ("weight", "sample")
            }
            for name, settings in ways.items():
                model = PrivateLogisticRegression(
                    epsilon=epsilon, schema=schema, target="readmitted", random_state=split,
                    **settings,
                )  # fmt: skip
                groups = {"groups": people[~held]} if settings else {}
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    model.fit(train, **groups)
                chance = model.predict_proba(test)
                place = list(model.classes_).index("<30")
                right = accuracy_score(early[held], chance.argmax(axis=1) == place)
                area = roc_auc_score(early[held], chance[:, place])
                found.setdefault(f"{epsilon:g}|{name}", []).append([right, area])
                if split == 0:
                    print(epsilon, name, model.algorithm_, round(right, 4), round(area, 4))
    row = PrivateLogisticRegression(schema=schema, target="readmitted").plan(n_rows=80_000)
    converted = {k: row.guarantee.for_group(k).epsilon for k in ROWS}
    sizes = pd.Series(people).value_counts()
    kept = {k: float(np.minimum(sizes, k).sum() / len(people)) for k in ROWS}
    results = {"scores": found, "converted": converted, "share of rows": kept}
    (RESULTS / "people.json").write_text(json.dumps(results, indent=1) + "\n")
    (RESULTS / "people.md").write_text(written(results))


def written(results: dict) -> str:
    """Return the results as a page."""
    lines = ["| epsilon | protected | test accuracy | test AUC |", "|---|---|---|---|"]
    for key, values in results["scores"].items():
        epsilon, name = key.split("|")
        (right, area), spread = np.mean(values, axis=0), np.std(values, axis=0)
        lines.append(
            f"| {epsilon} | {name} | {right:.4f} ± {spread[0]:.4f} | {area:.4f} ± {spread[1]:.4f} |"
        )
    lines += ["", "| rows | share of rows that count | epsilon of a fit per row at 1 |"]
    lines += ["|---|---|---|"]
    for k, epsilon in results["converted"].items():
        lines.append(f"| {k} | {results['share of rows'][k]:.3f} | {epsilon:.2f} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
