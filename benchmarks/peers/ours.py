"""This library's estimator: its defaults, or a descent with the settings of a peer's."""

import numpy as np
from protocol import budget, serve

import discreet
from discreet import Bounds, PrivateLogisticRegression
from discreet.algorithms import NoisyGradient, ObjectivePerturbation


def descent(setting, n):
    """Return a descent that goes as far as the peer's; its length may then be fitted.

    Small batches are taken like the peer's, and full ones else.
    """
    effective = setting["step_size"] / (1.0 - setting["momentum"])
    batches = (
        {"sampler": "poisson", "batch": round(setting["rate"] * n)} if setting["rate"] < 0.1 else {}
    )
    return NoisyGradient(
        steps=setting["steps"],
        step=effective / n,
        momentum=setting["momentum"],
        clip=setting["clip"],
        rule="smooth",
        output="weighted",
        line_search=setting["steps"] // 25 if setting["fitted"] else 0,
        **batches,
    )


def algorithm(setting, n):
    """Return what the setting asks for: a descent, a ridge, or nothing."""
    if "steps" in setting:
        return descent(setting, n)
    return ObjectivePerturbation(strength=1 / setting["C"]) if "C" in setting else "auto"


def fit(X, y, noise, setting, seed):
    """Fit with declared row norm 1 and classes 0 and 1."""
    epsilon, delta = noise
    model = PrivateLogisticRegression(
        epsilon=epsilon,
        delta=delta,
        bounds=Bounds(row_norm=1.0, classes=(0, 1)),
        neighbours=setting["neighbours"],
        algorithm=algorithm(setting, len(X)),
        fit_intercept=False,
        random_state=seed,
    )
    return np.ravel(model.fit(X, y).coef_)


if __name__ == "__main__":
    serve(budget, fit, {"discreet": discreet.__version__})
