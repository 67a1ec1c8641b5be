"""How many tries are made: a secret number, drawn exactly from its law."""

from __future__ import annotations

from itertools import count

from mpmath import mp

from discreet.accounting.best_of import Tries
from discreet.noise import Randomness

LAWS = {"geometric": 1.0, "logarithmic": 0.0}
"""Laws by name, each with its eta."""


def draw_tries(tries: Tries, random: Randomness) -> int:
    """Return a number of tries with exactly the chances of its law.

    A uniform number is compared with running sums of the chances. Where 64 bits of it
    do not decide, further ones are drawn.

    >>> from discreet.accounting import NegativeBinomialTries
    >>> from discreet.noise import Seeded
    >>> draw_tries(NegativeBinomialTries.expecting(30.0, eta=1.0), Seeded(0)) >= 1
    True
    """
    if tries.gamma == 1.0 and tries.mean == 1.0 and hasattr(tries, "eta"):
        return 1
    bits = 0
    for words in count(1):
        # privacy: continue the same draw; a fresh one would favour clear outcomes.
        bits = bits << 64 | int(random.words(1)[0])
        found = _decided(tries, bits, 64 * words)
        if found is not None:
            return found
    raise AssertionError  # pragma: no cover


def _decided(tries: Tries, bits: int, length: int) -> int | None:
    """Return the number of tries of a uniform number of which so many bits are known."""
    with mp.workprec(length + 128):
        pad, total = mp.ldexp(1, -32), mp.mpf(0)
        for k, mass in tries.masses():
            total += mass
            edge = mp.ldexp(total, length)
            if bits + 1 <= edge - pad:
                return k
            if bits < edge + pad:
                return None
    return None  # pragma: no cover
