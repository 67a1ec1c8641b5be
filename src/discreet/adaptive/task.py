"""The public facts that accuracy targets are worked out from."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from discreet.bounds import Array
from discreet.checks import integer, positive
from discreet.data import Rows, gamma
from discreet.errors import Incompatible, MissingBound
from discreet.losses import LOSSES, Loss
from discreet.problem import Problem, planned_tolerance
from discreet.sets import L2Ball
from discreet.solvers.minimize import minimise, minimise_each


@dataclass(frozen=True, kw_only=True)
class Task:
    """Minimise ``J(w) = sum_i f(<x_i, w>; y_i) + strength/2 ||w||^2`` over a public ball.

    The ball holds the minimiser whatever the data is: along ``w*``
    stationarity gives ``strength ||w*||^2 = sum_i -<z_i, f'(z_i; y_i)>``, at most
    ``Y^2/4`` a row for the squared loss, ``W(1/e)`` for the logistic loss and
    ``W((K-1)/e)`` for softmax of K classes.

    Parameters
    ----------
    problem
        With a loss of one output or of classes, and no penalty or constraint.
    strength
        Ridge strength on the sum scale.
    row_l1
        Public bound on the l1 norm of bounded rows, where it is the honest one.
    n_max
        A public number the rows do not exceed; by default their number or,
        under ``add-remove``, twice the declared size.

    Examples
    --------
    >>> from discreet.bounds import Bounds
    >>> from discreet.losses import Squared
    >>> problem = Problem(loss=Squared(), bounds=Bounds(row_norm=1.0, label=(-1, 1)),
    ...                   n_features=38, n_rows=100_000)
    >>> round(Task(problem=problem, strength=500.0).radius, 6)
    7.071068
    """

    problem: Problem
    strength: float
    row_l1: float | None = None
    n_max: int | None = None

    def __post_init__(self) -> None:
        positive("strength", self.strength)
        problem = self.problem
        if problem.grouping is not None:
            raise Incompatible(
                "Accuracy targets protect single rows; no proof for groups of rows is known. "
                "Leave rows_per_group out, or fit without a target."
            )
        if problem.n_rows is None:
            raise MissingBound(
                "n_rows is not set. Accuracy targets are per row, so they need a declared size. "
                "Pass n_rows=..., a number that there are at least."
            )
        # privacy: the ball and the range of losses below are wrong for losses that fall below 0
        if not _is_known(problem.loss):
            known = ", ".join(loss.name for loss in LOSSES.own if _is_known(loss))
            raise Incompatible(
                "Accuracy targets need a loss of one output, or of classes, that is never "
                f"negative; {problem.loss.name!r} is not known to be one. Known are {known}."
            )
        if not (problem.regularizer.zero and problem.constraint.whole_space):
            raise Incompatible(
                "Accuracy targets are proved for ridge penalties without a constraint. "
                "Use a logistic, Huber or ridge regression, without regularizer and constraint."
            )
        if self.n_max is not None:
            integer("n_max", self.n_max, minimum=problem.n_rows)

    @property
    def n(self) -> int:
        """Public number of rows that targets are divided by."""
        assert self.problem.n_rows is not None
        return self.problem.n_rows

    @property
    def most(self) -> int:
        """Public number that the rows do not exceed."""
        if self.n_max is not None:
            return self.n_max
        return 2 * self.n if self.problem.neighbours == "add-remove" else self.n

    @property
    def weight(self) -> float:
        """Largest weight of a row."""
        return self.problem.bounds.weight

    @cached_property
    def radius(self) -> float:
        """Radius of the ball."""
        label, per_strength = self.problem.bounding.label_bound, self.most * self.weight
        per_strength /= self.strength
        if self.problem.loss.quadratic:
            return 0.5 * label * math.sqrt(per_strength)
        if self.problem.loss.pull is not None:
            return math.sqrt(self.problem.loss.pull * per_strength)
        return math.sqrt(2 * self._start * per_strength)

    @property
    def _start(self) -> float:
        """Largest loss of a row at zero weights."""
        return self.problem.loss.at_zero(min(self.problem.bounding.label_bound, 1e300))

    @cached_property
    def loss_range(self) -> tuple[float, float]:
        """Range of the loss of one row of weight 1 over the ball."""
        reach, loss = self.radius * self.problem.row_norm, self.problem.loss
        if loss.quadratic:
            return 0.0, (reach + self.problem.bounding.label_bound) ** 2 / 2
        if loss.target == "sign" and loss.regularity(label=1.0, reach=reach).one_signed:
            # privacy: the upper end exceeds the width, and it is what an absolute target needs
            ends = loss.value(np.array([-reach, reach] * 2), np.repeat([-1.0, 1.0], 2))
            return float(ends.min()), float(ends.max())
        return 0.0, self._start + self.lipschitz / self.weight * self.radius

    @cached_property
    def lipschitz(self) -> float:
        """Bound on the gradient of one row's loss over the ball."""
        label, norm = self.problem.bounding.label_bound, self.problem.row_norm
        regular = self.problem.loss.regularity(label=label, reach=self.radius * norm)
        return self.weight * norm * regular.lipschitz

    @property
    def curvature(self) -> float:
        """Bound on the trace of the second derivative of the loss in its margins."""
        label, norm = self.problem.bounding.label_bound, self.problem.row_norm
        return self.problem.loss.regularity(label=label, reach=self.radius * norm).trace

    @property
    def jump(self) -> float | None:
        """How much the slope of one row's loss jumps at most, if it has a corner."""
        loss = self.problem.loss
        # The slopes of all classes may jump at once, each in a coordinate of its own.
        form = (loss if loss.each is None else loss.each).corner(np.array([-1.0, 1.0]))
        if form is None:
            return None
        return self.weight * float((form[2] - form[1]).max()) * math.sqrt(loss.outputs)

    @property
    def rounding(self) -> float:
        """Bound on the floating-point error of a sum of losses over the rows."""
        top = self.weight * self.loss_range[1]
        return 8 * self.most * top * gamma(4096 + self.problem.dimension + 32)

    def project(self, weights: Array) -> Array:
        """Return the nearest point of the ball."""
        return weights * min(1.0, self.radius / max(float(np.linalg.norm(weights)), 1e-300))

    def value(self, rows: Rows, weights: Array) -> float:
        """Return the objective, rows that overflow counted at the upper end."""
        ridge = 0.5 * self.strength * float(np.vdot(weights, weights))
        value = rows.objective(self.problem.loss, weights)[0]
        return ridge + min(value, self.most * self.weight * self.loss_range[1])

    @cached_property
    def tolerance(self) -> float:
        """Certified distance from the minimiser, times the strength."""
        return planned_tolerance(self.problem, self.strength, lipschitz=self.lipschitz)

    def minimiser(self, rows: Rows, tolerance: float | None = None) -> Array:
        """Return a point of the ball that is certified to that tolerance, or the planned one."""
        tolerance = self.tolerance if tolerance is None else tolerance
        # Without the ball where the minimum is known to lie in it: that is faster.
        secret = self.problem.neighbours == "add-remove"
        loss, shape, strength = self.problem.loss, self.problem.shape, self.strength
        if loss.each is not None and secret:
            # Balls of equal size for the columns lie in the ball of all of them, and hold theirs.
            ball = L2Ball(radius=self.radius / math.sqrt(loss.outputs))
            return minimise_each(
                rows,
                loss,
                linear=np.zeros(shape),
                strength=strength * (1 + 2.0**-40),
                tolerance=tolerance,
                constraint=ball,
            )
        return minimise(
            rows,
            self.problem.loss,
            linear=np.zeros(self.problem.shape),
            strength=self.strength * (1 + 2.0**-40),
            constraint=L2Ball(radius=self.radius) if secret else None,
            tolerance=tolerance,
        )


def _is_known(loss: Loss) -> bool:
    """Return whether a loss declares what the ball and the range above rest on."""
    classes = loss.target in ("sign", "index")
    labels = classes or (loss.target == "real" and loss.range_at_extreme_labels)
    one = loss if loss.each is None else loss.each
    return (
        labels
        and loss.proved_convex
        and loss.nonnegative
        and (
            math.isfinite(loss.regularity(label=1.0, reach=1.0).smoothness)
            or one.corner(np.ones(1)) is not None
        )
    )
