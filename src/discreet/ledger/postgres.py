"""Ledgers in a PostgreSQL database, for several machines. Needs the extra ``postgres``.

One database may hold the ledgers of many data sets. A writer locks the row of
its data set until its transaction is on disk.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import parse_qsl, quote, urlencode, urlsplit, urlunsplit

from discreet.errors import Incompatible, InvalidParameter, LedgerUnavailable
from discreet.ledger.connections import shared
from discreet.ledger.entry import COLUMNS, Entry
from discreet.ledger.store import Writer

PATIENCE = 60
"""Seconds to wait for other writers."""

_TEXT = [f"{name} TEXT" for name in COLUMNS if name not in ("seq", "id", "pid", "hash")]
_SCHEMA = f"""
CREATE TABLE IF NOT EXISTS discreet_datasets (name TEXT PRIMARY KEY);
CREATE TABLE IF NOT EXISTS discreet_entries (
    dataset TEXT NOT NULL REFERENCES discreet_datasets, seq BIGINT NOT NULL,
    id TEXT NOT NULL UNIQUE, pid BIGINT, hash TEXT NOT NULL UNIQUE,
    {", ".join(_TEXT)}, PRIMARY KEY (dataset, seq)
);
CREATE UNIQUE INDEX IF NOT EXISTS discreet_settled_once
    ON discreet_entries (of) WHERE of IS NOT NULL;
CREATE INDEX IF NOT EXISTS discreet_by_kind ON discreet_entries (dataset, kind);
CREATE OR REPLACE FUNCTION discreet_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'INSERT' THEN
        IF NEW.seq = (SELECT COALESCE(MAX(seq), -1) + 1 FROM discreet_entries
                      WHERE dataset = NEW.dataset) THEN RETURN NEW; END IF;
    END IF;
    RAISE EXCEPTION 'entries of a ledger are only appended';
END $$;
CREATE OR REPLACE TRIGGER discreet_append BEFORE INSERT OR UPDATE OR DELETE ON discreet_entries
    FOR EACH ROW EXECUTE FUNCTION discreet_append_only();
CREATE OR REPLACE TRIGGER discreet_keep BEFORE TRUNCATE ON discreet_entries
    FOR EACH STATEMENT EXECUTE FUNCTION discreet_append_only();
