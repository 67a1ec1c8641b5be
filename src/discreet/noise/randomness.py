"""Where random bits come from, and the unbiased draws built on them.

Everything random in discreet starts as 64-bit words. :class:`System` asks the
operating system for them; :class:`Seeded` repeats itself, which is what tests
want and what privacy forbids, so a guarantee made with it says so.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from numbers import Integral
from typing import Any, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from discreet.checks import integer
from discreet.errors import InvalidParameter

try:
    from cryptography.hazmat.primitives.ciphers import Cipher
    from cryptography.hazmat.primitives.ciphers.algorithms import AES
    from cryptography.hazmat.primitives.ciphers.modes import CTR
except ImportError:
    Cipher = None

Words = npt.NDArray[np.uint64]

_AES_FROM = 1024  # below this many words keying a cipher costs more than it saves


@runtime_checkable
class Randomness(Protocol):
    """A source of independent uniform 64-bit words."""

    @property
    def secure(self) -> bool:
        """Whether an adversary who knows all but the words cannot predict them."""
        ...

    def words(self, n: int) -> Words:
        """Return ``n`` fresh words."""
        ...


class System:
    """Words from the operating system's entropy.

    With the optional package ``cryptography`` large requests are the AES-256
    counter keystream of a fresh 256-bit key from the operating system. A key
    serves one request only, so there is no state that a fork, a thread or a
    copy of the object could make repeat.

    Examples
    --------
    >>> System().secure
    True
    >>> System().words(3).shape
    (3,)
    """

    @property
    def secure(self) -> bool:
        """True: the words cannot be predicted or repeated."""
        return True

    def words(self, n: int) -> Words:
        """Return ``n`` fresh words."""
        if Cipher is None or n < _AES_FROM:
            return np.frombuffer(os.urandom(8 * n), np.uint64)
        # privacy: one key per request; a kept keystream would repeat after a fork or copy.
        stream = Cipher(AES(os.urandom(32)), CTR(bytes(16))).encryptor()
        return np.frombuffer(stream.update(bytes(8 * n)), np.uint64)

    def __repr__(self) -> str:
        return "System()"


class Seeded:
    """Words that repeat for the same seed: for tests, never for a private release.

    Parameters
    ----------
    seed
        A non-negative integer, or several.

    Examples
    --------
    >>> bool((Seeded(7).words(4) == Seeded(7).words(4)).all())
    True
    >>> Seeded(7).secure
    False
    """

    def __init__(self, seed: int | Sequence[int]) -> None:
        given = list(seed) if isinstance(seed, Iterable) else [seed]
        entropy = [integer("seed", value, minimum=0) for value in given]
        self._generator = np.random.Philox(np.random.SeedSequence(entropy))

    @property
    def secure(self) -> bool:
        """False: whoever knows the seed can subtract the noise."""
        return False

    def words(self, n: int) -> Words:
        """Return the next ``n`` words of the stream."""
        return self._generator.random_raw(n)


def as_randomness(random_state: Any = None) -> Randomness:
    """Return a source of words for scikit-learn's ``random_state`` and more.

    Parameters
    ----------
    random_state
        ``None`` for the operating system's entropy; an integer, a
        ``numpy.random.RandomState`` or a ``numpy.random.Generator`` for a
        repeatable stream (not secure); or a :class:`Randomness`, returned as is.

    Examples
    --------
    >>> as_randomness(None)
    System()
    >>> as_randomness(0).secure
    False
    """
    if random_state is None:
        return System()
    if isinstance(random_state, Randomness):
        return random_state
    if isinstance(random_state, Integral):
        return Seeded(int(random_state))
    if isinstance(random_state, np.random.RandomState):
        return Seeded(random_state.randint(0, 2**32, size=8, dtype=np.uint64).tolist())
    if isinstance(random_state, np.random.Generator):
        return Seeded(random_state.integers(0, 2**32, size=8, dtype=np.uint64).tolist())
    raise InvalidParameter(
        "random_state must be None, an integer, a numpy RandomState or Generator, or a "
        f"Randomness. Got {type(random_state).__name__} instead."
    )


def integers(high: int, n: int, random: Randomness) -> npt.NDArray[np.int64]:
    """Return ``n`` independent integers, exactly uniform on ``0 .. high - 1``.

    >>> integers(1, 3, Seeded(0)).tolist()
    [0, 0, 0]
    """
    high = integer("high", high)
    n = integer("n", n, minimum=0)
    if high > 2**62:
        raise InvalidParameter("high must be at most 2**62.")
    return integers_below(np.full(n, high, np.int64), random)


def integers_below(highs: npt.NDArray[np.int64], random: Randomness) -> npt.NDArray[np.int64]:
    """Return independent integers, each exactly uniform below its own bound.

    >>> integers_below(np.array([1, 1, 2**40]), Seeded(0))[:2].tolist()
    [0, 0]
    """
    # Bits of the largest value; float64 may round it up to a power of two, which costs one bit.
    bits = np.frexp((highs - 1).astype(np.float64))[1]
    shift = (64 - np.maximum(bits, 1)).astype(np.uint64)
    drawn = np.empty(highs.size, np.int64)
    open_ = np.arange(highs.size)
    # Reject rather than reduce: a remainder favours small values.
    while open_.size:
        values = (random.words(open_.size) >> shift[open_]).astype(np.int64)
        drawn[open_] = values
        open_ = open_[values >= highs[open_]]
    return drawn


def permutation(n: int, random: Randomness) -> npt.NDArray[np.int64]:
    """Return an exactly uniform permutation of ``0 .. n - 1``.

    Sorts independent random keys. Given that all keys differ, every order is
    equally likely; on a tie (about ``n**2 / 2**65``) all keys are drawn again.

    >>> sorted(permutation(4, Seeded(0)).tolist())
    [0, 1, 2, 3]
    """
    n = integer("n", n, minimum=0)
    while True:
        keys = random.words(n)
        order = np.argsort(keys)
        ranked = keys[order]
        if not np.any(ranked[1:] == ranked[:-1]):
            return order.astype(np.int64)
