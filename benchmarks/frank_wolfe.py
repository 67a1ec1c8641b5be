"""Private Frank-Wolfe: cost of a step against the dimension, and error against the rows.

    python benchmarks/frank_wolfe.py speed     # results/frank_wolfe/speed.json, speed.png
    python benchmarks/frank_wolfe.py rate      # results/frank_wolfe/rate.json, rate.png

``speed`` times, in CPU seconds on one thread and in one process, a step of the fast kernels and of
the straightforward one (full gradient, 2p Gumbel noises from numpy's generator, largest wins).
``rate`` runs the whole algorithm on planted LASSO problems and draws the mean excess risk, the
plan's bound and a line of slope -2/3.
"""

from __future__ import annotations

import argparse
import json
import platform
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from discreet.accounting import Budget
from discreet.algorithms import FrankWolfe, Problem
from discreet.algorithms.frank_wolfe_sparse import SquaredSteps, StaleSteps, term_grid
from discreet.data import ArraySource, Rows
from discreet.losses import Logistic, Squared
from discreet.noise import Seeded, System
from discreet.sets import L1Ball
from discreet.types import Bounds

RESULTS = Path(__file__).resolve().parent / "results" / "frank_wolfe"
ROWS, STEPS, SCALE = 20_000, 100, 20.0


def wide_rows(p: int, nonzeros: int) -> Rows:
    """Return sparse rows of signs in random places, with signs as labels."""
    rng = np.random.default_rng(0)
    index = rng.integers(0, p, size=(ROWS, nonzeros))
    data = rng.choice([-1.0, 1.0], ROWS * nonzeros)
    X = sp.csr_array((data, index.ravel(), nonzeros * np.arange(ROWS + 1)), shape=(ROWS, p))
    X.sum_duplicates()
    return Rows(X, rng.choice([-1.0, 1.0], ROWS), np.ones(ROWS), np.full(ROWS, nonzeros**0.5))


def per_step(steps: SquaredSteps | StaleSteps) -> float:
    """Return CPU seconds of a step, over the first ``STEPS`` of a run."""
    random, start = System(), time.process_time()
    for k in range(STEPS):
        steps.move(*steps.draw(random), 2.0 / (k + 2.0))
    return (time.process_time() - start) / STEPS


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
    grid = term_grid(ROWS, 1.0)
    return {
        "squared": lambda: SquaredSteps(rows, 1.0, SCALE),
        "stale logistic": lambda: StaleSteps(
            rows, Logistic(), 1.0, SCALE, tolerance=0.05, slope=1.0, grid=grid
        ),
    }


def speed() -> None:
    """Time steps for growing dimension, and for growing rows at the largest dimension."""
    table = []
    for p, nonzeros in [*((p, 100) for p in (10**4, 10**5, 10**6)), (10**6, 10), (10**6, 30)]:
        rows = wide_rows(p, nonzeros)
        entry = {"p": p, "nonzeros": nonzeros, "straightforward": straightforward(rows)}
        for name, start in kernels(rows).items():
            before = time.process_time()
            steps = start()
            entry[f"{name} setup"] = time.process_time() - before
            entry[name] = per_step(steps)
            entry[f"{name} ratio"] = entry["straightforward"] / entry[name]
        print({k: float(f"{v:.4g}") for k, v in entry.items()}, flush=True)
        table.append(entry)
    content = {"rows": ROWS, "steps": STEPS, "python": platform.python_version(), "table": table}
    write("speed", content)
    plot_speed(table)


def plot_speed(table: list[dict[str, float]]) -> None:
    """Draw the cost of a step against the dimension."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    grown = [e for e in table if e["nonzeros"] == 100]
    figure, axes = plt.subplots(figsize=(6, 4))
    for name in ("straightforward", "stale logistic", "squared"):
        axes.loglog([e["p"] for e in grown], [1e3 * e[name] for e in grown], "o-", label=name)
    axes.set_xlabel("features (20,000 rows, 100 non-zeros each)")
    axes.set_ylabel("CPU milliseconds per step")
    axes.legend()
    figure.tight_layout()
    figure.savefig(RESULTS / "speed.png", dpi=120)


def planted(n: int, p: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return signs as rows and labels from three of the features."""
    rng = np.random.default_rng(seed)
    X = rng.choice([-1.0, 1.0], size=(n, p))
    return X, np.clip(X[:, :3] @ [0.5, -0.3, 0.2] + 0.1 * rng.normal(size=n), -1, 1)


def rate(p: int = 500, epsilon: float = 1.0, repeats: int = 12) -> None:
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
        best = FrankWolfe(steps=max(1, 4 * plan.steps)).plan(problem, Budget(epsilon, 1e-6))
        excess = []
        for seed in range(repeats):
            X, y = planted(n, p, seed)
            w = plan.run(ArraySource(X, y), Seeded(seed)).weights
            # The planted weights lie on the ball's boundary; the best point is close to them.
            truth = np.zeros(p)
            truth[:3] = [0.5, -0.3, 0.2]
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


def write(name: str, content: object) -> None:
    """Write one result file."""
    RESULTS.mkdir(parents=True, exist_ok=True)
    (RESULTS / f"{name}.json").write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("part", choices=("speed", "rate"))
    {"speed": speed, "rate": rate}[parser.parse_args().part]()
