"""The site lists every public name and every page, and leads from a proof to the line of code."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest

import discreet

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"


def entries(page: str, directive: str) -> set[str]:
    """Return the lines of all blocks of one directive on a page."""
    text = (DOCS / page).read_text()
    blocks = re.findall(rf"{directive}\n(?:[ :].*\n)*\n((?: *[\w./-]+\n)+)", text)
    return {line.strip() for block in blocks for line in block.splitlines()}


def test_the_reference_lists_every_public_name() -> None:
    assert entries("reference/api.md", r"\.\. autosummary::") == set(discreet.__all__)


def test_the_index_lists_every_page() -> None:
    pages = {str(p.relative_to(DOCS))[:-3] for p in DOCS.glob("*.md")} - {"index"}
    pages |= {f"tutorials/{p.stem}" for p in (DOCS / "tutorials").glob("*.md")}
    pages |= {f"reference/{p.stem}" for p in (DOCS / "reference").glob("*.md")}
    listed = entries("index.md", r"```\{toctree\}")
    assert pages <= listed
    assert all((DOCS / f"{name}.md").exists() for name in listed)


def test_a_definition_is_found_at_its_line() -> None:
    pytest.importorskip("sphinx")
    lines_of = runpy.run_path(str(DOCS / "site" / "source_pages.py"))["lines_of"]
    file = "src/discreet/accounting/guarantee.py"
    line = (ROOT / file).read_text().splitlines()[lines_of(file)["Guarantee.compose"] - 1]
    assert line.strip().startswith("def compose(")


MAKE = runpy.run_path(str(DOCS / "tutorials" / "make.py"))


@pytest.mark.parametrize("name", MAKE["names"]())
def test_a_tutorial_shows_the_code_that_was_run(name: str) -> None:
    page = (DOCS / "tutorials" / f"{name}.md").read_text()
    script = (DOCS / "tutorials" / f"{name}.py").read_text()
    for kind, text in MAKE["cells"](script):
        assert (f"```python\n{text}\n```" if kind == "python" else text) in page
    assert "```text" in page
    assert all((DOCS / "tutorials" / p).exists() for p in re.findall(r"\((images/[^)]*)\)", page))
