"""Noisy gradient descent: printed bounds, lower bounds, corners, and accuracy on public data.

``python benchmarks/noisy_gradient.py bounds choice corners accuracy`` (any subset) writes
``results/noisy_gradient.json`` and, for ``bounds``, ``results/noisy_gradient.png``. ``accuracy``
reads the data sets described in ``notes/logistic.md``; ``--data`` names their directory.

``choice`` plans many problems with ``algorithm="auto"``. Where that takes noisy gradient although
objective perturbation applies, both are run on artificial rows.

``corners`` also gives the bound of each method, at the norm of the optimum: for noisy gradient that
of the ``lipschitz`` rule. No peer is run here; for tuned peers see ``noisy_gradient_peers.py``.
"""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.optimize import linprog, minimize

from discreet import Bounds, PrivateLogisticRegression, PrivateSGDClassifier
from discreet.accounting import Budget, gaussian_multiplier
from discreet.algorithms import NoisyGradient, ObjectivePerturbation, OutputPerturbation
from discreet.data import ArraySource
from discreet.defaults import recommend
from discreet.errors import MissingBound
from discreet.lab import fingerprint_rows, linear_bound, quadratic_bound
from discreet.losses import (
    Absolute,
    EuclideanDistance,
    Hinge,
    Huber,
    HuberisedHinge,
    Logistic,
    Loss,
    SmoothedQuantile,
    Squared,
)
from discreet.noise import Seeded
from discreet.problem import Problem
from discreet.regularizers import Ridge
from discreet.sets import AllSpace, L2Ball
from few_rows import one_hot
from few_rows import rows as law_rows
from problems import PROBLEMS, data_directory

RESULTS = Path(__file__).resolve().parent / "results"
DELTA = 1e-6


def risk(loss: Loss, X: np.ndarray, y: np.ndarray, w: np.ndarray, strength: float = 0.0) -> float:
    """Return the sum of the losses plus a ridge term."""
    return float(loss.value(X @ w, y).sum()) + strength * float(np.sum(w * w)) / 2


