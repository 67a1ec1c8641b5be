"""Products of rows with weights and with slopes, dense or sparse."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from discreet.bounds import Array
from discreet.data.blocks import block_rows, slices
from discreet.data.norms import norms_of, outwards, products


def upper_norms(X: Any) -> Array:
    """Return norms of rows, rounded up.

    >>> upper_norms(np.array([[3.0, 4.0]])).round(6)
    array([5.])
    """
    # privacy: in float64 whatever is stored; norms computed in float32 could be too small.
    if sp.issparse(X):
        wide = X.astype(np.float64, copy=False)
        norms = np.sqrt(np.asarray(wide.multiply(wide).sum(axis=1)).ravel())
    else:
        norms = np.empty(X.shape[0])
        for s in slices(X.shape[0], block_rows(X.shape[1], sparse=False)):
            norms[s] = norms_of(X[s].astype(np.float64, copy=False))
    norms *= outwards(X.shape[1])
    return np.asarray(norms)


def one_by_one(X: Any, w: Array) -> Array:
    """Return ``X @ w``, every row by itself.

    >>> one_by_one(np.eye(2), np.array([[1.0, 2.0], [3.0, 4.0]]))
    array([[1., 2.],
           [3., 4.]])
    """
    if w.ndim == 1:
        return products(X, w)
    return np.stack([products(X, column) for column in w.T], axis=1)


def times(weight: Array, values: Array) -> Array:
    """Return row weights times values of any number of axes.

    >>> times(np.array([2.0, 3.0]), np.ones((2, 2)))
    array([[2., 2.],
           [3., 3.]])
    """
    return np.asarray((weight * values.T).T)


def combine(X: Any, slope: Array) -> Array:
    """Return ``X' slope``.

    >>> combine(sp.csr_array(np.eye(2)), np.array([1.0, 2.0]))
    array([1., 2.])
    """
    if not sp.issparse(X):
        # A vector times a matrix is the faster way round.
        return np.asarray(np.dot(slope, X) if slope.ndim == 1 else X.T @ slope)
    return np.asarray(turned(X) @ slope)


def turned(X: Any) -> Any:
    """Return the transpose of sparse rows without a copy.

    >>> turned(sp.csr_array(np.array([[0.0, 1.0]]))).toarray()
    array([[0.],
           [1.]])
    """
    found = sp.csc_array(X.shape[::-1], dtype=X.dtype)
    # Set afterwards, as in Rows._slice.
    found.data, found.indices, found.indptr = X.data, X.indices, X.indptr
    return found


def gram(X: Any, curvature: Array) -> Array:
    """Return ``X' diag(curvature) X``.

    >>> gram(np.eye(2), np.array([1.0, 4.0]))
    array([[1., 0.],
           [0., 4.]])
    """
    root = np.sqrt(np.maximum(curvature, 0.0))
    if sp.issparse(X):
        scaled = sp.csr_array(X.multiply(root[:, None]))
        return np.asarray((scaled.T @ scaled).toarray())
    scaled = X * root[:, None]
    return np.asarray(scaled.T @ scaled)


def gram_outputs(X: Any, curvature: Array) -> Array:
    """Return the matrix with one ``K x K`` cell per pair of features.

    >>> gram_outputs(np.array([[2.0]]), np.eye(2)[None])
    array([[4., 0.],
           [0., 4.]])
    """
    p, outputs = X.shape[1], curvature.shape[1]
    out = np.empty((p, outputs, p, outputs))
    for k in range(outputs):
        for j in range(k + 1):
            c = curvature[:, k, j]
            cell = (X.multiply(c[:, None]).T @ X).toarray() if sp.issparse(X) else (X.T * c) @ X
            out[:, k, :, j] = cell
            out[:, j, :, k] = cell.T
    return out.reshape(p * outputs, p * outputs)


def beside(X: Any, constant: Array) -> Any:
    """Return sparse rows with one more entry each.

    >>> beside(sp.csr_array(np.eye(2)), np.array([3.0, 4.0])).toarray()
    array([[1., 0., 3.],
           [0., 1., 4.]])
    """
    n, p = X.shape
    ends = X.indptr[1:]
    data, indices = np.insert(X.data, ends, constant), np.insert(X.indices, ends, p)
    return sp.csr_array((data, indices, X.indptr + np.arange(n + 1)), shape=(n, p + 1))
