"""Where residuals of squared losses are clipped unless the user says."""

from __future__ import annotations

import math

from discreet.accounting import Budget
from discreet.problem import Problem, rows_against_noise
from discreet.tuned.defaults import (
    RESIDUAL_LEAST,
    RESIDUAL_MOST,
    RESIDUAL_PENALTY,
    RESIDUAL_PLENTY,
    RESIDUAL_ROOT,
    RESIDUAL_ROWS,
)


def residual_clip(problem: Problem, budget: Budget, penalty: float | None = None) -> float:
    """Return the clip of residuals, in half label ranges for a row of typical norm.

    Noise grows with the clip ``c`` and bias falls with it: by ``1 / c^2`` if
    nothing but the variance of residuals is known, against noise of square
    ``c^2 / q^2`` with ``q`` rows per unit of noise. So without a penalty ``c``
    grows like the root of ``q``. An elastic net holds back noise by itself, so with
    many rows clipping has less to save than it costs, and it fades. It also
    outweighs what a small clip leaves of the gradients, so the clip grows with it.

    With very many rows noise hardly counts. There no residual within the label range is cut,
    however long the row, and no bias stays.

    Parameters
    ----------
    problem, budget
        Public facts; the loss of the problem does not matter.
    penalty
        Slope of an elastic net, on the scale of a mean over rows.

    Examples
    --------
    >>> from discreet.bounds import Bounds
    >>> from discreet.losses import Squared
    >>> problem = Problem(loss=Squared(), bounds=Bounds(row_norm=1.0, label=(-1, 1)),
    ...                   n_features=10, n_rows=20_000)
    >>> [round(residual_clip(problem, Budget(e, 1e-6)), 3) for e in (0.1, 1.0, 8.0)]
    [0.264, 0.774, 1.0]
    >>> [residual_clip(problem, Budget(0.01, 1e-6), alpha) for alpha in (1e-3, 0.01, 0.1)]
    [0.125, 0.32, 1.0]
    """
    rows = rows_against_noise(problem, budget)
    if penalty is None:
        wanted = math.sqrt(rows) / RESIDUAL_ROOT
    else:
        wanted = max(rows / RESIDUAL_ROWS, RESIDUAL_PENALTY * penalty)
    if rows >= RESIDUAL_PLENTY:
        return 2.0 * problem.row_norm / problem.typical_norm
    return min(RESIDUAL_MOST, max(RESIDUAL_LEAST, wanted))