"""
_LOCK = 0x64736C64  # of those who make the tables
_SELECT = f"SELECT {', '.join(COLUMNS)} FROM discreet_entries WHERE dataset = %s"
_INSERT = (
    f"INSERT INTO discreet_entries (dataset, {', '.join(COLUMNS)}) "
    f"VALUES ({', '.join(['%s'] * (len(COLUMNS) + 1))})"
)


def with_dataset(address: str, name: str) -> str:
    """Return the address with the name of a data set, unless it names one already.

    >>> with_dataset("postgresql://host/db", "trial 7")
    'postgresql://host/db?dataset=trial+7'
    """
    parts = urlsplit(address)
    if "dataset" in dict(parse_qsl(parts.query)):
        return address
    query = urlencode([*parse_qsl(parts.query), ("dataset", name)])
    return urlunsplit(parts._replace(query=query))


class PostgresStore:
    """A ledger's entries in a database."""

    def __init__(self, address: str) -> None:
        parts = urlsplit(address)
        query = dict(parse_qsl(parts.query))
        self.dataset = query.pop("dataset", "")
        if not self.dataset:
            raise InvalidParameter(
                "The address names no data set. Write postgresql://host/database?dataset=NAME."
            )
        if parts.password is not None or "password" in query:
            # privacy: the address goes into pickles of models and into other processes.
            raise InvalidParameter(
                "The address holds a password, which would be kept in every copy of it. Put the "
                "password into ~/.pgpass or PGPASSWORD."
            )
        self._server = urlunsplit(parts._replace(query=urlencode(query, quote_via=quote)))
        whole = urlencode([*sorted(query.items()), ("dataset", self.dataset)])
        self.address = urlunsplit(parts._replace(query=whole))

    def create(self, first: Entry) -> None:
        """Begin a new ledger; one that exists is refused."""
        with self._refusals_in_words(), self._transaction() as cursor:
            cursor.execute("SELECT pg_advisory_xact_lock(%s)", (_LOCK,))
            cursor.execute(_SCHEMA)
            cursor.execute(
                "INSERT INTO discreet_datasets VALUES (%s) ON CONFLICT DO NOTHING", (self.dataset,)
            )
            if cursor.rowcount == 0:
                raise InvalidParameter(
                    f"The database holds a ledger of {self.dataset} already. Open it with "
                    "Ledger.open: a second one of the same data would be a second budget."
                )
            PostgresWriter(cursor, self.dataset).append(first)

    @contextmanager
    def reading(self) -> Iterator[PostgresWriter]:
        """Return the entries as they are now."""
        with self._refusals_in_words(), self._transaction() as cursor:
            # One moment for all that is read in the block.
            cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
            self._find(cursor, "")
            yield PostgresWriter(cursor, self.dataset)

    @contextmanager
    def writing(self) -> Iterator[PostgresWriter]:
        """Hold the data set's only right to write until the end of the block."""
        with self._refusals_in_words(), self._transaction() as cursor:
            # privacy: a reservation that a crash takes back would be spent twice.
            cursor.execute("SET LOCAL synchronous_commit = on")
            self._find(cursor, "FOR UPDATE")
            yield PostgresWriter(cursor, self.dataset)

    def _find(self, cursor: Any, lock: str) -> None:
        cursor.execute("SELECT to_regclass('discreet_datasets') IS NOT NULL")
        found = cursor.fetchone()[0]
        if found:
            query = f"SELECT name FROM discreet_datasets WHERE name = %s {lock}"
            found = cursor.execute(query, (self.dataset,)).fetchone()
        if not found:
            raise InvalidParameter(
                f"There is no ledger of {self.dataset} in that database. Make one with "
                "Ledger.create."
            )

    @contextmanager
    def _transaction(self) -> Iterator[Any]:
        held = shared(self._server)
        with held.lock:
            if held.connection is None or not _answers(held.connection):
                held.close()
                held.connection = self._connected()
            try:
                with held.connection.transaction(), held.connection.cursor() as cursor:
                    yield cursor
            except BaseException:
                if held.connection is not None and held.connection.broken:
                    held.close()
                raise

    def _connected(self) -> Any:
        connection = _psycopg().connect(self._server, autocommit=True, connect_timeout=PATIENCE)
        connection.execute(f"SET lock_timeout = '{PATIENCE}s'")
        return connection

    @contextmanager
    def _refusals_in_words(self) -> Iterator[None]:
        """Say in words why the database could not be used."""
        try:
            yield
        except _psycopg().Error as error:
            raise LedgerUnavailable(
                f"The ledger of {self.dataset} could not be used ({type(error).__name__}), so "
                "nothing may be spent. Check that the database can be reached and written."
            ) from None


class PostgresWriter(Writer):
    """A transaction on one data set."""

    def __init__(self, cursor: Any, dataset: str) -> None:
        self.cursor, self.dataset = cursor, dataset

    def append(self, entry: Entry) -> None:
        self.cursor.execute(_INSERT, (self.dataset, *entry.row()))

    def _read(self, condition: str, order: str, *values: Any) -> list[Entry]:
        query = f"{_SELECT} AND {condition} ORDER BY {order}".replace("?", "%s")
        self.cursor.execute(query, (self.dataset, *values))
        return [Entry.from_row(row) for row in self.cursor.fetchall()]


def _answers(connection: Any) -> bool:
    """Return whether the server is still there."""
    try:
        connection.execute("SELECT 1")
    except _psycopg().Error:
        return False
    return True


def _psycopg() -> Any:
    try:
        import psycopg
    except ImportError:
        raise Incompatible(
            "Ledgers in PostgreSQL need psycopg. Install it with: "
            "pip install 'psycopg[binary]>=3.1'"
        ) from None
    return psycopg
