"""What is measured of a fit of the tournament, and forms of the rows besides the matrix."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.metrics import roc_auc_score

from bank_sets import Data
from baselines import Array, losses
from discreet import Bounds, PrivateLogisticRegression, PrivateRidge

DELTA = 1e-6


def measures(kind: str, train: Any, test: Any, w: Array) -> dict[str, float]:
    """Return training loss, held-out loss and what else is usual."""
    found = {"risk": loss(kind, *train, w), "held_out": loss(kind, *test, w)}
    m, y = test[0] @ w, test[1]
    if kind in ("regression", "huber"):
        found["r2"] = 1.0 - float(np.mean((m - y) ** 2) / np.var(y))
    elif kind == "classes":
        found["accuracy"] = float(np.mean(np.argmax(m, axis=1) == y))
    else:
        found["accuracy"] = float(np.mean((m > 0) == (y > 0.5)))
        found["auc"] = float(roc_auc_score(y, m))
    return found


def loss(kind: str, X: Any, y: Array, w: Array) -> float:
    """Return the mean loss; half a square for numbers."""
    m = X @ w
    if kind == "classes":
        top = m.max(axis=1)
        chosen = m[np.arange(len(y)), y.astype(int)]
        return float(np.mean(np.log(np.exp(m - top[:, None]).sum(axis=1)) + top - chosen))
    return float(np.mean(losses(kind, m, y)))


def intercept(kind: str, first: Any, second: Any, epsilon: float, seed: int) -> dict[str, float]:
    """Return measures of our default on rows of norm 1, with an intercept."""
    (X, y), (held, labels) = first, second
    common = {"epsilon": epsilon, "delta": DELTA, "random_state": seed}
    if kind == "regression":
        bounds = Bounds(row_norm=1.0, label=(-1.0, 1.0))
        model: Any = PrivateRidge(bounds=bounds, **common).fit(X, y)
    else:
        bounds = Bounds(row_norm=1.0, classes=(0, 1))
        model = PrivateLogisticRegression(bounds=bounds, **common).fit(X, y.astype(int))
    w = np.append(np.ravel(model.coef_), model.intercept_)
    rows, others = (np.hstack([part, np.ones((len(part), 1))]) for part in (X, held))
    return measures(kind, (rows, y), (others, labels), w)


def natural(
    kind: str,
    train: Data,
    test: Data,
    epsilon: float,
    seed: int,
    delta: float = DELTA,
    stated: dict[str, Any] | None = None,
    **norms: Any,
) -> dict[str, float]:
    """Return measures of our default in natural units, with an intercept and declared ranges."""
    relation = "zero-out" if delta else "replace-one"
    common = {"epsilon": epsilon, "delta": delta, "neighbours": relation, "random_state": seed}
    common |= stated or {}
    if kind == "regression":
        bounds = Bounds(features=list(train.ranges), label=train.label, **norms)
        model = PrivateRidge(bounds=bounds, **common).fit(train.X, train.y)
        low, high = train.label or (0.0, 1.0)
        guess = (2.0 * model.predict(test.X) - high - low) / (high - low)
        error = np.mean((guess - test.target) ** 2)
        return {"held_out": float(error) / 2, "r2": float(1 - error / np.var(test.target))}
    classes = tuple(range(int(train.y.max()) + 1))
    bounds = Bounds(features=list(train.ranges), classes=classes, **norms)
    fitted = PrivateLogisticRegression(bounds=bounds, **common).fit(train.X, train.y.astype(int))
    chance, y = fitted.predict_proba(test.X), test.y.astype(int)
    held = -float(np.mean(np.log(np.maximum(chance[np.arange(len(y)), y], 1e-300))))
    found = {"held_out": held, "accuracy": float(np.mean(chance.argmax(axis=1) == y))}
    return found | ({"auc": float(roc_auc_score(y, chance[:, 1]))} if len(classes) == 2 else {})
