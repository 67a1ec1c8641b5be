"""Bounded rows that stay with the workers of a cluster, and clipped sums over them.

Algorithms ask them for the sums that they ask rows in memory for. Sums over shards are
computed by the same code on the same rows wherever the shards are, and added here, in order.
So a release is the same to the last bit, unless rows in memory are summed in a quicker way: few
rows anew (:mod:`discreet.data.clipped.active_rows`), or with slopes in float32
(:mod:`discreet.data.clipped.single_slopes`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any, Self

import numpy as np

from discreet.bounds import Array
from discreet.data.blocks import Total, block_rows, shard_rows
from discreet.data.clipped import PATIENCE, ClippedSums, Index, Reach, parted, patience_of
from discreet.data.cluster.crew import Cluster, Crew
from discreet.data.rows import Rows
from discreet.errors import Incompatible
from discreet.losses import Loss

NEAR = 2**24
"""Bytes of a sample that comes to the machine that fits."""


class Spread(Rows):
    """Rows that workers keep.

    Numbers of rows, such as their weights, are fetched when they are asked for; the rows
    themselves only by :meth:`take`.

    Parameters
    ----------
    crew
        Their shards.
    n_rows, dimension, shard
        Number of rows, of coordinates, and of rows in a shard.
    """

    def __init__(self, crew: Crew, n_rows: int, dimension: int, shard: int) -> None:
        self.crew, self.shape, self.shard = crew, (n_rows, dimension), shard
        self.sparse, self.share, self.groups = False, None, None
        self._block = block_rows(dimension)

    @property
    def X(self) -> Any:
        """Refused: nothing that needs all rows in one place may come here."""
        raise Incompatible(
            "These rows are on the workers of a cluster, and this algorithm needs them in one "
            "place. Close the client to fit on this machine."
        )

    @property
    def n_rows(self) -> int:
        return self.shape[0]

    @property
    def dimension(self) -> int:
        return self.shape[1]

    @property
    def longest(self) -> float:
        return float(max(one[1] for one in self.crew.facts))

    @cached_property
    def y(self) -> Array:  # type: ignore[override]
        """Labels, fetched."""
        return np.concatenate(self.crew.ask("column", "y"))

    @cached_property
    def weight(self) -> Array:  # type: ignore[override]
        """Weights, fetched."""
        return np.concatenate(self.crew.ask("column", "weight"))

    @cached_property
    def norms(self) -> Array:  # type: ignore[override]
        """Bounds on norms, fetched."""
        return np.concatenate(self.crew.ask("column", "norms"))

    def __reduce__(self) -> Any:
        raise Incompatible("Rows on a cluster cannot be copied.")

    def parts(self, kind: str, *asked: Any) -> Iterator[Any]:
        yield from self.crew.ask("part", kind, *asked)

    def sampled(self, stride: int) -> Rows:
        n_rows = -(-self.n_rows // stride)
        if self.shard % stride:
            raise Incompatible("Samples of shards must be of every second, fourth, ... row.")
        if n_rows * self.dimension * 8 <= NEAR:
            return _stacked(self.crew.ask("sampled", stride), self.shard // stride)
        return Spread(self.crew.thinned(stride), n_rows, self.dimension, self.shard // stride)

    def take(self, index: Any) -> Rows:
        """Return some of the rows, in memory here."""
        if isinstance(index, slice):
            index = np.arange(self.n_rows)[index]
        which = index // self.shard
        each = [(index[which == k] - k * self.shard) for k in range(len(self.crew.facts))]
        found = _stacked(self.crew.ask("chosen", each=each), self.shard)
        # Rows came shard by shard; they stand where the index has them.
        return found.take(np.argsort(np.argsort(which, kind="stable"), kind="stable"))

    def shared(self, share: Array, groups: Any) -> Rows:
        raise Incompatible("Rows that belong to groups are not kept on a cluster.")


def _stacked(parts: list[Rows], shard: int) -> Rows:
    """Return rows under each other."""
    y, weight, norms = (
        np.concatenate([getattr(one, name) for one in parts]) for name in ("y", "weight", "norms")
    )
    return Rows(np.concatenate([one.X for one in parts]), y, weight, norms, shard=shard)


class SpreadSums(ClippedSums):
    """Clipped sums over rows that workers keep.

    Parameters
    ----------
    rows, loss, shifting, work
        As for :class:`~discreet.data.clipped.clipped_sums.ClippedSums`.
    """

    _near = False

    def __init__(
        self, rows: Spread, loss: Loss, *, shifting: bool = False, work: float | None = None
    ) -> None:
        self.rows, self.loss, self.shifting = rows, loss, shifting
        self._plain = all(plain for _, _, plain in rows.crew.facts)
        # privacy: the kernel that rows in memory have, by public numbers alone.
        patience = patience_of(rows.dimension)
        self._patience = patience if work is None and not shifting else math.inf
        self._compiled = work is not None and work >= patience

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        pass

    def _compile(self) -> None:
        self._compiled = True

    def _parts_of_sum(
        self, index: Index | None, w: Array, clip: float, count: bool
    ) -> Iterator[tuple[Total, int]]:
        rows = self.rows
        assert isinstance(rows, Spread)
        setting = (self.loss, self.shifting, self._plain, self._compiled)
        if index is not None and not self.shifting:
            # privacy: rows that are exchanged keep their places in a batch, whatever their shards.
            work = float(PATIENCE) if self._compiled else 0.0
            with ClippedSums(rows.take(index), self.loss, work=work) as near:
                near._weight = None if self._plain else near.rows.weight
                yield from near._parts_of_sum(np.arange(len(index)), w, clip, count)
            return
        each: list[Any] = [None] * len(rows.crew.facts)
        if index is not None:
            each = [np.zeros(0, dtype=np.int64)] * len(each)
            for k, chosen in parted(index, rows.n_rows, rows.shard):
                each[k] = chosen - k * rows.shard
        for parts in rows.crew.ask("clipped", setting, w, clip, count, each=each):
            yield from parts


def sums_of(
    rows: Rows,
    loss: Loss,
    *,
    shifting: bool = False,
    work: float | None = None,
    reach: Reach | None = None,
    coarse: bool = False,
) -> ClippedSums:
    """Return the clipped sums over rows, wherever they are.

    >>> from discreet.losses import Squared
    >>> type(sums_of(Rows(np.eye(2), np.ones(2)), Squared())).__name__
    'ClippedSums'
    """
    if isinstance(rows, Spread):
        return SpreadSums(rows, loss, shifting=shifting, work=work)
    return ClippedSums(rows, loss, shifting=shifting, work=work, reach=reach, coarse=coarse)


def spread_rows(
    cluster: Cluster,
    bounding: Any,
    options: dict[str, bool],
    report: Callable[[int], None],
) -> Spread:
    """Return bounded rows that workers keep."""
    crew = cluster.hold(bounding, options, report)
    return Spread(crew, cluster.n_rows, bounding.dimension, shard_rows())
