"""One line of a ledger, and the chain of hashes that ties the lines together."""

from __future__ import annotations

import getpass
import hashlib
import json
import os
import secrets
import socket
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, Self, TypeAlias

from discreet.errors import InvalidData
from discreet.ledger.amounts import Price
from discreet.ledger.filter import Account

Place: TypeAlias = tuple[str, str]
"""A tag of the data set and a part of it; the part ``""`` is all of it."""

Accounts: TypeAlias = Mapping[Place, Account]

COLUMNS = (
    "seq",
    "id",
    "kind",
    "of",
    "places",
    *Price._fields,
    "accounts",
    "guarantee",
    "details",
    "created",
    "host",
    "pid",
    "prev_hash",
    "hash",
)
"""The columns of a ledger's table, in their order."""

KINDS = ("create", "reserve", "settle", "void", "split", "close")

DAMAGED = (
    "This ledger is damaged or was edited at entry {}. Do not spend from it: take the copy you "
    "trust, and treat everything released since as spent."
)


def now() -> str:
    """Return the time in words that sort.

    >>> now().endswith("+00:00")
    True
    """
    return datetime.now(UTC).isoformat(timespec="seconds")


def who() -> str:
    """Return the name of the account that runs this process."""
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):
        return "unknown"


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One line: what changed, and every account after it.

    Nothing in it is computed from rows. ``created`` of a settlement is the time
    of its reservation, since how long a run took may depend on the rows.
    """

    kind: str
    accounts: Accounts
    seq: int = 0
    id: str = field(default_factory=lambda: secrets.token_hex(16))
    of: str | None = None
    places: tuple[Place, ...] = ()
    price: Price = field(default_factory=Price)
    guarantee: Mapping[str, Any] | None = None
    details: Mapping[str, Any] = field(default_factory=dict)
    created: str = field(default_factory=now)
    host: str = field(default_factory=socket.gethostname)
    pid: int = field(default_factory=os.getpid)
    prev_hash: str = ""
    hash: str = ""

    def after(self, last: Entry) -> Self:
        """Return this entry as the one that follows ``last``."""
        placed = replace(self, seq=last.seq + 1, prev_hash=last.hash)
        return placed.with_hash()

    def with_hash(self) -> Self:
        """Return this entry with its own hash."""
        return replace(self, hash=self.fingerprint())

    def fingerprint(self) -> str:
        """Return the hash of everything else in the entry."""
        text = json.dumps(self.row()[:-1], separators=(",", ":"), ensure_ascii=True)
        return hashlib.sha256(text.encode()).hexdigest()

    def row(self) -> tuple[Any, ...]:
        """Return the values of the columns; amounts are decimal text, and infinity is None."""
        accounts = [[*place, *account.to_list()] for place, account in self.accounts.items()]
        return (
            self.seq,
            self.id,
            self.kind,
            self.of,
            _json([list(place) for place in self.places]),
            *(None if amount is None else str(amount) for amount in self.price),
            _json(accounts),
            None if self.guarantee is None else _json(self.guarantee),
            _json(self.details),
            self.created,
            self.host,
            self.pid,
            self.prev_hash,
            self.hash,
        )

    @classmethod
    def from_row(cls, row: Any) -> Entry:
        """Read an entry back from the values of its columns."""
        values = dict(zip(COLUMNS, row, strict=True))
        try:
            amounts = [values[name] for name in Price._fields]
            accounts = {
                (tag, part): Account.from_list(held)
                for tag, part, *held in json.loads(values["accounts"])
            }
            guarantee = values["guarantee"]
            return cls(
                seq=values["seq"],
                id=values["id"],
                kind=values["kind"],
                of=values["of"],
                places=tuple((tag, part) for tag, part in json.loads(values["places"])),
                price=Price(*(None if a is None else int(a) for a in amounts)),
                accounts=accounts,
                guarantee=None if guarantee is None else json.loads(guarantee),
                details=json.loads(values["details"]),
                created=values["created"],
                host=values["host"],
                pid=values["pid"],
                prev_hash=values["prev_hash"],
                hash=values["hash"],
            )
        except (TypeError, ValueError, KeyError):
            raise InvalidData(DAMAGED.format(values["seq"])) from None


def _json(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), sort_keys=True, ensure_ascii=True)
