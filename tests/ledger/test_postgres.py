"""A ledger in PostgreSQL; ``make test-postgres`` starts a server for these tests."""

import copy
import multiprocessing
import os
import pickle
import secrets

import pytest
from stress import PRICE, check, kill, noted, race

from discreet import Guarantee, Ledger
from discreet.accounting import Pure
from discreet.errors import (
    BudgetExceeded,
    InvalidData,
    InvalidParameter,
    LedgerUnavailable,
)
from discreet.ledger.postgres import PostgresStore, with_dataset

SERVER = os.environ.get("DISCREET_POSTGRES")
needs_server = pytest.mark.skipif(
    SERVER is None, reason="no PostgreSQL server was named; make test-postgres starts one"
)


def pure(epsilon):
    return Guarantee(
        epsilon=epsilon, delta=0.0, neighbours="zero-out", event=Pure(epsilon), theorem="t"
    )


@pytest.fixture
def name():
    return f"trial {secrets.token_hex(4)}"


def test_an_address_names_a_data_set_and_no_password():
    assert PostgresStore(with_dataset("postgresql://h/d?sslmode=require", "a b")).dataset == "a b"
    with pytest.raises(InvalidParameter, match="names no data set"):
        PostgresStore("postgresql://h/d")
    for address in ("postgresql://me:pw@h/d?dataset=x", "postgresql://h/d?password=pw&dataset=x"):
        with pytest.raises(InvalidParameter, match="password") as error:
            PostgresStore(address)
        assert "pw" not in str(error.value).replace("PGPASSWORD", "")


def test_a_server_that_is_not_there_is_said():
    pytest.importorskip("psycopg")
    with pytest.raises(LedgerUnavailable, match="nothing may be spent"):
        Ledger.open("postgresql://nobody@127.0.0.1:1/none?dataset=x&connect_timeout=2")


@needs_server
def test_a_ledger_is_kept_in_a_database(name):
    ledger = Ledger.create(SERVER, dataset=name, epsilon=1.0, delta=1e-6)
    with pytest.raises(InvalidParameter, match="second budget"):
        Ledger.create(SERVER, dataset=name, epsilon=1.0, delta=1e-6)
    with ledger.spending(pure(0.5), model="ridge"):
        pass
    ledger.void(ledger.reserve(pure(0.25)))
    again = Ledger.open(with_dataset(SERVER, name))
    assert again == ledger == pickle.loads(pickle.dumps(ledger)) == copy.deepcopy(ledger)
    assert [entry.state for entry in again.history()] == ["spent", "void"]
    again.split("position", {"a": 0.5, "b": 0.5})
    again.part("a").reserve(pure(0.5))
    with pytest.raises(BudgetExceeded):
        again.reserve(pure(0.1))
    ledger.verify(again.verify())
    again.close()
    with pytest.raises(BudgetExceeded, match="closed"):
        ledger.reserve(pure(0.1))
    with pytest.raises(InvalidParameter, match="no ledger"):
        Ledger.open(with_dataset(SERVER, f"{name} other"))


@needs_server
def test_entries_in_a_database_are_only_appended(name):
    import psycopg

    ledger = Ledger.create(SERVER, dataset=name, epsilon=1.0, delta=0.0)
    ledger.reserve(pure(0.5))
    with psycopg.connect(SERVER, autocommit=True) as raw:
        for statement in (
            "UPDATE discreet_entries SET basic_eps = '0'",
            "DELETE FROM discreet_entries",
            "TRUNCATE discreet_entries",
            f"INSERT INTO discreet_entries (dataset, seq, id, hash) VALUES ('{name}', 9, 'x', 'y')",
        ):
            with pytest.raises(psycopg.Error, match="only appended"):
                raw.execute(statement)
        raw.execute("ALTER TABLE discreet_entries DISABLE TRIGGER USER")
        raw.execute(
            "UPDATE discreet_entries SET basic_eps = '0' WHERE dataset = %s AND seq = 1", (name,)
        )
        raw.execute("ALTER TABLE discreet_entries ENABLE TRIGGER USER")
    with pytest.raises(InvalidData, match="edited at entry 1"):
        ledger.verify()
    with pytest.raises(InvalidData, match="edited at entry 1"):
        ledger.reserve(pure(0.1))


def _reserve(ledger):
    return ledger.reserve(pure(0.1))


@needs_server
def test_a_fork_and_a_lost_connection_open_a_new_one(name):
    import psycopg

    ledger = Ledger.create(SERVER, dataset=name, epsilon=1.0, delta=0.0)
    _reserve(ledger)
    with multiprocessing.get_context("fork").Pool(2) as pool:
        assert len(set(pool.map(_reserve, [ledger] * 4))) == 4
    _reserve(ledger)
    with psycopg.connect(SERVER, autocommit=True) as raw:
        raw.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() "
            "AND backend_type = 'client backend'"
        )
    _reserve(ledger)
    assert len(ledger.history()) == 7


@needs_server
def test_sixteen_processes_spend_a_budget_in_a_database_exactly_once(name, tmp_path):
    ledger = Ledger.create(SERVER, dataset=name, epsilon=200 * PRICE, delta=0.0)
    promised = race(ledger, tmp_path / "log")
    assert len(promised) == 200
    check(ledger, promised)


@needs_server
def test_killed_processes_lose_no_reservation_in_a_database(name, tmp_path):
    ledger = Ledger.create(SERVER, dataset=name, epsilon=1.0, delta=0.0)
    kill(ledger, tmp_path / "log", 60, longest=0.1)
    promised = noted(tmp_path / "log")
    assert promised
    check(ledger, promised)
