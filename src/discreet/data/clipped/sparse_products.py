"""Products of sparse rows with weights and with slopes, by the compiled loops of scipy.

The public products of scipy need a matrix object for every block of rows, and for every batch.
That takes longer than the products of few rows. The loops beneath them take arrays: row ``i`` is
what lies between ``ends[i]`` and ``ends[i + 1]``. So consecutive rows are read where they are,
and rows of a batch are copied into memory that the next batch takes too. These loops are no
public part of scipy, though all its versions from 1.13 on have them. Where they do not do what
they should, the public products are taken.
"""

from __future__ import annotations

import threading
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from discreet.bounds import Array

try:
    from scipy.sparse import _sparsetools as loops
except ImportError:  # pragma: no cover
    loops = None

Integers = npt.NDArray[np.integer[Any]]


class Run(NamedTuple):
    """Rows: where each ends, and the columns and values that are stored."""

    ends: Integers
    columns: Integers
    values: Array


class SparseProducts:
    """Products with some of the rows of a CSR matrix, in float64.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> products = SparseProducts(sp.csr_array(np.array([[1.0, 2.0], [0.0, 3.0], [4.0, 0.0]])))
    >>> rows = products.read(np.array([2, 0]))
    >>> products.margins(rows, np.array([1.0, 10.0]))
    array([ 4., 21.])
    >>> products.combined(rows, np.array([1.0, 10.0]))
    array([14., 20.])
    """

    def __init__(self, X: Any) -> None:
        self._rows, self._shape = Run(X.indptr, X.indices, X.data), X.shape
        self._local = threading.local()

    def read(self, pick: slice | npt.NDArray[np.int64]) -> Run:
        """Return rows. Those of a batch are overwritten by the next one of the same thread."""
        ends, columns, values = self._rows
        if isinstance(pick, slice):
            ends = ends[pick.start : pick.stop + 1]
            if values.dtype != np.float64:
                a, b = ends[0], ends[-1]
                ends, columns, values = ends - a, columns[a:b], values[a:b].astype(np.float64)
            return Run(ends, columns, values)
        # Numbers of rows that are none raise an error here; the loop would not check them.
        sizes = ends[1:][pick] - ends[:-1][pick]
        places = np.where(pick < 0, pick + self._shape[0], pick).astype(ends.dtype)
        found = np.zeros(len(pick) + 1, ends.dtype)
        np.cumsum(sizes, out=found[1:])
        room = self._room(int(found[-1]))
        loops.csr_row_index(len(pick), places, *self._rows, *room)
        return Run(found, room[0], room[1].astype(np.float64, copy=False))

    def _room(self, size: int) -> tuple[Integers, Array]:
        """Return room for so many columns and values, one of its own for every thread."""
        _, columns, values = self._rows
        room = getattr(self._local, "room", None)
        if room is None or len(room[0]) < size:
            # A little more, because the number is about the same again and again.
            more = size + size // 8
            room = self._local.room = np.empty(more, columns.dtype), np.empty(more, values.dtype)
        return room[0][:size], room[1][:size]

    def margins(self, rows: Run, w: Array) -> Array:
        """Return the product of every row with weights, in the order its values are stored."""
        found = np.zeros((len(rows.ends) - 1, *w.shape[1:]))
        shape = len(found), self._shape[1]
        # The loops check no lengths, and would read beside the arrays.
        if len(w) != shape[1]:
            raise ValueError(f"{len(w)} weights are not one for each of {shape[1]} columns.")
        if w.ndim == 1:
            loops.csr_matvec(*shape, *rows, w, found)
        else:
            flat = np.ascontiguousarray(w).ravel(), found.ravel()
            loops.csr_matvecs(*shape, w.shape[1], *rows, *flat)
        return found

    def combined(self, rows: Run, slope: Array) -> Array:
        """Return the sum of the rows, each times its slope."""
        total = np.zeros((self._shape[1], *slope.shape[1:]))
        shape = self._shape[1], len(slope)
        if len(slope) != len(rows.ends) - 1:
            raise ValueError(f"{len(slope)} slopes are not one for each row.")
        if slope.ndim == 1:
            loops.csc_matvec(*shape, *rows, slope, total)
        else:
            flat = np.ascontiguousarray(slope).ravel(), total.ravel()
            loops.csc_matvecs(*shape, slope.shape[1], *rows, *flat)
        return total


def sparse_products(X: Any) -> SparseProducts | None:
    """Return products by the loops of scipy, or None if these are not to be had.

    >>> sparse_products(np.eye(2)) is None
    True
    """
    if getattr(X, "format", None) != "csr" or X.indptr.dtype != X.indices.dtype:
        return None
    return SparseProducts(X) if _loops_do(X.indptr.dtype, X.dtype) else None


@cache
def _loops_do(index: Any, value: Any) -> bool:
    """Return whether the loops of scipy that is installed do what is asked of them here."""
    import scipy.sparse as sp

    dense = np.arange(20.0).reshape(5, 4) % 7.0
    X = sp.csr_array(dense.astype(value))
    X.indptr, X.indices = X.indptr.astype(index), X.indices.astype(index)
    products = SparseProducts(X)
    for pick in (slice(1, 4), np.array([4, 1, 2])):
        for w in (np.arange(4.0), np.arange(8.0).reshape(4, 2)):
            try:
                rows = products.read(pick)
                z = products.margins(rows, w)
                total = products.combined(rows, z)
            except (AttributeError, TypeError, ValueError):
                return False
            if not ((z == dense[pick] @ w).all() and (total == dense[pick].T @ z).all()):
                return False
    return True
