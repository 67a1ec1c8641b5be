"""Exponential sampling: a point drawn with density ``exp(-c * objective)``.

Theorem (McSherry, Talwar 2007; Bassily, Smith, Thakurta 2014, Algorithm 2). If
one row changes the objective by amounts that differ by at most ``osc`` between
two points of the set, the draw is ``c osc``-bounded-range, hence purely
``c osc``-private. Its expected excess is at most ``p / c``.

The regularised variant (Gopi, Lee, Liu 2022) adds ``m/2 |w|^2``, needs a delta
and rests on convexity: with ``L``-Lipschitz losses it is as private as Gaussian
noise of multiplier ``1/mu``, ``mu = a L sqrt(c/m)``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

from discreet.accounting import Budget
from discreet.algorithms.sampling.density import check_convex
from discreet.algorithms.sampling.exponential_plan import EXACT, FINE, ExponentialSamplingPlan
from discreet.algorithms.sampling.quadratic_floor import is_curved
from discreet.checks import between, integer, nonnegative, one_of
from discreet.errors import Incompatible
from discreet.problem import Problem, norm_guess_of
from discreet.sets import Box, ConvexSet, Intersection, L2Ball

PRACTICAL = 16
"""Dimension up to which exact draws take seconds to minutes."""

SAMPLERS = ("auto", *EXACT, "grid-walk", "hit-and-run")


@dataclass(frozen=True, kw_only=True)
class ExponentialSampling:
    """One draw from the exponential mechanism over a bounded set of weights.

    Parameters
    ----------
    sampler
        ``"gaussian-envelope"`` (exact, losses with curvature; for least squares
        the cut Gaussian itself), ``"tangent-envelope"`` (exact, any convex loss),
        ``"grid"`` (exact on a coarse grid, any loss), ``"grid-walk"`` (a proved
        reference, tiny problems on a box) or ``"hit-and-run"`` (needs
        ``guarantee="approximate"``). ``"auto"`` takes the best exact one.
    guarantee
        ``"exact"``, or ``"approximate"`` to allow a Markov chain without a proved mixing time.
    regularised
        Add the ridge term of Gopi, Lee and Liu and use its (epsilon, delta)
        guarantee, over a box. Privacy then rests on convexity: opt-in.
    strength
        Ridge strength on the sum scale; public, so it costs no privacy.
    norm_guess
        Radius of the ball that stands in for an unbounded set.
    cells
        Cells a side for the two grid samplers.
    accuracy
        Share by which probabilities of the grid walk may be off.
    steps
        Moves of hit-and-run.
    trust_loss
        Accept that a loss from outside the library is convex with correct
        gradients.

    Examples
    --------
    >>> from discreet.losses import Hinge
    >>> from discreet.bounds import Bounds
    >>> problem = Problem(loss=Hinge(), bounds=Bounds(row_norm=1.0, classes=(0, 1)),
    ...                   n_features=2, n_rows=1000, constraint=L2Ball(radius=4.0))
    >>> plan = ExponentialSampling().plan(problem, Budget(1.0))
    >>> round(1 / plan.inverse, 4), round(plan.expected_excess, 3)
    (5.0, 10.0)
    """

    name: ClassVar[str] = "exponential-sampling"

    sampler: str = "auto"
    guarantee: Literal["exact", "approximate"] = "exact"
    regularised: bool = False
    strength: float | None = None
    norm_guess: float | None = None
    cells: int = 32
    accuracy: float = 0.01
    steps: int = 1000
    trust_loss: bool = False

    def plan(self, problem: Problem, budget: Budget) -> ExponentialSamplingPlan:
        """Calibrate a run from public values."""
        one_of("sampler", self.sampler, SAMPLERS)
        one_of("guarantee", self.guarantee, ("exact", "approximate"))
        integer("cells", self.cells, minimum=2)
        integer("steps", self.steps)
        between("accuracy", self.accuracy, 0.0, 1.0)
        guess = norm_guess_of(problem, self.norm_guess)
        inside = _bounded(problem.constraint, problem.dimension, guess, self.regularised)
        bounded = replace(problem, constraint=inside)
        sampler = self._sampler(bounded)
        if sampler in (*FINE, "grid-walk") or self.regularised:
            check_convex(problem, self.trust_loss)
        plain = problem.regularizer.kernel.zero
        if sampler == "gaussian-envelope" and not is_curved(problem):
            raise Incompatible(
                "The sampler 'gaussian-envelope' needs a loss of one output whose curvature the "
                f"library knows; {problem.loss.name!r} has none. Use 'tangent-envelope'."
            )
        if sampler == "grid-walk" and not (plain and bounded.constraint.separable):
            raise Incompatible(
                "The sampler 'grid-walk' needs a box and no penalty but ridge: its proved number "
                "of steps is for a cube. Use 'tangent-envelope', which is exact on every set."
            )
        if self.regularised:
            self._check_regularised(bounded, budget, sampler)
        if sampler == "hit-and-run" and not (self.guarantee == "approximate" and budget.delta > 0):
            raise Incompatible(
                "Hit-and-run has no proved mixing time, so it never gives a pure or certified "
                "guarantee. Pass guarantee='approximate' and a delta, or an exact sampler."
            )
        asked = 0.0 if self.strength is None else nonnegative("strength", self.strength)
        strength = max(asked, problem.regularizer.strong_convexity)
        plan = ExponentialSamplingPlan(bounded, budget, self, sampler, strength, guess)
        plan.check_sharpness()
        return plan

    def _sampler(self, problem: Problem) -> str:
        if self.sampler != "auto":
            return self.sampler
        if problem.dimension > PRACTICAL:
            raise Incompatible(
                f"Exact sampling is practical up to about {PRACTICAL} weights; this model has "
                f"{problem.dimension}. Use objective perturbation, or name a sampler to try anyway."
            )
        smooth = is_curved(problem) and problem.regularizer.kernel.smooth
        return "gaussian-envelope" if smooth else "tangent-envelope"

    def _check_regularised(self, problem: Problem, budget: Budget, sampler: str) -> None:
        if budget.delta == 0.0:
            raise Incompatible("The regularised variant needs delta > 0.")
        fits = problem.constraint.separable and problem.regularizer.kernel.zero
        if not fits or sampler not in FINE:
            raise Incompatible(
                "The regularised variant needs a box (or no constraint), no penalty but ridge, "
                "and an exact sampler on the fine lattice."
            )


def _bounded(constraint: ConvexSet, size: int, guess: float, box: bool) -> ConvexSet:
    """Return the set itself, or its part within the guessed norm where it is unbounded."""
    if constraint.whole_space:
        return Box(low=-guess, high=guess) if box else L2Ball(radius=guess)
    if math.isinf(constraint.radius(size)):
        return Intersection(sets=(L2Ball(radius=guess), constraint))
    return constraint
