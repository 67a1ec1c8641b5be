"""A stream of rows on its way through DP-FTRL: see :mod:`discreet.algorithms.stream.ftrl`."""

from __future__ import annotations

import math
import os
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NoReturn, Self

import numpy as np

from discreet.accounting import Guarantee
from discreet.bounds import Array
from discreet.checks import integer, nonnegative, positive
from discreet.data import Rows
from discreet.data.blocks import slices
from discreet.errors import Incompatible, InvalidData, InvalidParameter
from discreet.noise import Randomness
from discreet.noise.prefix import strategy_from_dict
from discreet.problem import with_randomness

if TYPE_CHECKING:
    from discreet.algorithms.stream.ftrl import FTRLPlan

Record = Callable[[dict[str, Any]], None]

ELSEWHERE = (
    "This stream belongs to the process that made or resumed it, and this is another one: the "
    "process was forked. Two that go on from one state add different noise to the same sums, and "
    "their mean tells more than either. Learn in the process that began; with a state_path, "
    "resume(path) takes the stream over."
)
"""What is said to a process that holds a stream it did not begin."""

UNFIT = "A saved stream does not fit the plan it resumes."


class _Process:
    """This process, told from its forks also when a number of a process is used again."""

    def __init__(self) -> None:
        self._renew()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._renew)

    def _renew(self) -> None:
        self._mark = object()

    def __call__(self) -> tuple[int, object]:
        return os.getpid(), self._mark


_here = _Process()


