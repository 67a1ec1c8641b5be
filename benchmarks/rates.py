"""The rates of the papers' tables, measured on hard instances and drawn.

    python benchmarks/rates.py run [--parts table-i lasso table-1 table-2]   # <part>.json
    python benchmarks/rates.py plot                                          # <part>.png

Files go to results/rates.

* ``table-i``: Table I of Bassily, Smith and Thakurta (2014). Excess of a sum against the number of
  features and of rows: linear loss under pure and under approximate privacy, a strongly convex loss
  that is smooth, and one whose minimiser sits on corners, where only localization gains from rows.
* ``lasso``: Talwar, Thakurta and Zhang (2015). Private Frank-Wolfe on the dense instance, where the
  mean excess falls like ``n^(-2/3)``, on a planted sparse one, which is easier, and on the
  fingerprinting instance of their lower bound.
* ``table-1``: Table 1 of Kifer, Smith and Thakurta (2012). Objective perturbation with their
  calibration, rows and weights of norm ``sqrt(p)``: excess against the number of features on data
  that curves as little as the ridge (rates 3 with gamma noise and 5/2 with Gaussian noise) and on
  data that curves much (rate 2).
* ``table-2``: Table 2 of the same. The least number of rows at which the whole support is found in
  half of the runs, against its size and against the number of features, by the exponential
  mechanism over all supports and by votes of blocks of rows.

All instances but those of the last two parts come from ``discreet.lab``. Guides have the slopes of
the theorems.
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from scipy.linalg import hadamard

from discreet import lab
from discreet.accounting import Budget, gaussian_multiplier
from discreet.algorithms import FrankWolfe, ObjectivePerturbation, SupportSelection
from discreet.bounds import Bounds
from discreet.data import ArraySource
from discreet.lab import Instance, measure
from discreet.losses import Clipped, Squared
from discreet.noise import Seeded
from discreet.problem import Problem
from discreet.sets import L1Ball, L2Ball
from discreet.tuned.algorithms import FRANK_WOLFE_CURVATURE

RESULTS = Path(__file__).resolve().parent / "results" / "rates"
PURE, APPROXIMATE = Budget(1.0), Budget(1.0, 1e-6)
Point = dict[str, Any]


def point(
    x: float, draw: Callable[[int], Instance], method: Any, budget: Budget, runs: int
) -> Point:
    """Return the mean excess of a method, with error, lower bound and bound of the plan."""
    found = measure(cache(draw), method, budget, runs=runs)
    bound = found.bound if math.isfinite(found.bound) else None
    return {
        "x": x,
        "excess": found.excess,
        "error": found.error,
        "lower": found.lower,
        "idle": found.at_zero,
        "bound": bound,
    }


def slope(points: list[Point]) -> float:
    """Return the exponent of a power law through the points."""
    x, y = ([math.log(p[k]) for p in points] for k in ("x", "excess"))
    return float(np.polyfit(x, y, 1)[0])


def table_i() -> dict[str, Any]:
    """Return the four panels of Table I."""
    features, rows = (2, 4, 8, 16, 32, 64), (1000, 4000, 16_000, 64_000)

    def linear(p: int, budget: Budget, smooth: bool) -> Callable[[int], Instance]:
        # So many copies that the method neither finds them surely nor gives them up.
        noise = p if budget.delta == 0 else math.sqrt(p) * gaussian_multiplier(1.0, 1e-6)
        copies = 2 * round(noise / budget.epsilon)
        proved = (lab.codeword if budget.delta == 0 else lab.fingerprint)(
            n_rows=8000, n_features=p, budget=budget, smooth=smooth
        ).lower
        return lambda seed: replace(
            lab.codeword(
                n_rows=8000,
                n_features=p,
                budget=Budget(budget.epsilon),
                copies=copies,
                smooth=smooth,
                seed=seed,
            ),
            lower=proved,
            budget=budget,
        )

    def quadratic(n: int) -> Callable[[int], Instance]:
        return lambda seed: lab.codeword(
            n_rows=n, n_features=4, budget=PURE, quadratic=True, smooth=True, seed=seed
        )

    def corner(n: int) -> Callable[[int], Instance]:
        return lambda seed: lab.corner(n_rows=n, n_features=2)

    perturbed, sampled = "objective-perturbation", "exponential-sampling"
    return {
        "linear loss, pure": {
            perturbed: [point(p, linear(p, PURE, True), perturbed, PURE, 20) for p in features],
            sampled: [point(p, linear(p, PURE, False), sampled, PURE, 20) for p in features[:3]],
        },
        "linear loss, delta = 1e-6": {
            name: [point(p, linear(p, APPROXIMATE, True), name, APPROXIMATE, 20) for p in features]
            for name in (perturbed, "noisy-gradient")
        },
        "quadratic, pure": {
            name: [point(n, quadratic(n), name, PURE, 20) for n in rows]
            for name in (perturbed, "localization", sampled)
        },
        "absolute error on corners, pure": {
            name: [point(n, corner(n), name, PURE, 40) for n in rows]
            for name in ("output-perturbation", sampled, "auto", "localization")
        },
    }


def planted(n: int, p: int, seed: int) -> Instance:
    """Return least squares on the l1 ball with a sparse answer."""
    rng = np.random.default_rng(seed)
    X = rng.choice([-1.0, 1.0], size=(n, p))
    best = np.zeros(p)
    best[:3] = 0.5, -0.3, 0.2
    problem = Problem(
        loss=Squared(),
        bounds=Bounds(features=(-1, 1), label=(-1, 1)),
        n_features=p,
        n_rows=n,
        constraint=L1Ball(radius=1.0),
    )
    return Instance(name="planted", problem=problem, X=X, y=X @ best, minimiser=best)


def lasso() -> dict[str, Any]:
    """Return the panels of private LASSO; excess is a mean over rows."""

    def averaged(draw: Callable[[int], Instance], runs: int, longer: bool = False) -> Point:
        instance = draw(0)
        n = instance.problem.n_rows
        assert n is not None
        steps = FrankWolfe().plan(instance.problem, APPROXIMATE).steps
        # The default takes data to curve less than the theorem allows for.
        steps = math.ceil(steps * FRANK_WOLFE_CURVATURE ** (2 / 3)) if longer else None
        found = point(n, draw, FrankWolfe(steps=steps), APPROXIMATE, runs)
        return {k: v / n if k != "x" and v is not None else v for k, v in found.items()}

    def hard(n: int) -> Callable[[int], Instance]:
        return lambda seed: lab.lasso_fingerprint(n_rows=n, budget=APPROXIMATE, seed=seed)

    def dense(p: int) -> Callable[[int], Instance]:
        return lambda seed: lab.dense_l1(n_features=p)

    def easy(n: int, p: int) -> Callable[[int], Instance]:
        return lambda seed: planted(n, p, seed)

    sizes = (8, 16, 32, 64)
    return {
        "dense answer": {
            "frank-wolfe, default steps": [averaged(dense(p), 10) for p in sizes],
            "frank-wolfe, steps of the theorem": [averaged(dense(p), 10, True) for p in sizes],
        },
        "sparse answer": {
            "frank-wolfe": [
                averaged(easy(n, p), 10) for n, p in ((9_216, 8), (26_064, 16), (73_728, 32))
            ]
        },
        "lower bound": {"frank-wolfe": [averaged(hard(n), 10) for n in (136, 518, 2000)]},
    }


def curved(p: int, copies: int) -> tuple[Problem, np.ndarray, np.ndarray, np.ndarray]:
    """Return squares with rows of norm ``sqrt(p)`` and Gram matrix ``copies * p * I``.

    Labels and weights are in units of ``p``, the largest label: the answer has norm ``sqrt(p)``.
    """
    X = np.tile(hadamard(p).astype(np.float64), (copies, 1))
    best = np.where(np.arange(p) % 3 == 0, -1.0, 1.0) / p
    problem = Problem(
        loss=Squared(),
        bounds=Bounds(row_norm=math.sqrt(p), label=(-1, 1)),
        n_features=p,
        n_rows=len(X),
        constraint=L2Ball(radius=(1 + 1e-9) / math.sqrt(p)),
    )
    return problem, X, X @ best, best


def table_1(runs: int = 40) -> dict[str, Any]:
    """Return the excess of objective perturbation as Kifer, Smith and Thakurta calibrate it."""

    def excess(p: int, budget: Budget, flat: bool) -> Point:
        # Their noise has norm ``b`` in the mean, so a ridge of ``b / |w|`` pulls as hard.
        root = math.sqrt(p)
        lipschitz = 2 * p * root
        noise = (
            2 * p * lipschitz / budget.epsilon
            if budget.delta == 0
            else root * lipschitz * math.sqrt(8 * math.log(2 / budget.delta) + 4) / budget.epsilon
        )
        ridge = noise / root if flat else None
        copies = max(1, round(noise / root / p)) if flat else 200 * p
        problem, X, y, best = curved(p, copies)
        # The least ridge that their theorem allows is that of an answer of any length.
        algorithm = ObjectivePerturbation(
            mode="kst12", strength=ridge, norm_guess=None if flat else 1e9
        )
        plan = algorithm.plan(problem, budget)
        curvature = copies * p
        values = []
        for seed in range(runs):
            weights = plan.run(ArraySource(X, y), Seeded(seed)).weights
            values.append(curvature / 2 * float(np.sum((p * (weights - best)) ** 2)))
        error = float(np.std(values, ddof=1) / math.sqrt(runs))
        return {"x": p, "excess": float(np.mean(values)), "error": error}

    features = (4, 8, 16, 32, 64)
    return {
        "any data": {
            "gamma noise, pure": [excess(p, PURE, True) for p in features],
            "Gaussian noise": [excess(p, APPROXIMATE, True) for p in features],
        },
        "data that curves": {
            "Gaussian noise": [excess(p, APPROXIMATE, False) for p in features[:4]]
        },
    }


def table_2(runs: int = 20) -> dict[str, Any]:
    """Return the least rows at which half of the runs find the support."""

    def found(selector: str, n: int, s: int, p: int) -> float:
        hits = 0
        for seed in range(runs):
            rng = np.random.default_rng([seed, s, p])
            X = rng.choice([-1.0, 1.0], size=(n, p))
            signal = X[:, :s] @ rng.choice([-0.5, 0.5], size=s) / s
            y = np.clip(signal + 0.25 * rng.normal(size=n), -1, 1)
            problem = Problem(
                loss=Clipped(loss=Squared(), clip=1.0),
                bounds=Bounds(features=(-1, 1), label=(-1, 1)),
                n_features=p,
                n_rows=n,
            )
            plan = SupportSelection(selector=selector, size=s).plan(problem, Budget(2.0, 1e-6))
            weights = plan.run(ArraySource(X, y), Seeded(seed)).weights
            hits += np.flatnonzero(weights).tolist() == list(range(s))
        return hits / runs

    def least(selector: str, s: int, p: int) -> float:
        low, high = 50, 100
        while found(selector, high, s, p) < 0.5:
            low, high = high, 2 * high
            if high > 200_000:
                return math.nan
        for _ in range(4):
            middle = round(math.sqrt(low * high))
            low, high = (low, middle) if found(selector, middle, s, p) >= 0.5 else (middle, high)
        return math.sqrt(low * high)

    def curve(selector: str, cases: list[tuple[int, int]], x: Callable[[int, int], float]) -> Any:
        return [{"x": x(s, p), "excess": least(selector, s, p)} for s, p in cases]

    by_size = [(s, 16) for s in (1, 2, 3, 4)]
    by_features = [(2, p) for p in (8, 16, 32, 64)]
    return {
        panel: {name: curve(name, cases, x) for name in ("exponential", "votes")}
        for panel, cases, x in (
            ("size of the support, 16 features", by_size, lambda s, p: s),
            ("features, support of 2", by_features, lambda s, p: p),
        )
    }


PARTS = {"table-i": table_i, "lasso": lasso, "table-1": table_1, "table-2": table_2}


def main() -> None:
    """Read the command line."""
    formatter = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=formatter)
    parser.add_argument("step", choices=("run", "plot"))
    parser.add_argument("--parts", nargs="*", choices=PARTS, default=list(PARTS))
    given = parser.parse_args()
    RESULTS.mkdir(parents=True, exist_ok=True)
    for part in given.parts:
        file = RESULTS / f"{part}.json"
        if given.step == "run":
            content = PARTS[part]()
            file.write_text(json.dumps(content, indent=1) + "\n")
            for panel, series in content.items():
                for name, points in series.items():
                    print(part, panel, name, f"slope {slope(points):.2f}", flush=True)
        elif file.exists():
            from rates_plots import draw

            draw(part, json.loads(file.read_text()), RESULTS / f"{part}.png")


if __name__ == "__main__":
    main()
