"""One-shot inversion: the epsilon at which an excess-risk target is met, from public facts.

Nothing is tested, so nothing is paid for tests. Excess risk is that of the
ridge objective, per row.

* Noise ``b`` on an unconstrained minimiser: ``J(w* + b) - J(w*) <= b'Hb/2``
  with ``H`` the largest curvature, of which only the trace is known; its
  quantile is that of :func:`~discreet.adaptive.noise_quantiles.form_quantile`.
* For losses with corners, whose slopes jump by ``J``: ``J(w* + b) - J(w*) <= n J R ||b|| +
  strength ||b||^2 / 2``, since at ``w*`` slopes and ridge cancel.
* Noise ``B, b`` on second moments: the minimiser ``w`` of the noisy objective
  over a ball that holds the true one has ``J(w) - min J <= ||Bw - b||^2 / (2
  strength)``, also when the noisy matrix is indefinite.

``"theory"`` is what Ligett et al. (2017) invert, valid but 40 to 120 times larger.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

from scipy.special import gammainccinv

from discreet.accounting import Budget, Guarantee, epsilon_at
from discreet.accounting import events as event
from discreet.adaptive.noise_quantiles import form_quantile, gaussian_quantiles, laplace_quantiles
from discreet.adaptive.outcome import AdaptivePlan, Step, Try
from discreet.adaptive.task import Task
from discreet.algorithms import OutputPerturbation, SufficientStatistics
from discreet.algorithms.perturbation import SecondMoments
from discreet.checks import LEAST_EPSILON, between, nonnegative, one_of, positive
from discreet.data import Source
from discreet.errors import Incompatible
from discreet.mechanisms.release_noise import Kind
from discreet.noise import Randomness
from discreet.problem import Plan
from discreet.sets import L2Ball

Rule = Literal["tight", "rank-one", "theory"]
_SLACK = 1 + 1e-4  # covers grids and solver tolerances, which are far smaller
_ROOMS = (1.0, 2.0, 4.0, 8.0, 16.0)


@dataclass(frozen=True, kw_only=True)
class OneShot(AdaptivePlan):
    """A single release whose epsilon was worked out from the target.

    Parameters
    ----------
    task
        Squared loss: noise on second moments. Other losses: on the minimiser.
    target
        Excess risk per row.
    failure
        Probability that a release misses the target.
    delta
        0 for a pure guarantee; otherwise Gaussian noise is used.
    rule
        ``"tight"``; ``"rank-one"`` for the smaller, unproved quantile of noise
        on a minimiser; ``"theory"`` for the published inversion.

    Examples
    --------
    >>> from discreet.losses import Squared
    >>> from discreet.problem import Problem
    >>> from discreet.bounds import Bounds
    >>> problem = Problem(loss=Squared(), bounds=Bounds(row_norm=1.0, label=(-1, 1)),
    ...                   n_features=38, n_rows=100_000, neighbours="replace-one")
    >>> task = Task(problem=problem, strength=500.0, row_l1=1.0)
    >>> round(OneShot(task=task, target=0.05).epsilon, 3)
    0.127
    """

    task: Task
    target: float
    failure: float = 0.1
    delta: float = 0.0
    rule: Rule = "tight"

    def __post_init__(self) -> None:
        positive("target", self.target)
        between("failure", self.failure, 0, 1)
        nonnegative("delta", self.delta)
        one_of("rule", self.rule, ("tight", "rank-one", "theory"))

    @property
    def _squared(self) -> bool:
        return self.task.problem.loss.quadratic

    @property
    def _kind(self) -> Kind:
        if self.delta > 0:
            return "gaussian"
        return "laplace" if self._squared or self.rule == "theory" else "gamma"

    @cached_property
    def _solution(self) -> tuple[float, float]:
        """Epsilon, and the share of labels in the sensitivity."""
        if self.rule == "theory":
            return self._theory(), 1.0
        if not self._squared:
            return self._output() * _SLACK, 1.0
        candidates = [(self._covariance(room) * _SLACK, room) for room in _ROOMS]
        return min(candidates)

    @property
    def epsilon(self) -> float:
        """The least epsilon at which the target is met for sure."""
        return max(self._solution[0], LEAST_EPSILON)  # with a large delta none may be needed

    @property
    def reserved(self) -> tuple[float, float]:
        """Epsilon and delta of the run, known in advance."""
        return self.epsilon, self.delta

    def _theory(self) -> float:
        task, p = self.task, self.task.problem.dimension
        if task.jump is not None or task.problem.loss.outputs > 1:
            raise Incompatible(
                "The published inversion is for smooth losses of one output. Use rule='tight'."
            )
        norm = task.problem.row_norm * math.sqrt(task.weight)
        scaled = task.strength / (task.n * norm**2)
        if self._squared:
            p_over = p / scaled
            return 4 * math.sqrt(2) * (2 * math.sqrt(p_over) + p_over) / (task.n * self.target)
        return 2 * math.sqrt(2) * p / (task.n * scaled * self.target)

    def _output(self) -> float:
        """Invert ``b'Hb/2 <= n target`` for noise on the minimiser."""
        task = self.task
        plan = OutputPerturbation(strength=task.strength).plan(task.problem, Budget(1.0))
        norm = task.problem.row_norm * math.sqrt(task.weight)
        if task.jump is not None:
            room = self._cornered(plan.tolerance)
            if not room > 0.0:
                return math.inf
            if self.delta > 0:
                return epsilon_at(event.Gaussian(room / plan.sensitivity), self.delta)
            return plan.sensitivity / room
        quantile = form_quantile(
            "gaussian" if self.delta > 0 else "gamma",
            task.problem.dimension,
            task.curvature,
            task.strength / (task.n * norm**2),
            self.failure,
            proved=self.rule == "tight",
        )
        room = math.sqrt(2 * self.target / quantile) / norm  # scale of the noise
        if self.delta > 0:
            return epsilon_at(event.Gaussian(room / plan.sensitivity), self.delta)
        return plan.sensitivity / room

    def _cornered(self, tolerance: float) -> float:
        """Return the scale of noise of which ``slope r + strength r^2 / 2 <= n target`` is sure.

        ``r`` is the norm of the noise plus how far the computed minimiser may be off.
        """
        task, p = self.task, self.task.problem.dimension
        assert task.jump is not None
        slope = task.most * task.jump * task.problem.row_norm
        allowed = 2.0 * task.n * self.target
        r = allowed / (slope + math.sqrt(slope**2 + task.strength * allowed))
        if self.delta > 0:
            quantile = math.sqrt(2.0 * gammainccinv(p / 2, self.failure))
        else:
            quantile = float(gammainccinv(p, self.failure))
        return (r - tolerance / task.strength) / quantile

    def _covariance(self, room: float) -> float:
        """Invert the bound for noise on second moments."""
        task = self.task
        moments = replace(SecondMoments.of(task.problem, row_l1=task.row_l1), label_room=room)
        quantiles = gaussian_quantiles if self.delta > 0 else laplace_quantiles
        matrix, vector = quantiles(moments.dimension, self.failure / 2)
        scale = moments.row_scale
        size = matrix * task.radius * scale**2 + vector * scale * moments.label_scale
        allowed = math.sqrt(2 * task.strength * task.n * self.target) / size
        neighbours = task.problem.neighbours
        if self.delta > 0:
            multiplier = allowed / moments.l2_sensitivity(neighbours)
            return epsilon_at(event.Gaussian(multiplier), self.delta)
        return moments.l1_sensitivity(neighbours) / allowed

    @cached_property
    def inner(self) -> Plan:
        """The plan of the release."""
        task, budget = self.task, Budget(self.epsilon, self.delta)
        if not self._squared:
            return OutputPerturbation(strength=task.strength, noise=self._kind).plan(
                task.problem, budget
            )
        ball = replace(task.problem, constraint=L2Ball(radius=task.radius))
        return SufficientStatistics(
            strength=task.strength,
            ridge="fixed",
            noise=self._kind,
            row_l1=task.row_l1,
            label_room=self._solution[1],
        ).plan(ball, budget)

    @property
    def method(self) -> str:
        """Name of the method."""
        return f"one-shot ({self.rule})"

    def facts(self) -> dict[str, Any]:
        """Public numbers of the plan."""
        return {"method": self.method} | self.inner.facts()

    @property
    def guarantee(self) -> Guarantee:
        """The guarantee, known in advance."""
        return self.inner.guarantee

    def _stated(self, total: float) -> Guarantee:
        return self.guarantee

    def _tries(
        self, source: Source, random: Randomness, validation: Source | None
    ) -> Iterator[Try]:
        weights = self.inner.run(source, random).weights
        step = Step(self.epsilon, True, self.target)
        yield Try(step, weights, total=self.epsilon, model=self.epsilon)
