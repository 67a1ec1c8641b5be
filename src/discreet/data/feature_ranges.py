"""Ranges of features: what they do to rows, in the scaled domain and in the user's units."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp

from discreet.bounds import Array, Bounds
from discreet.data.norms import shorten, shorten_sparse


def clipped_rows(bounds: Bounds, X: Any) -> Any:
    """Return rows as a model was fitted to them, in the user's units.

    Values are clipped to their ranges and rows scaled down to the row norm, as by a
    :class:`Bounding` with those bounds; ``bounds.centred`` says whether it centred ranges.
    Sparse rows stay sparse if 0 stays 0.

    Examples
    --------
    >>> clipped_rows(Bounds(features=(0, 120)), np.array([[2000.0, 35.0]]))
    array([[120.,  35.]])
    >>> clipped_rows(Bounds(row_norm=1.0), np.array([[3.0, 4.0]])).round(6)
    array([[0.6, 0.8]])
    """
    limit = bounds.row_norm
    scaled = scaling(bounds, X.shape[1], centred=bool(bounds.centred))
    if sp.issparse(X) and not keeps_zeros(scaled, shortened=limit is not None):
        X = X.toarray()
    if sp.issparse(X):
        X = sp.csr_array(X, dtype=np.float64, copy=True)
        X.sum_duplicates()
        rows, half = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr)), np.ones(1)
        if scaled is not None:
            low, high, _, half = (values[X.indices] for values in scaled)
            X.data = np.clip(X.data, low, high)
        if limit is not None:
            X.data = X.data / half
            shorten_sparse(X.data, rows, X.shape, limit)
            X.data = X.data * half
        return X
    if scaled is None:
        X = np.array(X, dtype=np.float64)
        assert limit is not None
        shorten(X, limit)
        return X
    low, high, centre, half = scaled
    X = np.clip(X, low, high, dtype=np.float64)
    if limit is not None:
        X = (X - centre) / half
        shorten(X, limit)
        X = X * half + centre
    return X


def scaling(
    bounds: Bounds, n_features: int, *, centred: bool
) -> tuple[Array, Array, Array, Array] | None:
    """Return low, high, centre and half width of every feature, if there are ranges.

    >>> scaling(Bounds(features=(0, 10)), 1, centred=True)
    (array([0.]), array([10.]), array([5.]), array([5.]))
    """
    ranges = bounds.ranges(n_features)
    if ranges is None:
        return None
    low, high = np.array(ranges).T
    centre = 0.5 * low + 0.5 * high if centred else np.zeros(n_features)
    half = np.where(centre != 0.0, 0.5 * high - 0.5 * low, np.maximum(abs(low), abs(high)))
    return low, high, centre, half


def together(
    rows: Array, ranges: tuple[Array, ...], many: int = 32
) -> Iterator[tuple[Array, tuple[Any, ...]]]:
    """Yield views that cover rows, with what belongs to each of their columns.

    >>> [(part.shape, low) for part, (low,) in together(np.zeros((5, 2)), (np.ones(2),))]
    [((5, 2), 1.0)]
    """
    if all((values == values[0]).all() for values in ranges):
        yield rows, tuple(float(values[0]) for values in ranges)
        return
    whole = len(rows) // many * many
    if whole:
        yield rows[:whole].reshape(whole // many, -1), tuple(np.tile(v, many) for v in ranges)
    yield rows[whole:], ranges


def keeps_zeros(scaled: tuple[Array, ...] | None, *, shortened: bool = True) -> bool:
    """Return whether 0 stays 0 when it is clipped and, if rows are shortened, centred.

    >>> keeps_zeros(scaling(Bounds(features=(1, 2)), 1, centred=False))
    False
    """
    if scaled is None:
        return True
    low, high, centre, _ = scaled
    return bool(((low <= 0.0) & (high >= 0.0)).all()) and not (shortened and centre.any())
