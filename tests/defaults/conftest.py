"""A comparison that tests of several algorithms share."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from discreet import PrivateLogisticRegression


@pytest.fixture
def default_and_perturbed() -> Any:
    """Return the mean log loss of logistic regression by default and by objective perturbation."""

    def measure(X: Any, y: Any, *, seeds: int, **settings: Any) -> list[float]:
        def loss(algorithm: str, seed: int) -> float:
            model = PrivateLogisticRegression(
                algorithm=algorithm, fit_intercept=False, random_state=seed, **settings
            )
            return float(-model.fit(X, y).predict_log_proba(X)[np.arange(len(y)), y].mean())

        return [
            float(np.mean([loss(algorithm, seed) for seed in range(seeds)]))
            for algorithm in ("auto", "objective-perturbation")
        ]

    return measure
