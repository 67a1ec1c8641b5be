"""Names use the words of the field, so that people can search for them."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import discreet

SOURCE = Path(discreet.__file__).parent

AVOIDED = {
    "promis": "say guarantee for privacy, bound for errors, claim for what is written down",
    "seal": "say checksum or hash, and whether randomness is secure",
    "cautious": "say conservative",
    "drown": "say how noise compares with the signal",
    "looks?(?![a-z])": "say sum, evaluate or extrapolate",
    "ridged": "say regularised",
    "chosen_": "say what is chosen, or by what rule",
    "descended": "say gradient",
    "borne": "say that an event covers a claim",
    "heard": "say what was measured",
    "least_within": "say what is minimised, over which set",
    "settle": "say decide, converge or draw; a ledger settles a reservation, as a payment is",
    "walk": "say iterate; a random walk may be called one",
}
"""Parts of names that stopped readers, and what to say instead."""

MEANT = {
    "settle": ("ledger/", "estimators/accuracy_first.py"),
    "walk": ("algorithms/sampling/",),
}
"""Where a word is that of the field."""


def names(tree: ast.AST) -> Iterator[str]:
    """Yield the names that a file gives and uses."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.alias):
            yield node.name
        elif isinstance(node, ast.Name):
            yield node.id
        elif isinstance(node, ast.Attribute):
            yield node.attr
        elif isinstance(node, ast.arg):
            yield node.arg


GIVEN = {
    str(path.relative_to(SOURCE)): {*names(ast.parse(path.read_text())), path.stem}
    for path in sorted(SOURCE.rglob("*.py"))
}


@pytest.mark.parametrize("word", AVOIDED)
def test_no_name_has_a_word_that_stops_readers(word: str) -> None:
    # The parts of a name: ConservativeLook and conservative_look alike.
    part = re.compile(rf"(?<![a-z]){word}")
    found = [
        (path, name)
        for path, given in GIVEN.items()
        if not path.startswith(MEANT.get(word, ()))
        for name in given
        if part.search(re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower())
    ]
    assert found == [], AVOIDED[word]
