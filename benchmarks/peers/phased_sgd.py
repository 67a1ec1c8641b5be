"""Phased SGD of Feldman, Koren and Talwar (STOC 2020), with its constants corrected.

Rows are cut into blocks by position, each half as long as the one before. A phase runs over its
block once, with steps a quarter as long as those of the phase before, and starts at the mean of the
weights before each step of the phase before, with noise. One changed row lies in one block; there
it moves the weights by the length of a step times the Lipschitz constant, later steps do not move
them further apart, and later phases only process what is released. So all phases together are one
Gaussian mechanism. Steps are at most two over the smoothness. The original noise is up to 3.5
times as large. The optimal rate for the risk on new rows of any convex loss is proved for it.

Rows have norm 1 at most and the relation is zero-out: a blank row takes a step of zero.
"""

from __future__ import annotations

import math

import numpy as np
from protocol import Array, Setting, serve

from discreet import __version__
from discreet.accounting import gaussian_multiplier

SMOOTHNESS = 0.25  # of the logistic loss of a row of norm 1; its Lipschitz constant is 1


def calibrate(epsilon: float, delta: float, setting: Setting, shape: tuple[int, int]) -> float:
    """Return the noise over the sensitivity."""
    return gaussian_multiplier(epsilon, delta)


def first_step(n: int, p: int, multiplier: float, radius: float) -> float:
    """Return the length of the first steps that minimises the bound, as far as privacy lets it."""
    noise = 4 * p * multiplier**2 / n
    return min(2 / SMOOTHNESS, radius * math.sqrt((4 / n) / (noise + 1 / 6)) / 4)


def fit(X: Array, y: Array, multiplier: float, setting: Setting, seed: int) -> Array:
    """Return the weights after the last phase."""
    rng, radius = np.random.default_rng(seed), setting["radius"]
    norms = np.maximum(np.linalg.norm(X, axis=1, keepdims=True), 1.0)
    rows = X / norms * (2.0 * y - 1.0)[:, None]
    n, p = rows.shape
    phases, start, w = int(math.log2(n)), 0, np.zeros(p)
    step = setting["multiple"] * first_step(n, p, multiplier, radius)
    step = min(step, 2 / SMOOTHNESS)

    def projected(v: Array) -> Array:
        return v * min(1.0, radius / max(float(np.linalg.norm(v)), 1e-300))

    for k in range(phases):
        block = rows[start : start + math.floor(n * 0.5 ** (k + 1) / (1 - 0.5**phases))]
        start += len(block)
        total, squared = np.zeros(p), radius**2
        for row in block:
            total += w
            margin = float(row @ w)
            w = w + (step / (1.0 + math.exp(min(margin, 700.0)))) * row
            if float(w @ w) > squared:
                w = projected(w)
        mean = total / max(len(block), 1)
        w = projected(mean + multiplier * step * rng.normal(size=p))
        step /= 4
    return w


if __name__ == "__main__":
    serve(calibrate, fit, {"discreet": __version__})
