"""The inner solver: a point that is provably close to a minimiser, or an error.

Minimises ``sum_i weight_i f(<x_i, w>; y_i) + reg(w) + (strength/2) ||w||^2 +
<linear, w>`` over a constraint set. The point returned carries a certificate:
a subgradient there has norm at most ``tolerance``, all rounding errors
included. By strong convexity the exact minimiser is then within ``tolerance /
strength``, which is what approximate minima perturbation rests on.

Losses with corners have no small subgradient to show. For those that declare their corner, and
a ridge, the dual proves the same distance from the exact minimiser.

Solvers are ordinary floating point, not random, and print nothing. How they
find the point does not matter to privacy; only the certificate does.
"""

from __future__ import annotations

import math
from functools import partial

import numpy as np

from discreet.bounds import Array, unit_roundoff
from discreet.checks import nonnegative, positive
from discreet.data import Rows
from discreet.errors import Incompatible, InvalidParameter
from discreet.losses import Loss
from discreet.problem import corner_refusal
from discreet.regularizers import Regularizer, Zero, combined_prox
from discreet.sets import AllSpace, ConvexSet
from discreet.solvers.corner_certificate import CornerObjective
from discreet.solvers.interior_point import solve_corners
from discreet.solvers.newton import solve_smooth
from discreet.solvers.objective import Objective, failed
from discreet.solvers.proximal import Prox, certify_in, solve_composite


def minimise(
    rows: Rows,
    loss: Loss,
    *,
    linear: Array,
    strength: float,
    tolerance: float,
    regularizer: Regularizer | None = None,
    constraint: ConvexSet | None = None,
    linear_error: float = 0.0,
) -> Array:
    """Return a certified approximate minimiser, or raise :class:`NotCertified`.

    Parameters
    ----------
    rows, loss
        Bounded rows and the loss of one of them; it has to be smooth or to declare its
        corner.
    linear
        The linear term, shaped like the weights.
    strength
        Strength of the ridge term, beside the ridge part of ``regularizer``.
    tolerance
        Largest norm of the certified subgradient, on the scale of the sum; for losses with
        corners, largest distance from the minimiser times the total strength.
    regularizer, constraint
        Penalty and set; none by default.
    linear_error
        Distance between ``linear`` and the ideal vector the certificate is
        meant for; it is counted against the tolerance.

    Returns
    -------
    Array
        A point at which a subgradient of the objective, with the ideal linear
        term, has norm at most ``tolerance`` in real arithmetic. Of any loss, a point within
        ``tolerance`` over the total strength of the minimiser, whose objective is at most
        ``tolerance^2 / (2 strength)`` above the minimum.

    Examples
    --------
    >>> from discreet.losses import Squared
    >>> rows = Rows(np.array([[1.0], [1.0]]), np.array([1.0, 3.0]))
    >>> minimise(rows, Squared(), linear=np.zeros(1), strength=2.0, tolerance=1e-9).round(6)
    array([1.])
    """
    shape = (rows.dimension,) if loss.outputs == 1 else (rows.dimension, loss.outputs)
    if linear.shape != shape:
        raise InvalidParameter(f"linear must have shape {shape}. Got {linear.shape} instead.")
    room = positive("tolerance", tolerance) - nonnegative("linear_error", linear_error)
    room *= 1.0 - 4.0 * unit_roundoff()
    if not room > 0.0:
        raise failed()
    penalty = regularizer or Zero()
    domain = constraint or AllSpace()
    if loss.each is not None and penalty.kernel.zero and domain.whole_space:
        ridge = strength + penalty.strong_convexity
        return minimise_each(rows, loss, linear=linear, strength=ridge, tolerance=room)
    kernel = penalty.kernel
    ridge = nonnegative("strength", strength) + penalty.strong_convexity
    if not math.isfinite(loss.regularity(label=math.inf, reach=1.0).smoothness):
        reason = corner_refusal(loss, penalty, domain, rows.dimension)
        if reason is not None:
            raise Incompatible(reason)
        # privacy: what random linear terms rest on is a small subgradient, which there is none of
        if linear.any() or linear_error > 0.0:
            raise Incompatible("A linear term is for smooth losses; this one has corners.")
        radius = domain.radius(rows.dimension)
        return solve_corners(
            CornerObjective.of(rows, loss, positive("strength", ridge), radius), room
        )
    objective = Objective(rows, loss, np.asarray(linear, dtype=np.float64), ridge)
    if kernel.zero and domain.whole_space:
        return solve_smooth(objective, room)
    if kernel.zero and domain.certifies:
        project: Prox = lambda w, step: domain.project(w)  # noqa: E731
        return solve_composite(objective, kernel.value, project, room, partial(certify_in, domain))
    return solve_composite(objective, kernel.value, combined_prox(kernel, domain), room)


def minimise_each(
    rows: Rows,
    loss: Loss,
    *,
    linear: Array,
    strength: float,
    tolerance: float,
    constraint: ConvexSet | None = None,
) -> Array:
    """Return one column for every class, each a certified minimiser of its class against the rest.

    Parameters
    ----------
    rows, loss
        Rows whose labels are classes, and a loss that sums another one over them.
    linear, strength
        Of all columns.
    tolerance
        Of all columns together, as :func:`minimise` means it.
    constraint
        The set that holds each column.

    Examples
    --------
    >>> from discreet.losses import AgainstRest
    >>> rows = Rows(np.eye(3), np.array([0.0, 1.0, 2.0]))
    >>> minimise_each(rows, AgainstRest(), linear=np.zeros((3, 3)), strength=1.0, tolerance=1e-6)
    array([[ 1., -1., -1.],
           [-1.,  1., -1.],
           [-1., -1.,  1.]])
    """
    assert loss.each is not None
    # privacy: the squared errors of all columns add up to at most that of the tolerance.
    part = tolerance / math.sqrt(loss.outputs) * (1.0 - 4.0 * unit_roundoff())
    columns = [
        minimise(
            Rows(rows.X, np.where(rows.y == k, 1.0, -1.0), rows.weight, rows.norms),
            loss.each,
            linear=linear[:, k],
            strength=strength,
            tolerance=part,
            constraint=constraint,
        )
        for k in range(loss.outputs)
    ]
    return np.stack(columns, axis=1)
