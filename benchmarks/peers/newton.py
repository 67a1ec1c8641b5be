"""Solver shared by the baselines of this benchmark and by its non-private optimum."""

from __future__ import annotations

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.optimize import minimize
from scipy.special import expit, log_expit

Array = np.ndarray


def minimise(X: Array, y: Array, strength: float, linear: Array, tolerance: float) -> Array:
    """Minimise sum_i log(1 + exp(-y_i <x_i, w>)) + strength/2 ||w||^2 + <linear, w>.

    At most 40 iterations of L-BFGS, enough on a well-conditioned problem, then damped Newton steps
    until the norm of the gradient is at most ``tolerance``. Labels ``y`` are -1 or +1.
    """

    def objective(w: Array) -> tuple[float, Array]:
        margin = y * (X @ w)
        value = -log_expit(margin).sum() + strength / 2 * (w @ w) + linear @ w
        gradient = X.T @ (-y * expit(-margin)) + strength * w + linear
        return value, gradient

    def scaled(w: Array) -> tuple[float, Array]:
        value, gradient = objective(w)
        return value / len(y), gradient / len(y)

    options = {"maxiter": 40, "ftol": 0, "gtol": tolerance / len(y) / len(linear) ** 0.5}
    w = minimize(scaled, 0 * linear, jac=True, method="L-BFGS-B", options=options).x
    value, gradient = objective(w)
    for _ in range(100):
        if np.linalg.norm(gradient) <= tolerance:
            return w
        probability = expit(X @ w)
        hessian = (X * (probability * (1 - probability))[:, None]).T @ X
        hessian[np.diag_indices_from(hessian)] += strength
        direction = cho_solve(cho_factor(hessian), gradient)
        length = 1.0
        # Near the minimum the value no longer resolves progress, but there full steps are safe.
        while (new := objective(w - length * direction))[0] > value + 1e-12 * abs(value):
            length /= 2
        w = w - length * direction
        value, gradient = new
    raise RuntimeError(f"gradient norm {np.linalg.norm(gradient):.1e} above {tolerance:.1e}")
