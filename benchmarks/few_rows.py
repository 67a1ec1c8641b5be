"""Logistic regression with few rows for its budget: the default against objective perturbation.

``python benchmarks/few_rows.py run`` fits both on artificial problems and writes
``results/few_rows.json``: the mean excess of the logistic loss over that of an unpenalised fit,
over seeds that differ between problems. The problems played no part in choosing the constants of
the default with a delta; others with the same laws of rows did (notes/logistic.md). Those of the
default without one (where and how far slopes are capped, how long weights may be) were chosen
on them.
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
from discreet import Bounds, PrivateLogisticRegression

SEEDS = 8
SIZES = ((1000, 5), (3000, 20), (10_000, 5), (10_000, 60), (30_000, 30))
LAWS = ("alike", "graded", "binary")
NORMS = (4.0, 8.0, 16.0)
WEAK = (1.0, 2.0)
SETTINGS = (
    (1e-6, "zero-out", NORMS),
    (1e-6, "zero-out", WEAK),
    (0.0, "zero-out", NORMS),
    (0.0, "replace-one", NORMS),
)


def one_hot(n: int, p: int, rng: np.random.Generator) -> np.ndarray:
    """Return rows of norm 1 that name one category of each of several columns."""
    blocks = np.array_split(np.arange(p), max(2, round(math.sqrt(p))))
    X = np.zeros((n, p))
    for block in blocks:
        chosen = rng.choice(block, size=n, p=rng.dirichlet(np.full(len(block), 0.7)))
        X[np.arange(n), chosen] = 1.0 / math.sqrt(len(blocks))
    return X


def rows(law: str, n: int, p: int, rng: np.random.Generator) -> np.ndarray:
    """Return rows of norm at most 1: columns alike, of falling size, or rare zeros and ones."""
    X = rng.normal(size=(n, p))
    if law == "graded":
        X *= np.linspace(1.0, 0.1, p)
    if law == "binary":
        X = 1.0 * (rng.random((n, p)) < rng.uniform(0.02, 0.5, p))
    X /= 1.1 * np.sqrt((X**2).sum(axis=1).mean())
    return X / np.maximum(1.0, np.linalg.norm(X, axis=1))[:, None]


def labelled(
    law: str, n: int, p: int, norms: tuple[float, ...], rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Return rows and labels of a logistic model whose weights have one of the norms."""
    X, weights = rows(law, n, p, rng), rng.normal(size=p)
    weights *= rng.choice(norms) / np.linalg.norm(weights)
    return X, (rng.random(n) < 1.0 / (1.0 + np.exp(-X @ weights))).astype(int)


def risk(X: np.ndarray, y: np.ndarray, w: np.ndarray) -> float:
    """Return the mean logistic loss."""
    return float(np.logaddexp(0.0, -(2 * y - 1) * (X @ w)).mean())


def best_risk(X: np.ndarray, y: np.ndarray, **settings: Any) -> float:
    """Return the risk of an unpenalised fit, but for 1e-4 of a ridge."""
    fitted = LogisticRegression(C=1e4, fit_intercept=False, max_iter=1000, **settings).fit(X, y)
    return risk(X, y, np.ravel(fitted.coef_))


def mean_risk(X: np.ndarray, y: np.ndarray, seeds: np.ndarray, **settings: Any) -> float:
    """Return the mean risk of private fits with these settings."""
    found = []
    for seed in seeds:
        model = PrivateLogisticRegression(
            bounds=Bounds(row_norm=1.0, classes=(0, 1)),
            fit_intercept=False,
            random_state=int(seed),
            **settings,
        ).fit(X, y)
        found.append(risk(X, y, np.ravel(model.coef_)))
    return float(np.mean(found))


def compare(
    law: str,
    n: int,
    p: int,
    epsilon: float,
    delta: float,
    neighbours: str,
    norms: tuple[float, ...],
) -> dict[str, Any]:
    """Return the mean excess of both, and of weights that are zero, on one problem."""
    rng = np.random.default_rng([n, p, LAWS.index(law)])
    X, y = labelled(law, n, p, norms, rng)
    best = best_risk(X, y)
    seeds = np.random.default_rng([n, p, LAWS.index(law), round(10 * epsilon)]).integers(
        2**31, size=SEEDS
    )
    out: dict[str, Any] = {"rows": law, "n": n, "p": p, "epsilon": epsilon}
    for algorithm in ("auto", "objective-perturbation"):
        settings = {"delta": delta, "neighbours": neighbours, "algorithm": algorithm}
        out[algorithm] = mean_risk(X, y, seeds, epsilon=epsilon, **settings) - best
    out["zero"] = risk(X, y, np.zeros(p)) - best
    return out


def measure(delta: float, neighbours: str, norms: tuple[float, ...]) -> dict[str, Any]:
    """Compare on every problem."""
    table = []
    for law, (n, p), epsilon in product(LAWS, SIZES, (0.2, 1.0)):
        table.append(compare(law, n, p, epsilon, delta, neighbours, norms))
        print(table[-1], flush=True)
    ratios = np.array([row["auto"] / row["objective-perturbation"] for row in table])
    summary = {
        "problems": len(table),
        "the default has the smaller excess in": int(np.sum(ratios < 1.0)),
        "it is objective perturbation itself in": int(np.sum(ratios == 1.0)),
        "median of its excess over the other's": float(np.median(ratios)),
        "largest": float(np.max(ratios)),
        "weights of zero have the smaller excess in": sum(r["zero"] < r["auto"] for r in table),
        "and than objective perturbation's in": sum(
            r["zero"] < r["objective-perturbation"] for r in table
        ),
    }
    print(delta, neighbours, norms, summary)
    setting = {"delta": delta, "neighbours": neighbours, "norms of good weights": norms}
    return setting | {"summary": summary, "table": table}


def main() -> None:
    """Measure all settings and store."""
    found = {"seeds": SEEDS, "settings": [measure(*setting) for setting in SETTINGS]}
    path = Path(__file__).resolve().parent / "results" / "few_rows.json"
    path.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    parser_of(__doc__).parse_args()
    main()
