"""Step rules: how many steps, how long, and which average is released.

Every number here is computed from public facts, so it costs no privacy. The
bounds are for the sum of the losses plus the penalty, ``F``. Rules with momentum
are in :mod:`~discreet.algorithms.gradient.typical_steps` (corners) and
:mod:`~discreet.algorithms.gradient.heavy_ball` (smooth losses).

===================  ====================  =====================================
rule                 step                  expected ``F - min F`` at most
===================  ====================  =====================================
``lipschitz``        ``D / (G sqrt(T))``   ``D G / sqrt(T)``
``smooth``           ``min(A / sqrt(2 T    ``D^2 / (2 step T) + step V``
                     V), 1/(2 n beta))``
``accelerated``      ``c (k + 1)``, ``c <=  ``D^2 / (c T (T + 1)) + c V (2 T + 1)
                     1/(4 n beta)``        / (6 (1 - 2 c n beta))``
``strongly-convex``  ``2 / (m (k + 2))``   ``2 G^2 / (m (T + 1))``
``adaptive``         ``R / sqrt(2 sum of   ``(5 / sqrt(2)) R G / sqrt(T)``
                     squared norms)``
===================  ====================  =====================================

``V`` is the variance of the noisy gradient and ``G^2 = (n L)^2 + V`` bounds its
mean square (with the gradient of the ridge term where that is not taken by its
prox); ``D`` bounds the distance from the start to a minimiser, ``R`` the norm of an
iterate, and ``A <= D`` is as far as the noise lets one go; ``c`` is ``A sqrt(3 / (V T
(T + 1) (2 T + 1)))`` if that is shorter. The bound is for the mean of the iterates
before their step, for ``smooth`` after; for ``strongly-convex`` and ``accelerated``
iterate ``k`` has weight ``k + 1``. No iterate is better than the minimum, so that
mean, and the mean of the last half, have at most twice the bound of the plain
mean for the other rules; both forget the start sooner.

``accelerated`` takes the gradient between the iterate and the weighted mean of
the iterates so far (Lan 2012). Proof of its bound: with ``a = 2/(t+1)`` for step
``t = k + 1`` the usual inequality of one step, divided by ``2/(t (t+1))``, telescopes,
since ``t`` over the step is constant; the noise costs ``t`` times the step times ``V``
over ``2 (1 - 2 c n beta)``, after Young's inequality against what smoothness leaves.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

from discreet.tuned.algorithms import (
    BATCH_RATE,
    BATCH_WORK,
    BLUR,
    FEWEST_PASSES,
    MOST_PASSES,
    NOISE_SHARE,
    PASS_WORK,
    SMOOTH_SHARE,
    STABLE,
)


def affordable(size: float) -> float:
    """Return the most steps a default run takes if each costs ``size`` products.

    >>> affordable(1e5), affordable(1e12)
    (5000, 300)
    """
    return max(FEWEST_PASSES, min(MOST_PASSES, PASS_WORK / size))


def batch_rate(size: float, steps: float) -> float:
    """Return the part of the rows a step may take if all of them cost ``size`` products.

    >>> batch_rate(1e6, 1500), batch_rate(1e8, 1500), batch_rate(1e9, 1500), batch_rate(1e9, 100)
    (1.0, 0.06666666666666667, 0.02, 1.0)
    """
    steps = min(steps, MOST_PASSES)
    return 1.0 if steps <= affordable(size) else max(BATCH_WORK / (size * steps), BATCH_RATE)


@dataclass(frozen=True, kw_only=True)
class Facts:
    """Public facts about the noisy gradients of a problem.

    ``noise(steps)`` is the variance of one noisy gradient: ``unit * steps**growth``
    plus ``sampling``, growth 1 for Gaussian and 2 for pure noise. ``margin`` is the
    norm of weights that may move a prediction by one; infinite where the norm of
    good weights is known. ``span_share`` is the part of the noise that can move predictions
    of the rows: without a set or penalty, what lies outside their span cannot. ``bend``
    is what the loss of one row curves by if its slope turns while the prediction moves
    by one, and ``target`` what labels are.
    """

    n_rows: int
    dimension: int
    lipschitz: float
    smoothness: float
    strength: float
    distance: float
    reach: float
    unit: float
    growth: int
    sampling: float = 0.0
    margin: float = math.inf
    span_share: float = 1.0
    bend: float = 1.0
    target: str = "sign"

    def noise(self, steps: int) -> float:
        return float(self.unit * steps**self.growth + self.sampling)

    def felt(self, steps: int) -> float:
        """Return the part of the variance that a bound depends on."""
        return float(self.span_share * self.unit * steps**self.growth + self.sampling)

    def aim(self, steps: int, share: float = NOISE_SHARE) -> float:
        """Return how far to go: to good weights, or as far as noise lets one see.

        Weights of norm ``A`` take noise of that norm. It costs at most ``A`` times
        the noise of all steps together, and moves the prediction of a row that
        points in no special direction by ``A / sqrt(p)`` margins.
        """
        price = math.sqrt(self.noise(steps) / steps) / self.lipschitz
        seen = SMOOTH_SHARE[self.target] * share * self.n_rows / price
        blind = BLUR[self.target] * math.sqrt(self.dimension)
        return min(self.distance, self.margin * max(seen, blind))

    def square(self, steps: int, *, ridge: bool) -> float:
        if ridge:
            slope = self.n_rows * self.lipschitz + self.strength * self.reach
            return slope**2 + self.noise(steps)
        return (self.n_rows * self.lipschitz) ** 2 + self.felt(steps)


class StepRule(ABC):
    """How steps are taken."""

    name: ClassVar[str]
    ridge_in_gradient: ClassVar[bool] = False
    after_step: ClassVar[bool] = False
    extrapolates: ClassVar[bool] = False
    proved: ClassVar[str] = "mean"
    average: ClassVar[str] = "mean"
    constant: ClassVar[bool] = False
    """Whether all steps are equally long."""
    remembers: ClassVar[bool] = False
    """Whether lengths depend on the gradients that were seen."""

    @abstractmethod
    def steps(self, facts: Facts) -> float:
        """Return the number of steps beyond which nothing is gained."""

    @abstractmethod
    def bound(self, facts: Facts, steps: int) -> float:
        """Return the bound on the expected excess of the average it is ``proved`` for."""

    @abstractmethod
    def size(self, facts: Facts, steps: int, k: int, seen: float) -> float:
        """Return the length of step ``k``; ``seen`` is the sum of squared norms so far."""

    def momentum(self, steps: int) -> float:
        """Return the part of the moving average of iterates that a step keeps."""
        return 0.0

    def refusal(self, facts: Facts) -> str | None:
        """Return why the rule does not apply."""
        return None


def _matching(facts: Facts, unit: float) -> float:
    """Return the number of steps at which noise of this unit is as large as the gradient."""
    ratio = facts.n_rows * facts.lipschitz / math.sqrt(unit)
    return float(ratio ** (2 / facts.growth))


class Lipschitz(StepRule):
    """For any convex loss of bounded slope."""

    name = "lipschitz"
    constant = True

    def steps(self, facts: Facts) -> float:
        return _matching(facts, facts.span_share * facts.unit)

    def bound(self, facts: Facts, steps: int) -> float:
        return facts.distance * math.sqrt(facts.square(steps, ridge=False) / steps)

    def size(self, facts: Facts, steps: int, k: int, seen: float) -> float:
        return facts.distance / math.sqrt(facts.square(steps, ridge=False) * steps)


class Smooth(StepRule):
    """For losses with a Lipschitz gradient.

    The plain mean, which the bound is proved for, keeps more of the way from the start.
    """

    name = "smooth"
    constant = True
    after_step = True
    average = "weighted"

    def steps(self, facts: Facts) -> float:
        scale = math.sqrt(2 / facts.unit) * facts.n_rows * facts.smoothness
        steps = (scale * facts.distance) ** (2 / (facts.growth + 1))
        # How far one can see depends on noise, and noise on the number of steps.
        for _ in range(20):
            aim = facts.aim(math.ceil(steps))
            steps = (scale * aim) ** (2 / (facts.growth + 1))
        return float(steps)

    def size(self, facts: Facts, steps: int, k: int, seen: float) -> float:
        best = facts.aim(steps) / math.sqrt(2 * steps * facts.noise(steps))
        return min(best, 1 / (2 * facts.n_rows * facts.smoothness))

    def bound(self, facts: Facts, steps: int) -> float:
        size = self.size(facts, steps, 0, 0.0)
        return facts.distance**2 / (2 * size * steps) + size * facts.felt(steps)

    def refusal(self, facts: Facts) -> str | None:
        if math.isfinite(facts.smoothness) and facts.smoothness > 0:
            return None
        return "the loss has corners, so its gradient is not Lipschitz"


class Accelerated(Smooth):
    """For losses with a Lipschitz gradient, in about the root of as many steps.

    It averages noise less well on most data, so it serves where steps are dear.
    """

    name = "accelerated"
    constant = False
    extrapolates = True
    proved = "weighted"

    def steps(self, facts: Facts) -> float:
        scale = math.sqrt(1.5 / facts.unit) * 4 * facts.n_rows * facts.smoothness * facts.distance
        return float(scale ** (2 / (facts.growth + 3)))

    def size(self, facts: Facts, steps: int, k: int, seen: float) -> float:
        cubic = steps * (steps + 1) * (2 * steps + 1)
        best = facts.aim(steps) * math.sqrt(3 / (facts.noise(steps) * cubic))
        # Longer steps than the proof allows if there are too few to get far with those.
        return (k + 1) * min(best, STABLE / (4 * facts.n_rows * facts.smoothness))

    def bound(self, facts: Facts, steps: int) -> float:
        first = self.size(facts, steps, 0, 0.0)
        if 4 * first * facts.n_rows * facts.smoothness > 1:
            return math.inf
        rest = 6 * (1 - 2 * first * facts.n_rows * facts.smoothness)
        drift = facts.distance**2 / (first * steps * (steps + 1))
        return drift + first * facts.felt(steps) * (2 * steps + 1) / rest


class StronglyConvex(StepRule):
    """For objectives with a ridge term; late iterates count more."""

    name = "strongly-convex"
    ridge_in_gradient = True
    proved = "weighted"
    average = "weighted"

    def steps(self, facts: Facts) -> float:
        return _matching(facts, facts.unit)

    def bound(self, facts: Facts, steps: int) -> float:
        return 2 * facts.square(steps, ridge=True) / (facts.strength * (steps + 1))

    def size(self, facts: Facts, steps: int, k: int, seen: float) -> float:
        return 2 / (facts.strength * (k + 2))

    def refusal(self, facts: Facts) -> str | None:
        if facts.strength > 0:
            return None
        return "there is no ridge term; give a strength or a Ridge regularizer"


class Adaptive(StepRule):
    """Steps shrink with the noisy gradients seen: for a Lipschitz constant that is far off."""

    name = "adaptive"
    remembers = True
    ridge_in_gradient = True

    def steps(self, facts: Facts) -> float:
        return _matching(facts, facts.unit)

    def bound(self, facts: Facts, steps: int) -> float:
        # (B^2 / (2 a) + a) G / sqrt(T) with B = 2 R and a = R / sqrt(2). Twice that a is better in
        # the worst case by a fifth, and doubles what noise moves everywhere else.
        spread = 5 / math.sqrt(2) * facts.reach
        return spread * math.sqrt(facts.square(steps, ridge=True) / steps)

    def size(self, facts: Facts, steps: int, k: int, seen: float) -> float:
        return facts.reach / math.sqrt(2 * seen) if seen > 0 else 0.0


RULES: dict[str, StepRule] = {
    rule.name: rule
    for rule in (
        Accelerated(),
        Smooth(),
        StronglyConvex(),
        Lipschitz(),
        Adaptive(),
    )
}
"""The step rules without momentum, by name."""
