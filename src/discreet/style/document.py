"""Pages of HTML that run nothing and fetch nothing.

Text is escaped here and nowhere else: what a caller passes as *text* may hold
anything, what it passes as *html* was made by these functions.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from discreet.files.plain_text import printable
from discreet.style.stylesheet import STYLESHEET

_POLICY = "default-src 'none'; style-src 'unsafe-inline'"
"""What a browser may load for a page: its own stylesheet, and nothing else."""


def text(words: object) -> str:
    """Return text of any origin as HTML.

    >>> text("<b> & 'co'")
    '&lt;b&gt; &amp; &#x27;co&#x27;'
    """
    # Marks of direction would show a name in another order than it is written in.
    return escape(printable(str(words), keep="\n"))


def anchor(title: str) -> str:
    """Return the identifier of a section by its title.

    >>> anchor("What is guaranteed?")
    'what-is-guaranteed'
    """
    kept = "".join(c if c.isascii() and c.isalnum() else " " for c in title.lower())
    return "-".join(kept.split())


def section(title: str, *html: str, level: int = 2) -> str:
    """Return a section with a heading; of level 3 inside another section."""
    name = anchor(title)
    body = "\n".join(html)
    return (
        f"<section aria-labelledby='{name}'>\n<h{level} id='{name}'>{text(title)}</h{level}>\n"
        f"{body}\n</section>"
    )


def note(words: str) -> str:
    """Return a paragraph of small print."""
    return f"<p class='note'>{text(words)}</p>"


def bullets(items: Iterable[str]) -> str:
    """Return a list of texts.

    >>> bullets(["a", "b < c"])
    '<ul><li>a</li><li>b &lt; c</li></ul>'
    """
    return f"<ul>{''.join(f'<li>{text(item)}</li>' for item in items)}</ul>"


def facts(pairs: Iterable[tuple[str, str]]) -> str:
    """Return names and values, one pair to a line.

    >>> facts([("rows", "100")])
    "<dl class='facts'><dt>rows</dt><dd>100</dd></dl>"
    """
    held = "".join(f"<dt>{text(name)}</dt><dd>{text(value)}</dd>" for name, value in pairs)
    return f"<dl class='facts'>{held}</dl>"


def tiles(triples: Iterable[tuple[str, str, str]]) -> str:
    """Return the few numbers that matter most: name, value and a remark."""
    held = "".join(
        f"<div><dt>{text(name)}</dt><dd>{text(value)} <small>{text(said)}</small></dd></div>"
        for name, value, said in triples
    )
    return f"<dl class='tiles'>{held}</dl>"


def warning(words: Iterable[str]) -> str:
    """Return what must not be overlooked."""
    held = "".join(f"<p>{text(word)}</p>" for word in words)
    return f"<aside class='warning' aria-label='Warning'>{held}</aside>"


def table(
    heads: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    numbers: Sequence[int] = (),
    html: Sequence[int] = (),
    kind: str = "wide",
    caption: str = "",
) -> str:
    """Return a table of texts that scrolls inside itself where a screen is narrow.

    Parameters
    ----------
    heads, rows
        Texts.
    numbers
        Columns that are aligned to the right.
    html
        Columns whose cells were made by functions of this module.
    kind
        ``"wide"``, ``"wide slim"`` for a table no wider than it has to be, or
        ``"stack"`` for one whose cells stand below each other on a phone.
    caption
        What the table is, for those who do not see it.

    Examples
    --------
    >>> table(("a",), [("<1>",)]).split("<tbody>")[1][:29]
    '<tr><td>&lt;1&gt;</td></tr></'
    """
    label = f" aria-label='{text(caption)}'" if caption else ""

    def cells(tag: str, row: Sequence[str]) -> str:
        return "".join(
            f"<{tag}{_class(i, numbers)}>"
            f"{cell if i in html and tag == 'td' else text(cell)}</{tag.split()[0]}>"
            for i, cell in enumerate(row)
        )

    top = cells("th scope='col'", heads)
    body = "".join(f"<tr>{cells('td', row)}</tr>" for row in rows)
    # A region that scrolls has to be reached by the keyboard.
    return (
        f"<div class='{kind}' tabindex='0' role='region'{label}><table><thead><tr>{top}</tr>"
        f"</thead><tbody>{body}</tbody></table></div>"
    )


def document(
    title: str,
    sections: Sequence[str],
    *,
    kind: str = "",
    head: Sequence[str] = (),
    foot: str = "",
    contents: Sequence[str] = (),
) -> str:
    """Return a whole page.

    Parameters
    ----------
    title
        Text of the heading.
    sections
        HTML of the body.
    kind
        What sort of page it is, above the heading.
    head
        HTML below the heading.
    foot
        HTML of the last lines.
    contents
        Titles of sections to link to; none for a short page.

    Examples
    --------
    >>> page = document("A <b>", [section("One", note("1 < 2"))])
    >>> "<title>A &lt;b&gt;</title>" in page, "<script" in page
    (True, False)
    """
    links = "".join(f"<li><a href='#{anchor(t)}'>{text(t)}</a></li>" for t in contents)
    nav = f"<nav aria-label='Contents'><ul>{links}</ul></nav>\n" if contents else ""
    above = f"<p class='kind'>{text(kind)}</p>\n" if kind else ""
    named = f"{kind}: {title}" if kind else title
    below = f"<footer>{foot}</footer>\n" if foot else ""
    return (
        "<!doctype html>\n<html lang='en'>\n<head>\n<meta charset='utf-8'>\n"
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        "<meta name='viewport' content='width=device-width, initial-scale=1'>\n"
        f"<title>{text(named)}</title>\n<style>{STYLESHEET}</style>\n</head>\n<body>\n"
        "<a class='skip' href='#main'>Skip to the text</a>\n"
        f"<header>\n{above}<h1>{text(title)}</h1>\n" + "\n".join(head) + "\n</header>\n"
        f"{nav}<main id='main'>\n" + "\n".join(sections) + f"\n</main>\n{below}</body>\n</html>\n"
    )


def _class(column: int, numbers: Sequence[int]) -> str:
    return " class='n'" if column in numbers else ""
