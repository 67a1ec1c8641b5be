"""How large noise gets: quantiles that bounds of errors rest on, privacy never.

For symmetric matrices with Laplace noise there is no closed form; the table
below was simulated (100,000 draws up to dimension 77, fewer above) and holds
order statistics one standard error on the safe side.
"""

from __future__ import annotations

import math
from functools import cache

import numpy as np
from scipy.optimize import brentq
from scipy.special import erfc, gammainccinv
from scipy.stats import chi2

from discreet.bounds import Array
from discreet.checks import between, integer, nonnegative, positive

_TAILS = (0.1, 0.05, 0.02, 0.01, 0.005, 0.002, 0.001, 0.0005)
# dimension: operator norms of symmetric matrices with diagonal Lap(1) and off-diagonal Lap(1/2),
# then norms of vectors of Lap(1), at each tail.
_LAPLACE: dict[int, tuple[tuple[float, ...], tuple[float, ...]]] = {
    1: (
        (2.3, 3.0, 3.92, 4.63, 5.29, 6.21, 6.9, 7.61),
        (2.3, 3.0, 3.91, 4.6, 5.31, 6.22, 6.95, 7.63),
    ),
    2: (
        (3.22, 3.9, 4.79, 5.45, 6.11, 6.99, 7.64, 8.28),
        (3.17, 3.88, 4.81, 5.5, 6.18, 7.09, 7.78, 8.44),
    ),
    3: (
        (3.82, 4.47, 5.32, 5.99, 6.66, 7.52, 8.22, 8.92),
        (3.77, 4.5, 5.42, 6.1, 6.79, 7.69, 8.39, 9.08),
    ),
    5: (
        (4.65, 5.25, 6.04, 6.66, 7.3, 8.13, 8.88, 9.68),
        (4.65, 5.37, 6.29, 6.96, 7.62, 8.52, 9.19, 9.91),
    ),
    8: (
        (5.52, 6.09, 6.84, 7.44, 8.05, 8.92, 9.57, 10.34),
        (5.61, 6.33, 7.23, 7.89, 8.54, 9.37, 10.01, 10.67),
    ),
    12: (
        (6.4, 6.91, 7.59, 8.17, 8.76, 9.6, 10.25, 10.85),
        (6.6, 7.31, 8.2, 8.84, 9.47, 10.3, 10.94, 11.57),
    ),
    18: (
        (7.41, 7.86, 8.49, 9.0, 9.5, 10.35, 10.94, 11.5),
        (7.77, 8.48, 9.33, 9.96, 10.57, 11.34, 11.97, 12.57),
    ),
    27: (
        (8.64, 9.04, 9.6, 10.04, 10.55, 11.27, 11.83, 12.4),
        (9.18, 9.87, 10.7, 11.3, 11.89, 12.65, 13.2, 13.78),
    ),
    38: (
        (9.89, 10.23, 10.72, 11.11, 11.53, 12.23, 12.82, 13.3),
        (10.59, 11.27, 12.1, 12.69, 13.27, 13.97, 14.52, 15.06),
    ),
    55: (
        (11.51, 11.81, 12.2, 12.52, 12.85, 13.36, 13.88, 14.57),
        (12.39, 13.07, 13.87, 14.43, 14.97, 15.7, 16.21, 16.76),
    ),
    77: (
        (13.3, 13.54, 13.86, 14.12, 14.38, 14.8, 15.13, 15.71),
        (14.35, 15.01, 15.77, 16.32, 16.85, 17.51, 18.06, 18.54),
    ),
    110: (
        (15.6, 15.8, 16.06, 16.26, 16.46, 16.82, 17.45, 18.07),
        (16.79, 17.43, 18.19, 18.73, 19.24, 19.87, 20.36, 20.86),
    ),
    160: (
        (18.53, 18.7, 18.94, 19.08, 19.25, 20.07, 20.7, 21.32),
        (19.86, 20.5, 21.25, 21.77, 22.29, 22.89, 23.34, 23.8),
    ),
    230: (
        (21.99, 22.15, 22.33, 22.48, 23.11, 23.93, 24.55, 25.18),
        (23.43, 24.06, 24.8, 25.31, 25.78, 26.35, 26.76, 27.14),
    ),
}


def laplace_quantiles(dimension: int, tail: float) -> tuple[float, float]:
    """Return the norms that a noise matrix and a noise vector exceed with that probability.

    Parameters
    ----------
    dimension
        Of both.
    tail
        Probability, for each of the two.

    Examples
    --------
    >>> matrix, vector = laplace_quantiles(38, 0.05)
    >>> round(4 * matrix, 1), round(4 * vector, 1)
    (40.9, 45.1)
    """
    integer("dimension", dimension)
    depth = math.log(1 / between("tail", tail, 0, 1))
    sizes = list(_LAPLACE)
    rows = [np.array([_at(values, depth) for values in _LAPLACE[p]]) for p in sizes]
    x = math.log(dimension)
    if dimension > sizes[-1]:
        # Norms grow like the root of the dimension, from below.
        found = rows[-1] * math.sqrt(dimension / sizes[-1])
    else:
        found = np.array([np.interp(x, np.log(sizes), [r[k] for r in rows]) for k in (0, 1)])
    return float(found[0]), float(found[1])


