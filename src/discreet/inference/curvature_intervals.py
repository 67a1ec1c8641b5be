"""Intervals from released weights and a released Hessian: approximate, by a first-order argument.

Released are weights ``w`` near the minimiser of ``F(v) + Delta/2 |v|^2`` and ``H~ = F''(w) +
N``, ``N`` symmetric Gaussian of deviation ``s``. ``C`` is the covariance that noise gives ``w``
about that minimiser. The target is the minimiser with the ridge ``Lambda <= Delta`` alone: the
one that was asked for (table), or none (population). To first order

    w + a,   a = (Delta - Lambda) (H~ + Lambda)^-1 w,

is centred at it, with covariance

    D C D' + (H~ + Lambda)^-1 [J + s^2/2 (|a|^2 I + a a')] (H~ + Lambda)^-1,

``D = (H~ + Lambda)^-1 (H~ + Delta)``. The second part is the noise of ``H~`` in ``a``. ``J`` is
the covariance of the gradient over samples: 0 for the table; for the population ``H~`` itself,
which is right where the labels follow the logistic model; and where they need not, or the loss
has no such model, a noisy ``sum f'^2 x x'`` that is released too. Its negative eigenvalues become
0, and the deviation of its noise is added in every direction, so that noise does not make errors
too small.

Checks. ``lambda_min(H~ + Lambda) >= 2 s sqrt(p)``, else its inverse is noise; ``Delta - Lambda``
at most a quarter of it, else the ridge pulls too far for a first-order step back; what a descent
has left of its way at most 0.2 standard errors.

References: Avella-Medina, Bradshaw, Loh, *Differentially private inference via noisy
optimization*, 2023.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from discreet.bounds import Array
from discreet.inference.base import CLEAR, UNCLEAR, Inference

PULLED = 4.0
"""The least eigenvalue must be so many times the ridge that is taken off."""

LEFT = 0.2
"""Largest part of a standard error that a descent may have left of its way."""


@dataclass(frozen=True, kw_only=True, eq=False)
class CurvatureIntervals(Inference):
    """Intervals from released weights and one noisy Hessian.

    Parameters
    ----------
    weights, hessian
        As released, in the scaled domain; the Hessian without any ridge.
    noise
        Standard deviation of the noise on the Hessian's diagonal.
    covering
        Covariance of the weights about the minimiser with the whole ridge.
    strength, ridge
        The whole ridge, and the part of it that belongs to the target.
    left
        How far weights may be off in the mean, in size; 0 for a certified minimiser.
    outward
        Part of their length that a descent which swings moves weights out by.
    middle, middle_noise
        Released sum of squared gradients and the deviation of its noise; empty and 0 where the
        labels are taken to follow the logistic model.

    Examples
    --------
    >>> found = CurvatureIntervals(target="table", slopes=[1.0], constants=[], shift=0.0,
    ...     weights=[1.0], hessian=[[100.0]], noise=1.0, covering=[[0.01]], strength=0.0,
    ...     ridge=0.0, left=[0.0])
    >>> found.interval(0.95).round(3)
    array([[0.804, 1.196]])
    """

    method: ClassVar[str] = "weights with noise of known law, and a noisy Hessian"

    weights: Array
    hessian: Array
    noise: float
    covering: Array
    strength: float
    ridge: float
    left: Array
    middle: Array = ()  # type: ignore[assignment]  # an array once made
    middle_noise: float = 0.0
    outward: float = 0.0

    @property
    def _numbers(self) -> tuple[str, ...]:
        own = ("weights", "hessian", "noise", "covering", "strength", "ridge", "left", "outward")
        return (*super()._numbers, *own, "middle", "middle_noise")

    def _holds_together(self) -> bool:
        p = self.count
        fits = [self.weights.shape == self.left.shape == (p,)]
        squares = (self.middle,) if self.middle.size else ()
        for matrix in (self.hessian, self.covering, *squares):
            fits.append(matrix.shape == (p, p) and bool((matrix == matrix.T).all()))
        fits.append((self.middle_noise > 0) == (self.middle.size > 0))
        fits.append(self.target == "population" or (self.target == "robust") == bool(squares))
        fits += [self.noise > 0, 0 <= self.ridge <= self.strength, self.outward >= 0]
        return all(fits)

    @property
    def _kept(self) -> float:
        return self.ridge if self.target == "table" else 0.0

    @cached_property
    def _shifted(self) -> Array:
        return self.hessian + self._kept * np.eye(self.count)

    @cached_property
    def _inverse(self) -> Array:
        return np.asarray(np.linalg.inv(self._shifted), dtype=np.float64)

    @cached_property
    def _back(self) -> Array:
        """The way back from the pull of the ridge."""
        return np.asarray((self.strength - self._kept) * (self._inverse @ self.weights))

    @cached_property
    def refusals(self) -> tuple[str, ...]:
        """Checks that failed, in words."""
        least = float(np.linalg.eigvalsh(self._shifted)[0])
        if least < CLEAR * self.noise * math.sqrt(self.count):
            return (UNCLEAR.format("Hessian"),)
        if PULLED * (self.strength - self._kept) > least:
            return (
                "the ridge that privacy needs pulls too hard on the weights to be taken off "
                "again. More rows or a larger epsilon help",
            )
        errors = np.sqrt(np.diagonal(self.spread))
        if (self.left > LEFT * errors).any():
            return (
                "the descent ends too far from the minimiser, or swings too much on its way. More "
                "rows help, and so does algorithm='objective-perturbation'",
            )
        return ()

    @cached_property
    def centre(self) -> Array:
        """The debiased weights."""
        return self.weights + self._back - self.outward * self.weights

    @cached_property
    def spread(self) -> Array:
        """Covariance of the centre."""
        inverse, back, eye = self._inverse, self._back, np.eye(self.count)
        turn = eye + (self.strength - self._kept) * inverse
        middle = self.noise**2 / 2 * (float(back @ back) * eye + np.outer(back, back))
        if self.target != "table":
            middle = middle + self._sampling
        whole = turn @ self.covering @ turn.T + inverse @ middle @ inverse
        return np.asarray((whole + whole.T) / 2)

    @cached_property
    def _sampling(self) -> Array:
        """Covariance of the gradient over samples."""
        if not self.middle.size:
            return self.hessian
        values, basis = np.linalg.eigh(self.middle)
        return np.asarray((basis * (np.maximum(values, 0.0) + self.middle_noise)) @ basis.T)

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What the intervals rest on, in words."""
        if self.target == "table":
            return ("the table is taken as it is clipped to the declared bounds",)
        if self.middle.size:
            return (
                "rows are independent; labels may follow any law, and the coefficients are those "
                "of least expected loss",
                "clipping to the declared bounds changes little",
            )
        return (
            "rows are independent and labels follow the logistic model",
            "clipping to the declared bounds changes little",
        )
