"""Text from files, made safe to print."""

from __future__ import annotations

import pytest

from discreet.files.plain_text import printable


@pytest.mark.parametrize(
    "sign",
    ["\x1b", "\x07", "\r", "\n", "\x00", "\x7f", "\x9b", "\u202e", "\u2066", "\u200b", "\ud800"],
)
def test_what_a_terminal_obeys_is_written_out(sign: str) -> None:
    shown = printable(f"a{sign}b")
    assert sign not in shown
    assert shown.isprintable()
    assert shown.startswith("a\\")


def test_words_and_kept_signs_stay() -> None:
    assert printable("Größe in m² 身長") == "Größe in m² 身長"
    assert printable("one\ntwo", keep="\n") == "one\ntwo"
