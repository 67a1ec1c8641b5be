"""How pages and pictures look: one style, in light and in dark, for every colour vision."""

from discreet.style.document import (
    anchor,
    bullets,
    document,
    facts,
    note,
    section,
    table,
    text,
    tiles,
    warning,
)

__all__ = [
    "anchor",
    "bullets",
    "document",
    "facts",
    "note",
    "section",
    "table",
    "text",
    "tiles",
    "warning",
]
