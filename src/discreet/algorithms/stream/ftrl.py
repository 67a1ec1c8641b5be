"""DP-FTRL: follow the regularized leader on noisy sums of gradients, one pass.

With ``theta_1 = P(0)``, ``P`` the projection on the constraint set, every step
takes up to ``batch`` rows, adds up their gradients at ``theta_t``, and sets

    theta_{t+1} = P(-s_t / Delta_t),     s_t = private prefix sum of the gradients.

Privacy (see :mod:`discreet.noise.prefix.mechanism`): all iterates of a pass
together cost one Gaussian release, however long the stream and whatever the
later rows; nothing is assumed about convexity. A row enters one step a pass.

Regret. Let ``G`` bound the gradient of a step, ``N_t`` the noise in ``s_t`` that a
gradient meets, and let ``Delta_t`` never fall. Then for every ``theta`` in the set

    E sum_t loss_t(theta_t) - loss_t(theta)
        <= sum_t G (G/2 + N_{t-1}) / Delta_t + Delta_T ||theta||^2 / 2.

Proof: ``theta_t`` is within noise/Delta_t of the leader on the exact sums, whose
regret is ``sum ||g_t||^2 / (2 Delta_t) + Delta_T ||theta||^2 / 2``. ``N_t`` is the
norm of the noise, ``sqrt(p)`` standard deviations; without a constraint a row's
gradient is a multiple of the row, which does not depend on the noise when rows
are fixed beforehand, so it meets ``sqrt(2/pi)`` deviations only, or ``sqrt(K)`` for
``K`` outputs.

Over ``T`` declared steps, ``Delta = sqrt(2 T G (G/2 + N)) / R`` gives ``R sqrt(2 T G
(G/2 + N))`` for ``||theta|| <= R``. A stream that goes on uses ``Delta_t = 2 sqrt(sum_{s <= t}
G (G/2 + N_{s-1})) / R`` from then on, if that is larger: at any length the bound is
then at most sqrt 2 times the one of a stream whose length was known.

References: Kairouz et al., *Practical and private (deep) learning without
sampling or shuffling*, 2021; Thakurta, *Private optimization*, Algorithm 4,
with its noise scale, tree depth and point of the gradient corrected.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

from discreet.accounting import Budget, Gaussian, Guarantee, epsilon_at, gaussian_multiplier
from discreet.algorithms.stream.learner import StreamLearner
from discreet.bounds import rows_apart
from discreet.checks import between, integer, one_of, positive
from discreet.data import Source, gamma
from discreet.errors import Incompatible
from discreet.noise import Randomness
from discreet.noise.prefix import STRATEGIES, PrefixSums, Strategy
from discreet.problem import (
    ASSUMED,
    CalibratedPlan,
    Problem,
    Release,
    checked,
    norm_guess_of,
)

ONE_PASS = "every row is fed once a pass, at a place in the stream that does not depend on data"
"""What a stream assumes of whoever feeds it."""

MOST_STEPS = 2**24
"""Steps of a stream whose batch is left to the plan; more of them round away what rows give."""


@dataclass(frozen=True, kw_only=True)
class FTRL:
    """Follow the regularized leader with private prefix sums of gradients.

    Parameters
    ----------
    strategy
        How sums are made private: ``"blt"``, ``"toeplitz"``, ``"honaker"`` or
        ``"tree"``.
    batch
        Most rows of one step. By default the size with the best regret bound.
    passes
        How often a row may be fed. The budget covers all passes.
    restart
        Whether each pass has fresh noise of its own share of the budget. If
        not, one stream of noise runs through all passes, and rows must come in
        the same order in each.
    endless
        Whether the stream may go on past the declared number of rows: fresh
        noise then starts for a block of twice the length, and again.
    strength
        ``Delta``, on the sum scale; by default from public values.
    norm_guess
        Public guess of the norm of good weights, the ``R`` of the bound;
        privacy does not depend on it.

    Examples
    --------
    >>> from discreet.losses import Logistic
    >>> from discreet.bounds import Bounds
    >>> problem = Problem(loss=Logistic(), bounds=Bounds(row_norm=1.0, classes=(0, 1)),
    ...                   n_features=3, n_rows=1024)
    >>> plan = FTRL(batch=1, strategy="toeplitz").plan(problem, Budget(1.0, 1e-6))
    >>> round(plan.block(0).sigma, 3)
    7.643
    """

    name: ClassVar[str] = "ftrl"
    needs_delta: ClassVar[bool] = True
    may_claim_less: ClassVar[bool] = True

    strategy: str = "blt"
    batch: int | None = None
    passes: int = 1
    restart: bool = True
    endless: bool = False
    strength: float | None = None
    norm_guess: float | None = None

    def plan(self, problem: Problem, budget: Budget) -> FTRLPlan:
        """Calibrate a stream from public values."""
        one_of("strategy", self.strategy, STRATEGIES)
        integer("passes", self.passes)
        if budget.delta == 0:
            raise Incompatible(
                "ftrl adds Gaussian noise, which is never purely epsilon-private. Pass delta > 0."
            )
        if problem.neighbours == "add-remove" or problem.n_rows is None:
            raise Incompatible(
                "ftrl protects a row at its place in the stream; under add-remove neighbours every "
                "later row would move. Use neighbours='zero-out' or 'replace-one'."
            )
        if not problem.regularizer.zero:
            raise Incompatible(
                "ftrl has its own regularizer, Delta/2 ||w||^2. Leave the regularizer empty and "
                "use strength or a constraint."
            )
        if self.endless and not self.restart:
            raise Incompatible(
                "An endless stream has no last pass to spread its noise over. Use restart=True."
            )
        guess = norm_guess_of(problem, self.norm_guess)
        if self.strength is not None:
            positive("strength", self.strength)
        batch = self._batch(problem, budget) if self.batch is None else integer("batch", self.batch)
        return FTRLPlan(problem, budget, replace(self, batch=batch), guess)

    def _batch(self, problem: Problem, budget: Budget) -> int:
        """Return the largest power of two with nearly the best bound.

        Fewer steps need less noise, but a longer step learns later.
        """
        assert problem.n_rows is not None
        n = problem.n_rows
        unit = _met(problem) * gaussian_multiplier(budget.epsilon, budget.delta)
        # The error of the square root, sens^2 = (ln n + 3.35) / pi, stands for all strategies.
        sizes = [1 << k for k in range(n.bit_length())]
        costs = [m / 2 + unit * (math.log(-(-n // m)) + 3.35) / math.pi for m in sizes]
        best = max(m for m, cost in zip(sizes, costs, strict=True) if cost <= 1.1 * min(costs))
        # Rounding is paid for at every step, so beyond this steps get longer, not more.
        return max(best, 1 << (-(-n // MOST_STEPS) - 1).bit_length())


def _met(problem: Problem) -> float:
    """Return how many standard deviations of the noise a gradient of norm 1 meets."""
    if not problem.constraint.whole_space:
        return math.sqrt(problem.dimension)
    outputs = problem.loss.outputs
    return math.sqrt(2.0 / math.pi) if outputs == 1 else math.sqrt(outputs)


@dataclass(frozen=True)
class FTRLPlan(CalibratedPlan):
    """A calibrated stream."""

    algorithm: ClassVar[str] = FTRL.name

    problem: Problem
    budget: Budget
    config: FTRL
    norm_guess: float

    @property
    def batch(self) -> int:
        """Most rows of one step."""
        assert self.config.batch is not None
        return self.config.batch

    @property
    def steps(self) -> int:
        """Steps of one pass over the declared rows."""
        assert self.problem.n_rows is not None
        return -(-self.problem.n_rows // self.batch)

    @cached_property
    def multiplier(self) -> float:
        """Noise multiplier of everything the budget covers."""
        return gaussian_multiplier(self.budget.epsilon, self.budget.delta)

    @property
    def gradient_bound(self) -> float:
        """Bound on the norm of the gradient of one step."""
        return self.batch * self.problem.terms.lipschitz

    @property
    def sensitivity(self) -> float:
        """Distance one row moves the computed gradient of its step."""
        # privacy: the float64 sum over a step errs by this much on either side.
        error = gamma(self.batch + self.problem.bounding.dimension + 16) * self.gradient_bound
        return rows_apart(self.problem.neighbours) * self.problem.terms.lipschitz + 2.0 * error

    @property
    def _single(self) -> bool:
        """Whether one stream of noise runs through several passes."""
        return self.config.passes > 1 and not self.config.restart

    def horizon(self, index: int) -> int:
        """Return the most steps of a block."""
        return self.steps * (self.config.passes if self._single else 2**index)

    def block(self, index: int, strategy: Strategy | None = None) -> PrefixSums:
        """Return the noise of one block of the stream; an endless one has many.

        ``strategy`` replaces what would be chosen, when a saved stream goes on.
        """
        config, known = self.config, self._blocks
        if index not in known or strategy is not None:
            single = self._single
            if strategy is None:
                strategy = STRATEGIES[config.strategy](self.horizon(index))
            known[index] = PrefixSums.plan(
                strategy,
                sensitivity=self.sensitivity,
                # privacy: a row is in one block a pass; passes with fresh noise add up.
                multiplier=self.multiplier * math.sqrt(1 if single else config.passes),
                shape=self.problem.shape,
                reach=self.gradient_bound * (1.0 + 2.0**-20),
                participations=config.passes if single else 1,
                separation=self.steps if single else 1,
            )
        return known[index]

    @cached_property
    def _blocks(self) -> dict[int, PrefixSums]:
        return {}

    @cached_property
    def deviation(self) -> float:
        """Largest standard deviation of a coordinate of the declared prefixes."""
        block = self.block(0)
        count = self.config.passes * self.steps / block.strategy.horizon
        return block.sigma * math.sqrt(count * block.strategy.largest_variance)

    @property
    def met(self) -> float:
        """Standard deviations of the noise that a gradient of norm 1 meets."""
        return _met(self.problem)

    @cached_property
    def work(self) -> float:
        """The sum of ``G (G/2 + N)`` over the declared steps."""
        return self._work(self.met)

    def _work(self, met: float) -> float:
        total, bound = self.config.passes * self.steps, self.gradient_bound
        return total * bound * (bound / 2.0 + met * self.deviation)

    @property
    def strength(self) -> float:
        """``Delta`` of a stream of the declared length."""
        given = self.config.strength
        return math.sqrt(2.0 * self.work) / self.norm_guess if given is None else given

    def regret_bound(self, *, failure: float | None = None) -> float:
        """Bound the regret over the declared steps against weights of the guessed norm.

        Parameters
        ----------
        failure
            Probability with which the bound may fail; None for a bound on the
            expected regret.
        """
        work = self.work
        if failure is not None:
            steps = self.config.passes * self.steps
            tail = math.sqrt(2.0 * math.log(steps / between("failure", failure, 0, 1)))
            work = self._work(math.sqrt(self.problem.dimension) + tail)
        return work / self.strength + self.strength * self.norm_guess**2 / 2.0

    @property
    def guarantee(self) -> Guarantee:
        """What all passes of the stream guarantee together."""
        return self.guarantee_after(self.config.passes)

    def guarantee_after(self, passes: int) -> Guarantee:
        """Return what holds when only so many passes have begun."""
        # privacy: noise that runs through all passes is priced in full from the start.
        begun = passes / self.config.passes if self.config.restart else 1.0
        event = Gaussian(self.multiplier / math.sqrt(begun))
        epsilon, delta = self.budget.epsilon, self.budget.delta
        return Guarantee(
            epsilon=epsilon if begun == 1.0 else min(epsilon, epsilon_at(event, delta)),
            delta=delta,
            neighbours=self.problem.neighbours,
            event=event,
            theorem="prefix-sums",
            assumptions=(*ASSUMED, ONE_PASS, *self.problem.assumptions),
        )

    @property
    def expected_excess(self) -> float:
        """Bound on the expected excess risk (sum scale) of the mean of the iterates.

        For rows in random order, if good weights have the guessed norm.
        """
        return self.regret_bound() / self.config.passes

    def facts(self) -> dict[str, Any]:
        """Public numbers of the plan."""
        return {
            "algorithm": self.algorithm,
            "strategy": self.config.strategy,
            "rows a step": self.batch,
            "steps a pass": self.steps,
            "passes": self.config.passes,
            "noise scale": self.block(0).sigma,
            "strength": self.strength,
            "norm guess": self.norm_guess,
            "expected excess (sum) <=": self.expected_excess,
        }

    def start(self, random: Randomness) -> StreamLearner:
        """Return a learner that has seen nothing yet."""
        return StreamLearner(self, random)

    @checked
    def run(self, source: Source, random: Randomness) -> Release:
        """Feed the rows in order, as often as planned, and release the mean iterate."""
        rows, learner = self.problem.bound(source), self.start(random)
        for number in range(self.config.passes):
            if number:
                learner.begin_pass()
            learner.learn(rows)
        return Release(learner.average, learner.guarantee)
