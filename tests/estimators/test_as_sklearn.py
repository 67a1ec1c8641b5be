"""Released weights as scikit-learn's own models, and regression of counts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import PoissonRegressor

import discreet
from discreet import Bounds, PrivatePoissonRegressor
from discreet.errors import InvalidParameter

RANDOM = np.random.default_rng(0)
X = RANDOM.uniform(-1, 1, size=(3000, 2))
SCORES = X @ [1.0, -0.5]


def labels(kind: str, count: int) -> Any:
    if kind == "real":
        return np.clip(SCORES, -1, 1), {"label": (-1, 1)}
    cuts = np.quantile(SCORES, np.linspace(0, 1, count + 1)[1:-1])
    return np.digitize(SCORES, cuts), {"classes": tuple(range(count))}


@pytest.mark.parametrize(
    ("name", "count", "kind"),
    [
        ("PrivateLogisticRegression", 2, "LogisticRegression"),
        ("PrivateLogisticRegression", 3, "LogisticRegression"),
        ("PrivateLinearSVC", 2, "LinearSVC"),
        ("PrivateLinearSVC", 3, "LinearSVC"),
        ("PrivateSparseLogisticRegression", 2, "LogisticRegression"),
        ("PrivateSparseLogisticRegression", 3, "LinearSVC"),
        ("PrivateStreamClassifier", 2, "LogisticRegression"),
        ("PrivateSGDClassifier", 3, "LinearSVC"),
        ("PrivateRidge", 0, "LinearRegression"),
        ("PrivateLasso", 0, "LinearRegression"),
        ("PrivatePoissonRegressor", 0, "PoissonRegressor"),
    ],
)
def test_plain_models_predict_alike_within_the_bounds(name: str, count: int, kind: str) -> None:
    y, declared = labels("classes" if count else "real", count)
    if name == "PrivatePoissonRegressor":  # no rate reaches its limit
        y, declared = RANDOM.poisson(np.exp(SCORES)), {"label": (0, 50)}
    model = getattr(discreet, name)(
        bounds=Bounds(features=(-1, 1), **declared), epsilon=4.0, random_state=0
    ).fit(X, y)
    plain = model.to_sklearn()
    assert type(plain).__name__ == kind
    assert type(plain).__module__.startswith("sklearn.")
    np.testing.assert_allclose(plain.predict(X), model.predict(X), rtol=1e-9)
    if kind == "LogisticRegression":
        np.testing.assert_allclose(plain.predict_proba(X), model.predict_proba(X), atol=1e-12)


@pytest.mark.parametrize("neighbours", ["zero-out", "replace-one", "add-remove"])
def test_counts_are_predicted_almost_as_without_privacy(neighbours: str) -> None:
    rows = np.vstack([X] * 10)
    counts = np.random.default_rng(1).poisson(np.exp(0.3 + rows @ [1.0, -0.5]))
    bounds = Bounds(features=(-1, 1), label=(0, 12))
    model = PrivatePoissonRegressor(
        epsilon=2.0, bounds=bounds, neighbours=neighbours, n_rows=30_000, random_state=0
    ).fit(rows, counts)
    best = PoissonRegressor(alpha=0.0).fit(rows, counts)
    np.testing.assert_allclose(model.coef_, best.coef_, atol=0.25)
    assert (model.predict(rows) > 0).all()


def test_rates_are_trusted_up_to_the_largest_declared_count() -> None:
    bounds = Bounds(features=(-1, 1), label=(0, 20))
    plan = PrivatePoissonRegressor(bounds=bounds).plan(2, 3000)
    assert plan.problem.loss.limit == pytest.approx(np.log(20))
    with pytest.raises(InvalidParameter, match="limit"):
        PrivatePoissonRegressor(bounds=bounds, limit=-1.0).plan(2, 3000)


def test_labels_that_are_no_counts_are_fitted_however_large_the_budget() -> None:
    """Nothing stops weights then but the ridge: the log-rate is beyond its limit at every row."""
    rows = np.random.default_rng(0).uniform(-1, 1, (5000, 3))
    bounds = Bounds(features=(-1, 1), label=(0, 4))
    for epsilon in (20.0, 100.0):
        model = PrivatePoissonRegressor(bounds=bounds, epsilon=epsilon, random_state=0)
        assert np.linalg.norm(model.fit(rows, 4.0 * (rows[:, 0] > 0)).coef_) > 50.0
