"""The doubling method: fresh noise, twice the epsilon, until a test passes. A baseline.

Level ``k`` spends ``first * 2^(k-1)`` on a fresh model, so a stop at ``k`` has
spent ``(2^k - 1) first`` on models. ``"fresh"`` tests are those of Ligett et
al. (2017): each compares with fresh Laplace noise and costs its own epsilon.
``"above-threshold"`` pays for one tester.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

from discreet.accounting import Pure
from discreet.adaptive.above_threshold import AboveThreshold
from discreet.adaptive.discrete import discrete_laplace
from discreet.adaptive.outcome import AdaptivePlan, Costs, Step, Try
from discreet.adaptive.paths import Path
from discreet.adaptive.query import SIZE_KNOWN, Query
from discreet.checks import between, integer, one_of, positive
from discreet.data import Source
from discreet.errors import Incompatible, InvalidParameter
from discreet.noise import Randomness


@dataclass(frozen=True, kw_only=True)
class Doubling(AdaptivePlan):
    """Fresh models at doubling epsilons, each tested.

    Parameters
    ----------
    path
        Gives the models; its levels are replaced.
    query
        What must be small; its task is the path's.
    first
        Epsilon of the first model.
    count
        Largest number of models.
    failure
        Probability that a released model misses the target.
    test
        ``"fresh"`` or ``"above-threshold"``.

    Examples
    --------
    >>> from discreet.adaptive.paths import OutputPath
    >>> from discreet.adaptive.task import Task
    >>> from discreet.problem import Problem
    >>> from discreet.losses import Logistic
    >>> from discreet.bounds import Bounds
    >>> problem = Problem(loss=Logistic(), bounds=Bounds(row_norm=1.0, classes=(0, 1)),
    ...                   n_features=5, n_rows=100_000)
    >>> task = Task(problem=problem, strength=500.0)
    >>> plan = Doubling(path=OutputPath(task=task, levels=(1.0,)), first=0.01, count=8,
    ...                 query=Query(task=task, metric="excess-risk", target=0.05))
    >>> round(plan.reserved[0] - 8 * plan.test_epsilon, 6)
    2.55
    """

    path: Path
    query: Query
    first: float
    count: int
    failure: float = 0.1
    test: Literal["fresh", "above-threshold"] = "fresh"

    def __post_init__(self) -> None:
        positive("first", self.first)
        integer("count", self.count)
        between("failure", self.failure, 0, 1)
        one_of("test", self.test, ("fresh", "above-threshold"))
        if self.path.noise != "laplace" or self.query.metric != "excess-risk":
            raise Incompatible(
                "The doubling method is a baseline for excess risk with Laplace noise. Use noise "
                "reduction for other targets and noises."
            )
        if self.query.level <= 0:
            # privacy: a test of such a target would seem to cost less than nothing.
            raise InvalidParameter(
                "max_error is too small: the minimum it is measured from is known less exactly. "
                "Allow a larger one."
            )

    @cached_property
    def rule(self) -> AboveThreshold:
        """The shared tester of ``"above-threshold"``."""
        return AboveThreshold.calibrate(
            self.query.sensitivity,
            target=self.query.level,
            margin=0.8 * self.query.task.n * self.query.target,
            tests=self.count,
            violation=self.failure,
            refusal=self.failure,
        )

    @property
    def _scale(self) -> float:
        """Scale of a fresh test's noise: half the target covers it, all tests together."""
        return 0.5 * self.query.level / math.log(max(self.count / (2 * self.failure), 2.0))

    @property
    def _step(self) -> float:
        return 2.0 ** math.floor(math.log2(self.query.sensitivity.shared * 2.0**-20))

    @property
    def test_epsilon(self) -> float:
        """What one test costs, or the shared tester."""
        if self.test == "above-threshold":
            return self.rule.epsilon
        return (self.query.sensitivity.shared + self._step) / self._scale

    def _tests(self, k: int) -> float:
        return self.test_epsilon if self.test == "above-threshold" else k * self.test_epsilon

    @property
    def reserved(self) -> tuple[float, float]:
        """Epsilon and delta that no run exceeds."""
        return self._tests(self.count) + (2.0**self.count - 1) * self.first, 0.0

    @cached_property
    def costs(self) -> Costs:
        """How a run is accounted for."""
        cap, problem = self.reserved[0], self.path.task.problem
        assumptions = (SIZE_KNOWN,) if problem.neighbours == "add-remove" else ()
        return Costs(problem, 0.0, cap, Pure(cap), "accuracy-first/doubling", assumptions)

    @property
    def method(self) -> str:
        """Name of the method."""
        return f"doubling ({self.test} tests)"

    def facts(self) -> dict[str, Any]:
        """Public numbers of the plan."""
        return {
            "method": self.method,
            "levels": self.count,
            "first level": self.first,
            "reserved epsilon": self.reserved[0],
            "test epsilon": self.test_epsilon,
            "radius": self.path.task.radius,
            "strength": self.path.task.strength,
        }

    def _tester(self, random: Randomness) -> Callable[[float], bool]:
        if self.test == "above-threshold":
            return self.rule.start(random).accepts
        step, scale = self._step, self._scale
        edge = math.floor(0.5 * self.query.level / step)

        def accepts(query: float) -> bool:
            noise = float(discrete_laplace(scale / step, 1, random)[0])
            return (math.ceil(query / step) if math.isfinite(query) else math.inf) + noise <= edge

        return accepts

    def _tries(
        self, source: Source, random: Randomness, validation: Source | None
    ) -> Iterator[Try]:
        query = self.query.prepare(self.query.task.problem.bound(source))
        accepts = self._tester(random)
        for k in range(1, self.count + 1):
            level = self.first * 2.0 ** (k - 1)
            weights = next(replace(self.path, levels=(level,)).models(source, random))
            model, test = (2.0**k - 1) * self.first, self._tests(k)
            step = Step(model + test, accepts(query(weights)))
            yield Try(step, weights, total=model + test, model=model, test=test)
