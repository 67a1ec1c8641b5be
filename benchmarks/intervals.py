"""How often intervals of coefficients cover, and what those that ignore the noise do.

    python benchmarks/intervals.py ridge       # results/intervals/ridge.json
    python benchmarks/intervals.py logistic    # results/intervals/logistic.json
    python benchmarks/intervals.py analyse     # results/intervals/table.md

Cells that are stored are not measured again; remove a file to begin anew.

Whole fits of made-up data, through the estimators. Features are uniform in [-1, 1], or on the unit
sphere; labels follow a linear model with uniform errors inside the declared range, or a logistic
model. Nominal level 0.95; delta is 1e-6, neighbours zero-out. A coefficient whose interval is
infinite counts as covered, and its share is reported. ``ignoring`` is the interval that a
statistics package would print for the same fit: sampling alone, about the released weights.
"""

from __future__ import annotations

import argparse
import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import expit
from sklearn.linear_model import LinearRegression, LogisticRegression

from discreet import Bounds, PrivateLogisticRegression, PrivateRidge

RESULTS = Path(__file__).resolve().parent / "results" / "intervals"
LEVEL, REACH = 0.95, 1.959964

CELLS = [
    ("ridge", "sufficient-statistics", n, p, epsilon, runs)
    for n, p, epsilon, runs in (
        (5000, 5, 0.5, 1000),
        (5000, 5, 1.0, 1000),
        (5000, 5, 8.0, 1000),
        (5000, 20, 1.0, 1000),
        (20_000, 20, 1.0, 200),
        (5000, 100, 1.0, 40),
        (20_000, 100, 4.0, 60),
    )
] + [
    ("logistic", algorithm, n, p, epsilon, runs)
    for algorithm in ("objective-perturbation", "noisy-gradient")
    for n, p, epsilon, runs in (
        (5000, 5, 1.0, 250),
        (20_000, 5, 1.0, 100),
        (5000, 20, 1.0, 200),
        (20_000, 20, 4.0, 100),
        (40_000, 100, 4.0, 40),
    )
]


def rows(random: np.random.Generator, n: int, p: int) -> tuple[Any, Bounds]:
    """Return rows of few features in a box, of many on a sphere, and what is declared of them."""
    if p <= 5:
        return random.uniform(-1, 1, (n, p)), Bounds(features=(-1, 1))
    X = random.normal(size=(n, p))
    return X / np.linalg.norm(X, axis=1, keepdims=True), Bounds(row_norm=1.0)


def one(model: str, algorithm: str, target: str, n: int, p: int, epsilon: float, run: int) -> Any:
    """Fit once and return what covered: the interval, the exact ones, the one ignoring noise."""
    random = np.random.default_rng([run, n, p, round(1000 * epsilon)])
    X, bounds = rows(random, n, p)
    slopes = np.random.default_rng(p).normal(size=p)
    slopes *= (1.0 if p <= 5 else np.sqrt(p)) / np.linalg.norm(slopes)
    truth = np.append(slopes, 0.3)
    if model == "ridge":
        slopes, truth = slopes / 3, truth / 3
        y = X @ slopes + 0.1 + random.uniform(-0.5, 0.5, n)
        reach = float(np.abs(slopes).sum() if p <= 5 else np.linalg.norm(slopes)) + 0.7
        declared = Bounds(features=bounds.features, row_norm=bounds.row_norm, label=(-reach, reach))
        kind: Any = PrivateRidge
        plain: Any = LinearRegression()
    else:
        y = (random.uniform(size=n) < expit(X @ slopes + 0.3)).astype(int)
        declared = Bounds(features=bounds.features, row_norm=bounds.row_norm, classes=(0, 1))
        kind, plain = PrivateLogisticRegression, LogisticRegression(C=np.inf, tol=1e-8)
    fitted = kind(
        epsilon=epsilon, delta=1e-6, algorithm=algorithm, inference=target, bounds=declared,
        random_state=int(random.integers(2**31)),  # noise of its own in every cell
    ).fit(X, y)  # fmt: skip
    found = fitted.inference_
    if target == "table":
        plain.fit(X, y)
        truth = np.append(plain.coef_, plain.intercept_)
    low, high = fitted.interval(LEVEL).T
    out = {"interval": float(((low <= truth) & (truth <= high)).mean())}
    out["infinite"] = float(bool(found.refusals))
    out["width"] = float(np.mean(high - low))
    if model == "ridge" and target == "table":
        ends = fitted.interval(LEVEL, exact=True)
        out["outer"] = float(((ends[:, 0] <= truth) & (truth <= ends[:, 1])).all())
        out["region"] = float(found.covers(truth, LEVEL))
    if target == "population" and not found.refusals:
        inverse = found._inverse * (found.error_variance * found.stretch**2 if model == "ridge"
                                    else 1.0)  # fmt: skip
        errors = np.sqrt(np.diagonal(found._map @ inverse @ found._map.T))
        centre = np.append(np.ravel(fitted.coef_), fitted.intercept_)
        out["ignoring"] = float((np.abs(centre - truth) <= REACH * errors).mean())
    return out


def measured(cell: Any, target: str) -> dict[str, Any]:
    """Return one line of the table."""
    model, algorithm, n, p, epsilon, runs = cell
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = [one(model, algorithm, target, n, p, epsilon, run) for run in range(runs)]
    line = {"model": model, "algorithm": algorithm, "target": target}
    line |= {"rows": n, "features": p, "epsilon": epsilon, "runs": runs}
    for name in ("interval", "infinite", "width", "region", "outer", "ignoring"):
        values = [f[name] for f in found if name in f and np.isfinite(f[name])]
        line[name] = round(float(np.mean(values)), 4) if values else None
    return line


def run(model: str) -> None:
    """Measure the cells of a model that are not stored yet, and write results as they come."""
    path = RESULTS / f"{model}.json"
    lines = json.loads(path.read_text()) if path.exists() else []
    keys = ("model", "algorithm", "rows", "features", "epsilon", "runs")
    for cell in (c for c in CELLS if c[0] == model):
        for target in ("table", "population"):
            done = [line["target"] for line in lines if tuple(line[k] for k in keys) == cell]
            if target not in done:
                lines.append(measured(cell, target))
                print(lines[-1], flush=True)
                path.write_text(json.dumps(lines, indent=1) + "\n")


def analyse() -> None:
    """Write the table of all that is stored."""
    lines = [
        line for path in sorted(RESULTS.glob("*.json")) for line in json.loads(path.read_text())
    ]
    heads = list(lines[0])
    text = ["| " + " | ".join(heads) + " |", "|" + "---|" * len(heads)]
    for line in lines:
        cells = ["–" if line[h] is None else str(line[h]) for h in heads]
        text.append("| " + " | ".join(cells) + " |")
    RESULTS.joinpath("table.md").write_text("\n".join(text) + "\n")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("step", choices=("ridge", "logistic", "analyse"))
    step = parser.parse_args().step
    if step == "analyse":
        analyse()
    else:
        run(step)
