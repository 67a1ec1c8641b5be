"""Kernels of clipped sums compiled with numba, when it is installed (extra ``compiled``).

A kernel reads each row once: a few rows at a time it takes margins, slopes,
clips them and adds the rows up, while these are in the nearest cache and the next
ones are on their way to it. Slopes and sums are float64; with weights in float32
margins are float32, and so are sums of four rows where positions are kept (as in
:mod:`discreet.data.clipped.narrow`). Kernels are compiled once per loss and kept on disk
(:mod:`discreet.data.kernel_cache`).

Rounding is bounded as :func:`discreet.data.clipped.clipped_sums.sum_rounding` says: a
block of rows is summed row by row, four at a time. Slopes are computed
in the order the loss writes them, so equal margins give equal slopes. Only a
margin is summed in the order the compiler likes best, and that order does not
depend on the position of the row.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.bounds import Array
from discreet.data.kernel_cache import kept
from discreet.losses import Loss
from discreet.losses.scalar import ScalarSlope, exp

# privacy: a margin may be summed in any order and products may be fused with additions, both
# within the rounding bound. No flag assumes finite values or allows approximations.
REORDER = {"reassoc", "contract", "nsz"}
FUSE = {"contract"}

LINE = 64
"""Bytes that come from memory together on the usual processors."""

FORESEEN = 1024
"""Bytes of a row up to which the next rows are asked for ahead of time."""


def kernel_for(loss: Loss, X: Any, *, shifting: bool = False) -> Kernel | None:
    """Return the kernel of a loss on these rows; None without numba or a scalar slope.

    >>> from discreet.losses import Softmax
    >>> kernel_for(Softmax(), np.zeros((1, 1))) is None
    True
    """
    slope = loss.scalar_slope()
    # Sparse products of scipy are compiled already, and no slower.
    if slope is None or not isinstance(X, np.ndarray) or X.dtype not in (np.float64, np.float32):
        return None
    try:
        return Kernel(*slope, X, shifting=shifting)
    except ImportError:
        return None


def tile_rows(row_bytes: int) -> int:
    """Return the rows a kernel keeps in the nearest cache, from public values only.

    >>> tile_rows(200), tile_rows(800), tile_rows(80_000)
    (32, 8, 8)
    """
    # About as much as comes from memory while the rows before it are added up.
    return max(8, min(64, 6400 // max(row_bytes, 1) // 8 * 8))


class Kernel:
    """Clipped sums over blocks of the same rows.

    Parameters
    ----------
    slope, parameters
        See :meth:`discreet.losses.Loss.scalar_slope`.
    X
        Dense rows, float64 or float32.
    shifting
        Whether the positions of rows may differ between neighbours.

    Examples
    --------
    >>> from discreet.losses import Squared
    >>> kernel = Kernel(*Squared().scalar_slope(), np.array([[3.0, 4.0], [0.0, 1.0]]))
    >>> total, short = kernel(
    ...     np.zeros(2), -np.ones(2), np.ones(2), np.array([0.2, 1.0]), None, slice(0, 2),
    ...     weighted=False, count=True)
    >>> total.round(6), short
    (array([0.6, 1.8]), 1)
    """

    def __init__(
        self, slope: ScalarSlope, parameters: tuple[float, ...], X: Any, *, shifting: bool = False
    ) -> None:
        # privacy: rows that shift would meet others in a float32 sum.
        add = _combine if shifting else _slim_combine
        self._runs = {
            np.float64: _compiled(slope, _margin, 1, _combine),
            np.float32: _compiled(slope, _slim_margins, 8, add),
        }
        self._parameters = tuple(float(value) for value in parameters)
        self._X, self._tile = X, tile_rows(X.shape[1] * X.itemsize)

    def __call__(
        self,
        w: Any,
        y: Array,
        weight: Array,
        cap: Array,
        index: npt.NDArray[np.int64] | None,
        block: slice,
        *,
        weighted: bool,
        count: bool,
    ) -> tuple[Array, int]:
        """Return the sum over a block and how many rows were not clipped.

        ``w`` in float32 asks for margins in float32. ``cap`` is the largest
        slope of each row. Rows are counted on request, blank ones not at all.
        """
        rows, how = (self._X, y, weight, cap), (self._tile, weighted, count)
        run = self._runs[w.dtype.type]
        total, short = run(rows, index, how, self._parameters, w, block.start, block.stop)
        return total, int(short)


@cache
def _compiled(slope: ScalarSlope, margins: Any, together: int, add: Any) -> Any:
    """Return the compiled sum for one slope, with margins of so many rows taken together.

    The types of its arguments are found as it runs.
    """
    from numba import njit

    slope_of = strict_slope(slope)
    margins_of = njit(fastmath=REORDER)(margins)
    combine, foresee = njit(fastmath=FUSE)(add), _foreseeing()

    return kept(
        _run,
        _together=together,
        _slope_of=slope_of,
        _margins_of=margins_of,
        _combine_rows=combine,
        _foresee=foresee,
    )


# What the sum is made of; kept() puts compiled functions in their place.
_together = 1
_slope_of: Any = None
_margins_of: Any = None
_combine_rows: Any = None
_foresee: Any = None


def _run(rows: Any, index: Any, how: Any, slopes: Any, w: Any, start: int, stop: int) -> Any:
    X, y, weight, caps = rows
    tile, weighted, count = how
    total, short = np.zeros(w.shape[0]), 0
    at, c, label, cap = np.empty(tile, np.int64), np.empty(tile), np.empty(tile), np.empty(tile)
    for row in range(start, stop, tile):
        n = min(tile, stop - row)
        for i in range(n):
            if index is None:
                at[i] = row + i
            else:
                at[i] = index[row + i]
            label[i], cap[i] = y[at[i]], caps[at[i]]
        at[n:] = at[n - 1]
        # Half of the next rows is asked for here and half below, in the order of memory, so
        # that it never rests.
        for i in range(0, n, _together):
            _foresee(X, index, row + tile, stop, i, _together)
            _margins_of(X, at, i, w, c)
        for i in range(n):
            c[i] = _slope_of(c[i], label[i], *slopes)
        if weighted:
            for i in range(n):
                c[i] *= weight[at[i]]
        if count:
            for i in range(n):
                short += weight[at[i]] > 0.0 and -cap[i] <= c[i] <= cap[i]
        for i in range(n):
            # privacy: written so that a slope that is not a number ends at the cap too.
            low = c[i] if c[i] < cap[i] else cap[i]
            c[i] = low if low > -cap[i] else -cap[i]
        # What is left of the last four adds nothing.
        c[n:] = 0.0
        for i in range(0, n, 4):
            _foresee(X, index, row + tile, stop, n + i, 4)
            _combine_rows(X, at, c, i, total)
    return total, short


@cache
def _foreseeing() -> Any:
    """Return a function that asks for some of the halves of the rows from ``first`` on."""
    from numba import njit

    ask = _asking()

    @njit
    def foresee(X: Any, index: Any, first: int, stop: int, half: int, count: int) -> None:
        size = X.strides[0]
        # Long rows are foreseen by the processor itself.
        if size <= FORESEEN:
            for h in range(half, half + count):
                k = first + h // 2
                if k < stop:
                    place = size * (k if index is None else index[k]) + size // 2 * (h % 2)
                    for line in range(place, place + size // 2, LINE):
                        ask(X, line)

    return foresee


@cache
def _asking() -> Any:
    """Return a function that has the cache fetch what is so many bytes into an array."""
    from llvmlite import ir
    from numba.core import types
    from numba.extending import intrinsic

    @intrinsic
    def ask(typing: Any, X: Any, place: Any) -> Any:
        def code(context: Any, builder: Any, signature: Any, given: Any) -> Any:
            data = context.make_array(signature.args[0])(context, builder, given[0]).data
            address, number = ir.IntType(8).as_pointer(), ir.IntType(32)
            kind = ir.FunctionType(ir.VoidType(), [address, number, number, number])
            fetch = builder.module.declare_intrinsic("llvm.prefetch", (address,), kind)
            there = builder.gep(builder.bitcast(data, address), [given[1]])
            # To read, into the nearest cache, data rather than code.
            builder.call(fetch, [there, number(0), number(3), number(1)])
            return context.get_dummy_value()

        return types.void(X, types.intp), code

    return ask


def strict_slope(slope: ScalarSlope) -> Any:
    """Return a compiled slope in strict arithmetic."""
    from numba import njit

    _register()
    # privacy: so a row's slope does not depend on its neighbours in a vector register.
    return njit(fastmath=False, error_model="numpy")(slope)


@cache
def _register() -> None:
    """Let slopes call :func:`discreet.losses.scalar.exp`, in strict arithmetic like their own."""
    from numba.extending import register_jitable

    register_jitable(fastmath=False, error_model="numpy")(exp)


def _margin(X: Any, at: Any, i: int, w: Any, out: Any) -> None:
    # One row at a time is how memory is read fastest.
    x, z = X[at[i]], 0.0
    for j in range(w.shape[0]):
        z += x[j] * w[j]
    out[i] = z


def _slim_margins(X: Any, at: Any, i: int, w: Any, out: Any) -> None:
    # Short rows leave vector registers half empty, so eight are taken at a time.
    # privacy: the last rows are made eight as well, so that a margin does not depend on position.
    x0, x1, x2, x3 = X[at[i]], X[at[i + 1]], X[at[i + 2]], X[at[i + 3]]
    x4, x5, x6, x7 = X[at[i + 4]], X[at[i + 5]], X[at[i + 6]], X[at[i + 7]]
    z0 = z1 = z2 = z3 = z4 = z5 = z6 = z7 = np.float32(0.0)
    for j in range(w.shape[0]):
        z0 += x0[j] * w[j]
        z1 += x1[j] * w[j]
        z2 += x2[j] * w[j]
        z3 += x3[j] * w[j]
        z4 += x4[j] * w[j]
        z5 += x5[j] * w[j]
        z6 += x6[j] * w[j]
        z7 += x7[j] * w[j]
    out[i], out[i + 1], out[i + 2], out[i + 3] = z0, z1, z2, z3
    out[i + 4], out[i + 5], out[i + 6], out[i + 7] = z4, z5, z6, z7


def _combine(X: Any, at: Any, c: Any, i: int, out: Any) -> None:
    # Four rows at a time, because the sum is read and written once for all of them.
    x0, x1, x2, x3 = X[at[i]], X[at[i + 1]], X[at[i + 2]], X[at[i + 3]]
    c0, c1, c2, c3 = c[i], c[i + 1], c[i + 2], c[i + 3]
    for j in range(out.shape[0]):
        out[j] += (c0 * x0[j] + c1 * x1[j]) + (c2 * x2[j] + c3 * x3[j])


def _slim_combine(X: Any, at: Any, c: Any, i: int, out: Any) -> None:
    single = np.float32
    x0, x1, x2, x3 = X[at[i]], X[at[i + 1]], X[at[i + 2]], X[at[i + 3]]
    c0, c1, c2, c3 = single(c[i]), single(c[i + 1]), single(c[i + 2]), single(c[i + 3])
    for j in range(out.shape[0]):
        out[j] += (c0 * x0[j] + c1 * x1[j]) + (c2 * x2[j] + c3 * x3[j])
