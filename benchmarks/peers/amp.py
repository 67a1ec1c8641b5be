"""Approximate minima perturbation as published by Iyengar et al. (2019), replace-one.

Written from the paper's description: a share of epsilon goes to the output step; of the rest, the
``fraction`` goes to the linear noise term and what is left fixes the ridge. Logistic loss on rows
of norm at most 1 has gradient norm at most 1 and curvature at most 1/4; its Hessians have rank 1.
"""

from math import log, sqrt

import numpy as np
import scipy
from newton import minimise
from protocol import serve


def calibrate(epsilon, delta, setting, shape):
    """Return the ridge, the two noise scales and the gradient tolerance, in sum scaling."""
    n = shape[0]
    epsilon_out, delta_out = 0.01 * epsilon, 0.01 * delta
    epsilon_in, delta_in = epsilon - epsilon_out, delta - delta_out
    # The published proof needs epsilon_in - epsilon_noise < 1.
    epsilon_noise = epsilon_in * max(setting["fraction"], 1 - 0.99 / epsilon_in)
    strength = 2 * 0.25 / (epsilon_in - epsilon_noise)
    sigma = 2 * (1 + sqrt(2 * log(1 / delta_in))) / epsilon_noise
    tolerance = 1 / n  # the paper's gamma = 1/n^2, for the mean
    sigma_out = tolerance / strength * (1 + sqrt(2 * log(1 / delta_out))) / epsilon_out
    return strength, sigma, tolerance, sigma_out


def fit(X, y, noise, setting, seed):
    """Minimise the perturbed objective to the tolerance, then perturb the output."""
    strength, sigma, tolerance, sigma_out = noise
    rng = np.random.default_rng(seed)
    linear, output = rng.standard_normal((2, X.shape[1]))
    weights = minimise(X, np.where(y > 0, 1.0, -1.0), strength, sigma * linear, tolerance)
    return weights + sigma_out * output


if __name__ == "__main__":
    serve(calibrate, fit, {"scipy": scipy.__version__}, needs=("fraction",))
