"""Output perturbation: noise on the minimiser of a strongly convex objective.

Solves ``min over F of sum_i f(<x_i, w>; y_i) + reg(w) + added/2 ||w||^2`` and
adds noise to the result.

Theorem (Chaudhuri, Monteleoni, Sarwate 2011). If the objective is
``strength``-strongly convex whatever the data is, and one row's loss is
``L``-Lipschitz on ``F``, the minimisers of neighbouring data sets are at most
``a L / strength`` apart, ``a`` = 1 for zero-out and add-remove, 2 for
replace-one. A computed point certified to ``tolerance`` adds
``2 tolerance / strength``.

The loss needs no smoothness: the minimiser is certified by a small gradient or,
at corners, by the dual.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from discreet.accounting import Budget, Guarantee, gaussian_multiplier, output_sensitivity
from discreet.bounds import Array
from discreet.checks import positive
from discreet.data import Source
from discreet.errors import MissingBound
from discreet.mechanisms.release_noise import (
    Kind,
    ReleaseNoise,
    default_kind,
    release_noise,
    spent_by,
)
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
class OutputPerturbation:
    """Noise on the minimiser of a strongly convex objective.

    Parameters
    ----------
    strength
        Total strong convexity on the sum scale; what the regularizer lacks is
        added. By default chosen from public values.
    noise
        ``"gaussian"``, ``"gamma"`` or ``"laplace"``; by default the best for
        the budget.
    norm_guess
        Public guess of the norm of good weights, for the default strength and
        the printed bound; privacy does not depend on it.

    Examples
    --------
    >>> from discreet.losses import Logistic
    >>> from discreet.bounds import Bounds
    >>> problem = Problem(loss=Logistic(), bounds=Bounds(row_norm=1.0, classes=(0, 1)),
    ...                   n_features=3, n_rows=1000)
    >>> plan = OutputPerturbation(strength=10.0).plan(problem, Budget(1.0, 1e-5))
    >>> round(plan.noise.scale, 3)
    0.373
    """

    name: ClassVar[str] = "output-perturbation"

    strength: float | None = None
    noise: Kind | None = None
    norm_guess: float | None = None

    def plan(self, problem: Problem, budget: Budget) -> OutputPerturbationPlan:
        """Calibrate a run from public values."""
        check_solvable(problem, self.name, corners=True, polytopes=True)
        guess = norm_guess_of(problem, self.norm_guess)
        kind = default_kind(budget) if self.noise is None else self.noise
        budget = spent_by(kind, budget)
        if self.strength is None:
            strength = self._strength(problem, budget, guess)
        else:
            strength = positive("strength", self.strength)
        strength = max(strength, problem.regularizer.strong_convexity)
        return OutputPerturbationPlan(problem, budget, strength, kind, guess)

    def _strength(self, problem: Problem, budget: Budget, guess: float) -> float:
        """Minimise the bound on the expected excess, noise against shrinkage."""
        if problem.n_rows is None:
            raise MissingBound(
                "strength is not set. Its default depends on the number of rows, which is secret "
                "under add-remove neighbours. Pass strength=..., or n_rows=..., a declared size."
            )
        terms, n, p = problem.terms, problem.n_rows, problem.dimension
        if budget.delta > 0:
            spread = p * gaussian_multiplier(budget.epsilon, budget.delta) ** 2
        else:
            spread = p * (p + 1) / budget.epsilon**2
        moved = problem.unit_terms.lipschitz
        spread *= output_sensitivity(moved, 1.0, 0.0, problem.neighbours) ** 2
        candidates = (
            math.sqrt(2 * n * terms.lipschitz * math.sqrt(spread)) / guess,
            (2 * n * terms.trace / p * spread / guess**2) ** (1 / 3),
        )

        def excess(strength: float) -> float:
            return problem.noise_excess(spread / strength**2) + strength * guess**2 / 2

        return float(min(candidates, key=excess))


@dataclass(frozen=True)
class OutputPerturbationPlan(CalibratedPlan):
    """A calibrated run of output perturbation."""

    algorithm: ClassVar[str] = OutputPerturbation.name
    per_group: ClassVar[bool] = True

    problem: Problem
    budget: Budget
    strength: float
    kind: Kind
    norm_guess: float

    @cached_property
    def tolerance(self) -> float:
        """Certified distance from the minimiser, times the strength."""
        return planned_tolerance(self.problem, self.strength, self.norm_guess)

    @cached_property
    def sensitivity(self) -> float:
        """Largest distance between certified minimisers of neighbouring data sets."""
        return output_sensitivity(
            self.problem.unit_terms.lipschitz,
            self.strength,
            self.tolerance,
            self.problem.neighbours,
        )

    @cached_property
    def noise(self) -> ReleaseNoise:
        """The output noise."""
        return release_noise(
            self.sensitivity, self.budget, dimension=self.problem.dimension, kind=self.kind
        )

    @property
    def guarantee(self) -> Guarantee:
        """What a run of this plan guarantees."""
        return guarantee_for(self, self.noise.event, "output-perturbation")

    @property
    def expected_excess(self) -> float:
        """Bound on the expected excess risk (sum scale) if good weights have the guessed norm."""
        rounding = self.noise.rounding(self.problem.dimension)
        noise = self.problem.noise_excess(self.noise.mean_square, rounding)
        added = self.strength - self.problem.regularizer.strong_convexity
        shrunk = added * self.norm_guess**2 / 2
        return noise + shrunk + self.tolerance**2 / (2 * self.strength)

    def facts(self) -> dict[str, Any]:
        """Public numbers of the plan."""
        return {
            "algorithm": self.algorithm,
            "strength": self.strength,
            "sensitivity": self.sensitivity,
            f"{self.kind} noise scale": self.noise.scale,
            "norm guess": self.norm_guess,
            "expected excess (sum) <=": self.expected_excess,
        }

    @releasing
    def run(self, source: Source, random: Randomness) -> Array:
        """Solve, certify, and release with noise."""
        problem = self.problem
        point = minimise(
            problem.bound(source, reread=True),
            problem.loss,
            linear=np.zeros(problem.shape),
            # privacy: a hair above the accounted strength, so rounding cannot fall below it
            strength=self.strength * (1 + 2.0**-40) - problem.regularizer.strong_convexity,
            regularizer=problem.regularizer,
            constraint=problem.constraint,
            tolerance=self.tolerance,
        )
        return problem.constraint.project(self.noise.add(point, random))
