"""Localization: a noisy minimiser first, then exponential sampling near it.

Bassily, Smith, Thakurta (2014), Algorithms 3 and 4, for objectives that are
strongly convex whatever the data is. Half of epsilon pays for the minimiser with
gamma-radius noise, which lands within a public radius ``r`` of the true one;
the other half for an exponential mechanism on the ball of that radius, where
one row matters little. The excess is of order ``p^2 L^2 / (m epsilon^2)``
instead of ``p L B / epsilon``.

The radius is fixed before the data is read: it minimises
``(2 a p L / epsilon_2) r + n L E(rho - r)_+`` for gamma-distributed ``rho``. Any
public radius is private. The minimiser is certified or nothing is released.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from scipy.special import gammaincc, gammainccinv

from discreet.accounting import BoundedRange, Budget, Composed, Guarantee, Pure
from discreet.accounting.gamma import output_sensitivity
from discreet.accounting.theorems import theorems
from discreet.algorithms.sampling.density import check_convex, density, rounding_slack
from discreet.algorithms.sampling.exponential_sampling import PRACTICAL
from discreet.algorithms.sampling.laws import GaussianEnvelope, Region, check_slack, tangent_passes
from discreet.algorithms.sampling.quadratic_floor import is_curved, quadratic_floor
from discreet.algorithms.sampling.sensitivity import lipschitz_on_ball, public_size, score_error
from discreet.bounds import Array, rows_apart
from discreet.checks import positive
from discreet.data import Source
from discreet.errors import Incompatible, MissingBound
from discreet.mechanisms.release_noise import ReleaseNoise, release_noise
from discreet.noise import Randomness
from discreet.problem import (
    CalibratedPlan,
    Problem,
    check_solvable,
    guarantee_for,
    norm_guess_of,
    planned_tolerance,
    releasing,
)
from discreet.solvers.minimize import minimise


@dataclass(frozen=True, kw_only=True)
class Localization:
    """Output perturbation to find the neighbourhood, exponential sampling inside it.

    Parameters
    ----------
    strength
        Total strong convexity on the sum scale; what the regularizer lacks is
        added. By default chosen from public values.
    radius
        Public radius of the second stage; by default the best by its bound.
    norm_guess
        Public guess of the norm of good weights, for the default strength and
        the printed bound; privacy does not depend on it.
    trust_loss
        Accept that a loss from outside the library is convex with correct
        gradients.

    Examples
    --------
    >>> from discreet.losses import Logistic
    >>> from discreet.bounds import Bounds
    >>> problem = Problem(loss=Logistic(), bounds=Bounds(row_norm=1.0, classes=(0, 1)),
    ...                   n_features=5, n_rows=1000, neighbours="replace-one")
    >>> plan = Localization(strength=100.0).plan(problem, Budget(1.0))
    >>> round(plan.radius / plan.noise.scale, 2)
    9.51
    """

    name: ClassVar[str] = "localization"
    may_claim_less: ClassVar[bool] = True

    strength: float | None = None
    radius: float | None = None
    norm_guess: float | None = None
    trust_loss: bool = False

    def plan(self, problem: Problem, budget: Budget) -> LocalizationPlan:
        """Calibrate a run from public values."""
        budget = budget.part(budget.epsilon)  # both halves are pure
        check_solvable(problem, self.name, corners=True)
        check_convex(problem, self.trust_loss)
        if problem.dimension > PRACTICAL:
            raise Incompatible(
                f"Exact sampling is practical up to about {PRACTICAL} weights; this model has "
                f"{problem.dimension}. Use objective perturbation."
            )
        if problem.n_rows is None:
            raise MissingBound(
                "n_rows is not set. The radius of localization depends on the number of rows. "
                "Pass n_rows=..., a declared size."
            )
        guess = norm_guess_of(problem, self.norm_guess)
        held = problem.regularizer.strong_convexity
        radius = None if self.radius is None else positive("radius", self.radius)

        def planned(strength: float) -> LocalizationPlan:
            return LocalizationPlan(problem, budget, max(strength, held), radius, guess)

        if self.strength is not None or held > 0.0:
            asked = 0.0 if self.strength is None else positive("strength", self.strength)
            plan = planned(asked)
        else:
            # Shrinkage grows with the strength, noise falls with it: a coarse search balances them.
            scale = problem.terms.lipschitz * problem.dimension / (budget.epsilon * guess)
            plan = min(
                (planned(scale * 2.0 ** (k / 2)) for k in range(-8, 17)),
                key=lambda plan: plan.expected_excess,
            )
        plan.check_sharpness()
        return plan


@dataclass(frozen=True)
class LocalizationPlan(CalibratedPlan):
    """A calibrated run of localization."""

    algorithm: ClassVar[str] = Localization.name

    problem: Problem
    budget: Budget
    strength: float
    given_radius: float | None
    norm_guess: float

    @property
    def halves(self) -> tuple[float, float]:
        """Epsilon of the two stages: equal, since the risk grows with one over their product."""
        return self.budget.epsilon / 2, self.budget.epsilon - self.budget.epsilon / 2

    @property
    def _lipschitz(self) -> float:
        return self.problem.terms.lipschitz

    @property
    def _rows(self) -> int:
        return rows_apart(self.problem.neighbours)

    @cached_property
    def tolerance(self) -> float:
        """Certified distance from the minimiser times the strength, fixed before the data."""
        return planned_tolerance(self.problem, self.strength, self.norm_guess)

    @cached_property
    def noise(self) -> ReleaseNoise:
        """The gamma-radius noise of the first stage."""
        sensitivity = output_sensitivity(
            self._lipschitz, self.strength, self.tolerance, self.problem.neighbours
        )
        return release_noise(
            sensitivity,
            self.budget.part(self.halves[0]),
            dimension=self.problem.dimension,
            kind="gamma",
        )

    @cached_property
    def radius(self) -> float:
        """Radius of the second stage."""
        if self.given_radius is not None:
            return self.given_radius
        p, n = self.problem.dimension, self.problem.n_rows
        assert n is not None
        share = 2.0 * self._rows * p / (n * self.halves[1])
        if share >= 1.0:
            raise Incompatible(
                "Localization does not help here: so few rows at this epsilon leave nothing to "
                "localise. Use exponential sampling with the whole budget."
            )
        return self.noise.scale * float(gammainccinv(p, share))

    @property
    def _run_strength(self) -> float:
        # privacy: a hair above the accounted strength, so rounding cannot fall below it
        return self.strength * (1 + 2.0**-40)

    def _law(self, far: float, edge: float) -> dict[str, float]:
        """Return the constants of the second stage around a centre of norm ``far``.

        ``edge`` is how far beyond the set points still count as inside.
        """
        problem = self.problem
        radius = problem.constraint.radius(problem.dimension)
        reach = min(far + self.radius, radius) + edge
        diameter = min(2.0 * self.radius, problem.constraint.diameter(problem.dimension))
        # privacy: a row's loss changes by at most its Lipschitz constant times the diameter, and
        # four computed scores carry an error.
        slope = lipschitz_on_ball(problem, reach)
        osc = self._rows * slope * (diameter + 2.0 * edge) * (1.0 + 2.0**-30)
        error = score_error(problem, reach, public_size(problem, self._run_strength, reach))
        return {
            "inverse": self.halves[1] / (osc + 4.0 * error),
            "strength": self._run_strength,
            "radius": reach,
        }

    def check_sharpness(self) -> None:
        """Refuse a second stage that is sharper than its scores are exact, wherever it is.

        Scores further out are larger and round more, so the least slack is around 0. Where the
        centre makes the difference, the run refuses.
        """
        check_slack(rounding_slack(self.problem, **self._law(0.0, 0.0)))

    @property
    def guarantee(self) -> Guarantee:
        """What a run of this plan guarantees."""
        event = Composed((Pure(self.halves[0]), BoundedRange(self.halves[1])))
        name = "exponential-sampling/localization"
        return guarantee_for(self, event, theorems(name, "exponential-sampling/exact"))

    @property
    def expected_excess(self) -> float:
        """Bound on the expected excess risk (sum scale) if good weights have the guessed norm."""
        n, p = self.problem.n_rows, self.problem.dimension
        assert n is not None
        scale, r = self.noise.scale, self.radius
        t = max(0.0, r - self.tolerance / self.strength) / scale
        # E(rho - t)_+ of a gamma variable of shape p and scale 1.
        beyond = p * gammaincc(p + 1, t) - t * gammaincc(p, t)
        inside = 2.0 * self._rows * p * self._lipschitz * r / self.halves[1]
        missed = (n * self._lipschitz + self.strength * self.norm_guess) * scale * float(beyond)
        # The pull of a ridge that was asked for is no loss.
        added = self.strength - self.problem.regularizer.strong_convexity
        return inside + missed + 0.5 * added * self.norm_guess**2

    def facts(self) -> dict[str, Any]:
        """Public numbers of the plan."""
        draw = 20.0 if is_curved(self.problem) else tangent_passes(self.problem.dimension)
        return {
            "algorithm": self.algorithm,
            "strength": self.strength,
            "gamma noise scale": self.noise.scale,
            "radius": self.radius,
            "norm guess": self.norm_guess,
            "passes over the data, about": 20.0 + draw,
            "expected excess (sum) <=": self.expected_excess,
        }

    @releasing
    def run(self, source: Source, random: Randomness) -> Array:
        """Solve, certify, release a centre, and draw near it."""
        problem = self.problem
        rows = problem.bound(source)
        point = minimise(
            rows,
            problem.loss,
            linear=np.zeros(problem.shape),
            strength=self._run_strength - problem.regularizer.strong_convexity,
            regularizer=problem.regularizer,
            constraint=problem.constraint,
            tolerance=self.tolerance,
        )
        centre = problem.constraint.project(self.noise.add(point, random))
        # From here on the data is read through the second mechanism only.
        region = Region.of(problem.constraint, problem.shape, centre=centre, radius=self.radius)
        constants = self._law(float(np.linalg.norm(centre)), region.edge)
        target = density(problem, rows, region, **constants)
        floor = quadratic_floor(problem, rows, target, **constants)
        drawn = region.lift(GaussianEnvelope(target, floor).draw(random))
        return problem.constraint.project(drawn)
