"""What is tested: the quantity that has to become small, and how one row moves it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from discreet.adaptive.above_threshold import METRICS, Sensitivity
from discreet.adaptive.task import Task
from discreet.bounds import Array
from discreet.checks import one_of, positive
from discreet.data import Rows
from discreet.errors import Incompatible

SIZE_KNOWN = "there are no more rows than the declared largest number"


@dataclass(frozen=True, kw_only=True)
class Query:
    """The quantity that has to become small, and how one row moves it.

    Parameters
    ----------
    task
        Of the rows that are tested.
    metric
        ``"excess-risk"``, ``"loss"`` (of the task; squared residuals with
        predictions clipped to the label range) or ``"error-rate"`` (share of
        rows on the wrong side).
    target
        Per row.
    """

    task: Task
    metric: str
    target: float

    def __post_init__(self) -> None:
        one_of("metric", self.metric, METRICS)
        positive("target", self.target)
        classes = self.task.problem.loss.target in ("sign", "index")
        if self.metric == "error-rate" and not classes:
            raise Incompatible(
                "error-rate needs a classifier. Use metric='loss'.",
                parameter="metric",
            )

    @property
    def solver_gap(self) -> float:
        """How far above the optimum the computed one may be."""
        return self.task.tolerance**2 / (2 * self.task.strength)

    @property
    def _range(self) -> tuple[float, float]:
        """Range of what one row of weight 1 contributes."""
        if self.metric == "error-rate":
            return 0.0, 1.0
        if self.metric == "loss" and self.task.problem.loss.quadratic:
            # Clipped predictions are off by at most the label range, whatever the weights.
            return 0.0, 2.0 * self.task.problem.bounding.label_bound**2
        return self.task.loss_range

    @property
    def sensitivity(self) -> Sensitivity:
        """Of the query on the sum scale, rounding and solver included."""
        lo, hi = self._range
        found = Sensitivity.of(
            self.metric, self.task.problem.neighbours, lo=lo, hi=hi, target=self.target
        )
        rounding = self.task.rounding
        gap = self.solver_gap if self.metric == "excess-risk" else 0.0
        # privacy: a row of weight v contributes v (loss - target), so both grow with the weight
        return found.inflated(gap + 2 * rounding, gap + 4 * rounding, times=self.task.weight)

    @property
    def level(self) -> float:
        """What the query is compared with, on the sum scale."""
        if self.metric == "excess-risk":
            return self.task.n * self.target - self.solver_gap
        return 0.0

    def prepare(self, rows: Rows) -> Callable[[Array], float]:
        """Return the query as a function of the model; it reads ``rows``."""
        task = self.task
        if self.metric == "excess-risk":
            best = task.value(rows, task.minimiser(rows))
            return lambda w: task.value(rows, w) - best
        mass = float(rows.weight.sum())
        if self.metric == "loss" and task.problem.loss.quadratic:
            limit = task.problem.bounding.label_bound
            return lambda w: _clipped_loss(rows, w, limit) - self.target * mass
        if self.metric == "loss":
            ridge = 0.5 * task.strength
            return lambda w: task.value(rows, w) - ridge * float(np.vdot(w, w)) - self.target * mass
        return lambda w: _errors(rows, w) - self.target * mass


def _clipped_loss(rows: Rows, weights: Array, limit: float) -> float:
    """Return the sum of half squared residuals of predictions clipped to the label range."""
    residuals = np.clip(rows.X @ weights, -limit, limit) - rows.y
    return float((rows.weight * residuals**2).sum()) / 2


def _errors(rows: Rows, weights: Array) -> float:
    """Return the weight of rows on the wrong side; a row at zero, or with a tie, is wrong."""
    if weights.ndim == 1:
        return float((rows.weight * (rows.y * _margins(rows, weights) <= 0.0)).sum())
    scores = np.stack([_margins(rows, column) for column in weights.T], axis=1)
    own = np.take_along_axis(scores, rows.y.astype(np.intp)[:, None], axis=1)
    wrong = (scores >= own).sum(axis=1) > 1  # its own score is one of them
    return float((rows.weight * wrong).sum())


def _margins(rows: Rows, weights: Array) -> Array:
    """Return the predictions of one output, each by the same operations wherever its row stands."""
    if rows.sparse:
        return np.asarray(rows.X @ weights)
    # privacy: a side is decided by a sign; BLAS may round a row differently when another one
    # before it is removed, and then one row would move more than its own count
    total = np.zeros(rows.n_rows)
    for column, weight in zip(rows.X.T, weights, strict=True):
        total += column * weight
    return total
