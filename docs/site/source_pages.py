"""Pages that show the source, so that a proof leads to the line of code and to its test.

A reference such as ``src/discreet/bounds.py::Bounds`` in the text of a page, or a link to a
source file, becomes a link to the file's page on the site, at the line of the definition.
"""

from __future__ import annotations

import ast
import html
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from docutils import nodes
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import PythonLexer
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.transforms.post_transforms import SphinxPostTransform

ROOT = Path(__file__).parents[2]
REFERENCE = re.compile(r"((?:src|tests|benchmarks|examples)/[\w/]+\.py)(?:::([\w.]+))?")


@cache
def lines_of(file: str) -> dict[str, int]:
    """Return the line of every function and class of a file."""
    found: dict[str, int] = {}

    def visit(node: ast.AST, prefix: str) -> None:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                found[prefix + child.name] = child.lineno
                visit(child, f"{prefix}{child.name}.")

    visit(ast.parse((ROOT / file).read_text(encoding="utf-8")), "")
    return found


class SourceLinks(SphinxPostTransform):
    """Turn references to source files into links to their pages."""

    default_priority = 5  # before links to files become downloads

    def run(self, **kwargs: Any) -> None:
        """Replace every reference of one page."""
        for node in list(self.document.findall(addnodes.download_reference)):
            target = (ROOT / "docs" / self.env.docname).parent / node["reftarget"].lstrip("/")
            file = Path(target).resolve()
            if file.suffix == ".py" and file.is_relative_to(ROOT):
                name = node.astext().split("(")[0]
                node.replace_self(self._link(str(file.relative_to(ROOT)), name, node.children))
        for node in list(self.document.findall(nodes.literal)):
            found = REFERENCE.fullmatch(node.astext())
            inside = isinstance(node.parent, nodes.reference)
            if found and not inside and (ROOT / found[1]).exists():
                shown = nodes.literal("", found[2] or found[1])
                node.replace_self(self._link(found[1], found[2] or "", [shown]))

    def _link(self, file: str, name: str, children: list[nodes.Node]) -> nodes.reference:
        used = self.env.__dict__.setdefault("discreet_source_files", set())
        used.add(file)
        uri = self.app.builder.get_relative_uri(self.env.docname, f"source/{file[:-3]}")
        line = lines_of(file).get(name)
        anchor = f"#line-{line}" if line else ""
        link = nodes.reference("", "", internal=True, refuri=uri + anchor, reftitle=file)
        link += [child.deepcopy() for child in children]
        return link


def pages(app: Sphinx) -> Iterator[tuple[str, dict[str, Any], str]]:
    """Yield a page for every source file that a page refers to."""
    formatter = HtmlFormatter(linenos="inline", lineanchors="line", wrapcode=True)
    for file in sorted(app.env.__dict__.get("discreet_source_files", set())):
        code = highlight((ROOT / file).read_text(encoding="utf-8"), PythonLexer(), formatter)
        title = html.escape(file)
        body = f"<h1>{title}</h1>\n{code}"
        yield f"source/{file[:-3]}", {"title": title, "body": body}, "page.html"


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx."""
    app.add_post_transform(SourceLinks)
    app.connect("html-collect-pages", pages)
    return {"parallel_read_safe": True, "parallel_write_safe": False}
