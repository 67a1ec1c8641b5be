"""A quadratic below the scores of a density, for the Gaussian envelope.

A row's loss, measured from its tangent at ``z0``, is ``(z - z0)^2 / 2`` times an
average of the curvature between the two. Where the curvature first rises and then
falls, so does that average as ``z`` moves away, hence its smallest value over an
interval is at one of the ends or at ``z0`` itself: three numbers a row, exact and
far better than the smallest curvature. Their weighted sum of squares, with the
ridge term, is the matrix of the floor.

Everything here reads the data and none of it is released: any touching point and
any valid quadratic give the same law.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from discreet.algorithms.sampling.laws import Floor, Region, tail_weight
from discreet.algorithms.sampling.laws import Target as Density
from discreet.bounds import Array
from discreet.data import Rows
from discreet.losses import Loss
from discreet.losses.base import Regularity, Target
from discreet.problem import Problem

NEWTON_STEPS = 20
CLOSE = 0.1
"""Length of the gradient, in the metric of the floor, at which a touching point is good enough."""

ENOUGH = 0.1
"""Floors whose proposals are kept nearly this often, in logarithm, are not bettered."""

SPANS = (0.8, 1.0, 1.3)
"""Reaches that are tried, in units of where a Gaussian's mass ends."""


def is_curved(problem: Problem) -> bool:
    """Return whether there is a proof of a floor for the loss of a problem."""
    # privacy: the draw is exact only if scores lie above the floor, which takes both.
    loss = problem.loss
    return loss.outputs == 1 and loss.proved_convex and loss.curvature_unimodal


@dataclass(frozen=True)
class SecantCurvature(Loss):
    """A loss whose curvature is replaced by its least average within ``span`` and ``reach``.

    For every ``z`` with ``|z| <= reach`` and ``|z - z0| <= span`` the loss lies above
    its tangent at ``z0`` plus ``curvature(z0) (z - z0)^2 / 2``.

    Examples
    --------
    >>> from discreet.losses import Logistic
    >>> far = SecantCurvature(Logistic(), reach=4.0, span=math.inf)
    >>> far.curvature(np.zeros(1), np.ones(1)).round(3), Logistic().curvature(np.zeros(1), 1.0)
    (array([0.166]), array([0.25]))
    """

    loss: Loss
    reach: float
    span: float
    name: ClassVar[str] = "secant curvature"

    @property
    def target(self) -> Target:
        return self.loss.target

    def value(self, z: Array, y: Array) -> Array:
        return self.loss.value(z, y)

    def slope(self, z: Array, y: Array) -> Array:
        return self.loss.slope(z, y)

    def regularity(self, *, label: float, reach: float) -> Regularity:
        return self.loss.regularity(label=label, reach=reach)

    def curvature(self, z: Array, y: Array) -> Array:
        value, slope = self.loss.value(z, y), self.loss.slope(z, y)
        # Very near ends would lose the quotient to rounding; farther ends only lower it.
        near = 2.0**-6 * min(1.0, self.reach)
        least = self.loss.curvature(z, y)
        for side, edge in ((-1.0, np.minimum), (1.0, np.maximum)):
            inside = np.clip(z + side * self.span, -self.reach, self.reach)
            end = edge(inside, z + side * near)
            there, gap = self.loss.value(end, y), end - z
            rise = there - value - slope * gap
            # privacy: losses are computed to 32 units in the last place; the floor stays below.
            rise -= 2.0**-46 * (np.abs(there) + np.abs(value) + np.abs(slope * gap) + 1.0)
            least = np.minimum(least, 2.0 * rise / gap**2)
        return np.maximum(least, 0.0) * (1.0 - 2.0**-20)


def quadratic_floor(
    problem: Problem, rows: Rows, target: Density, *, inverse: float, strength: float, radius: float
) -> Floor | None:
    """Return a floor of the scores of a density, or None.

    ``inverse``, ``strength`` and ``radius`` are those of the density.
    """
    if not is_curved(problem):
        return None
    # privacy: a direction that one row alone bends overflows here, and a warning would tell so.
    with np.errstate(all="ignore"):
        return _floor(problem, rows, target, inverse, strength, radius)


def _floor(
    problem: Problem, rows: Rows, target: Density, inverse: float, strength: float, radius: float
) -> Floor | None:
    region, reach = target.region, problem.row_norm * radius * (1.0 + 2.0**-20)

    def matrix(loss: Loss, point: Array) -> Array:
        full = rows.hessian(loss, region.lift(point))
        full.flat[:: len(full) + 1] += strength
        return inverse * region.pull(region.pull(full).T)

    try:
        point, gradient, top = _mode(target, lambda w: matrix(problem.loss, w))
        best, most = None, -math.inf
        ideal = 0.5 * float(np.linalg.slogdet(top)[1])
        whole = 2.0 * math.sqrt(region.dimension) * _leverage(rows, region, top)
        for span in (math.inf, *(share * whole for share in SPANS)):
            if (math.isfinite(span) and span >= 2.0 * reach) or most > ideal - ENOUGH:
                continue
            found = matrix(SecantCurvature(problem.loss, reach, span), point)
            # privacy: every row's prediction stays within the span inside the ellipsoid.
            size = span / _leverage(rows, region, found) if math.isfinite(span) else math.inf
            tilt = math.sqrt(max(float(gradient @ np.linalg.solve(found, gradient)), 0.0))
            gain = 0.5 * float(np.linalg.slogdet(found)[1])
            gain -= math.log1p(tail_weight(size, tilt, region.dimension))
            if gain > most:
                best, most = Floor(point, found, size), gain
    except np.linalg.LinAlgError:
        return None  # no curvature in some direction
    return best


def _mode(target: Density, curvature: Callable[[Array], Array]) -> tuple[Array, Array, Array]:
    """Return a point near the minimum of the scores, the gradient and the curvature there."""
    region = target.region
    point = region.nearest(region.points(region.counts // 2))
    score, gradient = target.evaluate(point)
    for _ in range(NEWTON_STEPS):
        matrix = curvature(point)
        step = np.linalg.solve(matrix, gradient)
        if float(gradient @ step) <= CLOSE**2:
            break
        for _ in range(6):
            there = region.nearest(point - step)
            lower, slope = target.evaluate(there)
            if lower < score:
                break
            step = 0.25 * step
        else:
            break
        point, score, gradient = there, lower, slope
    return point, gradient, matrix


def _leverage(rows: Rows, region: Region, matrix: Array) -> float:
    """Return a bound on the norms of the rows in the dual metric of ``matrix``."""
    root = np.linalg.inv(np.linalg.cholesky(matrix))
    basis = region.pull(np.eye(rows.dimension))
    norms = np.square(rows.X @ (root @ basis).T).sum(axis=1)
    return math.sqrt(float(norms.max(initial=0.0))) * (1.0 + 2.0**-20)
