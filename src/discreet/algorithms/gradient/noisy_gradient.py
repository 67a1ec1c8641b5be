"""Noisy gradient descent: clipped gradient sums with Gaussian noise, step by step.

Minimises ``F(w) = sum_i f(<x_i, w>; y_i) + reg(w) + strength/2 ||w||^2`` over a
set. Each step adds noise to a sum of clipped gradients over a batch of rows,
moves against it and returns to the set; an average of the path is released.

Theorem (Bassily, Smith, Thakurta 2014; exact accounting per sampler). The path
is private whatever the loss is: rows enter through sums of vectors of norm at
most ``clip`` only. Full-batch steps compose exactly as one Gaussian release;
batches are accounted for as they are drawn. Without ``delta`` the noise has a
gamma-distributed radius and steps cost ``epsilon / T`` each.

Convexity, smoothness and the guess of the norm matter for accuracy alone. The
one exception is ``hidden_state``: there only the last iterate is released, and
its smaller noise rests on certified convexity and smoothness
(:mod:`discreet.algorithms.gradient.hidden_state`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from discreet.accounting import Budget, Event, Gaussian, Guarantee, Pure, gaussian_multiplier
from discreet.algorithms.gradient.averages import OUTPUTS
from discreet.algorithms.gradient.hidden_state import HiddenState
from discreet.algorithms.gradient.line_search import LineSearch, check_line_search
from discreet.algorithms.gradient.path import descend
from discreet.algorithms.gradient.settings import RULES, GradientSetting
from discreet.algorithms.gradient.step_rules import Facts, batch_rate
from discreet.algorithms.gradient.together import run_together
from discreet.bounds import Array
from discreet.checks import one_of
from discreet.data import Rows, Source
from discreet.data.clipped import LOST, work_of
from discreet.data.storage import in_range
from discreet.errors import Incompatible, InvalidParameter, MissingBound
from discreet.mechanisms.batches import SAMPLERS, FullBatch, rows_of_a_step, sampler_for
from discreet.mechanisms.gradient_noise import GradientNoise, most_rows, size_assumed
from discreet.mechanisms.group_sums import sums_over
from discreet.noise import Randomness
from discreet.problem import (
    CalibratedPlan,
    Problem,
    guarantee_for,
    releasing,
)
from discreet.regularizers import combined_prox


@dataclass(frozen=True, kw_only=True)
class NoisyGradient:
    """Gradient steps with noise; every setting has a default from public values.

    Parameters
    ----------
    sampler
        Rows of a step: ``"full"``, ``"poisson"`` or ``"fixed-size"``. ``"auto"`` takes
        all rows, and Poisson batches where a batch is given or where, with a
        delta, all rows would take too long for the steps the rule asks for.
    batch
        Rows of a step, expected or exact; not with ``"full"``.
    cap
        Most rows of a Poisson batch, where memory is short; larger ones are cut
        at random. Not under add-remove.
    steps
        Number of steps; by default what the rule asks for, capped by the work
        it takes.
    rule
        ``"heavy-ball"``, ``"accelerated"``, ``"smooth"``, ``"strongly-convex"``,
        ``"typical"``, ``"lipschitz"`` or ``"adaptive"``; see
        the files ``step_rules``, ``heavy_ball`` and ``typical_steps`` beside this one.
    step
        Constant length of a step, overriding the rule's, and its momentum.
    momentum
        Below 1; gradients are taken at a moving average of the iterates that
        keeps this part of itself. Without constraint and penalty that is the
        heavy ball. By default the rule's, which is 0 except for ``"heavy-ball"`` and
        ``"typical"``. No bound on the excess is known with another one.
    clip
        Bound on the norm of one row's gradient. By default the Lipschitz
        constant, where clipping changes nothing; for softmax the typical norm, which
        clips only rows that are far on the wrong side.
    adaptive_clip
        Whether the clip follows the median norm of the gradients, starting
        from ``clip``, for a small part of the budget.
    output
        ``"mean"``, ``"tail"``, ``"weighted"`` or ``"last"``; by default the
        rule's own average.
    hidden_state
        Opt-in: release the last iterate only, with the noise that suffices for
        it. Privacy then rests on convexity and smoothness; refused where they
        are not certain.
    strength
        Total strong convexity on the sum scale; what the regularizer lacks is
        added.
    norm_guess
        Public guess of the norm of good weights, for the default steps and the
        printed bound: steps stay within it, and go further than usual if it is above the
        usual one. Privacy does not depend on it.
    line_search
        Further noisy sums that fit the length of the weights along their
        direction (:mod:`discreet.algorithms.gradient.line_search`), for logistic losses. Each
        costs as much as a step.
    conservative
        Whether the line search changes the length only where that is clearly better.

    Examples
    --------
    >>> from discreet.losses import Logistic
    >>> from discreet.bounds import Bounds
    >>> problem = Problem(loss=Logistic(), bounds=Bounds(row_norm=1.0, classes=(0, 1)),
    ...                   n_features=20, n_rows=5000)
    >>> plan = NoisyGradient(norm_guess=5.0, rule="smooth").plan(problem, Budget(2.0, 1e-6))
    >>> plan.rule.name, plan.steps, round(plan.expected_excess / 5000, 4)
    ('smooth', 887, 0.0282)
    """

    name: ClassVar[str] = "noisy-gradient"

    sampler: str = "auto"
    batch: int | None = None
    cap: int | None = None
    steps: int | None = None
    rule: str = "auto"
    step: float | None = None
    momentum: float | None = None
    clip: float | None = None
    adaptive_clip: bool = False
    output: str | None = None
    hidden_state: bool = False
    strength: float | None = None
    norm_guess: float | None = None
    line_search: int = 0
    conservative: bool = False

    def plan(self, problem: Problem, budget: Budget) -> NoisyGradientPlan:
        """Calibrate a run from public values."""
        setting = self.setting(problem, budget)
        return NoisyGradientPlan(problem, budget, setting.config, setting.sampler)

    def setting(self, problem: Problem, budget: Budget) -> GradientSetting:
        """Return what a plan takes from public values before its noise is calibrated.

        >>> from discreet.bounds import Bounds
        >>> from discreet.losses import Logistic
        >>> problem = Problem(loss=Logistic(), bounds=Bounds(row_norm=1.0, classes=(0, 1)),
        ...                   n_features=3, n_rows=1000)
        >>> NoisyGradient().setting(problem, Budget(1.0, 1e-6)).rule.name
        'heavy-ball'
        """
        one_of("sampler", self.sampler, ("auto", *SAMPLERS))
        one_of("rule", self.rule, ("auto", *RULES))
        if self.output is not None:
            one_of("output", self.output, OUTPUTS)
        if self.momentum is not None and not 0.0 <= self.momentum < 1.0:
            raise InvalidParameter(
                f"momentum must be at least 0 and below 1. Got {self.momentum!r} instead."
            )
        if self.hidden_state and self.momentum:
            # privacy: the proof is for plain steps.
            raise Incompatible("hidden_state needs plain steps. Leave momentum out.")
        if problem.n_rows is None:
            raise MissingBound(
                "n_rows is not set. Steps are scaled by the number of rows, which is secret under "
                "add-remove neighbours. Pass n_rows=..., a declared size."
            )
        check_line_search(self, problem, budget)
        self._check_groups(problem)
        if self.sampler == "auto":
            return self._sampled(problem, budget, problem.n_rows)
        sampler = sampler_for(self.sampler, self.batch, self.cap, problem.n_rows)
        if budget.delta == 0 and not (isinstance(sampler, FullBatch) and not self.adaptive_clip):
            raise Incompatible(
                "Without delta only full-batch steps with a fixed clip are accounted for. Pass "
                "delta, or leave sampler and adaptive_clip out."
            )
        return GradientSetting(problem, budget, self, sampler)

    def _check_groups(self, problem: Problem) -> None:
        """Refuse what is proved for single rows only."""
        only = {
            "hidden_state": self.hidden_state,
            "adaptive_clip": self.adaptive_clip,
            "cap": self.cap is not None,
            "sampler='fixed-size'": self.sampler == "fixed-size",
        }
        found = [name for name, given in only.items() if given]
        if problem.grouping is not None and found:
            raise Incompatible(
                f"{found[0]} is proved for single rows, not for groups of them. Leave it out; "
                "Poisson batches draw whole groups."
            )

    def _sampled(self, problem: Problem, budget: Budget, n_rows: int) -> GradientSetting:
        """Return the setting of a run that takes all rows or batches, by the work it is."""
        if self.batch is not None or self.cap is not None:
            return replace(self, sampler="poisson").setting(problem, budget)
        full = replace(self, sampler="full").setting(problem, budget)
        if self.steps is not None or self.hidden_state or budget.delta == 0:
            return full
        rate = batch_rate(n_rows * problem.dimension, full.rule.steps(full.usual_facts))
        rows = rows_of_a_step(rate, n_rows)
        return replace(self, **rows).setting(problem, budget) if "batch" in rows else full


@dataclass(frozen=True)
class NoisyGradientPlan(CalibratedPlan, GradientSetting):
    """A calibrated run of noisy gradient descent."""

    per_group: ClassVar[bool] = True
    clips_groups: ClassVar[bool] = True

    def __post_init__(self) -> None:
        _ = self.hidden  # what it refuses is said first
        super().__post_init__()

    @cached_property
    def line_search(self) -> LineSearch | None:
        """How the length of the weights is fitted, if that is asked for."""
        config = self.config
        if not config.line_search:
            return None
        return LineSearch(
            self.problem, config.line_search, self.multiplier, self.sampler, config.conservative
        )

    @property
    def resolved(self) -> dict[str, Any]:
        """What was left to the plan, as parameters."""
        rows = {"sampler": self.config.sampler, "batch": self.config.batch}
        return {**rows, "rule": self.rule.name, "steps": self.steps, "output": self.output}

    @property
    def sums(self) -> int:
        """Noisy sums of a run: steps and line search."""
        return self.steps + self.config.line_search

    @cached_property
    def facts_of_noise(self) -> Facts:
        """What the step lengths and the bound are computed from, noise as calibrated."""
        return self._facts_for(self.noise.mean_square / self.sampler.rate**2)

    # Noise and its price.

    @cached_property
    def hidden(self) -> HiddenState | None:
        """What was certified for a release of the last iterate only, if that is asked for."""
        return HiddenState.certify(self) if self.config.hidden_state else None

    @cached_property
    def multiplier(self) -> float:
        """Deviation of the noise over the largest norm of one row's part, all steps alike."""
        if self.budget.delta == 0:
            return math.inf  # steps carry gamma noise
        if self.hidden is not None:
            return self.hidden.multiplier
        return self.sampler.multiplier(self.budget, self.sums, self.problem.neighbours)

    def noise_at(self, clip: float) -> GradientNoise:
        """Return the noise of one step for that clip."""
        problem, rows = self.problem, most_rows(self.problem)
        if self.budget.delta == 0:
            return GradientNoise.pure(
                clip,
                self.budget.part(self.budget.epsilon / self.steps).epsilon,
                problem,
                n_rows=rows,
                shifting=self.shifting,
            )
        z = self.multiplier if self.adaptive is None else self.adaptive.rest(self.multiplier)
        return GradientNoise.gaussian(clip, z, problem, n_rows=rows, shifting=self.shifting)

    @cached_property
    def noise(self) -> GradientNoise:
        """The noise of a step, at the first clip if it adapts."""
        return self.noise_at(self.clip)

    @cached_property
    def event(self) -> Event:
        """What all steps cost together."""
        if self.budget.delta == 0:
            return Pure(self.budget.epsilon)
        if self.config.hidden_state:
            return Gaussian(gaussian_multiplier(self.budget.epsilon, self.budget.delta))
        return self.sampler.event(self.multiplier, self.sums, self.problem.neighbours)

    @property
    def algorithm(self) -> str:
        """Name of the algorithm."""
        return self.config.name

    @property
    def guarantee(self) -> Guarantee:
        """What a run of this plan guarantees."""
        theorem = self.sampler.theorem
        assumptions = size_assumed(self.problem)
        if self.budget.delta == 0:
            theorem = "noisy-gradient/gamma"
        if self.config.hidden_state:
            theorem = HiddenState.theorem
            assumptions += HiddenState.assumptions
        return guarantee_for(self, self.event, theorem, *assumptions)

    # Accuracy.

    @cached_property
    def bound(self) -> float:
        """Bound on the expected excess of the regularized objective; infinite when none is known.

        It holds if a minimiser has at most the guessed norm. With a clip below
        the Lipschitz constant it is about the objective with clipped gradients.
        Without a set or penalty the number of rows takes the place of that of the
        weights where it is smaller (Song, Steinke, Thakkar, Thakurta 2021).
        """
        biased = self.clip < self._constants[0] and self.problem.loss.outputs > 1
        biased |= self.config.line_search > 0 or self.config.cap is not None
        biased |= self.problem.clips_groups
        own_way = self.config.step is not None or self.momentum != self.rule.momentum(self.steps)
        if biased or self.config.adaptive_clip or own_way:
            return math.inf
        penalty = self.problem.regularizer.value(self.start)
        penalty += self.added_strength * float(np.sum(self.start**2)) / 2
        penalty /= (1 - self.momentum) * self.steps
        own = self.rule.bound(self.facts_of_noise, self.steps) + penalty
        late = self.output in ("tail", "weighted") and self.rule.proved == "mean"
        own *= 1 if self.output == self.rule.proved else 2 if late else math.inf
        return min(own, self.problem.most_excess(self.clip, self.strength))

    @property
    def expected_excess(self) -> float:
        """Bound on the expected excess risk (sum scale) if good weights have the guessed norm."""
        return self.bound + self.added_strength * self.norm_guess**2 / 2

    def facts(self) -> dict[str, Any]:
        """Public numbers of the plan."""
        return {
            "algorithm": self.algorithm,
            "rule": self.rule.name,
            "steps": self.steps,
            "momentum": self.momentum,
            "rows a step": self.config.sampler,
            "sampling rate": self.sampler.rate,
            **({} if self.config.cap is None else {"most rows a step": self.config.cap}),
            "clip": self.clip,
            "strength": self.strength,
            "noise scale of a step": self.noise.scale,
            "released": OUTPUTS[self.output],
            **({} if self.line_search is None else self.line_search.facts()),
            "norm guess": self.norm_guess,
            "expected excess (sum) <=": self.expected_excess,
        }

    # The run.

    @cached_property
    def prox(self) -> Callable[[Array, float], Array]:
        """The way back to the set, with the penalty."""
        return combined_prox(self.problem.regularizer, self.problem.constraint)

    @releasing
    def run(self, source: Source, random: Randomness) -> Array:
        """Take the steps and release an average of the path."""
        # privacy: float32 margins move steps a little, which the proof for the last iterate, unlike
        # that for noisy sums, does not allow.
        rows = self.problem.bound(source, narrow=not self.config.hidden_state)
        return self.fitted(rows, random)

    @property
    def _coarse(self) -> bool:
        """Whether noise hides what slopes lose in float32, by public values."""
        problem, config = self.problem, self.config
        if config.hidden_state or config.adaptive_clip or not in_range(problem.row_norm):
            return False
        assert problem.n_rows is not None
        heaviest = problem.row_norm * problem.bounds.weight
        return problem.n_rows * heaviest * LOST <= self.noise.scale / 16.0

    def run_together(self, sources: Sequence[Source], random: Randomness) -> list[Array] | None:
        """Return the weights of runs on the same rows with other labels, or None.

        It is for sources that differ in labels alone. Rows are bounded once, and where possible
        all runs read them together; the law is that of one run after the other.
        """
        if type(self).run is not NoisyGradientPlan.run:
            return None
        return run_together(self, sources, random)

    def fitted(self, rows: Rows, random: Randomness) -> Array:
        """Return the weights of one run on bounded rows."""
        assert self.problem.n_rows is not None
        rate = self.sampler.rate
        values = self.steps * rate * self.problem.n_rows * self.problem.dimension
        work = work_of(values, batches=rate < 1.0)
        # privacy: as above; the proof for the last iterate is for the sums themselves.
        with sums_over(
            self.problem,
            rows,
            self.problem.loss,
            shifting=self.shifting,
            work=work,
            again=not self.config.hidden_state,
            coarse=self._coarse,
        ) as sums:
            weights = descend(self, rows, sums, random)
        if self.line_search is not None:
            weights = self.line_search.fitted(rows, weights, random)
        return self.problem.constraint.project(weights)
