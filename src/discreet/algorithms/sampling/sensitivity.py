"""How much one row can move the summed loss, and how much rounding can.

The exponential mechanism is private because one row changes the summed loss by
an amount that differs by at most ``osc`` between any two points of the set. All
bounds here are public: over every admissible row, never read from the data.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from discreet.bounds import Array, unit_roundoff
from discreet.data import block_rows, gamma
from discreet.data.rounding_errors import margin_error
from discreet.errors import Incompatible, MissingBound
from discreet.problem import Problem
from discreet.regularizers import Zero
from discreet.sets import L2Ball

MOST_ROWS = 2**24
"""Rows covered by the rounding bound where their number is secret."""


def lipschitz_on_ball(problem: Problem, radius: float) -> float:
    """Return the Lipschitz constant of one row's loss on the set and on the ball of that radius.

    Points a rounding error beyond the set count as inside, and slopes of some
    losses still grow there.

    >>> from discreet.losses import Squared
    >>> from discreet.bounds import Bounds
    >>> task = Problem(loss=Squared(), bounds=Bounds(row_norm=1.0, label=(-1, 1)),
    ...                n_features=2, n_rows=9, constraint=L2Ball(radius=2.0))
    >>> lipschitz_on_ball(task, 1.0), lipschitz_on_ball(task, 2.5)
    (3.0, 3.5)
    """
    inside = problem.terms.lipschitz
    if not math.isfinite(radius):
        return inside
    wider = replace(problem, constraint=L2Ball(radius=radius), regularizer=Zero())
    return max(inside, wider.terms.lipschitz)


def row_range(problem: Problem, *, radius: float, diameter: float) -> float:
    """Return the largest difference of one row's loss between two points of the set.

    A scalar loss that is proved convex in ``z = <x, w>`` is, over ``|z| <= reach``,
    largest at an end and smallest where its slope crosses zero. Where its range is
    largest at an extreme label (it grows with the label's distance from 0 for
    losses of ``z - y``, and is convex in the label for losses linear in it), only
    those matter. A loss that declares less gets ``lipschitz * diameter``.

    Parameters
    ----------
    problem
        Whose row, label and weight bounds are used.
    radius, diameter
        Of the set, Euclidean; ``radius`` may be infinite.

    Examples
    --------
    >>> from discreet.losses import Hinge, Logistic
    >>> from discreet.bounds import Bounds
    >>> for loss in (Logistic(), Hinge()):
    ...     task = Problem(loss=loss, bounds=Bounds(row_norm=1.0, classes=(0, 1)),
    ...                    n_features=2, n_rows=9)
    ...     print(round(row_range(task, radius=3.0, diameter=6.0), 6))
    3.0
    4.0
    """
    plain = lipschitz_on_ball(problem, radius) * diameter
    loss, reach = problem.loss.inner, problem.row_norm * radius
    label = problem.bounding.label_bound
    # privacy: nothing is known of other losses but what they declare.
    if loss.outputs != 1 or not (loss.proved_convex and loss.only_extremes_matter):
        return plain
    if not (math.isfinite(reach) and math.isfinite(label)):
        return plain
    y = loss.extreme_labels(label)
    try:
        lowest = np.clip(loss.slope_inverse(np.zeros_like(y), y), -reach, reach)
    except Incompatible:
        return plain
    # privacy: clipping a slope towards zero shrinks the loss's range, so the inner loss's serves.
    ends = np.maximum(loss.value(np.full_like(y, reach), y), loss.value(np.full_like(y, -reach), y))
    found = float(np.max(ends - loss.value(lowest, y)))
    return min(plain, problem.bounds.weight * found * (1.0 + 2.0**-40))


def oscillation(problem: Problem, *, radius: float, diameter: float, edge: float) -> float:
    """Return ``osc``: one row's range, or two of them where a row is replaced.

    ``edge`` is how far beyond the set points still count as inside.
    """
    # privacy: blanking or adding a row changes the sum by one loss, replacing by two.
    grown = 1.0 + 2.0 * edge / diameter
    one = row_range(problem, radius=radius * grown, diameter=diameter * grown)
    return problem.apart * one * (1.0 + 2.0**-40)


def covered_rows(problem: Problem) -> int:
    """Return how many rows the rounding bound covers."""
    if problem.size_is_declared:
        return max(MOST_ROWS, problem.n_rows or 0)
    assert problem.n_rows is not None
    return problem.n_rows


def largest_loss(problem: Problem, radius: float) -> float:
    """Return a bound on one row's weighted loss over the set."""
    label = problem.bounding.label_bound
    loss, reach = problem.loss.inner, problem.row_norm * radius
    if not math.isfinite(label):
        raise MissingBound(
            "label is not set. The size of the loss bounds its rounding errors, which are paid "
            "for. Pass Bounds(label=(low, high)); labels are clipped to it."
        )
    slope = loss.regularity(label=label, reach=reach).lipschitz
    return problem.bounds.weight * (loss.at_zero(label) + slope * reach)


def score_error(problem: Problem, radius: float, public: float = 0.0) -> float:
    """Bound the distance of a computed objective from the real one, over the set.

    Margins, losses, products with weights and sums over blocks round. It assumes
    that a loss is computed to 32 units in the last place of its largest value.
    ``public`` bounds the public part (see :func:`public_size`).
    """
    n, u = covered_rows(problem), unit_roundoff()
    p = problem.bounding.dimension
    loss, reach = problem.loss.inner, problem.row_norm * radius
    slope = loss.regularity(label=problem.bounding.label_bound, reach=reach).lipschitz
    margin = margin_error(p, p, radius) * problem.row_norm
    # Sparse blocks are the longest; the bound must not depend on how rows are stored.
    block = max(block_rows(p), block_rows(p, sparse=True))
    size = largest_loss(problem, radius)
    each = problem.bounds.weight * slope * margin + (gamma(block + 2) + 40.0 * u) * (size + 1.0)
    # privacy: the public part is the same for neighbours, but adding the losses to it and scaling
    # the sum round by units of the whole.
    return 1.01 * n * each + 4.0 * u * public


def public_size(problem: Problem, strength: float, radius: float) -> float:
    """Return a bound on the public part of the objective on the set."""
    corner: Array = np.full(problem.shape, radius)
    return float(problem.regularizer.value(corner)) + 0.5 * strength * radius**2
