"""Purification: a pure guarantee for many weights from an (epsilon, delta) algorithm.

Run an algorithm with a delta so small that it is below the share of the set's
volume any small ball has; with a small chance replace the result by a uniform
point; add a little Laplace noise.

Theorem (Lin et al., *Purifying approximate differential privacy*, 2025, with the
constant proved in ``docs/proofs/purification.md``). The mixture of an (epsilon, delta)
mechanism with uniform points of a cube of half width ``R``, weight ``omega``, is
within ``2 D`` in l1 infinity-Wasserstein distance of an epsilon-private law,
``D = 2 p R (delta / omega)^(1/p)``, so Laplace noise of scale ``2 D / epsilon'``
makes it ``epsilon + epsilon'``-private, purely.

Opt-in: never chosen by ``"auto"``. It serves losses with corners and more
weights than exact sampling can handle.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from discreet.accounting import Budget, Guarantee, Pure
from discreet.accounting.budget import LEAST_DELTA
from discreet.accounting.theorems import theorems
from discreet.algorithms.gradient import NoisyGradient
from discreet.algorithms.perturbation import ObjectivePerturbation, OutputPerturbation
from discreet.bounds import Array
from discreet.checks import between, one_of
from discreet.data import Source
from discreet.errors import BudgetTooSmall, Incompatible, InvalidParameter
from discreet.noise import Grid, Laplace, Randomness, integers, release
from discreet.problem import (
    Algorithm,
    CalibratedPlan,
    Plan,
    Problem,
    guarantee_for,
    norm_guess_of,
    releasing,
)
from discreet.sets import L2Ball

INNER: dict[str, Callable[..., Algorithm]] = {
    kind.name: kind for kind in (NoisyGradient, ObjectivePerturbation, OutputPerturbation)
}
MIXING = 128
"""One over the chance of a uniform point; a power of two, so that the coin is exact."""


@dataclass(frozen=True, kw_only=True)
class Purification:
    """An (epsilon, delta) algorithm made purely private.

    Parameters
    ----------
    inner
        ``"noisy-gradient"``, ``"objective-perturbation"`` or
        ``"output-perturbation"``.
    share
        Share of epsilon for the Laplace noise.
    strength, norm_guess
        Passed to the inner algorithm; the guess is also the radius of the ball
        that stands in for an unbounded set.

    Examples
    --------
    >>> from discreet.losses import Logistic
    >>> from discreet.bounds import Bounds
    >>> problem = Problem(loss=Logistic(), bounds=Bounds(row_norm=1.0, classes=(0, 1)),
    ...                   n_features=30, n_rows=10_000, constraint=L2Ball(radius=3.0))
    >>> plan = Purification().plan(problem, Budget(1.0))
    >>> plan.inner.guarantee.delta < 1e-60
    True
    """

    name: ClassVar[str] = "purification"
    may_claim_less: ClassVar[bool] = True

    inner: str = "noisy-gradient"
    share: float = 0.1
    strength: float | None = None
    norm_guess: float | None = None

    def plan(self, problem: Problem, budget: Budget) -> PurificationPlan:
        """Calibrate a run from public values."""
        budget = budget.part(budget.epsilon)  # what is released needs no delta
        kind = INNER[one_of("inner", self.inner, INNER)]
        share = between("share", self.share, 0.0, 1.0)
        guess = norm_guess_of(problem, self.norm_guess)
        if problem.constraint.whole_space:
            problem = replace(problem, constraint=L2Ball(radius=guess))
        if not math.isfinite(problem.constraint.radius(problem.dimension)):
            raise Incompatible("Purification needs a bounded constraint set.")
        settings: dict[str, Any] = {"norm_guess": guess}
        if self.strength is not None:
            settings["strength"] = self.strength
        epsilon, p = budget.epsilon, problem.dimension
        plans, refusals = [], []
        # The finer the result, the smaller the inner delta: try a few and keep the best bound.
        for bits in range(2, 25, 2):
            delta = 2.0 ** (-bits * p) / MIXING
            if delta < LEAST_DELTA:
                break
            try:
                inner = kind(**settings).plan(problem, budget.part((1 - share) * epsilon, delta))
                plans.append(PurificationPlan(problem, budget, inner, bits))
                plans[-1].noise  # noqa: B018  a grid that does not fit refuses here
            except (Incompatible, BudgetTooSmall, InvalidParameter) as refusal:
                refusals.append(refusal)
        if refusals and not plans:
            raise refusals[0]
        if not plans:
            raise Incompatible(
                f"Purification of {p} weights needs a delta below {LEAST_DELTA:g}, which double "
                "precision cannot carry. Use fewer weights or pure objective perturbation."
            )
        return min(plans, key=lambda plan: plan.expected_excess)


@dataclass(frozen=True)
class PurificationPlan(CalibratedPlan):
    """A calibrated run of purification."""

    algorithm: ClassVar[str] = Purification.name

    problem: Problem
    budget: Budget
    inner: Plan
    bits: int

    @cached_property
    def half_width(self) -> float:
        """Half the side of the cube that holds the set, rounding included."""
        return self.problem.constraint.radius(self.problem.dimension) * (1.0 + 2.0**-20)

    @cached_property
    def distance(self) -> float:
        """The l1 distance the Laplace noise has to hide: ``2 D``."""
        p = self.problem.dimension
        # privacy: (delta / omega)^(1/p) for the delta the inner plan claims, rounded up.
        log = (math.log(self.inner.guarantee.delta) + math.log(MIXING)) / p
        return 4.0 * p * self.half_width * math.exp(log) * (1.0 + 2.0**-18)

    @cached_property
    def noise(self) -> Laplace:
        """The Laplace noise, on a grid."""
        p = self.problem.dimension
        grid = Grid.choose(
            sensitivity=self.distance, dim=p, norm="l1", reach=1.01 * self.half_width
        )
        left = self.budget.epsilon - self.inner.guarantee.epsilon
        return Laplace(grid.surcharged(self.distance, p, "l1") / left, grid)

    @property
    def guarantee(self) -> Guarantee:
        """What a run of this plan guarantees."""
        inside = self.inner.guarantee
        theorem = theorems("purification", inside.theorem)
        return guarantee_for(self, Pure(self.budget.epsilon), theorem, *inside.assumptions)

    @property
    def expected_excess(self) -> float:
        """Bound on the expected excess risk (sum scale)."""
        n, p = self.problem.n_rows, self.problem.dimension
        if n is None:
            return math.inf
        slope = n * self.problem.terms.lipschitz
        lost = self.problem.constraint.diameter(p) / MIXING + math.sqrt(2 * p) * self.noise.scale
        return self.inner.expected_excess + slope * lost

    def facts(self) -> dict[str, Any]:
        """Public numbers of the plan."""
        return {
            "algorithm": self.algorithm,
            "inner": self.inner.algorithm,
            "inner delta": self.inner.guarantee.delta,
            "chance of a uniform point": 1.0 / MIXING,
            "laplace noise scale": self.noise.scale,
            "expected excess (sum) <=": self.expected_excess,
        }

    @releasing
    def run(self, source: Source, random: Randomness) -> Array:
        """Run the inner algorithm, mix, and add noise."""
        step = self.noise.grid.step
        weights = self.inner.run(source, random).weights
        inside: Array = np.clip(weights, -self.half_width, self.half_width)
        # privacy: the coin is tossed after the inner run, so that time does not show it.
        if int(integers(MIXING, 1, random)[0]) == 0:
            # Whole steps, uniform: a continuous uniform point of the cube, rounded to the grid.
            most = math.ceil(self.half_width / step)
            whole = integers(2 * most + 1, inside.size, random) - most
            inside = step * whole.reshape(inside.shape).astype(np.float64)
        drawn = release(inside, self.noise, random)
        return self.problem.constraint.project(drawn)
