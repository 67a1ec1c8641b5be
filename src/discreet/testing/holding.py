"""How a law says that it is broken."""

from __future__ import annotations

from typing import Any

import numpy as np


def hold(truth: Any, sentence: str) -> None:
    """Raise AssertionError with the sentence unless everything in ``truth`` is true.

    >>> hold([True, False], "a loss is what it is")
    Traceback (most recent call last):
    AssertionError: a loss is what it is
    """
    if not np.all(truth):
        raise AssertionError(sentence)


def is_value(part: Any) -> None:
    """The part has a name, and is a frozen value that can be hashed and compared."""
    hold(isinstance(part.name, str) and part.name, "name is a text that is not empty")
    hold(part == part and hash(part) == hash(part), "a part is equal to itself and has a hash")
    try:
        part.anything = 1
    except AttributeError:
        return
    raise AssertionError("a part is frozen, as @dataclass(frozen=True) makes it")
