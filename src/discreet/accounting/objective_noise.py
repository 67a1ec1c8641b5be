"""Objective perturbation with Gaussian noise: how much noise, and what it costs.

The noisy objective is ``sum of losses + (strength/2)|w|^2 + <b, w>`` with
``b ~ N(0, sigma^2 I)``. Each :class:`Mode` is one theorem: it bounds the
hockey-stick divergence of the run with a record over the run without it
(``appear``) and the reverse (``vanish``). Everything else follows from these.
Gamma noise, for pure epsilon, is in :mod:`discreet.accounting.gamma`.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np

from discreet.accounting.curves import (
    anchored,
    folded_rdp,
    kinked_rdp,
    logistic_noise,
    through_common,
)
from discreet.accounting.events import Curve, register
from discreet.accounting.gaussian_profile import (
    folded_profile,
    gaussian_multiplier,
    gaussian_profile,
    lowered,
    smallest_feasible,
)
from discreet.accounting.terms import LossTerms, kappa
from discreet.bounds import NEIGHBOURS, Array, Neighbours, rows_apart
from discreet.checks import between, one_of, positive
from discreet.errors import BudgetTooSmall, Incompatible, InvalidParameter

MOST_NOISE = 1e12
"""Noise, in lengths of the longest gradient, beyond which no calibration is looked for."""

MOST_VERTICES, MOST_LENGTHS = 100_000, 100
"""How many vertices of gradients an event that is read may have, and of how many lengths."""


@register("objective-perturbation")
@dataclass(frozen=True, kw_only=True)
class ObjectivePerturbation(Curve):
    """The exact minimiser of a randomly tilted, strongly convex objective.

    Examples
    --------
    >>> terms = LossTerms.logistic(radius=1.0)
    >>> event = MODES["logistic"].event(terms, 3.730631634816, 1.0, "zero-out")
    >>> round(event.delta(1.0), 12)
    1e-05
    """

    mode: str
    terms: LossTerms
    sigma: float
    strength: float
    neighbours: Neighbours

    def __post_init__(self) -> None:
        object.__setattr__(self, "sigma", positive("sigma", self.sigma))
        object.__setattr__(self, "strength", positive("strength", self.strength))
        rule = MODES[one_of("mode", self.mode, MODES)]
        if reason := rule.refusal(self.terms, self.neighbours):
            raise Incompatible(f"Mode {self.mode!r} cannot be used: {reason}.")

    @property
    def shift(self) -> float:
        """The longest gradient in units of the noise."""
        return self.terms.lipschitz / self.sigma

    def profile(self, epsilons: Array) -> Array:
        return MODES[self.mode].profile(self, epsilons)

    def rdp(self, order: float) -> float:
        return MODES[self.mode].rdp(self, order)

    def to_dict(self) -> dict[str, Any]:
        return super().to_dict() | {"terms": self.terms.to_dict()}

    @classmethod
    def from_fields(cls, values: dict[str, Any]) -> ObjectivePerturbation:
        terms = LossTerms(**values["terms"])
        if len(terms.vertices) > MOST_VERTICES or len(set(terms.vertices)) > MOST_LENGTHS:
            raise InvalidParameter(
                f"Terms are read with at most {MOST_VERTICES:,} vertices of at most "
                f"{MOST_LENGTHS:,} different lengths."
            )
        return cls(**(values | {"terms": terms}))


class Mode(ABC):
    """One way to calibrate objective perturbation, resting on one theorem.

    Examples
    --------
    >>> terms = LossTerms.logistic(radius=1.0)
    >>> rule = MODES["logistic"]
    >>> strength = rule.floor(terms, 1.0, "zero-out")
    >>> round(rule.sigma(terms, 1.0, 1e-5, strength, "zero-out"), 6)
    3.730632
    """

    name: ClassVar[str]
    theorem: ClassVar[str]
    polytopes: ClassVar[bool] = False

    def proof(self, terms: LossTerms) -> str:
        """Return the name of the theorem that holds for a loss of these terms."""
        return self.theorem if terms.scalar else "objective-perturbation/vertices"

    def refusal(self, terms: LossTerms, neighbours: str) -> str | None:
        """Return why this mode cannot be used, or None."""
        one_of("neighbours", neighbours, NEIGHBOURS)
        if not math.isfinite(terms.smoothness + terms.trace):
            return "objective perturbation needs a loss with bounded curvature"
        if terms.scalar or (self.polytopes and terms.vertices):
            return None
        return (
            "with Gaussian noise it is proved only for losses of one inner product"
            + (" or with gradients in a fixed polytope" if self.polytopes else "")
            + "; for other losses use pure epsilon (delta = 0)"
        )

    @abstractmethod
    def needed(self, terms: LossTerms, epsilon: float, neighbours: str) -> float:
        """Return the strength below which this mode has no calibration at ``epsilon``."""

    def floor(self, terms: LossTerms, epsilon: float, neighbours: str) -> float:
        """Return the smallest strength worth using at ``epsilon``."""
        return self.needed(terms, epsilon, neighbours)

    @abstractmethod
    def cost(self, terms: LossTerms, strength: float) -> float:
        """Return the epsilon from which on ``appear`` is known directly."""

    @abstractmethod
    def appear(self, at: ObjectivePerturbation, epsilons: Array) -> Array:
        """Bound the divergence of the run with the record over the run without it."""

    @abstractmethod
    def vanish(self, at: ObjectivePerturbation, epsilons: Array) -> Array:
        """Bound the divergence of the run without the record over the run with it."""

    @abstractmethod
    def rdp(self, at: ObjectivePerturbation, order: float) -> float:
        """Return a Renyi bound of that order, or infinity."""

    def profile(self, at: ObjectivePerturbation, epsilons: Array) -> Array:
        """Return a bound on delta at each nonnegative epsilon."""
        if at.neighbours == "replace-one":
            return through_common(
                lambda e: self.appear(at, e),
                lambda e: self.vanish(at, e),
                epsilons,
                self.cost(at.terms, at.strength),
            )
        return np.maximum(self.appear(at, epsilons), self.vanish(at, epsilons))

    def sigma(
        self,
        terms: LossTerms,
        epsilon: float,
        delta: float,
        strength: float,
        neighbours: Neighbours,
    ) -> float:
        """Return the smallest standard deviation of the noise for (epsilon, delta)."""
        return _sigma(self, terms, epsilon, delta, strength, neighbours)

    def _sigma(
        self,
        terms: LossTerms,
        epsilon: float,
        delta: float,
        strength: float,
        neighbours: Neighbours,
    ) -> float:
        epsilon, delta = positive("epsilon", epsilon), between("delta", delta, 0, 1)
        # Built first so that a refused loss says so before any number is blamed.
        self.event(terms, terms.lipschitz, strength, neighbours)
        needed = self.needed(terms, epsilon, neighbours)

        def achieved(ratio: float) -> float:
            return self.event(terms, ratio * terms.lipschitz, strength, neighbours).delta(epsilon)

        if strength < needed * (1 - 1e-12):
            raise BudgetTooSmall(
                f"Strength {strength:.6g} leaves no room at epsilon {epsilon:g} in mode "
                f"{self.name!r}: one record's curvature alone would use it up. Use a strength "
                f"above {needed:.6g}, a larger epsilon or smaller row bounds."
            )
        # About as much as hides the gradient alone.
        start = min(rows_apart(neighbours) * gaussian_multiplier(epsilon, delta), MOST_NOISE)
        found = smallest_feasible(achieved, lowered(delta), limit=MOST_NOISE, start=start)
        if math.isinf(found):
            # No number is quoted: a plan passes a part of the budget and a strength of its own.
            raise BudgetTooSmall(
                f"Mode {self.name!r} has no calibration at so small an epsilon and delta: no noise "
                f"of up to {MOST_NOISE:g} gradients is enough. Use a larger epsilon, delta or "
                "strength."
            )
        return found * terms.lipschitz

    def event(
        self, terms: LossTerms, sigma: float, strength: float, neighbours: Neighbours
    ) -> ObjectivePerturbation:
        """Return what a run with this noise and strength costs."""
        return ObjectivePerturbation(
            mode=self.name, terms=terms, sigma=sigma, strength=strength, neighbours=neighbours
        )


@lru_cache(maxsize=256)
def _sigma(
    mode: Mode,
    terms: LossTerms,
    epsilon: float,
    delta: float,
    strength: float,
    neighbours: Neighbours,
) -> float:
    """Remember noise that was calibrated before: plans ask for the same again."""
    return mode._sigma(terms, epsilon, delta, strength, neighbours)


class Sharp(Mode):
    """The exact reduction to one dimension, paying the Jacobian in one direction only."""

    name = "sharp"
    theorem = "objective-perturbation/sharp"
    polytopes = True

    def needed(self, terms: LossTerms, epsilon: float, neighbours: str) -> float:
        return terms.strength_for(epsilon)

    def floor(self, terms: LossTerms, epsilon: float, neighbours: str) -> float:
        return terms.strength_for(epsilon / 10)

    def cost(self, terms: LossTerms, strength: float) -> float:
        return terms.jacobian(strength)

    def appear(self, at: ObjectivePerturbation, epsilons: Array) -> Array:
        start = self.cost(at.terms, at.strength)
        return anchored(lambda e: _tails(at, e - start), epsilons, start)

    def vanish(self, at: ObjectivePerturbation, epsilons: Array) -> Array:
        if at.terms.one_signed or not at.terms.scalar:
            return _tails(at, epsilons)
        # privacy: a slope of either sign lets the noise choose its worse side.
        curves = {
            slope: gaussian_profile(epsilons, slope / at.sigma) for slope in set(at.terms.slopes)
        }
        low, high = (curves[slope] for slope in at.terms.slopes)
        plain = curves.get(at.terms.lipschitz)
        return np.minimum(folded_profile(epsilons, at.shift, plain), low + high)

    def rdp(self, at: ObjectivePerturbation, order: float) -> float:
        if not at.terms.scalar:
            return math.inf
        cost = at.terms.jacobian(at.strength)
        if at.neighbours == "replace-one":
            return cost + folded_rdp(2 * at.shift, order)
        appear = cost + kinked_rdp(0.0, at.shift, order)
        return appear if at.terms.one_signed else max(folded_rdp(at.shift, order), appear)


class LogisticMode(Sharp):
    """Little Jacobian cost, and none from strength R^2/epsilon on.

    Where the record has the share ``q`` of its steepest slope, its loss is at most
    ``q x + log(1 + kappa q (1 - q))``, with ``x`` the loss of the Gaussian mechanism
    and ``kappa = R^2/strength``. The largest over ``q`` rises with ``x``, and by no
    more than ``x`` does, so delta is the Gaussian one at the ``x`` that reaches epsilon.
    """

    name = "logistic"
    theorem = "objective-perturbation/logistic"

    def refusal(self, terms: LossTerms, neighbours: str) -> str | None:
        if not (terms.self_bounded and terms.scalar):
            return "it needs the unmodified logistic loss with hard labels"
        return super().refusal(terms, neighbours)

    def floor(self, terms: LossTerms, epsilon: float, neighbours: str) -> float:
        return max(
            rows_apart(neighbours) * kappa(terms, epsilon), self.needed(terms, epsilon, neighbours)
        )

    def appear(self, at: ObjectivePerturbation, epsilons: Array) -> Array:
        # privacy: the slope of the bound in x is at most 1, so beyond the x that reaches
        # epsilon the loss grows no faster than the one of the Gaussian mechanism.
        bent = _tails(at, logistic_noise(epsilons, kappa(at.terms, at.strength)))
        # Below the cost of the curvature alone the chord from epsilon = -inf is shorter.
        if np.all(epsilons >= self.cost(at.terms, at.strength)):
            return bent
        return np.minimum(bent, super().appear(at, epsilons))

    def rdp(self, at: ObjectivePerturbation, order: float) -> float:
        sharp = super().rdp(at, order)
        if at.neighbours == "replace-one":
            return sharp
        return min(sharp, kinked_rdp(kappa(at.terms, at.strength), at.shift, order))


class Folded(Mode):
    """Redberg, Koskela and Wang 2023, with the Jacobian cost made tight."""

    name = "rkw23-tight"
    theorem = "objective-perturbation/rkw23"

    def needed(self, terms: LossTerms, epsilon: float, neighbours: str) -> float:
        # Their bound pays the Jacobian in both directions, so a replacement pays it twice.
        return self.strength_for(terms, epsilon / rows_apart(neighbours))

    def strength_for(self, terms: LossTerms, cost: float) -> float:
        """Return the strength at which the Jacobian cost of this bound is ``cost``."""
        return terms.strength_for(cost)

    def floor(self, terms: LossTerms, epsilon: float, neighbours: str) -> float:
        return self.needed(terms, epsilon / 10, neighbours)

    def cost(self, terms: LossTerms, strength: float) -> float:
        return terms.jacobian(strength)

    def appear(self, at: ObjectivePerturbation, epsilons: Array) -> Array:
        cost = self.cost(at.terms, at.strength)
        if math.isinf(cost):
            return np.ones_like(epsilons)
        return folded_profile(epsilons - cost, at.shift)

    vanish = appear

    def rdp(self, at: ObjectivePerturbation, order: float) -> float:
        shift = at.shift * rows_apart(at.neighbours)
        return self.cost(at.terms, at.strength) + folded_rdp(shift, order)


class Published(Folded):
    """Redberg, Koskela and Wang 2023 as printed: the strength must exceed the smoothness."""

    name = "rkw23"

    def strength_for(self, terms: LossTerms, cost: float) -> float:
        return -terms.smoothness / math.expm1(-cost)

    def cost(self, terms: LossTerms, strength: float) -> float:
        ratio = terms.smoothness / strength
        return -math.log1p(-ratio) if ratio < 1 else math.inf


class Kifer(Mode):
    """Kifer, Smith and Thakurta 2012, which stands for losses of one inner product."""

    name = "kst12"
    theorem = "objective-perturbation/kst12"

    def needed(self, terms: LossTerms, epsilon: float, neighbours: str) -> float:
        return 2 * terms.smoothness / epsilon

    def cost(self, terms: LossTerms, strength: float) -> float:
        return 2 * terms.smoothness / strength

    def appear(self, at: ObjectivePerturbation, epsilons: Array) -> Array:
        # privacy: a replacement moves the gradient twice as far.
        shift = at.shift * rows_apart(at.neighbours)

        def curve(e: Array) -> Array:
            exponent: Array = np.clip(e / 2 - (e / shift) ** 2 / 8, -690.0, 0.0)
            return np.asarray(np.minimum(2 * np.exp(exponent), 1.0))

        return anchored(curve, epsilons, self.cost(at.terms, at.strength))

    vanish = appear

    def profile(self, at: ObjectivePerturbation, epsilons: Array) -> Array:
        return self.appear(at, epsilons)

    def rdp(self, at: ObjectivePerturbation, order: float) -> float:
        return math.inf


MODES: dict[str, Mode] = {
    mode.name: mode for mode in (LogisticMode(), Sharp(), Folded(), Published(), Kifer())
}
"""The calibrations of Gaussian objective perturbation, best first."""


def best_mode(terms: LossTerms, neighbours: str) -> str:
    """Return the mode with the least noise that applies.

    >>> best_mode(LossTerms.logistic(radius=1.0), "zero-out")
    'logistic'
    """
    for name, mode in MODES.items():
        if mode.refusal(terms, neighbours) is None:
            return name
    reason = MODES["sharp"].refusal(terms, neighbours)
    raise Incompatible(f"Objective perturbation cannot be used: {reason}.")


def _tails(at: ObjectivePerturbation, epsilons: Array) -> Array:
    """Sum the Gaussian curves of the gradient's extreme points."""
    if at.terms.scalar:
        return gaussian_profile(epsilons, at.shift)
    lengths = at.terms.vertices
    total = np.zeros_like(epsilons)
    for length in set(lengths):
        total += lengths.count(length) * gaussian_profile(epsilons, length / at.sigma)
    return np.minimum(total, 1.0)
