"""Logistic regression with many rows: what fitting the length of the weights at the end changes.

``python benchmarks/weights_length.py run`` (some minutes) fits the default with and without its
line search, which changes the length of the weights only where that is clear, on artificial
problems with the laws of rows of ``few_rows.py``, one-hot blocks, and rows whose columns hardly
vary beside an intercept. Labels follow a logistic model, or one with a bend and two hundredths of
the labels flipped. It writes ``results/weights_length.json``: the mean excess of the logistic
loss over that of an unpenalised fit. Constants of ``line_search_estimates.py`` were chosen on
other draws of these laws, without the narrow rows.
"""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from arguments import parser_of
from discreet.accounting import Budget
from discreet.algorithms import RecentredPerturbation
from discreet.algorithms.gradient import NoisyGradientPlan
from discreet.bounds import Bounds
from discreet.data import ArraySource
from discreet.defaults import recommend
from discreet.losses import Logistic
from discreet.noise import Seeded
from discreet.problem import Problem
from few_rows import LAWS as ROUND
from few_rows import best_risk, one_hot, risk, rows

SEEDS = 2
DESCENTS = ((3_000, 3), (10_000, 10), (20_000, 10), (20_000, 30))
PERTURBATIONS = ((60_000, 8),)
REPLACED = ((20_000, 10), (60_000, 8))
NORMS = (5.0, 120.0)
LAWS = (*ROUND, "one-hot", "narrow")
SMALL = 1e-4
"""Excess that is as good as none, in ratios."""


def narrow(n: int, p: int, rng: np.random.Generator) -> np.ndarray:
    """Return columns within a tenth of one half beside an intercept, of norm at most 1."""
    X = np.column_stack([rng.uniform(0.4, 0.6, (n, p - 1)), np.ones(n)])
    return X / np.linalg.norm(X, axis=1).max()


def labelled(
    law: str, n: int, p: int, norm: float, *, bent: bool, neighbours: str
) -> tuple[np.ndarray, np.ndarray]:
    """Return rows of a law and labels of a logistic model, or of a wrong one."""
    key = [n, p, LAWS.index(law), round(norm), bent, neighbours == "replace-one", 1]
    rng = np.random.default_rng(key)
    made = {"one-hot": one_hot, "narrow": narrow}
    X = made[law](n, p, rng) if law in made else rows(law, n, p, rng)
    w = rng.normal(size=p)
    z = X @ (w * norm / np.linalg.norm(w))
    if law == "narrow":
        z -= z.mean()  # which the intercept makes up for
    if bent:
        z += norm / np.sqrt(p) * (np.abs(X @ rng.normal(size=p)) - 0.5)
    chance = 1.0 / (1.0 + np.exp(-z))
    return X, (rng.random(n) < (0.02 + 0.96 * chance if bent else chance)).astype(int)


def plans(n: int, p: int, neighbours: Any) -> tuple[Any, Any]:
    """Return the default with its line search and without, for the whole budget both."""
    bounds, budget = Bounds(row_norm=1.0, classes=(0, 1)), Budget(1.0, 1e-6)
    problem = Problem(loss=Logistic(), bounds=bounds, n_features=p, n_rows=n, neighbours=neighbours)
    plan = recommend(problem, budget)
    if isinstance(plan, NoisyGradientPlan):
        assert plan.config.conservative
        without = replace(plan.config, line_search=0, conservative=False)
        return plan, without.plan(plan.problem, budget)
    both = RecentredPerturbation(), RecentredPerturbation(line_search=0)
    return both[0].plan(problem, budget), both[1].plan(problem, budget)


def mean_risk(plan: Any, X: np.ndarray, y: np.ndarray) -> float:
    """Return the mean logistic loss of several runs."""
    fits = [plan.run(ArraySource(X, y), Seeded(seed)).weights for seed in range(SEEDS)]
    return float(np.mean([risk(X, y, np.ravel(w)) for w in fits]))


def compare(n: int, p: int, neighbours: str) -> list[dict[str, Any]]:
    """Return the mean excess with line search and without on every problem of one size."""
    table, (plan, without) = [], plans(n, p, neighbours)
    for law, norm, bent in product(LAWS, NORMS, (False, True)):
        X, y = labelled(law, n, p, norm, bent=bent, neighbours=neighbours)
        best = best_risk(X, y, tol=1e-7)
        table.append(
            {
                "algorithm": plan.facts()["algorithm"],
                "neighbours": neighbours,
                "rows": law,
                "n": n,
                "p": p,
                "norm": norm,
                "model": "wrong" if bent else "right",
                "non-private risk": best,
                "excess": mean_risk(plan, X, y) - best,
                "without looks": mean_risk(without, X, y) - best,
            }
        )
        print(table[-1], flush=True)
    return table


def summary(table: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return how both compare, for every algorithm, model and norm."""
    out = []
    keys = ("algorithm", "model", "norm")
    for facts in dict.fromkeys(tuple(row[k] for k in keys) for row in table):
        mine = [row for row in table if tuple(row[k] for k in keys) == facts]
        pairs = np.array([[row["excess"], row["without looks"]] for row in mine])
        ours, without = np.maximum(pairs, 0.0).T + SMALL
        ratios = ours / without
        out.append(
            dict(zip(keys, facts, strict=True))
            | {
                "problems": len(mine),
                "mean excess": float(pairs[:, 0].mean()),
                "mean without looks": float(pairs[:, 1].mean()),
                "ratio, geometric mean": float(np.exp(np.log(ratios).mean())),
                "largest ratio": float(ratios.max()),
            }
        )
    return out


def main() -> None:
    """Measure, print and store."""
    table = []
    for n, p in DESCENTS + PERTURBATIONS:
        table += compare(n, p, "zero-out")
    for n, p in REPLACED:
        # A replaced row takes twice the noise, and so twice the rows.
        table += compare(2 * n, p, "replace-one")
    found = {"seeds": SEEDS, "epsilon": 1.0, "delta": 1e-6, "summary": summary(table)}
    print(json.dumps(found, indent=1))
    path = Path(__file__).resolve().parent / "results" / "weights_length.json"
    path.write_text(json.dumps(found | {"table": table}, indent=1) + "\n")


if __name__ == "__main__":
    parser_of(__doc__).parse_args()
    main()
