"""What tests of several rooms share."""

from html.parser import HTMLParser

import pytest


class Page(HTMLParser):
    """A page as a browser takes it: tags, attributes and text."""

    _ALONE = ("meta", "br")

    def __init__(self):
        super().__init__()
        self.open, self.seen, self.attributes, self.words = [], set(), [], []

    def handle_starttag(self, tag, attributes):
        self.seen.add(tag)
        self.attributes += attributes
        if tag not in self._ALONE:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.seen.add(tag)
        self.attributes += attributes

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open[-1:] != ["style"]:
            self.words.append(data)

    @property
    def text(self):
        return "".join(self.words)

    def values(self, name):
        return [value for attribute, value in self.attributes if attribute == name]


@pytest.fixture(scope="session")
def read_page():
    """Return what reads a page and checks that it is whole, runs nothing and loads nothing."""

    def read(html):
        page = Page()
        page.feed(html)
        assert page.open == []
        assert not page.seen & {"script", "img", "link", "iframe", "object", "embed", "base"}
        names = [name for name, _ in page.attributes]
        assert not [name for name in names if name.startswith("on")]
        assert not {"src", "srcset", "action", "style"} & set(names)
        # Sections are linked to by their names, so every name stands once.
        ids = page.values("id")
        assert len(ids) == len(set(ids))
        assert {v[1:] for v in page.values("href") if v.startswith("#")} <= set(ids)
        return page

    return read
