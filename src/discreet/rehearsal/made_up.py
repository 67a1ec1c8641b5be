"""Made-up rows that follow a schema or bounds, with labels of a known signal.

Numbers are bell-shaped around the middle of their range, with a sixth of it as
deviation. Of the values of a category the k-th is 1/k as frequent as the first.
Weights of the truth are normal in the scaled domain. Nothing here reads data.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit, softmax

from discreet.bounds import Array, Bounds
from discreet.schema import Column

PILOT = 4000
"""Rows by which the truth is scaled to the signal that is asked for."""

DEVIATION = 1.0 / 3.0
"""Of a number, in half ranges."""

LABEL_SHARE = 0.5
"""Deviation of the labels of a regression, in half ranges."""


class Drawn(NamedTuple):
    """Made-up rows, their labels, and what the truth says of them.

    ``best`` holds chances of every class, or the expected label.
    """

    X: Array
    y: Any
    best: Array


class World:
    """A truth, and rows that follow it.

    Parameters
    ----------
    model
        An estimator, unfitted; its schema or bounds declare the rows.
    n_features
        Number of features of encoded rows.
    signal
        Area under the ROC curve, or R2, of the truth.
    share
        Share of the last of two classes.
    random
        Source of pseudo-random numbers.
    """

    def __init__(
        self, model: Any, n_features: int, signal: float, share: float, random: Any
    ) -> None:
        schema = model._declared_schema()
        self.random, self.width = random, n_features
        self.bounds: Bounds = model._declared_bounds(n_features)
        self.columns: list[tuple[Column, Any]] = []
        if schema is not None:
            found = schema.features(model._target()).values()
            self.columns = [(column, column.rule(schema.missing)) for column in found]
        self.classes: Any = None
        if model._labels == "classes":
            declared = (0, 1) if self.bounds.classes is None else self.bounds.classes
            self.classes = np.unique(np.asarray(declared))
        self.count = hasattr(model, "limit") and model._labels == "real"  # of a logarithmic link
        outputs = 1 if self.classes is None or len(self.classes) == 2 else len(self.classes)
        self.truth = random.normal(size=(n_features, outputs))
        pilot = self._scaled(self._rows(PILOT)) @ self.truth
        self.middle, self.deviation = pilot.mean(axis=0), np.maximum(pilot.std(axis=0), 1e-12)
        self.signal, self.stretch, self.shift = signal, 1.0, 0.0
        if self.classes is not None:
            two = outputs == 1
            u = np.sort((pilot[:, 0] - self.middle[0]) / self.deviation[0])
            self.stretch, self.shift = _calibrated(u, signal, share if two else 0.5)

    def draw(self, n_rows: int) -> Drawn:
        """Return so many rows."""
        X = self._rows(n_rows)
        u = (self._scaled(X) @ self.truth - self.middle) / self.deviation
        if self.classes is not None:
            chances = self._chances(u)
            drawn = (chances.cumsum(axis=1) < self.random.uniform(size=(n_rows, 1))).sum(axis=1)
            return Drawn(X, self.classes[np.minimum(drawn, len(self.classes) - 1)], chances)
        low, high = self.bounds.label or (-1.0, 1.0)
        if self.count:
            rate = high / 4.0 * np.exp(self.signal * u[:, 0] - self.signal**2 / 2.0)
            return Drawn(X, np.minimum(self.random.poisson(rate), high).astype(float), rate)
        size = LABEL_SHARE * (high - low) / 2.0
        best = (low + high) / 2.0 + size * math.sqrt(self.signal) * u[:, 0]
        y = best + size * math.sqrt(1.0 - self.signal) * self.random.normal(size=n_rows)
        return Drawn(X, np.clip(y, low, high), best)

    def _chances(self, u: Array) -> Array:
        if u.shape[1] > 1:
            found: Array = softmax(self.stretch * u, axis=1)
            return found
        chance = expit(self.stretch * u[:, 0] + self.shift)
        return np.column_stack([1.0 - chance, chance])

    def _rows(self, n_rows: int) -> Array:
        if self.columns:
            return np.hstack([self._cells(c, rule, n_rows) for c, rule in self.columns])
        ranges = self.bounds.ranges(self.width)
        bell = self.random.normal(size=(n_rows, self.width))
        if ranges is None:  # within a ball
            length = np.linalg.norm(bell, axis=1, keepdims=True)
            reach = self.random.uniform(0.25, 1.0, size=(n_rows, 1)) * self.bounds.row_norm
            return np.asarray(bell / length * reach)
        low, high = np.array(ranges).T
        inside = np.clip(DEVIATION * bell, -1.0, 1.0)
        return np.asarray((low + high) / 2.0 + (high - low) / 2.0 * inside)

    def _cells(self, column: Column, rule: Any, n_rows: int) -> Array:
        known = column.classes
        if known is not None:
            often = 1.0 / np.arange(1, len(known) + 1)
            at = self.random.choice(len(known), n_rows, p=often / often.sum())
            return column.spread(column.values(list(known))[at], rule)
        low, high = column.features("x", rule)["x"]
        bell = np.clip(DEVIATION * self.random.normal(size=n_rows), -1.0, 1.0)
        return column.spread((low + high) / 2.0 + (high - low) / 2.0 * bell, rule)

    def _scaled(self, X: Array) -> Array:
        ranges = self.bounds.ranges(self.width)
        if ranges is None:
            return X
        low, high = np.array(ranges).T
        return np.asarray((X - (low + high) / 2.0) / ((high - low) / 2.0))


def _calibrated(u: Array, area: float, share: float) -> tuple[float, float]:
    """Return stretch and shift by which sorted scores have that area under the curve and share."""

    def shift(stretch: float) -> float:
        return float(
            brentq(lambda b: float(expit(stretch * u + b).mean()) - share, -2000.0, 2000.0)
        )

    def missing(log: float) -> float:
        chance = expit(math.exp(log) * u + shift(math.exp(log)))
        below = np.concatenate([[0.0], (1.0 - chance).cumsum()[:-1]])
        return float(chance @ below / (chance.sum() * (1.0 - chance).sum())) - area

    low, high = math.log(1e-3), math.log(200.0)
    found = math.exp(brentq(missing, low, high) if missing(high) > 0.0 else high)
    return found, shift(found)
