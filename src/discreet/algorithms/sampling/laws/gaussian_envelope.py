"""Curved scores: proposals from a Gaussian that lies above the density.

If a quadratic lies below the score, the Gaussian it makes lies above the density.
For least squares the two agree and nearly every proposal is kept. For other losses
the quadratic need only hold in an ellipsoid around its touching point: beyond it
a convex score grows at least in proportion to the distance, so a product of
exponential laws, with a small share of the proposals, covers the rest.

Coordinates are drawn one after the other, each rounded exactly to the lattice, so
the probability of a proposal is a known product and the exact ratio decides, as in
every sampler here. Proposals outside the region cost no pass over the data. If most
are in vain, the tangent envelope takes over: that is allowed at any time, because
every round accepts a point with a chance in proportion to its probability.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from mpmath import mp, mpf

from discreet.algorithms.sampling.laws.heartbeat import Heartbeat
from discreet.algorithms.sampling.laws.tangent_envelope import TangentEnvelope, tangent_passes
from discreet.algorithms.sampling.laws.target import Target, accepts, check_slack
from discreet.bounds import Array
from discreet.noise import Gaussian, Grid, Laplace, Randomness, integers

BATCH = 32
"""Proposals drawn together."""

MOST_BATCHES = 512
"""Batches of proposals before the tangent envelope takes over."""

SPREADS = (2.0**22, 2.0**42)
"""Standard deviations in lattice steps for which the error bounds below hold."""

SHARES = 1024
"""Shares of the proposals are whole numbers of this part, so that their coin is exact."""

ROUNDING = 2.0**-10
"""Bounds what rounding the conditional means to the lattice does to an exponent."""

_WHOLE = Grid(step=1.0, reach=0.0)


@dataclass(frozen=True)
class Floor:
    """A quadratic below the score: its tangent at ``point`` plus half of ``matrix``.

    Parameters
    ----------
    point
        Where it touches, flat; a point of the region.
    matrix
        Its second derivative, never more than the score's own growth allows.
    reach
        Holds for ``(w - point)' matrix (w - point) <= reach**2``, or everywhere in
        the region if infinite.
    """

    point: Array
    matrix: Array
    reach: float = math.inf


def tail_weight(reach: float, tilt: float, dimension: int) -> float:
    """Return the weight of the outer proposals over that of the inner ones.

    ``tilt`` is the length of the gradient where the floor touches, in its metric.

    >>> tail_weight(math.inf, 0.0, 3), round(tail_weight(6.0, 0.0, 4), 3)
    (0.0, 0.08)
    """
    if math.isinf(reach):
        return 0.0
    steep = reach / 2.0 - tilt
    if steep <= 0.0:
        return math.inf
    scale = math.sqrt(dimension) / steep
    size = dimension * math.log(2.0 * scale / math.sqrt(2.0 * math.pi))
    return math.exp(min(size + steep * tilt - tilt**2 / 2.0, 600.0))


class GaussianEnvelope:
    """Draws from a target with a convex score that lies above a quadratic.

    Parameters
    ----------
    target
        What is sampled.
    floor
        The quadratic; None leaves everything to the tangent envelope.

    Examples
    --------
    >>> from discreet.noise import Seeded
    >>> from discreet.algorithms.sampling.laws import Region
    >>> from discreet.sets import Box
    >>> sharp = Target(Region.of(Box(), (1,)), lambda w: (500 * w[0] ** 2, 1000 * w), 1e-6)
    >>> floor = Floor(np.zeros(1), np.array([[1000.0]]))
    >>> bool(abs(GaussianEnvelope(sharp, floor).draw(Seeded(0))[0]) < 0.3)
    True
    """

    def __init__(self, target: Target, floor: Floor | None) -> None:
        check_slack(target.slack)
        self._plain, self._fallback = target, None
        if floor is None or not self._prepare(target, floor):
            self._fallback = TangentEnvelope(target)

    def _prepare(self, target: Target, floor: Floor) -> bool:
        """Fix the proposals; return False where float64 cannot carry them or they do not pay."""
        region, p = target.region, target.region.dimension
        score, gradient = target.evaluate(floor.point)
        try:
            factor = np.linalg.cholesky(floor.matrix * np.outer(region.step, region.step))
        except np.linalg.LinAlgError:
            return False
        spread = 1.0 / np.diag(factor)
        slope = np.linalg.solve(factor, gradient * region.step)
        tilt = float(np.linalg.norm(slope))
        weight = tail_weight(floor.reach, tilt, p)
        middle = floor.point / region.step - np.linalg.solve(factor.T, slope)
        far = np.abs(middle) + 64.0 * np.abs(np.linalg.inv(factor)).sum(axis=0)
        crooked = np.linalg.cond(factor) > 1e3 or not far.max() < 2.0**50
        if crooked or spread.min() < SPREADS[0] or spread.max() > SPREADS[1]:
            return False
        # A steep touching point lies on a wall, and nearly all proposals beyond it.
        if tilt > 3.0 or weight > 1e3:
            return False
        self._target = Target(region, target.evaluate, target.slack + ROUNDING)
        self._reach, self._factor, self._slope = floor.reach, factor, slope
        self._middle, self._spread = middle, spread
        self._outer = math.ceil(SHARES * weight / (1.0 + weight))
        self._inner_noise = [Gaussian(float(s), _WHOLE) for s in spread]
        self._scale = spread
        if self._outer:
            self._scale = spread * (math.sqrt(p) / (floor.reach / 2.0 - tilt))
            self._outer_noise = [Laplace(float(s), _WHOLE) for s in self._scale]
        # privacy: one constant for both kinds of proposals, low enough that neither is too rare:
        # the floor's minimum, times the probability of the likeliest inner proposal.
        share = math.log1p(-self._outer / SHARES)
        peak = float(np.log(spread).sum()) + p * math.log(2.0 * math.pi) / 2.0
        self._level = score - tilt**2 / 2.0 + share - peak
        return True

    def draw(self, random: Randomness) -> Array:
        """Return one lattice point, flat."""
        if self._fallback is not None:
            return self._fallback.draw(random)
        region, passes, progress = self._target.region, 0, Heartbeat("drawing a point")
        for _ in range(MOST_BATCHES):
            outer = integers(SHARES, BATCH, random) < self._outer
            whole, noise = self._propose(outer, random)
            distance = np.linalg.norm(noise / self._spread - self._slope, axis=1)
            # privacy: each point belongs to one kind of proposals, by a rule about the point alone.
            for i in np.flatnonzero((distance > self._reach) == outer):
                point: Array = whole[i] * region.step
                if not region.contains(point):
                    continue
                progress.tick()
                passes += 1
                if self._keep(self._target.evaluate(point)[0], noise[i], bool(outer[i]), random):
                    return point
            # About what the tangent envelope needs, so the choice at most doubles the cost.
            if passes >= 100.0 + tangent_passes(region.dimension):
                break
        self._fallback = TangentEnvelope(self._plain)
        return self._fallback.draw(random)

    def _propose(self, outer: Any, random: Randomness) -> tuple[Array, Array]:
        """Return lattice points and the rounded noise of their coordinates, one row each."""
        p = self._spread.size
        whole, noise, gap = (np.zeros((BATCH, p)) for _ in range(3))
        # Last coordinate first: row j of the factor's transpose ties it to the later ones.
        for j in range(p - 1, -1, -1):
            pull = gap[:, j + 1 :] @ self._factor[j + 1 :, j] * self._spread[j]
            noise[:, j] = self._inner_noise[j].sample((BATCH,), random)
            if outer.any():
                noise[outer, j] = self._outer_noise[j].sample((int(outer.sum()),), random)
            whole[:, j] = np.rint(self._middle[j] - pull) + noise[:, j]
            gap[:, j] = whole[:, j] - self._middle[j]
        return whole, noise

    def _keep(self, score: float, noise: Array, outer: bool, random: Randomness) -> bool:
        near = self._level - score
        if outer:
            share = self._outer
            half, size = 0.5 / self._scale, np.abs(noise) / self._scale
            near -= float(
                np.where(noise == 0.0, np.log(-np.expm1(-half)), np.log(np.sinh(half)) - size).sum()
            )
        else:
            share = SHARES - self._outer
            size = 0.5 * (noise / self._spread) ** 2
            near += float((size + np.log(self._spread) + math.log(2.0 * math.pi) / 2.0).sum())
        near -= math.log(share / SHARES)
        total = abs(score) + abs(self._level) + float(size.sum()) + 128.0 * noise.size

        def exact() -> Any:
            with mp.extraprec(160):
                chance = _laplace if outer else _normal
                scales = self._scale if outer else self._spread
                logs = [chance(float(k), float(s)) for k, s in zip(noise, scales, strict=True)]
                return mpf(self._level) - mpf(score) - mp.log(mpf(share) / SHARES) - mp.fsum(logs)

        return accepts(near, total, exact, self._target, random)


def _normal(k: float, spread: float) -> Any:
    """Return the log-probability of a rounded normal."""
    unit, size = mp.sqrt(2) * mpf(spread), abs(mpf(k))
    return mp.log((mp.erfc((size - 0.5) / unit) - mp.erfc((size + 0.5) / unit)) / 2)


def _laplace(k: float, scale: float) -> Any:
    """Return the log-probability of a rounded Laplace variable."""
    half = 1 / (2 * mpf(scale))
    return mp.log(-mp.expm1(-half)) if k == 0 else mp.log(mp.sinh(half)) - 2 * half * abs(mpf(k))
