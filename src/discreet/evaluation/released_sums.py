"""What is released: sums over rows, and how far one row moves each of them.

Every block is a sum over rows of a vector that one row alone decides. A blank
row adds nothing. Parts are rounded row by row to multiples of
:data:`~discreet.evaluation.laws.STEP`, so the sums are exact and what is said
here of one row's part holds of the computed sum.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from discreet.bounds import Array, Integers, rows_apart
from discreet.evaluation.laws import STEP

Mask = npt.NDArray[np.bool_]

SPREAD = 0.5
"""Weight of second moments, which only set the width of intervals, against first ones."""

_ROUNDED = 2.0**-17
"""More than rounding of single parts can add to a squared distance of two rows' parts."""

# privacy: for (sum of absolutes, Euclidean norm), the longest part of one row, and the
# longest difference of two rows' parts, blank ones included. docs/proofs/evaluation.md.
_LENGTHS: dict[str, tuple[tuple[float, float], tuple[float, float]]] = {
    "histogram": ((1.0, 1.0), (2.0, math.sqrt(2.0))),
    "correct": ((0.5, 0.5), (1.0, 1.0)),
    "count": ((1.0, 1.0), (1.0, 1.0)),
    "mean": (
        ((1.0 + SPREAD) / 2.0, math.sqrt(1.0 + SPREAD**2) / 2.0),
        (1.0 + SPREAD, math.sqrt(1.0 + SPREAD**2)),
    ),
    "r2": (
        (2.0 + SPREAD, math.sqrt(1.5 + SPREAD**2 / 2.0)),
        (4.23, math.sqrt(5.0 + SPREAD**2 + _ROUNDED)),
    ),
}


@dataclass(frozen=True)
class Block:
    """One released vector.

    Parameters
    ----------
    name
        Which one: ``"histogram"``, ``"correct"``, ``"count"``, ``"log_loss"``,
        ``"mse"``, ``"mae"`` or ``"r2"``.
    shape
        Of the vector.

    Examples
    --------
    >>> Block("correct", (1,)).sensitivity("l2", "replace-one")
    1.0
    """

    name: str
    shape: tuple[int, ...]

    def sensitivity(self, norm: str, neighbours: str) -> float:
        """Return the furthest that one neighbour moves the block, in that norm."""
        kind = self.name if self.name in _LENGTHS else "mean"
        length: float = _LENGTHS[kind][rows_apart(neighbours) - 1][norm == "l2"]
        return length


def cells(shape: tuple[int, ...], row: Integers, column: Integers, good: Mask) -> Array:
    """Return how many rows fall into each cell of a table.

    >>> cells((2, 2), np.array([0, 1, 1]), np.array([1, 1, 1]), np.array([True, True, False]))
    array([[0., 1.],
           [0., 1.]])
    """
    flat = (row * shape[1] + column)[good]
    return np.bincount(flat, minlength=shape[0] * shape[1]).astype(np.float64).reshape(shape)


def centred(correct: Mask, good: Mask) -> Array:
    """Return the sum of right answers minus wrong ones, halved.

    >>> centred(np.array([True, True, False]), np.array([True, True, True]))
    array([0.5])
    """
    return np.array([float(np.where(good, correct.astype(np.float64) - 0.5, 0.0).sum())])


def moments(v: Array, good: Mask) -> Array:
    """Return the centred sums of values in [0, 1] and, at less weight, of their squares.

    >>> moments(np.array([1.0, 0.0, 1.0]), np.array([True, True, True])).tolist()
    [0.5, 0.25]
    """
    return np.array([_sum(v - 0.5, good), _sum(SPREAD * (v * v - 0.5), good)])


def spread_moments(residual: Array, label: Array, good: Mask) -> Array:
    """Return the sums from which R2 follows, of squared residuals and of labels.

    Both are given in units of their bounds: residuals in [-1, 1] and labels in [-1, 1].

    >>> spread_moments(np.zeros(2), np.array([1.0, -1.0]), np.array([True, True])).tolist()
    [-1.0, -0.5, 1.0, 0.5, 0.0]
    """
    y = np.rint(label / STEP) * STEP
    squares = moments(residual * residual, good), moments(y * y, good)
    return np.concatenate([*squares, np.array([_sum(y, good)])])


def _sum(parts: Array, good: Mask) -> float:
    # privacy: rounded row by row, so the sum is exact: no row's part depends on other rows.
    return float(np.where(good, np.rint(parts / STEP) * STEP, 0.0).sum())
