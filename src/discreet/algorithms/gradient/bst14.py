"""The n^2-step algorithm of Bassily, Smith and Thakurta (2014), for reproduction.

``n^2 - 1`` updates, each with the gradient of one uniform row times ``n`` and
noise of variance ``32 (L n)^2 log(n/delta) log(1/delta) / epsilon^2``; the last
iterate is released. The printed proof does not reach its claim, but the noise
is about ten times more than needed: the event here is the exact one, of
batches of one row drawn without replacement. Its curve is computed pessimistically,
which at a tiny ``delta`` and many steps costs more than the slack; a budget that
it does not confirm is refused, for the noise stays as printed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from discreet.accounting import Budget, Event, FixedSizeGaussian, Guarantee, epsilon_at
from discreet.bounds import Array
from discreet.data import Source
from discreet.data.clipped import ClippedSums
from discreet.errors import BudgetTooSmall, Incompatible
from discreet.mechanisms.gradient_noise import GradientNoise
from discreet.noise import Randomness, integers
from discreet.problem import (
    ASSUMED,
    CalibratedPlan,
    Problem,
    norm_guess_of,
    releasing,
)
from discreet.sets import L2Ball


@dataclass(frozen=True, kw_only=True)
class BassilySmithThakurta:
    """Single-row steps, as printed; use :class:`NoisyGradient` for anything real.

    Parameters
    ----------
    norm_guess
        Public guess of the norm of good weights; without a bounded set the
        iterates stay in the ball of that radius.

    Examples
    --------
    >>> from discreet.losses import Logistic
    >>> from discreet.bounds import Bounds
    >>> problem = Problem(loss=Logistic(), bounds=Bounds(row_norm=1.0, classes=(0, 1)),
    ...                   n_features=2, n_rows=100, neighbours="replace-one")
    >>> plan = BassilySmithThakurta().plan(problem, Budget(1.0, 1e-6))
    >>> plan.steps, round(plan.multiplier, 4)
    (9999, 90.2425)
    """

    name: ClassVar[str] = "bst14"
    may_claim_less: ClassVar[bool] = True

    norm_guess: float | None = None

    def plan(self, problem: Problem, budget: Budget) -> BassilySmithThakurtaPlan:
        """Calibrate a run from public values."""
        if problem.neighbours == "add-remove" or problem.n_rows == 1:
            raise Incompatible("bst14 needs a public number of rows, at least two.")
        if budget.delta == 0 or budget.epsilon > 2 * math.sqrt(math.log(1 / budget.delta)):
            raise Incompatible("bst14 needs delta > 0 and epsilon <= 2 sqrt(log(1/delta)).")
        if problem.regularizer.value(np.ones(problem.shape)) != 0:
            raise Incompatible("bst14 takes no penalty; use noisy-gradient.")
        guess = norm_guess_of(problem, self.norm_guess)
        return BassilySmithThakurtaPlan(problem, budget, guess)


@dataclass(frozen=True)
class BassilySmithThakurtaPlan(CalibratedPlan):
    """A calibrated run of the n^2-step algorithm."""

    algorithm: ClassVar[str] = BassilySmithThakurta.name

    problem: Problem
    budget: Budget
    norm_guess: float

    def __post_init__(self) -> None:
        super().__post_init__()
        if self._cost > self.budget.epsilon:
            raise BudgetTooSmall(
                f"The printed noise of bst14 is accounted for at epsilon = {self._cost:.3g}, more "
                f"than epsilon = {self.budget.epsilon:g}. Use a larger delta, or noisy-gradient."
            )

    @property
    def _n(self) -> int:
        assert self.problem.n_rows is not None
        return self.problem.n_rows

    @property
    def steps(self) -> int:
        """Number of updates."""
        return self._n**2 - 1

    @property
    def multiplier(self) -> float:
        """The printed deviation of the noise over ``n L``."""
        log = math.log(1 / self.budget.delta)
        return math.sqrt(32 * math.log(self._n / self.budget.delta) * log) / self.budget.epsilon

    @cached_property
    def noise(self) -> GradientNoise:
        """The noise of an update, before it is scaled up by the number of rows."""
        return GradientNoise.gaussian(
            self.problem.terms.lipschitz, self.multiplier, self.problem, n_rows=1, shifting=False
        )

    @property
    def event(self) -> Event:
        """The exact cost of all updates."""
        return FixedSizeGaussian(self.multiplier, 1 / self._n, self.steps, self.problem.neighbours)

    @cached_property
    def _cost(self) -> float:
        """The epsilon of the event at the budget's delta."""
        return epsilon_at(self.event, self.budget.delta)

    @property
    def guarantee(self) -> Guarantee:
        """What a run of this plan guarantees: what the exact event costs."""
        return Guarantee(
            epsilon=self._cost,
            delta=self.budget.delta,
            neighbours=self.problem.neighbours,
            event=self.event,
            theorem="noisy-gradient/bst14",
            assumptions=(*ASSUMED, *self.problem.assumptions),
        )

    @property
    def _square(self) -> float:
        lipschitz = self.problem.terms.lipschitz
        return self._n**2 * (lipschitz**2 + self.noise.mean_square)

    @property
    def _diameter(self) -> float:
        return min(self.problem.constraint.diameter(self.problem.dimension), 2 * self.norm_guess)

    @property
    def expected_excess(self) -> float:
        """Bound on the expected excess risk (sum scale), for the last iterate."""
        scale = 2 * self._diameter * math.sqrt(self._square)
        return scale * (2 + math.log(self.steps)) / math.sqrt(self.steps)

    def facts(self) -> dict[str, Any]:
        """Public numbers of the plan."""
        return {
            "algorithm": self.algorithm,
            "steps": self.steps,
            "noise scale of a step": self._n * self.noise.scale,
            "epsilon as printed": self.budget.epsilon,
            "epsilon accounted": self.guarantee.epsilon,
            "expected excess (sum) <=": self.expected_excess,
        }

    @releasing
    def run(self, source: Source, random: Randomness) -> Array:
        """Take the updates and release the last iterate."""
        problem, n = self.problem, self._n
        rows = problem.bound(source)
        bounded = math.isfinite(problem.constraint.radius(problem.dimension))
        inside = problem.constraint if bounded else L2Ball(radius=self.norm_guess)
        w = inside.project(np.zeros(problem.shape))
        length = self._diameter / math.sqrt(self._square)
        drawn = self.noise.stream(problem.shape, random)
        with ClippedSums(rows, problem.loss) as sums:
            for t in range(1, self.steps + 1):
                one = sums.batch(integers(n, 1, random), w, problem.terms.lipschitz)
                step = n * self.noise.cover(one, next(drawn))
                w = inside.project(w - length / math.sqrt(t) * step)
        return w
