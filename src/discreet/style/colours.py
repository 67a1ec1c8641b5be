"""Colours of pages and pictures.

The colours of series are those of Okabe and Ito, which people with any common
colour vision tell apart. Text and lines have the contrast that WCAG 2.2 asks for,
4.5 and 3; ``tests/style`` measures it.
"""

from __future__ import annotations

BLUE, ORANGE, GREEN = "#0072b2", "#d55e00", "#009e73"
PURPLE, AMBER, SKY = "#cc79a7", "#e69f00", "#56b4e9"

SERIES = (BLUE, ORANGE, GREEN, PURPLE, AMBER, SKY)
"""Colours of curves in pictures, in the order they are used."""

INK, SOFT, QUIET, LINE = "#1d2733", "#55616e", "#77828e", "#dde3e9"
"""Of text, of notes, of lines to compare with, and of rules and grids."""

LIGHT = {
    "page": "#ffffff",
    "panel": "#f5f7f9",
    "ink": INK,
    "soft": SOFT,
    "line": LINE,
    "rest": "#e3e9ef",
    "first": BLUE,
    "second": "#3f94c9",
    "other": "#b94b00",
    "link": "#00609a",
    "met": "#00694d",
    "open": "#a34100",
}
"""Colours of a page by the names that the stylesheet has for them."""

DARK = {
    "page": "#12181f",
    "panel": "#1a222b",
    "ink": "#e8edf2",
    "soft": "#a3afbb",
    "line": "#303c49",
    "rest": "#2b3744",
    "first": "#5fb4ea",
    "second": "#2e83bb",
    "other": "#ff9a52",
    "link": "#7cc4f2",
    "met": "#4fcfa6",
    "open": "#ffab70",
}
"""The same at night."""


def contrast(one: str, other: str) -> float:
    """Return how strongly two colours contrast, by the rule of WCAG 2.2: from 1 to 21.

    >>> round(contrast("#000000", "#ffffff"), 6), contrast(BLUE, BLUE)
    (21.0, 1.0)
    """
    low, high = sorted((_luminance(one), _luminance(other)))
    return (high + 0.05) / (low + 0.05)


def _luminance(colour: str) -> float:
    parts = [int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
