"""Step rules: how many steps, how long, and which average is released.

Every number here is computed from public facts, so it costs no privacy. The
bounds are for the sum of the losses plus the penalty, ``F``:

===================  ====================  =====================================
rule                 step                  expected ``F - min F`` at most
===================  ====================  =====================================
``lipschitz``        ``D / (G sqrt(T))``   ``D G / sqrt(T)``
``smooth``           ``min(D / sqrt(2 T    ``D^2 / (2 step T) + step V``
                     V), 1/(2 n beta))``
``strongly-convex``  ``2 / (m (k + 2))``   ``2 G^2 / (m (T + 1))``
``typical``          ``D / sqrt(T (V +     ``D^2 / (2 step T) + step G^2 / 2``
                     (n L / 4)^2))``
``adaptive``         ``R / sqrt(2 sum of   ``(5 / sqrt(2)) R G / sqrt(T)``
                     squared norms)``
===================  ====================  =====================================

``V`` is the variance of the noisy gradient and ``G^2 = (n L)^2 + V`` bounds its
mean square (with the gradient of the ridge term where that is not taken by its
prox); ``D`` bounds the distance from the start to a minimiser, ``R`` the norm of an
iterate. The average is over iterates before their step, for ``smooth`` after.
The mean of the last half of the iterates has at most twice the bound.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

from discreet.types import Array

SHORTER = 4.0
"""How much shorter than its bound the gradient of all rows is expected to be.

Chosen among 1, 4 and 10 on two synthetic problems (hinge and absolute loss, 20,000 rows).
Only accuracy depends on it.
"""


@dataclass(frozen=True, kw_only=True)
class Facts:
    """Public facts about the noisy gradients of a problem.

    ``noise(steps)`` is the variance of one noisy gradient: ``unit * steps**growth``
    plus ``sampling``, growth 1 for Gaussian and 2 for pure noise.
    """

    n_rows: int
    lipschitz: float
    smoothness: float
    strength: float
    distance: float
    reach: float
    unit: float
    growth: int
    sampling: float = 0.0

    def noise(self, steps: int) -> float:
        return float(self.unit * steps**self.growth + self.sampling)

    def square(self, steps: int, *, ridge: bool) -> float:
        slope = self.strength * self.reach if ridge else 0.0
        return (self.n_rows * self.lipschitz + slope) ** 2 + self.noise(steps)


class Rule(ABC):
    """How steps are taken."""

    name: ClassVar[str]
    ridge_in_gradient: ClassVar[bool] = False
    after_step: ClassVar[bool] = False
    average: ClassVar[str] = "mean"

    @abstractmethod
    def steps(self, facts: Facts) -> float:
        """Return the number of steps beyond which nothing is gained."""

    @abstractmethod
    def bound(self, facts: Facts, steps: int) -> float:
        """Return the bound on the expected excess of the rule's own average."""

    @abstractmethod
    def size(self, facts: Facts, steps: int, k: int, seen: float) -> float:
        """Return the length of step ``k``; ``seen`` is the sum of squared norms so far."""

    def refusal(self, facts: Facts) -> str | None:
        """Return why the rule does not apply."""
        return None


class Lipschitz(Rule):
    """For any convex loss of bounded slope."""

    name = "lipschitz"

    def steps(self, facts: Facts) -> float:
        ratio = facts.n_rows * facts.lipschitz / math.sqrt(facts.unit)
        return float(ratio ** (2 / facts.growth))

    def bound(self, facts: Facts, steps: int) -> float:
        return facts.distance * math.sqrt(facts.square(steps, ridge=False) / steps)

    def size(self, facts: Facts, steps: int, k: int, seen: float) -> float:
        return facts.distance / math.sqrt(facts.square(steps, ridge=False) * steps)


class Typical(Rule):
    """As ``lipschitz``, made for gradients that are much shorter than their bound."""

    name = "typical"

    def steps(self, facts: Facts) -> float:
        return Lipschitz().steps(facts)

    def size(self, facts: Facts, steps: int, k: int, seen: float) -> float:
        expected = (facts.n_rows * facts.lipschitz / SHORTER) ** 2 + facts.noise(steps)
        return facts.distance / math.sqrt(expected * steps)

    def bound(self, facts: Facts, steps: int) -> float:
        size = self.size(facts, steps, 0, 0.0)
        square = facts.square(steps, ridge=False)
        return facts.distance**2 / (2 * size * steps) + size * square / 2


