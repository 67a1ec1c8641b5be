"""Objective perturbation as calibrated by Redberg, Koskela and Wang (2023), add/remove.

Written from the published privacy profile. ``share`` is the part of epsilon left to the change of
the Jacobian: strength = beta / (1 - exp(-share * epsilon)). The minimiser is taken as exact and
released without an output step, which favours the method.
"""

from math import exp, expm1, log, log1p

import numpy as np
import scipy
from newton import minimise
from protocol import serve
from scipy.optimize import brentq
from scipy.stats import norm

SMOOTHNESS = 0.25


def profile(epsilon, shift):
    """Hockey-stick divergence of the folded loss |N(0, shift^2)| + shift^2 / 2."""
    if epsilon < shift**2 / 2:
        return 1 - 2 * exp(epsilon) * norm.cdf(-shift)
    upper = norm.logcdf(shift / 2 - epsilon / shift)
    lower = epsilon + norm.logcdf(-shift / 2 - epsilon / shift)
    return -2 * exp(upper) * expm1(lower - upper)


def calibrate(epsilon, delta, setting, shape):
    """Return the ridge and the smallest noise scale that meets (epsilon, delta)."""
    strength = SMOOTHNESS / -expm1(-setting["share"] * epsilon)
    left = epsilon + log1p(-SMOOTHNESS / strength)
    log_sigma = brentq(lambda t: profile(left, exp(-t)) - delta, log(1e-2), log(1e5), xtol=1e-12)
    return strength, exp(log_sigma)


def fit(X, y, noise, setting, seed):
    """Minimise the perturbed objective."""
    strength, sigma = noise
    linear = sigma * np.random.default_rng(seed).standard_normal(X.shape[1])
    # The tolerance is far below the noise, so the result stands for the exact minimiser.
    return minimise(X, np.where(y > 0, 1.0, -1.0), strength, linear, 1e-3 * sigma)


if __name__ == "__main__":
    serve(calibrate, fit, {"scipy": scipy.__version__}, needs=("share",))
