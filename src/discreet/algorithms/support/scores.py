"""How well a few features explain the labels: least squares over a ball.

The score of a support is the smallest sum of half squared residuals over
weights on it (and on the intercept) of Euclidean norm at most ``radius``. A
certificate, not the solver, says how far a computed score may be off: for a
convex function with gradient ``g`` at ``w``, no point of the ball is better
than ``w`` by more than ``<g, w> + radius ||g||``.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from discreet.bounds import Array
from discreet.data import Rows, gamma
from discreet.errors import NotCertified
from discreet.mechanisms.signed_choice import Index

GAP = 2.0**-14
"""Certified gap of a score, as a share of the largest loss of one row."""


class Counted(Protocol):
    """Something that knows how many rows its rounding is paid for."""

    @property
    def most_rows(self) -> int: ...


def score_range(exact: float, largest: float, counted: Counted) -> float:
    """Return the range of computed scores, given that of exact ones.

    Computed scores lie between the exact one and ``GAP`` losses above it, which
    adds twice that, and rounding goes either way, which adds four times its
    bound: both neighbours' scores may be off, in opposite directions.
    """
    rows = counted.most_rows
    rounding = 8.0 * gamma(rows + 64) * rows * largest
    return exact + 2.0 * GAP * largest + 4.0 * rounding


class Scores:
    """Certified least-squares scores of supports.

    Parameters
    ----------
    rows
        Bounded rows; columns from ``n_features`` on belong to every support.
    n_features
        Number of features to choose from.
    radius
        Radius of the ball.
    largest
        Largest loss of one row, the unit of the certificate.
    label
        Largest size of a label, which is enforced.

    Examples
    --------
    >>> rows = Rows(np.array([[1.0, 0.0], [1.0, 1.0]]), np.array([1.0, 1.0]))
    >>> Scores(rows, 2, 10.0, 1.0, 1.0).of(np.array([[0], [1]])).round(6)
    array([0. , 0.5])
    """

    def __init__(
        self, rows: Rows, n_features: int, radius: float, largest: float, label: float
    ) -> None:
        self._rows, self._count = rows, n_features
        self._radius, self._gap = radius, GAP * largest
        # privacy: some losses attach more than the label, and may make it larger.
        labels = np.clip(rows.y if rows.y.ndim == 1 else rows.y[:, 0], -label, label)
        self._cross = np.asarray(rows.X.T @ (rows.weight * labels))
        self._square = 0.5 * float(rows.weight @ labels**2)
        self._always = list(range(n_features, rows.dimension))
        self._known: dict[int, Array] = {}

    def of(self, supports: Index) -> Array:
        """Return the scores of supports, one per row of ``supports``."""
        index = np.hstack([supports, np.tile(self._always, (len(supports), 1))]).astype(np.intp)
        used = np.unique(index)
        gram = np.array([self._column(int(j)) for j in used])
        place = np.searchsorted(used, index)
        blocks = gram[place[:, :, None], index[:, None, :]]
        return self._solve(blocks, self._cross[index])

    def extended(self, chosen: list[int], candidates: Index) -> Array:
        """Return the scores of ``chosen`` with each candidate added."""
        base = [*chosen, *self._always]
        size = len(base) + 1
        blocks = np.empty((len(candidates), size, size))
        for a, i in enumerate(base):
            column = self._column(i)
            blocks[:, a, :-1] = column[base]
            blocks[:, a, -1] = blocks[:, -1, a] = column[candidates]
        blocks[:, -1, -1] = self._squares()[candidates]
        cross = np.column_stack(
            [np.tile(self._cross[base], (len(candidates), 1)), self._cross[candidates]]
        )
        return self._solve(blocks, cross)

    def _column(self, j: int) -> Array:
        """Return the products of feature ``j`` with all features."""
        if j not in self._known:
            X = self._rows.X
            column = X[:, [j]].toarray().ravel() if self._rows.sparse else X[:, j]
            self._known[j] = np.asarray(X.T @ (self._rows.weight * column))
        return self._known[j]

    def _squares(self) -> Array:
        X, weight = self._rows.X, self._rows.weight
        if self._rows.sparse:
            return np.asarray(X.multiply(X).T @ weight)
        return np.asarray(np.einsum("ij,ij,i->j", X, X, weight))

    def _solve(self, gram: Array, cross: Array) -> Array:
        """Minimise ``w' G w / 2 - c' w`` over the ball for a stack of problems."""
        values, vectors = np.linalg.eigh(gram)
        values = np.maximum(values, 0.0)
        turned = np.einsum("mij,mi->mj", vectors, cross)
        # The multiplier of the ball: the norm of the solution falls in it.
        floor = 1e-13 * values[:, -1:] + 1e-300
        low = np.zeros((len(values), 1))
        high = np.linalg.norm(turned, axis=1, keepdims=True) / self._radius
        for _ in range(80):
            middle = (low + high) / 2.0
            long = np.linalg.norm(turned / (values + middle + floor), axis=1) > self._radius
            low = np.where(long[:, None], middle, low)
            high = np.where(long[:, None], high, middle)
        w = np.einsum("mij,mj->mi", vectors, turned / (values + high + floor))
        norm = np.linalg.norm(w, axis=1, keepdims=True)
        w *= np.minimum(1.0, self._radius * (1.0 - 1e-14) / np.maximum(norm, 1e-300))
        image = np.einsum("mij,mj->mi", gram, w)
        slope = image - cross
        gap = np.sum(slope * w, axis=1) + self._radius * np.linalg.norm(slope, axis=1)
        # privacy: a score counts only with a certificate that it is nearly the smallest.
        if not (gap <= self._gap).all():
            raise NotCertified(
                "The score of a support could not be certified, so nothing was chosen. Scale the "
                "features to comparable ranges."
            )
        return np.asarray(self._square + np.sum(w * (image / 2.0 - cross), axis=1))
