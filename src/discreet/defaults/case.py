"""What a default is chosen from: the problem, the budget and what was asked for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, is_dataclass
from functools import cached_property
from typing import Any

import numpy as np

from discreet.accounting import Budget
from discreet.losses import CalibratedLogistic
from discreet.problem import (
    Algorithm,
    CalibratedPlan,
    Plan,
    Problem,
    rows_against_noise,
    usual_norm,
)
from discreet.tuned.defaults import FAINT, REGIONS, Region

CALIBRATED_CLIP = "calibrated_clip"
"""Setting that fits the calibrated logistic loss of that clip in place of the logistic one."""

CORNER_WIDTH = "corner_width"
"""Setting that fits a loss with its corner rounded by that width, by objective perturbation."""


LEARNED_CLIP = "learned-clip"
"""Name of two runs of a regression, the second of which clips residuals by what the first says."""

COUNTED_ROWS = "counted-rows"
"""Name of a noisy count of the rows, before the plan for so many."""


@dataclass(frozen=True, kw_only=True)
class Asked:
    """What the user stated; None is not stated.

    Parameters
    ----------
    algorithm
        ``"auto"``, the name of an algorithm, or an instance of one.
    settings
        Parameters of an algorithm given by name, ``calibrated_clip`` and ``corner_width``.
    strength
        Ridge strength, on the sum scale.
    norm_guess
        Guess of the norm of good weights.
    alone
        Whether nothing else shares the budget: no ledger, no other fit of the same rows, no
        second mechanism. Noise that composes badly may then serve.
    free_clip
        Whether the clip of residuals of a squared loss is left to the plan.
    counts
        Whether a part of the budget may go to a count of the rows, where their number is secret.
        No curve is known of what follows, so it is not for fits that add up.
    """

    algorithm: str | Algorithm = "auto"
    settings: Mapping[str, Any] | None = None
    strength: float | None = None
    norm_guess: float | None = None
    alone: bool = True
    free_clip: bool = False
    counts: bool = True

    @property
    def parameters(self) -> dict[str, Any]:
        """What any algorithm is told: a penalty of zero is none."""
        given = {"norm_guess": self.norm_guess, "strength": self.strength or None}
        return {name: value for name, value in given.items() if value is not None}


@dataclass(frozen=True)
class Case:
    """A problem, a budget and what was asked for, with the facts that rules turn on."""

    problem: Problem
    budget: Budget
    asked: Asked = Asked()

    @cached_property
    def rows_per_noise(self) -> float:
        """Number of rows over the norm of noise that hides one of them."""
        return rows_against_noise(self.problem, self.budget)

    @cached_property
    def region(self) -> Region:
        """The part of the axis that the case is in."""
        return next((r for r in REGIONS if self.rows_per_noise < r.below), REGIONS[-1])

    @cached_property
    def unhindered(self) -> bool:
        """Whether penalty and set are too weak to tell how long weights will be.

        A penalty counts by its slope at weights of norm one, against the noise; a set by the
        norms it allows, against the usual guess. So no penalty, one of zero and one that is
        very small lead to the same plan, and so do no set and a very large one.
        """
        problem = self.problem
        if problem.n_rows is None or not problem.constraint.closed_form:
            return False
        unit = np.zeros(problem.shape)
        unit.flat[0] = 1.0
        slope = problem.regularizer.value(unit) + problem.regularizer.strong_convexity / 2
        slope += self.asked.strength or 0.0
        faint = slope * self.rows_per_noise < FAINT * problem.n_rows
        return faint and problem.constraint.radius(problem.dimension) > usual_norm(problem)

    @cached_property
    def _made(self) -> list[tuple[Algorithm, Problem, Plan]]:
        return []

    def planned(self, algorithm: Algorithm, problem: Problem | None = None) -> Plan:
        """Return the plan with what it takes to ask for it again; rules may ask for the same."""
        problem = self.problem if problem is None else problem
        for other, where, plan in self._made:
            if where is problem and type(other) is type(algorithm) and other == algorithm:
                return plan
        plan = self._planned(algorithm, problem)
        self._made.append((algorithm, problem, plan))
        return plan

    def _planned(self, algorithm: Algorithm, problem: Problem) -> Plan:
        plan = algorithm.plan(problem, self.budget)
        if not isinstance(plan, CalibratedPlan):
            return plan
        held: tuple[Any, ...] = fields(algorithm) if is_dataclass(algorithm) else ()
        given = {f.name: getattr(algorithm, f.name) for f in held}
        settings = {f.name: given[f.name] for f in held if given[f.name] != f.default}
        settings |= {k: v for k, v in getattr(plan, "resolved", {}).items() if v is not None}
        if isinstance(problem.loss, CalibratedLogistic) and problem.loss != self.problem.loss:
            settings[CALIBRATED_CLIP] = problem.loss.clip
        return plan.explained(settings=settings)


Recommend = Callable[[Problem, Budget, Asked], Plan]
"""What plans a run for what was asked."""
