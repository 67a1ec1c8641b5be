"""How long to descend on losses with corners: what ``CORNER_PREDICTION`` was chosen on.

``python benchmarks/corner_steps.py choice`` writes ``results/corner_steps.json``: for artificial
problems (hinge, absolute and quantile loss; rows of equal norm, of decaying scales, of zeros and
ones; 2,000 to 100,000 rows, 3 to 60 features, weights of norm 2 to 30, epsilon 0.1 to 4) the excess
of noisy gradient for several values of ``CORNER_PREDICTION``, and that of objective perturbation
 on the better of two widths of smoothing, chosen in hindsight. ``--seed``
draws other problems. None of them is among those of ``noisy_gradient.py corners``.

``python benchmarks/corner_steps.py data`` compares the two on Adult (hinge), California housing and
diamonds (quantiles), as read by ``problems.py`` and ``ridge.py``; ``--data`` names the directory.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from discreet import Bounds
from discreet.accounting import Budget
from discreet.algorithms import NoisyGradient, ObjectivePerturbation
from discreet.algorithms.gradient import typical_steps
from discreet.data import ArraySource
from discreet.losses import Absolute, Hinge, HuberisedHinge, Loss, Quantile, SmoothedQuantile
from discreet.noise import Seeded
from discreet.problem import Problem
from problems import PROBLEMS, data_directory
from ridge import PROBLEMS as REGRESSIONS

RESULTS = Path(__file__).resolve().parent / "results"
DELTA = 1e-6
TRIED = (1.0, 1.5, 2.0, 3.0)
BUDGETS = ((0.1, 1.0), (0.25, 2.0), (0.5, 4.0))
MOST_WORK = 300_000


def rows_of(law: str, n: int, p: int, rng: np.random.Generator) -> np.ndarray:
    """Return rows of norm at most 1."""
    if law == "equal norms":
        X = rng.normal(size=(n, p))
        return X / np.linalg.norm(X, axis=1)[:, None]
    if law == "decaying scales":
        X = rng.normal(size=(n, p)) * (1.0 + np.arange(p)) ** -0.7
    else:
        X = (rng.random((n, p)) < np.linspace(0.05, 0.6, p)).astype(float)
    X /= np.quantile(np.linalg.norm(X, axis=1), 0.9)
    return X / np.maximum(1.0, np.linalg.norm(X, axis=1))[:, None]


def problems(seed: int, count: int) -> list[dict[str, Any]]:
    """Draw the public facts of the problems."""
    rng, out = np.random.default_rng(seed), []
    for i in range(count):
        n = int(round(2000 * 50 ** rng.random(), -2))
        p = round(3 * 20 ** rng.random())
        out.append(
            {
                "loss": ("hinge", "absolute", "hinge", "quantile", "hinge")[i % 5],
                "law": ("equal norms", "decaying scales", "zeros and ones")[i % 3],
                "rows": n,
                "features": max(3, min(p, MOST_WORK // n)),
                "norm behind the labels": 2 * 15 ** rng.random(),
                "quantile": float(rng.choice([0.1, 0.25, 0.8, 0.9])),
                "budgets": BUDGETS[i % 2 + i % 3 // 2],
                "seed": 1000 * seed + i,
            }
        )
    return out


def labels_of(facts: dict[str, Any], X: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return logistic classes, or clipped linear labels with heavy tails."""
    w = rng.normal(size=X.shape[1])
    z = X @ (w * facts["norm behind the labels"] / np.linalg.norm(w))
    if facts["loss"] == "hinge":
        return (rng.random(len(z)) < 1 / (1 + np.exp(z.mean() / 2 - z))).astype(int)
    spread = 0.4 * min(1.0, facts["norm behind the labels"] / 5) / z.std()
    return np.clip(spread * z + 0.25 * rng.standard_t(2.5, size=len(z)), -1, 1)


def least(loss: Loss, smoothed: Callable[[float], Loss], X: np.ndarray, y: np.ndarray) -> float:
    """Return the minimum of the sum of losses: Newton steps on ever sharper forms."""
    w, best, unit = np.zeros(X.shape[1]), np.inf, np.eye(X.shape[1])
    for width in 4 * 0.5 ** np.arange(13):
        form, damping = smoothed(width), 1e-6 * len(y)
        for _ in range(100):
            z = X @ w
            value, slope = form.value(z, y).sum(), X.T @ form.slope(z, y)
            hessian = (X * form.curvature(z, y)[:, None]).T @ X
            while True:
                step = np.linalg.solve(hessian + damping * unit, -slope)
                if form.value(X @ (w + step), y).sum() <= value + 0.1 * slope @ step:
                    break
                damping *= 4
                if damping > 1e6 * len(y):
                    step = np.zeros_like(w)
                    break
            if -slope @ step < 1e-9 * len(y):
                break
            w, damping = w + step, max(damping / 4, 1e-8 * len(y))
        best = min(best, float(loss.value(X @ w, y).sum()))
    return best


