"""The package says true things about itself: extras, installs, files and links."""

from __future__ import annotations

import re
import runpy
import tomllib
from pathlib import Path

import pytest

import discreet

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXTRAS = PROJECT["optional-dependencies"]
REQUIREMENTS = {r for needed in (PROJECT["dependencies"], *EXTRAS.values()) for r in needed}
SOURCES = sorted((ROOT / "src").rglob("*.py"))
PAGES = [*ROOT.glob("*.md"), *sorted((ROOT / "docs").rglob("*.md"))]

EXTRA = re.compile(r"\bextra (?:named )?`+([\w-]+)`+")
OWN_EXTRAS = re.compile(r"(?:\.|discreet)\[([\w,-]+)\]")
INSTALL = re.compile(r"pip install ((?:--?[\w-]+ )*)(?:'([^']+)'|([\w.\[\]>=<-]+))")


def unpinned(requirement: str) -> str:
    return re.split(r"[\[<>=]", requirement)[0]


def test_an_extra_that_is_named_exists() -> None:
    text = "\n".join(f.read_text() for f in [*SOURCES, *PAGES, ROOT / "Makefile"])
    named = {*EXTRA.findall(text), *(e for es in OWN_EXTRAS.findall(text) for e in es.split(","))}
    assert named <= set(EXTRAS)


def test_a_message_names_an_install_that_works_wherever_the_package_came_from() -> None:
    # The package itself may have come from a folder, so a message names what is missing instead.
    named = [q or b for f in SOURCES for _, q, b in INSTALL.findall(f.read_text())]
    assert set(named) <= REQUIREMENTS


def test_a_page_names_an_install_that_is_declared() -> None:
    named = {q or b for f in PAGES for _, q, b in INSTALL.findall(f.read_text())}
    others = {n for n in named if not OWN_EXTRAS.fullmatch(n)} - {".", "discreet", "pre-commit"}
    assert {unpinned(n) for n in others} <= {unpinned(r) for r in REQUIREMENTS}


def test_there_are_extras_and_installs_to_check() -> None:
    text = "\n".join(f.read_text() for f in [*SOURCES, *PAGES])
    assert len(EXTRA.findall(text)) >= 3
    assert len(INSTALL.findall(text)) >= 4


def test_the_source_distribution_has_every_kind_of_file() -> None:
    manifest = (ROOT / "MANIFEST.in").read_text()
    for line in manifest.splitlines():
        word, *names = line.split()
        if word == "include":
            assert all((ROOT / n).exists() for n in names)
    for folder in ("benchmarks", "docs", "examples", "tests"):
        (kinds,) = re.findall(rf"^recursive-include {folder} (.*)$", manifest, re.MULTILINE)
        found = (p for p in (ROOT / folder).rglob("*") if p.is_file())
        kept = {p.suffix for p in found if p.parent.name != "__pycache__"}
        assert {f"*{k}" for k in kept} <= set(kinds.split())


def test_versions_and_licences_agree() -> None:
    citation = (ROOT / "CITATION.cff").read_text()
    assert PROJECT["version"] == discreet.__version__
    assert f"version: {PROJECT['version']}\n" in citation
    assert f"license: {PROJECT['license']}\n" in citation
    assert f"name: {PROJECT['authors'][0]['name']}\n" in citation


@pytest.mark.parametrize("source", [None, "https://example.org/files/"])
def test_no_link_of_the_description_on_an_index_is_relative(source: str | None) -> None:
    description = runpy.run_path(str(ROOT / "setup.py"))["description"]
    readme = (ROOT / "README.md").read_text()
    text = description(source)
    links = re.findall(r"\]\(([^)]*)\)", text)
    assert all(link.startswith("https://") for link in links)
    assert "What the guarantee says" in text
    if source:
        assert len(links) == len(re.findall(r"\]\(", readme))
        assert "(https://example.org/files/docs/ledger.md)" in text
