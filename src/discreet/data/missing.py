"""Rows with missing values: blank in a fit, and neutral in a prediction.

A row with a missing value or label adds nothing to any sum: see
:class:`~discreet.data.bounding.Bounding`, which makes it a blank row. It is a row
all the same, so the number of rows stays what it was.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from discreet.bounds import Bounds


def neutral(bounds: Bounds, X: Any) -> Any:
    """Return rows to predict with every missing value at the middle of its range.

    There a feature adds nothing to a model whose ranges are centred. Where no ranges
    are declared, 0 stands for a missing value.

    Parameters
    ----------
    bounds
        What the model was fitted with.
    X
        Rows, dense or sparse, NaN where a value is missing.

    Examples
    --------
    >>> neutral(Bounds(features=(0, 10)), np.array([[np.nan, 3.0]]))
    array([[5., 3.]])
    """
    if sp.issparse(X):
        if not np.isnan(X.data).any():
            return X
        X = X.copy()
        X.data[np.isnan(X.data)] = 0.0
        return X
    lost = np.isnan(X)
    if not lost.any():
        return X
    ranges = bounds.ranges(X.shape[1])
    middle = np.zeros(X.shape[1]) if ranges is None else np.array(ranges).mean(axis=1)
    return np.where(lost, middle, X)


def missing_labels(y: Any) -> Any:
    """Return which labels are missing: None, NaN, or a missing value of pandas.

    >>> missing_labels(["yes", None, float("nan")])
    array([False,  True,  True])
    """
    held = np.asarray(y)
    if held.dtype.kind == "f":
        return np.isnan(held)
    if held.dtype.kind != "O":
        return np.zeros(held.shape, dtype=bool)
    flags = [_is_missing(value) for value in held.ravel()]
    return np.array(flags, dtype=bool).reshape(held.shape)


def _is_missing(value: Any) -> bool:
    try:
        return value is None or bool(value != value)
    except TypeError:  # pandas.NA answers no comparison
        return True
