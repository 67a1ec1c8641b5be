"""Bounding of dense rows in one compiled loop, when numba is installed (extra ``compiled``).

A row is read once: it is clipped, scaled, measured, shortened and stored while it is in
the nearest cache. Tables have columns; of them some rows at a time are taken, and every step
runs along a column, so that the processor takes several rows at once. Every step is the one
that :meth:`Bounding._bound_features <discreet.data.bounding.Bounding>` takes in numpy, in the
same order and in strict arithmetic, so rows and norms have the same bits, but for signs of
zeros. The order in which numpy sums squares is not documented. So it is compared on
made-up rows of the same width before the loop is used, and where a bit differs numpy bounds
the rows. Either way the bound on a row holds: the proof allows any order.
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

    Parameters
    ----------
    finish
        Compiled code for bounded columns, in place of :func:`store`; rows are then not taken.

    Examples
    --------
    >>> rows, out = np.array([[3.0, 4.0]]), np.empty((1, 3))
    >>> loop = Loop()
    >>> loop(rows, out, np.zeros(1, np.bool_), None, 1.0, 0.0, 1.0), out
    (array([1.]), array([[0.6, 0.8, 1. ]]))
    """

    def __init__(self, finish: Any = None) -> None:
        self._rows = _rows_loop() if finish is None else None
        self._columns = _columns_loop(finish)

    def __call__(
        self,
        given: Any,
        out: Any,
        blank: Mask,
        ranges: tuple[Array, Array, Array, Array] | None,
        target: float,
        tiny: float,
        constant: float,
        more: tuple[Any, ...] = (),
    ) -> Array | None:
        """Write bounded rows and a constant into ``out`` and return norms of the rows.

        Both may hold row after row or column after column. Rows that are not finite become
        blank too. None says that numpy has to do it: rows of other types or orders, and squares
        that overflow. Another ``finish`` is given ``out`` and ``more``.
        """
        given, run = np.asarray(given), self._rows
        if given.dtype not in (np.float64, np.float32):
            return None
        if given.strides[0] == given.itemsize and (run is None or given.shape[1] > 1):
            given, run = np.ascontiguousarray(given.T), self._columns
        if not given.flags.carray or run is None:
            return None
        none = np.empty(0)
        # Of one layout, or the loop would be compiled for each.
        low, high, centre, half = map(np.ascontiguousarray, ranges or (none, none, none, none))
        norms, again = np.empty(len(blank)), bool(centre.any())
        public = low, high, centre, half, again, target, tiny, constant
        return norms if run(given, out, norms, blank, *public, more) else None


def loop_for(n_rows: int, n_features: int) -> Loop | None:
    """Return the loop that bounds rows of that size, or None if numpy should.

    Which of the two does changes no number, so the number of rows may be secret.

    >>> loop_for(10, 3) is None
    True
    """
    values = n_rows * n_features
    least = READY if _rows_loop.cache_info().currsize else LARGE
    if values < least or not 0 < n_features <= WIDEST:
        return None
    try:
        return Loop() if _alike(n_features) else None
    except ImportError:
        return None


@cache
def _rows_loop() -> Any:
    from numba import njit

    # privacy: strict arithmetic, as numpy's.
    return kept(_bound_rows, _squares=njit(fastmath=False, error_model="numpy")(_squares))


@cache
def _columns_loop(finish: Any) -> Any:
    from numba import njit

    strict = njit(fastmath=False, error_model="numpy")
    parts = {"_finish": finish or strict(store), "_ranged": strict(_ranged)}
    return kept(_bound_columns, _taken=strict(_taken), **parts)


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
    more: Any,
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


def _bound_columns(
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
    more: Any,
) -> bool:
    p, n_rows = given.shape
    size = max(64, min(128, 16384 // p))
    # Not a power of two, because such places share few lines of the cache.
    part, even, odd = np.empty((p, size + 8)), np.empty(size), np.empty(size)
    finite, factor, ranged = np.empty(size), np.empty(size), low.shape[0] > 0
    for start in range(0, n_rows, size):
        m = min(size, n_rows - start)
        even[:] = 0.0
        odd[:] = 0.0
        finite[:] = 0.0
        for j in range(p):
            # In the order in which _squares adds them up.
            k = j
            if j // 8 * 8 + 8 <= p:
                k = j // 8 * 8 + 6 - j % 8 // 2 * 2 + j % 2
            squares = odd if k % 2 else even
            if ranged:
                ends = low[k], high[k], centre[k], half[k]
                _ranged(given[k, start : start + m], part[k], squares, finite, ends, again)
            else:
                _taken(given[k, start : start + m], part[k], squares, finite)
        strange = 0
        for i in range(m):
            norm: Any = np.sqrt(even[i] + odd[i])
            norms[start + i] = norm
            usual = (finite[i] == 0.0) & (tiny <= norm) & (norm <= target)
            strange += 1 - (usual & (not blank[start + i]))
        if strange > 0:
            for i in range(m):
                norm = norms[start + i]
                if blank[start + i] or finite[i] != 0.0:
                    # privacy: a row that cannot be read contributes nothing at all.
                    blank[start + i] = True
                    norm = 0.0
                elif not norm <= _LARGEST:
                    return False
                factor[i] = 1.0
                if norm > target:
                    factor[i] = target / norm
                    norm = target
                if blank[start + i] or norm < tiny:
                    factor[i] = norm = 0.0
                norms[start + i] = norm
            for j in range(p):
                column = part[j]
                for i in range(m):
                    column[i] = column[i] * factor[i] if factor[i] > 0.0 else 0.0
        _finish(part, start, m, blank, constant, out, more)
    return True


_finish: Any = None  # kept() puts a compiled function in its place


def store(part: Any, start: int, m: int, blank: Any, constant: float, out: Any, more: Any) -> None:
    """Write some bounded columns into rows or columns, and a constant beside them."""
    p = part.shape[0]
    if out.strides[0] < out.strides[1]:
        for j in range(p):
            column = part[j]
            for i in range(m):
                out[start + i, j] = column[i]
    else:
        for i in range(m):
            for j in range(p):
                out[start + i, j] = part[j, i]
    if out.shape[1] > p:
        for i in range(m):
            out[start + i, p] = 0.0 if blank[start + i] else constant


def _taken(given: Any, column: Any, squares: Any, finite: Any) -> None:
    for i in range(len(given)):
        x: Any = np.float64(given[i])
        # Zero for a number and nan for everything else.
        finite[i] += x - x
        column[i] = x
        squares[i] += x * x


def _ranged(given: Any, column: Any, squares: Any, finite: Any, ends: Any, again: bool) -> None:
    least, most, middle, unit = ends
    if again or unit != 1.0:
        for i in range(len(given)):
            x: Any = np.float64(given[i])
            finite[i] += x - x
            x = x if x > least else least
            x = x if x < most else most
            x = (x - middle) / unit
            if again:
                # privacy: as in numpy, because the centre of a narrow range rounds.
                x = x if x > -1.0 else -1.0
                x = x if x < 1.0 else 1.0
            column[i] = x
            squares[i] += x * x
        return
    for i in range(len(given)):
        x = np.float64(given[i])
        finite[i] += x - x
        x = x if x > least else least
        x = (x if x < most else most) - middle
        column[i] = x
        squares[i] += x * x
