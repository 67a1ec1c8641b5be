"""Excess on new rows: objective perturbation against phased SGD, made for it.

``python benchmarks/population.py run`` fits logistic regression on rows of norm 1 at most
with true weights of norm 5, at epsilon 1, delta 1e-6 and zero-out, and writes
``results/population.json``: the mean excess on 400,000 new rows over that of the true weights, of
both methods with the radius 10, of the minimiser without privacy and of weights of zero.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "peers"))

from newton import minimise  # noqa: E402
from phased_sgd import calibrate, fit  # noqa: E402

from arguments import parser_of  # noqa: E402
from discreet.accounting import Budget  # noqa: E402
from discreet.algorithms import ObjectivePerturbation  # noqa: E402
from discreet.bounds import Bounds  # noqa: E402
from discreet.data import ArraySource  # noqa: E402
from discreet.losses import Logistic  # noqa: E402
from discreet.noise import Seeded  # noqa: E402
from discreet.problem import Problem  # noqa: E402

EPSILON, DELTA, RADIUS, SEEDS = 1.0, 1e-6, 10.0, 8
CASES = ((10_000, 10), (10_000, 50), (50_000, 100))


def draw(n: int, p: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return rows, labels 0 and 1, and the true weights."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    X /= np.linalg.norm(X, axis=1)[:, None]
    w = 5.0 * np.ones(p) / np.sqrt(p)
    return X, (rng.random(n) < 1 / (1 + np.exp(-X @ w))).astype(int), w


def main() -> None:
    """Measure and write the result."""
    parser_of(__doc__).parse_args()
    table = []
    for n, p in CASES:
        fresh, _, w = draw(400_000, p, 1)
        chance = 1 / (1 + np.exp(-fresh @ w))

        def risk(v: np.ndarray, z: np.ndarray = fresh, chance: np.ndarray = chance) -> float:
            margin = z @ v  # the mean over labels is exact
            return float(np.mean(np.logaddexp(0, margin) - chance * margin))

        problem = Problem(
            loss=Logistic(), bounds=Bounds(row_norm=1.0, classes=(0, 1)), n_features=p, n_rows=n
        )
        plan = ObjectivePerturbation(norm_guess=RADIUS).plan(problem, Budget(EPSILON, DELTA))
        noise = calibrate(EPSILON, DELTA, {}, (n, p))
        found: dict[str, list[float]] = {k: [] for k in ("not private", "objective", "phased")}
        for seed in range(SEEDS):
            X, y, _ = draw(n, p, 100 + seed)
            found["not private"].append(risk(minimise(X, 2.0 * y - 1, 1e-3, np.zeros(p), 1e-4)))
            found["objective"].append(risk(plan.run(ArraySource(X, y), Seeded(seed)).weights))
            setting = {"radius": RADIUS, "multiple": 1.0}
            found["phased"].append(risk(fit(X, y, noise, setting, seed)))
        line = {"rows": n, "features": p, "weights of zero": risk(np.zeros(p)) - risk(w)}
        line |= {k: float(np.mean(v)) - risk(w) for k, v in found.items()}
        line |= {f"{k} error": float(np.std(v) / SEEDS**0.5) for k, v in found.items()}
        print(json.dumps(line), flush=True)
        table.append(line)
    path = HERE / "results" / "population.json"
    path.write_text(json.dumps({"seeds": SEEDS, "table": table}, indent=1) + "\n")


if __name__ == "__main__":
    main()
