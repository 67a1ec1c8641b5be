"""Clipped sums over the same rows with several labels each, one column of weights for every label.

Margins of all columns are one product of matrices, and so are the sums: rows are read once for
all columns, and far more is done with what is in the near cache. Every column is a sum like any
other of :class:`~discreet.data.clipped.ClippedSums`: its slopes are cut to the same caps, and
what rounding can do to it is the same, because the bound allows any order of products inside a
block. It is for rows that keep their positions.

Of losses with corners and many rows margins alone are found at every step: they tell which rows
turned, which are few, and only these are added up (:mod:`discreet.data.clipped.side_sums`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from discreet.bounds import Array
from discreet.checks import positive
from discreet.data.blocks import cut, in_order, slices
from discreet.data.clipped.blockwise import BLOCK_ROWS, Blockwise, Index, Pick, cut_slopes
from discreet.data.clipped.clipped_sums import ClippedSums
from discreet.data.clipped.side_sums import FEWEST, SideSums, at_once, corners
from discreet.data.labels import Mask
from discreet.data.rows import Rows
from discreet.data.storage import Source
from discreet.losses import Loss

if TYPE_CHECKING:
    from discreet.data.bounding import Bounding

MOST_COLUMNS = 16
"""Columns of which labels are held at a time; more would save little."""

LEAST_ROWS = BLOCK_ROWS
"""Rows from which on it saves time to sum those that turned."""

SMALL_PRODUCT = 10**6
"""Products of matrices up to which BLAS does not copy their operands first."""


class SideBySide(ClippedSums):
    """Clipped gradient sums over rows that have a label of their own in every column.

    Parameters
    ----------
    rows
        Bounded rows; their own labels are not read.
    loss
        A loss of one output, whose labels these are.
    labels
        Encoded labels of every column.

    Examples
    --------
    >>> from discreet.losses import Logistic
    >>> rows = Rows(np.array([[3.0, 4.0], [0.0, 1.0]]), np.ones(2))
    >>> labels = [np.array([1.0, -1.0]), np.array([-1.0, -1.0])]
    >>> with SideBySide(rows, Logistic(), labels) as sums:
    ...     sums.full(np.zeros((2, 2)), 1.0).round(12)
    array([[-0.6,  0.6],
           [-0.3,  1.3]])
    """

    def __init__(self, rows: Rows, loss: Loss, labels: Sequence[Array]) -> None:
        super().__init__(rows, loss, work=0.0)
        self._sides: SideSums | None = None
        if self._keeps(loss):
            self._own, self._sides = labels, SideSums(rows, len(labels))
            self._joint = np.stack([self._corners(y)[0] for y in labels])
        else:
            self._blockwise = _Columns(rows, loss, self._weight, labels)

    def _corners(self, y: Array) -> tuple[Array, Array, Array]:
        found = corners(self.loss, y, self._weight)
        assert found is not None
        return found

    def _keeps(self, loss: Loss) -> bool:
        """Return whether sums may be kept from step to step, by public values."""
        rows = self.rows
        if rows.sparse or rows.X.dtype != np.float64 or rows.resident.spilled:
            return False
        # privacy: positions are kept, so sizes are public.
        few = LEAST_ROWS <= rows.n_rows <= rows.shard and at_once(rows.n_rows) >= FEWEST
        return few and loss.outputs == 1 and corners(loss, np.ones((1, 2)), None) is not None

    def _limit(self, clip: float) -> None:
        super()._limit(clip)
        if self._sides is not None:
            # Labels are kept in place of both slopes, because there may be many columns.
            _, low, high = zip(*map(self._corners, self._own), strict=True)
            self._sides.limit(np.stack(low), np.stack(high), self._cap)

    def _sum(self, index: Index | None, w: Array, clip: float, count: bool) -> tuple[Array, int]:
        if self._sides is None:
            return super()._sum(index, w, clip, count)
        assert index is None
        assert not count  # all runs go over all rows, with a clip that is fixed
        if clip != self._clip:
            self._limit(positive("clip", clip))
        # privacy: a warning would tell of the rows.
        with np.errstate(all="ignore"):
            return self._sides(self._turned(w, self._sides.below)).value().T, 0

    def _turned(self, w: Array, before: Mask) -> list[Index]:
        """Return the rows of every column that are on the other side of their corners now."""
        X, (p, columns) = self.rows.X, w.shape
        small = max(16, SMALL_PRODUCT // (p * columns))

        def one(s: slice) -> list[Index]:
            z = np.empty((s.stop - s.start, columns))
            for part in slices(len(z), small):
                np.dot(X[s][part], w, out=z[part])
            # privacy: margins come from products of the same rows at the same places, so those of
            # other rows are the same for neighbours.
            turned = (self._joint[:, s] > z.T) != before[:, s]
            return [np.flatnonzero(column) + s.start for column in turned]

        parts = in_order(one, cut(slice(0, len(X)), BLOCK_ROWS // 4))
        return [np.concatenate(column) for column in zip(*parts, strict=True)]


class _Columns(Blockwise):
    """The kernel, with slopes of one column after the other."""

    def __init__(
        self, rows: Rows, loss: Loss, weight: Array | None, labels: Sequence[Array]
    ) -> None:
        super().__init__(rows, loss, weight, shifting=False)
        each = zip(*(loss.bare_labels(y) for y in labels), strict=True)
        self._each, one = tuple(np.stack(part) for part in each), self._slope

        def slope_of(z: Array, *own: Array) -> Array:
            # Losses know rows alone, so what all columns have of them is laid end to end.
            return one(z.T.reshape(-1), *own).reshape(z.shape[::-1]).T

        self._slope = slope_of

    def _of(self, pick: Pick) -> tuple[Array, ...]:
        found = (part[:, pick] for part in self._each)
        return tuple(part.reshape(-1, *part.shape[2:]) for part in found)

    def _clip(self, slope: Array, high: Array) -> Array:
        # privacy: every column is a sum of its own, so each slope has the cap of its row.
        return cut_slopes(slope.T, high).T


def labels_of(bounding: Bounding, source: Source, rows: Rows) -> Array:
    """Return the labels of a source whose rows were bounded with others, as the loss takes them.

    >>> from discreet.bounds import Bounds
    >>> from discreet.data import ArraySource, Bounding
    >>> from discreet.losses import Hinge
    >>> bounding = Bounding.plan(Bounds(row_norm=1.0, classes=(0, 1)), 1, Hinge())
    >>> X = np.ones((2, 1))
    >>> rows = bounding.apply(ArraySource(X, [0, 0]))
    >>> labels_of(bounding, ArraySource(X, [0, 1]), rows)
    array([-1.,  1.])
    """
    if rows.n_rows == 0:
        return rows.y
    # privacy: labels that were read with the rows belong to them whatever the next reading gives.
    held = getattr(source, "labels", None)
    if held is not None:
        found = [bounding.encoded(y, len(y)) for y in held()]
    else:
        found = [bounding.encoded(raw.y, raw.X.shape[0]) for raw in source.blocks()]
    return bounding.loss.attach(np.concatenate(found), rows.norms)