def on_data(directory: Path, runs: int) -> list[dict[str, Any]]:
    """Return the excess per row on public data, next to that of zero weights."""
    adult, out = PROBLEMS["adult"](directory), []
    cases: list[tuple[str, float | None, np.ndarray, np.ndarray]] = [
        ("adult", None, adult.X_train, adult.y_train)
    ]
    for name in ("california", "diamonds"):
        X, y = REGRESSIONS[name](directory)
        cases += [(name, q, X / np.sqrt(X.shape[1]), y) for q in (0.5, 0.9)]
    for name, quantile, X, raw in cases:
        n, p = X.shape
        full, intercept = (X, 0.0) if quantile is None else (np.c_[X, np.ones(n)], 1.0)
        loss: Loss = Hinge() if quantile is None else Quantile(quantile=quantile)
        y = raw if quantile is not None else 2.0 * raw - 1
        labels: Any = {"classes": (0, 1)} if quantile is None else {"label": (-1, 1)}
        shared: Any = {"bounds": Bounds(row_norm=1.0, **labels), "n_features": p, "n_rows": n}
        shared["intercept"] = intercept

        def smoothed(width: float, quantile: float | None = quantile) -> Loss:
            if quantile is None:
                return HuberisedHinge(width=width)
            return SmoothedQuantile(quantile=quantile, width=width)

        best = least(loss, smoothed, full, y) / n
        for epsilon in (0.5, 1.0, 4.0):
            budget = Budget(epsilon, DELTA)
            plans: dict[str, Any] = {
                "noisy gradient": NoisyGradient().plan(Problem(loss=loss, **shared), budget)
            }
            for h in (0.1, 0.5) if quantile is None else (0.05, 0.25):
                problem = Problem(loss=smoothed(h), **shared)
                plans[f"smoothed, width {h}"] = ObjectivePerturbation().plan(problem, budget)
            row: dict[str, Any] = {"data": name, "quantile": quantile, "epsilon": epsilon}
            row |= {"optimum": best, "zero": float(loss.value(np.zeros(n), y).mean()) - best}
            for method, plan in plans.items():
                found = [plan.run(ArraySource(X, raw), Seeded(s)).weights for s in range(runs)]
                row[method] = float(np.mean([loss.value(full @ w, y) for w in found])) - best
            out.append(row)
            print(row, flush=True)
    return out


def measure(facts: dict[str, Any], runs: int) -> list[dict[str, Any]]:
    """Return the excess per row of all settings, for both budgets of a problem."""
    n, p, rng = facts["rows"], facts["features"], np.random.default_rng(facts["seed"])
    X = rows_of(facts["law"], n, p, rng)
    raw = labels_of(facts, X, rng)
    quantile = 0.5 if facts["loss"] == "absolute" else facts["quantile"]
    if facts["loss"] == "hinge":
        loss: Loss = Hinge()
        bounds, y, widths = Bounds(row_norm=1.0, classes=(0, 1)), 2.0 * raw - 1, (0.1, 0.5)
    else:
        loss = Absolute() if facts["loss"] == "absolute" else Quantile(quantile=quantile)
        bounds, y, widths = Bounds(row_norm=1.0, label=(-1, 1)), raw, (0.05, 0.25)

    def smoothed(width: float) -> Loss:
        if facts["loss"] == "hinge":
            return HuberisedHinge(width=width)
        return SmoothedQuantile(quantile=quantile, width=width)

    def excess(plan: Any) -> float:
        source = ArraySource(X, raw)
        found = [X @ plan.run(source, Seeded(s)).weights for s in range(runs)]
        return (float(np.mean([loss.value(z, y).sum() for z in found])) - best) / n

    best, out = least(loss, smoothed, X, y), []
    shared: dict[str, Any] = {"bounds": bounds, "n_features": p, "n_rows": n}
    for epsilon in facts["budgets"]:
        budget = Budget(epsilon, DELTA)
        row = {k: v for k, v in facts.items() if k != "budgets"} | {"epsilon": epsilon}
        rivals = [
            excess(ObjectivePerturbation().plan(Problem(loss=smoothed(h), **shared), budget))
            for h in widths
        ]
        row["smoothed"] = min(rivals)
        for value in TRIED:
            typical_steps.CORNER_PREDICTION = value
            plan = NoisyGradient().plan(Problem(loss=loss, **shared), budget)
            row[f"prediction {value:g}"] = excess(plan)
        out.append(row)
        print(row, flush=True)
    return out


def summary(table: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return how each setting compares with the smoothed form, by kind of loss."""
    out = []
    for kind, names in {"hinge": ("hinge",), "others": ("absolute", "quantile")}.items():
        mine = [row for row in table if row["loss"] in names]
        for value in TRIED:
            ratio = np.array([row[f"prediction {value:g}"] / row["smoothed"] for row in mine])
            out.append(
                {
                    "losses": kind,
                    "prediction": value,
                    "cases": len(mine),
                    "geometric mean of excess over smoothed": float(
                        np.exp(np.log(np.maximum(ratio, 1e-3)).mean())
                    ),
                    "cases with more excess": int((ratio > 1).sum()),
                    "worst": float(ratio.max()),
                }
            )
    return out


def main() -> None:
    """Parse the command line and write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("part", choices=("choice", "data"))
    parser.add_argument("--data", help="directory of the data sets (or DISCREET_DATA)")
    parser.add_argument("--problems", type=int, default=25)
    parser.add_argument("--runs", type=int, default=2)
    parser.add_argument("--seed", type=int, default=4)
    args = parser.parse_args()
    path = RESULTS / "corner_steps.json"
    result = json.loads(path.read_text()) if path.exists() else {}
    if args.part == "data":
        result["data"] = on_data(data_directory(args.data), args.runs)
    else:
        drawn = problems(args.seed, args.problems)
        result["problems"] = [row for facts in drawn for row in measure(facts, args.runs)]
        result["summary"] = summary(result["problems"])
        for line in result["summary"]:
            print(line)
    path.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
