"""Released classifiers that answer every row alike."""

from __future__ import annotations

import numpy as np

from discreet.bounds import Array, Bounds

ALIKE = (
    " The model answers the same for every row within the bounds: it may have learnt nothing from "
    "the features. Ask for an error below that of the one answer."
)
"""What a summary adds where the released weights say so."""


def answers_alike(bounds: Bounds, coef: Array, intercept: Array) -> bool:
    """Return whether all rows within the bounds are answered with one class.

    It depends on released and public values only, so it costs nothing. Rows that are cut to
    the row norm stay within the ranges.

    >>> answers_alike(Bounds(row_norm=1.0), np.array([[0.3, 0.4]]), np.array([0.6]))
    True
    >>> answers_alike(Bounds(features=(0, 10)), np.array([[0.3, -0.4]]), np.array([-2.0]))
    False
    """
    if len(coef) == 1:  # the score of the second of two classes, beside zero
        coef, intercept = np.vstack([0.0 * coef, coef]), np.append(0.0, intercept)
    leads = (
        all(_above(bounds, coef[k] - coef[j], intercept[k] - intercept[j], k > j)
            for j in range(len(coef)) if j != k)
        for k in range(len(coef))
    )  # fmt: skip
    return any(leads)


def _above(bounds: Bounds, coef: Array, constant: float, strictly: bool) -> bool:
    """Return whether a score is above zero for all rows within the bounds, or not below it."""
    lows = []
    if bounds.row_norm is not None and bounds.features is None:
        lows.append(constant - bounds.row_norm * float(np.linalg.norm(coef)))
    if bounds.features is not None:
        ends = coef[:, None] * np.asarray(bounds.features, dtype=np.float64).reshape(-1, 2)
        lows.append(constant + float(ends.min(axis=1).sum()))
    return any(low > 0.0 if strictly else low >= 0.0 for low in lows)
