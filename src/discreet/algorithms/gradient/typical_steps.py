"""Steps for losses with corners: constant, with momentum, and no longer than noise allows.

Descent along noisy gradients has one number that matters, its *time* ``t``: the
sum of its step lengths. With ``s`` the noise of one release in each direction,
noise moves an iterate by ``s sqrt(t / 2 h)`` where the data curves by ``h``. With
rows of norm one, predictions move as much: the loss one descends is blurred by
it, whatever the average of the path is. On the other hand a direction is fitted
only if ``h t`` is well above one. The time at which both go equally well does not
depend on ``h``: it is a constant over ``s``, here ``CORNER_PREDICTION``. So no guess of the
norm of good weights is needed; one that is given sets the time instead, such
that noise alone would carry weights that far. Where noise outweighs the rows
(``NOISE_SHARE``), and where rows are so many that noise sets no limit (``CORNER_TIME``), the
time is shorter.

Momentum: the gradient is taken at a moving average of the iterates, which keeps
a part ``m`` of itself. Without a set or penalty that is the heavy ball. Steps
``(1 + m) / (1 - m)`` times longer are stable then, so that a few hundred do.

Bound. With ``z`` the iterates and ``w`` their moving averages, ``z_k - w_k`` is
``m / (1 - m)`` times ``w_k - w_(k-1)``. So the inequality of a proximal step, ``sum_k
<g_k, z_k - w*> + r(z_(k+1)) - r(w*) <= D^2 / (2 step) + step T G^2 / 2``, is by
convexity one for ``sum_k F(w_k) - F(w*)`` and ``m / (1 - m)`` times the telescoping
sum of ``F(w_k) - F(w_(k-1))``, up to ``r`` at the start: ``w`` lies on segments between
points whose penalty was counted. The mean of the ``w_k`` has at most ``D^2 / (2 step
T) + step G^2 / 2`` plus ``(m n L D + r(w_0)) / ((1 - m) T)``.
"""

from __future__ import annotations

import math

from discreet.algorithms.gradient.step_rules import Facts, Lipschitz, StepRule
from discreet.tuned.algorithms import (
    CORNER_FEATURES,
    CORNER_FEWEST,
    CORNER_MOST,
    CORNER_PREDICTION,
    CORNER_SHARPNESS,
    CORNER_TIME,
    CORNER_WINDOWS,
    NOISE_SHARE,
)


class Typical(StepRule):
    """For any convex loss of bounded slope, corners included.

    >>> facts = Facts(n_rows=30_000, dimension=100, lipschitz=1.0, smoothness=math.inf,
    ...               strength=0.0, distance=60.0, reach=60.0, unit=100 * 4.2**2, growth=1)
    >>> round(Lipschitz().steps(facts)), round(Typical().steps(facts)), Typical().momentum(600)
    (510204, 1134, 0.9)
    """

    name = "typical"
    constant = True
    average = "weighted"

    def momentum(self, steps: int) -> float:
        return max(0.0, 1.0 - CORNER_WINDOWS / steps)

    def time(self, facts: Facts, steps: int) -> float:
        """Return the sum of the step lengths, if none is too long."""
        n, p = facts.n_rows, facts.dimension
        noise = math.sqrt(facts.noise(steps) / steps)
        seen = min(CORNER_PREDICTION * math.sqrt(p), NOISE_SHARE * n * facts.lipschitz / noise)
        aim = min(facts.distance, facts.margin * seen)
        return min(aim / noise, CORNER_TIME * max(p, CORNER_FEATURES) / (n * facts.bend))

    def steps(self, facts: Facts) -> float:
        most, steps = min(CORNER_MOST, Lipschitz().steps(facts)), float(CORNER_FEWEST)
        # Noise that is not Gaussian grows with the number of steps, and shortens the time.
        for _ in range(20):
            time, sharp = self.time(facts, math.ceil(steps)), CORNER_SHARPNESS[facts.target]
            length = time * facts.n_rows * facts.bend * sharp
            steps = min(max(CORNER_FEWEST, math.sqrt(CORNER_WINDOWS * length / 2)), most)
        return steps

    def size(self, facts: Facts, steps: int, k: int, seen: float) -> float:
        m = self.momentum(steps)
        stable = (1 + m) / (1 - m) / (facts.n_rows * facts.bend * CORNER_SHARPNESS[facts.target])
        return min(self.time(facts, steps) / steps, stable)

    def bound(self, facts: Facts, steps: int) -> float:
        size, m = self.size(facts, steps, 0, 0.0), self.momentum(steps)
        square = facts.square(steps, ridge=False)
        drift = m / (1 - m) * facts.n_rows * facts.lipschitz * facts.distance
        return (facts.distance**2 / (2 * size) + drift) / steps + size * square / 2
