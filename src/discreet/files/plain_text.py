"""Text from files, made safe to print."""

from __future__ import annotations


def printable(text: str, keep: str = "") -> str:
    r"""Return the text with what a terminal would obey, or hide, written as an escape.

    Control characters move the cursor and rewrite what stands there; marks of
    direction show text in another order than it is read in.

    Parameters
    ----------
    text
        Text of any origin.
    keep
        Characters that are left alone, such as the ends of lines.

    Examples
    --------
    >>> printable("age\x1b[2J\u202e"), printable("Größe")
    ('age\\x1b[2J\\u202e', 'Größe')
    """
    if text.isprintable():
        return text
    return "".join(
        c if c.isprintable() or c in keep else c.encode("unicode_escape").decode("ascii")
        for c in text
    )
