"""Linear and quadratic losses on a ball, whose minimiser is a mean that privacy hides.

Bassily, Smith and Thakurta (2014), section V; Thakurta, *Private optimization*, theorem 6.26.
"""

from __future__ import annotations

import math

import numpy as np

from discreet.accounting import Budget
from discreet.bounds import Array, Bounds, Neighbours
from discreet.errors import InvalidParameter
from discreet.lab.instance import Instance
from discreet.lab.lower_bounds import (
    as_replaced,
    codeword_bound,
    hidden_copies,
    linear_bound,
    quadratic_bound,
)
from discreet.losses import Hinge, HuberisedHinge
from discreet.problem import Problem
from discreet.regularizers import Ridge, Zero
from discreet.sets import L2Ball

HALF = 0.5
"""Width of the rounded corner and radius of the ball on which the loss is linear all the same."""


def codeword(
    *,
    n_rows: int,
    n_features: int,
    budget: Budget,
    copies: int | None = None,
    quadratic: bool = False,
    smooth: bool = False,
    neighbours: Neighbours = "replace-one",
    seed: int = 0,
) -> Instance:
    """Return copies of a hidden sign vector among pairs that cancel: hard for pure privacy.

    The loss ``-<w, d>`` is the hinge, which is linear on the unit ball. With ``quadratic`` a ridge
    term of strength ``n_rows`` makes it ``|w - d|^2 / 2`` up to a constant. With ``smooth`` the
    corner of the hinge is rounded and the ball has radius 1/2, on which the rounded loss is linear:
    for algorithms that need smoothness.

    Parameters
    ----------
    n_rows, n_features
        Size of the instance.
    budget
        A pure budget: how many copies stay hidden depends on it, and so does ``lower``.
    copies
        Another number of copies, of the parity of ``n_rows``; nothing is then proved.
    quadratic, smooth
        Which loss.
    neighbours
        The relation the measured method is private under.
    seed
        The same seed gives the same instance.

    Examples
    --------
    >>> instance = codeword(n_rows=10_001, n_features=100, budget=Budget(0.1))
    >>> instance.lower, round(instance.at_zero)
    (9.6875, 155)
    """
    if budget.delta > 0:
        raise InvalidParameter(
            "codeword is for pure privacy. Use fingerprint where delta is not 0."
        )
    epsilon = as_replaced(budget, neighbours).epsilon
    hidden, features = hidden_copies(n_features, n_rows, epsilon)
    lower = None
    if copies is None:
        copies = hidden
        lower = codeword_bound(n_features, n_rows, epsilon, quadratic=quadratic)
    elif not 0 <= copies <= n_rows or (n_rows - copies) % 2:
        raise InvalidParameter("copies must be at most n_rows and have its parity.")
    rng = np.random.default_rng(seed)
    pairs = rng.normal(size=((n_rows - copies) // 2, n_features))
    pairs /= np.linalg.norm(pairs, axis=1)[:, None]
    word = np.zeros(n_features)
    word[:features] = rng.choice([-1.0, 1.0], size=features) / math.sqrt(features)
    rows = np.vstack([np.tile(word, (copies, 1)), pairs, -pairs])
    return _on_ball("codeword", rows, copies * word, lower, budget, quadratic, smooth, neighbours)


def fingerprint(
    *,
    n_rows: int,
    n_features: int,
    budget: Budget,
    quadratic: bool = False,
    smooth: bool = False,
    neighbours: Neighbours = "replace-one",
    seed: int = 0,
) -> Instance:
    """Return rows of signs with hidden means among pairs that cancel: hard where delta > 0.

    Parameters are those of :func:`codeword`; the bound holds for ``delta = 0`` too.

    Examples
    --------
    >>> instance = fingerprint(n_rows=4000, n_features=1000, budget=Budget(0.1, 1e-8))
    >>> round(instance.lower, 1), round(instance.at_zero)
    (52.0, 104)
    """
    spent = as_replaced(budget, neighbours)
    bound = quadratic_bound if quadratic else linear_bound
    lower, size, copies = bound(n_features, n_rows, spent.epsilon, spent.delta)
    rows = fingerprint_rows(n_rows, n_features, size, copies, seed)
    total = rows[: size * copies].sum(axis=0)
    return _on_ball(
        "fingerprint", rows, total, max(lower, 0.0), budget, quadratic, smooth, neighbours
    )


def fingerprint_rows(n_rows: int, n_features: int, size: int, copies: int, seed: int) -> Array:
    """Return unit rows: ``size`` draws of signs, each copied, and cancelling pairs.

    >>> fingerprint_rows(6, 3, 2, 1, 0).sum(axis=0).shape
    (3,)
    """
    rng = np.random.default_rng(seed)
    means = rng.uniform(-1, 1, n_features)
    signs = np.where(rng.random((size, n_features)) < (1 + means) / 2, 1.0, -1.0)
    pairs = rng.choice([-1.0, 1.0], ((n_rows - size * copies) // 2, n_features))
    rows = np.concatenate([np.repeat(signs, copies, axis=0), pairs, -pairs])
    return rows / math.sqrt(n_features)


def _on_ball(
    name: str,
    rows: Array,
    total: Array,
    lower: float | None,
    budget: Budget,
    quadratic: bool,
    smooth: bool,
    neighbours: Neighbours,
) -> Instance:
    """Return the instance of rows whose sum is known."""
    n, p = rows.shape
    # Norms of stored rows may exceed 1 by rounding; clipping would break up the pairs.
    rows = rows * (1 - 1e-12)
    total = total * (1 - 1e-12)
    radius = HALF if smooth else 1.0
    length = float(np.linalg.norm(total))
    if quadratic:
        minimiser = total / n * min(1.0, radius * n / max(length, 1e-300))
    else:
        minimiser = total * (radius / max(length, 1e-300))
        lower = None if lower is None else lower * radius
    problem = Problem(
        loss=HuberisedHinge(width=HALF) if smooth else Hinge(),
        bounds=Bounds(row_norm=1.0, classes=(0, 1)),
        n_features=p,
        n_rows=n,
        neighbours=neighbours,
        constraint=L2Ball(radius=radius),
        regularizer=Ridge(strength=float(n)) if quadratic else Zero(),
    )
    return Instance(
        name=name,
        problem=problem,
        X=rows,
        y=np.ones(n),
        minimiser=minimiser,
        lower=lower,
        budget=budget,
        source="Bassily, Smith, Thakurta 2014, section V; Thakurta, theorem 6.26",
    )
