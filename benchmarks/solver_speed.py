"""Time logistic regression, the solver and whole private fits, against scikit-learn's.

The certified inner solver and scikit-learn's solvers fit the same noise-free
problem in the same process, one after the other. Ours includes the bounding copy
of the data and the certificate. Then ``PrivateLogisticRegression`` is fitted with
its defaults, and once more to see how much memory it takes at the most; with a row
norm alone, and with ranges of the features as well.
Writes ``results/solver_speed.json`` beside its configuration::

    python benchmarks/solver_speed.py run --rows 1000000 --features 100
"""

from __future__ import annotations

import itertools
import json
import os
import platform
import time
import tracemalloc
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import scipy
import sklearn
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

from arguments import parser_of
from discreet import PrivateLogisticRegression
from discreet.bounds import Bounds
from discreet.data import ArraySource, Bounding, certificate_error
from discreet.losses import Logistic
from discreet.solvers.minimize import minimise

EPSILONS = (0.1, 1.0, 8.0)
RANGE = (-0.5, 0.5)
SOLVERS = ("newton-cholesky", "lbfgs", "newton-cg")


def make(n_rows: int, n_features: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return correlated features and labels from a logistic model."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_rows, n_features))
    X += 0.5 * rng.standard_normal((n_rows, 1))
    X *= rng.uniform(0.5, 1.5, n_features) / np.sqrt(n_features)
    w = 3.0 * rng.standard_normal(n_features)
    return X, (rng.random(n_rows) < expit(X @ w)).astype(int)


def best(function: Callable[[], Any], repeats: int) -> tuple[float, float, Any]:
    """Return the least wall and CPU seconds of several runs, and a result."""
    walls, cpus, result = [], [], None
    for _ in range(repeats):
        wall, cpu = time.perf_counter(), time.process_time()
        result = function()
        walls.append(time.perf_counter() - wall)
        cpus.append(time.process_time() - cpu)
    return min(walls), min(cpus), result


def main() -> None:
    """Run the comparison and write the results."""
    parser = parser_of(__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--features", type=int, default=100)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--seed", type=int, default=0)
    out = Path(__file__).parent / "results" / "solver_speed.json"
    parser.add_argument("--out", type=Path, default=out)
    args = parser.parse_args()
    X, y = make(args.rows, args.features, args.seed)
    loss, strength = Logistic(), 1.0
    bounding = Bounding.plan(
        Bounds(row_norm=2.0, classes=(0, 1)), args.features, loss, intercept=1.0
    )
    tolerance = 4.0 * certificate_error(
        loss,
        n_rows=args.rows,
        dimension=bounding.dimension,
        row_norm=bounding.row_norm,
        weights_norm=40.0,
    )
    linear = np.zeros(bounding.dimension)

    def ours() -> np.ndarray:
        rows = bounding.apply(ArraySource(X, y))
        return minimise(rows, loss, linear=linear, strength=strength, tolerance=tolerance)

    # The same intercept column and ridge as ours, so that all solve one problem.
    wide = bounding.apply(ArraySource(X, y)).X

    def theirs(solver: str) -> np.ndarray:
        model = LogisticRegression(C=1.0 / strength, solver=solver, fit_intercept=False)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return model.fit(wide, y).coef_[0]

    results: dict[str, Any] = {}
    wall, cpu, found = best(ours, args.repeats)
    results["discreet"] = {"wall": wall, "cpu": cpu}
    print(f"{'discreet':<16} {wall:8.3f} s wall {cpu:8.3f} s cpu  (bounding and certificate)")
    for solver in SOLVERS:
        wall, cpu, weights = best(lambda solver=solver: theirs(solver), args.repeats)
        gap = float(np.linalg.norm(weights - found))
        results[solver] = {"wall": wall, "cpu": cpu, "distance": gap}
        print(f"{solver:<16} {wall:8.3f} s wall {cpu:8.3f} s cpu  distance {gap:.1e}")
    fastest = min(results[s]["wall"] for s in SOLVERS)
    ratio = results["discreet"]["wall"] / fastest
    print(f"ratio to the fastest of them: {ratio:.2f}")
    private: dict[str, Any] = {}
    for epsilon, ranges in itertools.product(EPSILONS, (None, RANGE)):
        bounds = Bounds(row_norm=2.0, features=ranges, classes=(0, 1))
        model = PrivateLogisticRegression(epsilon=epsilon, delta=1e-8, bounds=bounds)
        wall, cpu, _ = best(lambda model=model: model.fit(X, y), args.repeats)
        tracemalloc.start()
        model.fit(X, y)
        extra = tracemalloc.get_traced_memory()[1] / X.nbytes
        tracemalloc.stop()
        name = f"epsilon {epsilon:g}" + (", ranges" if ranges else "")
        private[name] = {
            "wall": wall,
            "cpu": cpu,
            "ratio": wall / fastest,
            "most memory, in copies of the rows": extra,
        }
        print(f"private fit, {name:<20} {wall:8.3f} s wall {cpu:8.3f} s cpu  ", end="")
        print(f"ratio {wall / fastest:.2f}, {extra:.2f} copies of the rows")
    record = {
        "configuration": {
            "rows": args.rows,
            "features": args.features,
            "seed": args.seed,
            "repeats": args.repeats,
            "strength": strength,
            "tolerance": tolerance,
            "cores": os.cpu_count(),
            "load": os.getloadavg()[0],
            "python": platform.python_version(),
            "numpy": np.__version__,
            "scipy": scipy.__version__,
            "scikit-learn": sklearn.__version__,
        },
        "seconds": results,
        "ratio": ratio,
        "private fits": private,
    }
    args.out.parent.mkdir(parents=True, exist_ok=True)
    args.out.write_text(json.dumps(record, indent=2) + "\n")


if __name__ == "__main__":
    main()
