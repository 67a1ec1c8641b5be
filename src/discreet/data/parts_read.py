"""A source whose rows are read from tables that are not in memory."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from discreet.data.blocks import block_rows
from discreet.data.cluster import Cluster, cluster_of
from discreet.data.storage import RawBlock, Tables
from discreet.errors import InvalidData


class Progress(NamedTuple):
    """How far rows have been read.

    Examples
    --------
    >>> Progress(25, 100, 2.0).left
    6.0
    """

    rows: int
    total: int
    seconds: float

    @property
    def left(self) -> float:
        """Seconds until all rows are read, at the pace so far."""
        return self.seconds * (self.total / max(self.rows, 1) - 1.0)


_watch: ContextVar[Callable[[Progress], None] | None] = ContextVar("watch", default=None)

# privacy: their number may be secret, so it is not told.
CHANGED = "The table changed while it was read: it had another number of rows."

PACE = 1.0
"""Seconds between two reports."""


@contextmanager
def watching(report: Callable[[Progress], None]) -> Iterator[None]:
    """Report about once a second how many rows have been read.

    It tells the number of rows, which is a secret under ``add-remove``.

    >>> with watching(lambda progress: print(round(progress.left))):
    ...     pass
    """
    token = _watch.set(report)
    try:
        yield
    finally:
        _watch.reset(token)


class Watch:
    """Passes on how far rows have been read, about once a second.

    Parameters
    ----------
    total
        Rows that there are.
    """

    def __init__(self, total: int) -> None:
        self._total, self._report = total, _watch.get()
        self._start = self._said = time.monotonic()

    def __call__(self, done: int) -> None:
        """Say that so many rows are done."""
        now = time.monotonic()
        if self._report is not None and now - self._said >= PACE:
            self._said = now
            self._report(Progress(done, self._total, now - self._start))


class StreamSource:
    """Rows of tables that are read part by part.

    Parameters
    ----------
    tables
        Where they are.
    columns
        Which columns are read.
    read
        Turns a table into rows and labels, nothing of them bounded.
    n_features
        Number of features of a row.
    dtype
        Type of the numbers, a public fact.

    Examples
    --------
    >>> tables = Tables(lambda names: iter([{"x": np.ones(3)}, {"x": np.zeros(1)}]),
    ...                 {"x": "double"}, lambda: 4)
    >>> source = StreamSource(tables, ["x"], lambda t: RawBlock(t["x"][:, None], None, None), 1)
    >>> source.n_rows, [len(block.X) for block in source.blocks()]
    (4, [3, 1])
    """

    sparse = False
    streamed = True

    def __init__(
        self,
        tables: Tables,
        columns: Sequence[str],
        read: Callable[[Any], RawBlock],
        n_features: int,
        dtype: Any = np.float64,
        n_rows: int | None = None,
    ) -> None:
        self._tables, self._columns, self._read = tables, columns, read
        self.n_features, self.dtype = n_features, np.dtype(dtype)
        self.n_rows = tables.count() if n_rows is None else n_rows

    @cached_property
    def cluster(self) -> Cluster | None:
        """The same rows on the workers of the active Dask client, if there is one."""
        return cluster_of(
            self._tables, self._columns, self._read, self.n_features, self.dtype, self.n_rows
        )

    def blocks(self) -> Iterator[RawBlock]:
        """Yield consecutive rows, each exactly once."""
        done, watch = 0, Watch(self.n_rows)
        # Rows are bounded one by one, so that larger blocks only save time.
        size = 4 * block_rows(self.n_features)
        for table in self._tables.read(self._columns):
            raw = self._read(table)
            for a in range(0, len(raw.X), size):
                yield RawBlock(*(None if v is None else v[a : a + size] for v in raw))
            done += len(raw.X)
            watch(done)
        if done != self.n_rows:
            raise InvalidData(CHANGED)


def numbers_of(table: Any, names: Sequence[str], dtype: Any) -> Any:
    """Return these columns of a table as rows of numbers, NaN where one is missing.

    >>> numbers_of({"a": np.array([1, 2]), "b": np.array([0.5, np.nan])}, ["a", "b"], np.float64)
    array([[1. , 0.5],
           [2. , nan]])
    """
    columns = [column_of(table, name) for name in names]
    # Column after column, as tables have them.
    held = np.empty((len(columns), len(columns[0]) if columns else 0), dtype)
    for j, column in enumerate(columns):
        try:
            held[j] = column
        except (TypeError, ValueError):
            # privacy: the original message would quote a cell.
            raise InvalidData(f"Column {names[j]!r} holds cells that are not numbers.") from None
    return held.T


def column_of(table: Any, name: str) -> Any:
    """Return one column of a table as an array.

    >>> column_of({"a": [1, 2]}, "a")
    array([1, 2])
    """
    column = table.column(name) if hasattr(table, "column") else table[name]
    try:
        if hasattr(column, "to_numpy"):
            arrow = hasattr(column, "null_count")
            return column.to_numpy(zero_copy_only=False) if arrow else column.to_numpy()
        return np.asarray(column)
    except Exception:
        # privacy: the original message may quote a cell.
        raise InvalidData(f"Column {name!r} cannot be read as an array.") from None
