"""Sparse blocks put one under the other, without a second copy of them all."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from discreet.data.storage.source import Source


class Stacked:
    """Room for the bounded rows of a sparse source, filled from the top.

    Parameters
    ----------
    source
        Where rows come from: it tells how many there are.
    n_columns
        Coordinates of a bounded row.
    dtype
        Type of the values.

    Examples
    --------
    >>> from discreet.data.storage.source import ArraySource
    >>> X = Stacked(ArraySource(sp.csr_array(np.eye(3))), 3, np.float64)
    >>> X.add(sp.csr_array(np.ones((1, 3)))), X.add(sp.csr_array(np.eye(3)[1:]))
    (slice(0, 1, None), slice(1, 3, None))
    >>> X.whole().toarray()
    array([[1., 1., 1.],
           [0., 1., 0.],
           [0., 0., 1.]])
    """

    def __init__(self, source: Source, n_columns: int, dtype: Any) -> None:
        given = getattr(source, "array", None)
        parts = (raw.X for raw in source.blocks()) if given is None else [given]
        values = sum(part.nnz for part in parts)
        # Every row may have an intercept.
        room = values + source.n_rows
        index = np.int32 if max(room, n_columns) < 2**31 else np.int64
        self._data, self._columns = np.empty(room, dtype), np.empty(room, index)
        self._ends = np.zeros(source.n_rows + 1, index)
        self._filled, self._n_columns = 0, n_columns

    def add(self, part: Any) -> slice:
        """Put rows below those that are there, and return their places."""
        s = slice(self._filled, self._filled + part.shape[0])
        start = int(self._ends[s.start])
        here = slice(start, start + part.nnz)
        self._data[here], self._columns[here] = part.data, part.indices
        self._ends[s.start + 1 : s.stop + 1] = part.indptr[1:] + start
        self._filled = s.stop
        return s

    def whole(self) -> Any:
        """Return all rows, without a copy."""
        X = sp.csr_array((self._filled, self._n_columns), dtype=self._data.dtype)
        used = int(self._ends[-1])
        # Set afterwards, because the constructor copies a part of a larger array.
        X.data, X.indices, X.indptr = self._data[:used], self._columns[:used], self._ends
        return X
