"""Rows that belong together: how many of one group count, and by how much each.

A :class:`Grouping` says that a group, such as a person, counts as at most ``rows`` rows.
Every row gets a share between 0 and 1, and the shares of a group add up to at most
``rows`` in real arithmetic, unless its summed gradients are clipped instead. A sum over
rows with these shares then moves by at most ``rows`` times as much for a group as it does
for a row (``docs/proofs/lemmas/groups.md``). Shares of a group depend on its own rows and
coins alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from discreet.bounds import Array
from discreet.checks import integer, one_of
from discreet.data.storage import Codes, RawBlock, Source, group_codes
from discreet.errors import InvalidData, InvalidParameter
from discreet.noise import Randomness

GROUP_RULES = ("weight", "sample", "clip")
"""How a group with too many rows is brought down: all count less, some count, or their summed
gradient is clipped."""

MOST_PER_GROUP = 1_000_000
"""Largest number of rows that one group may count for."""

_BELOW = 1.0 - 2.0**-50


@dataclass(frozen=True)
class Grouping:
    """How many rows of one group count, and what becomes of more.

    Parameters
    ----------
    rows
        Public number of rows that one group counts for at most.
    rule
        ``"weight"``: each of ``m`` rows counts ``min(1, rows / m)``. ``"sample"``: at most
        ``rows`` of them count, drawn at random, and the others not at all. ``"clip"``: all
        count, and the sum of their gradients is clipped to ``rows`` times the clip of one.

    Examples
    --------
    >>> Grouping(2).shares(np.array([0, 0, 0, 0, 1, -1])).round(6)
    array([0.5, 0.5, 0.5, 0.5, 1. , 0. ])
    """

    rows: int
    rule: Literal["weight", "sample", "clip"] = "weight"

    def __post_init__(self) -> None:
        integer("rows_per_group", self.rows, maximum=MOST_PER_GROUP)
        one_of("group_rule", self.rule, GROUP_RULES)

    def shares(self, codes: Codes, random: Randomness | None = None) -> Array:
        """Return how much each row counts; a row without a group counts for nothing."""
        known = codes >= 0
        if self.rule == "clip":
            # privacy: bounded where gradients are added; a plan that does not do so is refused.
            return known.astype(np.float64)
        sizes = np.bincount(codes[known])
        if self.rule == "sample" and (sizes > self.rows).any():
            return self._drawn(codes, sizes, random)
        large = sizes > self.rows
        # privacy: rounded down, so that the real sum over a group stays at most its rows, and
        # leaves room for the rounding of a cap that is multiplied by it.
        share = np.where(large, self.rows / np.maximum(sizes, 1) * _BELOW, 1.0)
        found = np.zeros(len(codes))
        found[known] = share[codes[known]]
        return found

    def _drawn(self, codes: Codes, sizes: Codes, random: Randomness | None) -> Array:
        assert random is not None
        # privacy: independent coins for every row, so that other groups keep their law.
        order = np.lexsort((random.words(len(codes)), codes))
        missing = int(np.count_nonzero(codes < 0))
        first = np.repeat(np.cumsum(sizes) - sizes, sizes)
        rank = np.arange(len(codes) - missing) - first
        found = np.zeros(len(codes))
        found[order[missing:][rank < self.rows]] = 1.0
        return found

    def size(self, codes: Codes, neighbours: str, declared: int | None = None) -> int | None:
        """Return the public size of grouped data, in rows that count in full.

        Blanking a group keeps how many rows each group has. A replacement does not, so there
        it is the number of groups or a declared size; under add-remove only a declared one.

        >>> codes = np.array([0, 0, 0, 1])
        >>> [Grouping(2).size(codes, r) for r in ("zero-out", "replace-one", "add-remove")]
        [3, 2, None]
        """
        if neighbours != "zero-out" and declared is not None:
            return declared
        sizes = np.bincount(codes[codes >= 0])
        return {
            "zero-out": int(np.minimum(sizes, self.rows).sum()),
            "replace-one": len(sizes),
        }.get(neighbours)


class Capped:
    """A source whose rows have shares, so that no group counts for too much.

    Parameters
    ----------
    source
        The rows.
    grouping
        What a group counts for.
    codes
        The group of every row, as :func:`~discreet.data.storage.group_codes` returns it.
    random
        Coins of the draw.
    """

    def __init__(
        self, source: Source, grouping: Grouping, codes: Codes, random: Randomness
    ) -> None:
        self.source, self.grouping, self.codes = source, grouping, codes
        self.share = grouping.shares(codes, random)
        self.n_rows, self.n_features, self.sparse = (
            source.n_rows,
            source.n_features,
            source.sparse,
        )
        self.array, self.dtype = getattr(source, "array", None), getattr(source, "dtype", None)
        self.streamed = getattr(source, "streamed", False)

    @property
    def capped(self) -> Capped:
        """What wrappers of a source pass on."""
        return self

    def blocks(self) -> Iterator[RawBlock]:
        """Yield the rows, each exactly once."""
        return self.source.blocks()


def belonging(source: Source, groups: Any) -> Source:
    """Return the rows with whom they belong to; as they are if nothing says so.

    >>> from discreet.data import ArraySource
    >>> belonging(ArraySource(np.ones((2, 1))), ["a", "a"]).groups
    array([0, 0])
    """
    if groups is not None:
        source.groups = group_codes(groups, source.n_rows)  # type: ignore[attr-defined]
    return source


def capped_source(source: Source, grouping: Grouping | None, random: Randomness) -> Source:
    """Return the rows as a plan that protects rows, or groups of them, may read them.

    >>> from discreet.data import ArraySource
    >>> from discreet.noise import Seeded
    >>> source = ArraySource(np.ones((3, 1)), groups=["a", "a", "b"])
    >>> capped_source(source, Grouping(1), Seeded(0)).share.round(6)
    array([0.5, 0.5, 1. ])
    """
    done: Capped | None = getattr(source, "capped", None)
    codes = getattr(source, "groups", None)
    if grouping is None:
        if done is not None or codes is not None:
            # privacy: a guarantee per row would be read as one per group.
            raise InvalidData(
                "The rows come in groups, and this plan protects single rows. Set rows_per_group, "
                "or leave groups out."
            )
        return source
    if done is not None:
        if done.grouping != grouping:
            raise InvalidParameter("These rows were capped for another plan. Pass them anew.")
        return source
    if codes is None:
        raise InvalidData(
            "This plan protects groups of rows, and the rows come without groups. Pass "
            "ArraySource(X, y, groups=...), or fit(X, y, groups=...)."
        )
    return Capped(source, grouping, codes, random)
