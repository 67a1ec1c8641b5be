"""Objectives of squared losses near a point, from two readings of the rows.

With ``G`` the gradient over all rows, ``A`` that over the rows that may cross their caps in a ball
around ``v``, and ``M`` the second moments of rows within their caps,

    G(w) = (G(v) - A(v)) + M (w - v) + A(w)

for every ``w`` in the ball, exactly. ``G(v)``, ``A(v)`` and ``A(w)`` come with a bound on their
errors, and so does ``M``, so that each further certificate costs next to nothing. Where its bound
is not close enough, or ``w`` is outside, all rows are read as usual.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from discreet.bounds import Array, unit_roundoff
from discreet.data.blocks import gamma
from discreet.data.second_sums import SecondSums, has_second_sums, second_sums
from discreet.solvers.objective import Objective, norm

REACH = 2.0
"""Radius of the ball over the length of the first step."""


@dataclass(frozen=True)
class Nearby(Objective):
    """An objective that knows its gradients in a ball around ``centre``.

    Examples
    --------
    >>> import numpy as np
    >>> from discreet.data import Rows
    >>> from discreet.losses import Squared
    >>> rows = Rows(np.array([[1.0], [2.0]]), np.array([1.0, 0.0]))
    >>> whole = Objective(rows, Squared(), np.zeros(1), 1.0)
    >>> close = nearby(whole, np.zeros(1), lambda gradient: gradient)
    >>> close.certified(np.ones(1), 1e-9)[0], whole.certified(np.ones(1))[0]
    (array([5.]), array([5.]))
    """

    centre: Array
    radius: float
    base: Array
    base_error: float
    sums: SecondSums

    @property
    def quickly_certified(self) -> bool:
        """True: nothing costs less than a certificate."""
        return True

    def certified(self, w: Array, enough: float = 0.0) -> tuple[Array, float]:
        """Return the gradient and a bound on the norm of its error."""
        step = w - self.centre
        # privacy: the step rounds too, and so does its norm.
        length = norm(step) * (1.0 + 2.0**-40)
        if not length <= self.radius:
            return super().certified(w, enough)
        own, slip = self.sums.active.certified_gradient(self.loss, w)
        moved = self.sums.matrix @ step
        data = self.base + moved + own
        gradient = data + self.strength * w + self.linear
        size = norm(self.base) + norm(moved) + norm(own) + self.strength * norm(w)
        # privacy: the product with the step rounds, the step itself, and four additions.
        product = (self.sums.error + gamma(w.size + 4) * self.sums.mass) * length
        sums = (w.size + 12) * unit_roundoff() * (size + norm(self.linear))
        error = 1.01 * (self.base_error + slip + product + sums)
        error += self.rows.n_rows * w.size * 1e-300
        if not error <= enough:
            return super().certified(w, enough)
        return gradient, error

    def hessian(self, w: Array) -> Array:
        """Return the second derivative."""
        if not norm(w - self.centre) <= self.radius:
            return super().hessian(w)
        matrix = self.sums.matrix + self.sums.active.hessian(self.loss, w)
        matrix.flat[:: len(matrix) + 1] += self.strength
        return matrix


def nearby(objective: Objective, centre: Array, solve: Callable[[Array], Array]) -> Nearby | None:
    """Return the objective near a point, as far from it as the step that ``solve`` proposes.

    None says that the loss is another one, or that too many rows may cross their caps.
    """
    rows, loss = objective.rows, objective.loss
    if not has_second_sums(rows, loss):
        return None
    base, error = rows.certified_gradient(loss, centre)
    radius = REACH * norm(solve(base + objective.strength * centre + objective.linear))
    sums = second_sums(rows, centre, radius) if 0.0 < radius < math.inf else None
    if sums is None:
        return None
    own, slip = sums.active.certified_gradient(loss, centre)
    # privacy: the subtraction rounds.
    error += slip + unit_roundoff() * (norm(base) + norm(own)) * 1.01
    given = rows, loss, objective.linear, objective.strength
    return Nearby(*given, centre, radius, base - own, error, sums)
