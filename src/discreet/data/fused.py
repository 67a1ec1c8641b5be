"""Bounding of dense rows in one compiled loop, when numba is installed (extra ``compiled``).

A row is read once: it is clipped, scaled, measured, shortened and stored while it is in
the nearest cache. Every step is the one that :meth:`Bounding._bound_features
<discreet.data.bounding.Bounding>` takes in numpy, in the same order and in strict
arithmetic, so rows and norms have the same bits, but for signs of zeros. The order in which
numpy sums squares is not documented. So it is compared on made-up rows of the same
width before the loop is used, and where a bit differs numpy bounds the rows. Either way the
bound on a row holds: the proof allows any order.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from discreet.bounds import Array
from discreet.data.kernel_cache import kept
from discreet.data.labels import Mask
from discreet.data.norms import norms_of

LARGE = 2**27
"""Values from which on a loop that must be loaded or compiled first saves time."""

READY = 2**12
"""Values from which on a loop that is already there saves time."""

WIDEST = 8192
"""Features up to which numpy sums the squares of a row at once."""

_LARGEST = float(np.finfo(np.float64).max)


class Loop:
    """Bounds blocks of dense rows.

    Examples
    --------
    >>> rows, out = np.array([[3.0, 4.0]]), np.empty((1, 3))
    >>> loop = Loop()
    >>> loop(rows, out, np.zeros(1, np.bool_), None, 1.0, 0.0, 1.0), out
    (array([1.]), array([[0.6, 0.8, 1. ]]))
    """

    def __init__(self) -> None:
        self._run = _loop()

    def __call__(
        self,
        given: Any,
        out: Any,
        blank: Mask,
        ranges: tuple[Array, Array, Array, Array] | None,
        target: float,
        tiny: float,
        constant: float,
    ) -> Array | None:
        """Write bounded rows and a constant into ``out`` and return norms of the rows.

        Rows that are not finite become blank too. None says that numpy has to do it: rows of
        other types or orders, and squares that overflow.
        """
        given = np.asarray(given)
        if given.dtype not in (np.float64, np.float32) or not given.flags.carray:
            return None
        none = np.empty(0)
        low, high, centre, half = ranges or (none, none, none, none)
        norms, again = np.empty(len(given)), bool(centre.any())
        plain = self._run(
            given, out, norms, blank, low, high, centre, half, again, target, tiny, constant
        )
        return norms if plain else None


def loop_for(n_rows: int, n_features: int) -> Loop | None:
    """Return the loop that bounds rows of that size, or None if numpy should.

    Which of the two does changes no number, so the number of rows may be secret.

    >>> loop_for(10, 3) is None
    True
    """
    values = n_rows * n_features
    if values < (READY if _loop.cache_info().currsize else LARGE) or not 0 < n_features <= WIDEST:
        return None
    try:
        return Loop() if _alike(n_features) else None
    except ImportError:
        return None


@cache
def _loop() -> Any:
    from numba import njit

    # privacy: strict arithmetic, as numpy's.
    squares = njit(fastmath=False, error_model="numpy")(_squares)
    return kept(_bound_rows, _squares=squares)


@cache
def _alike(n_features: int) -> bool:
    """Return whether the loop sums squares of rows of that width as numpy does, bit for bit."""
    rows = np.random.default_rng(0).normal(size=(512, n_features))
    out, blank = np.empty_like(rows), np.zeros(len(rows), np.bool_)
    found = Loop()(rows, out, blank, None, np.inf, 0.0, 0.0)
    return found is not None and found.tobytes() == norms_of(rows).tobytes()


def _bound_rows(
    given: Any,
    out: Any,
    norms: Any,
    blank: Any,
    low: Any,
    high: Any,
    centre: Any,
    half: Any,
    again: bool,
    target: float,
    tiny: float,
    constant: float,
) -> bool:
    n_rows, p = given.shape
    row = np.empty(p)
    for i in range(n_rows):
        odd = 0
        for j in range(p):
            x: Any = np.float64(given[i, j])
            row[j] = x
            odd += not abs(x) <= _LARGEST
        if odd > 0 or blank[i]:
            # privacy: a row that cannot be read contributes nothing at all.
            blank[i] = True
            norms[i] = 0.0
            for j in range(out.shape[1]):
                out[i, j] = 0.0
            continue
        if low.shape[0] > 0:
            for j in range(p):
                x = row[j]
                x = x if x > low[j] else low[j]
                x = x if x < high[j] else high[j]
                row[j] = (x - centre[j]) / half[j]
            if again:
                # privacy: as in numpy, because the centre of a narrow range rounds.
                for j in range(p):
                    x = row[j]
                    x = x if x > -1.0 else -1.0
                    row[j] = x if x < 1.0 else 1.0
        norm: Any = np.sqrt(_squares(row))
        if not norm <= _LARGEST:
            return False
        if norm > target:
            factor = target / norm
            for j in range(p):
                row[j] *= factor
            norm = target
        if norm < tiny:
            row[:] = 0.0
            norm = 0.0
        for j in range(p):
            out[i, j] = row[j]
        if out.shape[1] > p:
            out[i, p] = constant
        norms[i] = norm
    return True


def _squares(row: Any) -> float:
    # The order of numpy's einsum: two sums, of even and odd places, each from the last to the
    # first of four and then one by one.
    p = row.shape[0]
    even, odd, j = 0.0, 0.0, 0
    while j + 8 <= p:
        for k in (6, 4, 2, 0):
            even += row[j + k] * row[j + k]
            odd += row[j + k + 1] * row[j + k + 1]
        j += 8
    while j + 2 <= p:
        even += row[j] * row[j]
        odd += row[j + 1] * row[j + 1]
        j += 2
    if j < p:
        even += row[j] * row[j]
    return even + odd
