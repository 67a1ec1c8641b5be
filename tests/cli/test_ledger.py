"""``discreet ledger``, and fits that are counted."""

import pytest

from discreet import Ledger

CREATE = "ledger create trial.ledger --dataset trial --epsilon 2 --delta 1e-6"


@pytest.fixture
def ledger(folder, run):
    code, out, _ = run(CREATE)
    assert code == 0
    assert "at most epsilon = 2, delta = 1e-06" in out
    return Ledger.open("trial.ledger")


def test_a_ledger_is_shown_and_closed(ledger, run):
    code, out, _ = run("ledger show trial.ledger --fit 0.5 --fit-delta 0")
    assert code == 0
    assert "a fit of epsilon = 0.5, delta = 0 fits 4 more times" in out
    assert ledger.verify() in out
    assert run("ledger history trial.ledger")[1] == "nothing was released\n"
    assert run("ledger close trial.ledger")[0] == 0
    assert "closed: nothing more" in run("ledger show trial.ledger")[1]


def test_a_statement_is_written(ledger, run, folder):
    code, _, err = run("ledger statement trial.ledger --out page.html --fit 0.5")
    assert (code, err) == (0, "statement written to page.html\n")
    assert "<title>Privacy statement: trial</title>" in (folder / "page.html").read_text()
    code, _, err = run("ledger statement trial.ledger --out trial.ledger")
    assert code == 1
    assert "named twice" in err
    ledger.verify()


def test_what_is_wrong_is_said(ledger, run):
    for line, said in [
        (CREATE, "second budget"),
        ("ledger show other.ledger", "no ledger at"),
        ("ledger show schema.toml", "not a ledger"),
        ("ledger show trial.ledger --fit -1", "epsilon"),
    ]:
        code, _, err = run(line)
        assert code == 1
        assert said in err
    assert run("ledger create x --dataset d --epsilon 1 --delta 0 --policy pld")[0] == 2
