"""Algorithms of the literature that discreet does not have, measured before they were left out.

``python benchmarks/not_built.py run`` fits logistic regression on 4,000 rows of norm 1 with
true weights of norm 5, at epsilon 1, delta 1e-6 and zero-out. It writes ``results/not_built.json``:
the mean excess per row over that of the minimiser, 10 draws of the noise. Lengths of steps and
numbers of rounds of the methods that were left out are the best of those tried, chosen with the
answer in view; ours have their defaults. Boosting is compared by what is proved of it.

* *Cutting planes* (Smith, Thakurta, Upadhyay 2017): each cut asks for a noisy gradient at the
  centre. Here the ellipsoid method on a ball of radius 10; the last centre is released.
* *Snowball SGD* (Feldman, Koren, Talwar 2020): one pass with noise in every step, and batches that
  grow because steps after a row hide it too. Only the last weights are private, and only if nobody
  sees the others.
* *Boosting* the success probability: of ``K`` runs at a ``K + 1``-th of epsilon the best is chosen
  privately with what is left, after Bassily, Smith and Thakurta (2014).
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
from scipy.special import gammainccinv

from discreet.accounting import Budget, gaussian_multiplier, zcdp_rho
from discreet.algorithms import NoisyGradient, ObjectivePerturbation
from discreet.bounds import Bounds
from discreet.data import ArraySource
from discreet.losses import Logistic
from discreet.noise import Seeded
from discreet.problem import Problem
from discreet.sets import L2Ball

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "peers"))

from newton import minimise  # noqa: E402

from arguments import parser_of  # noqa: E402

N, RADIUS, EPSILON, DELTA, SEEDS = 4000, 10.0, 1.0, 1e-6, 10
Array = np.ndarray
Gradient = Callable[[Array], Array]


def ellipsoid(gradient: Gradient, p: int, rounds: int, rng: np.random.Generator) -> Array:
    """Return the last centre; each of the rounds asks for one noisy gradient."""
    w, shape = np.zeros(p), RADIUS**2 * np.eye(p)
    scale = math.sqrt(rounds) * gaussian_multiplier(EPSILON, DELTA)
    for _ in range(rounds):
        g = gradient(w) + scale * rng.normal(size=p)
        if float(w @ w) > RADIUS**2:
            g = w  # a cut that needs no data
        step = shape @ g / math.sqrt(max(float(g @ shape @ g), 1e-300))
        w = w - step / (p + 1)
        shape = p**2 / (p**2 - 1) * (shape - 2 / (p + 1) * np.outer(step, step))
    return w


def snowball(rows: Array, p: int, length: float, rng: np.random.Generator) -> Array:
    """Return the last weights of one pass; noise of a step has the size of a gradient."""
    rho = zcdp_rho(EPSILON, DELTA)
    scale = 1 / math.sqrt(p)
    # A row of a batch of b, with k steps from its own to the end, costs 1 / (2 b^2 scale^2 k).
    sizes: list[int] = []
    while sum(sizes) < len(rows):
        sizes.append(math.ceil(1 / (scale * math.sqrt(2 * rho * (len(sizes) + 1)))))
    w, start = np.zeros(p), 0
    for size in reversed(sizes[:-1]):
        block = rows[start : start + size]
        start += size
        g = -(1 / (1 + np.exp(block @ w))) @ block / size
        w = w - length * (g + scale * rng.normal(size=p))
        w *= min(1.0, RADIUS / max(float(np.linalg.norm(w)), 1e-300))
    return w


def compare(p: int) -> dict[str, float]:
    """Return the mean excess per row of all methods."""
    rng = np.random.default_rng(p)
    X = rng.normal(size=(N, p))
    X /= np.linalg.norm(X, axis=1)[:, None]
    y = (rng.random(N) < 1 / (1 + np.exp(-X @ np.full(p, 5 / math.sqrt(p))))).astype(int)
    rows = X * (2.0 * y - 1)[:, None]

    def risk(w: Array) -> float:
        return float(np.logaddexp(0, -rows @ w).mean())

    def gradient(w: Array) -> Array:
        return -rows.T @ (1 / (1 + np.exp(rows @ w)))

    best = risk(minimise(X, 2.0 * y - 1, 1e-9, np.zeros(p), 1e-6))

    def mean(fit: Callable[[int], Array]) -> float:
        return float(np.mean([risk(fit(s)) for s in range(SEEDS)])) - best

    task = Problem(
        loss=Logistic(),
        bounds=Bounds(row_norm=1.0, classes=(0, 1)),
        n_features=p,
        n_rows=N,
        constraint=L2Ball(radius=RADIUS),
    )
    plans = {"objective perturbation": ObjectivePerturbation(), "noisy gradient": NoisyGradient()}
    found = {"weights of zero": risk(np.zeros(p)) - best}
    for name, algorithm in plans.items():
        plan = algorithm.plan(task, Budget(EPSILON, DELTA))
        found[name] = mean(lambda s, plan=plan: plan.run(ArraySource(X, y), Seeded(s)).weights)
    found["cutting planes"] = min(
        mean(lambda s, t=t: ellipsoid(gradient, p, t, np.random.default_rng(s)))
        for t in (10, 20, 40, 80, 160, 320, 640)
    )
    found["snowball SGD"] = min(
        mean(lambda s, v=v: snowball(rows, p, v, np.random.default_rng(s)))
        for v in (0.05, 0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 8.0)
    )
    return found


def boosting(p: int, failure: float) -> dict[str, float]:
    """Return what is proved of the excess of exponential sampling but for a chance, times c."""
    runs = math.ceil(math.log2(2 / failure))
    # Each run is within twice its mean every other time; then one of the runs is drawn.
    boosted = (runs + 1) * (2 * p + math.log(2 * runs / failure))
    return {"gamma law": float(gammainccinv(p, failure)), "boosting": boosted}


def main() -> None:
    """Measure and write the result."""
    parser_of(__doc__).parse_args()
    record = {
        "excess per row": {str(p): compare(p) for p in (5, 10, 20)},
        "excess but for a chance of 0.05": {str(p): boosting(p, 0.05) for p in (2, 5, 10)},
    }
    print(json.dumps(record, indent=1))
    (HERE / "results" / "not_built.json").write_text(json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main()
