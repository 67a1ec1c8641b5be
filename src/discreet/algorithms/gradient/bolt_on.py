"""Bolt-on permutation SGD: run SGD in a secret order, then hide the result.

Runs a fixed number of passes of mini-batch SGD on ``(1/n) sum_i f(<x_i, w>; y_i)
+ strength/(2n) ||w||^2`` over a secret random permutation of the rows and
releases one vector with output noise.

Theorem (Wu et al. 2017, constants per neighbour relation; ``a`` is 1 for
zero-out and 2 for replace-one). With every update a non-expansion,
neighbouring runs under the same permutation differ by at most

- convex, constant step ``<= 2/beta``: ``a k L step / b`` for ``k`` passes and
  batches of ``b``, for any fixed average of iterates;
- strongly convex with modulus ``g``, step ``min(1/beta, 1/(g t))``:
  ``a L / (g m)``, for the final iterate only, ``m`` the rows used in a pass.

The number of rows must be public, so ``add-remove`` is refused. A ragged last
batch would raise the sensitivity: its positions in the permutation are left
out of the pass. Rounding errors of every update are added to the sensitivity.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from discreet.accounting import Budget, Guarantee, gaussian_multiplier
from discreet.bounds import Array, rows_apart, unit_roundoff
from discreet.checks import integer, nonnegative, positive
from discreet.data import Rows, Source
from discreet.errors import Incompatible
from discreet.mechanisms.release_noise import (
    Kind,
    ReleaseNoise,
    default_kind,
    release_noise,
    spent_by,
)
from discreet.noise import Randomness, permutation
from discreet.problem import (
    CalibratedPlan,
    Problem,
    guarantee_for,
    instead_of,
    norm_guess_of,
    releasing,
)
from discreet.regularizers import combined_prox


@dataclass(frozen=True, kw_only=True)
class BoltOn:
    """Permutation SGD with output noise; a baseline of the literature.

    Parameters
    ----------
    passes, batch
        Passes over the rows and rows in a batch.
    strength
        Ridge strength on the sum scale; 0 for the convex variant.
    step
        Constant step of the convex variant; by default chosen from public values.
    noise
        ``"gaussian"``, ``"gamma"`` or ``"laplace"``.
    norm_guess
        Public guess of the norm of good weights, for the default step and the
        printed bound; privacy does not depend on it.

    Examples
    --------
    >>> from discreet.losses import Logistic
    >>> from discreet.bounds import Bounds
    >>> problem = Problem(loss=Logistic(), bounds=Bounds(row_norm=1.0, classes=(0, 1)),
    ...                   n_features=3, n_rows=10_000, neighbours="replace-one")
    >>> plan = BoltOn(passes=10, batch=50, step=0.01).plan(problem, Budget(1.0, 1e-6))
    >>> round(plan.sensitivity, 6)
    0.004
    """

    name: ClassVar[str] = "bolt-on"

    passes: int = 10
    batch: int = 50
    strength: float = 0.0
    step: float | None = None
    noise: Kind | None = None
    norm_guess: float | None = None

    def plan(self, problem: Problem, budget: Budget) -> BoltOnPlan:
        """Calibrate a run from public values."""
        integer("passes", self.passes)
        integer("batch", self.batch)
        nonnegative("strength", self.strength)
        if problem.neighbours == "add-remove":
            raise Incompatible(
                "bolt-on needs a public number of rows: passes and batches are cut by it. "
                "Use neighbours='zero-out' or 'replace-one', or another algorithm."
            )
        if not math.isfinite(problem.terms.smoothness):
            raise Incompatible(
                f"bolt-on needs a smooth loss: a step on {problem.loss.name!r}, which has corners, "
                f"can move neighbouring runs apart. {instead_of(problem.loss)}"
            )
        if not problem.regularizer.smooth or problem.regularizer.strong_convexity > 0:
            raise Incompatible(
                "bolt-on fits no penalty but a ridge, which is given as strength=...; leave the "
                "regularizer empty. For an l1 or another penalty use objective-perturbation."
            )
        # privacy: refuses projections whose rounding has no bound
        combined_prox(problem.regularizer, problem.constraint)
        assert problem.n_rows is not None
        if self.batch > problem.n_rows:
            raise Incompatible("bolt-on needs batch <= n_rows.")
        guess = norm_guess_of(problem, self.norm_guess)
        kind = default_kind(budget) if self.noise is None else self.noise
        budget = spent_by(kind, budget)
        step = self._step(problem, budget, guess)
        return BoltOnPlan(problem, budget, self, step, kind)

    def _step(self, problem: Problem, budget: Budget, guess: float) -> float:
        limit = 2.0 / problem.terms.smoothness
        if self.strength > 0:
            if self.step is not None:
                raise Incompatible(
                    "With strength > 0 the step is min(1/beta, 1/(g t)): its proof needs that "
                    "rule. Leave step out."
                )
            return math.nan
        if self.step is not None:
            step = positive("step", self.step)
            if step > limit:
                raise Incompatible(
                    f"step must be at most 2/beta = {limit:.6g}; beyond it neighbouring runs "
                    "can drift apart."
                )
            return step
        # Balances the optimisation bound B^2/(2 step T) + step L^2/2 with the noise.
        assert problem.n_rows is not None
        updates = self.passes * (problem.n_rows // self.batch)
        size = math.sqrt(problem.dimension)
        factor = (
            size * gaussian_multiplier(budget.epsilon, budget.delta)
            if budget.delta > 0
            else size**2 / budget.epsilon
        )
        a = rows_apart(problem.neighbours)
        lipschitz = problem.terms.lipschitz
        slope = lipschitz**2 * (0.5 + a * self.passes * factor / self.batch)
        return min(limit, guess / math.sqrt(2 * updates * slope))


@dataclass(frozen=True)
class BoltOnPlan(CalibratedPlan):
    """A calibrated bolt-on run."""

    problem: Problem
    budget: Budget
    config: BoltOn
    step: float
    kind: Kind

    @cached_property
    def _rows_used(self) -> int:
        assert self.problem.n_rows is not None
        return self.config.batch * (self.problem.n_rows // self.config.batch)

    @cached_property
    def _updates(self) -> int:
        return self.config.passes * self._rows_used // self.config.batch

    @cached_property
    def _modulus(self) -> float:
        assert self.problem.n_rows is not None
        return self.config.strength / self.problem.n_rows

    @cached_property
    def sensitivity(self) -> float:
        """Largest distance between neighbouring results in real arithmetic."""
        a = rows_apart(self.problem.neighbours)
        lipschitz = self.problem.terms.lipschitz
        if self._modulus > 0:
            # privacy: holds for the final iterate only, never for an average
            return a * lipschitz / (self._modulus * self._rows_used)
        return a * self.config.passes * lipschitz * self.step / self.config.batch

    @cached_property
    def _rounding(self) -> float:
        """Bound on the distance all roundings can add to two runs together."""
        terms, modulus = self.problem.terms, self._modulus
        step = 1.0 / (terms.smoothness + modulus) if modulus > 0 else self.step
        radius = self.problem.constraint.radius(self.problem.dimension)
        travel = (
            terms.lipschitz / modulus if modulus > 0 else self._updates * step * terms.lipschitz
        )
        # privacy: iterates travel from the point of the set nearest to zero, which need not be zero
        start = float(np.linalg.norm(self._start))
        norm = min(radius, start + travel)
        units = (self.problem.dimension + self.config.batch + 20) * unit_roundoff()
        gradient = 2 * terms.lipschitz + (terms.smoothness + modulus) * norm
        # privacy: non-expansive updates carry each update's rounding to the end unamplified; that
        # of a projection is bounded in combined_prox
        return 2 * self._updates * units * (step * gradient + 4 * norm)

    @property
    def _start(self) -> Array:
        return self.problem.constraint.project(np.zeros(self.problem.shape))

    @cached_property
    def noise(self) -> ReleaseNoise:
        """The output noise."""
        return release_noise(
            self.sensitivity + self._rounding,
            self.budget,
            dimension=self.problem.dimension,
            kind=self.kind,
        )

    @property
    def algorithm(self) -> str:
        """Name of the algorithm."""
        return self.config.name

    @property
    def guarantee(self) -> Guarantee:
        """What a run of this plan guarantees."""
        return guarantee_for(self, self.noise.event, "bolt-on")

    def facts(self) -> dict[str, Any]:
        """Public numbers of the plan."""
        return {
            "algorithm": self.algorithm,
            "updates": self._updates,
            "step": "min(1/beta, 1/(g t))" if self._modulus > 0 else self.step,
            "sensitivity": self.sensitivity,
            f"{self.kind} noise scale": self.noise.scale,
        }

    @releasing
    def run(self, source: Source, random: Randomness) -> Array:
        """Train and release one vector."""
        rows = self.problem.bound(source)
        point = self._train(rows, random)
        released = self.noise.add(point, random)
        return self.problem.constraint.project(released)

    def _train(self, rows: Rows, random: Randomness) -> Array:
        problem, batch, modulus = self.problem, self.config.batch, self._modulus
        # privacy: the order is secret and drawn independently of the data
        order = permutation(rows.n_rows, random)
        batches = order[: self._rows_used].reshape(-1, batch)
        weights = self._start
        total, count, t = np.zeros(problem.shape), 0, 0
        for sweep in range(self.config.passes):
            for chosen in batches:
                t += 1
                if modulus > 0:
                    step = min(1.0 / (problem.terms.smoothness + modulus), 1.0 / (modulus * t))
                else:
                    step = self.step
                gradient = rows.take(chosen).gradient(problem.loss, weights) / batch
                weights = problem.constraint.project(
                    weights - step * (gradient + modulus * weights)
                )
                if modulus == 0 and sweep == self.config.passes - 1:
                    total, count = total + weights, count + 1
        return weights if modulus > 0 else total / count