def rows_of(n: int, p: int, norm: float, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return unit rows with logistic labels 0 and 1."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    X /= np.linalg.norm(X, axis=1)[:, None]
    w = rng.normal(size=p)
    w *= norm / np.linalg.norm(w)
    return X, (rng.random(n) < 1 / (1 + np.exp(-X @ w))).astype(int)


# -- bounds ---------------------------------------------------------------------------------------


def smooth_like(loss: Loss, X: np.ndarray, y: np.ndarray, strength: float, radius: float) -> float:
    """Return the minimum over the ball, by a quasi-Newton method on a fine smoothing."""
    sign = 2.0 * y - 1
    stand_in = HuberisedHinge(width=1e-3) if isinstance(loss, Hinge) else loss

    def objective(v: np.ndarray) -> tuple[float, np.ndarray]:
        size = np.linalg.norm(v)
        over = max(0.0, size - radius)
        slope = X.T @ stand_in.slope(X @ v, sign) + strength * v
        penalty = 1e4 * over * v / max(size, 1e-12)
        return risk(stand_in, X, sign, v, strength) + 5e3 * over**2, slope + penalty

    start = np.zeros(X.shape[1])
    point = minimize(objective, start, jac=True, method="L-BFGS-B", options={"maxiter": 3000}).x
    return risk(loss, X, sign, L2Ball(radius=radius).project(point), strength)


def bounds(runs: int) -> list[dict[str, Any]]:
    """Measure the excess of the rules against their printed bounds."""
    n, p, radius, out = 2000, 10, 2.0, []
    X, y = rows_of(n, p, 3.0)
    cases: dict[str, tuple[Loss, dict[str, Any], float]] = {
        "lipschitz": (Hinge(), {"rule": "lipschitz"}, 0.0),
        "typical": (Hinge(), {"rule": "typical"}, 0.0),
        "adaptive": (Hinge(), {"rule": "adaptive"}, 0.0),
        "smooth": (Logistic(), {"rule": "smooth"}, 0.0),
        "accelerated": (Logistic(), {"rule": "accelerated"}, 0.0),
        "strongly convex": (Hinge(), {"rule": "strongly-convex"}, 100.0),
    }
    for name, (loss, config, strength) in cases.items():
        best = smooth_like(loss, X, y, strength, radius)
        for epsilon in (0.25, 1.0, 4.0):
            problem = Problem(
                loss=loss,
                bounds=Bounds(row_norm=1.0, classes=(0, 1)),
                n_features=p,
                n_rows=n,
                constraint=L2Ball(radius=radius),
                regularizer=Ridge(strength=strength),
            )
            plan = NoisyGradient(**config).plan(problem, Budget(epsilon, DELTA))
            found = [
                risk(loss, X, 2.0 * y - 1, plan.run(ArraySource(X, y), Seeded(s)).weights, strength)
                for s in range(runs)
            ]
            out.append(
                {
                    "case": name,
                    "epsilon": epsilon,
                    "steps": plan.steps,
                    "bound": plan.bound,
                    "measured": float(np.mean(found)) - best,
                }
            )
            print(out[-1], flush=True)
    return out


class Linear(Loss):
    """The linear loss ``-z`` of the lower-bound instances; labels play no part."""

    name = "linear"
    target = "real"

    def value(self, z: np.ndarray, y: np.ndarray) -> np.ndarray:
        return -z

    def slope(self, z: np.ndarray, y: np.ndarray) -> np.ndarray:
        return -np.ones_like(z)

    def curvature(self, z: np.ndarray, y: np.ndarray) -> np.ndarray:
        return np.zeros_like(z)

    def regularity(self, *, label: float, reach: float) -> Any:
        return Hinge().regularity(label=label, reach=reach)


# Losses, rows, features, epsilon, delta and, for quadratics, the part of the largest bound that is
# enough. A quadratic is linear and a ridge term of strength n.
HARD = (
    ("linear", 4000, 100, 0.1, 1e-8),
    ("linear", 4000, 1000, 0.1, 1e-8),
    ("linear", 4000, 1000, 1.0, 1e-8),
    ("quadratic", 400, 10_000, 0.1, 1e-6, 0.5),
    ("quadratic", 200, 1000, 0.1, 1e-6, 0.5),
    ("quadratic", 4000, 1000, 0.1, 1e-8, 0.5),
    ("quadratic", 4000, 1000, 0.1, 1e-8, 1.0),
)


def hard(runs: int) -> list[dict[str, Any]]:
    """Measure the excess on the instances no private method can do well on."""
    out = []
    for kind, n, p, epsilon, delta, *share in HARD:
        linear = kind == "linear"
        bound = linear_bound if linear else quadratic_bound
        least, size, copies = bound(p, n, epsilon, delta, *share)
        problem = Problem(
            loss=Linear(),
            bounds=Bounds(row_norm=1.0, label=(-1.0, 1.0)),
            n_features=p,
            n_rows=n,
            neighbours="replace-one",
            constraint=L2Ball(radius=1.0),
            regularizer=Ridge(strength=0.0 if linear else float(n)),
        )
        rule = {"rule": "lipschitz" if linear else "strongly-convex"}
        few = {"steps": 200} if linear else {}
        plan = NoisyGradient(**few).plan(problem, Budget(epsilon, delta))
        proved = NoisyGradient(**few, **rule).plan(problem, Budget(epsilon, delta))
        excess, idle, hindsight = [], [], []
        # What the noise of one release of the sum costs a quadratic if nothing shrinks it.
        noise = p * (2 * gaussian_multiplier(epsilon, delta)) ** 2 / (2 * n)
        for s in range(runs):
            X = fingerprint_rows(n, p, size, copies, s)
            w = plan.run(ArraySource(X, np.zeros(n)), Seeded(s)).weights
            total = X.sum(axis=0)
            if linear:
                excess.append(float(np.linalg.norm(total) - total @ w))
                idle.append(float(np.linalg.norm(total)))
            else:
                excess.append(n / 2 * float(np.sum((w - total / n) ** 2)))
                idle.append(float(np.sum(total**2)) / (2 * n))
                hindsight.append(idle[-1] * noise / (idle[-1] + noise))
        out.append(
            {
                "loss": kind,
                "n": n,
                "p": p,
                "epsilon": epsilon,
                "lower bound": least,
                "rows that matter": size * copies,
                "copies of each": copies,
                "measured": float(np.mean(excess)),
                "weights of zero": float(np.mean(idle)),
                "best multiple of a noisy sum": float(np.mean(hindsight)) if hindsight else None,
                "times the lower bound": float(np.mean(excess)) / least,
                "printed bound": plan.bound,
                "printed bound of the rule": proved.bound,
            }
        )
        print(out[-1], flush=True)
    return out


# -- choice ---------------------------------------------------------------------------------------


def labelled(
    law: str, n: int, p: int, norm: float, *, signs: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Return rows of a law, with logistic labels 0 and 1, or numbers in [-1, 1]."""
    rng = np.random.default_rng([n, p, round(norm)])
    X = one_hot(n, p, rng) if law == "one-hot" else law_rows(law, n, p, rng)
    w = rng.normal(size=p)
    z = X @ (w * norm / np.linalg.norm(w))
    if signs:
        return X, (rng.random(n) < 1 / (1 + np.exp(-z))).astype(int)
    return X, np.clip(z / 10 + 0.2 * rng.normal(size=n), -1, 1)


def both(plan: Any, other: Any, runs: int) -> np.ndarray:
    """Return the mean excess of two plans, and that of weights of zero, on nine data sets."""
    problem, out = plan.problem, []
    loss, signs = problem.loss, problem.loss.target == "sign"
    exact = ObjectivePerturbation().plan(problem, Budget(1e4, 1e-3))
    for law, norm in product(("alike", "graded", "one-hot"), (1.0, 6.0, 25.0)):
        X, y = labelled(law, problem.n_rows, problem.n_features, norm, signs=signs)
        source, values = ArraySource(X, y), 2.0 * y - 1 if signs else y
        means = []
        for each in (plan, other, exact):
            fits = [each.run(source, Seeded(s)).weights for s in range(runs)]
            means.append(np.mean([risk(loss, X, values, w) for w in fits]))
        means[2] = min(means)
        idle = risk(loss, X, values, np.zeros(problem.n_features))
        out.append([means[0] - means[2], means[1] - means[2], idle - means[2]])
    return np.array(out)


def choice(runs: int) -> dict[str, Any]:
    """Measure both algorithms where ``"auto"`` prefers noisy gradient to objective perturbation."""
    losses = (Logistic(), HuberisedHinge(), Huber(), Squared())
    radii = (None, 0.2, 1.0, 5.0)
    planned, taken, excess = 0, [], []
    for loss, n, p, epsilon, delta, radius in product(
        losses, (300, 3000, 30_000), (4, 40), (0.1, 1.0, 8.0), (DELTA, 0.0), radii
    ):
        signs = loss.target == "sign"
        labels = {"classes": (0, 1)} if signs else {"label": (-1.0, 1.0)}
        problem = Problem(
            loss=loss,
            bounds=Bounds(row_norm=1.0, **labels),
            n_features=p,
            n_rows=n,
            constraint=AllSpace() if radius is None else L2Ball(radius=radius),
        )
        budget = Budget(epsilon, delta)
        try:
            other = ObjectivePerturbation().plan(problem, budget)
        except MissingBound:
            continue
        planned, plan = planned + 1, recommend(problem, budget)
        if plan.facts()["algorithm"] != NoisyGradient.name:
            continue
        excess.append(both(plan, other, runs))
        facts = {"loss": loss.name, "n": n, "p": p, "epsilon": epsilon, "delta": delta}
        names = ("noisy gradient", "objective perturbation", "weights of zero")
        means = dict(zip(names, excess[-1].mean(axis=0).tolist(), strict=True))
        taken.append(facts | {"radius": radius} | means)
        print(taken[-1], flush=True)
    # Excesses of a hundredth of one row's loss are as good as none.
    ours, theirs, _ = np.concatenate(excess).T + 0.01
    return {
        "plans": planned,
        "noisy gradient preferred": len(taken),
        "smaller excess with it": float(np.mean(ours < theirs)),
        "ratio of excesses, geometric mean": float(np.exp(np.mean(np.log(ours / theirs)))),
        "ratio of their means": float(ours.mean() / theirs.mean()),
        "means": taken,
    }


def picture(table: list[dict[str, Any]], instances: list[dict[str, Any]]) -> None:
    """Draw measured excess against the bounds."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(15, 4.6), layout="constrained")
    for k, name in enumerate(dict.fromkeys(r["case"] for r in table)):
        mine = [r for r in table if r["case"] == name]
        x = [r["epsilon"] for r in mine]
        left.plot(x, [r["bound"] for r in mine], "--", color=f"C{k}", label=f"{name}, bound")
        left.plot(x, [r["measured"] for r in mine], "o-", color=f"C{k}", label=f"{name}, measured")
    left.set(xscale="log", yscale="log", xlabel="epsilon", ylabel="excess (sum of losses)")
    left.set_xticks(sorted({r["epsilon"] for r in table}), minor=False)
    left.xaxis.set_major_formatter("{x:g}")
    left.xaxis.set_minor_formatter("")
    left.set_title("step rules: bound and measured")
    left.legend(fontsize=7, loc="center left", bbox_to_anchor=(1.0, 0.5))
    names = [
        "{loss}\nn={n}\np={p}\neps={epsilon:g}\n{rows that matter} matter".format_map(r)
        for r in instances
    ]
    for key, marker in (
        ("lower bound", "_"),
        ("measured", "o"),
        ("weights of zero", "+"),
        ("printed bound of the rule", "x"),
    ):
        right.plot(names, [r[key] for r in instances], marker, markersize=10, label=key)
    right.set(yscale="log", ylabel="excess (sum of losses)", title="lower-bound instances")
    right.tick_params(axis="x", labelsize=7)
    right.legend(fontsize=7, loc="center left", bbox_to_anchor=(1.0, 0.5))
    figure.savefig(RESULTS / "noisy_gradient.png", dpi=120)


# -- corners --------------------------------------------------------------------------------------


# Rows, features and norm of the weights behind the labels. None of them, nor their seeds, is among
# the problems on which the constants of steps.py were chosen (see notes/noisy-gradient.md).
INSTANCES = ((10_000, 20, 10.0), (3_000, 10, 5.0), (10_000, 50, 20.0))


def corners(runs: int) -> list[dict[str, Any]]:
    """Compare the exact loss by noisy gradient with its smoothed form by objective perturbation."""
    out = []
    for n, p, norm in INSTANCES:
        X, y = rows_of(n, p, norm, seed=7)
        rng = np.random.default_rng(8)
        target = np.clip(X @ rng.normal(size=p) / 2 + 0.3 * rng.standard_t(2, size=n), -1, 1)
        smooth: dict[str, tuple[Loss, dict[str, Any], np.ndarray, np.ndarray, dict[str, Loss]]] = {
            "hinge": (
                Hinge(),
                {"classes": (0, 1)},
                2.0 * y - 1,
                y,
                {f"smoothed, width {h}": HuberisedHinge(width=h) for h in (0.1, 0.5)},
            ),
            "absolute": (
                Absolute(),
                {"label": (-1, 1)},
                target,
                target,
                {
                    f"smoothed, width {h}": SmoothedQuantile(quantile=0.5, width=h)
                    for h in (0.05, 0.25)
                },
            ),
        }
        for name, (loss, labels, coded, raw, others) in smooth.items():
            facts = {"bounds": Bounds(row_norm=1.0, **labels), "n_features": p, "n_rows": n}
            best, optimum = _least(loss, X, coded)
            for epsilon in (0.1, 0.5, 2.0):
                budget = Budget(epsilon, DELTA)
                exact = Problem(loss=loss, **facts)
                plans: dict[str, Any] = {"noisy gradient": NoisyGradient().plan(exact, budget)}
                proved = NoisyGradient(rule="lipschitz", norm_guess=optimum)
                bounds = {"noisy gradient": proved.plan(exact, budget).bound}
                for label, other in others.items():
                    problem = Problem(loss=other, **facts)
                    plans[label] = ObjectivePerturbation().plan(problem, budget)
                    known = ObjectivePerturbation(norm_guess=optimum).plan(problem, budget)
                    bounds[label] = smoothing_bound(loss, other, known, n)
                for method, plan in plans.items():
                    start = time.perf_counter()
                    found = [
                        risk(loss, X, coded, plan.run(ArraySource(X, raw), Seeded(s)).weights)
                        for s in range(runs)
                    ]
                    out.append(
                        {
                            "loss": name,
                            "rows": n,
                            "features": p,
                            "norm of the optimum": optimum,
                            "epsilon": epsilon,
                            "method": method,
                            "excess per row": (float(np.mean(found)) - best) / n,
                            "bound per row": bounds[method] / n,
                            "seconds": (time.perf_counter() - start) / runs,
                        }
                    )
                    print(out[-1], flush=True)
    return out


def smoothing_bound(loss: Loss, smooth: Loss, plan: Any, n: int) -> float:
    """Bound the excess in the exact loss: that of the smoothed one, and what smoothing hides."""
    z, zero = np.linspace(-3, 3, 6001), np.zeros(6001)
    y = zero + 1.0 if isinstance(loss, Hinge) else zero
    # The smoothed loss may be a multiple of the exact one far from the corner, and lies above it.
    scale = loss.slope(np.array([-3.0]), y[:1])[0] / smooth.slope(np.array([-3.0]), y[:1])[0]
    gap = float(np.max(scale * smooth.value(z, y) - loss.value(z, y)))
    return scale * plan.expected_excess + n * gap


def _least(loss: Loss, X: np.ndarray, y: np.ndarray) -> tuple[float, float]:
    """Return the minimum of the hinge or absolute loss, and the norm of its minimiser, exactly."""
    n, p = X.shape
    slack = -sp.eye_array(n)
    if isinstance(loss, Hinge):
        rows, limit = sp.hstack([sp.csr_array(-y[:, None] * X), slack]), -np.ones(n)
    else:
        body = sp.csr_array(X)
        rows = sp.vstack([sp.hstack([body, slack]), sp.hstack([-body, slack])])
        limit = np.r_[y, -y]
    cost = np.r_[np.zeros(p), np.ones(n)]
    free = [(None, None)] * p + [(0, None)] * n
    found = linprog(cost, A_ub=rows, b_ub=limit, bounds=free, method="highs")
    return float(found.fun), float(np.linalg.norm(found.x[:p]))


@dataclass(frozen=True, kw_only=True)
class SmoothedDistance(EuclideanDistance):
    """The distance to a point, quadratic within ``width`` of it."""

    width: float = 0.1

    def value(self, z: np.ndarray, y: np.ndarray) -> np.ndarray:
        d, h = np.linalg.norm(z - y, axis=1), self.width
        return np.where(d < h, d * d / (2 * h) + h / 2, d)

    def slope(self, z: np.ndarray, y: np.ndarray) -> np.ndarray:
        return (z - y) / np.maximum(np.linalg.norm(z - y, axis=1), self.width)[:, None]

    def curvature(self, z: np.ndarray, y: np.ndarray) -> np.ndarray:
        inside = (np.linalg.norm(z - y, axis=1) < self.width)[:, None, None]
        return np.where(inside, np.eye(self.dim) / self.width, super().curvature(z, y))

    def regularity(self, *, label: float, reach: float) -> Any:
        exact, most = super().regularity(label=label, reach=reach), 1 / self.width
        return replace(exact, smoothness=most, trace=self.dim * most)


def median(runs: int) -> list[dict[str, Any]]:
    """Compare the geometric median with its smoothed form, on rows of which some are far out.

    Objective perturbation with Gaussian noise is proved for linear models only, so the smoothed
    form goes through output perturbation, and without delta through gamma noise.
    """
    rng, n, d, out = np.random.default_rng(0), 5000, 5, []
    rows = 0.05 * rng.normal(size=(n, d))
    rows[: n // 5] += 0.4
    rows /= np.maximum(1, np.linalg.norm(rows, axis=1, keepdims=True))

    def excess(w: np.ndarray) -> float:
        return (float(np.linalg.norm(rows - w, axis=1).sum()) - centre.fun) / n

    centre = minimize(lambda v: float(np.linalg.norm(rows - v, axis=1).sum()), rows.mean(axis=0))
    facts: dict[str, Any] = {"bounds": Bounds(row_norm=1.0), "n_features": 1, "n_rows": n}
    facts["constraint"] = L2Ball(radius=1.0)
    exact = Problem(loss=EuclideanDistance(dim=d), **facts)
    for epsilon in (0.1, 0.5, 2.0):
        for delta in (DELTA, 0.0):
            budget = Budget(epsilon, delta)
            plans: dict[str, Any] = {"noisy gradient": NoisyGradient().plan(exact, budget)}
            for h in (0.02, 0.1):
                smooth = Problem(loss=SmoothedDistance(dim=d, width=h), **facts)
                rivals: dict[str, Any] = {"output perturbation": OutputPerturbation(norm_guess=1.0)}
                if delta == 0:
                    rivals["objective perturbation"] = ObjectivePerturbation(norm_guess=1.0)
                for name, rival in rivals.items():
                    title = f"smoothed, width {h}, {name}"
                    plans[title] = rival.plan(smooth, budget)
            for method, plan in plans.items():
                source = ArraySource(np.ones((n, 1)), rows)
                found = [excess(plan.run(source, Seeded(s)).weights.ravel()) for s in range(runs)]
                out.append(
                    {
                        "loss": "geometric median",
                        "epsilon": epsilon,
                        "delta": delta,
                        "method": method,
                        "excess per row": float(np.mean(found)),
                        "excess per row of the exact mean": excess(rows.mean(axis=0)),
                    }
                )
                print(out[-1], flush=True)
    return out


# -- accuracy -------------------------------------------------------------------------------------


def accuracy(data: str | None, names: list[str]) -> list[dict[str, Any]]:
    """Measure test accuracy with default settings."""
    out = []
    for name in names:
        problem = PROBLEMS[name](data_directory(data))
        facts = {
            "delta": DELTA,
            "bounds": Bounds(row_norm=1.0, classes=(0, 1)),
            "fit_intercept": False,
            "random_state": 0,
        }
        for epsilon in (1.0, 8.0):
            models = {
                "auto": PrivateLogisticRegression(epsilon=epsilon, **facts),
                "noisy gradient": PrivateSGDClassifier(loss="logistic", epsilon=epsilon, **facts),
            }
            for label, model in models.items():
                start = time.perf_counter()
                model.fit(problem.X_train, problem.y_train)
                out.append(
                    {
                        "problem": name,
                        "epsilon": epsilon,
                        "method": label,
                        "algorithm": model.algorithm_,
                        "accuracy": float(model.score(problem.X_test, problem.y_test)),
                        "seconds": time.perf_counter() - start,
                    }
                )
                print(out[-1], flush=True)
    return out


def main() -> None:
    """Parse the command line and merge the results into one file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="+", choices=("bounds", "choice", "corners", "accuracy"))
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--data", help="directory of the data sets (or DISCREET_DATA)")
    parser.add_argument("--problems", nargs="+", default=["adult", "covertype"])
    args = parser.parse_args()
    path = RESULTS / "noisy_gradient.json"
    result = json.loads(path.read_text()) if path.exists() else {}
    if "bounds" in args.parts:
        result["bounds"], result["lower bounds"] = bounds(args.runs), hard(args.runs)
        picture(result["bounds"], result["lower bounds"])
    if "choice" in args.parts:
        result["choice"] = choice(args.runs)
    if "corners" in args.parts:
        result["corners"] = corners(args.runs) + median(args.runs)
    if "accuracy" in args.parts:
        result["accuracy"] = accuracy(args.data, args.problems)
    path.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
