"""Private choice among candidates, drawn exactly.

Log-weights are taken as they are, as exact float64 numbers; what rounding did
to them belongs in the range the caller accounts for. From there on nothing is
approximate, so there are no ties, no cut tails and no delta to pay:

* :func:`exponential_mechanism` proposes a candidate by whole-number weights and
  accepts it with the exact ratio. One draw costs one pass and a few words.
* :func:`top` keeps the largest of log-weights plus noise: with Gumbel noise,
  rounds of the exponential mechanism without replacement; with exponential
  noise, permute-and-flip. Each noise starts as 64 known bits of a uniform.

A float64 evaluation with an error bound decides nearly every comparison. Where
it cannot, further bits of the *same* uniforms are drawn and the comparison is
redone in multi-precision.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from mpmath import mp, mpf

from discreet.bounds import Array
from discreet.checks import integer, one_of
from discreet.errors import InvalidParameter
from discreet.noise.coins import below_exp, finite_scores
from discreet.noise.randomness import Randomness, Words
from discreet.noise.rounded_draws import chunks

Index = npt.NDArray[np.intp]

REL = 2.0**-48
"""Relative error claimed for a float64 logarithm; numpy's is within 4 units of 2**-53."""

SLACK = 2.0**-40
"""How far, in logarithm, accepted proposals stay below their weight, whatever rounding does."""


def exponential_mechanism(log_weights: Array, random: Randomness) -> int:
    """Return an index drawn with probability proportional to ``exp(log_weights)``.

    If neighbours change the log-weights by amounts that differ by at most
    ``eta`` between candidates, the choice is ``eta``-bounded-range, hence
    ``eta``-private and ``eta**2 / 8``-zCDP.

    Parameters
    ----------
    log_weights
        One finite number per candidate.
    random
        Where the bits come from.

    References
    ----------
    McSherry, Talwar, *Mechanism design via differential privacy*, FOCS 2007;
    Durfee, Rogers, *Practical differentially private top-k selection with
    pay-what-you-get composition*, NeurIPS 2019.

    Examples
    --------
    >>> from discreet.noise import Seeded
    >>> exponential_mechanism(np.array([0.0, 50.0]), Seeded(0))
    1
    """
    x = finite_scores(log_weights)
    peak = float(x.max())
    while True:
        j, weight, _ = propose(x, peak, random)
        value = float(x[j])
        scale = scale_bits(x.size)

        def exact(value: float = value, weight: int = weight, scale: int = scale) -> Any:
            return mpf(value) - peak - mpf(SLACK) + scale * mp.log(2) - mp.log(weight)

        near = value - peak - SLACK + scale * math.log(2.0) - math.log(weight)
        # privacy: the proposal exceeds the wanted weight by the same factor for all candidates
        # once accepted with this chance, so its rounding leaves no trace.
        if below_exp(near, 2.0**-46 * (64.0 + abs(value) + abs(peak)), exact, random):
            return j


def propose(x: Array, peak: float, random: Randomness) -> tuple[int, int, int]:
    """Draw an index by whole-number weights near ``exp(x - peak)``.

    Returns the index, its weight and the sum of all weights, which state its
    probability exactly.

    >>> from discreet.noise import Seeded
    >>> propose(np.array([-np.inf, 0.0]), 0.0, Seeded(0))[0]
    1
    """
    return pick(integer_weights(x, peak), random)


def integer_weights(x: Array, peak: float) -> npt.NDArray[np.int64]:
    """Return running sums of whole numbers just above ``exp(x - peak) * 2**scale_bits``.

    Each is at least that, up to a relative rounding of 2**-50; for ``-inf`` it is 0.

    >>> integer_weights(np.array([-np.inf, 0.0]), 0.0).tolist() == [0, 2**40 + 1]
    True
    """
    weights = np.exp(x - peak)
    weights *= 2.0 ** scale_bits(x.size)
    whole = weights.astype(np.int64)
    whole += x > -np.inf
    return whole.cumsum(out=whole)


def pick(ends: npt.NDArray[np.int64], random: Randomness) -> tuple[int, int, int]:
    """Draw an index by the whole numbers whose running sums are ``ends``.

    >>> from discreet.noise import Seeded
    >>> pick(np.array([0, 5, 5]), Seeded(0))
    (1, 5, 5)
    """
    total = int(ends[-1])
    j = int(ends.searchsorted(_below(total, random), side="right"))
    return j, int(ends[j]) - (int(ends[j - 1]) if j else 0), total


def _below(high: int, random: Randomness) -> int:
    """Return one integer as :func:`~discreet.noise.integers` does, without its arrays."""
    shift = 64 - max(1, (high - 1).bit_length())
    while True:
        value = int(random.words(1)[0]) >> shift
        if value < high:
            return value


def scale_bits(candidates: int) -> int:
    """Return how fine the whole-number weights are; their sum stays below 2**62.

    >>> scale_bits(10), scale_bits(2**30)
    (40, 29)
    """
    return min(40, 60 - candidates.bit_length())


