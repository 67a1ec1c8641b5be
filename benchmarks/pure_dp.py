"""Excess risk under pure epsilon-privacy against the lower bounds, and against p/c.

Three panels, all under replace-one neighbours:

* *Lipschitz*: the linear loss on the unit ball (a hinge there), on the hard
  instances of Bassily, Smith and Thakurta: ``M`` copies of a hidden codeword
  among cancelling pairs. Exponential sampling and localization lose about
  ``p/epsilon`` however many rows there are, as Table I says; objective
  perturbation needs the corner of the hinge rounded, which costs about
  ``sqrt(n/epsilon)`` at the width that minimises its bound.
* *Strongly convex*: half squared distances, that is the same rows with a ridge
  term of strength ``n``. Localization and objective perturbation lose about
  ``p^2/(n epsilon^2)``, exponential sampling still ``p/epsilon``.
* *p/c*: what exponential sampling loses, against its bound ``p/c``, on the hard
  instance and on ordinary data.

Each method is shown at the number of copies that is worst for it: found with a few
runs and then measured with fresh ones. Dotted lines are the bounds the plans print;
a vertical line marks where theory puts a crossing, that is where two bounds meet.

::

    python benchmarks/pure_dp.py run      # results/pure_dp/rows.json, some minutes
    python benchmarks/pure_dp.py plot     # results/pure_dp/pure_dp.png and table.md
    python benchmarks/pure_dp.py passes   # results/pure_dp/passes.json: evaluations per draw
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import platform
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from discreet.accounting import Budget
from discreet.algorithms import ExponentialSampling, Localization, ObjectivePerturbation
from discreet.bounds import Bounds
from discreet.data import ArraySource, Rows
from discreet.errors import Incompatible
from discreet.losses import Absolute, Hinge, HuberisedHinge, Logistic, Loss
from discreet.noise import Seeded
from discreet.problem import Algorithm, Plan, Problem
from discreet.regularizers import Ridge, Zero
from discreet.sets import AllSpace, Box, ConvexSet, L2Ball
from discreet.style.colours import BLUE, GREEN, INK, ORANGE, QUIET
from discreet.style.pictures import new_figure, save, style

OUT = Path(__file__).parent / "results" / "pure_dp"
BOUNDS = Bounds(row_norm=1.0, classes=(0, 1))
EPSILON = 0.25
DIMENSION = 4
ROWS = (140, 500, 2000, 8000, 32000)
SCOUTS = 6
REPEATS = 30
METHODS: dict[str, Algorithm] = {
    "objective perturbation": ObjectivePerturbation(norm_guess=1.0),
    "exponential sampling": ExponentialSampling(norm_guess=1.0),
    "localization": Localization(norm_guess=1.0),
}
SETTINGS = ("lipschitz", "strongly convex")
CROSSINGS = {
    "lipschitz": ("objective perturbation", "exponential sampling"),
    "strongly convex": ("localization", "exponential sampling"),
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


def least_excess(p: int, n: int, strong: bool) -> float:
    """Return the lower bound; an instance of fewer dimensions is one of ``p`` dimensions too."""
    hidden = max(copies(q, n, EPSILON) for q in range(1, p + 1))
    return hidden**2 / (16 * n) if strong else hidden / 16


def planned(setting: str, method: str, n: int) -> tuple[Plan, float]:
    """Return a plan for the hard instances and the bound it prints on the excess."""
    strong = setting == "strongly convex"
    # Inside the ball the hinge is linear; where its corner must be rounded, this much.
    widths = {
        # Rounding costs up to n width / 4, and half the strength about 1 / (4 width epsilon).
        "objective perturbation": 1.0 / math.sqrt(n * EPSILON),
        "localization": 8.0 / n,  # privacy does not depend on it, so it may be small
    }
    loss: Hinge | HuberisedHinge = Hinge()
    if strong or method in widths:
        loss = HuberisedHinge(width=0.1 if strong else widths[method])
    problem = Problem(
        loss=loss,
        bounds=BOUNDS,
        n_features=DIMENSION,
        n_rows=n,
        neighbours="replace-one",
        constraint=L2Ball(radius=1.0),
        regularizer=Ridge(strength=float(n)) if strong else Zero(),
    )
    plan = METHODS[method].plan(problem, Budget(EPSILON))
    # The ridge term of the problem is part of the objective here, not a loss; rounding the corner
    # lowers the hinge by a quarter of the width.
    rounding = 0.0 if strong or isinstance(loss, Hinge) else n * loss.width / 4
    return plan, plan.expected_excess - (0.5 * n if strong else 0.0) + rounding


def hard_excess(setting: str, method: str, n: int, repeats: int) -> dict[str, Any]:
    strong = setting == "strongly convex"
    row = {"setting": setting, "method": method, "n": n}
    row["lower"] = least_excess(DIMENSION, n, strong)
    try:
        plan, row["bound"] = planned(setting, method, n)
    except Incompatible:
        return row | {"excess": None, "bound": None}

    def mean(m: int, seeds: range) -> tuple[float, float]:
        found = [measured(plan, hard_rows(DIMENSION, n, m, s), strong, s) for s in seeds]
        return float(np.mean(found)), float(np.std(found) / math.sqrt(len(found)))

    tried = {min(n // 4 * 2 if strong else n, 8 * 2**k) for k in range(14)}
    worst = max(sorted(tried), key=lambda m: mean(m, range(SCOUTS))[0])
    excess, error = mean(worst, range(1000, 1000 + repeats))
    return row | {"excess": excess, "error": error, "copies": worst}


def crossing(setting: str) -> float | None:
    """Return the number of rows at which the bounds of two methods meet."""
    sizes = np.unique(np.geomspace(ROWS[0], ROWS[-1], 60).astype(int) // 2 * 2)
    gaps = []
    for n in sizes:
        try:
            bounds = [planned(setting, method, int(n))[1] for method in CROSSINGS[setting]]
        except Incompatible:
            continue
        gaps.append((int(n), bounds[0] - bounds[1]))
    for (_, before), (n, after) in itertools.pairwise(gaps):
        if before * after <= 0:
            return float(n)
    return None


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
    for setting in SETTINGS:
        for method in METHODS:
            for n in ROWS:
                rows.append(hard_excess(setting, method, n, repeats))
                print(rows[-1], flush=True)
    points = [
        scaling(p, epsilon, kind, 100)
        for kind in ("hard instance", "logistic", "hinge")
        for p in (1, 2, 4)
        for epsilon in (0.25, 1.0, 4.0)
    ]
    OUT.mkdir(parents=True, exist_ok=True)
    config = {
        "epsilon": EPSILON,
        "p": DIMENSION,
        "repeats": repeats,
        "python": platform.python_version(),
    }
    crossings = {setting: crossing(setting) for setting in SETTINGS}
    content = {"config": config, "crossings": crossings, "hard": rows, "scaling": points}
    (OUT / "rows.json").write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


@style()
def plot() -> None:
    content = json.loads((OUT / "rows.json").read_text(encoding="utf-8"))
    figure = new_figure(11.0, 4.6)
    axes = figure.subplots(1, 3)
    colours = dict(zip(METHODS, ((BLUE, "o-"), (ORANGE, "s--"), (GREEN, "^-.")), strict=True))
    lines = ["| setting | n | lower bound | " + " | ".join(METHODS) + " |", "|---" * 6 + "|"]
    for axis, setting in zip(axes, SETTINGS, strict=False):
        rows = [r for r in content["hard"] if r["setting"] == setting]
        for method, (colour, fmt) in colours.items():
            mine = [r for r in rows if r["method"] == method and r["excess"] is not None]
            sizes = [r["n"] for r in mine]
            spread = [2 * r["error"] for r in mine]
            axis.errorbar(
                sizes, [r["excess"] for r in mine], spread, fmt=fmt, color=colour, label=method
            )
            axis.plot(sizes, [r["bound"] for r in mine], ":", color=colour, marker="")
        lower = {r["n"]: r["lower"] for r in rows}
        axis.plot(list(lower), list(lower.values()), "-", color=INK, marker="", label="lower bound")
        meet = content["crossings"][setting]
        if meet is not None:
            axis.axvline(meet, color=QUIET, lw=1, label="bounds of two methods cross")
        axis.set(
            xscale="log",
            yscale="log",
            xlabel="rows n",
            title=setting.capitalize(),
        )
        for n in ROWS:
            held = {r["method"]: r for r in rows if r["n"] == n}
            cells = [
                "refuses"
                if held[m]["excess"] is None
                else f"{held[m]['excess']:.3g} ± {held[m]['error']:.1g} (≤ {held[m]['bound']:.3g})"
                for m in METHODS
            ]
            lines.append(f"| {setting} | {n} | {lower[n]:.3g} | " + " | ".join(cells) + " |")
    axes[0].set_ylabel("excess of the sum; dotted: the plan's bound")
    for kind, marker in (("hard instance", "s"), ("logistic", "o"), ("hinge", "^")):
        mine = [r for r in content["scaling"] if r["kind"] == kind]
        axes[2].loglog(
            [r["bound"] for r in mine], [r["excess"] for r in mine], marker, ls="", label=kind
        )
    ends = [f(r["bound"] for r in content["scaling"]) for f in (min, max)]
    axes[2].plot(ends, ends, "-", color=INK, marker="", label="p/c")
    axes[2].set(xlabel="p/c", ylabel="mean excess", title="Exponential sampling")
    axes[2].legend(fontsize=8)
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=5, fontsize=9)
    save(figure, OUT / "pure_dp.png")
    (OUT / "table.md").write_text("\n".join(lines) + "\n", encoding="utf-8")


def instance(kind: str, p: int, inside: float) -> tuple[np.ndarray, np.ndarray]:
    """Return 10,000 rows of norm at most 1, and the margins of true weights +-``inside``."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(10_000, p))
    if kind == "binary features":
        X = (X > 0.5) / math.sqrt(p)
    else:
        X = X * np.exp(-np.arange(p) / 4) if kind == "decaying scales" else X
        X = X + rng.normal(size=(10_000, 1)) if kind == "correlated" else X
        X /= np.linalg.norm(X, axis=1)[:, None]
    return X, X @ np.where(np.arange(p) % 2, inside, -inside)