class StreamLearner:
    """A stream under way: current weights, and what they cost so far.

    ``weights``, ``average`` and the counters may be published at any moment;
    :meth:`state` may not. A learner stays in the process that made it, and
    there are no copies of it.
    """

    def __init__(self, plan: FTRLPlan, random: Randomness) -> None:
        self.plan = plan
        self.random = random
        self.alone = threading.Lock()  # for whoever feeds it from several threads
        self._home = _here()
        self.rows = self.steps = 0
        self.passes = 1
        self._rows_before = 0  # of earlier passes
        self._block, self._sums = 0, plan.block(0).start()
        self._steps_before = 0  # of earlier blocks
        # Of blocks that are finished: the sum of their totals and its standard deviation.
        self._base, self._base_deviation = np.zeros(plan.problem.shape), 0.0
        self._work = 0.0
        self._strength = plan.strength
        self._total = np.zeros(plan.problem.shape)
        self.weights = plan.problem.constraint.project(np.zeros(plan.problem.shape))
        self._prefix = np.zeros(plan.problem.shape)

    @property
    def average(self) -> Array:
        """Mean of the iterates, each counted once per row it was used on."""
        return self._total / self.rows if self.rows else self.weights

    @property
    def rows_of_pass(self) -> int:
        """Number of rows learned since the current pass began."""
        return self.rows - self._rows_before

    @property
    def guarantee(self) -> Guarantee:
        """What everything released so far guarantees."""
        return with_randomness(self.plan.guarantee_after(self.passes), self.random)

    def check_home(self) -> None:
        """Refuse to go on in another process than the one that began."""
        if self._home != _here():
            raise Incompatible(ELSEWHERE)

    def __reduce__(self) -> NoReturn:
        # privacy: a copy would go on from the same state with noise of its own.
        raise Incompatible(
            "A stream under way cannot be copied or pickled: two that go on from one state give "
            "away more than either. Use the one there is."
        )

    def learn(self, rows: Rows, *, record: Record | None = None) -> None:
        """Take bounded rows in order, in steps of at most the planned batch.

        All of them or, if anything fails, none.

        Parameters
        ----------
        rows
            The next rows of the stream.
        record
            Called with the new :meth:`state` before it takes effect, so that
            whoever keeps it is never behind what was published.
        """
        twin = self._copy()
        for part in slices(rows.n_rows, self.plan.batch):
            twin._step(rows.take(part))
        self._become(twin, record)

    def begin_pass(self, *, record: Record | None = None) -> None:
        """Declare that rows fed before may come again, and pay for it."""
        twin = self._copy()
        twin._begin_pass()
        self._become(twin, record)

    def _become(self, twin: Self, record: Record | None) -> None:
        self.check_home()  # again: time has passed since the copy
        # privacy: recorded first, published second; a step is never published and forgotten.
        if record is not None:
            record(twin.state())
        self.__dict__.update(twin.__dict__)

    def _begin_pass(self) -> None:
        config = self.plan.config
        if self.passes == config.passes:
            raise Incompatible(
                f"The budget covers {config.passes} pass(es) and all have begun. Plan for more "
                "passes from the start; their noise is larger."
            )
        if config.restart:
            self._next_block(self._block)
        elif self.steps != self.passes * self.plan.steps:
            # privacy: with one stream of noise a row must be exactly one pass away from itself.
            raise InvalidData(
                f"A pass has {self.plan.steps} steps and this one is not complete, so rows would "
                "come again too soon for the noise. Feed the rest, or plan with restart=True."
            )
        self.passes += 1
        self._rows_before = self.rows

    def _step(self, rows: Rows) -> None:
        plan, problem = self.plan, self.plan.problem
        if self._sums.full and plan.config.endless:
            self._next_block(self._block + 1)
        if not plan.config.restart:
            self._check_place()
        self._work += self._cost(rows.n_rows)
        # The gradient is taken at the weights published before these rows were seen.
        slope = problem.loss.slope(rows.X @ self.weights, rows.y)
        gradient = np.asarray(rows.X.T @ (rows.weight * slope.T).T)
        self._prefix = self._base + self._sums.push(gradient, self.random)
        self._total += rows.n_rows * self.weights
        self.rows += rows.n_rows
        self.steps += 1
        over = self.steps >= plan.config.passes * plan.steps
        if over and plan.config.endless and plan.config.strength is None:
            # Past the declared length. The next step is counted in full; a shorter one must not
            # lower the strength.
            ahead = 2.0 * math.sqrt(self._work + self._cost(plan.batch)) / plan.norm_guess
            self._strength = max(self._strength, ahead)
        self.weights = problem.constraint.project(-self._prefix / self._strength)

    def _check_place(self) -> None:
        """Refuse a step that would bring a row back sooner than a full pass."""
        plan, done = self.plan, self.passes - 1
        assert plan.problem.n_rows is not None
        step = self.steps - done * plan.steps
        # privacy: the place of a row decides its step, so passes put it exactly one pass apart.
        if self.rows - done * plan.problem.n_rows != step * plan.batch or step >= plan.steps:
            raise InvalidData(
                "With one stream of noise through all passes, rows must come in full batches and "
                "each pass must hold the declared rows. Feed multiples of the batch, or plan with "
                "restart=True."
            )

    def _next_block(self, index: int) -> None:
        """Close a block: what it released last is its total from now on."""
        self._base = self._prefix
        seen = self.plan.block(self._block).deviation(self._sums.steps)
        self._base_deviation = math.hypot(self._base_deviation, seen)
        self._block, self._sums = index, self.plan.block(index).start()
        self._steps_before = self.steps

    def _cost(self, n_rows: int) -> float:
        """Return ``G (G/2 + N)`` of a step of so many rows after the steps so far."""
        seen = self.plan.block(self._block).deviation(self._sums.steps)
        noise = self.plan.met * math.hypot(self._base_deviation, seen)
        bound = n_rows * self.plan.problem.terms.lipschitz
        return bound * (bound / 2.0 + noise)

    def _copy(self) -> Self:
        # privacy: a forked process would draw other noise for the same sums.
        self.check_home()
        twin = type(self)(self.plan, self.random)
        twin.alone = self.alone
        for name in _COUNTERS:
            setattr(twin, name, getattr(self, name))
        for name in _ARRAYS:
            setattr(twin, name, getattr(self, name).copy())
        twin._sums = self._sums.copy()
        return twin

    def state(self) -> dict[str, Any]:
        """Return everything needed to go on, as plain values. Secret."""
        counters = {name: getattr(self, name) for name in _COUNTERS}
        arrays = {name: getattr(self, name).tolist() for name in _ARRAYS}
        block = self.plan.block(self._block).strategy.to_dict()
        held = {"_terms": self._terms(), "_strategy": block, "_sums": self._sums.state()}
        return {**counters, **arrays, **held}

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from a saved state."""
        for name, check in _COUNTERS.items():
            setattr(self, name, check(name, state[name]))
        for name in _ARRAYS:
            value = np.array(state[name], dtype=np.float64)
            if value.shape != self.weights.shape or not np.isfinite(value).all():
                raise InvalidParameter(UNFIT)
            setattr(self, name, value)
        # privacy: a strategy that was searched for must not be searched again half way.
        strategy = strategy_from_dict(state["_strategy"])
        block = self.plan.block(self._block, strategy)
        # privacy: what was released so far carries the noise of these terms and of no others.
        if state.get("_terms") != self._terms():
            raise Incompatible(
                "The saved stream and the plan that resumes it differ in budget, neighbours, "
                "passes or noise, so the guarantee would not be true of what was released. Resume "
                "it as it was written; other settings need a new stream and a budget of its own."
            )
        self._check_counts(integer("steps", state["_sums"]["steps"], 0), strategy.horizon)
        self._sums = block.start()
        self._sums.restore(state["_sums"])

    def _check_counts(self, steps: int, horizon: int) -> None:
        """Refuse counts that no stream of this plan comes to.

        ``steps`` are those of the current block, which its noise covers up to
        ``horizon``.
        """
        plan, config = self.plan, self.plan.config
        # Blocks double, and those before this one were filled. First, so that no power is huge.
        if self._block > (self.steps.bit_length() if config.endless else 0):
            raise InvalidParameter(UNFIT)
        filled = plan.steps * (2**self._block - 1)
        again = self.passes - 1 if config.restart else 0  # blocks a new pass has cut short
        fits = (
            1 <= self.passes <= config.passes,
            self.steps <= self.rows <= self.steps * plan.batch,
            self._rows_before <= (self.rows if self.passes > 1 else 0),
            # A block lies in one pass, so its steps hold rows of this pass.
            not config.restart or steps <= self.rows_of_pass,
            # privacy: the sensitivity is that of a block of the planned length, and steps already
            # taken in it count towards that length.
            steps <= horizon == plan.horizon(self._block),
            self._steps_before + steps == self.steps,
            filled <= self._steps_before <= filled + again * horizon,
        )
        if not all(fits):
            raise InvalidParameter(UNFIT)

    def _terms(self) -> list[Any]:
        """Return the guarantee and the noise of the current block, as plain values."""
        plan = self.plan
        budget, neighbours = plan.budget, plan.problem.neighbours
        noise = plan.block(self._block).sigma
        return [budget.epsilon, budget.delta, neighbours, plan.config.passes, noise]


def _count(name: str, value: object) -> int:
    return integer(name, value, 0)


_COUNTERS: dict[str, Callable[[str, object], float]] = {
    **dict.fromkeys(("rows", "steps", "passes", "_block"), _count),
    **dict.fromkeys(("_rows_before", "_steps_before"), _count),
    **dict.fromkeys(("_base_deviation", "_work"), nonnegative),
    "_strength": positive,
}
_ARRAYS = ("_base", "_prefix", "_total", "weights")
