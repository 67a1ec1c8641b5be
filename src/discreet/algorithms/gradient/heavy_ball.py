"""Steps with momentum on a smooth loss: as far as noise lets one see, in a few hundred steps.

Descent along noisy gradients has one number that matters, its *time*: the sum
of the lengths of its steps. Directions in which the data curves by more than
one over the time are fitted, the others are left alone. However the time is
cut into steps, full-batch noise moves the weights equally far, and averaging
the path leaves as little of it as one noisy solve would. So the time is set
by the noise, and steps need only be short enough not to swing.

A step keeps the part ``m`` of the last direction (heavy ball). Slow directions
do not notice, and steps ``(1 + m) / (1 - m)`` times longer are stable. With
``1 - m`` a fixed multiple of ``1 / T`` the number of steps ``T`` grows as the
root of what plain descent needs, for the same noise. No bound on the excess is
proved for steps that long.
"""

from __future__ import annotations

import math

from discreet.algorithms.gradient.step_rules import Facts, Smooth
from discreet.tuned.algorithms import (
    HEAVY_BALL_SHARE,
    HEAVY_BALL_STEPS,
    HEAVY_BALL_TIME,
    HEAVY_BALL_WINDOWS,
)


class HeavyBall(Smooth):
    """For smooth losses: plain steps in effect, but far fewer.

    >>> facts = Facts(n_rows=30_000, dimension=100, lipschitz=1.0, smoothness=0.25, strength=0.0,
    ...               distance=60.0, reach=60.0, unit=100 * 4.2**2, growth=1, margin=1.0)
    >>> round(Smooth().steps(facts)), round(HeavyBall().steps(facts))
    (15152, 332)
    """

    name = "heavy-ball"

    def momentum(self, steps: int) -> float:
        """Return the part of the last direction that a step keeps."""
        return 1.0 - HEAVY_BALL_WINDOWS / max(steps, HEAVY_BALL_STEPS)

    def time(self, facts: Facts, steps: int) -> float:
        """Return the sum of all steps: where noise alone would carry weights as far as aimed."""
        n, p = facts.n_rows, facts.dimension
        noise = math.sqrt(facts.noise(steps) / steps)
        return min(
            facts.aim(steps, HEAVY_BALL_SHARE) / noise, HEAVY_BALL_TIME * p / (n * facts.smoothness)
        )

    def steps(self, facts: Facts) -> float:
        steps = float(HEAVY_BALL_STEPS)
        # Noise of batches, and pure noise, is not the same however the time is cut.
        for _ in range(20):
            length = self.time(facts, math.ceil(steps)) * facts.n_rows * facts.smoothness
            # As many as it takes at the longest stable size, which grows with their number.
            root = math.sqrt(1.0 + 8.0 * length / HEAVY_BALL_WINDOWS)
            steps = max(HEAVY_BALL_STEPS, HEAVY_BALL_WINDOWS / 4.0 * (1.0 + root))
        return steps

    def size(self, facts: Facts, steps: int, k: int, seen: float) -> float:
        m = self.momentum(steps)
        # Planned for half of what is stable if all rows point one way, at the largest curvature of
        # each; nearly all of it where there are fewer steps than that asks for.
        stable = 1.8 * (1.0 + m) / (1.0 - m) / (facts.n_rows * facts.smoothness)
        return min(self.time(facts, steps) / steps, stable)

    def bound(self, facts: Facts, steps: int) -> float:
        return math.inf
