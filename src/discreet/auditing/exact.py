"""The law of a release that draws one number, by quadrature over the draw.

A draw of the noise room is a function of one 64-bit word, a sign and 63 bits,
and grows with them on either sign. Runs on words at the middle of equal cells
therefore give both laws up to one cell, whatever the plan makes of its noise as
long as the release moves one way with it. Nothing is left to chance.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from discreet.bounds import Array
from discreet.errors import Incompatible
from discreet.noise import Randomness, Seeded

_HALF = 2**63


class OneWord:
    """Randomness of one chosen word; it notes whether more were asked for."""

    secure = False

    def __init__(self, word: int) -> None:
        self._word = word
        self._more = Seeded(0)
        self.asked = 0

    def words(self, n: int) -> np.ndarray[tuple[int], np.dtype[np.uint64]]:
        """Return the chosen word first, and others afterwards."""
        first, self.asked = self.asked == 0, self.asked + n
        found = self._more.words(n).copy()
        if first and n:
            found[0] = self._word
        return found


def law(draw: Callable[[Randomness], float], runs: int) -> Array:
    """Return the scores of runs on equally likely cells of the draw.

    Raises where a run asks for more than one word, or its score does not move
    one way with the draw: then the cells prove nothing.
    """
    half = max(runs // 2, 1)
    scores = np.empty((2, half))
    for sign in range(2):
        for i in range(half):
            random = OneWord(sign * _HALF + (2 * i + 1) * _HALF // (2 * half))
            scores[sign, i] = draw(random)
            if random.asked != 1:
                raise Incompatible(
                    "The exact method needs a run that draws one number; this one draws more. "
                    "Audit a plan with one weight and one noise, or use method='auto'."
                )
        moves = np.diff(scores[sign])
        if not ((moves >= 0).all() or (moves <= 0).all()):
            raise Incompatible(
                "The exact method needs a release that moves one way with its noise; this one "
                "turns back. Use method='auto'."
            )
    return scores.ravel()
