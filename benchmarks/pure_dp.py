"""Excess risk under pure epsilon-privacy against the lower bounds, and against p/c.

Three panels, all under replace-one neighbours:

* *Lipschitz*: the linear loss on the unit ball (a hinge there), on the hard
  instances of Bassily, Smith and Thakurta: ``M`` copies of a hidden codeword
  among cancelling pairs. No pure method can beat ``M/16`` at the ``M`` of the
  theorem. Each method is shown at the worst of several numbers of copies.
* *Strongly convex*: half squared distances, that is the same rows with a ridge
  term of strength ``n``. No pure method can beat ``M^2/(16 n)``.
* *p/c*: what exponential sampling loses, against its bound ``p/c``, on the hard
  instance and on ordinary data.

::

    python benchmarks/pure_dp.py run      # results/pure_dp/rows.json, some minutes
    python benchmarks/pure_dp.py plot     # results/pure_dp/pure_dp.png and table.md
"""

from __future__ import annotations

import argparse
import json
import math
import platform
from pathlib import Path
from typing import Any

import numpy as np

from discreet.accounting import Budget
from discreet.algorithms import (
    Algorithm,
    ExponentialSampling,
    Localization,
    ObjectivePerturbation,
    Plan,
    Problem,
)
from discreet.data import ArraySource
from discreet.errors import Incompatible
from discreet.losses import Hinge, HuberisedHinge, Logistic, Loss
from discreet.noise import Seeded
from discreet.regularizers import Ridge, Zero
from discreet.sets import Box, L2Ball
from discreet.types import Bounds

OUT = Path(__file__).parent / "results" / "pure_dp"
BOUNDS = Bounds(row_norm=1.0, classes=(0, 1))
EPSILON = 0.25
SIZES = {"lipschitz": 4000, "strongly convex": 8000}
DIMENSIONS = (2, 3, 4, 6)
REPEATS = 8
FACTORS = (1, 8, 64)
"""Numbers of copies that are tried, in units of the theorem's."""
WIDTH = 0.01
"""Objective perturbation and localization need the hinge's corner rounded this much."""

METHODS: dict[str, tuple[Loss, Algorithm]] = {
    "objective perturbation": (HuberisedHinge(width=WIDTH), ObjectivePerturbation()),
    "exponential sampling": (Hinge(), ExponentialSampling()),
    "localization": (HuberisedHinge(width=WIDTH), Localization()),
}


def copies(p: int, n: int, epsilon: float) -> int:
    """Return ``M``, how many copies of a codeword stay hidden; of the parity of ``n``."""
    log_words = p * math.log(2) - math.log(sum(math.comb(p, i) for i in range(math.ceil(p / 4))))
    m = max(0, min(n, math.floor((log_words - math.log(2)) / epsilon)))
    return m - (n - m) % 2


