"""Which rows keep a squared loss within their caps near a point, and the second moments of these.

The slope of a squared loss that is clipped row by row is ``<x, w> - y`` within the cap of a row
and constant beyond it. In a ball around ``v`` of radius ``r`` a prediction moves by at most
``r ||x||``, so a row whose residual is further than that from its cap stays on its side of it. Of
such rows nothing but ``sum t x x'`` over those within their caps is needed to know how the
gradient changes inside the ball. The others, few of them, are looked at by themselves.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from discreet.bounds import Array, Integers
from discreet.data.blocks import block_rows, cut, gamma, in_order
from discreet.data.row_products import gram
from discreet.losses import Loss

if TYPE_CHECKING:
    from discreet.data.rows import Rows

MOST_COLUMNS = 64
"""Columns up to which second moments cost no more than a few gradients."""

MOST_VALUES = 2**23
"""Values of rows that may cross their caps beyond which second moments are of no use."""

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

    >>> from discreet.data import Rows
    >>> from discreet.losses import Logistic, Squared
    >>> rows = Rows(np.eye(2), np.ones(2))
    >>> has_second_sums(rows, Squared()), has_second_sums(rows, Logistic())
    (True, False)
    """
    # Wherever rows are kept, because the release is the same to the last bit.
    few = not rows.sparse and rows.dimension <= MOST_COLUMNS
    return few and loss.outputs == 1 and loss.inner.quadratic


def second_sums(rows: Rows, centre: Array, radius: float) -> SecondSums | None:
    """Return what is known of a ball around a point; None if many rows may cross their caps.

    >>> from discreet.data import Rows
    >>> rows = Rows(np.eye(2), np.array([0.0, 9.0]))
    >>> found = second_sums(rows, np.zeros(2), 1.0)
    >>> found.matrix, found.active.n_rows
    (array([[1., 0.],
           [0., 1.]]), 0)
    """
    p = rows.dimension
    matrix, mass, active, sums = np.zeros((p, p)), 0.0, [np.zeros(0, np.int64)], 0
    for k, (part, share, places, blocks) in enumerate(rows.parts("second_sums", centre, radius)):
        matrix += part
        mass += share
        active.append(k * rows.shard + places)
        sums += blocks + 1
    found = np.concatenate(active)
    # They are copied, so more would take memory that grows with the data.
    if len(found) > min(rows.n_rows // 4, MOST_VALUES // p):
        return None
    # privacy: sums of squares of numbers that are all positive, so this covers their rounding.
    mass *= 1.0 + 2.0**-20
    # privacy: roots, products, their sums in a block and those of blocks and of shards all round.
    error = gamma(min(block_rows(p), rows.n_rows) + sums + 8) * mass
    return SecondSums(matrix, mass, error, rows.take(found))


def shard_sums(
    rows: Rows, shard: slice, centre: Array, radius: float
) -> tuple[Array, float, Integers, int]:
    """Return the second moments of a shard, their mass, what may cross, and how many blocks it has.

    Rows that may cross are counted from the first of the shard.
    """
    size = float(np.linalg.norm(centre)) + radius

    def one(s: slice) -> tuple[Array, float, Integers]:
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
            places = s.start - shard.start + np.flatnonzero(~(inside | (room < -least)))
        lever = norms * norms
        lever *= weight
        if inside.all() and (weight == 1.0).all():
            return X.T @ X, float(lever.sum()), places
        return gram(X, weight * inside), float(lever @ inside), places

    p = rows.dimension
    blocks = cut(shard, block_rows(p))
    matrix, mass, active = np.zeros((p, p)), 0.0, [np.zeros(0, np.int64)]
    for part, share, places in in_order(one, blocks):
        matrix += part
        mass += share
        active.append(places)
    return matrix, mass, np.concatenate(active), len(blocks)
