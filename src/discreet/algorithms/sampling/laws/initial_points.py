"""Where the mass of a law is, before cells are cut: a quick descent and a look around.

Everything found here only places cells and planes, so it need not be accurate:
any planes and any cells give the same law.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy.optimize import minimize

from discreet.algorithms.sampling.laws.target import Target
from discreet.bounds import Array

CLOSE = 0.5
"""Progress of the score below which the descent stops."""

MOST = 40
"""Evaluations the descent may take."""

AROUND = 1.5
"""Distance of the look around, in standard deviations."""

Evaluation = tuple[Array, float, Array]


def initial_points(target: Target) -> list[Evaluation]:
    """Return points near the least score and to all sides of it, with scores and gradients.

    Examples
    --------
    >>> from discreet.algorithms.sampling.laws import Region
    >>> from discreet.sets import Box
    >>> steep = Target(Region.of(Box(), (1,)), lambda w: (50 * w[0] ** 2, 100 * w), 1e-6)
    >>> len(initial_points(steep))
    3
    """
    seen = _descent(target)
    return seen + list(_around(target, min(seen, key=lambda found: found[1])))


def _descent(target: Target) -> list[Evaluation]:
    region = target.region
    low = region.points(0 * region.counts)
    half = 0.5 * (region.counts - 1) * region.step
    seen: list[Evaluation] = []

    def evaluate(v: Array) -> tuple[float, Array]:
        w = low + (v + 1.0) * half
        near = region.nearest(w)
        score, gradient = target.evaluate(near)
        seen.append((near, score, gradient))
        # Beyond the set: its tangent, and a rise that drives the descent back inside.
        gap = w - near
        size = float(np.linalg.norm(gap))
        if size > region.edge:
            score += float(gradient @ gap) + 2.0 * float(np.linalg.norm(gradient)) * size
            gradient = gradient + 2.0 * float(np.linalg.norm(gradient)) * gap / size
        return score, gradient * half

    start = np.zeros(region.dimension)
    first = evaluate(start)
    minimize(
        lambda v: evaluate(v) if v.any() else first,
        start,
        jac=True,
        method="L-BFGS-B",
        bounds=[(-1.0, 1.0)] * region.dimension,
        options={"ftol": CLOSE / max(abs(first[0]), 1.0), "maxfun": MOST, "maxls": 8},
    )
    return seen


def _around(target: Target, best: Evaluation) -> Iterator[Evaluation]:
    """Yield evaluations on both sides of the best point, about a deviation away."""
    region = target.region
    point, _, gradient = best
    half = 0.5 * (region.counts - 1) * region.step
    reach = 0.1
    for j in range(region.dimension):
        there, slopes = [], []
        for side in (1.0, -1.0):
            w = point.copy()
            w[j] += side * reach * half[j]
            w = region.nearest(w)
            # A wall in the way: nothing to learn beyond it.
            if side * (w[j] - point[j]) < 0.1 * reach * half[j]:
                there.append(point[j])
                slopes.append(gradient[j])
                continue
            score, slope = target.evaluate(w)
            there.append(w[j])
            slopes.append(slope[j])
            yield w, score, slope
        bend = (slopes[0] - slopes[1]) / max(there[0] - there[1], 1e-300) * half[j] ** 2
        if bend > 0.0:
            reach = float(np.clip(AROUND / np.sqrt(bend), 1e-4, 1.0))