class Smooth(Rule):
    """For losses with a Lipschitz gradient."""

    name = "smooth"
    after_step = True

    def steps(self, facts: Facts) -> float:
        scale = math.sqrt(2 / facts.unit) * facts.n_rows * facts.smoothness * facts.distance
        return float(scale ** (2 / (facts.growth + 1)))

    def size(self, facts: Facts, steps: int, k: int, seen: float) -> float:
        best = facts.distance / math.sqrt(2 * steps * facts.noise(steps))
        return min(best, 1 / (2 * facts.n_rows * facts.smoothness))

    def bound(self, facts: Facts, steps: int) -> float:
        size = self.size(facts, steps, 0, 0.0)
        return facts.distance**2 / (2 * size * steps) + size * facts.noise(steps)

    def refusal(self, facts: Facts) -> str | None:
        if math.isfinite(facts.smoothness) and facts.smoothness > 0:
            return None
        return "the loss has corners, so its gradient is not Lipschitz"


class StronglyConvex(Rule):
    """For objectives with a ridge term; late iterates count more."""

    name = "strongly-convex"
    ridge_in_gradient = True
    average = "weighted"

    def steps(self, facts: Facts) -> float:
        return Lipschitz().steps(facts)

    def bound(self, facts: Facts, steps: int) -> float:
        return 2 * facts.square(steps, ridge=True) / (facts.strength * (steps + 1))

    def size(self, facts: Facts, steps: int, k: int, seen: float) -> float:
        return 2 / (facts.strength * (k + 2))

    def refusal(self, facts: Facts) -> str | None:
        if facts.strength > 0:
            return None
        return "there is no ridge term; give a strength or a Ridge regularizer"


class Adaptive(Rule):
    """Steps shrink with the noisy gradients seen: for a Lipschitz constant that is far off."""

    name = "adaptive"
    ridge_in_gradient = True

    def steps(self, facts: Facts) -> float:
        return Lipschitz().steps(facts)

    def bound(self, facts: Facts, steps: int) -> float:
        # (B^2 / (2 a) + a) G / sqrt(T) with B = 2 R and a = R / sqrt(2). Twice that a is better in
        # the worst case by a fifth, and doubles what noise moves everywhere else.
        spread = 5 / math.sqrt(2) * facts.reach
        return spread * math.sqrt(facts.square(steps, ridge=True) / steps)

    def size(self, facts: Facts, steps: int, k: int, seen: float) -> float:
        return facts.reach / math.sqrt(2 * seen) if seen > 0 else 0.0


RULES: dict[str, Rule] = {
    rule.name: rule for rule in (Smooth(), StronglyConvex(), Typical(), Lipschitz(), Adaptive())
}
"""The step rules by name."""

OUTPUTS: dict[str, str] = {
    "mean": "the mean of all iterates",
    "tail": "the mean of the last half of the iterates",
    "weighted": "a mean in which iterate k has weight k + 1",
    "last": "the last iterate",
}
"""What may be released of a path."""


class Average:
    """One of ``OUTPUTS``, kept up to date in the memory of one iterate.

    >>> import numpy as np
    >>> mean = Average("tail", 4)
    >>> for k in range(4):
    ...     mean.add(k, np.array([float(k)]))
    >>> mean.value
    array([2.5])
    """

    def __init__(self, output: str, steps: int) -> None:
        self.output, self.steps = output, steps
        self._mass = 0.0
        self.value: Array | float = 0.0

    def add(self, k: int, point: Array) -> None:
        """Take in iterate ``k``."""
        share = {
            "mean": 1.0,
            "tail": float(k >= self.steps // 2),
            "weighted": k + 1.0,
            "last": float(k == self.steps - 1),
        }[self.output]
        if share:
            self._mass += share
            self.value = self.value + (point - self.value) * (share / self._mass)
