"""The smooth part of a problem as solvers see it: values, derivatives, certificates."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from discreet.bounds import Array, unit_roundoff
from discreet.data import Rows
from discreet.errors import NotCertified
from discreet.losses import Loss


@dataclass(frozen=True)
class Objective:
    """``sum_i weight_i f(<x_i, w>; y_i) + (strength/2) ||w||^2 + <linear, w>``.

    Examples
    --------
    >>> from discreet.losses import Squared
    >>> rows = Rows(np.array([[1.0], [2.0]]), np.array([1.0, 0.0]))
    >>> Objective(rows, Squared(), np.zeros(1), 1.0).evaluate(np.array([1.0]))
    (2.5, array([5.]))
    """

    rows: Rows
    loss: Loss
    linear: Array
    strength: float

    def evaluate(self, w: Array) -> tuple[float, Array]:
        """Return value and gradient."""
        value, gradient = self.rows.objective(self.loss, w)
        value += 0.5 * self.strength * norm(w) ** 2 + float(np.sum(self.linear * w))
        return value, gradient + self.strength * w + self.linear

    def hessian(self, w: Array) -> Array:
        """Return the second derivative in ``w.ravel()``."""
        compiled = self.rows.quickly_certified(self.loss)
        matrix = self.rows.hessian(self.loss, w, compiled=compiled)
        matrix.flat[:: len(matrix) + 1] += self.strength
        return matrix

    def product(self, w: Array, v: Array) -> Array:
        """Return the second derivative at ``w`` times ``v``."""
        return self.rows.hessian_product(self.loss, w, v) + self.strength * v

    def certified(self, w: Array, enough: float = 0.0) -> tuple[Array, float]:
        """Return the gradient and a bound on the norm of its error; see ``Rows`` on ``enough``."""
        data, error = self.rows.certified_gradient(self.loss, w, enough)
        gradient = data + self.strength * w + self.linear
        size = norm(data) + self.strength * norm(w) + norm(self.linear)
        # privacy: adding the three parts rounds too, and so does the norm of their sum.
        return gradient, error + (w.size + 8) * unit_roundoff() * size

    @property
    def quickly_certified(self) -> bool:
        """Whether :meth:`certified` costs less than :meth:`evaluate`."""
        return self.rows.quickly_certified(self.loss)

    def smoothness(self, w: Array) -> float:
        """Return a proven bound on the second derivative at every point of a ball around 0.

        The ball holds ``w`` and everything a rounding error away from it.
        """
        reach = 1.01 * self.rows.longest * norm(w)
        bend = self.loss.regularity(label=math.inf, reach=reach).smoothness
        return 1.01 * bend * self.rows.inertia() + self.strength

    def sample(self, stride: int) -> Objective:
        """Return an estimate of this objective from every ``stride``-th row."""
        return replace(self, rows=self.rows.sampled(stride))


def norm(w: Array) -> float:
    """Return the Euclidean (Frobenius) norm.

    >>> norm(np.array([[3.0], [4.0]]))
    5.0
    """
    return float(np.linalg.norm(w))


def certainly_below(residual: float, error: float, room: float) -> bool:
    """Return whether a residual known up to ``error`` is certainly within ``room``.

    Raises :class:`NotCertified` when rounding alone exceeds the room, since no
    solver could do better.

    >>> certainly_below(1e-9, 1e-10, 1e-8), certainly_below(1e-7, 1e-10, 1e-8)
    (True, False)
    """
    if not error < room:
        raise failed()
    return residual + error <= room


def failed() -> NotCertified:
    """Return the error for a solver that ran out of progress, or that rounding stopped."""
    # privacy: which of the two it was would tell of the rows.
    return NotCertified(
        "The solver did not reach the tolerance, so nothing is released. Weights may be longer "
        "than was planned for: plan with more strength or, where there is one, a larger "
        "norm_guess. A second attempt is a new release and spends budget again."
    )
