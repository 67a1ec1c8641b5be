"""What the workers of a cluster do: bound the rows of a shard, keep them, answer for their sums.

Nothing here raises: what went wrong is returned, in words that quote no cell, because a
cluster writes exceptions and their arguments to its logs. Workers draw nothing at random.
"""

from __future__ import annotations

import platform
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from functools import cache, partial
from hashlib import blake2b
from importlib import metadata
from typing import Any, NamedTuple

import numpy as np
from threadpoolctl import threadpool_info

from discreet.data.blocks import at_most, block_rows
from discreet.data.clipped import PATIENCE, ClippedSums
from discreet.data.rows import Rows
from discreet.data.storage import Memory, RawBlock, memory_limit
from discreet.errors import DiscreetError, InvalidData

_ONE = threading.Lock()
"""Tasks of one process take turns: each sets the number of threads of products."""

CHANGED = "The table changed while it was read: it had another number of rows."


class Refused(NamedTuple):
    """An error as it is sent: its kind, and words of ours."""

    kind: type[Exception]
    said: str


class Told(NamedTuple):
    """What a shard answers, on what machine, from what rows."""

    digest: bytes
    machine: str
    answer: Any


class Held:
    """The bounded rows of a shard.

    Parameters
    ----------
    rows
        The rows.
    memory
        What rows may take here, and where the rest goes.

    Examples
    --------
    >>> held = Held(Rows(np.eye(2), np.ones(2)), None)
    >>> len(held.digest)
    32
    """

    def __init__(self, rows: Rows, memory: Memory | None) -> None:
        self.rows, self.memory, self.digest = rows, memory, digest_of(rows)
        self._sums: tuple[Any, ClippedSums] | None = None

    def __sizeof__(self) -> int:
        return int(sum(v.nbytes for v in (self.rows.X, self.rows.y)) + 16 * self.rows.n_rows)

    def __reduce__(self) -> Any:
        return Held, (self.rows, self.memory)

    def facts(self) -> tuple[int, float, bool]:
        """Return the number of rows, a bound on their norms, and whether all weigh 1."""
        weight, norms = self.rows.weight, self.rows.norms
        plain = bool(((weight == 1.0) | (norms == 0.0)).all())
        return self.rows.n_rows, self.rows.longest, plain

    def part(self, kind: str, *asked: Any) -> Any:
        """Return what the rows, one shard, answer."""
        return next(self.rows.parts(kind, *asked))

    def column(self, name: str) -> Any:
        """Return one number, or a few, of every row."""
        return getattr(self.rows, name)

    def chosen(self, index: Any) -> Rows:
        """Return some of the rows."""
        return self.rows.take(index)

    def sampled(self, stride: int) -> Rows:
        """Return one row in so many."""
        return self.rows.sampled(stride)

    def clipped(
        self, index: Any, setting: Any, w: Any, clip: float, count: bool
    ) -> list[tuple[Any, int]]:
        """Return clipped sums; ``setting`` is loss, shifting, plain and compiled."""
        if index is not None and not len(index):
            return []
        if self._sums is None or self._sums[0] != setting:
            loss, shifting, plain, compiled = setting
            work = float(PATIENCE) if compiled else 0.0
            sums = ClippedSums(self.rows, loss, shifting=shifting, work=work)
            sums._weight = None if plain else self.rows.weight
            self._sums = setting, sums
        with self._sums[1] as sums:
            return list(sums._parts_of_sum(index, w, clip, count))


def digest_of(rows: Rows) -> bytes:
    """Return what tells these rows from others.

    >>> digest_of(Rows(np.eye(2), np.ones(2))) == digest_of(Rows(np.eye(2), np.zeros(2)))
    False
    """
    found = blake2b(digest_size=32)
    for values in (rows.X, rows.y, rows.weight, rows.norms):
        found.update(repr((values.shape, values.dtype.str)).encode())
        found.update(np.ascontiguousarray(values).view(np.uint8).data)
        rows.resident.touched(values.nbytes)
    return found.digest()


@cache
def machine() -> str:
    """Return what decides how numbers round here: versions, processor, kernels of products."""
    kernels = sorted({f"{i['internal_api']} {i['version']} {i.get('architecture')}"
                      for i in threadpool_info() if i["user_api"] == "blas"})  # fmt: skip
    own: Any = sys.modules["discreet"]
    versions = own.__version__, sys.version_info[:2], sys.byteorder
    # Functions of numpy and compiled sums are others where these are, or where one is missing.
    others = [f"{name} {_version(name)}" for name in ("numpy", "scipy", "numba")]
    config: Any = np.show_config(mode="dicts")
    found = config.get("SIMD Extensions", {}).get("found")
    return repr((versions, others, platform.machine(), found, kernels))


