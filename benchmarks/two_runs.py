"""Logistic regression with rows in plenty: objective perturbation once and twice.

``python benchmarks/two_runs.py run`` fits both on artificial problems with the laws of rows of
``few_rows.py`` and writes ``results/two_runs.json``: the mean excess of the logistic loss over
that of an unpenalised fit, over the same seeds for both, and which one the default is. Other draws
of these laws were used to choose where the default runs twice. The length of the weights is not
fitted here; ``weights_length.py`` shows what that changes.
"""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from arguments import parser_of
from discreet import Bounds, PrivateLogisticRegression
from discreet.algorithms import RecentredPerturbation
from few_rows import LAWS, best_risk, labelled, mean_risk

SEEDS = 6
SIZES = ((100_000, 10), (100_000, 30), (200_000, 100))
EPSILONS = (0.5, 1.0, 3.0)
NORMS = (4.0, 12.0, 40.0)
ONCE, TWICE = "objective-perturbation", "recentred-perturbation"


def compare(law: str, n: int, p: int, norm: float, neighbours: str, draw: int) -> list[Any]:
    """Return the mean excess of both at every epsilon on one problem."""
    key = [n, p, LAWS.index(law), round(norm), draw]
    X, y = labelled(law, n, p, (norm,), np.random.default_rng(key))
    best = best_risk(X, y, tol=1e-6)
    table = []
    for epsilon in EPSILONS:
        out = {"rows": law, "n": n, "p": p, "norm": norm, "epsilon": epsilon}
        seeds = np.random.default_rng([*key, round(10 * epsilon)]).integers(2**31, size=SEEDS)
        budget = {"epsilon": epsilon, "delta": 1e-6, "neighbours": neighbours}
        for name, algorithm in ((ONCE, ONCE), (TWICE, RecentredPerturbation(line_search=0))):
            out[name] = mean_risk(X, y, seeds, algorithm=algorithm, **budget) - best
        bounds = Bounds(row_norm=1.0, classes=(0, 1))
        model = PrivateLogisticRegression(bounds=bounds, fit_intercept=False, **budget)
        default = model.plan(n_features=p, n_rows=n)
        out["default"] = default.facts()["algorithm"]
        table.append(out)
        print(out, flush=True)
    return table


def summary(table: list[Any]) -> dict[str, Any]:
    """Return how the excess of two runs compares where the default has two, and one."""
    found: dict[str, Any] = {}
    for default in sorted({row["default"] for row in table}):
        ratios = np.array([row[TWICE] / row[ONCE] for row in table if row["default"] == default])
        found[f"default {default}"] = {
            "problems": len(ratios),
            "two runs have the smaller excess in": int(np.sum(ratios < 1.0)),
            "geometric mean of their excess over that of one run": float(
                np.exp(np.log(ratios).mean())
            ),
            "smallest": float(ratios.min()),
            "largest": float(ratios.max()),
        }
    return found


def main() -> None:
    """Measure all problems and store."""
    parser = parser_of(__doc__)
    parser.add_argument("--draw", type=int, default=1, help="which draw of the problems")
    parser.add_argument("--out", type=Path, help="where to write; results/two_runs.json if not set")
    given = parser.parse_args()
    settings = []
    for neighbours in ("zero-out", "replace-one"):
        table: list[Any] = []
        for law, (n, p), norm in product(LAWS, SIZES, NORMS):
            table += compare(law, n, p, norm, neighbours, given.draw)
        settings.append({"neighbours": neighbours, "summary": summary(table), "table": table})
        print(neighbours, json.dumps(settings[-1]["summary"], indent=1))
    found = {"seeds": SEEDS, "delta": 1e-6, "draw": given.draw, "settings": settings}
    path = Path(__file__).resolve().parent / "results" / "two_runs.json"
    (given.out or path).write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
