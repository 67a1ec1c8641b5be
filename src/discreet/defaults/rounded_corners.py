"""Losses with a corner under pure privacy: round the corner by a public width, then tilt.

Objective perturbation needs curvature, and on ordinary data it beats by far what serves corners
as they are: its noise is damped by the curvature of the data. So ``"auto"`` rounds the corner.
A narrow rounding is a small bias; but the narrower, the more the loss bends, and past some width
the calibration asks for more ridge than was asked for, which costs far more than the bias. The
rule takes twice the least width at which the ridge stays as it was asked for. It knows public
facts only.

The rule looks to ordinary data. On data made of corners the bias grows with the rows, and there
localization has the better worst case; the plan says so.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from discreet.accounting import Budget, Guarantee
from discreet.algorithms import Localization, ObjectivePerturbation
from discreet.data import Source
from discreet.errors import DiscreetError
from discreet.noise import Randomness
from discreet.problem import CalibratedPlan, Plan, Problem, Release, checked
from discreet.regularizers import Ridge

NARROWEST, WIDEST = 1e-6, 0.25
"""Widths that are tried, in units of the largest label: 1 for classes."""

BISECTIONS = 30
"""Halvings of the range of widths, on a scale of logarithms."""


def has_corner(problem: Problem) -> bool:
    """Return whether the loss says where its corner is.

    >>> from discreet.bounds import Bounds
    >>> from discreet.losses import Hinge, Logistic
    >>> def problem(loss):
    ...     return Problem(loss=loss, bounds=Bounds(row_norm=1.0, classes=(0, 1)), n_features=2,
    ...                    n_rows=9)
    >>> has_corner(problem(Hinge())), has_corner(problem(Logistic()))
    (True, False)
    """
    return problem.loss.corner(np.ones(1)) is not None


@dataclass(frozen=True)
class RoundedCorners(CalibratedPlan):
    """Objective perturbation of a loss with its corner rounded, for the loss itself.

    Parameters
    ----------
    asked
        The problem with its corner.
    each
        The plan for the rounded loss.
    width, factor
        How wide the corner is rounded, and the factor between the two losses.
    worst
        The bound of localization on the expected excess, if it is the smaller one.
    """

    per_group: ClassVar[bool] = True

    asked: Problem
    each: Plan
    width: float
    factor: float
    worst: float | None

    @property
    def problem(self) -> Problem:
        """What is solved: the rounded problem."""
        return self.each.problem

    @property
    def algorithm(self) -> str:
        """Name of the algorithm."""
        return self.each.algorithm

    @property
    def guarantee(self) -> Guarantee:
        """What a run guarantees."""
        return self.each.guarantee

    @property
    def bias(self) -> float:
        """Bound on what rounding adds to the excess (sum scale): its height at every row."""
        n = self.asked.n_rows
        return math.inf if n is None else n * self.asked.bounds.weight * self._height

    @property
    def _height(self) -> float:
        """How far apart the two losses are, at most, up to a constant."""
        form = self.asked.loss.corner(np.ones(1))
        assert form is not None
        place = form[0]
        span = place + self.width * np.linspace(-2.0, 2.0, 4001)
        label = np.broadcast_to(place, span.shape)
        rounded = self.problem.loss.value(span, label) * self.factor
        apart = rounded - self.asked.loss.value(span, label)
        return float(apart.max() - apart.min())

    @property
    def expected_excess(self) -> float:
        """Bound on the expected excess risk (sum scale) of the loss with its corner."""
        return self.factor * self.each.expected_excess + self.bias

    def facts(self) -> dict[str, Any]:
        """Public numbers of the plan."""
        facts = {
            **self.each.facts(),
            "rounds the corner of": self.asked.loss.name,
            "width": self.width,
            "expected excess (sum) <=": self.expected_excess,
        }
        if self.worst is not None:
            facts["better in the worst case"] = f"localization, {self.worst:.6g}"
        return facts

    @checked
    def run(self, source: Source, random: Randomness) -> Release:
        """Fit the rounded loss."""
        return self.each.run(source, random)


def rounded_corners(
    problem: Problem,
    budget: Budget,
    *,
    strength: float | None = None,
    norm_guess: float | None = None,
) -> RoundedCorners | None:
    """Return the plan that rounds the corner of a loss with a ridge, or None.

    None where the loss has no corner to round, no ridge was asked for or one so faint that
    privacy needs more, or objective perturbation does not apply.

    Parameters
    ----------
    problem, budget
        Public facts, and what a run may cost.
    strength, norm_guess
        As in :func:`~discreet.defaults.recommend`.

    Examples
    --------
    >>> from discreet.bounds import Bounds
    >>> from discreet.losses import Hinge
    >>> problem = Problem(loss=Hinge(), bounds=Bounds(row_norm=1.0, classes=(0, 1)),
    ...                   n_features=6, n_rows=20_000, regularizer=Ridge(strength=200.0))
    >>> plan = rounded_corners(problem, Budget(1.0))
    >>> round(plan.width, 4), plan.each.strength
    (0.0103, 200.0)
    """
    asked = max(problem.regularizer.strong_convexity, strength or 0.0)
    cornered = has_corner(problem)
    plain = problem.regularizer.kernel.zero
    if not (cornered and plain and asked > 0.0 and problem.loss.rounded(1.0) is not None):
        return None
    unit = min(problem.bounding.label_bound, 1e300)

    def planned(width: float) -> tuple[Plan, float]:
        form = problem.loss.rounded(width * unit)
        assert form is not None
        loss, factor = form
        # The rounded loss is the given one over the factor, so the ridge is divided too.
        kept = Ridge(strength=asked / factor)
        algorithm = ObjectivePerturbation(norm_guess=norm_guess)
        return algorithm.plan(replace(problem, loss=loss, regularizer=kept), budget), factor

    def keeps(width: float) -> bool:
        plan, factor = planned(width)
        return float(plan.facts()["strength"]) <= asked / factor * (1.0 + 1e-9)

    try:
        width = _width(keeps)
        if width is None:  # a ridge so faint decides nothing
            return None
        plan, factor = planned(width)
    except DiscreetError:
        return None
    found = RoundedCorners(problem, plan, width * unit, factor, None)
    return replace(found, worst=_localized(problem, budget, asked, norm_guess, found))


def _width(keeps: Any) -> float | None:
    """Return twice the least width that keeps the ridge, or None if no width does."""
    if keeps(NARROWEST):
        return 2.0 * NARROWEST
    if not keeps(WIDEST):
        return None
    low, high = math.log(NARROWEST), math.log(WIDEST)
    for _ in range(BISECTIONS):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if keeps(math.exp(middle)) else (middle, high)
    return min(2.0 * math.exp(high), WIDEST)


def _localized(
    problem: Problem,
    budget: Budget,
    strength: float,
    norm_guess: float | None,
    rounded: RoundedCorners,
) -> float | None:
    """Return the bound of localization if it applies and is the smaller one."""
    if budget.delta > 0.0:
        return None
    try:
        other = Localization(strength=strength, norm_guess=norm_guess).plan(problem, budget)
    except DiscreetError:
        return None
    return other.expected_excess if other.expected_excess < rounded.expected_excess else None