def permute_and_flip(log_weights: Array, random: Randomness) -> int:
    """Return an index drawn by permute-and-flip, never worse than the exponential mechanism.

    ``eta``-private under the condition of :func:`exponential_mechanism`, but
    not ``eta``-bounded-range: compose it as pure epsilon.

    References
    ----------
    McKenna, Sheldon, *Permute-and-flip*, NeurIPS 2020; Ding et al., *The
    permute-and-flip mechanism is identical to report-noisy-max with exponential
    noise*, 2021.

    Examples
    --------
    >>> from discreet.noise import Seeded
    >>> permute_and_flip(np.array([0.0, 50.0]), Seeded(0))
    1
    """
    return int(top(log_weights, 1, random, noise="exponential")[0])


def top(log_weights: Array, k: int, random: Randomness, *, noise: str = "gumbel") -> Index:
    """Return the ``k`` indices with the largest noisy log-weights, in increasing order.

    Parameters
    ----------
    log_weights
        One finite number per candidate.
    k
        How many to return.
    random
        Where the bits come from.
    noise
        ``"gumbel"`` or ``"exponential"``, of scale 1.

    Examples
    --------
    >>> from discreet.noise import Seeded
    >>> top(np.array([0.0, 50.0, 90.0]), 2, Seeded(0)).tolist()
    [1, 2]
    """
    x = finite_scores(log_weights)
    if integer("k", k) > x.size:
        raise InvalidParameter(f"k must be at most the number of candidates, {x.size}.")
    near, exact = _NOISES[one_of("noise", noise, _NOISES)]
    words = random.words(x.size)
    low, high = np.empty(x.size), np.empty(x.size)
    for part in chunks(x.size):
        value, error = near(words[part])
        value += x[part]
        error += REL * (np.abs(value) + np.abs(x[part]))
        low[part], high[part] = value - error, value + error
    level = np.partition(low, x.size - k)[x.size - k]
    # privacy: everything that might still be among the k largest stays in the race.
    open_ = np.flatnonzero(~(high < level))
    if open_.size == k:
        return open_
    bits = [int(words[i]) for i in open_]
    return open_[_choose_exactly(x[open_], bits, k, exact, random)]


def _gumbel(words: Words) -> tuple[Array, Array]:
    """Return ``-log(-log(1 - V))`` and its error, ``V`` beginning with the 64 bits."""
    v = (words.astype(np.float64) + 0.5) * 2.0**-64
    error = 2.0**-62 / np.maximum(v, 2.0**-66)  # one unknown unit, and the half added above
    # Near 1 the float64 of V is only good to 2**-53, and 1 - V magnifies that.
    rest = np.maximum(1.0 - v, 2.0**-60)
    error += 2.0**-52 / rest
    with np.errstate(divide="ignore"):
        inner = -np.log1p(-np.minimum(v, 1.0 - 2.0**-53))
        value = -np.log(inner)
    error[(rest < 2.0**-30) | (v < 2.0**-50)] = np.inf
    # d log E / dV = 1 / (E (1 - V)) and E >= V, so both sources are at most doubled above.
    error *= 2.0
    error += 4.0 * REL * (1.0 + np.abs(value))
    return value, error


def _exponential(words: Words) -> tuple[Array, Array]:
    """Return ``-log V`` and its error."""
    v = (words.astype(np.float64) + 0.5) * 2.0**-64
    error = 2.0**-62 / v + 2.0**-51
    error[v < 2.0**-50] = np.inf
    value = -np.log(v)
    error += 4.0 * REL * (1.0 + value)
    return value, error


def _exact_gumbel(v: Any) -> Any:
    inner = -mp.log1p(-v) if v < 1 else mp.inf
    return -mp.log(inner) if inner > 0 else mp.inf


def _exact_exponential(v: Any) -> Any:
    return -mp.log(v) if v > 0 else mp.inf


_NOISES: dict[str, tuple[Callable[[Words], tuple[Array, Array]], Callable[[Any], Any]]] = {
    "gumbel": (_gumbel, _exact_gumbel),
    "exponential": (_exponential, _exact_exponential),
}
# Both noises fall as V grows, so the ends of V's bracket are swapped ends of the noise's.


def _choose_exactly(
    x: Array, bits: list[int], k: int, exact: Callable[[Any], Any], random: Randomness
) -> Index:
    """Return which ``k`` are largest, reading further bits of the same uniforms as needed."""
    length = 64
    while True:
        pad = mpf(2) ** -(length + 16)
        with mp.workprec(2 * length + 128):
            low, high = [], []
            for value, known in zip(x, bits, strict=True):
                ends = [
                    exact(mpf(known + e) / mpf(2) ** length) + mpf(float(value)) for e in (1, 0)
                ]
                low.append(ends[0] - pad * (1 + abs(ends[0])) if mp.isfinite(ends[0]) else -mp.inf)
                high.append(ends[1] + pad * (1 + abs(ends[1])) if mp.isfinite(ends[1]) else mp.inf)
            level = sorted(low)[len(low) - k]
            inside = [i for i, end in enumerate(high) if end >= level]
        if len(inside) == k:
            return np.array(inside, dtype=np.intp)
        # privacy: continue the same draws; fresh ones would favour clear winners.
        extra = random.words(len(bits))
        bits = [known << 64 | int(word) for known, word in zip(bits, extra, strict=True)]
        length += 64
