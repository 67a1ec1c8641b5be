"""Noise reduction with tests on the data: stop at the first model that is good enough.

For targets that only the data can decide (absolute loss, error rate), and as
the published way to an excess-risk target. A stop at level ``t`` costs the
level plus the test's epsilon; with separate validation rows it costs the
larger of the two, because a row is in one part only. A run that never stops
releases no model and costs the last level plus the test's share without a stop.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from discreet.accounting import Approximate, Composed, Event, Gaussian, Pure
from discreet.adaptive.above_threshold import AboveThreshold
from discreet.adaptive.noise_reduction import FLOATING_POINT
from discreet.adaptive.outcome import AdaptivePlan, Costs, Step, Try
from discreet.adaptive.paths import Path
from discreet.adaptive.query import SIZE_KNOWN, Query
from discreet.adaptive.task import Task
from discreet.checks import between, positive
from discreet.data import Source
from discreet.errors import Incompatible
from discreet.noise import Randomness


@dataclass(frozen=True, kw_only=True)
class ThresholdStop(AdaptivePlan):
    """A path of models and a tester that stops it.

    Parameters
    ----------
    path
        Models from private to accurate.
    query
        Its task is the path's, or that of separate validation rows.
    margin
        A model better than the target by this much, per row, is accepted with
        probability at least ``1 - failure``.
    failure
        Probability that a released model misses the target, and that a good
        one is refused.
    validation
        Whether the query reads separate rows. They must be split off by a rule
        that a neighbour cannot shift.

    Examples
    --------
    >>> from discreet.adaptive.paths import OutputPath
    >>> from discreet.problem import Problem
    >>> from discreet.losses import Logistic
    >>> from discreet.bounds import Bounds
    >>> problem = Problem(loss=Logistic(), bounds=Bounds(row_norm=1.0, classes=(0, 1)),
    ...                   n_features=5, n_rows=100_000, neighbours="replace-one")
    >>> task = Task(problem=problem, strength=500.0)
    >>> plan = ThresholdStop(path=OutputPath(task=task, levels=(0.1, 1.0)), margin=0.01,
    ...               query=Query(task=task, metric="error-rate", target=0.2))
    >>> [round(epsilon, 3) for epsilon in (plan.test_epsilon, plan.reserved[0])]
    [0.014, 1.014]
    """

    path: Path
    query: Query
    margin: float
    failure: float = 0.1
    validation: bool = False

    def __post_init__(self) -> None:
        positive("margin", self.margin)
        between("failure", self.failure, 0, 1)
        if self.validation and self.query.metric == "excess-risk":
            raise Incompatible(
                "Excess risk is measured against the optimum of the training rows, so it cannot "
                "be tested on separate rows. Use metric='loss' or metric='error-rate'."
            )
        # privacy: the range of a row's loss is that over the ball the models lie in
        if self.query.task.radius < self.path.task.radius:
            raise Incompatible(
                "The query's ball is smaller than that of the models, so their losses would leave "
                "the range its noise is calibrated to. Give both tasks the same n_max."
            )

    @cached_property
    def rule(self) -> AboveThreshold:
        """The calibrated tester."""
        return AboveThreshold.calibrate(
            self.query.sensitivity,
            target=self.query.level,
            margin=self.margin * self.query.task.n,
            tests=len(self.path.levels),
            violation=self.failure,
            refusal=self.failure,
        )

    @property
    def test_epsilon(self) -> float:
        """What a stop costs beside the model."""
        return self.rule.epsilon

    def _total(self, model: float, test: float) -> float:
        # privacy: a row is in the training or in the validation part, never in both
        return max(model, test) if self.validation else model + test

    @property
    def reserved(self) -> tuple[float, float]:
        """Epsilon and delta that no run exceeds."""
        return self.costs.reserved, self.path.delta

    @cached_property
    def costs(self) -> Costs:
        """How a run is accounted for."""
        top, test, delta = self.path.levels[-1], self.rule.epsilon, self.path.delta
        total = self._total(top, test)
        exact = self.path.noise == "laplace"
        event: Event = Pure(total) if delta == 0 else Approximate(total, delta)
        if self.path.noise == "brownian" and not self.validation:
            # The last model is a Gaussian release, and the models before it add noise to it.
            event = Composed((Gaussian((2 * self.path.costs[-1]) ** -0.5), Pure(test)))
        assumptions = [] if exact else [FLOATING_POINT]
        if self.path.task.problem.neighbours == "add-remove":
            assumptions.append(SIZE_KNOWN)
        if self.validation:
            assumptions.append("no row's part, training or validation, depends on other rows")
        return Costs(
            self.path.task.problem,
            delta,
            total,
            event,
            "accuracy-first/above-threshold",
            tuple(assumptions),
        )

    @property
    def method(self) -> str:
        """Name of the method."""
        return f"noise-reduction ({self.path.noise})"

    def facts(self) -> dict[str, Any]:
        """Public numbers of the plan."""
        return {
            "method": self.method,
            "levels": len(self.path.levels),
            "first level": self.path.levels[0],
            "reserved epsilon": self.reserved[0],
            "test epsilon": self.rule.epsilon,
            "margin": self.margin,
            "radius": self.path.task.radius,
            "strength": self.path.task.strength,
        }

    def _tries(
        self, source: Source, random: Randomness, validation: Source | None
    ) -> Iterator[Try]:
        tested = self.query.task.problem.bound(source if validation is None else validation)
        query, tester = self.query.prepare(tested), self.rule.start(random)
        models = self.path.models(source, random)
        for level, weights in zip(self.path.levels, models, strict=True):
            met = tester.accepts(query(weights))
            test = self.rule.epsilon if met else self.rule.epsilon_without_stop
            step = Step(self._total(level, self.rule.epsilon), met)
            yield Try(step, weights, total=self._total(level, test), model=level, test=test)


def split_task(task: Task, n_rows: int) -> Task:
    """Return the task of a part of the rows, with the ball of the whole.

    >>> from discreet.problem import Problem
    >>> from discreet.losses import Squared
    >>> from discreet.bounds import Bounds
    >>> problem = Problem(loss=Squared(), bounds=Bounds(row_norm=1.0, label=(-1, 1)),
    ...                   n_features=2, n_rows=100)
    >>> split_task(Task(problem=problem, strength=1.0), 20).n
    20
    """
    # privacy: under add-remove all rows may fall into one part
    return replace(task, problem=replace(task.problem, n_rows=n_rows), n_max=task.most)
