"""Private scores of models beside their true ones, and how often intervals hold the truth.

    python benchmarks/evaluation.py run    # results/evaluation.json and evaluation.md

A model is fitted once to the training part of a public data set, at epsilon 1. Its test part is
the population: tables of ``rows`` are drawn from it with replacement and evaluated, all metrics in
one release. ``population`` and ``table`` are shares of the intervals of level 0.95 that hold the
score on the whole test part, and on the table that was drawn; scikit-learn computes both.
Intervals count noise and sampling, so the first should be 0.95 and the second more. ``off`` is the
mean distance of the released score from that of its table, and ``none`` the share of releases
without a value. Probabilities and residuals are clipped as ``evaluate`` says in both.
"""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from sklearn import metrics as sk

from arguments import parser_of
from bank import load
from discreet import Bounds, PrivateLogisticRegression, PrivateRidge, evaluate
from problems import data_directory

RESULTS = Path(__file__).resolve().parent / "results"
CLASSES = ("adult", "electricity", "compas")
NUMBERS = ("california", "diamonds", "bikes")
ROWS, EPSILONS, RUNS, LEVEL = (500, 5000), (0.5, 2.0), 200, 0.95
OF_CLASSES = ("accuracy", "balanced_accuracy", "precision", "recall", "f1", "auc", "log_loss")
OF_NUMBERS = ("mse", "mae", "r2")


def true_scores(y: Any, scored: dict[str, Any]) -> dict[str, float]:
    """Return the scores without noise, by scikit-learn."""
    if "chance" not in scored:
        error = np.clip(scored["said"] - y, -2.0, 2.0)
        square, absolute = float(np.mean(error**2)), float(np.mean(np.abs(error)))
        return {"mse": square, "mae": absolute, "r2": 1 - square / float(np.var(y))}
    said, chance = scored["said"], scored["chance"]
    return {
        "accuracy": sk.accuracy_score(y, said),
        "balanced_accuracy": sk.balanced_accuracy_score(y, said),
        "precision": sk.precision_score(y, said, zero_division=0),
        "recall": sk.recall_score(y, said),
        "f1": sk.f1_score(y, said),
        "auc": sk.roc_auc_score(y, chance),
        "log_loss": sk.log_loss(y, np.clip(chance, 0.01, 0.99)),
    }


def fitted(name: str) -> tuple[Any, Any, Any, dict[str, Any]]:
    """Return a private model, the rows and labels of the test part, and what it says of them."""
    train, test = load(name, data_directory())
    settings: dict[str, Any] = {"epsilon": 1.0, "random_state": 0}
    if name in CLASSES:
        bounds = Bounds(row_norm=1.0, classes=(0, 1))
        model: Any = PrivateLogisticRegression(bounds=bounds, **settings)
    else:
        model = PrivateRidge(bounds=Bounds(row_norm=1.0, label=(-1, 1)), **settings)
    model.fit(train.matrix, train.target)
    scored = {"said": model.predict(test.matrix)}
    if name in CLASSES:
        scored["chance"] = model.predict_proba(test.matrix)[:, 1]
    return model, test.matrix, test.target, scored


def measured(name: str) -> list[dict[str, Any]]:
    """Return the lines of one data set."""
    model, X, y, scored = fitted(name)
    asked = OF_CLASSES if name in CLASSES else OF_NUMBERS
    true, lines = true_scores(y, scored), []
    place = (*CLASSES, *NUMBERS).index(name)  # so that every data set has noise of its own
    for n in ROWS:
        for epsilon in EPSILONS:
            found: dict[str, list[Any]] = {metric: [] for metric in asked}
            for run in range(RUNS):
                random = np.random.default_rng([place, run, n, round(10 * epsilon)])
                drawn = random.integers(len(y), size=n)
                own = true_scores(y[drawn], {k: v[drawn] for k, v in scored.items()})
                result = evaluate(
                    model, X[drawn], y[drawn], epsilon=epsilon, metrics=asked, level=LEVEL,
                    random_state=int(random.integers(2**31)),
                )  # fmt: skip
                for metric in asked:
                    said = getattr(result, metric)
                    held = [said.low <= truth[metric] <= said.high for truth in (true, own)]
                    found[metric].append((*held, abs(said.value - own[metric])))
            for metric, values in found.items():
                population, table, off = np.array(values, dtype=float).T
                there = np.isfinite(off)
                line = {"data": name, "metric": metric, "rows": n, "epsilon": epsilon}
                line |= {"truth": round(float(true[metric]), 4), "runs": RUNS}
                line |= {"population": round(float(population.mean()), 4)}
                line |= {"table": round(float(table.mean()), 4)}
                line["off"] = round(float(off[there].mean()), 4) if there.any() else None
                line["none"] = round(float(1 - there.mean()), 4)
                lines.append(line)
    return lines


def as_table(lines: list[dict[str, Any]]) -> str:
    """Return means over data sets, one line for each metric, size and budget."""
    text = ["| metric | rows | epsilon | off | holds the population | least | holds the table |"]
    text.append("|" + "---|" * 7)
    for metric in (*OF_CLASSES, *OF_NUMBERS):
        for n in ROWS:
            for epsilon in EPSILONS:
                key = (metric, n, epsilon)
                here = [r for r in lines if (r["metric"], r["rows"], r["epsilon"]) == key]
                if not here:
                    continue
                off = [r["off"] for r in here if r["off"] is not None]
                covers = [r["population"] for r in here]
                held = np.mean([r["table"] for r in here])
                text.append(
                    f"| {metric} | {n:,} | {epsilon:g} | {np.mean(off) if off else np.nan:.3f} | "
                    f"{np.mean(covers):.3f} | {min(covers):.3f} | {held:.3f} |"
                )
    return "\n".join(text) + "\n"


if __name__ == "__main__":
    parser_of(__doc__).parse_args()
    everything: list[dict[str, Any]] = []
    for data in (*CLASSES, *NUMBERS):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            everything += measured(data)
        print(data, len(everything), flush=True)
        rows_of_json = ",\n".join(json.dumps(line) for line in everything)
        (RESULTS / "evaluation.json").write_text(f"[\n{rows_of_json}\n]\n")
        (RESULTS / "evaluation.md").write_text(as_table(everything))
