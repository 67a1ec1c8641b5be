"""A ledger in one file: SQLite, every reservation on disk before it counts."""

from __future__ import annotations

import os
import secrets
import sqlite3
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import Any

from discreet.errors import InvalidData, InvalidParameter, LedgerUnavailable
from discreet.ledger.connections import shared
from discreet.ledger.entry import COLUMNS, Entry
from discreet.ledger.places import check_local
from discreet.ledger.store import Writer

PATIENCE = 60.0
"""Seconds to wait for other writers."""

_APPLICATION = 0x64736C64  # the bytes "dsld", in the file's header
_TEXT = [f"{name} TEXT" for name in COLUMNS if name not in ("seq", "id", "pid", "hash")]
_SCHEMA = f"""
PRAGMA application_id = {_APPLICATION};
CREATE TABLE entries (
    seq INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, pid INTEGER, hash TEXT NOT NULL UNIQUE,
    {", ".join(_TEXT)}
);
CREATE UNIQUE INDEX settled_once ON entries (of) WHERE of IS NOT NULL;
CREATE INDEX by_kind ON entries (kind);
CREATE TRIGGER append_only BEFORE INSERT ON entries
WHEN NEW.seq IS NOT (SELECT COALESCE(MAX(seq), -1) + 1 FROM entries)
BEGIN SELECT RAISE(ABORT, 'entries of a ledger are only appended'); END;
CREATE TRIGGER no_update BEFORE UPDATE ON entries
BEGIN SELECT RAISE(ABORT, 'entries of a ledger are never changed'); END;
CREATE TRIGGER no_delete BEFORE DELETE ON entries
BEGIN SELECT RAISE(ABORT, 'entries of a ledger are never deleted'); END;
"""
_SELECT = f"SELECT {', '.join(COLUMNS)} FROM entries"
_INSERT = f"INSERT INTO entries ({', '.join(COLUMNS)}) VALUES ({', '.join('?' * len(COLUMNS))})"


class SQLiteStore:
    """A ledger's entries in a file on a local disk."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(os.path.realpath(path))
        self.address = str(self.path)  # whatever the working directory is

    def create(self, first: Entry) -> None:
        """Begin a new file, whole or not at all."""
        if not self.path.parent.is_dir():
            raise InvalidParameter(f"The folder of {self.path} does not exist. Make it first.")
        check_local(self.path)
        part = self.path.with_name(f".{secrets.token_hex(8)}.part")
        try:
            with self._refusals_in_words():
                os.close(os.open(part, os.O_CREAT | os.O_EXCL, 0o600))
                connection = sqlite3.connect(part, isolation_level=None)
                try:
                    connection.executescript(_SCHEMA)
                    connection.execute(_INSERT, first.row())
                    connection.execute("PRAGMA journal_mode = WAL")
                finally:
                    connection.close()
                descriptor = os.open(part, os.O_RDWR)
                os.fsync(descriptor)
                os.close(descriptor)
                os.link(part, self.path)  # refuses to replace a file
                self._sync_folder()
        except FileExistsError:
            raise InvalidParameter(
                f"{self.path} exists already. Open it with Ledger.open, or name another file: a "
                "second ledger of the same data would be a second budget."
            ) from None
        finally:
            for leftover in (part, Path(f"{part}-wal"), Path(f"{part}-shm")):
                with suppress(OSError):
                    leftover.unlink()

    def _sync_folder(self) -> None:
        with suppress(OSError):  # not every system opens folders
            descriptor = os.open(self.path.parent, os.O_RDONLY)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)

    def reading(self) -> AbstractContextManager[SQLiteWriter]:
        """Return the entries as they are now."""
        return self._transaction("BEGIN")

    def writing(self) -> AbstractContextManager[SQLiteWriter]:
        """Hold the file's only right to write until the end of the block."""
        return self._transaction("BEGIN IMMEDIATE")

    @contextmanager
    def _transaction(self, begin: str) -> Iterator[SQLiteWriter]:
        with self._connected() as connection:
            connection.execute(begin)
            try:
                yield SQLiteWriter(connection)
                connection.execute("COMMIT")  # on disk when this returns
            except BaseException:
                with suppress(sqlite3.Error):
                    connection.execute("ROLLBACK")
                raise

    @contextmanager
    def _connected(self) -> Iterator[sqlite3.Connection]:
        held = shared(self.address)
        with held.lock, self._refusals_in_words():
            try:
                found = self.path.stat()
            except FileNotFoundError:
                raise InvalidParameter(
                    f"There is no ledger at {self.path}. Make one with Ledger.create, or with "
                    "`discreet ledger create`."
                ) from None
            mark = (found.st_dev, found.st_ino)
            if held.mark != mark:
                held.close()  # another file has taken its place
            if held.connection is None:
                held.connection, held.mark = self._opened(), mark
            yield held.connection

    def _opened(self) -> sqlite3.Connection:
        check_local(self.path)
        connection = sqlite3.connect(
            f"{self.path.as_uri()}?mode=rw",
            uri=True,
            timeout=PATIENCE,
            isolation_level=None,
            check_same_thread=False,
        )
        try:
            [found] = connection.execute("PRAGMA application_id").fetchone()
            if found != _APPLICATION:
                raise InvalidData(f"{self.path} is not a ledger of this library.")
            [mode] = connection.execute("PRAGMA journal_mode = WAL").fetchone()
            if mode != "wal":
                raise LedgerUnavailable(f"{self.path} cannot keep a write-ahead log.")
            # privacy: a reservation that a power cut takes back would be spent twice.
            connection.execute("PRAGMA synchronous = FULL")
            connection.execute("PRAGMA fullfsync = ON")  # or macOS keeps it in the disk's cache
        except BaseException:
            connection.close()
            raise
        return connection

    @contextmanager
    def _refusals_in_words(self) -> Iterator[None]:
        """Say in words why the file could not be used."""
        try:
            yield
        except sqlite3.DatabaseError as error:
            said = str(error)
            if "not a database" in said or "malformed" in said:
                raise InvalidData(f"{self.path} is not a ledger of this library.") from None
            if "only appended" in said or "never" in said:
                raise
            raise LedgerUnavailable(
                f"The ledger {self.path} could not be used ({said}), so nothing was reserved. "
                "Check the disk and its permissions, and try again."
            ) from None


class SQLiteWriter(Writer):
    """A transaction on the file."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.connection = connection

    def append(self, entry: Entry) -> None:
        self.connection.execute(_INSERT, entry.row())

    def _read(self, condition: str, order: str, *values: Any) -> list[Entry]:
        query = f"{_SELECT} WHERE {condition} ORDER BY {order}"
        rows = self.connection.execute(query, values).fetchall()
        return [Entry.from_row(row) for row in rows]