def _at(values: tuple[float, ...], depth: float) -> float:
    depths = [-math.log(t) for t in _TAILS]
    if depth > depths[-1]:
        return values[-1] + depth - depths[-1]  # Laplace tails fall by e per unit
    return float(np.interp(depth, depths, values))


def gaussian_quantiles(dimension: int, tail: float) -> tuple[float, float]:
    """Return the same two norms for standard Gaussian noise in svec coordinates.

    The operator norm has mean at most ``sqrt(2 p)`` on either side and is
    1-Lipschitz in the noise.

    >>> [round(q, 2) for q in gaussian_quantiles(38, 0.05)]
    [11.43, 7.31]
    """
    p, tail = integer("dimension", dimension), between("tail", tail, 0, 1)
    matrix = math.sqrt(2 * p) + math.sqrt(2 * math.log(2 / tail))
    return matrix, math.sqrt(float(chi2.isf(tail, p)))


_EXTREMAL = 1.5364  # Szekely and Bakirov 2003: above it no form of trace 1 exceeds chi-square(1)


def _form_tail(x: Array, dimension: int, curvature: float, strength: float) -> Array:
    """Bound P(b'Hb > x) for standard normal b, H <= curvature S + strength I, tr S <= 1."""
    chances, spare = _spare(dimension)
    first = (x[:, None] - strength * spare) / curvature
    bound = np.where(first >= _EXTREMAL, erfc(np.sqrt(np.maximum(first, 0.0) / 2)), 1.0)
    return np.asarray(np.minimum((bound + chances).min(axis=1), 1.0))


@cache
def _spare(dimension: int) -> tuple[Array, Array]:
    """Return probabilities, and what chi-square(dimension) exceeds with them."""
    chances = np.geomspace(1e-14, 1.0, 240)
    return chances, 2 * gammainccinv(dimension / 2, chances)


@cache
def form_quantile(
    noise: str,
    dimension: int,
    curvature: float,
    strength: float,
    tail: float,
    *,
    proved: bool = True,
) -> float:
    """Return what the quadratic form ``b'Hb`` exceeds with at most that probability.

    ``H`` is any matrix below ``curvature S + strength I`` with ``S`` positive
    semidefinite of trace at most 1.

    Parameters
    ----------
    noise
        ``"gaussian"`` of unit variance, or ``"gamma"`` of density ``exp(-|b|)``.
    dimension, curvature, strength
        Of the form.
    tail
        Probability.
    proved
        False takes the case of rank-one data, which no search beat for tails
        up to 0.1; it is 4 % to 15 % smaller and not proved to be the worst.

    Examples
    --------
    >>> round(form_quantile("gaussian", 38, 0.25, 0.005, 0.1), 3)
    1.018
    >>> round(form_quantile("gamma", 38, 0.25, 0.005, 0.1), 1)
    40.6
    """
    integer("dimension", dimension)
    positive("curvature", curvature)
    nonnegative("strength", strength)
    between("tail", tail, 0, 1)
    if not proved:
        return _rank_one(noise, dimension, curvature, strength, tail)
    if noise == "gaussian":
        spread = np.ones(1)
        share = np.ones(1)
    else:
        # Gamma-radius noise is sqrt(2 V) times a normal vector, V of shape (p + 1) / 2.
        nodes, weights = np.polynomial.legendre.leggauss(120)
        spread = 2 * gammainccinv((dimension + 1) / 2, 0.5 * (nodes + 1))
        share = 0.5 * weights

    def excess(log_q: float) -> float:
        x = math.exp(log_q) / spread
        return float(share @ _form_tail(x, dimension, curvature, strength)) - tail

    size = curvature + strength * dimension
    top = math.log(size * float(spread.max()) * 1e4)
    return math.exp(brentq(excess, math.log(size) - 10, top, xtol=1e-10))


def _rank_one(noise: str, dimension: int, curvature: float, strength: float, tail: float) -> float:
    """Simulate the form for data along one direction; the seed is fixed, the result public."""
    rng = np.random.default_rng(0)
    lead = rng.standard_normal(400_000) ** 2
    rest = rng.chisquare(max(dimension - 1, 1), 400_000) * (dimension > 1)
    form = curvature * lead + strength * (lead + rest)
    if noise == "gamma":
        form *= 2 * rng.gamma((dimension + 1) / 2, size=400_000)
    return float(np.quantile(form, 1 - tail))
