"""Names use the words of the field, so that people can search for them."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
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
    "wander": "say random walk",
    "scout": "say initial points",
    "surest": "say posterior bound, or most confident",
    "idle": "say trivial, or at zero",
    "flowing": "say state of a stream",
    "posed": "say which problem: public, declared",
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


FILES = {str(path.relative_to(SOURCE)): path for path in sorted(SOURCE.rglob("*.py"))}


@cache
def given() -> dict[str, set[str]]:
    """Return the names of every file, and its own."""
    return {name: {*names(ast.parse(p.read_text())), p.stem} for name, p in FILES.items()}


@pytest.mark.parametrize("word", AVOIDED)
def test_no_name_has_a_word_that_stops_readers(word: str) -> None:
    # The parts of a name: ConservativeLook and conservative_look alike.
    part = re.compile(rf"(?<![a-z]){word}")
    found = [
        (path, name)
        for path, found in given().items()
        if not path.startswith(MEANT.get(word, ()))
        for name in found
        if part.search(re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower())
    ]
    assert found == [], AVOIDED[word]


@pytest.mark.parametrize("word", ["promis", "cautious", "drown", "borne", "heard", "ridged"])
def test_no_message_docstring_or_comment_has_one_either(word: str) -> None:
    found = [
        (path, line)
        for path, file in FILES.items()
        for line in file.read_text().splitlines()
        if re.search(rf"\b{word}", line, re.IGNORECASE)
    ]
    assert found == [], AVOIDED[word]


TWICE = {
    "Gaussian": "the noise, and the event of a release with it",
    "Laplace": "the noise, and the event of a release with it",
    "ObjectivePerturbation": "the algorithm, and the event of its tilt",
    "Query": "what a test of accuracy asks, and what a server asks of devices",
    "Region": "where weights are drawn, and a part of the axis of defaults",
}
"""Classes that share a name, and why."""


def test_the_name_of_a_class_means_one_thing() -> None:
    found: dict[str, list[str]] = {}
    for path, file in FILES.items():
        for node in ast.parse(file.read_text()).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                found.setdefault(node.name, []).append(path)
    assert {name for name, paths in found.items() if len(paths) > 1} == set(TWICE)
