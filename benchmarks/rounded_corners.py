"""How wide to round corners under pure privacy: what ``CORNER_WIDEST`` was chosen on.

``python benchmarks/rounded_corners.py run`` writes ``results/rounded_corners.json`` and prints a
table: the excess per row of objective perturbation of the hinge, absolute and quantile loss with
their corners rounded by several widths, without a ridge, and that of what the smallest bound
would choose (exponential sampling for few weights, noisy gradient for more), in units of the
excess of weights of zero. Rows of equal norm are for choosing, rows of decaying scales and rows of
zeros and ones for judging.

With ``--ridge`` the same beside a ridge, where the rule takes twice the least width that keeps the
ridge: the excess of a quarter, half, twice and four times that width over that of the rule's, in
``results/rounded_corners_ridge.json``. The rule was found on the hinge and one law of rows.
"""

from __future__ import annotations

import json
import math
import warnings
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import minimize

from arguments import parser_of
from corner_steps import rows_of
from discreet import Bounds
from discreet.accounting import Budget
from discreet.algorithms import ObjectivePerturbation
from discreet.data import ArraySource
from discreet.defaults.case import Case
from discreet.defaults.rounded_corners import rounded_by, rounded_corners
from discreet.defaults.rules import SmallestBound
from discreet.losses import Absolute, Hinge, Loss, Quantile
from discreet.noise import Seeded
from discreet.problem import Plan, Problem, planned_tolerance
from discreet.regularizers import Ridge
from discreet.solvers.minimize import minimise

RESULTS = Path(__file__).resolve().parent / "results" / "rounded_corners.json"
LOSSES = (Hinge(), Absolute(), Quantile(quantile=0.9))
LAWS = ("equal norms", "decaying scales", "zeros and ones")
WIDTHS = (1 / 16, 1 / 8, 1 / 4, 1 / 2, 1.0)
FITS = 4


