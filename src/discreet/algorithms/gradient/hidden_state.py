"""The noise that suffices when only the last iterate is released.

Theorem (Bok, Su, Altschuler 2024, shifted interpolation). Let every step be
``w - step * (gradient + noise)``, perhaps projected, with the same step below
``2 / B`` for an objective that is convex, ``B``-smooth and ``m``-strongly convex
for both neighbours, ``s`` the sensitivity of the gradient, ``sigma`` the noise
and ``c = max(|1 - step m|, |1 - step B|)``. After ``T`` steps the last iterate is
as private as one Gaussian release with shift

- ``(s/sigma) sqrt((1 - c^T)(1 + c) / ((1 + c^T)(1 - c)))`` if ``c < 1``;
- ``min over t <= T of (diameter + t step s) / (sqrt(t) step sigma)`` if every
  iterate is projected on a set of that diameter;

and never more than ``sqrt(T) s / sigma``. Convexity and smoothness are privacy
assumptions here, so the method is opt-in and refused where they are unproved.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from discreet.accounting import gaussian_multiplier
from discreet.algorithms.gradient.step_rules import RULES
from discreet.bounds import rows_apart
from discreet.checks import positive
from discreet.errors import Incompatible
from discreet.mechanisms.batches import FullBatch

if TYPE_CHECKING:
    from discreet.algorithms.gradient.noisy_gradient import NoisyGradientPlan


def strong_factor(contraction: float, steps: int) -> float:
    """Return ``shift * sigma / s`` after ``steps`` steps that contract by that factor.

    >>> round(strong_factor(0.9, 10), 6), round(strong_factor(0.99, 10**9), 6)
    (3.029147, 14.106736)
    """
    if contraction >= 1:
        return math.inf
    power = contraction**steps
    return math.sqrt((1 - power) * (1 + contraction) / ((1 + power) * (1 - contraction)))


def convex_factor(diameter: float, step: float, sensitivity: float, steps: int) -> float:
    """Return ``shift * sigma / s`` after ``steps`` projected steps.

    >>> round(convex_factor(1.0, 1.0, 1.0, 100), 6)
    2.0
    """
    if not math.isfinite(diameter):
        return math.inf
    t = np.arange(1, steps + 1)
    return float(np.min((diameter / (step * sensitivity) + t) / np.sqrt(t)))


@dataclass(frozen=True)
class HiddenState:
    """The certified step and the multiplier that suffices with it."""

    step: float
    multiplier: float
    theorem: ClassVar[str] = "noisy-gradient/hidden-state"
    assumptions: ClassVar[tuple[str, ...]] = (
        "the loss is convex and as smooth as it declares",
        "nothing but the last iterate is seen: no earlier iterate, log or timing",
        "noise inside the steps counts as real numbers; its rounding is not covered",
    )

    @classmethod
    def certify(cls, plan: NoisyGradientPlan) -> HiddenState:
        """Check every assumption and return the noise, or refuse with the reason."""
        problem, config = plan.problem, plan.config
        smoothness = plan._constants[1]
        refusals = {
            "the number of rows must be public": problem.neighbours == "add-remove",
            "it needs full-batch steps": not isinstance(plan.sampler, FullBatch),
            "it needs delta > 0": plan.budget.delta == 0,
            "the clip must be fixed": config.adaptive_clip,
            "steps must be constant (rule 'smooth')": config.rule not in ("auto", "smooth"),
            "only the last iterate may be released": config.output not in (None, "last"),
            "the loss must be smooth": not math.isfinite(smoothness),
            "clipping a loss of several outputs breaks convexity": problem.loss.outputs > 1,
            "the penalty must be a ridge": not problem.regularizer.kernel.smooth,
        }
        for reason, broken in refusals.items():
            if broken:
                raise Incompatible(f"hidden_state is refused: {reason}.")
        assert problem.n_rows is not None
        # privacy: smoothness of the whole objective, with a margin for the rounding of its parts
        whole = (problem.n_rows * smoothness + plan.strength) * (1 + 2.0**-40)
        step = config.step
        if step is None:
            facts = plan.usual_facts
            step = min(RULES["smooth"].size(facts, plan.steps, 0, 0.0), 1 / (2 * whole))
        if not positive("step", step) < 2 / whole:
            raise Incompatible(
                f"hidden_state needs step < 2/smoothness = {2 / whole:.6g}; beyond it steps may "
                "move neighbouring runs apart."
            )
        apart = rows_apart(problem.neighbours)
        contraction = max(abs(1 - step * plan.strength), abs(1 - step * whole))
        diameter = problem.constraint.diameter(problem.dimension)
        factor = min(
            math.sqrt(plan.steps),
            strong_factor(contraction, plan.steps) if plan.strength > 0 else math.inf,
            convex_factor(diameter, step, apart * plan.clip, plan.steps),
        )
        one = gaussian_multiplier(plan.budget.epsilon, plan.budget.delta)
        return cls(step, apart * factor * one * (1 + 2.0**-40))
