"""How long the early-stopped descent should be, and how far its slopes should stay full.

``python benchmarks/descent_length.py run`` (some minutes) fits logistic regressions on artificial
problems with few rows for their budget, at several lengths of the descent, and writes
``results/descent_length.json``: for every length the excess of the logistic loss over the least of
the lengths tried, as geometric mean and worst over the problems. A length is named by its reach:
how far noise alone moves one weight, in units of one over the row norm. Then the same for the
margin up to which slopes stay full, with the reach that belongs to it, as excess over that of no
such margin, where noise is large and where it is small for each weight. ``REACH``, ``FLAT`` and
``FADES`` of ``early_stopping.py`` were chosen by trials of this kind on other draws of these laws.
"""

from __future__ import annotations

import json
import math
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression

from arguments import parser_of
from discreet.accounting import Budget
from discreet.algorithms import Problem
from discreet.algorithms.base import rows_against_noise
from discreet.algorithms.early_stopping import FADES, REACH, early_stopping
from discreet.data import ArraySource
from discreet.losses import CalibratedLogistic, Logistic
from discreet.noise import Seeded
from discreet.types import Bounds
from few_rows import LAWS, rows

SEEDS = 4
SIZES = ((2000, 5), (4000, 20), (8000, 60))
KINDS = (*LAWS, "one-hot")
REACHES = (0.75, 1.5, 2.25, 3.0, 4.5, 6.0, 9.0)
FLATS = (0.0, 0.25, 0.5, 1.0)


def one_hot(n: int, p: int, rng: np.random.Generator) -> np.ndarray:
    """Return rows of norm 1 that name one category of each of several columns."""
    blocks = np.array_split(np.arange(p), max(2, round(math.sqrt(p))))
    X = np.zeros((n, p))
    for block in blocks:
        chosen = rng.choice(block, size=n, p=rng.dirichlet(np.full(len(block), 0.7)))
        X[np.arange(n), chosen] = 1.0 / math.sqrt(len(blocks))
    return X


def excesses(law: str, n: int, p: int, epsilon: float, norm: float) -> dict[str, Any]:
    """Return the mean excess of one problem at every reach, and with every flat part."""
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

    def excess(reach: float, flat: float | None = None) -> float:
        plan = early_stopping(problem, budget, norm_guess=reach * math.sqrt(p))
        assert plan is not None
        if flat is not None:
            assert isinstance(plan.problem.loss, CalibratedLogistic)
            loss = replace(plan.problem.loss, flat=flat)
            plan = plan.config.plan(replace(plan.problem, loss=loss), budget)
        fits = [plan.run(source, Seeded(seed)).weights for seed in range(SEEDS)]
        return float(np.mean([risk(w) for w in fits])) - best

    return {
        "rows": law,
        "n": n,
        "p": p,
        "epsilon": epsilon,
        "norm": norm,
        "rows against noise, for each weight": rows_against_noise(problem, budget) / p,
        "excess": {str(reach): excess(reach) for reach in REACHES},
        "excess with a flat part": {str(f): excess(REACH * (1.0 + f), f) for f in FLATS},
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
    logs, flat = logarithms(table, "excess"), logarithms(table, "excess with a flat part")
    each = np.array([row["rows against noise, for each weight"] for row in table])
    summary = {
        "excess over the least": summarised(logs - logs.min(axis=1, keepdims=True), REACHES),
        "excess with a flat part over that without": {
            where: summarised((flat - flat[:, :1])[chosen], FLATS)
            for where, chosen in (
                (f"rows against noise, for each weight, below {FADES:g}", each < FADES),
                ("others", each >= FADES),
            )
        },
    }
    result = summary | {"seeds": SEEDS, "problems": table}
    path = Path(__file__).resolve().parent / "results" / "descent_length.json"
    path.write_text(json.dumps(result, indent=1) + "\n")
    print(json.dumps(summary, indent=1))


if __name__ == "__main__":
    parser_of(__doc__).parse_args()
    main()
