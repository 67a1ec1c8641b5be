"""Least squares on the l1 ball with many features: private LASSO.

Talwar, Thakurta and Zhang (2015), section 3; Thakurta, *Private optimization*, section 6.4.
"""

from __future__ import annotations

import math
from functools import cache

import numpy as np
from scipy.linalg import hadamard

from discreet.accounting import Budget
from discreet.bounds import Array, Bounds, Neighbours
from discreet.checks import integer, positive
from discreet.errors import InvalidParameter
from discreet.lab.instance import Instance
from discreet.lab.lower_bounds import as_replaced, lasso_bound
from discreet.losses import Squared
from discreet.problem import Problem
from discreet.sets import L1Ball

SOURCE = "Talwar, Thakurta, Zhang 2015, section 3; Thakurta, section 6.4"


def dense_l1(
    *, n_features: int, rows_factor: float = 144.0, neighbours: Neighbours = "zero-out"
) -> Instance:
    """Return a problem whose answer has no small entries, so that sparse steps are of little use.

    Rows are copies of a Hadamard matrix, ``rows_factor * (2 p)^1.5`` of them about, so that the
    excess is exactly ``n/2 |w - best|^2``. The minimiser has entries ``+-1/p``, on the boundary of
    the ball. The mean excess of weights of zero falls like ``n^(-2/3)``, and a point with ``k``
    non-zero entries has ``(1/k - 1/p)/2`` at least: this is where the rate of private
    Frank-Wolfe shows. Nothing is proved of other methods, so there is no lower bound.

    Examples
    --------
    >>> instance = dense_l1(n_features=8)
    >>> instance.problem.n_rows, round(instance.at_zero / instance.problem.n_rows, 6)
    (9216, 0.0625)
    """
    p = _power_of_two(n_features)
    n = math.floor(positive("rows_factor", rows_factor) * (2 * p) ** 1.5 / p) * p
    if n == 0:
        raise InvalidParameter("rows_factor is too small: there would be no row. Take 1 or more.")
    X = np.tile(hadamard(p).astype(np.float64), (n // p, 1))
    best = np.where(np.arange(p) % 3 == 0, -1.0, 1.0) / p
    return Instance(
        name="dense_l1",
        problem=_lasso(n, p, neighbours),
        X=X,
        y=X @ best,
        minimiser=best,
        source=SOURCE,
    )


def lasso_fingerprint(
    *, n_rows: int, budget: Budget, neighbours: Neighbours = "replace-one", seed: int = 0
) -> Instance:
    """Return the LASSO problem of that many rows with the largest proved lower bound.

    Some rows of signs with hidden means have the label 1; copies of a Hadamard matrix with the
    label 0 punish sparse answers; rows that are left over are blank. How many there are of each,
    and how many features, maximises :func:`~discreet.lab.lasso_bound`. The
    minimiser is found by a solver that stops at a relative duality gap of 1e-10.

    Examples
    --------
    >>> instance = lasso_fingerprint(n_rows=2000, budget=Budget(1.0, 1e-8))
    >>> instance.problem.n_features, round(instance.lower, 2), round(instance.at_zero, 2)
    (1024, 1.73, 3.07)
    """
    n = integer("n_rows", n_rows, minimum=2)
    spent = as_replaced(budget, neighbours)
    lower, marked, repeats, p = lasso_sizes(n, spent.epsilon, spent.delta)
    rng = np.random.default_rng(seed)
    means = rng.uniform(-1, 1, p)
    signs = np.where(rng.random((marked, p)) < (1 + means) / 2, 1.0, -1.0)
    X, y = np.zeros((n, p)), np.zeros(n)
    X[:marked], y[:marked] = signs, 1.0
    X[marked : marked + repeats * p] = np.tile(hadamard(p), (repeats, 1))
    return Instance(
        name="lasso_fingerprint",
        problem=_lasso(n, p, neighbours),
        X=X,
        y=y,
        minimiser=lasso_with_ridge(signs, float(repeats * p)),
        lower=lower,
        budget=budget,
        source=SOURCE,
    )


@cache
def lasso_sizes(n_rows: int, epsilon: float, delta: float) -> tuple[float, int, int, int]:
    """Return the largest lower bound, and its marked rows, Hadamard copies and features.

    >>> lasso_sizes(2000, 1.0, 1e-8)[1:]
    (8, 1, 1024)
    """
    found, p = [(0.0, 1, 0, 1)], 2
    while p < n_rows:
        # With more copies than p (w is about p^(1/2)) sparse answers are punished beyond need.
        for r in range(1, min((n_rows - 1) // p, p) + 1):
            # The bound falls below zero where w (w sinh(epsilon))^2 exceeds about 3 r p.
            most = math.ceil((3 * r * p / math.sinh(min(epsilon, 300.0)) ** 2) ** (1 / 3)) + 1
            for w in range(max(1, r), min(n_rows - r * p, 12 * r, most) + 1):
                found.append((lasso_bound(p, w, r, epsilon, delta), w, r, p))
        p *= 2
    return max(found)


def lasso_with_ridge(signs: Array, ridge: float) -> Array:
    """Return the minimiser of ``|X w - 1|^2 / 2 + ridge |w|^2 / 2`` over the unit l1 ball.

    >>> lasso_with_ridge(np.ones((4, 2)), 2.0).round(6)
    array([0.4, 0.4])
    """
    ball, p = L1Ball(radius=1.0), signs.shape[1]
    smoothness = float(np.linalg.norm(signs, 2)) ** 2 + ridge
    momentum = (1 - math.sqrt(ridge / smoothness)) / (1 + math.sqrt(ridge / smoothness))
    w = before = np.zeros(p)
    for _ in range(20_000):
        ahead = w + momentum * (w - before)
        slope = signs.T @ (signs @ ahead - 1.0) + ridge * ahead
        before, w = w, ball.project(ahead - slope / smoothness)
        slope = signs.T @ (signs @ w - 1.0) + ridge * w
        # The Frank-Wolfe gap bounds how far the objective is above its minimum.
        if float(slope @ w) + ball.support(-slope) <= 1e-10 * len(signs):
            return w
    raise RuntimeError("The reference solver did not reach its accuracy.")


def _lasso(n: int, p: int, neighbours: Neighbours) -> Problem:
    return Problem(
        loss=Squared(),
        bounds=Bounds(features=(-1.0, 1.0), label=(-1.0, 1.0)),
        n_features=p,
        n_rows=n,
        neighbours=neighbours,
        constraint=L1Ball(radius=1.0),
    )


def _power_of_two(value: int) -> int:
    p = integer("n_features", value)
    if p & (p - 1):
        raise InvalidParameter(
            f"n_features must be a power of 2, for which a Hadamard matrix is at hand. Got {p}."
        )
    return p
