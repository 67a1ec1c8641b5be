"""Bounding: the only place where rows, labels and weights are clipped.

A :class:`Bounding` is a map fixed by public values. It treats every row on its
own, so neighbouring data sets stay neighbours, and what it stores obeys the
declared bounds in real arithmetic, not merely up to rounding.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from discreet.bounds import Array, Bounds, unit_roundoff
from discreet.checks import moderate, weight_count
from discreet.data.blocks import in_order
from discreet.data.cluster import spread_rows
from discreet.data.feature_ranges import keeps_zeros, scaling, together
from discreet.data.fused import Loop, loop_for
from discreet.data.labels import Labels, Mask, weights_of
from discreet.data.norms import (
    finite_rows,
    norms_of,
    outwards,
    shorten,
    shorten_sparse,
    stored_limit,
)
from discreet.data.parts_read import Watch
from discreet.data.row_products import beside
from discreet.data.rows import Rows
from discreet.data.storage import (
    LARGE,
    WIDE,
    RawBlock,
    Reread,
    Resident,
    Room,
    Source,
    Stacked,
    Storage,
    numbered,
    storage_of,
)
from discreet.errors import Incompatible, InvalidData, InvalidParameter, MissingBound
from discreet.losses import Loss


@dataclass(frozen=True)
class Bounding:
    """The public map from the user's rows to bounded rows, and back for weights.

    Features with a declared range are clipped to it and scaled so that their
    largest magnitude is 1. With an intercept, ranges are centred first, unless
    ``bounds.centred`` is False, which sparse rows need; without one 0 stays 0. Rows
    are then scaled down to the row norm, and the intercept constant is appended. A
    row with a value that is not finite, or with a label outside the declared
    classes, becomes a blank row: weight 0 and all zeros.

    Parameters
    ----------
    bounds, n_features, loss, intercept
        See :meth:`plan`, which also checks them.

    Examples
    --------
    >>> from discreet.data import ArraySource
    >>> from discreet.losses import Logistic
    >>> bounds = Bounds(row_norm=1.0, classes=("no", "yes"))
    >>> bounding = Bounding.plan(bounds, 2, Logistic(), intercept=1.0)
    >>> rows = bounding.apply(ArraySource([[3.0, 4.0], [0.3, 0.4]], ["yes", "no"]))
    >>> rows.X.round(6), rows.y
    (array([[0.6, 0.8, 1. ],
           [0.3, 0.4, 1. ]]), array([ 1., -1.]))
    """

    bounds: Bounds
    n_features: int
    loss: Loss
    intercept: float = 0.0

    @classmethod
    def plan(cls, bounds: Bounds, n_features: int, loss: Loss, intercept: float = 0.0) -> Bounding:
        """Return the map for declared bounds; fails when a needed bound is missing.

        Parameters
        ----------
        bounds
            Declared bounds.
        n_features
            Number of features of the data.
        loss
            Its target says how labels are encoded.
        intercept
            Constant appended to every row as its last coordinate; 0 for none.

        Examples
        --------
        >>> from discreet.losses import Squared
        >>> bounds = Bounds(features=(0, 10), label=(0, 1))
        >>> round(Bounding.plan(bounds, 4, Squared()).row_norm, 6)
        2.0
        """
        weight_count("n_features", n_features)
        if intercept != 0:
            moderate("intercept", intercept)
        if bounds.row_norm is None and bounds.features is None:
            raise MissingBound(
                "row_norm is not set. Noise is scaled to it, and reading it from the data would "
                "leak. Pass Bounds(row_norm=...), which scales longer rows down, or "
                "Bounds(features=...)."
            )
        if bounds.centred and bounds.features is not None and not intercept:
            raise Incompatible(
                "bounds.centred needs an intercept, which makes up for the shift. Fit "
                "one, or leave centred out."
            )
        bounding = cls(bounds, n_features, loss, float(intercept))
        bounds.ranges(n_features)
        bounding._labels.check()
        return bounding

    @property
    def dimension(self) -> int:
        """Number of coordinates of a bounded row, intercept included."""
        return self.n_features + (self.intercept > 0)

    @property
    def row_norm(self) -> float:
        """Bound on the norm of a bounded row, intercept included."""
        if not self.intercept:
            return self._limit
        # privacy: rounded outwards, so the real norm cannot exceed it.
        return math.hypot(self._limit, self.intercept) * (1.0 + 8.0 * unit_roundoff())

    @property
    def typical_norm(self) -> float:
        """Norm that most rows have, intercept included; the longest where none is declared.

        No guarantee rests on it: rows are not shortened to it.
        """
        declared = self.bounds.typical_norm
        if declared is None:
            return self.row_norm
        return min(self.row_norm, math.hypot(declared, self.intercept))

    @property
    def label_bound(self) -> float:
        """Bound on the size of an encoded label; ``inf`` when there is none."""
        return self._labels.bound

    @cached_property
    def _limit(self) -> float:
        """Bound on the norm of a row without its intercept coordinate."""
        if self.bounds.row_norm is not None:
            return self.bounds.row_norm
        return math.sqrt(self.n_features) * (1.0 + 4.0 * unit_roundoff())

    @property
    def _smooth(self) -> bool:
        """Whether sums over rows are all that solvers ask for; losses with corners need rows."""
        return math.isfinite(self.loss.regularity(label=math.inf, reach=1.0).smoothness)

    @cached_property
    def _labels(self) -> Labels:
        return Labels(self.bounds, self.loss, centred=self.intercept > 0)

    @cached_property
    def _ranges(self) -> tuple[Array, Array, Array, Array] | None:
        declared = self.bounds.centred
        centred = self.intercept > 0 if declared is None else declared
        return scaling(self.bounds, self.n_features, centred=centred)

    def coefficients(self, weights: Array) -> tuple[Array, Any]:
        """Return coefficients and intercept in the user's units.

        Parameters
        ----------
        weights
            Weights in the scaled domain, shape ``(d,)`` or ``(d, K)``.

        Examples
        --------
        >>> from discreet.losses import Squared
        >>> bounds = Bounds(features=(0, 10), label=(-2, 2))
        >>> Bounding.plan(bounds, 1, Squared(), intercept=1.0).coefficients(np.array([5.0, 1.0]))
        (array([2.]), -8.0)
        """
        if weights.shape[0] != self.dimension:
            raise InvalidParameter(f"weights must have {self.dimension} rows.")
        coef = weights[: self.n_features]
        constant: Any = self.intercept * weights[-1] if self.intercept else 0.0 * weights[0]
        if self._ranges is not None:
            _, _, centre, half = self._ranges
            coef = (coef.T / half).T
            constant = constant - centre @ coef
        scale, shift = self._labels.scale, self._labels.centre
        coef, constant = coef * scale, constant * scale + shift
        return coef, float(constant) if np.ndim(constant) == 0 else constant

    def apply(
        self,
        source: Source,
        *,
        narrow: bool = False,
        reread: bool = False,
        remote: bool = False,
        columns: bool = False,
    ) -> Rows:
        """Return the bounded rows of ``source``, in the same order.

        Rows take one copy of the data, or less with ``reread``.

        Parameters
        ----------
        source
            The user's rows.
        narrow
            Whether rows that come in float32 stay so, at half the memory. For
            algorithms that read rows through
            :class:`~discreet.data.clipped.clipped_sums.ClippedSums` alone; all others
            get float64.
        reread
            Whether rows of a large dense array need not be copied, but may be bounded
            anew whenever they are read, to the same bits. For algorithms that read rows
            a few times, by the methods of :class:`~discreet.data.Rows` alone.
        remote
            Whether rows may stay with the workers of a cluster. For algorithms that ask
            rows for sums alone; those of the other two kinds do.
        columns
            Whether rows may be stored column after column, to the same bits, and come with no
            bound on their norms. For algorithms that read rows, weights and labels as they are
            encoded.
        """
        if source.n_features != self.n_features:
            raise InvalidData(
                f"The data has {source.n_features} features but the bounds were planned for "
                f"{self.n_features}."
            )
        if narrow or ((reread or remote) and self._smooth):
            cluster = getattr(source, "cluster", None)
            if cluster is not None:
                options = {"narrow": narrow, "reread": reread, "remote": remote}
                return spread_rows(cluster, self, options, Watch(source.n_rows))
        # Rows that are read from elsewhere may be more than memory holds, so they stay as short
        # as they came wherever products are taken in float64 in any case.
        short = narrow or ((reread or remote) and getattr(source, "streamed", False))
        storage = storage_of(source, self._limit, self.intercept) if short else WIDE
        if source.sparse:
            return self._apply_sparse(source, storage)
        n_rows = source.n_rows
        form = (self._labels.empty(0) if columns else self._attached(0)).shape[1:]
        size = self.dimension * np.dtype(storage.dtype).itemsize + 8 * (4 + math.prod(form))
        room = Room(n_rows * size)
        lean = self._reread(source) if reread and storage is WIDE and not room.spilled else None
        loop = loop_for(n_rows, self.n_features)
        if columns and loop is not None:
            X = room.empty((self.dimension, n_rows), storage.dtype).T
        else:
            X = room.empty((n_rows, self.dimension), storage.dtype) if lean is None else lean.kept
        y, weight = room.empty((n_rows, *form)), room.empty(n_rows)
        # privacy: without norms no certificate and no cap of a row is possible.
        norms = np.broadcast_to(math.inf, n_rows) if columns else room.empty(n_rows)
        resident = Resident(X, y, weight, norms)

        def place(job: tuple[int, RawBlock]) -> None:
            start, raw = job
            s = slice(start, start + raw.X.shape[0])
            here = s.stop <= len(X)
            block = X[s] if here else np.empty((len(raw.X), self.dimension), storage.dtype)
            labels, weight[s], found = self._bound(block, raw, storage, loop, normed=not columns)
            if not columns:
                norms[s] = found
            y[s] = labels if columns else self.loss.attach(labels, norms[s])
            if not here:
                X[s] = block[: len(X[s])]
            if lean is not None:
                lean.learn(s, weight[s])
            resident.touched(len(block) * size)

        for _ in in_order(place, numbered(source)):
            pass
        return Rows(X if lean is None else lean, y, weight, norms)

    def encoded(self, y: Any | None, n_rows: int) -> Array:
        """Return labels as numbers; one that is not usable becomes a harmless one."""
        return self._labels.encode(y, n_rows)[0]

    def _attached(self, n_rows: int) -> Array:
        """Return room for labels as the loss takes them."""
        return self.loss.attach(self._labels.empty(n_rows), np.empty(n_rows))

    def _reread(self, source: Source) -> Reread | None:
        """Return room for rows that are not copied, if they are many and can be read again."""
        given = getattr(source, "array", None)
        if given is None or given.nbytes < LARGE:
            return None
        limit = self._limit if self._ranges is None else None
        return Reread(
            given, self._bound_features, self.dimension, limit=limit, constant=self.intercept
        )

    def _bound(
        self,
        out: Any,
        raw: RawBlock,
        storage: Storage,
        loop: Loop | None = None,
        *,
        normed: bool = True,
    ) -> tuple[Array, Array, Array]:
        """Write a bounded dense block into ``out`` and return its labels, weights and norms.

        Unless ``normed`` the last bound nothing.
        """
        y, weight, blank = self._read(raw)
        norms, constant = None, storage.below(self.intercept) if self.intercept else 0.0
        if loop is not None:
            limit = stored_limit(storage.shrink * self._limit, self.n_features)
            norms = loop(raw.X, out, blank, self._ranges, limit, storage.tiny, constant)
        if norms is None:
            norms = self._bound_in_numpy(out, raw, blank, storage)
        elif self.intercept and normed:
            norms = np.hypot(norms, out[:, -1])
        weight[blank] = 0.0
        return y, weight, norms * outwards(self.dimension) * storage.growth if normed else norms

    def each_column(
        self,
        raw: RawBlock,
        loop: Loop,
        out: Any,
        more: Callable[[Array, Array], tuple[Any, ...]],
    ) -> bool:
        """Give bounded columns of a block to compiled code; False if it does not take them.

        ``more`` returns what else it needs, given labels and weights.
        """
        # privacy: compiled code would read beside a row of another width.
        if raw.X.shape[1:] != (self.n_features,):
            raise InvalidData("The source yields rows of another width than it says.")
        if raw.X.strides[0] != raw.X.itemsize:
            return False
        y, weight, blank = self._read(raw)
        limit = stored_limit(self._limit, self.n_features)
        public = self._ranges, limit, WIDE.tiny, self.intercept
        return loop(raw.X, out, blank, *public, more(y, weight)) is not None

    def _read(self, raw: RawBlock) -> tuple[Array, Array, Mask]:
        """Return labels and weights of a block, and which rows are blank whatever they hold."""
        y, ok = self._labels.encode(raw.y, len(raw.X))
        weight, heavy = weights_of(raw.weight, len(raw.X), self.bounds.weight)
        # privacy: a row that cannot be read contributes nothing at all.
        return y, weight, ~(ok & heavy)

    def _bound_in_numpy(self, out: Any, raw: RawBlock, blank: Mask, storage: Storage) -> Array:
        """Write bounded rows into ``out``, add to the blank ones, and return norms."""
        # privacy: squares of a row are summed in the order they are stored in, and here rows may be
        # bounded because one of them is huge. The others must come out as without it.
        by_rows = out.strides[-1] == out.itemsize
        block = out if storage is WIDE and by_rows else np.empty(out.shape)
        # In one piece, because numpy is slow on many short ones.
        # privacy: and aligned, because others are summed in pieces, to other bits.
        body = np.require(raw.X, np.float64, ("C", "A"))
        norms = norms_of(body)
        blank |= ~finite_rows(body, norms)
        norms[blank] = 0.0
        known = norms if self._ranges is None else None
        found = self._bound_features(block, blank, storage, known, body)
        if block is not out:
            out[:] = block
        return found

    def _bound_features(
        self,
        out: Array,
        blank: Mask,
        storage: Storage = WIDE,
        norms: Array | None = None,
        given: Array | None = None,
    ) -> Array:
        """Bound the features of a dense block in place and return the norms of its rows.

        All rows but the blank ones must be finite. ``norms`` are those of the rows as they
        are, if they are known and there are no ranges. The features are those of ``given`` or of
        the block.
        """
        body = out[:, : self.n_features]
        if given is None:
            flat = np.ascontiguousarray(body)
        elif self._ranges is None:
            # Hardly a row is changed any more, so they may stand apart.
            body[:] = given
            flat = body
        else:
            flat = given.copy()
        flat[blank] = 0.0
        if self._ranges is not None:
            for part, (low, high, centre, half) in together(flat, self._ranges):
                np.clip(part, low, high, out=part)
                if np.any(centre):
                    part -= centre
                if np.any(half != 1.0):
                    part /= half
                if self._beyond:
                    np.clip(part, -1.0, 1.0, out=part)
            flat[blank] = 0.0
        norms = shorten(flat, storage.shrink * self._limit, storage.tiny, norms)
        if flat is not body:
            body[:] = flat
        if self.intercept:
            out[:, -1] = np.where(blank, 0.0, storage.below(self.intercept))
            norms = np.hypot(norms, out[:, -1])
        return norms

    @cached_property
    def _beyond(self) -> bool:
        """Whether the ends of a range may come out beyond 1 in size."""
        if self._ranges is None:
            return False
        low, high, centre, half = self._ranges
        # privacy: far from zero the centre of a narrow range rounds. Differences and quotients
        # round monotonically, so no entry comes out beyond what the ends of its range do.
        ends = np.abs((np.array([low, high]) - centre) / half)
        return not bool((ends <= 1.0).all())

    def _apply_sparse(self, source: Source, storage: Storage) -> Rows:
        if not keeps_zeros(self._ranges):
            raise Incompatible(
                "Sparse rows need feature ranges that keep 0 at 0. Declare ranges that contain 0, "
                "with Bounds(centred=False) if there is an intercept, or pass dense rows."
            )
        X = Stacked(source, self.dimension, storage.dtype)
        y = self._labels.empty(source.n_rows)
        weight, norms = np.empty(source.n_rows), np.empty(source.n_rows)
        for part, *rest in in_order(
            lambda job: self._bound_sparse(job[1], storage), numbered(source)
        ):
            s = X.add(part)
            y[s], weight[s], norms[s] = rest
        return Rows(X.whole(), self.loss.attach(y, norms), weight, norms)

    def _bound_sparse(self, raw: RawBlock, storage: Storage) -> tuple[Any, Array, Array, Array]:
        X = sp.csr_array(raw.X, dtype=np.float64, copy=True)
        # privacy: an entry stored twice counts as its sum, so it has to be summed before a clip.
        X.sum_duplicates()
        rows = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
        y, ok = self._labels.encode(raw.y, X.shape[0])
        weight, heavy = weights_of(raw.weight, X.shape[0], self.bounds.weight)
        blank = ~ok | ~heavy
        blank[rows[~np.isfinite(X.data)]] = True
        if blank.any():
            X.data[blank[rows]] = 0.0
        if self._ranges is not None:
            low, high, _, half = (values[X.indices] for values in self._ranges)
            X.data = np.clip(X.data, low, high) / half
        limit = storage.shrink * self._limit
        norms = shorten_sparse(X.data, rows, X.shape, limit, storage.tiny)
        if self.intercept:
            constant = np.where(blank, 0.0, storage.below(self.intercept))
            X = beside(X, constant)
            norms = np.hypot(norms, constant)
        weight[blank] = 0.0
        bounds = norms * outwards(self.dimension) * storage.growth
        return X.astype(storage.dtype, copy=False), y, weight, bounds
