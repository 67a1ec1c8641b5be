"""Least squares: a Gaussian law cut to the region, drawn exactly.

Coordinates are drawn one after the other from their conditional normal laws,
each rounded exactly to the lattice, so the probability of a proposal is a known
product. It is nearly the one wanted; the exact ratio decides, as in every
sampler here. Proposals outside the region cost no pass over the data. If most
fall outside, the tangent envelope takes over: switching is allowed at any time,
because every round accepts a point with the same chance ratio.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from mpmath import mp, mpf

from discreet.noise import Gaussian, Grid, Randomness
from discreet.samplers.tangent_envelope import TangentEnvelope
from discreet.samplers.target import Target, accepts
from discreet.types import Array

ROUNDS = 64
"""Proposals before the tangent envelope takes over."""

LEAST_SPREAD = 2.0**22
"""Smallest standard deviation in lattice steps for which the error bound below holds."""

_WHOLE = Grid(step=1.0, reach=0.0)


class TruncatedGaussian:
    """Draws from a target whose score is quadratic.

    Parameters
    ----------
    target
        What is sampled.
    matrix
        Second derivative of the score. If it is not what it claims to be, draws
        take longer or raise; it cannot change the law.

    Examples
    --------
    >>> from discreet.noise import Seeded
    >>> from discreet.samplers import Region
    >>> from discreet.sets import Box
    >>> sharp = Target(Region.of(Box(), (1,)), lambda w: (500 * w[0] ** 2, 1000 * w), 1e-6)
    >>> bool(abs(TruncatedGaussian(sharp, np.array([[1000.0]])).draw(Seeded(0))[0]) < 0.3)
    True
    """

    def __init__(self, target: Target, matrix: Array) -> None:
        self._target, self._fallback = target, None
        region = target.region
        start = region.points(region.counts // 2)
        _, gradient = target.evaluate(start)
        steps = matrix * np.outer(region.step, region.step)
        try:
            self._factor = np.linalg.cholesky(steps)
            shift = np.linalg.solve(steps, gradient * region.step)
        except np.linalg.LinAlgError:
            self._fallback = TangentEnvelope(target)
            return
        spread = 1.0 / np.diag(self._factor)
        middle = start / region.step - shift
        far = np.abs(middle) + 64.0 * np.abs(np.linalg.inv(self._factor)).sum(axis=0)
        if spread.min() < LEAST_SPREAD or not far.max() < 2.0**50:
            self._fallback = TangentEnvelope(target)
            return
        self._middle, self._spread = middle, spread
        self._noises = [Gaussian(float(s), _WHOLE) for s in spread]
        # The quadratic score at its own minimum fixes the scale of the acceptance.
        self._lowest, slope = target.evaluate(np.rint(middle) * region.step)
        tilt = float(np.abs(slope * region.step) @ (far - np.abs(middle)))
        if tilt > 2.0**-12 or np.linalg.cond(self._factor) > 1e3:
            # Too badly conditioned to trust the computed minimum as the highest point.
            self._fallback = TangentEnvelope(target)
            return
        self._target = Target(region, target.evaluate, target.slack + 2.0**-10)

    def draw(self, random: Randomness) -> Array:
        """Return one lattice point, flat."""
        if self._fallback is not None:
            return self._fallback.draw(random)
        region = self._target.region
        for _ in range(ROUNDS):
            whole, noise = self._propose(random)
            point = whole * region.step
            if not region.contains(point):
                continue
            if self._keep(self._target.evaluate(point)[0], noise, random):
                return point
        self._fallback = TangentEnvelope(self._target)
        return self._fallback.draw(random)

    def _propose(self, random: Randomness) -> tuple[Array, Array]:
        """Return a lattice point and the rounded noise of every coordinate."""
        p = self._spread.size
        whole, noise, gap = np.empty(p), np.empty(p), np.zeros(p)
        # Last coordinate first: row j of the factor's transpose ties it to the later ones.
        for j in range(p - 1, -1, -1):
            pull = float(self._factor[j + 1 :, j] @ gap[j + 1 :]) * self._spread[j]
            noise[j] = self._noises[j].sample((1,), random)[0]
            whole[j] = np.rint(self._middle[j] - pull) + noise[j]
            gap[j] = whole[j] - self._middle[j]
        return whole, noise

    def _keep(self, score: float, noise: Array, random: Randomness) -> bool:
        scaled = 0.5 * (noise / self._spread) ** 2
        near = self._lowest - score + float(scaled.sum())
        size = abs(score) + abs(self._lowest) + float(scaled.sum()) + 64.0 * noise.size
        lowest, spread = self._lowest, self._spread

        def exact() -> Any:
            total = mpf(lowest) - mpf(score)
            with mp.extraprec(160):
                for k, s in zip(noise, spread, strict=True):
                    unit = mp.sqrt(2) * mpf(float(s))
                    ends = [mp.erfc((abs(mpf(float(k))) + e) / unit) for e in (-mpf(0.5), mpf(0.5))]
                    peak = mp.sqrt(2 / mp.pi) / mpf(float(s))
                    total -= mp.log((ends[0] - ends[1]) / peak)
            return total

        return accepts(near, size, exact, self._target, random)
