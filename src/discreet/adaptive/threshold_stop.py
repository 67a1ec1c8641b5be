"""Noise reduction with tests on the data: stop at the first model that is good enough.

For targets that only the data can decide (absolute loss, error rate), and as
the published way to an excess-risk target. A stop at level ``t`` costs the
level plus the test's epsilon; with separate validation rows it costs the
larger of the two, because a row is in one part only. A run that never stops
releases no model and costs the last level plus the test's share without a stop.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from discreet.accounting import ZCDP, Approximate, Event, Pure
from discreet.adaptive.above_threshold import METRICS, AboveThreshold, Sensitivity
from discreet.adaptive.noise_reduction import FLOATING_POINT
from discreet.adaptive.outcome import Costs, Outcome, Step
from discreet.adaptive.paths import Path, costs_of
from discreet.adaptive.task import Task
from discreet.algorithms.base import solver_error
from discreet.checks import between, one_of, positive
from discreet.data import Rows, Source
from discreet.errors import Incompatible
from discreet.losses import Squared
from discreet.noise import Randomness
from discreet.types import Array

SIZE_KNOWN = "there are no more rows than the declared largest number"


@dataclass(frozen=True, kw_only=True)
class Query:
    """The quantity that has to become small, and how one row moves it.

    Parameters
    ----------
    task
        Of the rows that are tested.
    metric
        ``"excess-risk"``, ``"loss"`` (of the task; squared residuals with
        predictions clipped to the label range) or ``"error-rate"`` (share of
        rows on the wrong side).
    target
        Per row.
    """

    task: Task
    metric: str
    target: float

    def __post_init__(self) -> None:
        one_of("metric", self.metric, METRICS)
        positive("target", self.target)
        if self.metric == "error-rate" and self.task.problem.loss.target != "sign":
            raise Incompatible("error-rate needs a classifier of two classes. Use 'loss'.")

    @cached_property
    def tolerance(self) -> float:
        """Largest gradient at the computed optimum."""
        task = self.task
        return max(1e-6 * task.lipschitz, 4 * solver_error(task.problem))

    @property
    def solver_gap(self) -> float:
        """How far above the optimum the computed one may be."""
        return self.tolerance**2 / (2 * self.task.strength)

    @property
    def _range(self) -> tuple[float, float]:
        """Range of what one row contributes."""
        if self.metric == "error-rate":
            return 0.0, self.task.weight
        if self.metric == "loss" and isinstance(self.task.problem.loss, Squared):
            # Clipped predictions are off by at most the label range, whatever the weights.
            return 0.0, 2.0 * self.task.weight * self.task.problem.bounding.label_bound**2
        return self.task.loss_range

    @property
    def sensitivity(self) -> Sensitivity:
        """Of the query on the sum scale, rounding and solver included."""
        lo, hi = self._range
        found = Sensitivity.of(
            self.metric, self.task.problem.neighbours, lo=lo, hi=hi, target=self.target
        )
        rounding = self.task.rounding
        shared = self.solver_gap if self.metric == "excess-risk" else 0.0
        return found.inflated(shared + 2 * rounding, 4 * rounding)

    @property
    def level(self) -> float:
        """What the query is compared with, on the sum scale."""
        if self.metric == "excess-risk":
            return self.task.n * self.target - self.solver_gap
        return 0.0

    def prepare(self, rows: Rows) -> Any:
        """Return the query as a function of the model; it reads ``rows``."""
        task = self.task
        if self.metric == "excess-risk":
            best = task.value(rows, task.minimiser(rows, self.tolerance))
            return lambda w: task.value(rows, w) - best
        mass = float(rows.weight.sum())
        if self.metric == "loss" and isinstance(task.problem.loss, Squared):
            limit = task.problem.bounding.label_bound
            return lambda w: _clipped_loss(rows, w, limit) - self.target * mass
        if self.metric == "loss":
            ridge = 0.5 * task.strength
            return lambda w: task.value(rows, w) - ridge * float(w @ w) - self.target * mass
        return lambda w: _errors(rows, w) - self.target * mass


def _clipped_loss(rows: Rows, weights: Array, limit: float) -> float:
    """Return the sum of half squared residuals of predictions clipped to the label range."""
    return float(rows.weight @ (np.clip(rows.X @ weights, -limit, limit) - rows.y) ** 2) / 2


def _errors(rows: Rows, weights: Array) -> float:
    """Return the weight of rows on the wrong side; a row at zero counts as wrong."""
    return float(rows.weight @ (rows.y * (rows.X @ weights) <= 0.0))


@dataclass(frozen=True, kw_only=True)
class ThresholdStop:
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
    >>> from discreet.algorithms import Problem
    >>> from discreet.losses import Logistic
    >>> from discreet.types import Bounds
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
                "be tested on separate rows. Use metric 'loss' or 'error-rate'."
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
            event = ZCDP(costs_of(self.path)[-1] + test**2 / 2)
        assumptions = [] if exact else [FLOATING_POINT]
        if self.path.task.problem.neighbours == "add-remove":
            assumptions.append(SIZE_KNOWN)
        if self.validation:
            assumptions.append("no row's part, training or validation, depends on other rows")
        return Costs(
            self.path.task.problem.neighbours,
            delta,
            total,
            event,
            "noise reduction and AboveThreshold (Ligett et al. 2017, corrected and sharpened)",
            tuple(assumptions),
        )

    def facts(self) -> dict[str, Any]:
        """Public numbers of the plan."""
        return {
            "method": f"noise-reduction ({self.path.noise})",
            "levels": len(self.path.levels),
            "first level": self.path.levels[0],
            "reserved epsilon": self.reserved[0],
            "test epsilon": self.rule.epsilon,
            "radius": self.path.task.radius,
            "strength": self.path.task.strength,
        }

    def run(
        self, source: Source, random: Randomness, *, validation: Source | None = None
    ) -> Outcome:
        """Release model after model until a test passes."""
        if self.validation != (validation is not None):
            raise Incompatible("validation rows and validation=True belong together.")
        tested = self.query.task.problem.bound(source if validation is None else validation)
        query, tester = self.query.prepare(tested), self.rule.start(random)
        steps: list[Step] = []
        models = self.path.models(source, random)
        for level, weights in zip(self.path.levels, models, strict=True):
            met = tester.accepts(query(weights))
            steps.append(Step(self._total(level, self.rule.epsilon), met))
            if met:
                break
        test = self.rule.epsilon if met else self.rule.epsilon_without_stop
        return Outcome(
            # privacy: without a stop there is no model; the exact minimiser never leaves
            weights=np.array(weights) if met else None,
            guarantee=self.costs.guarantee(self._total(level, test), random),
            eps_model=level,
            eps_test=test,
            steps=tuple(steps),
        )


def split_task(task: Task, n_rows: int) -> Task:
    """Return the task of a part of the rows, for validation.

    >>> from discreet.algorithms import Problem
    >>> from discreet.losses import Squared
    >>> from discreet.types import Bounds
    >>> problem = Problem(loss=Squared(), bounds=Bounds(row_norm=1.0, label=(-1, 1)),
    ...                   n_features=2, n_rows=100)
    >>> split_task(Task(problem=problem, strength=1.0), 20).n
    20
    """
    return replace(task, problem=replace(task.problem, n_rows=n_rows), n_max=None)
