"""Ridge and Huber regression by default against objective perturbation, on artificial problems.

``python benchmarks/descent_choice.py run`` fits both and writes ``results/descent_choice.json``:
the mean excess squared error over that of least squares, on the rows fitted. Where the default is
a descent (``defaults/rules.py``) and where it is not was chosen on other draws, other sizes and
mostly other laws of rows and errors.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from arguments import parser_of
from discreet import Bounds, PrivateHuberRegressor, PrivateRidge
from discreet.tuned.defaults import REGIONS

SEEDS = 5
SIZES = ((400, 4), (1500, 12), (6000, 4), (6000, 40), (25_000, 12))
EPSILONS = (0.2, 1.0, 4.0)
LAWS = ("alike", "graded", "blocks")
MODELS = {"ridge": PrivateRidge, "huber": PrivateHuberRegressor}
RELATIONS = ("zero-out", "replace-one")
BOUNDS = Bounds(features=(-1, 1), label=(-1, 1))


def drawn(law: str, n: int, p: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Return rows in a box, and labels that follow them more or less."""
    X = rng.beta(2.0, 2.0, size=(n, p)) * 2.0 - 1.0
    if law == "graded":
        X *= np.geomspace(1.0, 0.1, p)
    if law == "blocks":  # one-hot
        X = 1.0 * (rng.integers(0, 4, size=(n, -(-p // 4), 1)) == np.arange(4))
        X = X.reshape(n, -1)[:, :p]
    signal = X @ rng.normal(size=p)
    signal *= rng.choice([0.1, 0.4]) / signal.std()
    y = rng.uniform(-0.3, 0.3) + signal - signal.mean() + 0.15 * rng.laplace(size=n)
    return X, np.clip(y, -1.0, 1.0)


def squared(model: Any, X: np.ndarray, y: np.ndarray) -> float:
    """Return the mean squared error."""
    return float(np.mean((model.predict(X) - y) ** 2))


def compare(name: str, law: str, n: int, p: int, epsilon: float, neighbours: str) -> dict[str, Any]:
    """Return the mean excess of both on one problem."""
    point = [len(name), LAWS.index(law), n, p, round(10 * epsilon), RELATIONS.index(neighbours)]
    rng = np.random.default_rng([7, *point])
    X, y = drawn(law, n, p, rng)
    A = np.column_stack([X, np.ones(n)])
    best = float(np.mean((A @ np.linalg.lstsq(A, y, rcond=None)[0] - y) ** 2))
    out: dict[str, Any] = {"model": name, "law": law, "n": n, "p": p, "epsilon": epsilon}
    out["relation"] = neighbours
    seeds = rng.integers(2**31, size=SEEDS)
    for algorithm in ("auto", "objective-perturbation"):
        settings = {"epsilon": epsilon, "bounds": BOUNDS, "neighbours": neighbours}
        made = [
            MODELS[name](**settings, algorithm=algorithm, random_state=int(seed)).fit(X, y)
            for seed in seeds
        ]
        out[algorithm] = float(np.mean([squared(model, X, y) for model in made])) - best
        out[f"{algorithm} took"] = made[0].algorithm_
    out["constant"] = float(np.var(y)) - best
    return out


def summary(table: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """Return how the excess compares where the default is a descent."""
    rows = [row for row in table if row["auto took"] == "noisy-gradient"]
    ratios = np.array([row["auto"] / row["objective-perturbation"] for row in rows])
    return {
        "problems with a descent": len(rows),
        "it has the smaller excess in": int(np.sum(ratios < 1.0)),
        "geometric mean of its excess over the other's": float(np.exp(np.log(ratios).mean())),
        "largest": float(ratios.max()),
        "a constant has the smaller excess in": sum(r["constant"] < r["auto"] for r in rows),
        "and than objective perturbation's in": sum(
            r["constant"] < r["objective-perturbation"] for r in rows
        ),
    }


def main() -> None:
    """Compare on every problem and store."""
    table = []
    for name, law, (n, p), epsilon, relation in product(MODELS, LAWS, SIZES, EPSILONS, RELATIONS):
        table.append(compare(name, law, n, p, epsilon, relation))
        print(table[-1], flush=True)
    found = {name: summary(row for row in table if row["model"] == name) for name in MODELS}
    print(json.dumps(found, indent=1))
    facts = {
        "seeds": SEEDS,
        "rows against noise": [REGIONS[0].below, REGIONS[2].below],
        "summary": found,
    }
    path = Path(__file__).resolve().parent / "results" / "descent_choice.json"
    path.write_text(json.dumps(facts | {"table": table}, indent=1) + "\n")


if __name__ == "__main__":
    parser_of(__doc__).parse_args()
    main()
