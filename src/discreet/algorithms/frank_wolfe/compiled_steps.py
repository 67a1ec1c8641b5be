"""The inner parts of sparse steps, compiled with numba (extra ``compiled``).

Each does what its namesake of :mod:`plain_steps` does, term by term, in strict
arithmetic: no sum is taken in another order and nothing is fused, so the results
are the same bits. A step costs the non-zeros it touches.
"""

from __future__ import annotations

import math
from functools import cache
from types import SimpleNamespace
from typing import Any

import numpy as np

from discreet.algorithms.frank_wolfe.plain_steps import SHIFT
from discreet.data.kernel_cache import kept
from discreet.mechanisms.compiled_choice import compiled_choice, relevel_loop
from discreet.mechanisms.signed_choice import level_of


@cache
def compiled_steps() -> SimpleNamespace | None:
    """Return compiled parts, or None without numba."""
    choice = compiled_choice()
    if choice is None:
        return None
    parts = {
        "add_terms": kept(add_terms),
        "find_due": kept(find_due),
        "mark_due": kept(mark_due),
        "level_of": choice.level_of,
        "relevel_loop": choice.relevel_loop,
    }
    return SimpleNamespace(
        squared=kept(squared, **parts),
        touched=kept(touched, **parts),
        renewed=kept(renewed, **parts),
    )


def squared(
    table: Any,
    columns: Any,
    weight: Any,
    j: int,
    factor: float,
    scale: float,
    odds: float,
    room: float,
    hot: Any,
    sums: Any,
    classes: Any,
) -> None:
    begin, end = columns.indptr[j], columns.indptr[j + 1]
    rows = columns.indices[begin:end]
    new = np.empty(end - begin)
    for i in range(end - begin):
        new[i] = weight[rows[i]] * columns.data[begin + i] * factor
    reached = add_terms(table, rows, new, new, 0.0, sums)
    count = hot.used[0]
    for i in range(reached):
        c = sums.reached[i]
        slot = hot.slot[c]
        if slot == 0:
            slot = count
            hot.slot[c] = slot
            hot.coordinate[slot] = c
            count += 1
        hot.image[slot] += sums.total[i]
        mark_due(slot, hot.schedule)
    hot.used[0] = count
    found = find_due(hot.image, count, scale, room / abs(odds), hot.schedule)
    most = classes.above.shape[0] - 1
    for i in range(found):
        slot = hot.schedule.found[i]
        c = hot.coordinate[slot]
        h = odds * (scale * hot.image[slot] - hot.target[c])
        sums.reached[i] = c
        sums.level[i] = level_of(abs(h) + room, most)
    relevel_loop(sums.reached, sums.level, found, classes)


def touched(
    columns: Any, j: int, factor: float, scale: float, tolerance: float, margin: Any, schedule: Any
) -> Any:
    for t in range(columns.indptr[j], columns.indptr[j + 1]):
        row = columns.indices[t]
        margin[row] += columns.data[t] * factor
        mark_due(row, schedule)
    found = find_due(margin, margin.shape[0], scale, tolerance, schedule)
    return schedule.found[:found].copy()


def renewed(
    table: Any,
    rows: Any,
    new: Any,
    old: Any,
    grid: float,
    odds: float,
    gradient: Any,
    sums: Any,
    classes: Any,
) -> None:
    reached = add_terms(table, rows, new, old, grid, sums)
    most = classes.above.shape[0] - 1
    for i in range(reached):
        c = sums.reached[i]
        gradient[c] += sums.total[i] * grid
        sums.level[i] = level_of(abs(odds * gradient[c]), most)
    relevel_loop(sums.reached, sums.level, reached, classes)


def mark_due(i: int, schedule: Any) -> None:
    schedule.due[i] = math.inf
    schedule.peak[i >> SHIFT] = math.inf


def find_due(values: Any, count: int, scale: float, room: float, schedule: Any) -> int:
    due, peak = schedule.due, schedule.peak
    found = 0
    for group in range(((count - 1) >> SHIFT) + 1):
        if peak[group] > scale:
            latest = -math.inf
            for i in range(group << SHIFT, min(count, (group + 1) << SHIFT)):
                if due[i] > scale:
                    schedule.found[found] = i
                    found += 1
                    size = abs(values[i])
                    due[i] = scale - room / size if size > 0.0 else -math.inf
                latest = max(latest, due[i])
            peak[group] = latest
    return found


def add_terms(table: Any, rows: Any, new: Any, old: Any, grid: float, sums: Any) -> int:
    base, reached = sums.base[0], 0
    for i in range(rows.shape[0]):
        for t in range(table.indptr[rows[i]], table.indptr[rows[i] + 1]):
            c, x = table.indices[t], table.data[t]
            term = new[i] * x
            if grid > 0.0:
                term = np.rint(term / grid) - np.rint(old[i] * x / grid)
            at = sums.mark[c] - base
            if at < 0:
                at = reached
                sums.mark[c] = base + at
                sums.reached[at] = c
                sums.total[at] = 0.0
                reached += 1
            sums.total[at] += term
    sums.base[0] = base + reached
    return reached
