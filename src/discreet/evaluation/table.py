"""Metrics of a released table of classes by scores.

A table has one row for each true class. With two classes its columns are bins of
the score, from low to high, the decision threshold in the middle; with more they
are the predicted classes. All numbers carry noise. They are never cut to be
positive: that would bias every sum of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from discreet.bounds import Array
from discreet.evaluation.estimate import Estimate, around, unknown
from discreet.evaluation.laws import NoiseLaw

ENOUGH = 6.0
"""Least size of a divisor, in standard deviations of its noise."""

_SHARE = (0.0, 1.0)


@dataclass(frozen=True, eq=False)
class ScoreTable:
    """A table of counts with noise, and the metrics that follow from it.

    Parameters
    ----------
    cells
        Counts with noise, classes by columns.
    law
        The noise of one cell.
    level
        Of all intervals.

    Examples
    --------
    >>> table = ScoreTable(np.array([[80.0, 20.0], [10.0, 90.0]]), NoiseLaw("gaussian", 0.1), 0.95)
    >>> print(table.recall())
    0.9000 (0.8412 to 0.9588)
    """

    cells: Array
    law: NoiseLaw
    level: float

    @property
    def binary(self) -> bool:
        """Whether there are two classes."""
        return len(self.cells) == 2

    @property
    def bins(self) -> int:
        """Number of columns."""
        return int(self.cells.shape[1])

    # Tables of right and wrong answers.

    def confusion(self, threshold: float = 0.5) -> Array:
        """Return true classes by predicted ones, at a threshold that is an edge of a bin."""
        if not self.binary:
            return self.cells
        edge = round(threshold * self.bins)
        low, high = self.cells[:, :edge].sum(axis=1), self.cells[:, edge:].sum(axis=1)
        return np.column_stack([low, high])

    def _picked(self, true: int, predicted: int) -> Array:
        """Return the weights of the cells that make one cell of the confusion matrix."""
        weights = np.zeros(self.cells.shape)
        if not self.binary:
            weights[true, predicted] = 1.0
        elif predicted:
            weights[true, self.bins // 2 :] = 1.0
        else:
            weights[true, : self.bins // 2] = 1.0
        return weights

    def right(self) -> Array:
        """Return the weights of the cells of right answers."""
        return np.asarray(sum(self._picked(k, k) for k in range(len(self.cells))))

    # Metrics.

    def accuracy(self) -> Estimate:
        """Return the share of right answers."""
        return self._mean([(self.right(), np.ones(self.cells.shape))])

    def recall(self) -> Estimate:
        """Return the share of a class that is found: of the second of two, or the mean of all."""
        return self._mean([self._recall(k) for k in self._asked()])

    def balanced_accuracy(self) -> Estimate:
        """Return the mean over classes of the share that is found."""
        return self._mean([self._recall(k) for k in range(len(self.cells))])

    def precision(self) -> Estimate:
        """Return the share of right answers where a class is predicted."""
        every = range(len(self.cells))
        pairs = []
        for k in self._asked():
            named = np.asarray(sum(self._picked(j, k) for j in every))
            pairs.append((self._picked(k, k), named))
        return self._mean(pairs)

    def f1(self) -> Estimate:
        """Return the harmonic mean of precision and recall."""
        every, pairs = range(len(self.cells)), []
        for k in self._asked():
            named = np.asarray(sum(self._picked(j, k) for j in every))
            pairs.append((2.0 * self._picked(k, k), named + self._recall(k)[1]))
        return self._mean(pairs)

    def auc(self) -> Estimate:
        """Return the chance that a row of the second class scores above one of the first.

        Rows of one bin count as ties.
        """
        negative, positive = self.cells
        sizes = negative.sum(), positive.sum()
        if min(sizes) < ENOUGH * self.law.deviation * np.sqrt(self.bins):
            return unknown(_SHARE)
        below = (np.cumsum(negative) - negative / 2.0) / sizes[0]
        above = (positive.sum() - np.cumsum(positive) + positive / 2.0) / sizes[1]
        value = float(positive @ below / sizes[1])
        slope = np.stack([(above - value) / sizes[0], (below - value) / sizes[1]])
        return self._smooth(value, slope)

    # Curves.

    def roc(self) -> tuple[Array, Array, Array]:
        """Return false and true positive rates at every edge of a bin, and these edges.

        From the highest threshold to the lowest, as scikit-learn has them.
        """
        negative, positive = self.cells[:, ::-1]
        rates = []
        for counts in (negative, positive):
            size = max(float(counts.sum()), 1.0)
            rates.append(np.clip(np.concatenate([[0.0], np.cumsum(counts)]) / size, 0.0, 1.0))
        return rates[0], rates[1], np.linspace(1.0, 0.0, self.bins + 1)

    def calibration(self, groups: int) -> list[tuple[float, float, Estimate]]:
        """Return for each group of bins its ends and the share of the second class in it."""
        edges = np.unique(np.rint(np.linspace(0, self.bins, groups + 1)).astype(int))
        found = []
        for low, high in pairwise(edges):
            inside = np.zeros(self.cells.shape)
            inside[:, low:high] = 1.0
            share = self._mean([(inside * np.array([[0.0], [1.0]]), inside)])
            found.append((low / self.bins, high / self.bins, share))
        return found

    # How they are estimated.

    def _asked(self) -> list[int]:
        """Return the classes a metric is about: the second of two, or all."""
        return [1] if self.binary else list(range(len(self.cells)))

    def _recall(self, k: int) -> tuple[Array, Array]:
        whole = np.zeros(self.cells.shape)
        whole[k] = 1.0
        return self._picked(k, k), whole

    def _mean(self, pairs: list[tuple[Array, Array]]) -> Estimate:
        """Return the mean of ratios of sums of cells, given as weights."""
        value, slope = 0.0, np.zeros(self.cells.shape)
        for over, under in pairs:
            size = float((under * self.cells).sum())
            if size < ENOUGH * self.law.deviation * np.sqrt((under**2).sum()):
                return unknown(_SHARE)
            ratio = float((over * self.cells).sum()) / size
            value += ratio / len(pairs)
            slope += (over - ratio * under) / size / len(pairs)
        return self._smooth(value, slope)

    def _smooth(self, value: float, slope: Array) -> Estimate:
        """Return the estimate of a metric that does not change when all cells are doubled.

        To first order the metric moves by ``slope`` times the cells' errors. The
        noise of cells is independent. Rows fall into cells as in a multinomial
        law, whose variance is then the sum of counts times squared slopes, since
        counts times slopes add up to zero. For the area under the curve this is
        DeLong's variance.
        """
        sampling = float((slope**2 * self.cells).sum())
        return around(
            value,
            noise=self.law.deviation * float(np.sqrt((slope**2).sum())),
            sampling=float(np.sqrt(max(sampling, 0.0))),
            critical=self.law.critical(self.level),
            limits=_SHARE,
        )
