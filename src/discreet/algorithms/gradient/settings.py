"""What noisy gradient descent does where nothing was said: clip, rule, steps, average.

All of it is computed from the problem, the budget and the configuration, so it
costs no privacy.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from discreet.accounting import Budget, gaussian_multiplier
from discreet.algorithms.gradient.adaptive_clip import AdaptiveClip
from discreet.algorithms.gradient.heavy_ball import HeavyBall
from discreet.algorithms.gradient.step_rules import RULES as PLAIN
from discreet.algorithms.gradient.step_rules import Facts, StepRule, affordable
from discreet.algorithms.gradient.typical_steps import Typical
from discreet.bounds import Array
from discreet.checks import integer, nonnegative, positive
from discreet.errors import Incompatible, InvalidParameter, MissingBound
from discreet.mechanisms.batches import Sampler
from discreet.problem import Problem, norm_guess_of

if TYPE_CHECKING:
    from discreet.algorithms.gradient.noisy_gradient import NoisyGradient

RULES: dict[str, StepRule] = {HeavyBall.name: HeavyBall(), Typical.name: Typical()} | PLAIN
"""The step rules by name, with and without momentum."""


LEAST_CLIP = 1e-50
"""Smallest clip, in row norms."""


@dataclass(frozen=True)
class GradientSetting:
    """A problem, a budget and a configuration whose gaps are filled from public facts."""

    problem: Problem
    budget: Budget
    config: NoisyGradient
    sampler: Sampler

    @cached_property
    def clip(self) -> float:
        """Largest norm of one row's part in a sum; the first one if it adapts."""
        if self.config.clip is not None:
            # Squares of smaller ones vanish.
            if positive("clip", self.config.clip) < LEAST_CLIP * self.problem.row_norm:
                raise InvalidParameter(
                    f"clip must be at least {LEAST_CLIP:g} of the row norm, or nothing is left of "
                    f"the gradients. Got {self.config.clip!r} instead."
                )
            return float(self.config.clip)
        if self.problem.loss.target == "index":
            # The full constant would spare the few worst rows, at 41 % more noise.
            return self.problem.bounds.weight * self.problem.typical_norm
        if math.isfinite(self._constants[0]):
            return self._constants[0]
        label = self.problem.bounding.label_bound
        if not math.isfinite(label):
            return self.problem.terms.lipschitz  # raises, and says what is missing
        # Residuals beyond the label's own range count linearly.
        return self.problem.bounds.weight * self.problem.row_norm * label

    @cached_property
    def adaptive(self) -> AdaptiveClip | None:
        """How the clip moves, if it does."""
        if not self.config.adaptive_clip:
            return None
        assert self.problem.n_rows is not None
        return AdaptiveClip(batch=self.sampler.rate * self.problem.n_rows)

    @property
    def shifting(self) -> bool:
        """Whether rows of neighbours may stand at different positions of a sum."""
        return self.sampler.shifting or self.problem.size_is_declared

    @cached_property
    def _constants(self) -> tuple[float, float]:
        """Lipschitz constant and smoothness of one row's loss; may be infinite."""
        try:
            return self.problem.terms.lipschitz, self.problem.terms.smoothness
        except MissingBound:
            r = self.problem.loss.regularity(
                label=self.problem.bounding.label_bound, reach=math.inf
            )
            scale = self.problem.bounds.weight * self.problem.row_norm**2
            return math.inf, scale * r.smoothness

    @cached_property
    def strength(self) -> float:
        """Total strong convexity of the objective."""
        asked = 0.0 if self.config.strength is None else self.config.strength
        return max(nonnegative("strength", asked), self.problem.regularizer.strong_convexity)

    @property
    def added_strength(self) -> float:
        """What the regularizer lacks of that."""
        return self.strength - self.problem.regularizer.strong_convexity

    @cached_property
    def norm_guess(self) -> float:
        """Public guess of the norm of good weights."""
        return norm_guess_of(self.problem, self.config.norm_guess)

    @cached_property
    def start(self) -> Array:
        """Where the path starts: the point of the set nearest to zero."""
        return self.problem.constraint.project(np.zeros(self.problem.shape))

    @cached_property
    def rule(self) -> StepRule:
        """The step rule."""
        facts = self.usual_facts
        if self.config.hidden_state:
            return RULES["smooth"]
        if self.config.rule != "auto":
            rule = RULES[self.config.rule]
            reason = self._refusal(rule, facts)
            if reason is not None:
                raise Incompatible(f"The {rule.name} rule does not apply: {reason}.")
            return rule
        if self._refusal(RULES["smooth"], facts) is not None:
            # Steps are made for gradients as they are on most data, not for the longest ones.
            return RULES["typical"]
        proved = [RULES[name] for name in ("smooth", "accelerated", "strongly-convex")]
        proved = [r for r in proved if self._refusal(r, facts) is None]
        best = min(proved, key=lambda r: r.bound(facts, self._steps_of(r, facts)))
        # Bounds are for weights of the guessed norm. Where no set says so, noise says better
        # how far to go; and momentum is good where time does not allow the steps a bound needs.
        # Pure noise pays for every step, so that the rule of the smallest bound has fewest.
        smooth = RULES["smooth"]
        enough = smooth.steps(facts) <= 2 * self._steps_of(smooth, facts)
        if self.budget.delta == 0 or (self._norm_is_known and enough):
            return best
        # Far fewer steps than momentum needs are used best by acceleration.
        heavy = RULES["heavy-ball"]
        few = heavy.steps(facts) > 2 * self._steps_of(heavy, facts)
        return RULES["accelerated"] if few else heavy

    @property
    def _norm_is_known(self) -> bool:
        """Whether the set is no larger than the guess."""
        return self.problem.constraint.radius(self.problem.dimension) <= self.norm_guess

    def _refusal(self, rule: StepRule, facts: Facts) -> str | None:
        if rule.ridge_in_gradient and not self.problem.regularizer.kernel.smooth:
            return "it takes the penalty by its gradient, which has corners"
        return rule.refusal(facts)

    @cached_property
    def usual_facts(self) -> Facts:
        """What a rule, and the steps it asks for, are chosen from: noise as it usually is."""
        return self._facts_for(None)

    @property
    def _span_share(self) -> float:
        """Part of the noise that lies in the span of the rows, at most, where only that counts."""
        n, p = self.problem.n_rows, self.problem.dimension
        free = self.problem.constraint.whole_space and self.strength == 0.0
        free &= self.problem.regularizer.zero and self.problem.loss.outputs == 1
        if not free or n is None or self.problem.size_is_declared:
            return 1.0
        return min(n, p) / p

    def _facts_for(self, noise: float | None) -> Facts:
        """Facts with the usual noise, or with the variance of noise that is known."""
        n, p = self.problem.n_rows, self.problem.dimension
        assert n is not None
        radius = self.problem.constraint.radius(p)
        centre = float(np.linalg.norm(self.start))
        clip = min(self.clip, self._constants[0])
        pure = self.budget.delta == 0
        if pure:
            multiplier, spread = 1 / self.budget.epsilon, p * (p + 1)
        else:
            multiplier = gaussian_multiplier(self.budget.epsilon, self.budget.delta)
            spread = p
        apart = self.problem.apart
        usual = norm_guess_of(self.problem, None)
        return Facts(
            n_rows=n,
            dimension=p,
            lipschitz=clip,
            smoothness=self._constants[1],
            strength=self.strength,
            distance=min(self.problem.constraint.diameter(p), self.norm_guess + centre),
            reach=min(radius, self.norm_guess + centre),
            unit=spread * (apart * self.clip * multiplier) ** 2 if noise is None else noise,
            growth=(2 if pure else 1) if noise is None else 0,
            sampling=self.sampler.variance(n, clip),
            span_share=self._span_share,
            # Noise is let carry weights as much further as good ones are longer than usual.
            margin=max(1.0, self.norm_guess / usual) / self.problem.row_norm,
            bend=clip * self.problem.row_norm,
            target=self.problem.loss.target,
        )

    def _steps_of(self, rule: StepRule, facts: Facts) -> int:
        if self.config.steps is not None:
            return integer("steps", self.config.steps)
        size = facts.n_rows * self.problem.dimension * self.sampler.rate
        return max(1, math.ceil(min(rule.steps(facts), affordable(size))))

    @cached_property
    def steps(self) -> int:
        """Number of steps."""
        return self._steps_of(self.rule, self.usual_facts)

    @cached_property
    def momentum(self) -> float:
        """Part of the last direction that a step keeps."""
        if self.config.momentum is not None:
            return self.config.momentum
        # A length of the user's own is for plain steps unless they say otherwise.
        return self.rule.momentum(self.steps) if self.config.step is None else 0.0

    @cached_property
    def output(self) -> str:
        """Which average of the path is released."""
        if self.config.hidden_state:
            return "last"
        return self.rule.average if self.config.output is None else self.config.output
