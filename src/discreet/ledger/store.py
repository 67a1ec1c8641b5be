"""Where entries are kept: a list that can only grow, one writer at a time."""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import AbstractContextManager
from typing import Any, Protocol

from discreet.errors import InvalidData
from discreet.ledger.entry import DAMAGED, Entry


class Reader(ABC):
    """The entries as they are at one moment."""

    @abstractmethod
    def _read(self, condition: str, order: str, *values: Any) -> list[Entry]:
        """Return entries by the end of a query in SQL, with ``?`` for every value."""

    def last(self) -> Entry:
        """Return the newest entry."""
        for entry in self._read("seq >= 0", "seq DESC LIMIT 1"):
            return entry
        raise InvalidData(DAMAGED.format(0))

    def all(self) -> list[Entry]:
        """Return every entry, oldest first."""
        return self._read("seq >= 0", "seq")

    def about(self, id: str) -> list[Entry]:
        """Return the entry of that id and the one that settles it, if there is one."""
        return self._read("(id = ? OR of = ?)", "seq", id, id)

    def of_kind(self, kind: str) -> list[Entry]:
        """Return the entries of one kind, oldest first."""
        return self._read("kind = ?", "seq", kind)


class Writer(Reader):
    """A transaction that nobody else's can come between."""

    @abstractmethod
    def append(self, entry: Entry) -> None:
        """Add an entry; it is kept once the transaction has ended."""


class Store(Protocol):
    """A place for the entries of one ledger.

    When ``writing`` has ended without an error the entry is on disk, and stays
    there through a crash of the process or the machine.
    """

    @property
    def address(self) -> str:
        """Return the text by which another process opens the same ledger."""
        ...

    def create(self, first: Entry) -> None:
        """Begin a new ledger; one that exists is refused."""
        ...

    def reading(self) -> AbstractContextManager[Reader]:
        """Return the entries as they are now."""
        ...

    def writing(self) -> AbstractContextManager[Writer]:
        """Return a transaction: all of it is kept, or nothing."""
        ...


def store_of(address: str) -> Store:
    """Return the store of an address: a path, or a ``postgresql://`` URL.

    >>> store_of("trial.ledger").address.endswith("trial.ledger")
    True
    """
    from discreet.ledger.sqlite import SQLiteStore

    if address.startswith(("postgresql://", "postgres://")):
        from discreet.ledger.postgres import PostgresStore

        return PostgresStore(address)
    return SQLiteStore(address)
