"""How long weights should be: a few more noisy sums, along their direction alone.

A noisy descent finds a direction; how far to go along it is one number, and
noise on one number is small. The derivative of the loss along the direction is
a sum over rows, clipped and covered with noise like any gradient. It is taken
several times, each time where the earlier sums say that it vanishes
(:mod:`discreet.algorithms.gradient.line_search_estimates`).

Privacy: after a descent the sums come from its own sampler, with
the same noise for their clip, so they count as so many more steps. The fit reads
nothing else.
"""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.accounting import Budget, Event
from discreet.algorithms.gradient.line_search_estimates import Calibrated, Conservative
from discreet.bounds import Array, Bounds
from discreet.checks import integer
from discreet.data import Rows
from discreet.data.clipped import ClippedSums, Index
from discreet.errors import Incompatible
from discreet.losses import Loss
from discreet.mechanisms.batches import Sampler
from discreet.mechanisms.gradient_noise import GradientNoise, most_rows
from discreet.mechanisms.group_sums import sums_over
from discreet.noise import Randomness
from discreet.problem import Problem
from discreet.tuned.algorithms import LINE_ROUNDS

if TYPE_CHECKING:
    from discreet.algorithms.gradient.noisy_gradient import NoisyGradient


def estimates_logit(loss: Loss) -> bool:
    """Return whether the length of the weights can be fitted: predictions estimate a logit.

    >>> from discreet.losses import Hinge, Logistic
    >>> estimates_logit(Logistic()), estimates_logit(Hinge())
    (True, False)
    """
    return loss.probabilities and loss.outputs == 1


def check_line_search(config: NoisyGradient, problem: Problem, budget: Budget) -> None:
    """Refuse a line search where it makes no sense."""
    if integer("line_search", config.line_search, 0) == 0:
        return
    other = config.hidden_state or config.adaptive_clip or budget.delta == 0
    if other or not estimates_logit(problem.loss):
        raise Incompatible(
            "line_search fits the length of the weights of a logistic regression, with a delta and "
            "without hidden_state or adaptive_clip. Leave line_search out."
        )


@dataclass(frozen=True)
class LineSearch:
    """Noisy sums along the direction that a plan has found.

    Examples
    --------
    >>> from discreet.accounting import Budget
    >>> from discreet.algorithms import NoisyGradient
    >>> from discreet.losses import Logistic
    >>> problem = Problem(loss=Logistic(), bounds=Bounds(row_norm=1.0, classes=(0, 1)),
    ...                   n_features=25, n_rows=5000)
    >>> plan = NoisyGradient(steps=90, line_search=10).plan(problem, Budget(1.0, 1e-6))
    >>> plan.line_search.clip, round(plan.noise.scale / plan.line_search.noise.scale)
    (0.05, 20)
    """

    problem: Problem
    sums: int
    multiplier: float
    """Deviation of the noise of one sum over the largest part of one row."""
    sampler: Sampler
    conservative: bool

    @property
    def estimate(self) -> type[Calibrated] | type[Conservative]:
        """How the sums are read."""
        return Conservative if self.conservative else Calibrated

    @property
    def clip(self) -> float:
        """Largest part of one row in a derivative."""
        return self.problem.bounds.weight * self.estimate.clip(self)

    @property
    def rounds(self) -> int:
        """How often it is decided where to go next."""
        return min(LINE_ROUNDS, self.sums)

    @property
    def shifting(self) -> bool:
        """Whether the positions of rows may differ between neighbours."""
        return self.sampler.shifting or self.problem.size_is_declared

    @property
    def event(self) -> Event:
        """What the sums cost by themselves."""
        return self.sampler.event(self.multiplier, self.sums, self.problem.neighbours)

    @cached_property
    def noise(self) -> GradientNoise:
        """The noise of one sum."""
        problem = self.problem
        line = Problem(
            loss=problem.loss,
            bounds=Bounds(row_norm=problem.row_norm, classes=problem.bounds.classes),
            n_features=1,
            n_rows=problem.n_rows,
            neighbours=problem.neighbours,
            grouping=problem.grouping,
        )
        rows = most_rows(problem)
        return GradientNoise.gaussian(
            self.clip, self.multiplier, line, n_rows=rows, shifting=self.shifting
        )

    def facts(self) -> dict[str, Any]:
        """Public numbers of the line search."""
        return {
            "sums of the line search": self.sums,
            "clip of such a sum": self.clip,
            "noise scale of such a sum": self.noise.scale,
        }

    def fitted(self, rows: Rows, weights: Array, random: Randomness) -> Array:
        """Return the weights at the length that the sums point to."""
        # The weights are released, so what depends on them alone costs nothing.
        if not 1e-50 < np.abs(weights).max() < 1e50:
            return weights
        size = float(np.linalg.norm(weights))
        along, signs = rows.projected(weights / size), np.sign(rows.y)
        counts = np.diff(np.arange(self.rounds + 1) * self.sums // self.rounds)
        estimate = self.estimate(self, size)
        drawn = self.noise.stream((1,), random)
        sums: ClippedSums | None = None
        with ExitStack() as opened:
            for count in counts:
                at, seen = np.array([estimate.at]), 0.0
                sums = sums if estimate.keeps_rows else None
                for _ in range(count):
                    index = self.sampler.draw(rows, random)
                    if sums is None or index is not None:
                        opened.close()
                        line = self._line(estimate, rows, along, signs, index)
                        sums = opened.enter_context(line)
                    total = sums.full(at, self.clip)
                    # privacy: the only exit of data here, as in a step.
                    seen += float(self.noise.cover(total, next(drawn))[0]) / self.sampler.rate
                estimate.see(seen / count, int(count))
        return np.asarray(weights * (estimate.length / size))

    def _line(
        self,
        estimate: Calibrated | Conservative,
        rows: Rows,
        along: Array,
        signs: Array,
        index: Index | None,
    ) -> ClippedSums:
        """Return the sums over the rows that were drawn, each of which is one number."""
        pick: Any = slice(None) if index is None else index
        values = estimate.line(along[pick], signs[pick])
        # privacy: the norm of a row of one number is that number's size, exactly.
        labels = estimate.loss.attach(signs[pick], np.abs(values))
        share, groups = (None if v is None else v[pick] for v in (rows.share, rows.groups))
        line = Rows(values[:, None], labels, rows.weight[pick], None, share, groups)
        of, shifting = estimate.loss, self.shifting
        return sums_over(self.problem, line, of, shifting=shifting, work=0.0)
