r"""Noise of density proportional to ``exp(-||b|| / scale)`` on a grid, rounded exactly.

Its radius is Gamma(p, scale) and its direction uniform. We draw it as

    b = scale * chi * G,   G standard normal in R^p,   chi^2 ~ chi-square(p + 1), independent.

The direction of ``G`` is uniform and independent of ``||G||``, and by the
duplication formula of the gamma function ``chi^2 * ||G||^2`` has the moments
``Gamma(p + 2s) / Gamma(p)``, which are those of a squared Gamma(p) variable and
determine it. So only the scalar ``chi`` is shared: a coordinate whose rounding
is open needs more bits of ``chi`` and of itself, not of its neighbours.

``chi^2 / 2`` is a sum of ``(p + 1) // 2`` exponentials ``-log U`` and, for even
``p``, one more times ``cos(pi U')**2``. In float64, with the notation of
:mod:`discreet.noise.rounded_draws`, a term ``E`` is within ``1 / b`` (unknown bits)
plus ``8u E + 2u`` (logarithm) of the ideal one, and the squared cosine within
``40u``, given that ``numpy.cos`` errs by at most 4 units in the last place. We
claim ``64u (1 + E)`` a term; ``fsum`` adds them with one rounding.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from mpmath.libmp import (
    fone,
    from_float,
    from_int,
    from_man_exp,
    fzero,
    mpf_add,
    mpf_cos_pi,
    mpf_div,
    mpf_le,
    mpf_log,
    mpf_mul,
    mpf_neg,
    mpf_shift,
    mpf_sqrt,
    mpf_sub,
)

from discreet.bounds import Array
from discreet.checks import positive
from discreet.noise.gaussian import normal_tail
from discreet.noise.grid import Grid, fitting_ratio
from discreet.noise.randomness import Randomness
from discreet.noise.rounded_draws import REL, chunks, draw_exactly, nearest, normal, tail_bits


@dataclass(frozen=True)
class GammaSphere:
    """Noise of density proportional to ``exp(-||b|| / scale)``, rounded to a grid.

    One call of :meth:`sample` draws one vector; a matrix is one long vector.
    Every coordinate is exactly ``step * rint(b_j / step)`` for one ideal ``b``.

    Parameters
    ----------
    scale
        Scale of the Gamma(p) radius.
    grid
        The grid the noise lies on.

    Examples
    --------
    >>> from discreet.noise import Grid, Seeded
    >>> noise = GammaSphere(2.0, Grid(step=0.5, reach=8.0))
    >>> b = noise.sample((400,), Seeded(0))
    >>> bool((b % 0.5 == 0).all()), bool(abs(np.linalg.norm(b) - 800) < 200)
    (True, True)
    """

    scale: float
    grid: Grid

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", positive("scale", self.scale))
        fitting_ratio("scale", self.scale, self.grid, _reach(1))

    def sample(self, shape: tuple[int, ...], random: Randomness) -> Array:
        """Return one vector (or matrix) of noise, all multiples of the grid's step."""
        dim = math.prod(shape)
        ratio = fitting_ratio("scale", self.scale, self.grid, _reach(dim))
        chi = _Chi(dim + 1, random)

        def tail(k: int, precision: int) -> tuple[int, int]:
            low, high = (mpf_mul(from_float(ratio), c) for c in chi.enclosure(precision))
            below = 0 if low == fzero else normal_tail(k, low, precision) - 16
            return below, normal_tail(k, high, precision) + 16

        out = np.empty(dim)
        for part in chunks(dim):
            words = random.words(part.stop - part.start)
            y, error = normal(words)
            y *= ratio * chi.value
            error *= ratio * chi.value * (1 + chi.error)
            error += (np.abs(y) + 1) * chi.error
            k, open_ = nearest(y, error)
            for i, bits in zip(open_, tail_bits(words[open_]), strict=True):
                k[i] = math.copysign(draw_exactly(int(bits), tail, int(abs(k[i])), random), k[i])
            out[part] = k
        out += 0.0  # no negative zeros: see Gaussian.sample
        out *= self.grid.step
        return out.reshape(shape)

    def displacement(self, dim: int) -> float:
        """Return a bound on the distance between the drawn and the ideal vector."""
        return self.grid.displacement(dim)


def _reach(dim: int) -> float:
    """Return what a Gamma(dim) radius exceeds with probability below 2**-256."""
    # P(Gamma(p) >= p + sqrt(2 p t) + t) <= exp(-t), here with t = 178.
    return dim + math.sqrt(2 * 178 * dim) + 178


class _Chi:
    """The root of a chi-square variable, known to as many bits as are asked for."""

    def __init__(self, degrees: int, random: Randomness) -> None:
        self._random = random
        self._pairs, self._single = divmod(degrees, 2)
        words = random.words(self._pairs + 2 * self._single)
        self._bits = [int(word) for word in words]
        self._length = 64
        self._known: dict[int, tuple[Any, Any]] = {}

        known = words.astype(np.float64)
        uniform = (known + 0.5) * 2.0**-64
        terms = -np.log(uniform[: self._pairs + self._single])
        error = REL * (1 + terms) + 1 / np.maximum(known[: terms.size], 1.0)
        error[known[: terms.size] < 1] = np.inf
        if self._single:
            terms[-1] *= np.cos(np.pi * uniform[-1]) ** 2
        half = math.fsum(terms)
        self.value, self.error = 1.0, math.inf  # relative error; kept if nothing is known
        if half > 0:
            self.value = math.sqrt(2 * half)
            # |sqrt(1 + e) - 1| <= |e|, with room for the rounding of the root and products.
            self.error = math.fsum(error) / half + REL / 4

    def enclosure(self, precision: int) -> tuple[Any, Any]:
        """Return multi-precision numbers on both sides of the ideal value."""
        if precision not in self._known:
            while self._length < precision or not all(self._bits):
                more = self._random.words(len(self._bits))
                self._bits = [b << 64 | int(w) for b, w in zip(self._bits, more, strict=True)]
                self._length += 64
            self._known[precision] = self._enclose(precision + 64)
        return self._known[precision]

    def _enclose(self, work: int) -> tuple[Any, Any]:
        # Each U is taken at the middle of its interval; 1 / b bounds the change of its log.
        product, slack = fone, from_man_exp(1, 32 - work)
        for b in self._bits[: self._pairs]:
            product = mpf_mul(product, from_man_exp(2 * b + 1, -self._length - 1), work)
            slack = mpf_add(slack, mpf_div(fone, from_int(b), 53, "u"), 53, "u")
        half = mpf_neg(mpf_log(product, work))
        if self._single:
            b, angle = self._bits[-2:]
            term = mpf_neg(mpf_log(from_man_exp(2 * b + 1, -self._length - 1), work))
            cosine = mpf_cos_pi(from_man_exp(2 * angle + 1, -self._length - 1), work)
            half = mpf_add(half, mpf_mul(term, mpf_mul(cosine, cosine), work), work)
            slack = mpf_add(slack, mpf_div(fone, from_int(b), 53, "u"), 53, "u")
            # The squared cosine changes by less than 4 a unit of the angle.
            turn = mpf_mul(mpf_add(term, fone), from_man_exp(4, -self._length), 53, "u")
            slack = mpf_add(slack, turn, 53, "u")
        low, high = mpf_sub(half, slack, work), mpf_add(half, slack, work)
        low = fzero if mpf_le(low, fzero) else low
        return mpf_sqrt(mpf_shift(low, 1), work, "d"), mpf_sqrt(mpf_shift(high, 1), work, "u")
