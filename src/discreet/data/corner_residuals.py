"""Distances of predictions from given places, with proven rounding errors."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from discreet.bounds import Array, unit_roundoff
from discreet.data.blocks import gamma, in_order, slices
from discreet.data.norms import products
from discreet.data.rounding_errors import margin_error

if TYPE_CHECKING:
    from discreet.data.rows import Rows

TINY = 1e-290
"""More than what underflow can take from a product."""


def residuals(rows: Rows, w: Array, place: Array) -> tuple[Array, Array]:
    """Return ``<x_i, w> - place_i`` for every row and bounds on their rounding errors.

    Where the error could hide the sign the product is computed again with twice the digits.

    Examples
    --------
    >>> from discreet.data import Rows
    >>> rows = Rows(np.array([[0.1, 0.2], [1.0, 0.0]]), np.zeros(2))
    >>> found, error = residuals(rows, np.array([1.0, 1.0]), np.array([0.3, 0.0]))
    >>> bool(abs(found[0] - 2.0**-55) <= error[0] < 1e-30)
    True
    """
    size = float(np.linalg.norm(w))
    each = margin_error(rows.dimension, rows.dimension, size)

    def one(s: slice) -> tuple[Array, Array]:
        X, at, norms = rows._slice(s), place[s], rows.norms[s]
        wide = X.astype(np.float64, copy=False)
        found = (wide @ w if rows.sparse else products(wide, w)) - at
        error = each * norms + 2.0 * unit_roundoff() * np.abs(found) + TINY
        near = np.flatnonzero(np.abs(found) <= error)
        if len(near):
            part = wide[near].toarray() if rows.sparse else wide[near]
            found[near], error[near] = _twice(part, w, at[near], norms[near] * size)
        return found, error

    parts = list(in_order(one, slices(rows.n_rows, rows._block)))
    if not parts:
        return np.zeros(0), np.zeros(0)
    return np.concatenate([f for f, _ in parts]), np.concatenate([e for _, e in parts])


def _twice(X: Array, w: Array, place: Array, size: Array) -> tuple[Array, Array]:
    """Return the same as if computed with twice the digits (Dot2 of Ogita, Rump, Oishi 2005)."""
    total, lost = -place, np.zeros(len(place))
    for column, weight in zip(X.T, w, strict=True):
        product = column * weight
        new = total + product
        virtual = new - total
        lost += (total - (new - virtual)) + (product - virtual) + _missing(column, weight, product)
        total = new
    found = total + lost
    # The sum is pure rounding near a corner, so the second term is the one that counts.
    tail = 2.0 * gamma(X.shape[1] + 2) ** 2 * 1.01 * (np.abs(place) + size)
    return found, 2.0 * unit_roundoff() * np.abs(found) + tail + TINY


def _missing(a: Array, b: float, product: Array) -> Array:
    """Return what rounding took from the product ``a b``, exactly (Dekker)."""
    a_high, b_high = _upper(a), float(_upper(np.asarray(b)))
    a_low, b_low = a - a_high, b - b_high
    rest = ((product - a_high * b_high) - a_low * b_high) - a_high * b_low
    return np.asarray(a_low * b_low - rest)


def _upper(a: Array) -> Array:
    """Return the upper half of the digits of numbers (Veltkamp)."""
    scaled = (2.0**27 + 1.0) * a
    return np.asarray(scaled - (scaled - a))
