"""The scores an exponential mechanism samples from, built from bounded rows."""

from __future__ import annotations

import math

import numpy as np

from discreet.algorithms.sampling.laws import Region, Target
from discreet.algorithms.sampling.sensitivity import (
    covered_rows,
    largest_loss,
    public_size,
    score_error,
)
from discreet.bounds import Array, unit_roundoff
from discreet.data import Rows, block_rows, gamma
from discreet.errors import Incompatible, InvalidData
from discreet.problem import Problem


def check_convex(problem: Problem, trusted: bool) -> None:
    """Refuse a loss whose convexity the library has not proved, unless it is trusted."""
    if not problem.loss.proved_convex and not trusted:
        raise Incompatible(
            f"{problem.loss.name!r} is not declared to be proved convex, and this sampler's "
            "guarantee rests on its convexity and on correct gradients. Prove both and declare "
            "proved_convex = True in its class or pass trust_loss=True, or use sampler='grid'."
        )


def density(
    problem: Problem, rows: Rows, region: Region, *, inverse: float, strength: float, radius: float
) -> Target:
    """Return the law ``exp(-inverse * (losses + regularizer + strength/2 |w|^2))``.

    ``strength`` is the whole ridge part, the regularizer's included; ``radius``
    bounds the norm of the region's points.
    """
    if rows.n_rows > covered_rows(problem):
        raise InvalidData("The data has more rows than the rounding bound of the plan covers.")
    kernel = problem.regularizer.kernel
    flat = kernel.zero
    # Short, so that the subgradient is nearly one at w itself; not so short that it is rounded off.
    push = _push(problem, radius)
    short = math.sqrt(2.0 * unit_roundoff()) * radius / max(push, 1e-300)

    def evaluate(point: Array) -> tuple[float, Array]:
        w = region.lift(point)
        value, gradient = rows.objective(problem.loss, w)
        public = 0.5 * strength * float(np.vdot(w, w))
        slope = gradient + strength * w
        if not flat:
            public += kernel.value(w)
            slope = slope + (w - kernel.prox(w, short)) / short
        return inverse * (value + public), inverse * region.pull(slope.ravel())

    slack = rounding_slack(problem, inverse=inverse, strength=strength, radius=radius)
    return Target(region, evaluate, slack)


def _push(problem: Problem, radius: float) -> float:
    """Return about how steep the penalty is; 0 if there is none but ridge."""
    if problem.regularizer.kernel.zero:
        return 0.0
    return public_size(problem, 0.0, radius) / radius


def rounding_slack(problem: Problem, *, inverse: float, strength: float, radius: float) -> float:
    """Bound how far rounding lets a tangent exceed the scores of :func:`density`.

    Public, and generous, as it costs nothing.
    """
    push = _push(problem, radius)
    n, p = covered_rows(problem), problem.bounding.dimension
    steep = n * problem.terms.lipschitz * radius
    sums = gamma(block_rows(p, sparse=True) + p + 16) * steep
    public = public_size(problem, strength, radius)
    sizes = n * largest_loss(problem, radius) + public + math.sqrt(problem.dimension) * steep
    kinks = 16.0 * math.sqrt(unit_roundoff()) * math.sqrt(problem.dimension) * push * radius
    total = 16.0 * score_error(problem, radius) + 16.0 * sums + 2.0**-40 * sizes + kinks
    return 2.0**-20 + inverse * total
