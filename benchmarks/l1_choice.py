"""Frank-Wolfe or one solve over an l1 ball: which comes closer, by the steps Frank-Wolfe takes.

``discreet.defaults.over_l1_ball`` leaves Frank-Wolfe where it would take at least as many steps as
there are columns. Both are fitted here to artificial rows, least squares over the ball of radius 1
and logistic regression over the ball that the plan finds. The rule was chosen on the laws of rows
that are called choosing; the others judge it. Excess is over the minimiser on the ball, per row::

    python benchmarks/l1_choice.py run

Writes ``results/l1_choice.json`` and prints how much excess and processor time one solve has, as
a part of Frank-Wolfe's (geometric means), on either side of the border.
"""

from __future__ import annotations

import itertools
import json
import math
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import expit

from arguments import parser_of
from discreet.accounting import Budget
from discreet.algorithms import FrankWolfe, ObjectivePerturbation, SufficientStatistics
from discreet.bounds import Bounds
from discreet.data import ArraySource
from discreet.losses import Logistic, Squared
from discreet.noise import Seeded
from discreet.problem import Plan, Problem
from discreet.sets import AllSpace, L1Ball
from discreet.solvers.minimize import minimise

EPSILONS, SIZES, SEEDS = (0.1, 1.0, 8.0), ((1000, 5), (10_000, 20), (20_000, 60)), 2
LAWS = {"choosing": ("sparse", "dense", "correlated", "binary"), "judging": ("heavy", "skewed")}


def rows(law: str, n: int, p: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return features, weights of l1 norm 1, and noise of the labels."""
    rng = np.random.default_rng(1)
    X = rng.uniform(-1, 1, (n, p))
    if law == "correlated":
        X = np.clip(0.7 * rng.uniform(-1, 1, (n, 1)) + 0.5 * X, -1, 1)
    if law == "binary":
        X = np.where(rng.random((n, p)) < 0.1, 1.0, -1.0)
    if law == "heavy":
        X = np.clip(0.1 * rng.standard_t(2, (n, p)), -1, 1)
    if law == "skewed":
        X = 2.0 * rng.beta(1.0, 6.0, (n, p)) - 1.0
    w = np.zeros(p)
    w[:3] = (0.5, -0.3, 0.2)
    if law == "dense":
        w = rng.dirichlet(np.ones(p)) * rng.choice([-1, 1], p)
    return X, w, rng.standard_normal(n)


def problem_of(kind: str, n: int, p: int, budget: Budget) -> Problem:
    """Return the problem of an estimator over its ball."""
    squared = kind == "squared"
    labels: dict[str, Any] = {"label": (-1, 1)} if squared else {"classes": (0, 1)}
    problem = Problem(
        loss=Squared() if squared else Logistic(),
        bounds=Bounds(features=(-1, 1), **labels),
        n_features=p,
        n_rows=n,
        intercept=1.0 if squared else 0.1,
        constraint=L1Ball(radius=1.0) if squared else AllSpace(),
    )
    if squared:
        return problem
    return replace(problem, constraint=FrankWolfe().fitting_ball(problem, budget))


def cell(kind: str, law: str, n: int, p: int, epsilon: float) -> dict[str, Any]:
    """Return excess and seconds of both, on one set of rows."""
    budget = Budget(epsilon, 1e-6)
    problem, (X, w, noise) = problem_of(kind, n, p, budget), rows(law, n, p)
    y = np.clip(X @ w + 0.2 * noise, -1, 1)
    if kind == "logistic":
        y = (expit(5.0 * (X @ w)) > np.random.default_rng(2).random(n)).astype(float)
    source, loss = ArraySource(X, y), problem.loss
    bounded = problem.bounding.apply(source)
    best = minimise(
        bounded,
        loss,
        linear=np.zeros(problem.dimension),
        strength=0.0,
        constraint=problem.constraint,
        tolerance=1e-5 * n,
    )
    least = bounded.objective(loss, best)[0]

    def tried(plan: Plan) -> tuple[float, float]:
        excess, start = [], time.process_time()
        for seed in range(SEEDS):
            found = plan.run(source, Seeded(seed)).weights
            excess.append((bounded.objective(loss, found)[0] - least) / n)
        return max(float(np.mean(excess)), 1e-7), (time.process_time() - start) / SEEDS

    steps = FrankWolfe().plan(problem, budget)
    kinds = (SufficientStatistics, ObjectivePerturbation)
    plans = [k().plan(problem, budget) for k in kinds[kind == "logistic" :]]
    solve = min(plans, key=lambda plan: plan.expected_excess)
    (far, slow), (near, fast) = tried(steps), tried(solve)
    return {
        "loss": kind,
        "law": law,
        "rows": n,
        "columns": problem.dimension,
        "epsilon": epsilon,
        "steps": steps.steps,
        "solve": solve.algorithm,
        "excess": {"frank-wolfe": far, "solve": near},
        "seconds": {"frank-wolfe": slow, "solve": fast},
    }


def main() -> None:
    """Run every cell, write them and print the comparison."""
    parser_of(__doc__).parse_args()
    cells = []
    for half, laws in LAWS.items():
        for kind, law, (n, p), epsilon in itertools.product(
            ("squared", "logistic"), laws, SIZES, EPSILONS
        ):
            cells.append({"half": half} | cell(kind, law, n, p, epsilon))
    out = Path(__file__).parent / "results" / "l1_choice.json"
    out.write_text(json.dumps(cells, indent=1) + "\n")
    print(
        "| half | loss | steps | cells | excess | worst | seconds |\n|---|---|---|---|---|---|---|"
    )
    for half, kind, many in itertools.product(LAWS, ("squared", "logistic"), (False, True)):
        some = [c for c in cells if c["half"] == half and c["loss"] == kind]
        some = [c for c in some if (c["steps"] >= c["columns"]) == many]
        ratios = [c["excess"]["solve"] / c["excess"]["frank-wolfe"] for c in some]
        times = [c["seconds"]["solve"] / c["seconds"]["frank-wolfe"] for c in some]
        means = [math.exp(np.mean(np.log(r))) if r else math.nan for r in (ratios, times)]
        name = "at least as many as columns" if many else "fewer than columns"
        print(f"| {half} | {kind} | {name} | {len(some)} | {means[0]:.3f} ", end="")
        print(f"| {max(ratios, default=math.nan):.2f} | {means[1]:.3f} |")


if __name__ == "__main__":
    main()
