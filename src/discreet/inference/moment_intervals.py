"""Intervals from noisy second moments: an exact region, outer intervals, and Wald intervals.

Rows ``v = (x, y)``, in units in which they are summed; ``A = sum v v' + N`` is released, with
``N`` symmetric Gaussian, variance ``s^2`` on the diagonal and ``s^2/2`` beside it. Its blocks
are ``Z`` (rows), ``z`` (rows with labels) and ``q`` (squares of labels), all as released.

Exact region. ``theta`` of the table solves ``(M + L) theta = m`` for the true moments and a
ridge ``L >= 0`` that was fixed in advance. Then ``r(theta) = (Z + L) theta - z = N_x theta -
N_xy`` exactly, so ``r ~ N(0, V(theta))`` with ``V(theta) = s^2/2 [(|theta|^2 + 1) I + theta
theta']``, and ``{theta: r' V^-1 r <= chi}`` covers it with probability exactly ``level`` if
``chi`` is that quantile of the chi-squared law with ``p`` degrees. Any data, any ``Z``.

Outer intervals. ``V(theta) <= s^2/2 (2 |theta|^2 + 1) I``, so the region lies in ``{theta' G
theta - 2 g' theta + h <= 0}``, ``W = Z + L, G = W^2 - s^2 chi I, g = W z, h = |z|^2 - s^2
chi/2``. If ``G`` is positive definite that is an ellipsoid, and its shadows are simultaneous
intervals; otherwise there is none.

Wald, for the table (approximate). ``K = (Z + L)^-1, theta^ = K z``. As ``E[N B N] = s^2/2 (B +
tr(B) I)``, the mean of ``theta^`` is off by ``s^2/2 K (K + tr(K) I) theta`` to second order,
which is taken off. Covariance ``C = K V(theta^) K``. It needs ``lambda_min(Z + L) >= 2 s
sqrt(p)``, else ``K`` is noise.

Wald, for the population (approximate). The same with ``L = 0``, whatever ridge the model
predicts with: a ridge moves the target. Covariance ``C + s2 K``, ``s2 = max(0, (q - z'Kz +
tr(K V(theta^))) / (n - p))`` the variance of the errors: the least value of the noisy sum of
squares is too small by ``r' K r`` in the mean, which is put back.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from scipy.special import chdtri

from discreet.bounds import Array
from discreet.checks import between
from discreet.errors import InvalidParameter
from discreet.inference.base import CLEAR, UNCLEAR, Inference


@dataclass(frozen=True, kw_only=True, eq=False)
class MomentIntervals(Inference):
    """Intervals from one noisy matrix of second moments.

    Parameters
    ----------
    matrix
        Released second moments of rows and label, the label last, in units of the sums.
    noise
        Standard deviation of the noise on its diagonal.
    strength
        Ridge of the table's own solution, in the same units.
    rows
        Number of rows, released or public.
    stretch
        A weight per weight in units of the sums.

    Examples
    --------
    >>> moments = np.array([[400.0, 200.0], [200.0, 120.0]])
    >>> found = MomentIntervals(target="table", slopes=[1.0], constants=[], shift=0.0,
    ...                         matrix=moments, noise=4.0, strength=0.0, rows=1000, stretch=1.0)
    >>> found.interval(0.95).round(3)
    array([[0.483, 0.517]])
    >>> found.covers([0.5])
    True
    """

    method: ClassVar[str] = "noisy second moments"

    matrix: Array
    noise: float
    strength: float
    rows: float
    stretch: float

    @property
    def _numbers(self) -> tuple[str, ...]:
        return (*super()._numbers, "matrix", "noise", "strength", "rows", "stretch")

    def _holds_together(self) -> bool:
        square = self.matrix.shape == (self.count + 1,) * 2
        whole = square and bool((self.matrix == self.matrix.T).all())
        return whole and min(self.noise, self.stretch) > 0 and self.strength >= 0

    @property
    def _ridge(self) -> float:
        return self.strength if self.target == "table" else 0.0

    @property
    def _cross(self) -> Array:
        return self.matrix[:-1, -1]

    @cached_property
    def _shifted(self) -> Array:
        return self.matrix[:-1, :-1] + self._ridge * np.eye(self.count)

    @cached_property
    def _inverse(self) -> Array:
        return np.asarray(np.linalg.inv(self._shifted), dtype=np.float64)

    @cached_property
    def _plain(self) -> Array:
        """Solution of the noisy equations as they are."""
        return self._inverse @ self._cross

    def _noise_at(self, theta: Array) -> Array:
        """Return the covariance ``V`` of the residual of the noisy equations."""
        size = float(theta @ theta) + 1.0
        return self.noise**2 / 2 * (size * np.eye(self.count) + np.outer(theta, theta))

    @cached_property
    def refusals(self) -> tuple[str, ...]:
        """Checks that failed, in words."""
        found = []
        least = float(np.linalg.eigvalsh(self._shifted)[0])
        if least < CLEAR * self.noise * math.sqrt(self.count):
            found.append(UNCLEAR.format("second moments"))
        if self.target == "population" and self.rows <= self.count:
            found.append("there are no more rows than coefficients, as far as was released")
        return tuple(found)

    @cached_property
    def centre(self) -> Array:
        """The debiased solution, in the scaled domain."""
        inverse, theta = self._inverse, self._plain
        pull = inverse @ (inverse @ theta + np.trace(inverse) * theta)
        return np.asarray(self.stretch * (theta - self.noise**2 / 2 * pull))

    @cached_property
    def error_variance(self) -> float:
        """Variance of the errors about the line, in units of the sums."""
        noise = float(np.trace(self._inverse @ self._noise_at(self._plain)))
        left = float(self.matrix[-1, -1]) - float(self._cross @ self._plain) + noise
        return max(0.0, left / (self.rows - self.count))

    @cached_property
    def spread(self) -> Array:
        """Covariance of the centre, in the scaled domain."""
        inverse = self._inverse
        covariance = inverse @ self._noise_at(self._plain) @ inverse
        if self.target == "population":
            covariance = covariance + self.error_variance * inverse
        return self.stretch**2 * (covariance + covariance.T) / 2

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What the intervals rest on, in words."""
        if self.target == "table":
            return ("the table is taken as it is clipped to the declared bounds and rounded",)
        return (
            "rows are independent and errors about a line have one variance",
            "clipping to the declared bounds changes little, or the line is that of clipped rows",
        )

    @property
    def has_exact(self) -> bool:
        """Whether there are exact intervals too: those of the region are about the table."""
        return self.target == "table"

    # The exact region.

    def covers(self, coefficients: Array, level: float = 0.95) -> bool:
        """Return whether the exact region for the table holds these coefficients.

        Parameters
        ----------
        coefficients
            In the user's units, the intercept last.
        level
            Probability that the region covers the table's own coefficients; exact.
        """
        placed = np.array(coefficients, dtype=np.float64)
        if placed.shape != (self.count,):
            raise InvalidParameter(f"coefficients must hold {self.count} numbers.")
        if len(self.constants):
            placed[-1] -= self.shift
        theta: Array = np.asarray(np.linalg.solve(self._map, placed)) / self.stretch
        left = (self.matrix[:-1, :-1] + self.strength * np.eye(self.count)) @ theta - self._cross
        distance = float(left @ np.linalg.solve(self._noise_at(theta), left))
        return distance <= self._quantile(between("level", level, 0, 1))

    def _quantile(self, level: float) -> float:
        return float(chdtri(self.count, 1 - level))

    def _exact(self, level: float) -> Array:
        if not self.has_exact:
            return super()._exact(level)
        square, cross = self.noise**2 * self._quantile(level), self._cross
        outer = self._shifted @ self._shifted - square * np.eye(self.count)
        everything = np.tile([-np.inf, np.inf], (self.count, 1))
        if np.linalg.eigvalsh(outer)[0] <= 1e-12 * np.abs(outer).max():
            return everything
        inverse = np.linalg.inv(outer)
        middle = inverse @ (self._shifted @ cross)
        size = float((self._shifted @ cross) @ middle) - float(cross @ cross) + square / 2
        if size < 0:  # the region is empty: an event of probability below 1 - level
            return everything
        shadow = self._map @ inverse @ self._map.T
        reach = self.stretch * np.sqrt(size * np.diagonal(shadow))
        middle = self._placed(self.stretch * middle)
        return np.column_stack([middle - reach, middle + reach])
