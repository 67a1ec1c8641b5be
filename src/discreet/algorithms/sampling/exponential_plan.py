"""A calibrated run of exponential sampling: its constants, its guarantee and its draw.

The law lives on a public lattice and its scores are the computed float64
numbers, so ``osc`` is raised by what rounding can do to four of them, and the
samplers are exact for what is left (:mod:`discreet.algorithms.sampling.laws`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from discreet.accounting import Approximate, BoundedRange, Budget, Event, Guarantee, Pure
from discreet.accounting.theorems import theorems
from discreet.accounting.utility import noise_quantile
from discreet.algorithms.sampling.density import density, rounding_slack
from discreet.algorithms.sampling.laws import (
    GaussianEnvelope,
    GridSampler,
    GridWalk,
    HitAndRun,
    Region,
    TangentEnvelope,
    Target,
    check_slack,
    grid_excess,
    tangent_passes,
    walk_cost,
)
from discreet.algorithms.sampling.quadratic_floor import quadratic_floor
from discreet.algorithms.sampling.sensitivity import (
    covered_rows,
    oscillation,
    public_size,
    score_error,
)
from discreet.algorithms.sampling.temperature import affordable_range, gaussian_temperature
from discreet.bounds import Array
from discreet.checks import between
from discreet.data import Rows, Source
from discreet.errors import BudgetTooSmall, Incompatible
from discreet.noise import Randomness
from discreet.problem import (
    CalibratedPlan,
    Problem,
    guarantee_for,
    releasing,
)

if TYPE_CHECKING:
    from discreet.algorithms.sampling.exponential_sampling import ExponentialSampling

FINE = ("tangent-envelope", "gaussian-envelope")
"""Samplers whose draws follow the law on the fine lattice exactly."""

EXACT = (*FINE, "grid")
"""Samplers whose draws follow their law exactly."""

FINEST = 2.0**-6
"""Most that a law with corners may rise from one lattice point to the next."""

NOT_CERTIFIED = (
    "the Markov chain has mixed: its total variation distance from the target is at most "
    "delta / (1 + exp(epsilon)). Nobody has proved this; the guarantee is approximate"
)
CONVEX = "every row's loss is convex and its constants are as declared"


@dataclass(frozen=True)
class ExponentialSamplingPlan(CalibratedPlan):
    """A calibrated run of exponential sampling."""

    per_group: ClassVar[bool] = True

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
        return self.budget.part(epsilon, delta if self.sampler in EXACT else 0.0)

    @cached_property
    def inverse(self) -> float:
        """The constant ``c`` of the density."""
        return self._constants[0]

    @cached_property
    def strength(self) -> float:
        """The whole ridge part of the density."""
        return self._constants[1]

    @cached_property
    def _constants(self) -> tuple[float, float]:
        """Return ``c`` and the ridge part ``m``, of the variant that was asked for."""
        if not self.config.regularised:
            return self.eta / self.oscillation, self.asked_strength
        return gaussian_temperature(
            self.problem,
            self.budget,
            strength=self.asked_strength,
            guess=self.norm_guess,
            radius=self.radius,
            step=float(np.linalg.norm(self.region.step)) / 2.0,
        )

    @cached_property
    def slack(self) -> float:
        """Bound on how far rounding lets a tangent exceed the scores."""
        return rounding_slack(
            self.problem, inverse=self.inverse, strength=self.strength, radius=self.radius
        )

    def check_sharpness(self) -> None:
        """Refuse a law that is sharper than its scores are exact, or too narrow for its lattice.

        A draw would hardly ever end; public values alone decide. Corners may make a law too
        narrow. On a line cells follow any law, and without corners, where "auto" takes another
        sampler, laws are much wider. There rows that are not declared are not counted.
        """
        # Computed for every sampler, so that whatever a run would refuse is refused here.
        slack = self.slack
        if self.sampler in FINE:
            check_slack(slack)
        if self.sampler != "tangent-envelope" or self.region.dimension == 1:
            return
        steep = self.inverse * (self.problem.n_rows or 0) * self.problem.terms.lipschitz
        if steep * float(np.max(self.region.step)) > FINEST:
            raise Incompatible(
                "At this epsilon and number of rows the law may be so sharp that a draw would "
                "hardly ever end. Use a smaller epsilon or another algorithm."
            )

    @property
    def algorithm(self) -> str:
        """Name of the algorithm."""
        return self.config.name

    @property
    def guarantee(self) -> Guarantee:
        """What a run of this plan guarantees."""
        epsilon, delta = self.budget.epsilon, self.budget.delta
        theorem = "exponential-sampling/exact"
        event: Event = BoundedRange(self.eta)
        assumptions: tuple[str, ...] = ()
        if self.config.regularised:
            event = Approximate(epsilon, delta)
            theorem = "exponential-sampling/regularised"
            assumptions += (CONVEX,)
        elif self.sampler == "grid-walk":
            event = Pure(epsilon)
            theorem = theorems(theorem, "exponential-sampling/grid-walk")
        elif self.sampler == "hit-and-run":
            event = Approximate(epsilon, delta)
            assumptions += (NOT_CERTIFIED,)
        if self.config.trust_loss:
            assumptions += (CONVEX,)
        return guarantee_for(self, event, theorem, *assumptions)

    @property
    def expected_excess(self) -> float:
        """Bound on the expected excess risk (sum scale) over weights of the guessed norm."""
        shrinkage = self._shrinkage
        if self.sampler in ("grid", "grid-walk"):
            if self.problem.n_rows is None:
                return math.inf
            slope = self.problem.n_rows * self.problem.terms.lipschitz + self.strength * self.radius
            return grid_excess(self.region, self.config.cells, self.inverse, slope) + shrinkage
        return self.region.dimension / self.inverse + shrinkage

    def excess_quantile(self, failure: float) -> float:
        """Return the excess (sum scale) that a draw exceeds with that probability at most.

        With density ``exp(-c F)`` on a convex set of dimension ``p``, ``c (F - min F)`` is at most
        a Gamma(p) variable in law: the ``p``-th root of the volume of ``{F - min F <= h}`` is
        concave in ``h`` (Brunn, Minkowski), so that the density of ``F - min F`` over that of the
        Gamma law falls. Infinite for samplers whose law is another one.
        """
        failure = between("failure", failure, 0, 1)
        if self.sampler not in FINE:
            return math.inf
        spread = noise_quantile("gamma", 1.0 / self.inverse, self.region.dimension, failure)
        return spread + self._shrinkage

    @property
    def _shrinkage(self) -> float:
        """What the ridge adds to the excess of weights of the guessed norm."""
        # The pull of a ridge that was asked for is no loss.
        added = self.strength - self.problem.regularizer.strong_convexity
        return 0.5 * added * self.norm_guess**2

    def facts(self) -> dict[str, Any]:
        """Public numbers of the plan."""
        return {
            "algorithm": self.algorithm,
            "sampler": self.sampler,
            "set": self.problem.constraint.name,
            # No noise is added; the draw itself is spread by this much in excess per weight.
            "exponential noise scale": 1.0 / self.inverse,
            "strength": self.strength,
            "passes over the data, about": self._passes(),
            "expected excess (sum) <=": self.expected_excess,
            "excess of 19 draws in 20 (sum) <=": self.excess_quantile(0.05),
        }

    def _passes(self) -> float:
        """Return the typical cost of a draw: measured, and the same for all data."""
        p = self.region.dimension
        if self.sampler in ("grid", "grid-walk"):
            return float(self.config.cells**p)  # no cell is scored twice
        if self.sampler == "hit-and-run":
            return 8.0 * self.config.steps
        return 20.0 if self.sampler == "gaussian-envelope" else tangent_passes(p)

    @releasing
    def run(self, source: Source, random: Randomness) -> Array:
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
        return self.problem.constraint.project(self.region.lift(point))

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
