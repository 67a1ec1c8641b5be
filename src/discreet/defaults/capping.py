"""How far gradients of a logistic regression are worth capping, by public facts.

Where noise is the problem, a loss whose gradients are capped row by row
(:class:`~discreet.losses.calibrated_logistic.CalibratedLogistic`) needs less of it for
nearly the same curvature. With many rows the logistic loss itself is
better: its minimiser has the least logistic risk also where the model is wrong.
"""

from __future__ import annotations

from dataclasses import replace

from discreet.defaults.case import Case
from discreet.losses import CalibratedLogistic
from discreet.problem import Problem
from discreet.tuned.defaults import (
    CLIP_MANY,
    CLIP_PERTURBED,
    CLIP_ROWS,
    CLIP_SCARCE,
    REGIONS,
)


def capped(case: Case, *, perturbed: bool = False) -> Problem:
    """Return the logistic problem with capped gradients.

    Among rows of the typical norm a clip below half of it changes nothing but
    the scale. Shorter rows count more than those, at most one over the clip
    times: less noise for the same curvature, but bias where the model is wrong,
    so the clip rises as noise becomes less.

    Parameters
    ----------
    case
        Public facts.
    perturbed
        Whether it is for objective perturbation, which pays for the curvature of one record:
        a smaller clip would leave more of it than the logistic loss has.

    Examples
    --------
    >>> from discreet.accounting import Budget
    >>> from discreet.bounds import Bounds
    >>> from discreet.losses import Logistic
    >>> def clip(rows):
    ...     problem = Problem(loss=Logistic(), bounds=Bounds(row_norm=1.0, classes=(0, 1)),
    ...                       n_features=100, n_rows=rows)
    ...     return round(capped(Case(problem, Budget(0.1, 1e-6))).loss.clip, 3)
    >>> clip(1000), clip(100_000), clip(300_000)
    (0.251, 0.374, 0.622)
    """
    problem, rows = case.problem, case.rows_per_noise
    part = CLIP_SCARCE + (CLIP_MANY - CLIP_SCARCE) * min(1.0, rows / CLIP_ROWS)
    if perturbed:
        part = CLIP_PERTURBED
    # With rows in plenty nothing but groups is capped, in the end for the longest rows.
    plenty = max(1.0, rows / REGIONS[-2].below)
    norm = min(problem.row_norm, plenty * problem.typical_norm)
    return replace(problem, loss=CalibratedLogistic(clip=part * norm))
