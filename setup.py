"""The description on a package index: the README without links that lead nowhere there."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

HERE = Path(__file__).parent
LINK = re.compile(r"(!?)\[([^]]*)\]\((?!https?:)([^)]*)\)")


def description(source: str | None) -> str:
    """Return the README with its relative links below ``source``, or as words without links."""

    def linked(found: re.Match[str]) -> str:
        image, words, target = found.groups()
        if source is None:
            return "" if image else words
        return f"{image}[{words}]({source.rstrip('/')}/{target})"

    return LINK.sub(linked, (HERE / "README.md").read_text(encoding="utf-8"))


if __name__ == "__main__":
    from setuptools import setup

    project = tomllib.loads((HERE / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    setup(
        # Relative links are taken below the URL named "Files", where a project declares one.
        long_description=description(project.get("urls", {}).get("Files")),
        long_description_content_type="text/markdown",
    )
