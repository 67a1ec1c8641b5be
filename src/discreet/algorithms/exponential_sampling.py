"""Exponential sampling: a point drawn with density ``exp(-c * objective)``.

Theorem (McSherry, Talwar 2007; Bassily, Smith, Thakurta 2014, Algorithm 2). If
one row changes the objective by amounts that differ by at most ``osc`` between
two points of the set, the draw is ``c osc``-bounded-range, hence purely
``c osc``-private. Its expected excess is at most ``p / c``.

The law lives on a public lattice and its scores are the computed float64
numbers, so ``osc`` is raised by what rounding can do to four of them, and the
samplers are exact for what is left (:mod:`discreet.samplers`).

The regularised variant (Gopi, Lee, Liu 2022) adds ``m/2 |w|^2``, needs a delta
and rests on convexity: with ``L``-Lipschitz losses it is as private as Gaussian
noise of multiplier ``1/mu``, ``mu = a L sqrt(c/m)``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Literal

import numpy as np

from discreet.accounting import Approximate, BoundedRange, Budget, Event, Guarantee, Pure
from discreet.algorithms.base import SIDE_CHANNELS, Problem, Release, norm_guess_of, sealed
from discreet.algorithms.density import check_convex, density
from discreet.algorithms.oscillation import covered_rows, oscillation, public_size, score_error
from discreet.algorithms.quadratic_floor import is_curved, quadratic_floor
from discreet.algorithms.temperature import affordable_range, gaussian_temperature
from discreet.checks import between, integer, nonnegative, one_of
from discreet.data import Rows, Source
from discreet.errors import BudgetTooSmall, Incompatible
from discreet.noise import Randomness
from discreet.regularizers import Zero
from discreet.samplers import (
    GaussianEnvelope,
    GridSampler,
    GridWalk,
    HitAndRun,
    Region,
    TangentEnvelope,
    Target,
    grid_excess,
    walk_cost,
)
from discreet.sets import AllSpace, Box, ConvexSet, Intersection, L2Ball
from discreet.types import Array

PRACTICAL = 16
"""Dimension up to which exact draws take seconds to minutes."""

FINE = ("tangent-envelope", "gaussian-envelope")
"""Samplers whose draws follow the law on the fine lattice exactly."""

EXACT = (*FINE, "grid")
"""Samplers whose draws follow their law exactly."""

SAMPLERS = ("auto", *EXACT, "grid-walk", "hit-and-run")

NOT_CERTIFIED = (
    "the Markov chain has mixed: its total variation distance from the target is at most "
    "delta / (1 + exp(epsilon)). Nobody has proved this; the guarantee is approximate"
)
CONVEX = "every row's loss is convex and its constants are as declared"


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
        ``"exact"``, or ``"approximate"`` to allow a chain nobody can certify.
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
    >>> from discreet.types import Bounds
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
        bounded = replace(problem, constraint=_bounded(problem.constraint, guess, self.regularised))
        sampler = self._sampler(bounded)
        if sampler in (*FINE, "grid-walk") or self.regularised:
            check_convex(problem, self.trust_loss)
        plain = isinstance(problem.regularizer.kernel, Zero)
        if sampler == "gaussian-envelope" and not is_curved(problem):
            raise Incompatible(
                "The sampler 'gaussian-envelope' needs a loss of one output whose curvature the "
                f"library knows; {problem.loss.name!r} has none. Use 'tangent-envelope'."
            )
        if sampler == "grid-walk" and not (plain and isinstance(bounded.constraint, Box)):
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
        return ExponentialSamplingPlan(bounded, budget, self, sampler, strength, guess)

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
        fits = isinstance(problem.constraint, Box) and isinstance(problem.regularizer.kernel, Zero)
        if not fits or sampler not in FINE:
            raise Incompatible(
                "The regularised variant needs a box (or no constraint), no penalty but ridge, "
                "and an exact sampler on the fine lattice."
            )


def _bounded(constraint: ConvexSet, guess: float, box: bool) -> ConvexSet:
    """Return the set itself, or its part within the guessed norm where it is unbounded."""
    if isinstance(constraint, AllSpace):
        return Box(low=-guess, high=guess) if box else L2Ball(radius=guess)
    if isinstance(constraint, Box) and not np.isfinite([constraint.low, constraint.high]).all():
        return Intersection(sets=(L2Ball(radius=guess), constraint))
    return constraint


@dataclass(frozen=True)
class ExponentialSamplingPlan:
    """A calibrated run of exponential sampling."""

    problem: Problem
    budget: Budget
    config: ExponentialSampling
    sampler: str
    asked_strength: float
    norm_guess: float

    @cached_property
    def region(self) -> Region:
        """The public lattice the draw lives on."""
        return Region.of(self.problem.constraint, self.problem.shape)

    @cached_property
    def radius(self) -> float:
        """Largest norm of a point that counts as inside."""
        return self.problem.constraint.radius(self.problem.dimension) + self.region.edge

    @cached_property
    def oscillation(self) -> float:
        """Range of one neighbour's change of the objective, rounding included."""
        osc = oscillation(
            self.problem,
            radius=self.radius,
            diameter=self.problem.constraint.diameter(self.problem.dimension),
            edge=self.region.edge,
        )
        # privacy: two scores under each of two neighbours carry an error.
        return osc + 4.0 * self._error

    @property
    def _error(self) -> float:
        """Rounding of one computed objective."""
        public = public_size(self.problem, self.asked_strength, self.radius)
        return score_error(self.problem, self.radius, public)

    @cached_property
    def eta(self) -> float:
        """Bounded range the draw may have."""
        return affordable_range(self._ideal)

    @property
    def _ideal(self) -> Budget:
        """What is left for an ideal draw once the sampler is paid."""
        epsilon, delta = self.budget.epsilon, self.budget.delta
        if self.sampler == "grid-walk":
            epsilon -= walk_cost(self.config.accuracy)
            if epsilon <= 0.0:
                raise BudgetTooSmall("The grid walk's accuracy alone costs more than epsilon.")
        return Budget(epsilon, delta if self.sampler in EXACT else 0.0)

    @cached_property
    def inverse(self) -> float:
        """The constant ``c`` of the density."""
        return self._gaussian[0] if self.config.regularised else self.eta / self.oscillation

    @cached_property
    def strength(self) -> float:
        """The whole ridge part of the density."""
        return self._gaussian[1] if self.config.regularised else self.asked_strength

    @cached_property
    def _gaussian(self) -> tuple[float, float]:
        """Return ``c`` and ``m`` of the regularised variant."""
        return gaussian_temperature(
            self.problem,
            self.budget,
            strength=self.asked_strength,
            guess=self.norm_guess,
            radius=self.radius,
            step=float(np.linalg.norm(self.region.step)) / 2.0,
        )

    @property
    def guarantee(self) -> Guarantee:
        """What a run of this plan guarantees."""
        epsilon, delta = self.budget.epsilon, self.budget.delta
        theorem = "exponential mechanism (McSherry, Talwar 2007; Bassily, Smith, Thakurta 2014)"
        event: Event = BoundedRange(self.eta)
        assumptions: tuple[str, ...] = (SIDE_CHANNELS,)
        if self.config.regularised:
            event = Approximate(epsilon, delta)
            theorem = "regularised exponential mechanism (Gopi, Lee, Liu 2022)"
            assumptions += (CONVEX,)
        elif self.sampler == "grid-walk":
            event = Pure(epsilon)
            theorem += "; grid walk with a proved step count (after Applegate, Kannan 1991)"
        elif self.sampler == "hit-and-run":
            event = Approximate(epsilon, delta)
            assumptions += (NOT_CERTIFIED,)
        if self.config.trust_loss:
            assumptions += (CONVEX,)
        return Guarantee(
            epsilon=epsilon,
            delta=delta,
            neighbours=self.problem.neighbours,
            event=event,
            theorem=theorem,
            assumptions=assumptions,
        )

    @property
    def expected_excess(self) -> float:
        """Bound on the expected excess risk (sum scale) over weights of the guessed norm."""
        shrinkage = 0.5 * self.strength * self.norm_guess**2
        if self.sampler in ("grid", "grid-walk"):
            if self.problem.n_rows is None:
                return math.inf
            slope = self.problem.n_rows * self.problem.terms.lipschitz + self.strength * self.radius
            return grid_excess(self.region, self.config.cells, self.inverse, slope) + shrinkage
        return self.region.dimension / self.inverse + shrinkage

    def facts(self) -> dict[str, Any]:
        """Public numbers of the plan."""
        return {
            "algorithm": ExponentialSampling.name,
            "sampler": self.sampler,
            "set": self.problem.constraint.name,
            # No noise is added; the draw itself is spread by this much in excess per weight.
            "exponential noise scale": 1.0 / self.inverse,
            "strength": self.strength,
            "passes over the data, about": self._passes(),
            "expected excess (sum) <=": self.expected_excess,
        }

    def _passes(self) -> float:
        """Return the typical cost of a draw: measured, and the same for all data."""
        p = self.region.dimension
        if self.sampler in ("grid", "grid-walk"):
            return float(self.config.cells**p)  # no cell is scored twice
        if self.sampler == "hit-and-run":
            return 8.0 * self.config.steps
        return 20.0 if self.sampler == "gaussian-envelope" else 3.5 * math.exp(0.5 * p)

    def run(self, source: Source, random: Randomness) -> Release:
        """Draw one point and release it."""
        rows = self.problem.bound(source)
        target = density(
            self.problem,
            rows,
            self.region,
            inverse=self.inverse,
            strength=self.strength,
            radius=self.radius,
        )
        point = self._drawn(target, rows, random)
        weights = self.problem.constraint.project(self.region.lift(point))
        return Release(weights, sealed(self.guarantee, random))

    def _drawn(self, target: Target, rows: Rows, random: Randomness) -> Array:
        config = self.config
        if self.sampler == "tangent-envelope":
            return TangentEnvelope(target).draw(random)
        if self.sampler == "gaussian-envelope":
            floor = quadratic_floor(
                self.problem,
                rows,
                target,
                inverse=self.inverse,
                strength=self.strength,
                radius=self.radius,
            )
            return GaussianEnvelope(target, floor).draw(random)
        if self.sampler == "grid":
            return GridSampler(target, config.cells).draw(random)
        if self.sampler == "hit-and-run":
            return HitAndRun(target, steps=config.steps).draw(random)
        walk = GridWalk(target, cells=config.cells, rise=self._rise, accuracy=config.accuracy)
        return walk.draw(random)

    @property
    def _rise(self) -> float:
        """Public bound on how much the scores rise along a side, for the grid walk."""
        steep = covered_rows(self.problem) * self.problem.terms.lipschitz
        steep += self.strength * self.radius
        side = float(np.max(self.region.counts * self.region.step))
        # privacy: computed scores are not quite those of a convex function; what that takes from
        # the conductance is counted as if they rose by this much more.
        rounded = 4.0 * self.config.cells * self.inverse * self._error
        return math.sqrt(self.problem.dimension) * self.inverse * steep * side + rounded
