"""Rows of a large array that are not copied: they are bounded anew whenever they are read.

Bounding treats every row on its own and by fixed steps, so rows are the same to the last
bit each time. Most are kept, and those that are not leave room for the numbers that
algorithms keep of each row, so that all of it is no more than one copy of rows of a
hundred features. Where bounding only scales rows down their factors are remembered,
reading them again costs one product, and of very large arrays only a part is kept.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.bounds import Array
from discreet.data.labels import Mask
from discreet.data.norms import scales

LARGE = 2**26
"""Bytes of rows from which on it is worth a little time not to copy them."""

KEPT = 5 / 6
"""Bytes that are kept, at most, over bytes of the rows that were given."""

ROOM = 2**30
"""Bytes that are kept of rows which are quickly read again."""


class Reread:
    """Bounded rows by their places, and nothing else: a product with the whole fails.

    Parameters
    ----------
    given
        The user's rows, dense.
    bound
        Bounds rows in place, except blank ones, which it makes zero.
    n_columns
        Coordinates of a bounded row.
    limit
        Norm to which rows are scaled down if that is all that bounding does, else None.
    constant
        What bounded rows that are not blank have after their features.

    Examples
    --------
    >>> from discreet.data.norms import shorten
    >>> given = np.array([[3.0, 4.0], [0.3, 0.4]])
    >>> X = Reread(given, lambda rows, blank: shorten(rows, 1.0), 2, limit=1.0)
    >>> X.learn(slice(0, 2), np.array([1.0, 1.0]))
    >>> X[0:2].round(6)
    array([[0.6, 0.8],
           [0.3, 0.4]])
    """

    dtype = np.dtype(np.float64)
    __array_ufunc__ = None  # so that numpy refuses to compute with it

    def __init__(
        self,
        given: Any,
        bound: Callable[[Array, Mask], Array],
        n_columns: int,
        *,
        limit: float | None = None,
        constant: float = 0.0,
    ) -> None:
        # Other types and orders take as long to read as ranges to clip.
        # privacy: rows that are not aligned are summed in pieces, to other bits than copied ones.
        quick = (
            given.dtype in (np.float64, np.float32)
            and given.flags.c_contiguous
            and given.flags.aligned
        )
        self._given, self._bound, self._constant = given, bound, constant
        self._limit = limit if quick else None
        self.shape = (len(given), n_columns)
        # Numbers of fewer bytes than a kept one make up fewer kept rows.
        kept = int(KEPT * len(given) * min(given.itemsize / 8, 1.0))
        if self._limit:
            kept = min(kept, ROOM // (8 * n_columns))
        self.kept = np.empty((kept, n_columns))
        # Factors of rows; 0 for a row that takes more than that, nan for a blank one.
        self._scale = np.ones(len(given))

    def learn(self, s: slice, weight: Array) -> None:
        """Remember how to read consecutive rows again, given their weights."""
        if self._limit:
            self._scale[s] = scales(self._given[s].astype(np.float64, copy=False), self._limit)
        # privacy: a row has no weight if and only if it is blank.
        self._scale[s][weight == 0.0] = np.nan

    def __getitem__(self, places: npt.NDArray[np.intp] | slice) -> Array:
        if isinstance(places, slice):
            start, stop, step = places.indices(self.shape[0])
            if step > 0 and stop <= len(self.kept):
                return self.kept[start:stop:step]
        given, scale = self._given[places], self._scale[places]
        if self._limit is None:
            return self._bounded(given, scale)
        rows = np.empty((len(scale), self.shape[1]))
        np.multiply(given, scale[:, None], out=rows[:, : given.shape[1]])
        rows[:, given.shape[1] :] = self._constant
        odd = np.flatnonzero(~(scale > 0.0))
        if len(odd):
            rows[odd] = self._bounded(given[odd], scale[odd])
        return rows

    def _bounded(self, given: Any, scale: Array) -> Array:
        rows = np.empty((len(scale), self.shape[1]))
        rows[:, : given.shape[1]] = given
        self._bound(rows, np.isnan(scale))
        return rows