def _version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "missing"


def _guarded(work: Callable[[], Any], memory: Memory | None) -> Any:
    """Return what the work returns, or why there is nothing."""
    try:
        with _ONE, ExitStack() as stack, np.errstate(all="ignore"):
            stack.enter_context(at_most(_own().state.nthreads))
            if memory is not None:
                stack.enter_context(memory_limit(*memory))
            return work()
    except MemoryError:
        return Refused(MemoryError, "The rows of a worker do not fit into its memory.")
    except DiscreetError as error:
        return Refused(type(error), str(error))
    except Exception:
        # privacy: the original message may quote a cell.
        return Refused(InvalidData, "A worker could not read its rows. Read them without a fit.")


def _own() -> Any:
    from distributed import get_worker  # an extra, which runs this

    return get_worker()


def _memory(given: Memory | None, shards: int) -> Memory:
    """Return what one of so many shards may take: their part of two fifths of the worker."""
    if given is not None:
        return Memory(max(given.limit // shards, 2**24), given.folder)
    most = getattr(_own().memory_manager, "memory_limit", None) or 2**33
    return Memory(max(int(0.4 * most) // shards, 2**24), None)


class Pieces:
    """Rows of a few tables, as a source.

    Parameters
    ----------
    read
        Turns a table into rows and labels.
    n_features, dtype
        As of the whole source.
    tables
        The tables.
    places
        Of each its number of rows, and from where to where rows are taken.

    Examples
    --------
    >>> table = {"x": np.arange(5.0)}
    >>> read = lambda t: RawBlock(t["x"][:, None], None, None)
    >>> [raw.X.ravel() for raw in Pieces(read, 1, float, [table], [(5, 2, 4)]).blocks()]
    [array([2., 3.])]
    """

    sparse = False
    streamed = True

    def __init__(
        self,
        read: Callable[[Any], RawBlock],
        n_features: int,
        dtype: Any,
        tables: Sequence[Any],
        places: Sequence[tuple[int, int, int]],
    ) -> None:
        self._read, self.n_features, self.dtype = read, n_features, dtype
        self._tables, self._places = tables, places
        self.n_rows = sum(stop - start for _, start, stop in places)

    def blocks(self) -> Iterator[RawBlock]:
        """Yield consecutive rows, each exactly once."""
        size = 4 * block_rows(self.n_features)
        for table, (n_rows, start, stop) in zip(self._tables, self._places, strict=True):
            if _length(table) != n_rows:
                raise InvalidData(CHANGED)
            raw = self._read(_between(table, start, stop))
            for a in range(0, len(raw.X), size):
                yield RawBlock(*(None if v is None else v[a : a + size] for v in raw))


def _length(table: Any) -> int:
    return len(next(iter(table.values()))) if isinstance(table, dict) else len(table)


def _between(table: Any, start: int, stop: int) -> Any:
    if isinstance(table, dict):
        return {name: values[start:stop] for name, values in table.items()}
    return table.iloc[start:stop] if hasattr(table, "iloc") else table.slice(start, stop - start)


def hold(
    bounding: Any,
    options: dict[str, bool],
    given: Memory | None,
    shards: int,
    asked: Any,
    *tables: Any,
) -> Held | Refused:
    """Bound the rows of a shard; ``asked`` is how they are read and where they are."""
    memory = _memory(given, shards)
    read, n_features, dtype, places = asked

    def work() -> Held:
        source = Pieces(read, n_features, dtype, tables, places)
        return Held(bounding.apply(source, **options), memory)

    return _guarded(work, memory)  # type: ignore[no-any-return]


def thinned(held: Held | Refused, stride: int) -> Held | Refused:
    """Keep one row in so many of a shard."""
    if isinstance(held, Refused):
        return held
    return _guarded(lambda: Held(held.sampled(stride), held.memory), held.memory)  # type: ignore[no-any-return]


def answer(held: Sequence[Held | Refused], method: str, each: Sequence[tuple[Any, ...]]) -> Any:
    """Return what each shard tells, and the address of the worker."""
    found: list[Told | Refused] = []
    for one, asked in zip(held, each, strict=True):
        if isinstance(one, Refused):
            return _own().address, [one]
        told = _guarded(partial(getattr(one, method), *asked), one.memory)
        if isinstance(told, Refused):
            return _own().address, [told]
        found.append(Told(one.digest, machine(), told))
    return _own().address, found


def part_of(function: Callable[[Any], Any], asked: Any, *tables: Any) -> Any:
    """Return a function of the rows of some tables, which are not kept."""
    read, n_features, dtype, places = asked
    return _guarded(lambda: function(Pieces(read, n_features, dtype, tables, places)), None)
