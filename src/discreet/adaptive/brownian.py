"""What a path of shrinking Gaussian noise costs, when stopping depends on the path.

Seen backwards in the variance the noise is a Brownian motion, so the privacy
loss at zCDP cost ``rho`` is ``rho + sqrt(2 rho) N`` along one path. Each bound
here holds at all levels at once except with probability ``delta``:

    P_D[S] <= integral over S of exp(E) dP_D' + delta   for every event S,

a statement that survives post-processing which keeps ``E`` in the output.
"""

from __future__ import annotations

import math

from scipy.optimize import brentq
from scipy.special import log_ndtr
from scipy.stats import norm

from discreet.checks import between, integer, nonnegative, positive


def grid_loss(rho: float, delta: float, count: int) -> float:
    """Return the loss at cost ``rho`` when ``count`` levels were declared in advance.

    >>> round(grid_loss(0.001, 1e-6, 23), 7)
    0.2403516
    """
    nonnegative("rho", rho)
    z = float(norm.isf(between("delta", delta, 0, 1) / integer("count", count)))
    return rho + z * math.sqrt(2 * rho)


def grid_cost(loss: float, delta: float, count: int) -> float:
    """Return the cost whose :func:`grid_loss` is ``loss``.

    >>> round(grid_cost(grid_loss(0.01, 1e-6, 23), 1e-6, 23), 9)
    0.01
    """
    z = float(norm.isf(between("delta", delta, 0, 1) / integer("count", count)))
    # The root of rho + z sqrt(2 rho) = loss, in the form without cancellation.
    root = 2 * positive("loss", loss) / (math.sqrt(2) * z + math.sqrt(2 * z * z + 4 * loss))
    return root * root


def linear_loss(rho: float, delta: float, tuned: float) -> float:
    """Return the loss at any cost ``rho``, smallest near the cost it is ``tuned`` to.

    >>> round(linear_loss(0.001, 1e-6, 0.01), 7)
    0.4098614
    """
    root = math.sqrt(positive("tuned", tuned))
    spread = math.sqrt(math.log(1 / between("delta", delta, 0, 1)))
    return nonnegative("rho", rho) + spread * (rho / root + root)


def mixture_loss(rho: float, delta: float, tuned: float) -> float:
    """Return the loss at any cost ``rho``, whatever levels are chosen on the way.

    Ville's inequality for the martingale mixed over the positive half of a
    normal law of variance ``1 / (2 tuned)``.

    >>> round(mixture_loss(0.5, 1e-6, 0.025) - 0.5, 6)
    5.545603
    """
    s, r = 2 * nonnegative("rho", rho), 2 * positive("tuned", tuned)
    goal = -math.log(between("delta", delta, 0, 1)) - math.log(2) - 0.5 * math.log(r / (s + r))
    x = float(brentq(lambda x: x * x / 2 + float(log_ndtr(x)) - goal, -50.0, 100.0))
    return rho + x * math.sqrt(s + r)
