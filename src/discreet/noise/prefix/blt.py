r"""Prefix sums by a buffered linear Toeplitz matrix (BLT; McMahan et al. 2024).

The coefficients of ``C`` are ``c_0 = 1, c_k = sum_i weight_i decay_i**(k-1)``: a
few exponentials that imitate the square root of the summing matrix. So a row of
``C x`` needs one running sum per exponential and no history:

    row_t = x_t + sum_i weight_i S_i,      S_i <- decay_i S_i + x_t,

and ``C^-1`` is the same recursion with the output fed back. Its own decays are
the eigenvalues of ``diag(decay) - r r'``, ``r = sqrt(weight)``, from which the
variance of every prefix follows in closed form.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np
from scipy.optimize import minimize

from discreet.bounds import Array, unit_roundoff
from discreet.checks import integer
from discreet.errors import InvalidParameter
from discreet.noise.prefix.strategy import Coder, Strategy, stacked_norm


@dataclass(frozen=True)
class BLT(Strategy):
    """A few exponentials in place of a square root; keeps one vector for each.

    Parameters
    ----------
    horizon
        Number of vectors the stream may have.
    decays, weights
        The exponentials; decays strictly between 0 and 1, weights positive with
        a sum of at most 1. :func:`best_blt` finds good ones.

    Examples
    --------
    >>> BLT(3, (0.5,), (0.5,)).coefficients.tolist()
    [1.0, 0.5, 0.25]
    """

    decays: tuple[float, ...]
    weights: tuple[float, ...]

    def __post_init__(self) -> None:
        super().__post_init__()
        inside = all(0.0 < u < 1.0 for u in self.decays) and all(w > 0.0 for w in self.weights)
        # privacy: falling coefficients are what the sensitivity below assumes.
        if not inside or math.fsum(self.weights) > 1.0 or len(self.decays) != len(self.weights):
            raise InvalidParameter(
                "decays must lie strictly between 0 and 1, and weights must be positive with a "
                "sum of at most 1, one for every decay. Otherwise the coefficients do not fall "
                "and the sensitivity is unknown."
            )

    @cached_property
    def coefficients(self) -> Array:
        """First column of ``C``."""
        powers = np.array(self.decays)[:, None] ** np.arange(self.horizon - 1)
        return np.concatenate([[1.0], np.array(self.weights) @ powers])

    def sensitivity(self, participations: int = 1, separation: int = 1) -> float:
        """Return how far ``C x`` moves when some vectors move by 1.

        >>> round(best_blt(1024).sensitivity(), 3)
        1.809
        """
        outwards = 1.0 + 2.0**-30  # far more than the rounding of the sums below
        if participations == 1:
            u, w = np.array(self.decays), np.array(self.weights)
            return math.sqrt(1.0 + _square_sum(u, w, self.horizon - 1)) * outwards
        return stacked_norm(self.coefficients, participations, separation) * outwards

    def touched(self, participations: int = 1) -> int:
        """Return the number of rows of ``C`` a data row can enter: all."""
        return self.horizon

    @property
    def gain(self) -> float:
        """Bound on the sum of a row of ``C``."""
        return 1.0 + float(np.array(self.weights) @ self._memory)

    @property
    def rounding(self) -> float:
        """Bound on the float64 error of a row of ``C x`` for vectors of norm 1."""
        # A running sum is at most its memory, errs by two roundings of that a step, and
        # forgets errors as fast as vectors.
        sums = 2.0 * float(np.array(self.weights) @ self._memory**2)
        return 1.01 * unit_roundoff() * (sums + (len(self.decays) + 3) * self.gain)

    @property
    def _memory(self) -> Array:
        """Bounds on the running sums of vectors of norm 1."""
        return np.minimum(self.horizon, 1.0 / (1.0 - np.array(self.decays)))

    @cached_property
    def _inverse(self) -> tuple[Array, Array]:
        return _inverse(np.array(self.decays), np.array(self.weights))

    def variance(self, step: int) -> float:
        """Return the variance of the prefix at ``step``."""
        return float(_prefix_variance(*self._inverse, step))

    def coder(self, shape: tuple[int, ...]) -> BLTCoder:
        """Return the running form."""
        return BLTCoder(self, shape)


class BLTCoder(Coder):
    """One running sum per exponential, of the vectors and of their noisy twins."""

    def __init__(self, strategy: BLT, shape: tuple[int, ...]) -> None:
        size = (len(strategy.decays), *shape)
        public = {"sums": np.zeros(size), "prefix": np.zeros(shape)}
        super().__init__({"sums": np.zeros(size)}, public)
        self._decays = np.array(strategy.decays).reshape(-1, *(1 for _ in shape))
        self._weights = np.array(strategy.weights)

    def encode(self, x: Array) -> Array:
        """Return the next row of ``C x``."""
        sums = self.secret["sums"]
        row = x + np.tensordot(self._weights, sums, 1)
        self.secret["sums"] = self._decays * sums + x
        return np.asarray(row)[None]

    def decode(self, noisy: Array) -> Array:
        """Undo ``C`` and add up."""
        sums = self.public["sums"]
        x = noisy[0] - np.tensordot(self._weights, sums, 1)
        self.public["sums"] = self._decays * sums + x
        self.public["prefix"] = self.public["prefix"] + x
        self.steps += 1
        return self.public["prefix"].copy()


@cache
def best_blt(horizon: int, buffers: int = 5) -> BLT:
    """Return the BLT with (nearly) the smallest largest error for a horizon.

    Whatever the search finds is valid: privacy is computed from the result.

    Parameters
    ----------
    horizon
        Number of vectors the stream may have.
    buffers
        Number of exponentials; short streams get fewer.

    Examples
    --------
    >>> blt = best_blt(1024, 4)
    >>> round(blt.sensitivity() * blt.variance(1024) ** 0.5, 3)
    3.273
    """
    integer("horizon", horizon)
    d = min(integer("buffers", buffers), horizon // 2)
    if d == 0:
        return BLT(horizon, (), ())

    def parts(z: Array) -> tuple[Array, Array]:
        gaps = np.exp(np.clip(z[..., :d], math.log(0.01 / horizon), -1e-3))
        return 1.0 - gaps, np.exp(np.clip(z[..., d:], -30.0, 0.0))

    def costs(z: Array) -> Array:
        u, w = parts(z)
        excess = np.maximum(0.0, w.sum(-1) - 1.0)
        sensitivity = 1.0 + _square_sum(u, w, horizon - 1)
        variance = _prefix_variance(*_inverse(u, w), horizon)
        return np.asarray(np.log(sensitivity * variance) + 10.0 * excess)

    # Time scales from a few steps to the horizon, each with the weight 1/sqrt(scale) that
    # coefficients falling like 1/sqrt(k) ask for.
    gaps = np.geomspace(0.6, min(0.5, 1.0 / horizon), d)
    start = np.concatenate([np.log(gaps), np.log(0.5 * np.sqrt(gaps) / math.sqrt(d))])
    found = minimize(_sloped(costs), start, method="L-BFGS-B", jac=True, options={"maxiter": 500}).x
    u, w = parts(found)
    w = w * min(1.0, (1.0 - 2.0**-40) / float(w.sum()))
    return BLT(horizon, tuple(u.tolist()), tuple(w.tolist()))


def _sloped(costs: Callable[[Array], Array]) -> Callable[[Array], tuple[float, Array]]:
    """Return a cost together with its forward differences, from those of many points at once."""

    def both(z: Array) -> tuple[float, Array]:
        moved = np.vstack([z, z + 1e-8 * np.eye(len(z))])
        here, *there = costs(moved).tolist()
        return here, (np.array(there) - here) / (np.diagonal(moved[1:]) - z)

    return both


def _square_sum(decays: Array, weights: Array, terms: int) -> Array:
    """Return the sum of squares of ``sum_i weight_i decay_i**k`` for k < terms.

    This and what follows take many sets of decays and weights too, one a row.
    """
    gap = 1.0 - decays
    # 1 - u v without cancellation when both are close to 1.
    apart = gap[..., :, None] + decays[..., :, None] * gap[..., None, :]
    logs = np.log1p(-gap)
    span = -np.expm1(terms * (logs[..., :, None] + logs[..., None, :])) / apart
    return _form(weights, span)


def _inverse(decays: Array, weights: Array) -> tuple[Array, Array]:
    """Return decays and weights of the inverse: ``1, -sum_i weight_i decay_i**(k-1)``."""
    root = np.sqrt(weights)
    matrix = root[..., :, None] * root[..., None, :]
    matrix += (1.0 - decays)[..., None] * np.eye(decays.shape[-1])
    gaps, turn = np.linalg.eigh(matrix)
    return 1.0 - gaps, (root[..., None, :] @ turn)[..., 0, :] ** 2


def _prefix_variance(decays: Array, weights: Array, step: int) -> Array:
    """Return the sum of squares of the first ``step`` coefficients of ``A C^-1``."""
    # b_k = level + sum_i share_i decay_i**k, a constant and more exponentials.
    gap = 1.0 - decays
    share = weights / gap
    level = 1.0 - share.sum(-1)
    mixed = (share * ((1.0 - decays**step) / gap)).sum(-1)
    # A decay of the inverse can be 0 or below when coefficients fall very fast.
    products = decays[..., :, None] * decays[..., None, :]
    span = (1.0 - products**step) / (1.0 - products)
    return np.asarray(step * level**2 + 2.0 * level * mixed + _form(share, span))


def _form(vector: Array, matrix: Array) -> Array:
    """Return ``v' M v``."""
    return np.asarray((vector[..., :, None] * matrix * vector[..., None, :]).sum((-2, -1)))
