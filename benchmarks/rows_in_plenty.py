"""Whether any bias stays in natural units when rows are plenty: the excess against the rows.

``python benchmarks/rows_in_plenty.py run`` fits ridge regression, with the default clip and one of
half the label range for a row of typical norm (``clip=1``), and logistic regression. Columns are
uniform and their ranges alone are declared; errors are skewed and the logistic model is wrong, so
that clipped gradients move the minimiser. It writes ``results/typical_norms/plenty.json``: the mean
excess of the training loss over its minimum without privacy, half a square for numbers.
"""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

from arguments import parser_of
from discreet import Bounds, PrivateLogisticRegression, PrivateRidge

RESULT = Path(__file__).resolve().parent / "results" / "typical_norms" / "plenty.json"
ROWS, EPSILONS, SEEDS = (10_000, 100_000, 1_000_000), (1.0, 8.0), 3
BOUNDS = Bounds(features=(-1, 1), label=(-1, 1), classes=(0, 1))
WAYS: dict[str, Any] = {
    "ridge": PrivateRidge(bounds=BOUNDS),
    "ridge, clip=1": PrivateRidge(bounds=BOUNDS, clip=1.0),
    "logistic": PrivateLogisticRegression(bounds=BOUNDS),
}


def drawn(kind: str, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return rows and labels of 30 columns for numbers, of 20 for classes."""
    p = 20 if kind == "logistic" else 30
    rng, slopes = np.random.default_rng(n + p), np.random.default_rng(5).normal(size=p)
    X, slopes = rng.uniform(-1, 1, (n, p)), slopes / np.linalg.norm(slopes)
    if kind == "logistic":
        m = 3.5 * X @ slopes + 0.5
        m += -0.3 * m * np.abs(X[:, 0]) + (X[:, 1] > 0.5)
        return X, (rng.uniform(size=n) < expit(m)).astype(int)
    errors = (rng.exponential(size=n) - 1.0) * (1.0 + X[:, 0])
    return X, np.clip(0.2 * X @ slopes + 0.25 * errors, -1.0, 1.0)


def loss(kind: str, A: np.ndarray, y: np.ndarray, w: np.ndarray) -> float:
    """Return the mean loss of weights with the intercept last."""
    m = A @ w
    return float(np.mean(np.logaddexp(0, m) - y * m if kind == "logistic" else (m - y) ** 2 / 2))


def main() -> None:
    """Fit every way with every number of rows and store."""
    found = []
    for n in ROWS:
        for way, model in WAYS.items():
            kind = way.split(",")[0]
            X, y = drawn(kind, n)
            A = np.column_stack([X, np.ones(n)])
            if kind == "logistic":
                plain = LogisticRegression(C=1e9, tol=1e-8, max_iter=500).fit(X, y)
                best = np.append(plain.coef_, plain.intercept_)
            else:
                best = np.linalg.lstsq(A, y, rcond=None)[0]
            for epsilon in EPSILONS:
                risks = []
                for seed in range(SEEDS):
                    model.set_params(epsilon=epsilon, random_state=seed).fit(X, y)
                    w = np.append(model.coef_, model.intercept_)
                    risks.append(loss(kind, A, y, w))
                excess = float(np.mean(risks)) - loss(kind, A, y, best)
                found.append({"way": way, "rows": n, "epsilon": epsilon, "excess": excess})
                print(found[-1], flush=True)
    RESULT.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    parser_of(__doc__).parse_args()
    warnings.simplefilter("ignore")
    main()
