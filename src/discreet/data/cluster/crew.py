"""Rows on the workers of a Dask cluster, as the machine that fits sees them.

Rows are cut into shards by their places, not by the partitions they come in. Each worker
bounds its shards and keeps them. Each question is one task for every worker, and its answers
come back in the order of the shards, so that sums do not depend on who computed them.
If a worker is lost Dask computes its shards anew, somewhere. Every answer carries a digest of
the rows that it is of: if these are not those of before, nothing is released.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

from discreet.data.blocks import shard_rows, slices
from discreet.data.cluster.workers import Refused, answer, hold, part_of, thinned
from discreet.data.storage import RawBlock, Tables, limit_given, unread
from discreet.errors import DiscreetError, InvalidData

_LOST = (
    "The cluster lost workers, or its client, and could not go on. Nothing is released. A second "
    "attempt is a new release and spends budget again."
)
_OTHER_ROWS = (
    "A worker was lost, and its rows were read anew and were others. Nothing is released. Fit "
    "tables that do not change."
)
_OTHER_MACHINES = (
    "Workers differ in processor or in versions of discreet, Python, numpy, scipy, numba or BLAS, "
    "so that their sums may round otherwise. Use workers of one kind."
)


def active() -> Any | None:
    """Return the client of a Dask cluster that this program opened; None if there is none.

    >>> active() is None
    True
    """
    library = sys.modules.get("distributed")
    if library is None:
        return None
    try:
        client = library.default_client()
    except ValueError:
        return None
    return None if client.asynchronous or not client.nthreads() else client


@dataclass(frozen=True)
class Cluster:
    """Tables that workers can read.

    Parameters
    ----------
    client
        The client.
    parts, lengths
        The tables as tasks, and their numbers of rows.
    read
        Turns a table into rows and labels.
    n_features, dtype
        As of a source.
    """

    client: Any
    parts: Sequence[Any]
    lengths: Sequence[int]
    read: Callable[[Any], RawBlock]
    n_features: int
    dtype: Any

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return sum(self.lengths)

    def each(self, function: Callable[[Any], Any]) -> list[Any]:
        """Return a function of the rows of every table, in order; workers compute it.

        Parameters
        ----------
        function
            Takes a source of some rows. Workers get a copy.
        """
        from dask.delayed import delayed

        task = delayed(part_of, pure=False)
        places = [[(n, 0, n)] for n in self.lengths]
        asked = [(self.read, self.n_features, self.dtype, where) for where in places]
        both = zip(asked, self.parts, strict=True)
        tasks = [task(function, how, part) for how, part in both if how[3][0][0]]
        with quiet():
            return [allowed(found) for found in self.client.gather(self.client.compute(tasks))]

    def hold(self, bounding: Any, options: dict[str, bool], report: Callable[[int], None]) -> Crew:
        """Have workers bound the rows and keep them.

        Parameters
        ----------
        bounding, options
            A :class:`~discreet.data.Bounding`, and what its ``apply`` is told.
        report
            Told now and then how many rows are done.
        """
        from dask.delayed import delayed
        from distributed import as_completed

        shards = slices(self.n_rows, shard_rows())
        homes = _homes(self.client.nthreads(), len(shards))
        task, tasks = delayed(hold, pure=False), []
        for s, home in zip(shards, homes, strict=True):
            which, places = self._places(s)
            asked = (self.read, self.n_features, self.dtype, places)
            tables = [self.parts[k] for k in which]
            shares = homes.count(home)
            tasks.append(task(bounding, options, limit_given.get(), shares, asked, *tables))
        with quiet():
            futures = []
            for one, home in zip(tasks, homes, strict=True):
                futures.append(self.client.compute(one, workers=[home], allow_other_workers=True))
            rows, done = {f.key: s.stop - s.start for f, s in zip(futures, shards, strict=True)}, 0
            for future in as_completed(futures):
                done += rows[future.key]
                report(done)
        return Crew(self.client, futures, [(s.stop - s.start) for s in shards])

    def _places(self, s: slice) -> tuple[list[int], list[tuple[int, int, int]]]:
        """Return the tables with rows of a shard, and where these are."""
        which, places = [], []
        for k, (n, end) in enumerate(zip(self.lengths, accumulate(self.lengths), strict=True)):
            a, b = max(s.start - (end - n), 0), min(s.stop - (end - n), n)
            if a < b:
                which.append(k)
                places.append((n, a, b))
        return which, places


def _homes(threads: dict[str, int], shards: int) -> list[str]:
    """Return the worker of every shard: neighbours together, more where there are more threads.

    >>> _homes({"a": 1, "b": 3}, 4)
    ['a', 'b', 'b', 'b']
    """
    ends = list(accumulate(threads.values()))
    seats = [(k + 0.5) / shards * ends[-1] for k in range(shards)]
    return [next(a for a, end in zip(threads, ends, strict=True) if seat < end) for seat in seats]


class Crew:
    """Shards that workers keep.

    Parameters
    ----------
    client, futures
        The client, and a future of every shard.
    sizes
        Rows of every shard.
    """

    def __init__(self, client: Any, futures: Sequence[Any], sizes: Sequence[int]) -> None:
        self._client, self._futures, self._sizes = client, list(futures), list(sizes)
        self._digests: list[bytes] | None = None
        self._machines: set[str] = set()
        self._teams: list[tuple[str, list[int]]] = []
        self.facts = self.ask("facts")
        if [n for n, _, _ in self.facts] != self._sizes:
            raise InvalidData(_OTHER_ROWS)

    def thinned(self, stride: int) -> Crew:
        """Return shards of one row in so many, which the same workers keep."""
        with quiet():
            futures = [
                self._client.submit(thinned, one, stride, pure=False) for one in self._futures
            ]
        return Crew(self._client, futures, [-(-n // stride) for n in self._sizes])

    def ask(self, method: str, *asked: Any, each: Iterable[Any] | None = None) -> list[Any]:
        """Return what every shard answers, in order: one task for every worker.

        Parameters
        ----------
        method
            A method of :class:`~discreet.data.cluster.workers.Held`.
        asked
            Its arguments.
        each
            A first argument of its own for every shard.
        """
        own = [()] * len(self._futures) if each is None else [(one,) for one in each]
        with quiet():
            if not self._teams:
                self._meet()
            teams = self._teams
            tasks = []
            for home, team in teams:
                held = [self._futures[k] for k in team]
                args = [(*own[k], *asked) for k in team]
                tasks.append(
                    self._client.submit(
                        answer, held, method, args,
                        pure=False, workers=[home] if home else None, allow_other_workers=True,
                    )
                )  # fmt: skip
            told = self._client.gather(tasks)
        found: dict[int, Any] = {}
        for (home, team), (where, answers) in zip(teams, told, strict=True):
            if where != home:
                self._teams = []
            for one in answers:
                allowed(one)
            found.update(zip(team, answers, strict=True))
        return self._checked([found[k] for k in range(len(self._futures))])

    def _meet(self) -> None:
        """Find out which worker has which shard."""
        from distributed import wait

        wait(self._futures)
        where = self._client.who_has(self._futures)
        homes: dict[str, list[int]] = {}
        for k, future in enumerate(self._futures):
            homes.setdefault(min(where.get(future.key) or [""]), []).append(k)
        self._teams = list(homes.items())

    def _checked(self, told: list[Any]) -> list[Any]:
        """Return the answers, if they are of the rows of before."""
        digests = [one.digest for one in told]
        if self._digests is None:
            self._digests = digests
        # privacy: what was released before and what comes now must be of the same rows.
        if digests != self._digests:
            raise InvalidData(_OTHER_ROWS)
        self._machines |= {one.machine for one in told}
        # privacy: neighbours' sums over other rows are the same only if these round alike.
        if len(self._machines) > 1:
            raise DiscreetError(_OTHER_MACHINES)
        return [one.answer for one in told]


def allowed(found: Any) -> Any:
    """Return what a worker found; raise what it refused.

    >>> allowed(3)
    3
    """
    if isinstance(found, Refused):
        raise found.kind(found.said)
    return found


class quiet:
    """Errors of tasks without the cells that they may quote.

    >>> with quiet():
    ...     int("name of a patient")
    Traceback (most recent call last):
    discreet.errors.InvalidData: The table cannot be read to its end. ...
    """

    def __enter__(self) -> None:
        self._warnings = warnings.catch_warnings()
        self._warnings.__enter__()
        # About batches, which are sent with a task.
        warnings.filterwarnings("ignore", "Sending large graph")

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        self._warnings.__exit__(kind, error, trace)
        if error is None or isinstance(error, DiscreetError | MemoryError | KeyboardInterrupt):
            return
        name = type(error).__name__
        lost = name == "KilledWorker" or "Cancelled" in name or isinstance(error, OSError)
        # privacy: the original message may quote a cell.
        raise (DiscreetError(_LOST) if lost else unread()) from None


def cluster_of(
    tables: Tables, columns: Sequence[str], read: Any, n_features: int, dtype: Any, n_rows: int
) -> Cluster | None:
    """Return these tables on the workers of the active client; None if there is none.

    One shard, as of less than a million rows, stays here.
    """
    client = active()
    if client is None or tables.parts is None or tables.lengths is None or n_rows <= shard_rows():
        return None
    with quiet():
        parts, lengths = tables.parts(columns), tables.lengths()
    if len(parts) != len(lengths) or sum(lengths) != n_rows:
        raise InvalidData("The table changed while it was read: it had another number of rows.")
    return Cluster(client, parts, lengths, read, n_features, dtype)
