"""The loops of :mod:`discreet.mechanisms.signed_choice`, compiled with numba (extra ``compiled``).

Only whole numbers and sums and products in strict arithmetic are compiled, so the
results are the same bits with and without.
"""

from __future__ import annotations

from functools import cache
from types import SimpleNamespace
from typing import Any

import numpy as np

from discreet.data.kernel_cache import kept
from discreet.mechanisms.signed_choice import SORTED, Classes, level_of, propose, shift


@cache
def compiled_choice() -> SimpleNamespace | None:
    """Return compiled loops, or None without numba."""
    try:
        sort = kept(rearrange)
    except ImportError:
        return None
    return SimpleNamespace(
        propose=kept(propose),
        arrange=sort,
        level_of=kept(level_of),
        relevel_loop=kept(relevel_loop, rearrange=sort, shift=kept(shift)),
    )


def relevel_loop(index: Any, levels: Any, count: int, classes: Classes) -> None:
    """Put the first ``count`` coordinates of ``index`` into their new classes."""
    changed = 0
    for i in range(count):
        changed += levels[i] != classes.level[index[i]]
    if changed * SORTED > classes.level.shape[0]:
        for i in range(count):
            classes.level[index[i]] = levels[i]
        rearrange(classes)
        return
    for i in range(count):
        if levels[i] != classes.level[index[i]]:
            shift(index[i], levels[i], classes)


def rearrange(classes: Classes) -> None:
    """Sort all coordinates by class, members of one class by number."""
    level, above = classes.level, classes.above
    highest = classes.top[0]
    for j in range(level.shape[0]):
        highest = max(highest, np.int64(level[j]))
    for k in range(highest + 1):
        above[k] = 0
    for j in range(level.shape[0]):
        above[level[j] - 1] += 1
    for k in range(highest - 1, -1, -1):
        above[k] += above[k + 1]
    # Meanwhile above[k] is where the next member of class k goes.
    for j in range(level.shape[0]):
        at = above[level[j]]
        classes.order[at] = j
        classes.place[j] = at
        above[level[j]] = at + 1
    for k in range(highest):
        above[k] = above[k + 1]
    above[highest] = 0
    classes.top[0] = highest
