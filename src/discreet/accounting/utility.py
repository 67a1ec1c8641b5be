"""How far a private minimum can be from the best one, before any data is read.

All bounds are for sum scaling; divide by the number of rows for averages.
``solution_norm`` bounds the norm of the non-private minimiser and must be a
public value: a bound evaluated at the true minimiser would reveal it.
"""

from __future__ import annotations

import math

from scipy.special import gammaincc, gammainccinv

from discreet.checks import between, integer, nonnegative, one_of, positive
from discreet.errors import Incompatible


def mean_squared_noise(noise: str, scale: float, dim: int) -> float:
    """Return the mean squared norm of a noise vector.

    Parameters
    ----------
    noise
        ``"gaussian"`` (scale is the standard deviation), ``"gamma"`` (density
        ``exp(-|b|/scale)``) or ``"laplace"`` (scale per coordinate).
    scale, dim
        Scale of the noise and number of coordinates.

    Examples
    --------
    >>> round(mean_squared_noise("gamma", 0.1, 10), 6)
    1.1
    """
    scale, dim = positive("scale", scale), integer("dim", dim)
    moments = {"gaussian": dim, "gamma": dim * (dim + 1), "laplace": 2 * dim}
    return moments[one_of("noise", noise, moments)] * scale**2


def noise_quantile(noise: str, scale: float, dim: int, failure: float) -> float:
    """Return the norm a Gaussian or gamma noise vector exceeds with that probability.

    Exact quantiles stand in for the tail bounds of Kifer, Smith and Thakurta
    (theorem 26), whose Gaussian one fails for ``failure`` near 1.

    >>> round(noise_quantile("gamma", 2.0, 10, 0.05), 6)
    31.410433
    """
    scale, dim = positive("scale", scale), integer("dim", dim)
    failure = between("failure", failure, 0, 1)
    if one_of("noise", noise, ("gaussian", "gamma")) == "gaussian":
        return scale * math.sqrt(2 * float(gammainccinv(dim / 2, failure)))
    return scale * float(gammainccinv(dim, failure))


def objective_excess(
    noise_norm: float, strength: float, solution_norm: float, curvature: float = 0.0
) -> float:
    """Return the most objective perturbation can lose for noise of that norm.

    ``|b|^2 / (2 (strength + curvature)) + (strength/2) |w|^2`` holds for every
    noise vector. It sharpens lemma 3 of Kifer, Smith and Thakurta by a factor 4
    and, with ``curvature``, makes their theorems 30 and 31 explicit.

    Parameters
    ----------
    noise_norm
        Norm of the noise, or a quantile of it.
    strength
        Strength of the added ridge term; it may be 0 only where ``curvature`` is not.
    solution_norm
        Public bound on the norm of the non-private minimiser.
    curvature
        Strong convexity of the loss sum around an interior minimiser, at least
        out to :func:`solution_distance`; 0 makes no such assumption.

    Examples
    --------
    >>> objective_excess(2.0, 1.0, 1.0)
    2.5
    """
    noise_norm, curvature = (
        nonnegative("noise_norm", noise_norm),
        nonnegative("curvature", curvature),
    )
    strength = nonnegative("strength", strength) if curvature else positive("strength", strength)
    solution_norm = nonnegative("solution_norm", solution_norm)
    return noise_norm**2 / (2 * (strength + curvature)) + strength / 2 * solution_norm**2


def solution_distance(
    noise_norm: float, strength: float, solution_norm: float, curvature: float
) -> float:
    """Return how far the private minimiser can be from the non-private one.

    >>> solution_distance(2.0, 1.0, 1.0, 2.0)
    1.0
    """
    noise_norm, strength = nonnegative("noise_norm", noise_norm), positive("strength", strength)
    solution_norm = nonnegative("solution_norm", solution_norm)
    total = strength + nonnegative("curvature", curvature)
    return (noise_norm + strength * solution_norm) / total


def best_strength(noise: str, scale: float, dim: int, solution_norm: float) -> tuple[float, float]:
    """Return the strength with the least mean excess, and that bound on the mean excess.

    >>> strength, excess = best_strength("gamma", 2.0, 10, 2.0)
    >>> round(strength, 6), round(excess, 6)
    (10.488088, 41.952354)
    """
    solution_norm = positive("solution_norm", solution_norm)
    spread = math.sqrt(mean_squared_noise(noise, scale, dim))
    return spread / solution_norm, spread * solution_norm


def sparse_regression_excess(
    *,
    support: int,
    n_rows: int,
    epsilon: float,
    delta: float,
    failure: float,
    curvature: float,
    strength: float,
    solution_norm: float,
) -> float:
    """Return the mean excess of two-stage sparse regression once the support is right.

    Theorem 44 of Kifer, Smith and Thakurta with its denominator corrected to
    ``strength + n_rows * curvature`` and 64 sharpened to 16; half of the budget
    is spent on the regression.

    Parameters
    ----------
    support
        Number of selected features.
    n_rows
        Public number of rows.
    epsilon, delta
        Budget of both stages together.
    failure
        Probability with which the bound may fail.
    curvature
        Restricted strong convexity of the mean loss.
    strength, solution_norm
        As in :func:`objective_excess`.

    Examples
    --------
    >>> value = sparse_regression_excess(support=2, n_rows=10_000, epsilon=1.0, delta=1e-5,
    ...     failure=0.05, curvature=0.5, strength=8.0, solution_norm=2**0.5)
    >>> round(value, 9)
    0.002325983
    """
    support, n_rows = integer("support", support), integer("n_rows", n_rows)
    epsilon, delta = positive("epsilon", epsilon), between("delta", delta, 0, 1)
    failure = between("failure", failure, 0, 1)
    if gammaincc(support / 2, support * math.log(1 / failure)) > failure:
        raise Incompatible(
            f"The tail bound of this theorem is false at failure {failure:g}. "
            "Ask for a smaller failure probability."
        )
    variance = 16 * support**3 * (8 * math.log(2 / delta) + 2 * epsilon) / epsilon**2
    noise = math.sqrt(2 * support * math.log(1 / failure) * variance)
    return objective_excess(noise, strength, solution_norm, n_rows * curvature) / n_rows


def output_excess(n_rows: int, lipschitz: float, noise_norm: float) -> float:
    """Return the most output perturbation can lose in the Lipschitz data term.

    >>> output_excess(100, 1.0, 0.5)
    50.0
    """
    n_rows, lipschitz = integer("n_rows", n_rows), positive("lipschitz", lipschitz)
    return n_rows * lipschitz * nonnegative("noise_norm", noise_norm)
