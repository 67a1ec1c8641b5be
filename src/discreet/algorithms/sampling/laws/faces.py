"""How low a score can be beyond a face of a box: lower bounds from planes already paid for.

Over all planes below the score and all walls of the region, the least height beyond
a face is a small linear program. Its multipliers combine the planes and walls into
one plane that depends on one coordinate alone. Whatever the solver returned, that
combination is below the score once what is left of the other coordinates is taken
off, so nothing rests on the solver.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.optimize import linprog

from discreet.bounds import Array

INFEASIBLE = 2
"""What the solver says if no point meets all conditions."""

STEEP = 100.0
"""Rise, for every unit, of a bound where the walls leave nothing beyond a face."""


@dataclass(frozen=True)
class Bounded:
    """A convex function from below and its region from outside, in some coordinates.

    Parameters
    ----------
    slope, base
        Planes ``base + slope @ x`` below the function, one a row.
    normal, offset
        Walls: ``normal @ x <= offset`` inside the region.
    reach
        Largest size of every coordinate inside the region.
    doubt, wall_doubt
        What rounding may do to every plane and to every wall inside the region, also in sums.
    """

    slope: Array
    base: Array
    normal: Array
    offset: Array
    reach: Array
    doubt: Array
    wall_doubt: Array


@dataclass(frozen=True)
class Face:
    """A plane of one coordinate below the score: ``height + rise * (side * x[axis])``.

    ``place`` is where the program found the least height.
    """

    height: float
    rise: float
    place: Array


def lowest(known: Bounded, axis: int = 0, side: float = 0.0, distance: float = 0.0) -> Face | None:
    """Return a lower bound beyond the face ``side * x[axis] >= distance``.

    With ``side`` zero it is a bound everywhere. None if the solver found nothing.

    Examples
    --------
    >>> tent = Bounded(np.array([[2.0], [-2.0]]), np.zeros(2), np.array([[1.0], [-1.0]]),
    ...                np.full(2, 9.0), np.full(1, 9.0), np.zeros(2), np.zeros(2))
    >>> face = lowest(tent, 0, 1.0, 3.0)
    >>> bool(abs(face.height) < 1e-9), round(face.rise, 9)
    (True, 2.0)
    """
    planes, p = known.slope.shape
    cut = np.zeros(p)
    cut[axis] = -side
    rows = np.block(
        [
            [known.slope, -np.ones((planes, 1))],
            [known.normal, np.zeros((len(known.normal), 1))],
            [cut, np.zeros(1)],
        ]
    )
    limits = np.concatenate([-known.base, known.offset, [-distance]])
    goal = np.zeros(p + 1)
    goal[-1] = 1.0
    found = linprog(goal, A_ub=rows, b_ub=limits, bounds=(None, None), method="highs-ds")
    if found.status == INFEASIBLE:
        # A plane through the walls instead, or the box would reach across the whole region.
        goal[axis], rows[-1], limits[-1] = -side * STEEP, 0.0, 0.0
        found = linprog(goal, A_ub=rows, b_ub=limits, bounds=(None, None), method="highs-ds")
    if found.status != 0:
        return None
    weight = np.maximum(-found.ineqlin.marginals, 0.0)
    share, push = weight[:planes], weight[planes:-1]
    if not share.sum() > 0.5:
        return None
    # privacy: any shares and pushes give a plane below the score; rounding and what is left of
    # the other coordinates only lower it.
    share = share / share.sum()
    slope = share @ known.slope + push @ known.normal
    rise = max(side * float(slope[axis]), 0.0)
    slope[axis] -= side * rise
    lost = np.abs(slope) @ known.reach + share @ known.doubt + push @ known.wall_doubt
    height = float(share @ known.base - push @ known.offset - lost)
    return Face(height, rise, found.x[:p]) if math.isfinite(height) else None
