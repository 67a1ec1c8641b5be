"""Private Frank-Wolfe: cost of a step, error against the rows, and the default number of steps.

    python benchmarks/frank_wolfe.py speed     # results/frank_wolfe/speed.json, speed.png
    python benchmarks/frank_wolfe.py rate      # results/frank_wolfe/rate.json, rate.png
    python benchmarks/frank_wolfe.py steps     # results/frank_wolfe/steps.json, steps.png

``speed`` times, in CPU seconds on one thread and in one process, a step of the fast kernels and of
the straightforward one (full gradient, 2p Gumbel noises from numpy's generator, largest wins), the
best of three runs each (compiling, in the first, is not counted), with numba and in plain numpy
(which draw the same): for a growing dimension at 20,000 rows, where columns get emptier, and at
two non-zeros a column, where rows grow with the dimension and a step always touches as many.
``steps`` fits planted classification problems with fewer and more steps than the default, and at
the former default (radius 10, a quarter of the steps of the worst-case bound). The constant of the
default was chosen on problems like these.
``rate`` runs the whole algorithm on planted LASSO problems and draws the mean excess risk, the
plan's bound and a line of slope -2/3.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.special import expit
from sklearn.preprocessing import normalize

from discreet import PrivateSparseLogisticRegression
from discreet.accounting import Budget
from discreet.algorithms import FrankWolfe
from discreet.algorithms.frank_wolfe.sparse_steps import SquaredSteps, StaleSteps, term_grid
from discreet.bounds import Bounds
from discreet.data import ArraySource, Rows
from discreet.losses import Logistic, Squared
from discreet.noise import Seeded, System
from discreet.problem import Problem
from discreet.sets import L1Ball
from discreet.tuned.algorithms import FRANK_WOLFE_CURVATURE

RESULTS = Path(__file__).resolve().parent / "results" / "frank_wolfe"
Labelled = tuple[Any, Any]
ROWS, STEPS, SCALE, RUNS = 20_000, 100, 20.0, 3
CASES = [
    *((ROWS, p, 100) for p in (10**4, 10**5, 10**6)),
    *((ROWS, 10**6, nonzeros) for nonzeros in (10, 30)),
    *((p // 50, p, 100) for p in (10**4, 3 * 10**4, 10**5, 3 * 10**5)),
]
"""Rows, features and non-zeros in a row; the last ones have two non-zeros a column."""


def wide_rows(n: int, p: int, nonzeros: int) -> Rows:
    """Return sparse rows of signs in random places, with signs as labels."""
    rng = np.random.default_rng(0)
    index = rng.integers(0, p, size=(n, nonzeros))
    data = rng.choice([-1.0, 1.0], n * nonzeros)
    X = sp.csr_array((data, index.ravel(), nonzeros * np.arange(n + 1)), shape=(n, p))
    X.sum_duplicates()
    return Rows(X, rng.choice([-1.0, 1.0], n), np.ones(n), np.full(n, nonzeros**0.5))


def timed(start: Callable[[], SquaredSteps | StaleSteps]) -> tuple[float, float]:
    """Return CPU seconds of the set-up and of a step, over the first ``STEPS`` of a run."""
    random, begin = System(), time.process_time()
    steps = start()
    ready = time.process_time()
    for k in range(STEPS):
        steps.move(*steps.draw(random), 2.0 / (k + 2.0))
    return ready - begin, (time.process_time() - ready) / STEPS


def straightforward(rows: Rows, repeats: int = 5) -> float:
    """Return CPU seconds of a step with a full gradient and one noise per vertex."""
    rng, X, w = np.random.default_rng(1), rows.X, np.zeros(rows.dimension)
    start = time.process_time()
    for k in range(repeats):
        scores = X.T @ (X @ w - rows.y) / SCALE
        noisy = np.concatenate([-scores, scores]) + rng.gumbel(size=2 * rows.dimension)
        best = int(np.argmax(noisy))
        w *= 1.0 - 2.0 / (k + 2.0)
        w[best % rows.dimension] += 2.0 / (k + 2.0) * (1 if best < rows.dimension else -1)
    return (time.process_time() - start) / repeats


def kernels(rows: Rows) -> dict[str, Callable[[], SquaredSteps | StaleSteps]]:
    """Return how to start each fast kernel."""
    most, grid = 2.0 * rows.n_rows / SCALE, term_grid(rows.n_rows, 1.0)

    def squared(compiled: bool) -> SquaredSteps:
        return SquaredSteps(rows, 1.0, SCALE, most=most, compiled=compiled)

    def stale(compiled: bool) -> StaleSteps:
        settings = {"tolerance": 0.05, "slope": 1.0, "grid": grid, "most": most}
        return StaleSteps(rows, Logistic(), 1.0, SCALE, compiled=compiled, **settings)

    return {
        "squared": lambda: squared(True),
        "stale logistic": lambda: stale(True),
        "plain squared": lambda: squared(False),
        "plain stale logistic": lambda: stale(False),
    }


def speed() -> None:
    """Time steps for growing dimension, and for growing rows at the largest dimension."""
    table, load = [], [os.getloadavg()[0]]
    for n, p, nonzeros in CASES:
        rows = wide_rows(n, p, nonzeros)
        slow = min(straightforward(rows) for _ in range(RUNS))
        entry = {"rows": n, "p": p, "nonzeros": nonzeros, "straightforward": slow}
        for name, start in kernels(rows).items():
            runs = [timed(start) for _ in range(RUNS)]
            entry[f"{name} setup"], entry[name] = (min(part) for part in zip(*runs, strict=True))
            entry[f"{name} ratio"] = slow / entry[name]
        print({k: float(f"{v:.4g}") for k, v in entry.items()}, flush=True)
        table.append(entry)
    load.append(os.getloadavg()[0])
    content = {
        "steps": STEPS,
        "best of": RUNS,
        "load at start and end": load,
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "table": table,
    }
    write("speed", content)
    plot_speed(table)


def plot_speed(table: list[dict[str, float]]) -> None:
    """Draw the cost of a step against the dimension."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(10, 4), sharey=True)
    kinds = {
        "20,000 rows: columns get emptier": lambda e: e["rows"] == ROWS,
        "two non-zeros a column: rows grow": lambda e: 50 * e["rows"] == e["p"],
    }
    for ax, (title, wanted) in zip(axes, kinds.items(), strict=True):
        shown = sorted(
            (e for e in table if e["nonzeros"] == 100 and wanted(e)), key=lambda e: e["p"]
        )
        for name in ("straightforward", "stale logistic", "squared"):
            ax.loglog([e["p"] for e in shown], [1e3 * e[name] for e in shown], "o-", label=name)
        ax.set(title=title, xlabel="features (100 non-zeros a row)")
    axes[0].set_ylabel("CPU milliseconds per step")
    axes[0].legend()
    figure.tight_layout()
    figure.savefig(RESULTS / "speed.png", dpi=120)


