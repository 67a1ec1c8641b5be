"""How long the early-stopped descent should be.

``python benchmarks/descent_length.py run`` (some minutes) fits logistic regressions on artificial
problems with few rows for their budget, at several lengths of the descent, and writes
``results/descent_length.json``: for every length the excess of the logistic loss over the least of
the lengths tried, as geometric mean and worst over the problems. A length is named by its reach:
how far noise alone moves one weight, in units of one over the row norm. ``REACH`` of
``early_stopping.py`` was chosen by trials of this kind on other draws of these laws.
"""

from __future__ import annotations

import json
import math
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression

from arguments import parser_of
from discreet.accounting import Budget
from discreet.bounds import Bounds
from discreet.data import ArraySource
from discreet.defaults import Asked, recommend
from discreet.losses import Logistic
from discreet.noise import Seeded
from discreet.problem import Problem
from few_rows import LAWS, rows

SEEDS = 4
SIZES = ((2000, 5), (4000, 20), (8000, 60))
KINDS = (*LAWS, "one-hot")
REACHES = (0.75, 1.5, 2.25, 3.0, 4.5, 6.0, 9.0)


def one_hot(n: int, p: int, rng: np.random.Generator) -> np.ndarray:
    """Return rows of norm 1 that name one category of each of several columns."""
    blocks = np.array_split(np.arange(p), max(2, round(math.sqrt(p))))
    X = np.zeros((n, p))
    for block in blocks:
        chosen = rng.choice(block, size=n, p=rng.dirichlet(np.full(len(block), 0.7)))
        X[np.arange(n), chosen] = 1.0 / math.sqrt(len(blocks))
    return X


def excesses(law: str, n: int, p: int, epsilon: float, norm: float) -> dict[str, Any]:
    """Return the mean excess of one problem at every reach."""
    rng = np.random.default_rng([n, p, round(10 * epsilon), round(norm), KINDS.index(law)])
    X = one_hot(n, p, rng) if law == "one-hot" else rows(law, n, p, rng)
    weights = rng.normal(size=p)
    weights *= norm / np.linalg.norm(weights)
    y = (rng.random(n) < 1.0 / (1.0 + np.exp(-X @ weights))).astype(int)

    def risk(w: np.ndarray) -> float:
        return float(np.logaddexp(0.0, -(2 * y - 1) * (X @ np.ravel(w))).mean())

    best = risk(LogisticRegression(C=1e4, fit_intercept=False, max_iter=1000).fit(X, y).coef_)
    bounds = Bounds(row_norm=1.0, classes=(0, 1))
    problem = Problem(loss=Logistic(), bounds=bounds, n_features=p, n_rows=n)
    budget, source = Budget(epsilon, 1e-6), ArraySource(X, y)

    def excess(reach: float) -> float:
        plan = recommend(problem, budget, Asked(norm_guess=reach * math.sqrt(p)))
        fits = [plan.run(source, Seeded(seed)).weights for seed in range(SEEDS)]
        return float(np.mean([risk(w) for w in fits])) - best

    return {
        "rows": law,
        "n": n,
        "p": p,
        "epsilon": epsilon,
        "norm": norm,
        "excess": {str(reach): excess(reach) for reach in REACHES},
    }


def summarised(logs: np.ndarray, names: tuple[float, ...]) -> dict[str, Any]:
    """Return geometric mean and worst of every column of logarithms."""
    return {
        str(name): {
            "geometric mean": float(np.exp(column.mean())),
            "worst": float(np.exp(column.max())),
        }
        for name, column in zip(names, logs.T, strict=True)
    }


def logarithms(table: list[dict[str, Any]], key: str) -> np.ndarray:
    """Return the logarithm of every excess."""
    return np.log([[max(e, 1e-9) for e in row[key].values()] for row in table])


def main() -> None:
    """Measure, print and store."""
    table = []
    for law, (n, p), epsilon, norm in product(KINDS, SIZES, (0.3, 1.0), (4.0, 16.0)):
        table.append(excesses(law, n, p, epsilon, norm))
        print(table[-1], flush=True)
    logs = logarithms(table, "excess")
    least = logs.min(axis=1, keepdims=True)
    summary = {"excess over the least": summarised(logs - least, REACHES)}
    result = summary | {"seeds": SEEDS, "problems": table}
    path = Path(__file__).resolve().parent / "results" / "descent_length.json"
    path.write_text(json.dumps(result, indent=1) + "\n")
    print(json.dumps(summary, indent=1))


if __name__ == "__main__":
    parser_of(__doc__).parse_args()
    main()
