"""This library's estimator with its defaults; nothing is tuned but the relation and delta."""

import numpy as np
from protocol import budget, serve

import discreet
from discreet import Bounds, PrivateLogisticRegression


def fit(X, y, noise, setting, seed):
    """Fit with declared row norm 1 and classes 0 and 1."""
    epsilon, delta = noise
    model = PrivateLogisticRegression(
        epsilon=epsilon,
        delta=delta,
        bounds=Bounds(row_norm=1.0, classes=(0, 1)),
        neighbours=setting["neighbours"],
        fit_intercept=False,
        random_state=seed,
    )
    return np.ravel(model.fit(X, y).coef_)


if __name__ == "__main__":
    serve(budget, fit, {"discreet": discreet.__version__})
