"""How much test accuracy weights can have at a given logistic risk, with nothing private about it.

``python benchmarks/accuracy_and_risk.py run`` (some minutes) takes the Covertype problem of
``logistic.py``, whose tables pick the best setting of a peer for risk and for accuracy separately.
It looks for weights that have both: they minimise the risk of the training rows and, more and more,
a smooth count of the errors on the *test* rows, which no method may see. It writes
``results/accuracy_and_risk.json``: excess risk and accuracy along the way, and the accuracy that
was found at the least risk of JAX-Privacy, between the points by straight lines. The count
is not convex, so more may exist; it starts from the weights before, with slopes of two widths.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
from scipy.optimize import minimize

from arguments import parser_of
from problems import PROBLEMS, Array, data_directory

RESULTS = Path(__file__).with_name("results")
PARTS = (0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.5)
"""How much an error on the test rows counts, over a unit of risk."""
WIDTHS = (5.0, 20.0)
"""Slopes of the smooth count of errors, which at first is flat over many rows."""

Objective = Callable[[Array], tuple[float, Array]]


def mean_of(X: Array, y: Array, steep: float | None = None) -> Objective:
    """Return the mean logistic loss, or the mean of a steep step, with its gradient."""

    def value(w: Array) -> tuple[float, Array]:
        z = y * (X @ w) * (steep or 1.0)
        wrong = 1.0 / (1.0 + np.exp(np.clip(z, -500.0, 500.0)))
        if steep is None:
            return float(np.logaddexp(0.0, -z).mean()), -(X.T @ (y * wrong)) / len(y)
        slope = steep * wrong * (1.0 - wrong)
        return float(wrong.mean()), -(X.T @ (y * slope)) / len(y)

    return value


def frontier(name: str, directory: Path) -> list[dict[str, float]]:
    """Return excess risk and test accuracy of weights that see the test rows more and more."""
    problem = PROBLEMS[name](directory)
    labels, tests = 2.0 * problem.y_train - 1.0, 2.0 * problem.y_test - 1.0
    risk = mean_of(problem.X_train, labels)

    def descended(objective: Objective, start: Array) -> Array:
        options = {"maxiter": 2000, "maxfun": 3000, "ftol": 1e-13, "gtol": 1e-9}
        return minimize(objective, start, jac=True, method="L-BFGS-B", options=options).x

    w = descended(risk, np.zeros(problem.X_train.shape[1]))
    least, found = risk(w)[0], []
    for part in (0.0, *PARTS):
        for steep in WIDTHS if part else ():
            errors = mean_of(problem.X_test, tests, steep)

            def both(
                w: Array, errors: Objective = errors, part: float = part
            ) -> tuple[float, Array]:
                (a, b), (c, d) = risk(w), errors(w)
                return a + part * c, b + part * d

            w = descended(both, w)
        accuracy = float(np.mean((problem.X_test @ w > 0) == (tests > 0)))
        found.append({"part": part, "excess": risk(w)[0] - least, "accuracy": accuracy})
        print(f"part {part:<5g} excess {found[-1]['excess']:.2e}  accuracy {accuracy:.4f}")
    return found


def peers(name: str) -> list[dict[str, str]]:
    """Return the cells of the comparison's table for one problem."""
    with (RESULTS / "logistic" / "table.csv").open() as file:
        return [row for row in csv.DictReader(file) if row["problem"] == name]


def compared(found: list[dict[str, float]]) -> list[dict[str, float]]:
    """Return what JAX-Privacy has at every epsilon, and what was found at its least risk."""
    excess, accuracy = (np.array([row[k] for row in found]) for k in ("excess", "accuracy"))
    return [
        {
            "epsilon": float(row["epsilon"]),
            "least excess of JAX-Privacy": float(row["excess"]),
            "most accuracy of JAX-Privacy": float(row["accuracy"]),
            "accuracy found at that excess": float(
                np.interp(float(row["excess"]), excess, accuracy)
            ),
        }
        for row in peers("covertype")
        if row["method"] == "jax-privacy"
    ]


def main() -> None:
    """Measure and write the result."""
    parser = parser_of(__doc__)
    parser.add_argument("--data", help="directory of the data sets")
    found = frontier("covertype", data_directory(parser.parse_args().data))
    record = {"covertype": found, "at a peer's least excess": compared(found)}
    print(json.dumps(record["at a peer's least excess"], indent=1))
    (RESULTS / "accuracy_and_risk.json").write_text(json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main()
