"""Gradient sums in which the part of every group, such as a person, is clipped as a whole.

The gradient of each row is clipped as in :mod:`discreet.data.clipped.clipped_sums`. The sum of
them over one group is then scaled down to a norm of so many clips as the group has rows
that may count. Rows are gathered by group, a block at a time, so that nothing as large as
the data is allocated. The proof is in ``docs/proofs/lemmas/groups.md``.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from discreet.bounds import Array, unit_roundoff
from discreet.checks import positive
from discreet.data import Rows, gamma
from discreet.data.blocks import Total, slices
from discreet.data.clipped import LEAST_CAP, ClippedSums, Index, Reach, cache_rows, sum_rounding
from discreet.data.cluster import sums_of
from discreet.data.norms import TINY, norms_of, outwards
from discreet.losses import Loss
from discreet.problem import Problem


def rounding_of(clip: float, problem: Problem, *, n_rows: int, shifting: bool) -> float:
    """Return by how much rounding can add to the distance of neighbouring sums.

    >>> from discreet.bounds import Bounds
    >>> from discreet.data import Grouping
    >>> from discreet.losses import Logistic
    >>> rules = [Problem(loss=Logistic(), bounds=Bounds(row_norm=1.0, classes=(0, 1)), n_rows=100,
    ...                  n_features=5, grouping=Grouping(2, rule)) for rule in ("weight", "clip")]
    >>> one, two = (rounding_of(1.0, problem, n_rows=10**6, shifting=True) for problem in rules)
    >>> 2.0 < two / one < 2.1
    True
    """
    plain = sum_rounding(clip, n_rows=n_rows, shifting=shifting)
    if not problem.clips_groups:
        return plain
    # privacy: rounding inside the groups, and then between them; blocks have 64 rows at least.
    # Norms of groups are overestimated by this much.
    norms = 2.0 * (problem.dimension + 16) * unit_roundoff() + gamma(n_rows / 64 + 9) ** 2
    return 2.0 * plain + 2.01 * clip * n_rows * norms


def sums_over(
    problem: Problem,
    rows: Rows,
    loss: Loss,
    *,
    shifting: bool,
    work: float,
    again: bool = False,
    coarse: bool = False,
) -> ClippedSums:
    """Return the clipped sums over rows, or over groups where these are clipped.

    With ``again`` sums are at weights that move little, so that few rows need be computed anew.
    With ``coarse`` noise hides what slopes lose in float32.

    >>> from discreet.bounds import Bounds
    >>> from discreet.losses import Squared
    >>> problem = Problem(loss=Squared(), bounds=Bounds(row_norm=1.0, label=(0, 1)), n_rows=1,
    ...                   n_features=1)
    >>> rows = Rows(np.ones((1, 1)), np.ones(1))
    >>> type(sums_over(problem, rows, Squared(), shifting=True, work=0.0)).__name__
    'ClippedSums'
    """
    if problem.clips_groups:
        return GroupSums(rows, loss, problem.per_unit)
    reach = None
    if again and problem.grouping is None:
        reach = Reach(problem.row_norm, problem.bounding.label_bound, problem.bounds.weight)
    return sums_of(rows, loss, shifting=shifting, work=work, reach=reach, coarse=coarse)


class GroupSums(ClippedSums):
    """Sums of clipped gradients in which a group's part is clipped to ``most`` clips.

    Parameters
    ----------
    rows
        Bounded rows that know their groups.
    loss
        The loss.
    most
        How many clips the part of a group may be long.

    Examples
    --------
    >>> from discreet.losses import Squared
    >>> rows = Rows(np.ones((4, 1)), -np.ones(4), groups=np.array([0, 0, 0, 1]))
    >>> with GroupSums(rows, Squared(), 2) as sums:
    ...     sums.full(np.zeros(1), 0.5).round(12)
    array([1.5])
    """

    def __init__(self, rows: Rows, loss: Loss, most: int) -> None:
        # privacy: a row's slope must not depend on where it stands.
        super().__init__(rows, loss, shifting=True, work=0.0)
        assert rows.groups is not None
        self._groups, self._most = rows.groups, most
        self._order = self._gathered(np.arange(rows.n_rows))
        self._step = cache_rows(rows.dimension)

    def _gathered(self, index: Index) -> Index:
        """Return the rows of an index that are in a group, group by group."""
        index = index[self._groups[index] >= 0]
        return index[np.argsort(self._groups[index], kind="stable")]

    def _sum(self, index: Index | None, w: Array, clip: float, count: bool) -> tuple[Array, int]:
        assert not count  # clips that adapt are refused beside groups
        if clip != self._clip:
            self._limit(positive("clip", clip))
        order = self._order if index is None else self._gathered(index)
        total, part, last = Total((w.size,)), Total((w.size,)), -1
        # privacy: a warning would tell of the rows.
        with np.errstate(all="ignore"):
            for s in slices(len(order), self._step):
                codes = self._groups[order[s]]
                starts = np.flatnonzero(np.diff(codes, prepend=-1))
                found = self._parts_of(order[s], starts, w)
                # A group may go on from the last block and into the next one.
                first = int(codes[0] == last)
                if first:
                    part.add(_dense(found[:1])[0])
                if len(starts) > first:
                    total.add(self._shortened(part.value()[None], clip))
                    total.add(self._shortened(found[first:-1], clip))
                    part, last = Total((w.size,)), int(codes[-1])
                    part.add(_dense(found[-1:])[0])
                self._resident.touched(len(codes) * 8 * (self.rows.dimension + 4))
            total.add(self._shortened(part.value()[None], clip))
        value = total.value()
        return value if w.ndim == 1 else value.reshape(w.shape[::-1]).T, 0

    def _parts_of(self, index: Index, starts: Index, w: Array) -> Any:
        """Return the sum of every group's rows in a block, one output after the other."""
        X, slope = self._blockwise.cut(w, index)
        ends, places = np.append(starts, len(index)), np.arange(len(index))
        columns = [slope] if w.ndim == 1 else list(slope.T)
        shape = (len(starts), len(index))
        found = [sp.csr_array((column, places, ends), shape=shape) @ X for column in columns]
        if len(found) == 1:
            return found[0]
        return sp.hstack(found, format="csr") if self.rows.sparse else np.hstack(found)

    def _shortened(self, parts: Any, clip: float) -> Array:
        """Return the sum of groups' parts, the longer ones scaled down."""
        if self.rows.sparse and sp.issparse(parts):
            size = np.sqrt(np.asarray(parts.multiply(parts).sum(axis=1)).ravel())
        else:
            size = norms_of(parts)
        # privacy: squares below the smallest number are lost, hence the last term.
        size = size * outwards(parts.shape[1]) + TINY
        # privacy: rounded down, so that no part is longer in real arithmetic.
        most = self._most * clip * (1.0 - 8.0 * unit_roundoff())
        factor = np.minimum(1.0, most / size)
        # privacy: smaller ones may have been rounded up by more than the margin, and a part that
        # is not finite adds nothing.
        factor[(factor < LEAST_CAP) | ~np.isfinite(size)] = 0.0
        return np.asarray(factor @ parts)


def _dense(parts: Any) -> Array:
    return np.asarray(parts.toarray() if sp.issparse(parts) else parts)
