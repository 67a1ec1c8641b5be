"""Bounded rows and the sums over them that solvers need.

Every kernel works block by block (see :mod:`discreet.data.blocks`), so nothing
as large as the data is ever allocated beside it. Blocks make up shards of a fixed number of
rows. A shard's sums depend on its own rows only, so that it does not matter where they are
computed: :class:`~discreet.data.cluster.spread.Spread` asks the workers of a cluster for them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from discreet.bounds import Array, Integers, unit_roundoff
from discreet.data.blocks import (
    Total,
    block_rows,
    cut,
    fine_rows,
    in_order,
    shard_rows,
    slices,
    summed,
)
from discreet.data.certified import certified_sums, loop_pays
from discreet.data.compiled_gram import MOST_ROWS, WIDEST, gram_of, margins_of
from discreet.data.norms import norms_of, products
from discreet.data.rounding_errors import margin_error, slope_error, sum_error
from discreet.data.row_products import combine, gram, gram_outputs, one_by_one, times, upper_norms
from discreet.data.second_sums import shard_sums
from discreet.data.storage import Codes, Resident
from discreet.losses import Loss


class Rows:
    """Rows inside the declared bounds, made by :meth:`Bounding.apply`.

    Weights ``w`` have shape ``(d,)`` for a loss of one output and ``(d, K)``
    otherwise. Sums over rows are ``sum_i weight_i f(<x_i, w>; y_i)`` and its
    derivatives; a row of weight 0 adds nothing.

    Parameters
    ----------
    X
        Dense float64 or float32 in C order, or CSR, or
        :class:`~discreet.data.storage.reread.Reread`.
    y
        Encoded labels, as :meth:`Loss.attach` returned them.
    weight
        Weight of every row; 1 by default.
    norms
        Upper bounds on the norms of the rows; computed by default.
    share, groups
        Where rows belong to groups, how much of a full row each counts, which is a factor
        of its weight, and the number of its group.
    shard
        Rows in a shard.

    Examples
    --------
    >>> from discreet.losses import Squared
    >>> rows = Rows(np.array([[1.0], [2.0]]), np.array([1.0, 0.0]))
    >>> rows.gradient(Squared(), np.array([1.0]))
    array([4.])
    """

    def __init__(
        self,
        X: Any,
        y: Array,
        weight: Array | None = None,
        norms: Array | None = None,
        share: Array | None = None,
        groups: Codes | None = None,
        shard: int | None = None,
    ) -> None:
        self.X = X
        self.y = y
        self.weight = np.ones(X.shape[0]) if weight is None else weight
        self.norms = upper_norms(X) if norms is None else norms
        self.share, self.groups, self.shard = share, groups, shard or shard_rows()
        self.sparse = bool(sp.issparse(X))
        self.resident = Resident(X, y, self.weight, self.norms)
        self._block = block_rows(self.dimension, sparse=self.sparse)

    def __reduce__(self) -> Any:
        given = (self.X, self.y, self.weight, self.norms, self.share, self.groups, self.shard)
        return Rows, given

    def parts(self, kind: str, *asked: Any) -> Iterator[Any]:
        """Yield what every shard answers, in order.

        Parameters
        ----------
        kind
            ``"gradient"``, ``"objective"``, ``"hessian"``, ``"hessian_product"``,
            ``"squared_gradients"``, ``"second_sums"``, ``"certified"``, ``"inertia"`` or
            ``"projected"``.
        asked
            Loss, weights and what else the answer takes.
        """
        answer = getattr(self, f"_{kind}_of")
        yield from (answer(s, *asked) for s in slices(self.n_rows, self.shard))

    @property
    def longest(self) -> float:
        """Bound on the norm of every row."""
        return float(self.norms.max(initial=0.0))

    @property
    def n_rows(self) -> int:
        """Number of rows, blank ones included."""
        return int(self.X.shape[0])

    @property
    def dimension(self) -> int:
        """Number of coordinates of a row."""
        return int(self.X.shape[1])

    def take(self, index: npt.NDArray[np.intp] | slice) -> Rows:
        """Return some of the rows, copied. Of every so many of them shards stay together."""
        if not self.sparse and isinstance(index, slice):
            X = self._copied(range(*index.indices(self.n_rows)))
        else:
            X = self.X[index]
        if not self.sparse:
            X = np.ascontiguousarray(X)
        share = None if self.share is None else self.share[index]
        groups = None if self.groups is None else self.groups[index]
        step = index.step if isinstance(index, slice) and index.start is None else None
        shard = self.shard // step if step and self.shard % step == 0 else None
        given = self.y[index], self.weight[index], self.norms[index]
        return Rows(X, *given, share, groups, shard)

    def sampled(self, stride: int) -> Rows:
        """Return every ``stride``-th row, as heavy as all of them together.

        >>> Rows(np.eye(4), np.ones(4)).sampled(2).weight
        array([2., 2.])
        """
        rows = self.take(slice(None, None, stride))
        rows.weight = rows.weight * stride
        return rows

    def shared(self, share: Array, groups: Codes) -> Rows:
        """Return the rows, each counting that much of what it did, and knowing its group.

        >>> rows = Rows(np.eye(2), np.ones(2)).shared(np.array([0.5, 1.0]), np.array([0, 1]))
        >>> rows.weight
        array([0.5, 1. ])
        """
        weight = self.weight * share
        return Rows(self.X, self.y, weight, self.norms, share, groups, self.shard)

    def _copied(self, places: range) -> Any:
        """Return rows at regular places; of spilled ones few pages at a time are in memory."""
        if not self.resident.spilled:
            return self.X[places.start : places.stop : places.step]
        found = np.empty((len(places), self.dimension), self.X.dtype)
        for s in slices(len(places), 4096):
            part = places[s]
            found[s] = self.X[part.start : part.stop : part.step]
            self.resident.touched(len(part) * abs(part.step) * self.X.strides[0])
        return found

    def _slice(self, s: slice) -> Any:
        """Return consecutive rows without a copy."""
        if not self.sparse:
            self.resident.touched((s.stop - s.start) * (self.dimension + 3) * 8)
            # Products of rows in float32 are taken in float64 in any case.
            return self.X[s].astype(np.float64, copy=False)
        a, b = self.X.indptr[s.start], self.X.indptr[s.stop]
        part = sp.csr_array((s.stop - s.start, self.dimension), dtype=self.X.dtype)
        # Set afterwards, because the constructor copies a small part of a large array.
        part.data, part.indices = self.X.data[a:b], self.X.indices[a:b]
        part.indptr = self.X.indptr[s.start : s.stop + 1] - a
        return part

    def projected(self, direction: Array) -> Array:
        """Return every row's part along a direction, the same wherever the row stands.

        >>> Rows(np.array([[3.0, 4.0]]), np.zeros(1)).projected(np.array([0.6, 0.8]))
        array([5.])
        """
        return np.concatenate([np.zeros(0), *self.parts("projected", direction)])

    def _projected_of(self, shard: slice, direction: Array) -> Array:
        found = []
        for s in cut(shard, self._block):
            X = self._slice(s)
            X = X.astype(np.float64, copy=False)
            # privacy: products of matrices may sum a row in an order that depends on its position.
            found.append(X @ direction if self.sparse else products(X, direction))
        return np.concatenate(found)

    def inertia(self) -> float:
        """Return the sum of the squared norms of rows, each times its weight.

        >>> round(Rows(np.array([[3.0, 4.0], [0.0, 1.0]]), np.zeros(2)).inertia(), 9)
        26.0
        """
        return math.fsum(self.parts("inertia"))

    def _inertia_of(self, s: slice) -> float:
        return float(self.weight[s] @ self.norms[s] ** 2)

    def gradient(self, loss: Loss, w: Array) -> Array:
        """Return the gradient of the sum, shaped like ``w``."""
        total = Total(w.shape)
        for part in self.parts("gradient", loss, w):
            total.join(part)
        return total.value()

    def _gradient_of(self, shard: slice, loss: Loss, w: Array) -> Total:
        total = Total(w.shape)
        for part in self.block_gradients(loss, w, shard):
            total.add(part)
        return total

    def block_gradients(self, loss: Loss, w: Array, shard: slice | None = None) -> Iterator[Array]:
        """Yield the gradient of the sum over each block of a shard, in order.

        A block's gradient depends on the rows of that block only.
        """

        def one(s: slice) -> Array:
            X = self._slice(s)
            return combine(X, times(self.weight[s], loss.slope(X @ w, self.y[s])))

        yield from in_order(one, cut(shard or slice(0, self.n_rows), self._block))

    def objective(self, loss: Loss, w: Array) -> tuple[float, Array]:
        """Return the value of the sum and its gradient."""
        total, values = Total(w.shape), []
        for found, part in self.parts("objective", loss, w):
            values += found
            total.join(part)
        return math.fsum(values) if np.isfinite(values).all() else math.inf, total.value()

    def _objective_of(self, shard: slice, loss: Loss, w: Array) -> tuple[list[float], Total]:
        def one(s: slice) -> tuple[float, Array]:
            X, y, weight = self._slice(s), self.y[s], self.weight[s]
            z = X @ w
            return float(weight @ loss.value(z, y)), combine(X, times(weight, loss.slope(z, y)))

        total, values = Total(w.shape), []
        for value, part in in_order(one, cut(shard, self._block)):
            values.append(value)
            total.add(part)
        return values, total

    def hessian(
        self, loss: Loss, w: Array, *, shifting: bool = False, compiled: bool = False
    ) -> Array:
        """Return the second derivative of the sum in ``w.ravel()``, a square matrix.

        With ``shifting`` the part of a row is the same wherever the row stands. With ``compiled``
        dense rows of few columns go through a loop, for a loss that
        :func:`~discreet.data.certified.loop_pays` is true of.
        """
        return self._second("hessian", loss, w, shifting, compiled)

    def squared_gradients(self, loss: Loss, w: Array, *, shifting: bool = False) -> Array:
        """Return the sum of ``g g'`` over rows, ``g`` a row's gradient by a loss of one output.

        With ``shifting`` the part of a row is the same wherever the row stands.

        >>> from discreet.losses import Squared
        >>> Rows(np.array([[1.0, 2.0]]), np.array([3.0])).squared_gradients(Squared(), np.zeros(2))
        array([[ 9., 18.],
               [18., 36.]])
        """
        return self._second("squared_gradients", loss, w, shifting)

    def _second(self, kind: str, *asked: Any) -> Array:
        w = asked[1]
        total = np.zeros((w.size, w.size))
        for part in self.parts(kind, *asked):
            total += part
        return total

    def _hessian_of(
        self, shard: slice, loss: Loss, w: Array, shifting: bool, compiled: bool
    ) -> Array:
        def of(z: Array, s: slice) -> Array:
            return times(self.weight[s], loss.curvature(z, self.y[s]))

        return self._second_of(of, shard, w, shifting, compiled)

    def _squared_gradients_of(self, shard: slice, loss: Loss, w: Array, shifting: bool) -> Array:
        return self._second_of(
            lambda z, s: (self.weight[s] * loss.slope(z, self.y[s])) ** 2, shard, w, shifting
        )

    def _second_of(
        self,
        of: Callable[[Array, slice], Array],
        shard: slice,
        w: Array,
        shifting: bool,
        compiled: bool = False,
    ) -> Array:
        """Return the sum of ``x x'`` times what ``of`` makes of predictions."""
        quick = compiled and not self.sparse and self.dimension <= WIDEST
        # privacy: no longer than the noise on a Hessian takes blocks to be.
        size = MOST_ROWS if quick else self._block

        def one(s: slice) -> Array:
            if quick:
                self.resident.touched((s.stop - s.start) * (self.dimension + 3) * 8)
                X = self.X[s]
                return gram_of(X, of(margins_of(X, w), s))
            X = self._slice(s)
            # privacy: products of matrices may sum a row in an order that depends on its position.
            z = one_by_one(X, w) if shifting and not self.sparse else X @ w
            return gram(X, of(z, s)) if w.ndim == 1 else gram_outputs(X, of(z, s))

        total = np.zeros((w.size, w.size))
        for part in in_order(one, cut(shard, size)):
            total += part
        return total

    def _second_sums_of(
        self, shard: slice, centre: Array, radius: float
    ) -> tuple[Array, float, Integers, int]:
        return shard_sums(self, shard, centre, radius)

    def hessian_product(self, loss: Loss, w: Array, v: Array) -> Array:
        """Return the second derivative of the sum at ``w`` times ``v``."""
        total = Total(w.shape)
        for part in self.parts("hessian_product", loss, w, v):
            total.join(part)
        return total.value()

    def _hessian_product_of(self, shard: slice, loss: Loss, w: Array, v: Array) -> Total:
        def one(s: slice) -> Array:
            X = self._slice(s)
            curvature = times(self.weight[s], loss.curvature(X @ w, self.y[s]))
            move = X @ v
            turned = curvature * move if w.ndim == 1 else np.einsum("nkl,nl->nk", curvature, move)
            return combine(X, turned)

        total = Total(w.shape)
        for part in in_order(one, cut(shard, self._block)):
            total.add(part)
        return total

    def certified_gradient(self, loss: Loss, w: Array, enough: float = 0.0) -> tuple[Array, float]:
        """Return the gradient and a bound on its distance from the real-arithmetic one.

        The bound covers the rounding of the products ``<x_i, w>``, of the
        slopes, of the weights and of all sums. It assumes that a computed
        slope at a given ``z`` is within ``2u (8 |f'| + 2 K + smoothness *
        offset)`` of the true one. A bound of ``enough`` may come from compiled code,
        which takes every row to be as curved as any can be.
        """
        # Which code it is does not matter to privacy: the bound holds for both.
        if enough > 0.0 and self.quickly_certified(loss):
            gradient, error = self._certified(loss, w, True)
            if error <= enough:
                return gradient, error
        return self._certified(loss, w, False)

    def _certified(self, loss: Loss, w: Array, compiled: bool) -> tuple[Array, float]:
        reach = self.longest * _size(w) * 1.01
        smoothness = loss.regularity(label=math.inf, reach=reach).smoothness
        fine = fine_rows(self.dimension, sparse=self.sparse)
        margin = margin_error(self._terms(), self.dimension, _size(w))
        total, count, errors, shares = Total(w.shape), 0, [], []
        for k, (sums, n, error, share) in enumerate(
            self.parts("certified", loss, w, smoothness, margin, compiled)
        ):
            total.join(sums)
            # Sums of shards are added too, and what rounding took from them.
            count += n + (2 if k else 0)
            errors += error
            shares += share
        gradient = total.value()
        wrong = math.fsum(errors) + math.fsum(shares) * sum_error(fine, count)
        tiny = self.n_rows * self.dimension * 1e-300
        return gradient, 1.01 * wrong + 1.01 * unit_roundoff() * _size(gradient) + tiny

    def quickly_certified(self, loss: Loss) -> bool:
        """Return whether gradients with a certificate cost no more than those without.

        >>> from discreet.losses import Logistic
        >>> Rows(np.eye(2), np.ones(2)).quickly_certified(Logistic())
        False
        """
        return not self.sparse and loop_pays(loss, self.n_rows * self.dimension)

    def _certified_of(
        self, shard: slice, loss: Loss, w: Array, smoothness: float, margin: float, compiled: bool
    ) -> tuple[Total, int, list[float], list[float]]:
        fine = fine_rows(self.dimension, sparse=self.sparse)

        def quick(s: slice) -> tuple[Array, Array, int, float, float]:
            self.resident.touched((s.stop - s.start) * (self.dimension + 3) * 8)
            given = self.X[s], self.y[s], self.weight[s], self.norms[s]
            return certified_sums(loss, *given, w, fine, smoothness, margin)

        def one(s: slice) -> tuple[Array, Array, int, float, float]:
            X, weight = self._slice(s), self.weight[s]
            z, y, off = X @ w, self.y[s], margin * self.norms[s]
            slope, bend = loss.slope(z, y), loss.curvature_near(z, y, off)
            most = smoothness if bend is None else bend
            size = np.abs(slope) if w.ndim == 1 else norms_of(slope)
            lever = weight * self.norms[s]
            share = float(lever @ size)
            error = float(lever @ slope_error(most, off, size, loss))
            parts = np.array(self._fine_sums(X, times(weight, slope), fine))
            return *summed(parts), len(parts), error, share

        # A call of compiled code costs little of what it does, so its blocks are longer.
        work, size = (quick, 8) if compiled else (one, 1)
        total, count, errors, shares = Total(w.shape), 0, [], []
        blocks = cut(shard, size * self._fine_block(fine))
        for part, lost, number, error, share in in_order(work, blocks):
            total.add(part, lost)
            count += number
            errors.append(error)
            shares.append(share)
        return total, count, errors, shares

    def _terms(self) -> int:
        """Return the largest number of products in one ``<x_i, w>``."""
        if not self.sparse:
            return self.dimension
        return int(np.diff(self.X.indptr).max(initial=0))

    def _fine_block(self, fine: int) -> int:
        return max(fine, self._block // fine * fine)

    def _fine_sums(self, X: Any, slope: Array, fine: int) -> list[Array]:
        """Return the sums over consecutive ``fine`` rows of a block."""
        if self.sparse:
            block = Rows(X, slope, slope, slope)
            return [combine(block._slice(s), slope[s]) for s in slices(X.shape[0], fine)]
        whole = X.shape[0] // fine * fine
        parts: list[Array] = []
        if whole:
            cut = slope[:whole].reshape(whole // fine, fine, -1)
            body = X[:whole].reshape(whole // fine, fine, -1)
            sums = np.matmul(body.transpose(0, 2, 1), cut)
            parts.extend(sums[:, :, 0] if slope.ndim == 1 else sums)
        if whole < X.shape[0]:
            parts.append(combine(X[whole:], slope[whole:]))
        return parts


def _size(w: Array) -> float:
    return float(np.linalg.norm(w))
