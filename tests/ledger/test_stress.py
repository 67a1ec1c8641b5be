"""Kills and races on a file: nothing is lost, and the cap holds."""

from stress import PRICE, check, kill, race

from discreet import Ledger


def test_sixteen_processes_spend_a_budget_exactly_once(tmp_path):
    ledger = Ledger.create(tmp_path / "x", dataset="d", epsilon=100 * PRICE, delta=0.0)
    promised = race(ledger, tmp_path / "log")
    assert len(promised) == 100
    check(ledger, promised)


def test_processes_that_are_killed_lose_no_reservation(tmp_path):
    ledger = Ledger.create(tmp_path / "x", dataset="d", epsilon=1.0, delta=0.0)
    assert kill(ledger, tmp_path / "log", 30) >= 30
    promised = (tmp_path / "log").read_text().split()
    assert promised
    check(ledger, promised)