def hard_rows(p: int, n: int, m: int, seed: int) -> np.ndarray:
    """Return unit rows: ``m`` copies of a random sign vector, and pairs that cancel."""
    rng = np.random.default_rng(seed)
    pairs = rng.normal(size=((n - m) // 2, p))
    pairs /= np.linalg.norm(pairs, axis=1)[:, None]
    word = rng.choice([-1.0, 1.0], size=p) / math.sqrt(p)
    return np.vstack([np.tile(word, (m, 1)), pairs, -pairs])


def hard_excess(setting: str, method: str, p: int, repeats: int) -> dict[str, Any]:
    n = SIZES[setting]
    loss, algorithm = METHODS[method]
    strong = setting == "strongly convex"
    problem = Problem(
        loss=loss,
        bounds=BOUNDS,
        n_features=p,
        n_rows=n,
        neighbours="replace-one",
        constraint=L2Ball(radius=1.0),
        regularizer=Ridge(strength=float(n)) if strong else Zero(),
    )
    hidden = copies(p, n, EPSILON)
    lower = hidden**2 / (16 * n) if strong else hidden / 16
    row = {"setting": setting, "method": method, "p": p, "n": n, "lower": lower}
    try:
        plan = algorithm.plan(problem, Budget(EPSILON))
        # The ridge term of the problem is part of the objective here, not a loss.
        row["bound"] = plan.expected_excess - (0.5 * n if strong else 0.0)
    except Incompatible:
        return row | {"excess": None, "bound": None}
    worst = {"excess": -1.0}
    for m in sorted({min(n, hidden * factor) for factor in FACTORS}):
        found = [measured(plan, hard_rows(p, n, m, seed), strong, seed) for seed in range(repeats)]
        mean = {"excess": float(np.mean(found)), "spread": float(np.std(found)), "copies": m}
        worst = max(worst, mean, key=lambda case: case["excess"])
    return row | worst


def measured(plan: Plan, X: np.ndarray, strong: bool, seed: int) -> float:
    """Return the excess of one run over the true minimum."""
    n, total = len(X), X.sum(axis=0)
    w = plan.run(ArraySource(X, np.ones(n, dtype=int)), Seeded((seed, X.shape[1]))).weights

    def risk(v: np.ndarray) -> float:
        return float(-total @ v) + (0.5 * n * float(v @ v) if strong else 0.0)

    best = total / n if strong else total / max(float(np.linalg.norm(total)), 1e-300)
    return risk(w) - risk(best)


def scaling(p: int, epsilon: float, kind: str, repeats: int) -> dict[str, Any]:
    """Measure exponential sampling against p/c on one kind of data."""
    rng = np.random.default_rng(p)
    n = 2000
    X = rng.normal(size=(n, p))
    X /= np.linalg.norm(X, axis=1)[:, None]
    y = (X @ rng.normal(size=p) + 0.2 * rng.normal(size=n) > 0).astype(int)
    if kind == "hard instance":
        X, y = hard_rows(p, n, n, 0), np.ones(n, dtype=int)
    loss: Loss = Logistic() if kind == "logistic" else Hinge()
    problem = Problem(
        loss=loss,
        bounds=BOUNDS,
        n_features=p,
        n_rows=n,
        neighbours="replace-one",
        # Outside the unit ball the hinge is no longer linear.
        constraint=L2Ball(radius=1.0) if kind == "hard instance" else Box(),
    )
    plan = ExponentialSampling().plan(problem, Budget(epsilon))
    rows = problem.bound(ArraySource(X, y))
    random = Seeded(p)
    draws = [plan.run(ArraySource(X, y), random).weights for _ in range(repeats)]
    values = [rows.objective(loss, w)[0] for w in draws]
    if kind == "hard instance":
        best = rows.objective(loss, X[0])[0]  # every row is the codeword
    else:
        # A draw at a very large epsilon stands in for the minimum.
        sharp = ExponentialSampling().plan(problem, Budget(2e4))
        best = min(rows.objective(loss, sharp.run(ArraySource(X, y), random).weights)[0], *values)
    excess = float(np.mean(values)) - best
    return {"kind": kind, "p": p, "epsilon": epsilon, "bound": p / plan.inverse, "excess": excess}


def run(repeats: int) -> None:
    rows = []
    for setting in SIZES:
        for method in METHODS:
            for p in DIMENSIONS:
                rows.append(hard_excess(setting, method, p, repeats))
                print(rows[-1], flush=True)
    points = [
        scaling(p, epsilon, kind, repeats)
        for kind in ("hard instance", "logistic", "hinge")
        for p in (1, 2, 4)
        for epsilon in (0.25, 1.0, 4.0)
    ]
    OUT.mkdir(parents=True, exist_ok=True)
    config = {"epsilon": EPSILON, "repeats": repeats, "python": platform.python_version()}
    content = {"config": config, "hard": rows, "scaling": points}
    (OUT / "rows.json").write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


def plot() -> None:
    import matplotlib.pyplot as plt

    content = json.loads((OUT / "rows.json").read_text(encoding="utf-8"))
    figure, axes = plt.subplots(1, 3, figsize=(15, 4.5))
    colours = dict(zip(METHODS, ("tab:blue", "tab:orange", "tab:green"), strict=True))
    lines = ["| setting | p | lower bound | " + " | ".join(METHODS) + " |", "|---" * 6 + "|"]
    for axis, setting in zip(axes, SIZES, strict=False):
        rows = [r for r in content["hard"] if r["setting"] == setting]
        for method, colour in colours.items():
            mine = [r for r in rows if r["method"] == method and r["excess"] is not None]
            ps = [r["p"] for r in mine]
            axis.plot(ps, [r["excess"] for r in mine], "o-", color=colour, label=method)
            axis.plot(ps, [r["bound"] for r in mine], ":", color=colour)
        lower = {r["p"]: r["lower"] for r in rows}
        axis.plot(list(lower), list(lower.values()), "k--", label="lower bound")
        axis.set(yscale="log", xlabel="p", title=f"{setting}, n = {SIZES[setting]}")
        axis.legend(fontsize=8, loc="center right")
        for p in DIMENSIONS:
            held = {r["method"]: r["excess"] for r in rows if r["p"] == p}
            cells = ["refuses" if held[m] is None else f"{held[m]:.3g}" for m in METHODS]
            lines.append(f"| {setting} | {p} | {lower[p]:.3g} | " + " | ".join(cells) + " |")
    axes[0].set_ylabel("excess risk (sum); dotted: the plan's bound")
    for kind, marker in (("hard instance", "s"), ("logistic", "o"), ("hinge", "^")):
        mine = [r for r in content["scaling"] if r["kind"] == kind]
        axes[2].loglog(
            [r["bound"] for r in mine], [r["excess"] for r in mine], marker, ls="", label=kind
        )
    ends = [
        min(r["bound"] for r in content["scaling"]),
        max(r["bound"] for r in content["scaling"]),
    ]
    axes[2].plot(ends, ends, "k--", label="p/c")
    axes[2].set(xlabel="p/c", title="exponential sampling, n = 2000")
    axes[2].legend(fontsize=8)
    figure.tight_layout()
    figure.savefig(OUT / "pure_dp.png", dpi=110)
    (OUT / "table.md").write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("step", choices=("run", "plot"))
    parser.add_argument("--repeats", type=int, default=REPEATS)
    arguments = parser.parse_args()
    if arguments.step == "run":
        run(arguments.repeats)
    else:
        plot()