def drawn(
    loss: Loss, law: str, n: int, p: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return rows, labels, and labels as the loss takes them."""
    X = rows_of(law, n, p, rng)
    z = X @ rng.normal(size=p) + 0.3 * rng.normal(size=n)
    if loss.target == "sign":
        return X, (z > 0).astype(int), np.sign(z)
    return X, np.clip(z, -1, 1), np.clip(z, -1, 1)


def least(loss: Loss, X: np.ndarray, y: np.ndarray) -> float:
    """Return the minimum of the sum, by rounding less and less."""
    w = np.zeros(X.shape[1])
    for width in (0.3, 0.1, 0.03, 0.01, 0.003, 0.001):
        form = loss.rounded(width)
        assert form is not None
        smooth, factor = form

        def mean(w: np.ndarray, smooth: Loss = smooth, f: float = factor / len(y)) -> Any:
            z = X @ w
            return f * smooth.value(z, y).sum(), f * (X.T @ smooth.slope(z, y))

        w = minimize(mean, w, jac=True, method="L-BFGS-B", options={"maxiter": 2000}).x
    return math.fsum(loss.value(X @ w, y))


def cell(loss: Loss, law: str, n: int, p: int, epsilon: float) -> dict[str, Any]:
    """Return the excess of every width and of the smallest bound on one problem."""
    rng = np.random.default_rng([n, p, LAWS.index(law)])
    X, labels, y = drawn(loss, law, n, p, rng)
    best = least(loss, X, y)
    zero = math.fsum(loss.value(np.zeros(n), y)) - best
    sign = loss.target == "sign"
    bounds = Bounds(row_norm=1.0, classes=(0, 1)) if sign else Bounds(row_norm=1.0, label=(-1, 1))
    problem = Problem(loss=loss, bounds=bounds, n_features=p, n_rows=n)
    budget = Budget(epsilon)

    def excess(plan: Plan) -> float:
        weights = [plan.run(ArraySource(X, labels), Seeded(i)).weights for i in range(FITS)]
        return float(np.mean([math.fsum(loss.value(X @ w, y)) - best for w in weights])) / zero

    other = SmallestBound().plan(Case(problem, budget))
    found = {"loss": loss.name, "law": law, "rows": n, "weights": p, "epsilon": epsilon}
    found["other"], found["excess of other"] = other.algorithm, excess(other)
    for width in WIDTHS:
        form = loss.rounded(width)
        assert form is not None
        rounded = replace(problem, loss=form[0])
        found[f"{width:g}"] = excess(ObjectivePerturbation().plan(rounded, budget))
    return found


def ridge_cell(loss: Loss, law: str, p: int, strength: float) -> dict[str, Any]:
    """Return the excess of the rule's width, and of others in units of it, with a ridge."""
    n = 10_000
    X, labels, y = drawn(loss, law, n, p, np.random.default_rng([n, p, LAWS.index(law)]))
    sign = loss.target == "sign"
    bounds = Bounds(row_norm=1.0, classes=(0, 1)) if sign else Bounds(row_norm=1.0, label=(-1, 1))
    problem = Problem(
        loss=loss, bounds=bounds, n_features=p, n_rows=n, regularizer=Ridge(strength=strength)
    )
    case, source = Case(problem, Budget(1.0)), ArraySource(X, labels)
    best = minimise(problem.bound(source), loss, linear=np.zeros(p), strength=strength,
                    tolerance=planned_tolerance(problem, strength))  # fmt: skip

    def value(w: np.ndarray) -> float:
        return math.fsum(loss.value(X @ w, y)) + strength / 2 * float(w @ w)

    def excess(plan: Plan) -> float:
        weights = [plan.run(source, Seeded(i)).weights for i in range(FITS)]
        return float(np.mean([value(w) for w in weights])) - value(best)

    rule = rounded_corners(case)
    assert rule is not None
    found = {"loss": loss.name, "law": law, "weights": p, "strength": strength}
    found |= {"width": rule.width, "excess": excess(rule)}
    for times in (1 / 4, 1 / 2, 2.0, 4.0):
        found[f"times {times:g}"] = excess(rounded_by(case, times * rule.width)) / found["excess"]
    return found


def ridge_table(cells: list[dict[str, Any]]) -> None:
    """Print how much worse or better other widths are, and how far the rule is from the best."""
    names = [k for k in cells[0] if k.startswith("times")]
    for law in LAWS:
        of_law = [c for c in cells if c["law"] == law]
        means = [math.exp(np.mean([math.log(max(c[k], 1e-6)) for c in of_law])) for k in names]
        behind = max(1 / min(1.0, *(c[k] for k in names)) for c in of_law)
        print(f"{law:18}", *(f"{k} {m:.2f}" for k, m in zip(names, means, strict=True)),
              f"worst of the rule {behind:.2f}")  # fmt: skip


def table(cells: list[dict[str, Any]]) -> None:
    """Print geometric means over the cells of each law: the other method, and each width."""
    names = ["excess of other", *(f"{w:g}" for w in WIDTHS)]
    print(f"{'rows':18}{'cells':>6}", *(f"{name:>16}" for name in names))
    for law in LAWS:
        of_law = [c for c in cells if c["law"] == law]
        means = [math.exp(np.mean([math.log(max(c[k], 1e-6)) for c in of_law])) for k in names]
        print(f"{law:18}{len(of_law):6}", *(f"{m:16.4f}" for m in means))


def main() -> None:
    """Measure, write and print."""
    parser = parser_of(__doc__)
    parser.add_argument("--ridge", action="store_true", help="measure with a ridge")
    warnings.simplefilter("ignore")
    if parser.parse_args().ridge:
        with_a_ridge()
    else:
        without_a_ridge()


def without_a_ridge() -> None:
    """Measure, write and print the widths without a ridge."""
    cells = []
    for law, loss, p, n, epsilon in product(LAWS, LOSSES, (3, 8, 30), (1000, 10_000), (0.1, 1.0)):
        cells.append(cell(loss, law, n, p, epsilon))
        print(cells[-1], flush=True)
    keep(RESULTS, cells)
    table(cells)


def with_a_ridge() -> None:
    """Measure, write and print the widths beside a ridge."""
    cells = []
    for law, loss, p, strength in product(LAWS, LOSSES, (3, 8), (50.0, 500.0)):
        cells.append(ridge_cell(loss, law, p, strength))
        print(cells[-1], flush=True)
    keep(RESULTS.with_name("rounded_corners_ridge.json"), cells)
    ridge_table(cells)


def keep(file: Path, cells: list[dict[str, Any]]) -> None:
    """Write one line for every cell."""
    file.write_text("[\n" + ",\n".join(json.dumps(c) for c in cells) + "\n]\n")


if __name__ == "__main__":
    main()
