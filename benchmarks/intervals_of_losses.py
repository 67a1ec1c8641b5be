"""How often intervals of other losses cover, where labels follow no model of the loss.

    python benchmarks/intervals_of_losses.py run    # results/intervals/losses.json

Cells that are stored are not measured again; remove the file to begin anew. ``intervals.py
analyse`` writes the table of all results.

The population is a fixed pool of rows, and a table is drawn from it with replacement. So the
coefficients of least expected loss are those of the pool, found by a minimiser of scipy that
shares no code with the fits. Errors of numbers grow along the first feature, counts vary more than
those of a Poisson law, and the chance of a class is no logistic function of a line: for the hinge
it jumps, for the logistic loss it is high at both ends of a feature. Nominal level
0.95; delta is 1e-6, neighbours zero-out. ``ignoring`` counts sampling alone, about the released
weights. A coefficient whose interval is infinite counts as covered.
"""

from __future__ import annotations

import json
import warnings
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit

from arguments import parser_of
from discreet import (
    Bounds,
    PrivateHuberRegressor,
    PrivateLinearSVC,
    PrivateLogisticRegression,
    PrivatePoissonRegressor,
    PrivateSGDRegressor,
)
from discreet.losses import Huber, HuberisedHinge, Logistic, Poisson, SmoothedQuantile

RESULTS = Path(__file__).resolve().parent / "results" / "intervals" / "losses.json"
LEVEL, REACH, POOL, FEATURES = 0.95, 1.959964, 200_000, 3
BOX: dict[str, Any] = {"features": (-1, 1)}
QUANTILE = SmoothedQuantile(quantile=0.7, width=0.5)

MODELS: dict[str, Any] = {
    "huber": (PrivateHuberRegressor, {}, Huber(threshold=0.25), {"label": (-1, 1)}),
    "smoothed quantile": (PrivateSGDRegressor, {"loss": QUANTILE}, QUANTILE, {"label": (-1, 1)}),
    "poisson": (PrivatePoissonRegressor, {}, Poisson(limit=float(np.log(8))), {"label": (0, 8)}),
    "huberised hinge": (PrivateLinearSVC, {}, HuberisedHinge(width=0.5), {"classes": (0, 1)}),
    "logistic, wrong model": (PrivateLogisticRegression, {}, Logistic(), {"classes": (0, 1)}),
}

CELLS = [
    (model, algorithm, target, n, epsilon)
    for model in MODELS
    for algorithm in ("objective-perturbation", "noisy-gradient")
    for target in ("table", "population", "robust")
    for n, epsilon in ((5000, 1.0), (20_000, 1.0))
    if not (model == "smoothed quantile" and algorithm == "objective-perturbation")
    if algorithm == "objective-perturbation" or model in ("huber", "smoothed quantile")
    if target != "robust" or model.startswith("logistic")  # elsewhere it is the same
]


@cache
def pool(model: str) -> Any:
    """Return the population of a model: rows, and labels as its loss takes them."""
    random = np.random.default_rng(7)
    X = random.uniform(-1, 1, (POOL, FEATURES))
    z = X @ [0.5, -0.3, 0.0] + 0.1
    if model in ("huber", "smoothed quantile"):
        return X, z / 2 + random.uniform(-0.4, 0.4, POOL) * (1 + X[:, 0]) / 2
    if model == "poisson":
        return X, 2.0 * random.binomial(4, np.exp(z) / 8)
    if model == "huberised hinge":
        chance = np.where(X[:, 0] > 0, 0.85, 0.15) * expit(2 - 2 * X[:, 1])
    else:  # high at both ends
        chance = np.where(np.abs(X[:, 0]) > 0.8, 0.95, 0.05) * expit(2 - 2 * X[:, 1])
    return X, np.where(random.uniform(size=POOL) < chance, 1.0, -1.0)


def minimiser(model: str, X: Any, y: Any) -> Any:
    """Return the coefficients of least loss, the intercept last."""
    loss = MODELS[model][2]
    rows = np.column_stack([X, np.ones(len(X))])

    def value(w: Any) -> Any:
        z = rows @ w
        return loss.value(z, y).mean(), rows.T @ loss.slope(z, y) / len(y)

    def hessian(w: Any) -> Any:
        return (rows.T * loss.curvature(rows @ w, y)) @ rows / len(y)

    start = np.zeros(rows.shape[1])
    found = minimize(value, start, jac=True, hess=hessian, method="trust-exact", tol=1e-9)
    assert np.abs(found.jac).max() < 1e-7, "the minimiser of scipy did not arrive"
    return found.x


@cache
def truth_of(model: str) -> Any:
    """Return the coefficients of the population."""
    return minimiser(model, *pool(model))


def one(cell: Any, run: int) -> dict[str, float]:
    """Fit once and return what covered."""
    model, algorithm, target, n, epsilon = cell
    kind, settings, _, declared = MODELS[model]
    random = np.random.default_rng([run, n, round(1000 * epsilon)])
    drawn = random.integers(POOL, size=n)
    X, y = (part[drawn] for part in pool(model))
    truth = minimiser(model, X, y) if target == "table" else truth_of(model)
    if model != "smoothed quantile":
        settings = settings | {"algorithm": algorithm}
    labels = (y > 0).astype(int) if "classes" in declared else y
    fitted = kind(
        epsilon=epsilon, delta=1e-6, inference=target, bounds=Bounds(**BOX, **declared),
        random_state=int(random.integers(2**31)), **settings,
    ).fit(X, labels)  # fmt: skip
    found, (low, high) = fitted.inference_, fitted.interval(LEVEL).T
    out = {"interval": float(((low <= truth) & (truth <= high)).mean())}
    out["infinite"] = float(bool(found.refusals))
    out["width"] = float(np.mean(high - low))
    if target != "table" and not found.refusals:
        turned = found._map @ found._inverse
        errors = np.sqrt(np.diagonal(turned @ found._sampling @ turned.T))
        centre = np.append(np.ravel(fitted.coef_), fitted.intercept_)
        out["ignoring"] = float((np.abs(centre - truth) <= REACH * errors).mean())
    return out


def measured(cell: Any) -> dict[str, Any]:
    """Return one line of the table."""
    model, algorithm, target, n, epsilon = cell
    runs = 200 if n <= 5000 else 100
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = [one(cell, run) for run in range(runs)]
    line = {"model": model, "algorithm": algorithm, "target": target}
    line |= {"rows": n, "features": FEATURES, "epsilon": epsilon, "runs": runs}
    for name in ("interval", "infinite", "width", "region", "outer", "ignoring"):
        values = [f[name] for f in found if name in f and np.isfinite(f[name])]
        line[name] = round(float(np.mean(values)), 4) if values else None
    return line


if __name__ == "__main__":
    parser_of(__doc__).parse_args()
    lines = json.loads(RESULTS.read_text()) if RESULTS.exists() else []
    keys = ("model", "algorithm", "target", "rows", "epsilon")
    for cell in CELLS:
        if not any(tuple(line[k] for k in keys) == cell for line in lines):
            lines.append(measured(cell))
            print(lines[-1], flush=True)
            RESULTS.write_text(json.dumps(lines, indent=1) + "\n")
