"""Losses with a corner under pure privacy: round the corner by a public width, then tilt.

Objective perturbation needs curvature, and on ordinary data it beats by far what serves corners
as they are: its noise is damped by the curvature of the data. So ``"auto"`` rounds the corner.
A narrow rounding is a small bias; but the narrower, the more the loss bends, and past some width
the calibration asks for more ridge than was asked for, which costs far more than the bias. The
rule takes twice the least width at which the ridge stays as it was asked for, and the widest one
where there is no ridge or a fainter one than privacy needs. It knows public facts only.

The rule is for ordinary data. On data made of corners the bias grows with the rows, and there
localization has the better worst case; the plan says so.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from discreet.accounting import Guarantee
from discreet.algorithms import Localization, ObjectivePerturbation
from discreet.algorithms.perturbation import ObjectivePerturbationPlan
from discreet.checks import positive
from discreet.data import Source
from discreet.defaults.case import CORNER_WIDTH, Case
from discreet.errors import DiscreetError, Incompatible
from discreet.noise import Randomness
from discreet.problem import CalibratedPlan, Problem, Release, checked
from discreet.regularizers import Ridge, Zero
from discreet.tuned.defaults import CORNER_NARROWEST, CORNER_WIDEST

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
    each: ObjectivePerturbationPlan
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


def rounded_by(
    case: Case, width: float, settings: Mapping[str, Any] | None = None
) -> RoundedCorners:
    """Return the plan that rounds the corner of a loss by a width, in units of its labels.

    Parameters
    ----------
    case
        Problem, budget and what was asked for.
    width
        How wide the corner is rounded.
    settings
        Parameters of objective perturbation, for the rounded loss.

    Examples
    --------
    >>> from discreet.accounting import Budget
    >>> from discreet.bounds import Bounds
    >>> from discreet.losses import Hinge
    >>> problem = Problem(loss=Hinge(), bounds=Bounds(row_norm=1.0, classes=(0, 1)),
    ...                   n_features=6, n_rows=20_000)
    >>> rounded_by(Case(problem, Budget(1.0)), 0.25).problem.loss
    HuberisedHinge(width=0.25)
    """
    problem, penalty = case.problem, case.problem.regularizer
    form = problem.loss.rounded(positive(CORNER_WIDTH, width))
    if form is None:
        raise Incompatible(f"The {problem.loss.name} loss has no corner to round.")
    # The rounded loss is the given one over the factor, so the ridge is divided too.
    loss, factor = form
    if penalty.kernel.zero:
        ridge = penalty.strong_convexity / factor
        penalty = Ridge(strength=ridge) if ridge else Zero()
    elif factor != 1.0:
        raise Incompatible(
            f"The {problem.loss.name} loss is rounded to half of itself, and a "
            f"{penalty.name} penalty cannot be halved with it."
        )
    given = case.asked.parameters
    if "strength" in given:
        given["strength"] /= factor
    algorithm = ObjectivePerturbation(**(given | dict(settings or {})))
    each = case.planned(algorithm, replace(problem, loss=loss, regularizer=penalty))
    assert isinstance(each, ObjectivePerturbationPlan)
    found = RoundedCorners(problem, each, width, factor, None)
    found = replace(found, worst=_localized(case, found))
    return found.explained(settings={**each.settings, CORNER_WIDTH: width})


def rounded_corners(case: Case) -> RoundedCorners | None:
    """Return the plan that rounds the corner of a loss by the rule, or None.

    None where the loss has no corner to round, or objective perturbation does not apply.

    Parameters
    ----------
    case
        Problem, budget and what was asked for.

    Examples
    --------
    >>> from discreet.accounting import Budget
    >>> from discreet.bounds import Bounds
    >>> from discreet.losses import Hinge
    >>> problem = Problem(loss=Hinge(), bounds=Bounds(row_norm=1.0, classes=(0, 1)),
    ...                   n_features=6, n_rows=20_000, regularizer=Ridge(strength=200.0))
    >>> plan = rounded_corners(Case(problem, Budget(1.0)))
    >>> round(plan.width, 4), plan.facts()["strength"]
    (0.0103, 200.0)
    """
    if not has_corner(case.problem):
        return None
    unit = min(case.problem.bounding.label_bound, 1e300)
    asked = max(case.problem.regularizer.strong_convexity, case.asked.strength or 0.0)

    def keeps(width: float) -> bool:
        plan = rounded_by(case, width * unit)
        return plan.each.strength <= asked / plan.factor * (1.0 + 1e-9)

    try:
        return rounded_by(case, unit * (_width(keeps) if asked else CORNER_WIDEST))
    except DiscreetError:
        return None


def _width(keeps: Callable[[float], bool]) -> float:
    """Return twice the least width that keeps the ridge, or the widest if that is narrower."""
    if keeps(CORNER_NARROWEST):
        return 2.0 * CORNER_NARROWEST
    if not keeps(CORNER_WIDEST):  # a ridge so faint decides nothing
        return CORNER_WIDEST
    low, high = math.log(CORNER_NARROWEST), math.log(CORNER_WIDEST)
    for _ in range(BISECTIONS):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if keeps(math.exp(middle)) else (middle, high)
    return min(2.0 * math.exp(high), CORNER_WIDEST)


def _localized(case: Case, rounded: RoundedCorners) -> float | None:
    """Return the bound of localization with the same ridge, if it is the smaller one."""
    strength = rounded.each.strength * rounded.factor
    if case.budget.delta > 0.0:
        return None
    try:
        algorithm = Localization(strength=strength, norm_guess=case.asked.norm_guess)
        other = algorithm.plan(case.problem, case.budget)
    except DiscreetError:
        return None
    return other.expected_excess if other.expected_excess < rounded.expected_excess else None
