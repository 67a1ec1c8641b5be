"""Private scores of models of raw tables beside their true ones.

    python benchmarks/evaluation_tables.py run    # results/evaluation_tables.json and .md

The models are those of ``tables.py``: seven public files, five splits, epsilon 1, delta 1e-6, the
schema of ``schemas/`` and no setting besides. Each is evaluated on the lines that it was not fitted
to, at epsilon 1, all metrics in one release: in Python, and by ``discreet evaluate`` with the same
seed. ``true`` is the score of the same lines without noise, by scikit-learn on what the model
predicts, and ``released`` the private one, both as means over the splits with a private value;
``none`` counts those where noise leaves none. ``off`` is their mean distance, ``width`` that of the
intervals of level 0.95, and ``holds`` says how many of five hold the true score; they count
sampling too, so nearly all should. Log-loss and errors are clipped in both as ``evaluate`` says.
``same`` says whether Python and shell released the same numbers.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from sklearn import metrics as sk

from arguments import parser_of
from discreet import Schema, evaluate
from problems import data_directory
from tables import BUDGET, HERE, SPLITS, TABLES, Table, frame_of, in_python, split

RESULTS = HERE / "results" / "evaluation_tables.json"
OF_CLASSES = ("accuracy", "balanced_accuracy", "precision", "recall", "f1", "auc", "log_loss")
OF_NUMBERS = ("mse", "mae", "r2")


def true_scores(y: Any, said: Any, chance: Any, reach: float) -> dict[str, float]:
    """Return the scores without noise; labels are 0 and 1, or numbers of that range."""
    if chance is None:
        error = np.clip(said - y, -reach, reach)
        square = float(np.mean(error**2))
        return {"mse": square, "mae": float(np.abs(error).mean()), "r2": 1 - square / np.var(y)}
    return {
        "accuracy": sk.accuracy_score(y, said),
        "balanced_accuracy": sk.balanced_accuracy_score(y, said),
        "precision": sk.precision_score(y, said, zero_division=0),
        "recall": sk.recall_score(y, said),
        "f1": sk.f1_score(y, said),
        "auc": sk.roc_auc_score(y, chance),
        "log_loss": sk.log_loss(y, np.clip(chance, 0.01, 0.99)),
    }


def by_shell(model: Path, test: Path, table: Table, asked: Any, seed: int) -> dict[str, Any]:
    """Return what ``discreet evaluate`` writes."""
    out = model.with_name("scores.json")
    said = [] if table.header is None else ["--header", table.header]
    command = ["evaluate", model, test, *said, "--epsilon", 1, "--metrics", ",".join(asked)]
    command += ["--out", out, "--seed", seed, "--quiet"]
    out.unlink(missing_ok=True)
    words = [sys.executable, "-m", "discreet", *map(str, command)]
    subprocess.run(words, check=True, capture_output=True)
    found: dict[str, Any] = json.loads(out.read_text())
    return found


def one_split(name: str, table: Table, lines: list[str], seed: int, folder: Path) -> Any:
    """Return for every metric the true score, the released one and the ends of its interval."""
    train, test = split(table, lines, seed, folder)
    file = HERE / "schemas" / f"{name}.toml"
    said, chance, model = in_python(train, test, table, file, seed)
    schema, frame = Schema.from_toml(file), frame_of(test, table)
    labels = schema.encode(frame, table.target, labelled=True)[1]
    if chance is None:
        (low, high), y = model.bounds_.label, labels
        y = np.clip(y, low, high)
        there, asked = np.isfinite(y), OF_NUMBERS
        true = true_scores(y[there], said[there], None, high - low)
    else:
        there, asked = np.isin(labels, model.classes_), OF_CLASSES
        true = true_scores(labels[there] == model.classes_[1], said[there], chance[there], 0.0)
    result = evaluate(model, frame, metrics=asked, **BUDGET, random_state=seed)
    model.save(folder / "model.json")
    shell = by_shell(folder / "model.json", test, table, asked, seed)
    found, same = {}, True
    for metric in asked:
        private = getattr(result, metric)
        found[metric] = (true[metric], private.value, private.low, private.high)
        same &= shell["metrics"][metric] == private.to_dict()
    return found, same, int(there.sum())


def measured(name: str, table: Table, lines: list[str]) -> list[dict[str, Any]]:
    """Return the lines of one table."""
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        runs = [one_split(name, table, lines, seed, Path(folder)) for seed in range(SPLITS)]
    out = []
    for metric in runs[0][0]:
        true, value, low, high = np.array([found[metric] for found, _, _ in runs]).T
        line: dict[str, Any] = {"table": name, "rows": runs[0][2], "metric": metric}
        known = np.isfinite(value)
        for said, of in (("true", true), ("released", value), ("off", np.abs(value - true)),
                         ("width", high - low)):  # fmt: skip
            line[said] = float(f"{of[known].mean():.4g}") if known.any() else None
        line["holds"], line["none"] = (
            int(((low <= true) & (true <= high)).sum()),
            int((~known).sum()),
        )
        line["same"] = all(same for _, same, _ in runs)
        out.append(line)
    return out


def as_table(lines: list[dict[str, Any]]) -> str:
    """Return the results as a table of Markdown."""
    heads = list(lines[0])
    text = ["| " + " | ".join(heads) + " |", "|" + "---|" * len(heads)]
    for line in lines:
        cells = ["–" if line[h] is None else str(line[h]) for h in heads]
        text.append("| " + " | ".join(cells) + " |")
    return "\n".join(text) + "\n"


if __name__ == "__main__":
    parser_of(__doc__).parse_args()
    everything: list[dict[str, Any]] = []
    for data, kept in sorted(TABLES.items(), key=lambda item: item[0] == "diabetes130"):  # last
        text_lines = kept.lines(data_directory())
        if text_lines is None:
            print(f"{data}: absent; skipped")
            continue
        everything += measured(data, kept, text_lines)
        print(data, len(everything), flush=True)
        joined = ",\n".join(json.dumps(line) for line in everything)
        RESULTS.write_text(f"[\n{joined}\n]\n")
        RESULTS.with_suffix(".md").write_text(as_table(everything))
