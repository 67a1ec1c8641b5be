"""The HTML statement: complete, escaped, and free of scripts."""

import re
from html.parser import HTMLParser

import pytest

from discreet import Guarantee, Ledger
from discreet.accounting import Pure
from discreet.ledger.statement import statement


def pure(epsilon):
    return Guarantee(
        epsilon=epsilon, delta=0.0, neighbours="zero-out", event=Pure(epsilon), theorem="t"
    )


class Tags(HTMLParser):
    """Every tag is closed, and none may run or fetch anything."""

    def __init__(self):
        super().__init__()
        self.open, self.seen, self.attributes, self.text = [], set(), [], []

    def handle_starttag(self, tag, attributes):
        self.seen.add(tag)
        self.attributes += attributes
        if tag != "meta":
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.seen.add(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


@pytest.fixture
def ledger(tmp_path):
    name = "trial <7> & 'co'"
    return Ledger.create(tmp_path / "x.ledger", dataset=name, epsilon=1.0, delta=1e-6)


def read(page):
    tags = Tags()
    tags.feed(page)
    assert tags.open == []
    return tags


def test_the_page_is_whole_and_runs_nothing(ledger):
    with ledger.spending(pure(0.25), model="<script>alert('x')</script>", algorithm="a&b"):
        pass
    tags = read(statement(ledger))
    assert not tags.seen & {"script", "img", "link", "iframe", "object"}
    assert not [name for name, _ in tags.attributes if name.startswith("on") or name == "href"]
    text = "".join(tags.text)
    for said in ("trial <7> & 'co'", "<script>alert('x')</script>", "a&b", "epsilon 0.25"):
        assert said in text
    assert ledger.verify() in text
    assert "http" not in "".join(str(value) for _, value in tags.attributes)


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
