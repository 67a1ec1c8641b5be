"""The inner parts of sparse steps, in numpy; :mod:`compiled_steps` has the same as loops.

Coordinates are taken in the order in which the terms of a step first reach them,
and sums are taken term by term, so both give the same bits.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from discreet.bounds import Array
from discreet.mechanisms.signed_choice import Classes, Index, relevel

SHIFT = 6
"""Due times are kept in groups of ``2**SHIFT`` with the latest of each, to skip most groups."""


class SparseTable(NamedTuple):
    """The stored entries of a sparse matrix, line by line."""

    indptr: npt.NDArray[Any]
    indices: npt.NDArray[Any]
    data: Array


class Sums(NamedTuple):
    """Room for the coordinates that a step reaches and the sums of their terms."""

    mark: npt.NDArray[np.int64]
    base: npt.NDArray[np.int64]
    reached: Index
    total: Array
    level: npt.NDArray[np.int64]

    @classmethod
    def empty(cls, dimension: int) -> Sums:
        """Return fresh room."""
        # Written now: asking for memory page by page would cost the steps more.
        mark, base = np.full(dimension, 0, np.int64), np.ones(1, np.int64)
        reached, total = np.zeros(dimension, np.intp), np.zeros(dimension)
        return cls(mark, base, reached, total, np.zeros(dimension, np.int64))


class Schedule(NamedTuple):
    """At which scale something must be looked at again, and the largest of each group."""

    due: Array
    peak: Array
    found: Index

    @classmethod
    def empty(cls, count: int) -> Schedule:
        """Return a schedule on which nothing is due."""
        groups = (count >> SHIFT) + 1
        return cls(np.full(count, -np.inf), np.full(groups, -np.inf), np.zeros(count, np.intp))


class Hot(NamedTuple):
    """The coordinates that some step has touched, in slots from 1 on; slot 0 is all others."""

    target: Array
    slot: npt.NDArray[np.int64]
    coordinate: Index
    image: Array
    schedule: Schedule
    used: npt.NDArray[np.int64]

    @classmethod
    def empty(cls, target: Array) -> Hot:
        """Return room for as many as there are coordinates."""
        size = target.size + 1
        slot, coordinate = np.full(size, 0, np.int64), np.zeros(size, np.intp)
        image, schedule = np.zeros(size), Schedule.empty(size)
        return cls(target, slot, coordinate, image, schedule, np.ones(1, np.int64))


def squared(
    table: SparseTable,
    columns: SparseTable,
    weight: Array,
    j: int,
    factor: float,
    scale: float,
    odds: float,
    room: float,
    hot: Hot,
    sums: Sums,
    classes: Classes,
) -> None:
    """Add a step to the images and find the classes of scores that moved too far."""
    rows, values = _line(columns, j)
    index, change = summed(table, rows, weight[rows] * values * factor, None, 0.0, sums)
    count = int(hot.used[0])
    new = index[hot.slot[index] == 0]
    hot.slot[new] = np.arange(count, count + new.size)
    hot.coordinate[count : count + new.size] = new
    hot.used[0] = count = count + new.size
    slots = hot.slot[index]
    hot.image[slots] += change
    hot.schedule.due[slots] = np.inf
    renew = overdue(hot.image, count, scale, room / abs(odds), hot.schedule)
    index = hot.coordinate[renew]
    h = odds * (scale * hot.image[renew] - hot.target[index])
    relevel(index, np.abs(h) + room, classes)


def touched(
    columns: SparseTable,
    j: int,
    factor: float,
    scale: float,
    tolerance: float,
    margin: Array,
    schedule: Schedule,
) -> Index:
    """Add a step to the margins of rows and return the rows to renew."""
    rows, values = _line(columns, j)
    margin[rows] += values * factor
    schedule.due[rows] = np.inf
    return overdue(margin, margin.size, scale, tolerance, schedule)


def renewed(
    table: SparseTable,
    rows: Index,
    new: Array,
    old: Array,
    grid: float,
    odds: float,
    gradient: Array,
    sums: Sums,
    classes: Classes,
) -> None:
    """Exchange the slopes of rows in the gradient."""
    index, change = summed(table, rows, new, old, grid, sums)
    gradient[index] += change * grid
    relevel(index, np.abs(odds * gradient[index]), classes)


def overdue(values: Array, count: int, scale: float, room: float, schedule: Schedule) -> Index:
    """Return what is due at this scale, and when it will be due again.

    ``values`` are in units of the scale: the next time is when the scale alone
    will have moved ``scale * value`` by ``room``.
    """
    found = np.flatnonzero(schedule.due[:count] > scale)
    size = np.abs(values[found])
    with np.errstate(divide="ignore", over="ignore"):
        schedule.due[found] = np.where(size > 0.0, scale - room / size, -np.inf)
    return found


def summed(
    table: SparseTable, rows: Index, new: Array, old: Array | None, grid: float, sums: Sums
) -> tuple[Index, Array]:
    """Return the coordinates that rows reach and the sums of ``new`` times their entries.

    With a ``grid`` terms are rounded to whole multiples of it, and the rounded
    terms of ``old`` are taken off.
    """
    starts, ends = table.indptr[rows], table.indptr[rows + 1]
    lengths = ends - starts
    offsets = np.cumsum(lengths) - lengths
    every = np.arange(int(lengths.sum()))
    at = every + np.repeat(starts - offsets, lengths)
    columns, values = table.indices[at], table.data[at]
    terms = np.repeat(new, lengths) * values
    if grid > 0.0:
        terms = np.rint(terms / grid)
        if old is not None:
            terms -= np.rint(np.repeat(old, lengths) * values / grid)
    # The first term of every coordinate: later writes to a place win, so write backwards.
    sums.mark[columns[::-1]] = every[::-1]
    first = sums.mark[columns]
    fresh = first == every
    rank = (np.cumsum(fresh) - 1)[first]
    return columns[fresh], np.bincount(rank, weights=terms).astype(np.float64)


def _line(table: SparseTable, j: int) -> tuple[Index, Array]:
    part = slice(table.indptr[j], table.indptr[j + 1])
    return table.indices[part], table.data[part]
