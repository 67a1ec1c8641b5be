"""What is public is documented in the sections of numpydoc that apply to it."""

from __future__ import annotations

import inspect
from itertools import pairwise
from typing import Any

import pytest

import discreet

PUBLIC = {name: getattr(discreet, name) for name in sorted(discreet.__all__)}
ESTIMATORS = [name for name, part in PUBLIC.items() if hasattr(part, "fit")]
UNPUBLISHED = {"PrivateStandardScaler"}
"""Estimators that follow no paper."""


def sections(part: Any) -> set[str]:
    """Return the headings of a docstring."""
    lines = (inspect.getdoc(part) or "").splitlines()
    return {line for line, rule in pairwise(lines) if line and rule == "-" * len(line)}


@pytest.mark.parametrize("name", ESTIMATORS)
def test_an_estimator_says_what_it_takes_gives_and_rests_on(name: str) -> None:
    needed = {"Parameters", "Attributes", "See Also", "References", "Examples"}
    assert needed - ({"References"} if name in UNPUBLISHED else set()) <= sections(PUBLIC[name])


@pytest.mark.parametrize("name", ESTIMATORS)
def test_a_related_name_is_public(name: str) -> None:
    text = inspect.getdoc(PUBLIC[name]) or ""
    listed = text.split("See Also\n--------\n")[1].split("\n\n")[0]
    related = [word for line in listed.splitlines() for word in line.split(" :")[0].split(", ")]
    assert set(related) <= set(PUBLIC) - {name}


@pytest.mark.parametrize("name", sorted(set(PUBLIC) - set(ESTIMATORS)))
def test_what_is_public_says_what_it_is(name: str) -> None:
    part = PUBLIC[name]
    assert inspect.getdoc(part)
    if not (inspect.isclass(part) and issubclass(part, Warning)):
        assert "Examples" in sections(part) or ">>>" in str(inspect.getdoc(part)), name
