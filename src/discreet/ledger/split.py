"""Parts of a data set between which a neighbour cannot move.

A row's part is a keyed hash of its position, of an identifier or of its group,
so that it never depends on the other rows, on their number, or on anything a
neighbour changes.
"""

from __future__ import annotations

import hashlib
import math
import secrets
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.checks import between, integer, one_of
from discreet.errors import Incompatible, InvalidData, InvalidParameter

Mask = npt.NDArray[np.bool_]

_WHOLE = 2**64


@dataclass(frozen=True)
class Split:
    """How one part of a data set (``""`` is all of it) falls into smaller ones.

    Examples
    --------
    >>> split = Split.of("position", {"train": 0.8, "test": 0.2}, key="k")
    >>> train, test = split.mask("train", 1000), split.mask("test", 1000)
    >>> bool((train ^ test).all()), bool(760 < train.sum() < 840)
    (True, True)
    """

    parent: str
    by: str
    parts: tuple[tuple[str, float], ...]
    key: str
    identifier: str = "record"

    @classmethod
    def of(
        cls,
        by: str,
        parts: Mapping[str, float],
        *,
        parent: str = "",
        key: str | None = None,
        identifier: str = "record",
    ) -> Split:
        """Return a split after checking its names and shares."""
        one_of("by", by, ("position", "hash", "group"))
        one_of("identifier", identifier, ("record", "public"))
        if not isinstance(parts, Mapping) or len(parts) < 2:
            raise InvalidParameter(
                "parts must name at least two parts with their shares, e.g. "
                "parts={'train': 0.8, 'test': 0.2}."
            )
        for name, share in parts.items():
            if not isinstance(name, str) or not name or "/" in name or name != name.strip():
                raise InvalidParameter("Names of parts are texts without '/' and outer blanks.")
            between("share of a part", share, 0, 1)
        if abs(math.fsum(parts.values()) - 1.0) > 1e-9:
            raise InvalidParameter("The shares of the parts must add up to 1.")
        if key is not None and not isinstance(key, str):
            raise InvalidParameter("key must be a text, or None for a random one.")
        given = tuple((name, float(share)) for name, share in parts.items())
        return cls(parent, by, given, secrets.token_hex(16) if key is None else key, identifier)

    def check(self, neighbours: str, unit: str) -> None:
        """Refuse parts between which a neighbour could move."""
        if self.by == "group" and unit != "group":
            raise Incompatible(
                "Parts by group need a ledger whose unit is 'group': a neighbour that changes one "
                "row could give it another group. Create the ledger with unit='group', or split by "
                "position."
            )
        if self.by != "group" and unit == "group":
            raise Incompatible(
                "The rows of one group would lie in several parts. Split by 'group'."
            )
        if self.by == "position" and neighbours == "add-remove":
            raise Incompatible(
                "Under add-remove a row less moves all later rows, so parts by position change as "
                "a whole. Split by 'hash' of an identifier that belongs to the record."
            )
        # privacy: blanking a group keeps whose rows they are, and replacing it need not.
        kept = "add-remove" if self.by == "hash" else "add-remove zero-out"
        hashed = self.by != "position" and neighbours not in kept.split()
        if hashed and self.identifier != "public":
            raise Incompatible(
                f"Under {neighbours} a neighbour may change what is hashed, and then two parts "
                "change. Split by 'position', or pass identifier='public' if the identifier is "
                "public and a neighbour keeps it."
            )

    def names(self) -> list[str]:
        """Return the full names of the parts.

        >>> Split.of("position", {"a": 0.5, "b": 0.5}, parent="train").names()
        ['train/a', 'train/b']
        """
        return [f"{self.parent}/{name}" if self.parent else name for name, _ in self.parts]

    def mask(self, name: str, rows: Any) -> Mask:
        """Return which rows belong to a part.

        Parameters
        ----------
        name
            Name of the part, without its parent.
        rows
            The number of rows where they are split by position; else their
            identifiers, or groups: whole numbers or texts.
        """
        known = [known for known, _ in self.parts]
        index = known.index(one_of("part", name, known))
        # privacy: limits are whole numbers, so every row falls into exactly one part.
        shares = np.cumsum([0.0, *(share for _, share in self.parts)])
        limits = [int(share * 2**53) << 11 for share in shares]
        limits[-1] = _WHOLE
        numbers = [self._number(row) for row in self._rows(rows)]
        return np.array([limits[index] <= n < limits[index + 1] for n in numbers], dtype=bool)

    def _rows(self, rows: Any) -> Iterable[Any]:
        if self.by == "position":
            return range(integer("the number of rows", rows, 0))
        if isinstance(rows, str | bytes | Integral) or not isinstance(rows, Iterable):
            raise InvalidParameter("Parts by hash or group need one identifier for every row.")
        held = rows.tolist() if hasattr(rows, "tolist") else rows
        return list(held)

    def _number(self, row: Any) -> int:
        if isinstance(row, bool) or not isinstance(row, str | Integral):
            # privacy: an identifier may be data, so it is not quoted.
            raise InvalidData("Identifiers and groups must be whole numbers or texts.")
        text = f"s:{row}" if isinstance(row, str) else f"i:{int(row)}"
        key = hashlib.sha256(f"{self.parent}\0{self.key}".encode()).digest()
        found = hashlib.blake2b(text.encode(), key=key, digest_size=8).digest()
        return int.from_bytes(found, "big")

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return {
            "parent": self.parent,
            "by": self.by,
            "parts": [[name, share] for name, share in self.parts],
            "key": self.key,
            "identifier": self.identifier,
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Split:
        """Read a split back."""
        parts = tuple((name, share) for name, share in values["parts"])
        return cls(values["parent"], values["by"], parts, values["key"], values["identifier"])


def leaves(place: str, parts: Iterable[str]) -> list[str]:
    """Return the parts that lie within ``place``.

    >>> leaves("train", ["train/a", "train/b", "test"])
    ['train/a', 'train/b']
    """
    inside = f"{place}/" if place else ""
    return [part for part in parts if part == place or part.startswith(inside)]
