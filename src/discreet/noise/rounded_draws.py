r"""Exactly rounded draws from a word and, when needed, more words.

A 64-bit word is a sign and the first 63 bits of a uniform ``V`` in (0, 1). The
ideal draw is ``sign * Q(V)``, where ``Q`` inverts the tail ``P(|Z| > x)``. What
is returned is ``rint(ratio * sign * Q(V))``, exactly: a float64 evaluation
decides every draw whose error interval holds no rounding boundary, and
:func:`draw_exactly` decides the others by comparing ``V`` with the tail probability
of a boundary in multi-precision, asking for further bits of the *same* ``V``
for as long as the known ones leave it open. Tails are not cut: small ``V``
always goes there.

Error of the float64 evaluation, with ``u = 2**-53``:

* Known bits. ``V`` lies in ``[b, b + 1) / 2**63``. Since ``P(|Z| > x)`` is at
  most ``sqrt(pi / 2)`` times the density of ``|Z|`` (Mills; 1 for Laplace), ``Q``
  varies by at most ``sqrt(pi/2) / b < 1.26 / b`` there.
* Normal quantile. Wichura's rational functions (Algorithm AS 241, 1988) have
  positive coefficients and non-negative arguments, so each Horner sum has a
  relative error of at most 15u and their quotient 31u. The argument adds at
  most 4u in the centre; in the tail ``sqrt(-log p)`` is good to 6u and the
  quantile is at most twice as sensitive, 12u. With the product by ``ratio``
  this stays below 48u. The functions themselves are within 2u of the quantile.
* We claim ``REL = 64u`` and spend the rest as safety.

Two inputs are measured, not proved: the fit of AS 241 and ``numpy.log`` being
within 4 units in the last place. The tests compare both with mpmath.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import numpy.typing as npt

from discreet.bounds import Array
from discreet.noise.randomness import Randomness, Words

REL = 2.0**-47
CHUNK = 16384  # words handled at once; the scratch arrays stay in the cache

Bits = npt.NDArray[np.int64]
Tail = Callable[[int, int], tuple[int, int]]

_MASK = np.int64(2**63 - 1)

# AS 241 (PPND16), highest power first. Centre: |q| <= 0.425, in 0.180625 - q^2.
_CENTRE = 0.180625
_A = (
    2509.0809287301226727,
    33430.575583588128105,
    67265.770927008700853,
    45921.953931549871457,
    13731.693765509461125,
    1971.5909503065514427,
    133.14166789178437745,
    3.3871328727963666080,
)
_B = (
    5226.4952788528545610,
    28729.085735721942674,
    39307.895800092710610,
    21213.794301586595867,
    5394.1960214247511077,
    687.18700749205790830,
    42.313330701600911252,
    1.0,
)
# Tail: in sqrt(-log p) - 1.6, for sqrt(-log p) <= 5.
_C = (
    7.74545014278341407640e-4,
    0.0227238449892691845833,
    0.24178072517745061177,
    1.27045825245236838258,
    3.64784832476320460504,
    5.76949722146069140550,
    4.63033784615654529590,
    1.42343711074968357734,
)
_D = (
    1.05075007164441684324e-9,
    5.475938084995344946e-4,
    0.0151986665636164571966,
    0.148103976427480074590,
    0.689767334985100004550,
    1.67638483018380384940,
    2.05319162663775882187,
    1.0,
)
_DEEP = 2**28  # tail positions below this have sqrt(-log p) > 5: prob. 2^-35, left to draw_exactly


def chunks(n: int) -> Iterator[slice]:
    """Yield slices that cover ``range(n)`` in cache-sized pieces."""
    for start in range(0, n, CHUNK):
        yield slice(start, min(start + CHUNK, n))


def tail_bits(words: Words) -> Bits:
    """Return the first 63 bits of ``V`` of each word, the part that is not the sign."""
    signed = words.view(np.int64)
    # Complementing the non-negative words makes the words as signed integers run in the
    # order of the draws, which is what lets the centre of the normal law skip this step.
    return (signed ^ ~(signed >> 63)) & _MASK


def _ratio(x: Array, upper: tuple[float, ...], lower: tuple[float, ...]) -> Array:
    top, bottom = x * upper[0], x * lower[0]
    for a, b in zip(upper[1:-1], lower[1:-1], strict=True):
        top += a
        top *= x
        bottom += b
        bottom *= x
    top += upper[-1]
    bottom += lower[-1]
    top /= bottom
    return top


def normal(words: Words) -> tuple[Array, Array]:
    """Return standard normal draws, signed, and a bound on the error of each."""
    signed = words.view(np.int64)
    q = signed.astype(np.float64)
    q *= 2.0**-64
    r = q * q
    np.subtract(_CENTRE, r, out=r)
    outer = np.flatnonzero(r < 0)
    np.maximum(r, 0, out=r)
    z = _ratio(r, _A, _B)
    z *= q
    error = np.full(z.shape, 2.0 * REL)  # |z| < 1.45 here, and 1.26 / b is below 2**-60

    picked = words[outer]
    position = tail_bits(picked).astype(np.float64)
    r = np.log((position + 0.5) * 2.0**-64)
    np.negative(r, out=r)
    np.sqrt(r, out=r)
    r -= 1.6
    far = _ratio(r, _C, _D)
    open_ = 1.26 / np.maximum(position, 1.0)
    open_[position < _DEEP] = np.inf
    error[outer] = far * REL + open_
    z[outer] = np.copysign(far, q[outer])
    return z, error


def nearest(y: Array, error: Array) -> tuple[Array, npt.NDArray[np.intp]]:
    """Return ``rint(y)`` and where an error of that size leaves the rounding open."""
    k = np.rint(y)
    y -= k
    np.abs(y, out=y)
    error += 2.0**-50  # the rounding of this comparison itself
    y += error
    # privacy: a draw is accepted only if no rounding boundary lies within its error; the
    # negated test also sends anything that is not a number to the exact path.
    return k, np.flatnonzero(~(y < 0.5))


def draw_exactly(bits: int, tail: Tail, guess: int, random: Randomness) -> int:
    """Return ``rint(ratio * Q(V))`` for the ``V`` that starts with ``bits``.

    Parameters
    ----------
    bits
        The first 63 bits of ``V``.
    tail
        ``tail(k, precision)`` returns integers around ``2**precision`` times the
        probability that the magnitude exceeds ``k - 1/2`` steps.
    guess
        Where to start looking; the result does not depend on it.
    random
        Source of the further bits.
    """
    length = 63

    def reaches(k: int) -> bool:
        nonlocal bits, length
        while True:
            low, high = tail(k, length + 32)
            if (bits + 1) << 32 <= low:
                return True
            if bits << 32 >= high:
                return False
            # privacy: continue this draw; a fresh one would favour the easy values.
            bits, length = bits << 64 | int(random.words(1)[0]), length + 64

    low, high, stride = 0, max(guess, 0) + 1, 1
    while reaches(high):
        low, high, stride = high, high + stride, 2 * stride
    stride = 1
    while high - stride > low and not reaches(high - stride):
        high, stride = high - stride, 2 * stride
    low = max(low, high - stride)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if reaches(middle) else (low, middle)
    return low
