"""Norms of rows that hold in real arithmetic, whatever the values."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from discreet.bounds import Array, unit_roundoff

TINY = 1e-140
"""Rows shorter than this are stored as zero, so that squares never lose digits."""


def outwards(terms: int) -> float:
    """Return the factor that makes a computed norm of ``terms`` values an upper bound.

    >>> outwards(10) > 1.0
    True
    """
    return 1.0 + (terms + 8) * unit_roundoff()


def stored_limit(limit: float, terms: int) -> float:
    """Return the computed norm to which longer rows are scaled down.

    >>> 0.999 < stored_limit(1.0, 10) < 1.0
    True
    """
    # privacy: the margin exceeds every rounding error of the norm and of the scaling, so the
    # stored row has at most norm ``limit`` in real arithmetic.
    return limit * (1.0 - 4.0 * (terms + 4) * unit_roundoff())


def products(rows: Array, other: Array) -> Array:
    """Return every row's product with a vector, or with its own row of a matrix.

    It is the same wherever the row stands and whatever the other rows are.

    >>> products(np.array([[3.0, 4.0]]), np.array([1.0, 2.0]))
    array([11.])
    """
    if len(rows) == 1:
        # privacy: numpy sums a row that is alone in pieces of 8192, and others at once.
        twice = np.concatenate([rows, rows])
        return products(twice, other if other.ndim == 1 else np.concatenate([other, other]))[:1]
    return np.asarray(np.einsum("ij,j->i" if other.ndim == 1 else "ij,ij->i", rows, other))


def norms_of(rows: Array) -> Array:
    """Return the Euclidean norms of rows; ``inf`` or ``nan`` where squares overflow.

    >>> norms_of(np.array([[3.0, 4.0], [1e300, 0.0]]))
    array([ 5., inf])
    """
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        return np.asarray(np.sqrt(products(rows, rows)))


def finite_rows(rows: Array, norms: Array | None = None) -> npt.NDArray[np.bool_]:
    """Return which rows hold finite values only; their norms help if they are known.

    >>> finite_rows(np.array([[1.0], [np.nan], [1e300]]))
    array([ True, False,  True])
    """
    finite = np.isfinite(norms_of(rows) if norms is None else norms)
    odd = np.flatnonzero(~finite)
    # An overflow is no reason to refuse a row: look at its values.
    finite[odd] = np.isfinite(rows[odd]).all(axis=1)
    return finite


def shorten(rows: Array, limit: float, tiny: float = TINY, norms: Array | None = None) -> Array:
    """Scale finite rows down to norm ``limit`` in place and return their norms.

    Rows shorter than ``tiny`` become zero. Norms that :func:`norms_of` found before may be
    passed, and are overwritten.

    >>> rows = np.array([[3e300, 4e300], [0.3, 0.4]])
    >>> shorten(rows, 1.0).round(6), rows.round(6)
    (array([1. , 0.5]), array([[0.6, 0.8],
           [0.3, 0.4]]))
    """
    target = stored_limit(limit, rows.shape[1])
    norms = norms_of(rows) if norms is None else norms
    long = ~(norms <= target)
    if long.any():
        huge = np.flatnonzero(~np.isfinite(norms))
        if len(huge):
            # A power of two is exact, and keeps squares of huge values finite.
            _, exponent = np.frexp(np.abs(rows[huge]).max(axis=1))
            rows[huge] = np.ldexp(rows[huge], -exponent[:, None])
            norms[huge] = norms_of(rows[huge])
        if np.count_nonzero(long) > len(rows) // 4:
            rows *= np.divide(target, norms, out=np.ones_like(norms), where=long)[:, None]
        else:
            rows[long] *= (target / norms[long])[:, None]
        norms[long] = target
    short = norms < tiny
    if short.any():
        rows[short] = 0.0
        norms[short] = 0.0
    return norms


def scales(rows: Array, limit: float, tiny: float = TINY) -> Array:
    """Return the factors by which :func:`shorten` scales rows; 0 where it does more than that.

    >>> scales(np.array([[3.0, 4.0], [0.3, 0.4], [1e300, 0.0]]), 1.0).round(6)
    array([0.2, 1. , 0. ])
    """
    target, norms = stored_limit(limit, rows.shape[1]), norms_of(rows)
    plain = np.isfinite(norms) & (norms >= tiny)
    long = plain & (norms > target)
    return np.asarray(np.divide(target, norms, out=plain.astype(np.float64), where=long))


def shorten_sparse(
    data: Array,
    rows: npt.NDArray[np.intp],
    shape: tuple[int, int],
    limit: float,
    tiny: float = TINY,
) -> Array:
    """Do what :func:`shorten` does for the stored values ``data`` of sparse rows.

    >>> data = np.array([3e300, 4e300, 0.5])
    >>> shorten_sparse(data, np.array([0, 0, 1]), (2, 9), 1.0).round(6), data.round(6)
    (array([1. , 0.5]), array([0.6, 0.8, 0.5]))
    """
    n_rows, terms = shape
    target = stored_limit(limit, terms)

    def norms_now() -> Array:
        with np.errstate(over="ignore", under="ignore"):
            return np.sqrt(np.bincount(rows, data * data, minlength=n_rows))

    norms = norms_now()
    long, huge = ~(norms <= target), ~np.isfinite(norms)
    if huge.any():
        # A power of two is exact, and keeps squares of huge values finite.
        peak, here = np.zeros(n_rows), np.flatnonzero(huge[rows])
        np.maximum.at(peak, rows[here], np.abs(data[here]))
        data[here] = np.ldexp(data[here], -np.frexp(peak)[1][rows[here]])
        norms[huge] = norms_now()[huge]
    if long.any():
        data *= np.divide(target, norms, out=np.ones(n_rows), where=long)[rows]
        norms[long] = target
    short = norms < tiny
    if short.any():
        data[short[rows]] = 0.0
        norms[short] = 0.0
    return norms