KINDS = ("isotropic", "decaying scales", "binary features")
CORNERS = "tangent-envelope"
CASES: tuple[tuple[Loss, str, tuple[int, ...], tuple[str, ...], ConvexSet], ...] = (
    (Logistic(), "gaussian-envelope", (2, 5, 10, 15), KINDS[:1], Box()),
    (Logistic(), CORNERS, (2, 5, 10), KINDS[:1], Box()),
    (Hinge(), CORNERS, (2, 5, 10, 15), KINDS, Box()),
    (Absolute(), CORNERS, (2, 5, 10), KINDS[:1], Box()),
    (Hinge(), CORNERS, (2, 5, 8, 12), ("isotropic", "correlated"), AllSpace()),
    (Absolute(), CORNERS, (2, 5, 8, 12), ("isotropic", "correlated"), AllSpace()),
)
"""Loss, sampler, numbers of weights, kinds of rows, and the set; a ball stands in for all space."""


def passes() -> None:
    """Count evaluations per draw, each with an envelope of its own.

    An evaluation is one pass over all rows that gives the summed loss and its gradient at
    one point; those of the descent before the first proposal count as well. Passes for
    second derivatives are counted apart.
    """
    table = []
    for loss, sampler, dimensions, kinds, region in CASES:
        truths = (0.0, 0.5) if isinstance(region, Box) else (8.0,)
        for kind, truth, p in itertools.product(kinds, truths, dimensions):
            # In the wide ball, true weights of that norm.
            X, margin = instance(kind, p, truth if truth < 1.0 else truth / math.sqrt(p))
            rng = np.random.default_rng(1)
            y = (rng.random(len(X)) < 1 / (1 + np.exp(-margin))).astype(float)
            if loss.target == "real":
                y = margin / max(1.0, truth) + 0.3 * rng.normal(size=len(X))
            task = Problem(
                loss=loss,
                bounds=replace(BOUNDS, label=(-1.0, 1.0)),
                n_features=p,
                n_rows=len(X),
                constraint=region,
            )
            plan = ExponentialSampling(sampler=sampler).plan(task, Budget(1.0))
            counts: Counter[str] = Counter()
            draws, most, start = 10 if p < 10 else 4, 0, time.process_time()
            with counted(counts):
                for seed in range(draws):
                    before = counts["objective"]
                    plan.run(ArraySource(X, y), Seeded(seed))
                    most = max(most, counts["objective"] - before)
            spent = (time.process_time() - start) / draws
            row = {"loss": loss.name, "sampler": sampler, "set": plan.problem.constraint.name}
            row |= {"rows": kind, "truth": truth, "p": p}
            row |= {k: counts[k] / draws for k in ("objective", "hessian")}
            table.append(row | {"most": most, "draws": draws, "CPU seconds": float(f"{spent:.2g}")})
            print(table[-1], flush=True)
    (OUT / "passes.json").write_text(json.dumps(table, indent=1) + "\n", encoding="utf-8")


@contextmanager
def counted(counts: Counter[str]) -> Iterator[None]:
    """Count the calls of the kernels that read all rows."""
    plain = {kind: getattr(Rows, kind) for kind in ("objective", "hessian")}

    def counting(kind: str) -> Any:
        def call(self: Rows, *rest: Any) -> Any:
            counts[kind] += 1
            return plain[kind](self, *rest)

        return call

    for kind in plain:
        setattr(Rows, kind, counting(kind))
    try:
        yield
    finally:
        for kind, kernel in plain.items():
            setattr(Rows, kind, kernel)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("step", choices=("run", "plot", "passes"))
    parser.add_argument("--repeats", type=int, default=REPEATS)
    arguments = parser.parse_args()
    if arguments.step == "run":
        run(arguments.repeats)
    else:
        {"plot": plot, "passes": passes}[arguments.step]()
