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
    page = (folder / "page.html").read_text()
    assert "<title>Privacy statement: What was spent on trial</title>" in page
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


FIT = (
    "fit data.csv --target rich --schema schema.toml --out model.json --force --quiet "
    "--ledger trial.ledger"
)


def test_fits_are_counted_until_the_budget_is_gone(ledger, run, folder):
    for _ in range(2):
        assert run(f"{FIT} --epsilon 0.9 --delta 0")[0] == 0
    assert [entry.state for entry in ledger.history()] == ["spent", "spent"]
    (folder / "model.json").unlink()
    code, _, err = run(f"{FIT} --epsilon 0.9 --delta 0")
    assert code == 1
    assert "BudgetExceeded: The ledger of trial has too little left" in err
    assert not (folder / "model.json").exists()
    assert "trial.ledger" not in str(run("ledger history trial.ledger")[1])


def test_an_accuracy_first_run_pays_what_it_cost(ledger, run):
    line = FIT.replace("fit", "accuracy-first", 1)
    run(f"{line} --max-error 0.4 --metric error-rate --max-epsilon 1.9 --delta 0")
    [entry] = ledger.history()
    assert entry.algorithm.startswith("accuracy-first: noise-reduction")
    [account] = ledger.balance().accounts.values()
    assert account.spent[0] == pytest.approx(entry.stated["epsilon"] * 2**60, rel=1e-9)


def test_what_a_ledger_cannot_count_is_refused_before_rows_are_read(ledger, run, folder):
    for more, said in [("--seed 1", "seeded"), ("", "replace-one")]:
        if not more:
            run("ledger create other --dataset d --epsilon 1 --delta 0 --neighbours replace-one")
        line = FIT if more else FIT.replace("trial.ledger", "other")
        (folder / "data.csv").rename(folder / "away.csv")
        code, _, err = run(f"{line} --epsilon 0.5 --delta 0 {more}")
        (folder / "away.csv").rename(folder / "data.csv")
        assert code == 1
        assert said in err
    run("ledger close trial.ledger")
    assert "closed" in run(f"{FIT} --epsilon 0.5")[2]


def test_blank_rows_are_charged_under_zero_out(ledger, run, folder):
    schema = folder / "schema.toml"
    schema.write_text('missing = "blank"\n' + schema.read_text())
    assert run(f"{FIT} --epsilon 0.5 --delta 0")[0] == 0
    [entry] = ledger.history()
    assert entry.stated["neighbours"] == "zero-out"
    run("ledger create other --dataset d --epsilon 1 --delta 0 --neighbours add-remove")
    code, _, err = run(FIT.replace("trial.ledger", "other") + " --epsilon 0.5 --delta 0")
    assert code == 1
    assert "add-remove" in err
