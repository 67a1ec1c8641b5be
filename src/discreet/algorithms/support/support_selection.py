"""Two stages: choose a few features privately, then fit on them alone.

The first stage spends a share of the budget on a support, the second the rest
on a fit restricted to it; adaptive composition adds the two. Neither stage's
privacy needs the truth to be sparse.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from scipy import stats
from scipy.integrate import quad

from discreet.accounting import Budget, Composed, Guarantee
from discreet.accounting.theorems import theorems
from discreet.algorithms.frank_wolfe import assumptions, rounded_rows
from discreet.algorithms.gradient import NoisyGradient
from discreet.algorithms.perturbation import ObjectivePerturbation
from discreet.algorithms.support.restriction import Columns, restricted
from discreet.algorithms.support.scored import Exponential, Forward
from discreet.algorithms.support.setting import Selector, Setting
from discreet.algorithms.support.votes import Stability, Votes
from discreet.bounds import Array
from discreet.checks import between, integer, one_of, positive
from discreet.data import Source
from discreet.errors import Incompatible, InvalidParameter, MissingBound
from discreet.mechanisms.signed_choice import Index
from discreet.noise import Randomness
from discreet.problem import (
    Algorithm,
    CalibratedPlan,
    Plan,
    Problem,
    guarantee_for,
    releasing,
)
from discreet.tuned.algorithms import SUPPORT_SIZE

VOTE_NOISES = ("laplace", "gumbel", "gaussian")
SELECTORS: dict[str, type[Forward] | type[Votes]] = {
    "votes": Votes,
    "exponential": Exponential,
    "forward": Forward,
    "stability": Stability,
}


@dataclass(frozen=True, kw_only=True)
class SupportSelection:
    """Fit on a privately chosen support.

    Parameters
    ----------
    selector
        ``"votes"`` (blocks of rows vote), ``"exponential"`` (all supports),
        ``"forward"`` (one feature after the other) or ``"stability"`` (blocks
        have to agree; may answer that there is no stable support, and then all
        weights are zero).
    size
        Number of features to choose; 5, or all if there are fewer.
    share
        Share of the budget spent on the choice.
    blocks
        Number of blocks that vote, public; the root of ``n_rows`` by default.
    noise
        Noise on votes: ``"laplace"``, ``"gumbel"`` or ``"gaussian"``; by default
        the last with a delta, the second without.
    noise_level
        Public guess of the labels' noise in the scaled domain, for the LASSO
        of a block.
    radius
        Radius of the ball over which scores minimise the squared error.
    strength, norm_guess
        Passed to the second stage: objective perturbation, or noisy gradients where groups
        are protected with a delta. Groups take the voting selectors alone.

    Examples
    --------
    >>> from discreet.losses import Huber
    >>> from discreet.bounds import Bounds
    >>> problem = Problem(loss=Huber(), bounds=Bounds(features=(-1, 1), label=(-1, 1)),
    ...                   n_features=20, n_rows=1000)
    >>> plan = SupportSelection(selector="forward", size=2).plan(problem, Budget(1.0, 1e-6))
    >>> [f"{name} {budget.epsilon}" for name, budget in plan.stages.items()]
    ['support 0.5', 'fit 0.5']
    """

    name: ClassVar[str] = "support-selection"

    selector: str = "votes"
    size: int | None = None
    share: float = 0.5
    blocks: int | None = None
    noise: str | None = None
    noise_level: float = 0.05
    radius: float = 1.0
    strength: float | None = None
    norm_guess: float | None = None

    def plan(self, problem: Problem, budget: Budget) -> SupportSelectionPlan:
        """Calibrate both stages from public values."""
        one_of("selector", self.selector, SELECTORS)
        if problem.loss.outputs != 1:
            raise Incompatible("support-selection needs a loss of one output.")
        if problem.n_rows is None:
            raise MissingBound(
                "n_rows is not set. Blocks and the rounding of scores depend on it, and the true "
                "size is secret under add-remove neighbours. Pass n_rows=..., a declared size."
            )
        noise = one_of("noise", self.noise or _usual_noise(budget), VOTE_NOISES)
        stages = self.stages(budget)
        setting = Setting(
            size=self._size(problem),
            n_features=problem.n_features,
            budget=stages["support"],
            neighbours=problem.neighbours,
            blocks=self._blocks(problem.n_rows),
            noise=noise,
            noise_level=positive("noise_level", self.noise_level),
            radius=positive("radius", self.radius),
            label=problem.bounding.label_bound,
            range_of_one=self._largest_loss(problem),
            most_rows=rounded_rows(problem),
        )
        selector = SELECTORS[self.selector](setting)
        if problem.grouping is not None and not isinstance(selector, Votes):
            raise Incompatible(
                f"selector={self.selector!r} protects single rows, and no proof for groups of rows "
                "is known. Use selector='votes', or leave rows_per_group out."
            )
        algorithm = self._fitting(problem, stages["fit"])
        plan = SupportSelectionPlan(problem, budget, selector, setting, stages["fit"], algorithm)
        _ = plan.guarantee  # whatever is wrong with the calibration shows before any row is read
        return plan

    def stages(self, budget: Budget) -> dict[str, Budget]:
        """Return what the choice and the fit may cost each."""
        first, second = budget.split(between("share", self.share, 0, 1))
        if self.selector == "votes" and self.noise == "laplace":
            first, second = Budget(first.epsilon), replace(second, delta=budget.delta)
        return {"support": first, "fit": second}

    def _fitting(self, problem: Problem, budget: Budget) -> Algorithm:
        """Return the second stage: one that can protect what is to be protected."""
        given = {"strength": self.strength, "norm_guess": self.norm_guess}
        # privacy: with Gaussian noise objective perturbation is not proved for groups with shares.
        if problem.clips_groups or (problem.grouping is not None and budget.delta > 0):
            return NoisyGradient(**given)  # type: ignore[arg-type]  # both are numbers or None
        return ObjectivePerturbation(**given)  # type: ignore[arg-type]

    def _size(self, problem: Problem) -> int:
        if self.size is None:
            return min(SUPPORT_SIZE, problem.n_features)
        if integer("size", self.size) > problem.n_features:
            raise InvalidParameter(
                f"size must be at most the number of features, {problem.n_features}."
            )
        return self.size

    def _blocks(self, n_rows: int) -> int:
        return max(1, math.isqrt(n_rows)) if self.blocks is None else integer("blocks", self.blocks)

    def _largest_loss(self, problem: Problem) -> float:
        """Largest half squared residual of a restricted row over the ball."""
        body = restricted(problem, np.arange(self._size(problem))).row_norm
        label = problem.bounding.label_bound
        if not math.isfinite(label):
            raise MissingBound(
                "label is not set. One row's squared error, and with it the noise of the choice, "
                "grows with the label. Pass Bounds(label=(low, high))."
            )
        # privacy: any prediction within reach against any admissible label, weight included.
        return 0.5 * problem.bounds.weight * (label + self.radius * body) ** 2 * (1 + 2.0**-40)


def _usual_noise(budget: Budget) -> str:
    return "gaussian" if budget.delta > 0 else "gumbel"


@dataclass(frozen=True)
class SupportSelectionPlan(CalibratedPlan):
    """A calibrated choice of a support and a fit on it."""

    algorithm: ClassVar[str] = SupportSelection.name
    per_group: ClassVar[bool] = True
    clips_groups: ClassVar[bool] = True

    problem: Problem
    budget: Budget
    selector: Selector
    setting: Setting
    rest: Budget
    fitting: Algorithm = field(default_factory=ObjectivePerturbation)

    @property
    def stages(self) -> dict[str, Budget]:
        """What each stage may cost."""
        return {"support": self.setting.budget, "fit": self.rest}

    @cached_property
    def fit(self) -> Plan:
        """The second stage for some support; its constants are those of every support."""
        first = np.arange(self.setting.size)
        return self.fitting.plan(restricted(self.problem, first), self.rest)

    def _fit(self, support: Index) -> Plan:
        problem = restricted(self.problem, support)
        same = problem == self.fit.problem
        return self.fit if same else self.fitting.plan(problem, self.rest)

    @cached_property
    def guarantee(self) -> Guarantee:
        """What a run of this plan guarantees."""
        fit = self.fit.guarantee
        return guarantee_for(
            self,
            Composed((self.selector.event, fit.event)),
            theorems("support-selection", "composition/fixed", fit.theorem),
            *fit.assumptions,
            *assumptions(self.problem),
            *(
                f"stage {name!r} costs epsilon = {b.epsilon:g}, delta = {b.delta:g}"
                for name, b in self.stages.items()
            ),
        )

    @property
    def expected_excess(self) -> float:
        """Bound on the expected excess of the fit (sum scale) on the best support."""
        return self.fit.expected_excess

    def facts(self) -> dict[str, Any]:
        """Public numbers of the plan."""
        return {
            "algorithm": self.algorithm,
            "selector": type(self.selector).__name__.lower(),
            "support size": self.setting.size,
            **self.selector.facts(),
            **{f"fit: {k}": v for k, v in self.fit.facts().items()},
        }

    @releasing
    def run(self, source: Source, random: Randomness) -> Array:
        """Choose a support, then fit on it."""
        support = self.selector.select(self.problem.bound(source), random)
        weights = np.zeros(self.problem.shape)
        # privacy: without a stable support there is no fit, and no other way to a support.
        if support is not None:
            fitted = self._fit(support).run(Columns(source, support), random).weights
            weights[support] = fitted[: len(support)]
            weights[self.problem.n_features :] = fitted[len(support) :]
        return weights


def recovery_probability(
    *, size: int, n_features: int, blocks: int, scale: float, noise: str = "laplace"
) -> float:
    """Return the chance that noisy votes find the support all blocks agree on.

    Parameters
    ----------
    size, n_features, blocks
        Number of features voted for, of features, and of blocks.
    scale, noise
        Noise on a count: ``"laplace"``, ``"gumbel"`` or ``"gaussian"``.

    Examples
    --------
    >>> round(recovery_probability(size=3, n_features=50, blocks=60, scale=6.0), 6)
    0.989648
    """
    laws = {"laplace": stats.laplace, "gumbel": stats.gumbel_r, "gaussian": stats.norm}
    law = laws[one_of("noise", noise, VOTE_NOISES)](scale=positive("scale", scale))
    others = integer("n_features", n_features) - integer("size", size)
    if others <= 0:
        return 1.0

    def density(z: float) -> float:
        # The largest of the others is at z, and every chosen one is above it.
        return float(others * law.cdf(z) ** (others - 1) * law.pdf(z) * law.sf(z - blocks) ** size)

    low, high = float(law.ppf(1e-14)), float(law.isf(1e-14)) + blocks
    marks = np.unique(np.clip([0.0, float(law.isf(1.0 / others)), blocks], low, high))
    value, _ = quad(density, low, high, points=marks.tolist(), limit=500)
    return min(1.0, float(value))
