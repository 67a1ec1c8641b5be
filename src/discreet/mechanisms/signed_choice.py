"""Drawing a signed coordinate among many of which few change: classes of powers of two.

Coordinate ``j`` is wanted with weight ``exp(h_j) + exp(-h_j)``. It stands in the
class of a whole number ``k`` with ``2**(k + 1/4)`` at least that weight. A draw
chooses a class with probability proportional to its size times ``2**k``, all whole
numbers, then one of its members, each alike, and accepts it with probability
``(exp(h_j) + exp(-h_j)) / 2**(k + 1/4)``. So the law is exact whatever the classes
overstate. There are no sums that rounding or a forgotten update could spoil: a
class knows its size, and a coordinate changes class by changing places.

``order`` lists all coordinates, highest class first; ``above[k]`` counts those in
classes above ``k``. Class ``k`` is then ``order[above[k]:above[k - 1]]``, and a
step to the next class moves one border by one place. The loops below are read by
a compiler where one is installed (:mod:`discreet.mechanisms.compiled_choice`).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from mpmath import mp, mpf

from discreet.bounds import Array
from discreet.errors import NotCertified
from discreet.noise.coins import below_exp
from discreet.noise.randomness import Randomness

Index = npt.NDArray[np.intp]

MOST_CLASSES = 2**22
"""Classes above which a plan takes another way: only absurd budgets have more."""

DEPTH = 40
"""Classes further below the highest one are proposed as if they were that far below."""

SORTED = 16
"""With more than one in so many coordinates in a new class, all are sorted anew."""

_OFFSET = 0.25
"""Where classes end, in classes. Most coordinates weigh little more than 2, so 2 is no end."""

_LOG_2 = math.log(2.0)

# Chords of log2(1 + exp(-2 s)), which is convex, over the knots 0, 1/2, 1, 2 and beyond, each with
# log2(e) s added and rounded up in the last digit: their largest bounds the logarithm to base 2
# of exp(s) + exp(-s).
_AT_ZERO = (1.00001, 0.72077, 0.34006, 0.0262)
_RISE = (0.34659, 0.90507, 1.28577, 1.4426950409)


class Classes(NamedTuple):
    """Which class every coordinate is in, and all coordinates in the order of their classes."""

    level: npt.NDArray[np.int32]
    order: npt.NDArray[Any]
    place: npt.NDArray[Any]
    above: npt.NDArray[np.int64]
    top: npt.NDArray[np.int64]


def level_of(size: Any, most: int) -> Any:
    """Return the class of a log-odds of size at most ``size``, and ``most`` if it is too large.

    >>> level_of(0.0, 9), level_of(3.0, 9), level_of(float("nan"), 9)
    (1, 5, 9)
    """
    a = max(_AT_ZERO[0] + _RISE[0] * size, _AT_ZERO[1] + _RISE[1] * size)
    b = max(_AT_ZERO[2] + _RISE[2] * size, _AT_ZERO[3] + _RISE[3] * size)
    a = max(a, b) - _OFFSET
    # privacy: written so that what is not a number is too large, and never an index.
    return math.ceil(a) if a < most else most


def levels_of(sizes: Array, most: int) -> npt.NDArray[np.int32]:
    """Return :func:`level_of` of every size."""
    found = np.full(sizes.shape, -np.inf)
    for at_zero, rise in zip(_AT_ZERO, _RISE, strict=True):
        found = np.maximum(found, at_zero + rise * sizes)
    found -= _OFFSET
    return np.ceil(np.where(found < most, found, most)).astype(np.int32)


def shift(j: int, level: int, classes: Classes) -> None:
    """Move a coordinate to another class, one border after the other."""
    now, at = classes.level[j], classes.place[j]
    order, place, above = classes.order, classes.place, classes.above
    while now < level:
        # It changes places with the first of its class, which then ends the class above.
        border = above[now]
        if border != at:
            other = order[border]
            order[at] = other
            place[other] = at
            at = border
        above[now] = border + 1
        now += 1
    while now > level:
        now -= 1
        border = above[now] - 1
        if border != at:
            other = order[border]
            order[at] = other
            place[other] = at
            at = border
        above[now] = border
    order[at] = j
    place[j] = at
    classes.level[j] = level
    if level > classes.top[0]:
        classes.top[0] = level


def propose(word: int, depth: int, classes: Classes) -> tuple[int, int]:
    """Return a coordinate and the class it was proposed from, or -1 if the word is used up.

    ``word`` is uniform below ``2**63``. A coordinate is proposed with a chance
    proportional to two to the power of the class returned with it.
    """
    above, top, count = classes.above, classes.top[0], classes.order.shape[0]
    while above[top - 1] == 0:
        top -= 1
    classes.top[0] = top
    last = max(top - depth, 1)
    total = (count - above[last]) << (depth - (top - last))
    for k in range(last + 1, top + 1):
        total += (above[k - 1] - above[k]) << (depth - (top - k))
    bits = 0
    while (total - 1) >> bits:
        bits += 1
    value = word >> (63 - bits)
    # privacy: reject rather than reduce, so that every member of a class is equally likely.
    if value >= total:
        return -1, 0
    for k in range(top, last, -1):
        weight = (above[k - 1] - above[k]) << (depth - (top - k))
        if value < weight:
            return classes.order[above[k] + (value >> (depth - (top - k)))], k
        value -= weight
    # Classes far below share the weight of the highest of them.
    return classes.order[above[last] + (value >> (depth - (top - last)))], last


def relevel(index: Index, sizes: Array, classes: Classes) -> None:
    """Put coordinates, each named once, into the classes of their new sizes."""
    levels = levels_of(sizes, classes.above.size - 1)
    changed = np.flatnonzero(levels != classes.level[index])
    if changed.size * SORTED > classes.level.size:
        classes.level[index] = levels
        arrange(classes)
        return
    for i in changed.tolist():
        shift(int(index[i]), int(levels[i]), classes)


def arrange(classes: Classes) -> None:
    """Sort all coordinates by class, members of one class by number."""
    level = classes.level
    highest = int(level.max())
    # Short numbers are sorted in one pass.
    keys = -(level.astype(np.int16) if highest < 2**15 else level)
    classes.order[:] = np.argsort(keys, kind="stable")
    classes.place[classes.order] = np.arange(level.size)
    old = int(classes.top[0])
    classes.above[: old + 1] = 0
    classes.above[: highest + 1] = level.size - np.cumsum(np.bincount(level))
    classes.top[0] = highest


class SignedSampler:
    """Draws a coordinate and a sign with probability proportional to ``exp(sign * h_j)``.

    Parameters
    ----------
    sizes
        At least ``|h_j|`` for every coordinate, now and until the next update.
    most
        A public bound on them.
    compiled
        Compiled loops, or None for plain ones. Both give the same draws.

    Examples
    --------
    >>> from discreet.noise import Seeded
    >>> h = np.array([0.0, -40.0, 3.0])
    >>> SignedSampler(abs(h), most=50.0).draw(lambda j: h[j], Seeded(0))
    (1, -1)
    """

    def __init__(self, sizes: Array, most: float, compiled: Any = None) -> None:
        highest = classes_of(most)
        kind = np.int32 if sizes.size < 2**31 else np.int64
        self.classes = Classes(
            levels_of(sizes, highest),
            np.empty(sizes.size, kind),
            np.empty(sizes.size, kind),
            np.zeros(highest + 1, np.int64),
            np.zeros(1, np.int64),
        )
        # Weights are whole numbers, and their sum stays below 2**62.
        self._depth = min(DEPTH, 61 - sizes.size.bit_length())
        self._propose = propose if compiled is None else compiled.propose
        (arrange if compiled is None else compiled.arrange)(self.classes)

    def draw(self, h: Callable[[int], float], random: Randomness) -> tuple[int, int]:
        """Return a coordinate and its sign; ``h`` tells the log-odds of a coordinate."""
        while True:
            word = int(random.words(1)[0]) >> 1
            j, level = self._propose(word, self._depth, self.classes)
            if j < 0:
                continue
            odds = float(h(j))
            # privacy: each round accepts in proportion to the wanted weights, so the law is exact
            # although classes only bound them.
            if _accepted(odds, int(level), random):
                return int(j), 1 if _agrees(odds, random) == (odds >= 0.0) else -1


def classes_of(most: float) -> int:
    """Return the highest class that log-odds up to ``most`` may need.

    >>> classes_of(10.0)
    17
    """
    return math.ceil(_RISE[-1] * most) + 2 if math.isfinite(most) else MOST_CLASSES + 1


def _accepted(h: float, level: int, random: Randomness) -> bool:
    """Accept with the exact ratio of the wanted weight to the proposed one."""
    size = abs(h)

    def exact() -> Any:
        return mpf(size) + mp.log1p(mp.exp(-2 * mpf(size))) - (level + mpf(_OFFSET)) * mp.log(2)

    near = size + math.log1p(math.exp(-2.0 * size)) - (level + _OFFSET) * _LOG_2
    # privacy: if a proposal could be too rare for its weight, the law would not be exact.
    if not near <= 0.0:
        raise NotCertified("A choice among coordinates lost its precision, so none was made.")
    return below_exp(near, 2.0**-46 * (64.0 + size), exact, random)


def _agrees(h: float, random: Randomness) -> bool:
    """Return a coin: whether the sign is that of ``h``."""
    size = abs(h)

    def exact() -> Any:
        return -2 * mpf(size) - mp.log1p(mp.exp(-2 * mpf(size)))

    near = -2.0 * size - math.log1p(math.exp(-2.0 * size))
    return not below_exp(near, 2.0**-46 * (64.0 + size), exact, random)
