"""Slopes of few dense rows from margins in float32, where noise hides what that loses.

Rows are kept in float32 beside the others, column after column: a product with weights then takes
a third of the time, and an exponential half of it. What a row adds is its computed slope times
the row in float64, and the slope is cut to the cap of the row in float64, so the clip holds as it
does elsewhere. The copies are in whole blocks, and products do not depend on where their operands
are stored, which is checked: so the slopes of all rows but one are the same for neighbours that
keep the positions of rows.
"""

from __future__ import annotations

from functools import cache

import numpy as np

from discreet.bounds import Array
from discreet.data.blocks import one_blas_thread
from discreet.data.clipped.narrow import Narrow, columns
from discreet.data.rows import Rows
from discreet.losses import Loss

LEAST_VALUES = 2**15
"""Values of the rows from which on it saves time."""

MOST_VALUES = 2**22
"""Values up to which a copy is no burden to memory."""

LOST = 2.0**-18
"""What a slope may be off by, as a share of the largest one, for margins up to a few dozen."""


class SingleSlopes:
    """Slopes of blocks of rows, found again and again.

    Examples
    --------
    >>> from discreet.losses import Logistic
    >>> slopes = SingleSlopes(Rows(np.array([[1.0], [2.0]]), np.array([1.0, -1.0])), Logistic())
    >>> (Logistic().bare_slope()[2] * slopes(slice(0, 2), np.zeros(1))).round(6)
    array([-0.5,  0.5])
    """

    def __init__(self, rows: Rows, loss: Loss) -> None:
        self._rows, self._slope = rows, loss.bare_slope()[1]
        self._labels = loss.bare_labels(rows.y)
        self._copies: dict[tuple[int, int], tuple[Narrow, tuple[Narrow, ...]]] = {}

    def __call__(self, pick: slice, w: Array) -> Array:
        """Return the bare slopes of consecutive rows at weights times the inner factor."""
        key = (pick.start, pick.stop)
        found = self._copies.get(key)
        if found is None:
            labels = tuple(part[pick].astype(np.float32) for part in self._labels)
            self._copies[key] = found = columns(self._rows.X[pick]).T, labels
        z = np.dot(found[0], w.astype(np.float32))
        return np.asarray(self._slope(z, *found[1]), dtype=np.float64)


def single_slopes(rows: Rows, loss: Loss) -> SingleSlopes | None:
    """Return slopes from margins in float32, or None if these do not pay or are not to be had.

    >>> from discreet.losses import Hinge, Logistic
    >>> rows = Rows(np.ones((2**15, 1)), np.ones(2**15))
    >>> single_slopes(rows, Hinge()) is None
    True
    """
    values = rows.n_rows * rows.dimension
    if rows.sparse or rows.X.dtype != np.float64 or rows.resident.spilled:
        return None
    # privacy: sizes are public where positions are kept.
    if not LEAST_VALUES <= values <= MOST_VALUES or not loss.slopes_in_float32:
        return None
    return SingleSlopes(rows, loss) if _steady(rows.dimension) else None


@cache
def _steady(dimension: int) -> bool:
    """Return whether products are the same wherever in memory their operands are."""
    # Of long rows there are not so many, and as many would fill memory.
    n_rows = max(1, min(1037, MOST_VALUES // dimension))
    rng, seen = np.random.default_rng(0), set()
    X = rng.random((dimension, n_rows), dtype=np.float32)
    w = rng.random(dimension, dtype=np.float32)
    rooms = np.empty(X.size + 16, np.float32), np.empty(w.size + 16, np.float32)
    # Sums run with one thread, and so does the check.
    with one_blas_thread():
        for offset in range(16):
            there = rooms[0][offset : offset + X.size].reshape(X.shape)
            other = rooms[1][3 * offset % 16 :][: w.size]
            there[:], other[:] = X, w
            seen.add(np.dot(there.T, other).tobytes())
    return len(seen) == 1