def planted(n: int, p: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return signs as rows, labels from three of the features, and the weights of all.

    Weights are new for every seed: a few steps of fixed lengths hit some better than others.
    """
    rng, w = np.random.default_rng(seed), np.zeros(p)
    w[:3] = rng.dirichlet(np.ones(3)) * [1.0, -1.0, 1.0]
    X = rng.choice([-1.0, 1.0], size=(n, p))
    return X, np.clip(X @ w + 0.1 * rng.normal(size=n), -1, 1), w


def rate(p: int = 500, epsilon: float = 1.0, repeats: int = 24) -> None:
    """Measure the mean excess risk for a growing number of rows."""
    table = []
    for n in (500, 1000, 2000, 4000, 8000, 16000):
        problem = Problem(
            loss=Squared(),
            bounds=Bounds(features=(-1, 1), label=(-1, 1)),
            n_features=p,
            n_rows=n,
            constraint=L1Ball(radius=1.0),
        )
        plan = FrankWolfe().plan(problem, Budget(epsilon, 1e-6))
        most = max(1, round(FRANK_WOLFE_CURVATURE ** (2 / 3) * plan.steps))  # best for the bound
        best = FrankWolfe(steps=most).plan(problem, Budget(epsilon, 1e-6))
        excess = []
        for seed in range(repeats):
            X, y, truth = planted(n, p, seed)
            w = plan.run(ArraySource(X, y), Seeded(seed)).weights
            # The planted weights lie on the ball's boundary; the best point is close to them.
            risk = [0.5 * float(np.mean((X @ v - y) ** 2)) for v in (w, truth)]
            excess.append(risk[0] - risk[1])
        table.append(
            {
                "n": n,
                "steps": plan.steps,
                "excess": float(np.mean(excess)),
                "bound": best.expected_excess / n,
            }
        )
        print(table[-1], flush=True)
    write("rate", {"p": p, "epsilon": epsilon, "repeats": repeats, "table": table})
    plot_rate(table)


def plot_rate(table: list[dict[str, float]]) -> None:
    """Draw the excess risk against the number of rows."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    n = np.array([e["n"] for e in table])
    excess = np.array([e["excess"] for e in table])
    slope = float(np.polyfit(np.log(n), np.log(excess), 1)[0])
    figure, axes = plt.subplots(figsize=(6, 4))
    axes.loglog(n, excess, "o-", label=f"measured, slope {slope:.2f}")
    axes.loglog(n, [e["bound"] for e in table], "s-", label="bound of the plan with best steps")
    axes.loglog(n, excess[0] * (n / n[0]) ** (-2 / 3), "--", label="slope -2/3")
    axes.set_xlabel("rows")
    axes.set_ylabel("mean excess risk")
    axes.legend()
    figure.tight_layout()
    figure.savefig(RESULTS / "rate.png", dpi=120)
    print("slope", slope)


def words(n: int, p: int, strength: float, positive: float, weighted: bool, seed: int) -> Labelled:
    """Return documents of two kinds: words of Zipf frequencies, a third of which tell the kinds.

    Words are present or not, or weighted by their rarity and scaled to norm 1 as a row.
    """
    frequency = np.minimum(0.8, 2.0 / np.arange(1, p + 1) ** 0.9)
    world, rng = np.random.default_rng(99), np.random.default_rng(seed)
    tilt = np.where(world.random(p) < 0.3, world.laplace(scale=strength, size=p), 0.0)
    tilt[:20] *= 0.2  # the commonest words say little
    y = rng.random(n) < positive
    entries = []
    for kind in (False, True):
        mine, log_odds = np.flatnonzero(y == kind), np.log(frequency / (1.0 - frequency))
        counts = rng.binomial(len(mine), expit(log_odds + (2 * kind - 1) * tilt))
        for j in np.flatnonzero(counts):
            chosen = rng.choice(mine, counts[j], replace=False)
            entries.append(np.stack([chosen, np.full(counts[j], j)]))
    row, column = np.concatenate(entries, axis=1)
    data = np.log(1.0 / frequency)[column] if weighted else np.ones(row.size)
    X = sp.csr_array((data, (row, column)), shape=(n, p))
    return (sp.csr_array(normalize(X)).minimum(0.3) / 0.3 if weighted else X), y


def signals(n: int, p: int, useful: int, seed: int) -> Labelled:
    """Return uniform features, of which the first few matter."""
    rng, w = np.random.default_rng(seed), np.zeros(p)
    w[:useful] = 2.0 * np.random.default_rng(5).normal(size=useful)
    X = rng.uniform(-1, 1, size=(n, p))
    return X, rng.random(n) < expit(X @ w)


def factors(n: int, p: int, seed: int) -> Labelled:
    """Return many correlated features driven by twenty factors, two of which matter."""
    loads, rng = np.random.default_rng(7).normal(size=(20, p)) / 5.0, np.random.default_rng(seed)
    f = rng.normal(size=(n, 20))
    X = np.clip(f @ loads + rng.normal(size=(n, p)), -3, 3) / 3
    return X, f[:, 0] + f[:, 1] + 0.5 * rng.normal(size=n) > 0


PLANTED: dict[str, tuple[int, Callable[[int, int], Labelled]]] = {
    "words, 10,000 x 20,000": (10_000, lambda n, s: words(n, 20_000, 0.5, 0.5, False, s)),
    "weighted words, 10,000 x 20,000": (10_000, lambda n, s: words(n, 20_000, 0.5, 0.5, True, s)),
    "telling words, 4,000 x 20,000": (4000, lambda n, s: words(n, 20_000, 1.0, 0.5, True, s)),
    "rare class, 2,000 x 20,000": (2000, lambda n, s: words(n, 20_000, 1.0, 0.1, False, s)),
    "uniform, 5,000 x 500": (5000, lambda n, s: signals(n, 500, 10, s)),
    "factors, 300 x 5,000": (300, lambda n, s: factors(n, 5000, s)),
}
MULTIPLES = (0.125, 0.25, 0.5, 1.0, 2.0, 4.0)


def fitted(X: Any, y: Any, n: int, seed: int, **settings: Any) -> tuple[float, float]:
    """Return test accuracy and log loss of a fit on the first ``n`` rows."""
    bounds = Bounds(features=(-1, 1), classes=(False, True))
    model = PrivateSparseLogisticRegression(bounds=bounds, random_state=seed, **settings)
    margin = np.where(y[n:], 1.0, -1.0) * model.fit(X[:n], y[:n]).decision_function(X[n:])
    hit = (margin > 0) | ((margin == 0) & ~y[n:])
    return float(hit.mean()), float(np.logaddexp(0.0, -margin).mean())


def former_steps(n: int, p: int, epsilon: float) -> int:
    """Return a quarter of the steps that minimise the worst-case bound, at radius 10."""
    task = Problem(
        loss=Logistic(),
        bounds=Bounds(features=(-1, 1), classes=(False, True)),
        n_features=p,
        n_rows=n,
        constraint=L1Ball(radius=10.0),
        intercept=0.1,
    )
    plan = FrankWolfe().plan(task, Budget(epsilon, 1e-6))
    return max(1, round(plan.steps * FRANK_WOLFE_CURVATURE ** (2 / 3) / 4))


def steps(seeds: int = 3) -> None:
    """Fit planted problems with multiples of the default number of steps."""
    table: list[dict[str, Any]] = []
    for name, (n, draw) in PLANTED.items():
        X, y = draw(n + 3000, 0)
        for epsilon in (0.3, 1.0, 4.0):
            bounds = Bounds(features=(-1, 1), classes=(False, True))
            usual = PrivateSparseLogisticRegression(epsilon=epsilon, bounds=bounds)
            default, p = usual.plan(X.shape[1], n).steps, X.shape[1]
            cases = {f"{m:g}": {"steps": max(1, round(m * default))} for m in MULTIPLES}
            cases["former"] = {"steps": former_steps(n, p, epsilon), "radius": 10.0}
            entry = {"problem": name, "epsilon": epsilon, "default": default, "fits": {}}
            for case, settings in cases.items():
                runs = [fitted(X, y, n, s, epsilon=epsilon, **settings) for s in range(seeds)]
                accuracy, loss = np.mean(runs, axis=0).tolist()
                entry["fits"][case] = {**settings, "accuracy": accuracy, "log loss": loss}
            table.append(entry)
            print(json.dumps(entry), flush=True)
    write("steps", {"seeds": seeds, "delta": 1e-6, "table": table})
    plot_steps(table)


def plot_steps(table: list[dict[str, Any]]) -> None:
    """Draw what is lost against the best of the tried settings."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(10, 4))
    for ax, key, sign in zip(axes, ("accuracy", "log loss"), (1.0, -1.0), strict=True):
        values = np.array([[sign * fit[key] for fit in e["fits"].values()] for e in table])
        lost = values.max(axis=1, keepdims=True) - values
        for row in lost:
            ax.semilogx(MULTIPLES, row[:-1], color="0.8", linewidth=1)
        ax.semilogx(MULTIPLES, lost[:, :-1].mean(axis=0), "o-", label="mean of all problems")
        ax.axhline(lost[:, -1].mean(), linestyle="--", color="C3", label="former default")
        ax.set_xticks([], minor=True)
        ax.set_xticks(MULTIPLES, [f"{m:g}" for m in MULTIPLES])
        ax.set(xlabel="steps, in units of the default", ylabel=f"{key} lost to the best")
        ax.legend()
    figure.tight_layout()
    figure.savefig(RESULTS / "steps.png", dpi=120)


def write(name: str, content: object) -> None:
    """Write one result file."""
    RESULTS.mkdir(parents=True, exist_ok=True)
    (RESULTS / f"{name}.json").write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parts = {"speed": speed, "rate": rate, "steps": steps}
    parser.add_argument("part", choices=parts)
    parts[parser.parse_args().part]()
