"""Sparse matrices whose index arrays do not fit together are refused in words.

scipy checks them when a matrix is made, but not when they change afterwards, and its
compiled code then reads or writes memory that is not the matrix's.
"""

from __future__ import annotations

from typing import Any

from discreet.errors import InvalidData

_MALFORMED = (
    "X is a malformed sparse matrix: its index arrays do not fit together or point outside its "
    "shape. X.check_format() of a CSR matrix says more. Build it anew from values and their "
    "places, as in scipy.sparse.csr_array((values, (rows, columns)), shape=shape)."
)


def well_formed(X: Any) -> Any:
    """Return a sparse matrix of two dimensions as it is, or raise if its arrays do not fit.

    Formats without index arrays are returned as CSR, which is checked instead.

    >>> import numpy as np
    >>> import scipy.sparse as sp
    >>> X = sp.csr_array(np.eye(2))
    >>> well_formed(X) is X
    True
    >>> X.indices[1] = 2
    >>> well_formed(X)
    Traceback (most recent call last):
    discreet.errors.InvalidData: X is a malformed sparse matrix: ...
    """
    if len(X.shape) != 2:
        return X
    try:
        if X.format not in ("csr", "csc", "bsr", "coo"):
            X = X.tocsr()
        fits = _places_fit(X) if X.format == "coo" else _runs_fit(X)
    except (AttributeError, IndexError, TypeError, ValueError):
        # privacy: the original message may quote values or count rows.
        fits = False
    if not fits:
        raise InvalidData(_MALFORMED)
    return X


def _inside(index: Any, size: int) -> bool:
    """Return whether an array holds places below ``size``."""
    if index.ndim != 1 or index.dtype.kind not in "iu":
        return False
    return index.size == 0 or bool(index.min() >= 0 and index.max() < size)


def _places_fit(X: Any) -> bool:
    rows, columns = X.row, X.col
    return (
        len(rows) == len(columns) == len(X.data)
        and X.data.ndim == 1
        and _inside(rows, X.shape[0])
        and _inside(columns, X.shape[1])
    )


def _runs_fit(X: Any) -> bool:
    """Check CSR, CSC and BSR: runs of indices, one run for every row, column or row of blocks."""
    height, width = X.data.shape[1:] if X.format == "bsr" else (1, 1)
    if X.data.ndim != (3 if X.format == "bsr" else 1) or min(height, width) < 1:
        return False
    counts = X.shape[0] // height, X.shape[1] // width
    if (counts[0] * height, counts[1] * width) != tuple(X.shape):
        return False
    major, minor = counts[::-1] if X.format == "csc" else counts
    ends, stored = X.indptr, len(X.indices)
    return (
        ends.dtype.kind in "iu"
        and ends.shape == (major + 1,)
        and int(ends[0]) == 0
        and bool((ends[1:] >= ends[:-1]).all())
        # scipy keeps room after the last run, but reads it nowhere.
        and int(ends[-1]) <= min(stored, len(X.data))
        and _inside(X.indices[: int(ends[-1])], minor)
    )
