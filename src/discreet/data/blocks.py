"""Work cut into blocks of rows: sizes, threads and exact addition.

Neighbouring data sets that keep row positions differ in one block only. The
sum of every other block is bit-for-bit the same, because a block's sum is
computed from its own rows by one thread with a fixed number of BLAS threads.
Block sums are then added with compensation, in order, so that threads never
change a result.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from itertools import chain, islice
from typing import Any, TypeVar

import numpy as np
import scipy.linalg  # noqa: F401  its BLAS has to be loaded before threads are limited
from threadpoolctl import ThreadpoolController

from discreet.bounds import Array, unit_roundoff

T = TypeVar("T")
R = TypeVar("R")

FINE = 128
"""Rows in the small sums of a certificate: few, so that rounding stays small."""

SHARD = 2**20
"""Rows in a shard, whose sums one machine computes."""


def shard_rows() -> int:
    """Return the rows of a shard, a public number.

    >>> shard_rows()
    1048576
    """
    return SHARD


def block_rows(dimension: int, *, sparse: bool = False) -> int:
    """Return the number of rows in a block, from public values only.

    >>> block_rows(100), block_rows(1500), block_rows(100_000, sparse=True)
    (4096, 256, 16384)
    """
    if sparse:
        return 16384
    # Blocks of about 4 MB stay in cache between the two products of a gradient.
    return max(256, min(4096, 2**19 // max(dimension, 1) // 256 * 256))


def fine_rows(dimension: int, *, sparse: bool = False) -> int:
    """Return the number of rows in the small sums of a certificate.

    >>> fine_rows(100), fine_rows(100_000, sparse=True)
    (128, 2048)
    """
    # A sparse sum is as long as the dimension, so very small blocks would cost too much.
    return max(FINE, min(2048, dimension // 16)) if sparse else FINE


def slices(n_rows: int, size: int) -> list[slice]:
    """Return consecutive slices of ``size`` rows that cover ``n_rows``.

    >>> slices(5, 2)
    [slice(0, 2, None), slice(2, 4, None), slice(4, 5, None)]
    """
    return [slice(a, min(a + size, n_rows)) for a in range(0, n_rows, size)]


_inside = threading.local()


def cut(shard: slice, size: int) -> list[slice]:
    """Return consecutive slices of ``size`` rows that cover a shard.

    >>> cut(slice(4, 7), 2)
    [slice(4, 6, None), slice(6, 7, None)]
    """
    return [slice(a, min(a + size, shard.stop)) for a in range(shard.start, shard.stop, size)]


_threads: ContextVar[int | None] = ContextVar("threads", default=None)


@contextmanager
def at_most(threads: int) -> Iterator[None]:
    """Let sums take so many threads at most, which changes no number.

    >>> with at_most(1):
    ...     cores()
    1
    """
    token = _threads.set(threads)
    try:
        yield
    finally:
        _threads.reset(token)


def cores() -> int:
    """Return how many threads share out the blocks of a sum."""
    found = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1
    return min(8, found, _threads.get() or 8)


@cache
def _blas() -> list[Any]:
    return [
        library for library in ThreadpoolController().lib_controllers if library.user_api == "blas"
    ]


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Return a context in which BLAS uses one thread, whatever the machine has.

    >>> with one_blas_thread():
    ...     {library.get_num_threads() for library in _blas()} <= {1}
    True
    """
    # Sums of few rows come here often, so what is so already is left alone.
    before = [(library, library.get_num_threads()) for library in _blas()]
    try:
        for library, threads in before:
            if threads != 1:
                library.set_num_threads(1)
        yield
    finally:
        for library, threads in before:
            if threads != 1:
                library.set_num_threads(threads)


def in_order(function: Callable[[T], R], jobs: Iterable[T]) -> Iterator[R]:
    """Yield ``function(job)`` for every job in order, computed by a few threads.

    >>> list(in_order(lambda i: i * i, range(4)))
    [0, 1, 4, 9]
    """

    if getattr(_inside, "job", False):
        # This is part of a job already: threads and their limits are taken care of.
        yield from map(function, jobs)
        return

    def quiet(job: T) -> R:
        # privacy: a warning of numpy would tell of the rows.
        with np.errstate(all="ignore"):
            _inside.job = True
            try:
                return function(job)
            finally:
                _inside.job = False

    rest = iter(jobs)
    head = deque(islice(rest, 4))
    workers = cores()
    with one_blas_thread():
        # Jobs are let go of as they are done, because they may hold rows.
        first = (head.popleft() for _ in range(len(head)))
        if len(head) < 4 or workers == 1:
            yield from map(quiet, chain(first, rest))
            return
        with ThreadPoolExecutor(workers) as pool:
            pending: deque[Future[R]] = deque()
            for job in chain(first, rest):
                pending.append(pool.submit(quiet, job))
                # Few results wait at a time, so memory does not grow with the number of rows.
                if len(pending) > 2 * workers:
                    yield pending.popleft().result()
            while pending:
                yield pending.popleft().result()


class Total:
    """A sum of arrays with the rounding errors of its additions added back.

    The result is off by at most ``u |sum| + gamma^2 sum |parts|``, ``gamma``
    about the number of parts times ``u`` (Ogita, Rump, Oishi, *Accurate sum
    and dot product*, 2005).

    Examples
    --------
    >>> total = Total((1,))
    >>> for part in (1.0, 1e100, 1.0, -1e100):
    ...     total.add(np.array([part]))
    >>> total.value()
    array([2.])
    """

    def __init__(self, shape: tuple[int, ...]) -> None:
        self._sum = np.zeros(shape)
        self._error = np.zeros(shape)

    def add(self, part: Array, error: Array | float = 0.0) -> None:
        """Add one array, and what rounding took from it before."""
        new = self._sum + part
        virtual = new - self._sum
        # privacy: two-sum keeps what the addition lost, so block sums add up exactly enough.
        self._error += (self._sum - (new - virtual)) + (part - virtual) + error
        self._sum = new

    def join(self, other: Total) -> None:
        """Add the arrays that another total added up."""
        self.add(other._sum, other._error)

    def value(self) -> Array:
        """Return the sum."""
        return self._sum + self._error


def summed(parts: Array) -> tuple[Array, Array]:
    """Return the sum of arrays and what rounding took from it, as :class:`Total` finds them.

    Pairs are added, then pairs of pairs: a few operations on long arrays. The arrays are
    overwritten.

    >>> total, error = summed(np.array([[1.0], [1e100], [1.0], [-1e100], [3.0]]))
    >>> total + error
    array([5.])
    """
    error = np.zeros(parts.shape[1:])
    while len(parts) > 1:
        half = len(parts) // 2
        left, right = parts[:half], parts[half : 2 * half]
        new = left + right
        virtual = new - left
        # privacy: two-sum, as in Total.
        right -= virtual
        right += left - (new - virtual)
        error += right.sum(axis=0)
        parts = np.concatenate([new, parts[2 * half :]])
    return parts[0], error


def gamma(terms: float, roundoff: float = unit_roundoff()) -> float:
    """Return the rounding constant ``k u / (1 - k u)`` of a sum of ``k`` terms.

    >>> gamma(100) > 100 * 2.0**-53
    True
    """
    small = terms * roundoff
    return float("inf") if small >= 0.5 else small / (1.0 - small)
