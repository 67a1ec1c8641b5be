"""The HTML statement: complete, escaped, and free of scripts."""

import re

import pytest

from discreet import Guarantee, Ledger
from discreet.accounting import Pure
from discreet.ledger.statement import statement


def pure(epsilon):
    return Guarantee(
        epsilon=epsilon, delta=0.0, neighbours="zero-out", event=Pure(epsilon), theorem="t"
    )


@pytest.fixture
def ledger(tmp_path):
    name = "trial <7> & 'co'"
    return Ledger.create(tmp_path / "x.ledger", dataset=name, epsilon=1.0, delta=1e-6)


def test_the_page_is_whole_and_runs_nothing(ledger, read_page):
    with ledger.spending(pure(0.25), model="<script>alert('x')</script>", algorithm="a&b"):
        pass
    page = read_page(statement(ledger))
    assert all(link.startswith("#") for link in page.values("href"))
    for said in ("trial <7> & 'co'", "<script>alert('x')</script>", "a&b", "epsilon 0.25"):
        assert said in page.text
    assert ledger.verify() in page.text
    assert "http" not in "".join(str(value) for _, value in page.attributes)


def test_the_bar_is_as_long_as_what_is_spent(ledger):
    for _ in range(2):
        with ledger.spending(pure(0.25)):
            pass
    ledger.void(ledger.reserve(pure(0.25)))
    page = statement(ledger)
    widths = [float(w) for w in re.findall(r"<rect class='seg[^>]*width='([\d.]+)'", page)]
    [place] = ledger.balance().accounts
    assert len(widths) == 2
    assert sum(widths) / 960 == pytest.approx(ledger.balance().used(place), abs=1e-4)
    assert ">void<" in page
    assert "Releases (2)" in page


def test_it_tells_how_many_fits_are_left(ledger):
    page = statement(ledger, [(0.125, 0.0)])
    assert re.search(r"<td class='n'>0.125</td><td class='n'>8</td>", page)
    empty = statement(ledger)
    assert "Nothing was released" in empty
    assert "Gaussian noise, delta 1e-06" in empty


def test_parts_and_the_end_are_told(ledger):
    ledger.reserve(pure(0.5))
    ledger.split("position", {"train": 0.8, "test": 0.2})
    ledger.part("train").reserve(pure(0.25))
    ledger.close()
    page = statement(ledger)
    assert "This ledger is closed." in page
    assert page.count("<figure>") == 2
    assert page.count("class='seg") == 3  # the first counts for both parts
