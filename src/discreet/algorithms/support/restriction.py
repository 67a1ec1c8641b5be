"""A problem and its rows on a few chosen features.

After selection the *restricted* rows are bounded: to norm ``sqrt(size)`` when
features have declared ranges, never by the norm of the full row, which would
shrink the signal by up to ``sqrt(n_features / size)`` (an erratum of Kifer,
Smith, Thakurta 2012, algorithm 6).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import scipy.sparse as sp

from discreet.data import RawBlock, Source
from discreet.mechanisms.signed_choice import Index
from discreet.problem import Problem


def restricted(problem: Problem, support: Index) -> Problem:
    """Return the problem on the chosen features only, with its own bound on rows.

    >>> import numpy as np
    >>> from discreet.losses import Huber
    >>> from discreet.bounds import Bounds
    >>> problem = Problem(loss=Huber(), bounds=Bounds(features=(-1, 1), label=(-1, 1)),
    ...                   n_features=100, n_rows=1000)
    >>> round(restricted(problem, np.array([3, 7, 8, 9])).row_norm, 6)
    2.0
    """
    bounds, size = problem.bounds, len(support)
    ranges, norm = bounds.features, bounds.row_norm
    if ranges is not None:
        if not isinstance(ranges[0], float):
            ranges = tuple(ranges[j] for j in support)
        if norm is not None:
            norm = min(norm, math.sqrt(size))
    return replace(problem, bounds=replace(bounds, features=ranges, row_norm=norm), n_features=size)


@dataclass(frozen=True)
class Columns:
    """Some columns of a source, as dense rows."""

    source: Source
    support: Index
    sparse: bool = False

    @property
    def capped(self) -> Any:
        """What a group counts for, where groups are protected: as in the whole rows."""
        return getattr(self.source, "capped", None)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.source.n_rows

    @property
    def n_features(self) -> int:
        """Number of chosen columns."""
        return len(self.support)

    def blocks(self) -> Iterator[RawBlock]:
        """Yield the rows, each exactly once."""
        for raw in self.source.blocks():
            X = raw.X[:, self.support]
            yield RawBlock(X.toarray() if sp.issparse(X) else X, raw.y, raw.weight)
