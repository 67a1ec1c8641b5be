"""What a path of shrinking Gaussian noise costs, when stopping depends on the path.

Seen backwards in the variance the noise is a Brownian motion, so the privacy
loss at zCDP cost ``rho`` is ``rho + sqrt(2 rho) N`` along one path. The bound
here holds at all levels at once except with probability ``delta``:

    P_D[S] <= integral over S of exp(E) dP_D' + delta   for every event S,

a statement that survives post-processing which keeps ``E`` in the output.
"""

from __future__ import annotations

import math

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
