"""Which rows keep a squared loss within their caps near a point, and the second moments of these.

The slope of a squared loss that is clipped row by row is ``<x, w> - y`` within the cap of a row
and constant beyond it. In a ball around ``v`` of radius ``r`` a prediction moves by at most
``r ||x||``, so a row whose residual is further than that from its cap stays on its side of it. Of
such rows nothing but ``sum t x x'`` over those within their caps is needed to know how the
gradient changes inside the ball. The others, few of them, are looked at by themselves.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from discreet.bounds import Array
from discreet.data.blocks import block_rows, gamma, in_order, slices
from discreet.data.blockwise import Index
from discreet.data.row_products import gram
from discreet.data.rows import Rows
from discreet.losses import Loss

MOST_COLUMNS = 64
"""Columns up to which second moments cost no more than a few gradients."""

SLACK = 2.0**-30
"""Far more than the relative rounding error of a prediction, for these columns."""


@dataclass(frozen=True)
class SecondSums:
    """How the gradient of a clipped squared loss changes in a ball.

    ``matrix`` is the sum of ``t x x'`` over rows that stay within their caps, and ``error`` bounds
    its distance from the real one in the Frobenius norm, as ``mass`` bounds its own norm. The
    rows that may cross their caps are ``active``.
    """

    matrix: Array
    mass: float
    error: float
    active: Rows


def has_second_sums(rows: Rows, loss: Loss) -> bool:
    """Return whether the loss is a squared one, clipped or not, of dense rows of few columns.

    >>> from discreet.losses import Logistic, Squared
    >>> rows = Rows(np.eye(2), np.ones(2))
    >>> has_second_sums(rows, Squared()), has_second_sums(rows, Logistic())
    (True, False)
    """
    if not (loss.outputs == 1 and loss.inner.quadratic and rows.dimension <= MOST_COLUMNS):
        return False
    # Rows on a cluster are not to be had here.
    return rows.here and isinstance(rows.X, np.ndarray) and not rows.resident.spilled


def second_sums(rows: Rows, centre: Array, radius: float) -> SecondSums | None:
    """Return what is known of a ball around a point; None if many rows may cross their caps.

    >>> rows = Rows(np.eye(2), np.array([0.0, 9.0]))
    >>> found = second_sums(rows, np.zeros(2), 1.0)
    >>> found.matrix, found.active.n_rows
    (array([[1., 0.],
           [0., 1.]]), 0)
    """
    size = float(np.linalg.norm(centre)) + radius

    def one(s: slice) -> tuple[Array, float, Index]:
        X, norms, weight = rows._slice(s), rows.norms[s], rows.weight[s]
        if rows.y.ndim == 1:
            inside = np.ones(len(X), np.bool_)
            places = np.zeros(0, np.int64)
        else:
            y, cap = rows.y[s].T
            # privacy: room for the rounding of predictions; what is not a number is active.
            least = norms * (radius + SLACK * size)
            least += SLACK * (np.abs(y) + cap)
            room = cap - np.abs(X @ centre - y)
            inside = room > least
            places = s.start + np.flatnonzero(~(inside | (room < -least)))
        lever = norms * norms
        lever *= weight
        if inside.all() and (weight == 1.0).all():
            return X.T @ X, float(lever.sum()), places
        return gram(X, weight * inside), float(lever @ inside), places

    p = rows.dimension
    blocks = slices(rows.n_rows, block_rows(p))
    matrix, mass, active = np.zeros((p, p)), 0.0, [np.zeros(0, np.int64)]
    for part, share, places in in_order(one, blocks):
        matrix += part
        mass += share
        active.append(places)
    found = np.concatenate(active)
    if len(found) > rows.n_rows // 4:
        return None
    # privacy: sums of squares of numbers that are all positive, so this covers their rounding.
    mass *= 1.0 + 2.0**-20
    # privacy: a row's root, its products, their sum in a block and that of blocks all round.
    error = gamma(min(block_rows(p), rows.n_rows) + len(blocks) + 8) * mass
    return SecondSums(matrix, mass, error, rows.take(found))
