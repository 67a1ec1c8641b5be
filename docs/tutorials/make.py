"""Run the tutorials and write their pages, with everything they print and draw.

``make tutorials`` runs every script beside this file; ``python docs/tutorials/make.py ledger`` runs
one. A script is a sequence of cells. ``# %%`` begins a cell of code and ``# %% [markdown]`` one of
text. The page of ``ledger.py`` is ``ledger.md``; both are kept, so that the site needs no data.

The scripts read public data from the directory that ``DISCREET_DATA`` names, by default
``shared/data`` beside the checkout. ``data.py`` says where each file comes from.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import sys
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
NOT_TUTORIALS = {"make", "data"}


def cells(script: str) -> Iterator[tuple[str, str]]:
    """Yield the kind ("markdown" or "python") and the text of every cell."""
    for part in re.split(r"^# %%", script, flags=re.MULTILINE)[1:]:
        mark, _, body = part.partition("\n")
        if "[markdown]" in mark:
            yield "markdown", re.sub(r"^# ?", "", body.strip(), flags=re.MULTILINE)
        else:
            yield "python", body.strip()


def names() -> list[str]:
    """Return the names of all tutorials."""
    return sorted(p.stem for p in HERE.glob("*.py") if p.stem not in NOT_TUTORIALS)


def _drawn(name: str, count: int) -> list[str]:
    """Save the open figures and return links to them."""
    from matplotlib import pyplot

    links = []
    for number in pyplot.get_fignums():
        file = f"images/{name}-{count + len(links) + 1}.png"
        (HERE / "images").mkdir(exist_ok=True)
        figure = pyplot.figure(number)
        figure.savefig(HERE / file, dpi=120, bbox_inches="tight", metadata={"Software": None})
        title = " ".join(axes.get_title(loc="left") or axes.get_title() for axes in figure.axes)
        links.append(f"![{title.strip() or name}]({file})")
    pyplot.close("all")
    return links


def page(name: str) -> str:
    """Run a tutorial and return its page."""
    import matplotlib as mpl

    from discreet.style.pictures import style

    mpl.use("Agg")
    sys.path.insert(0, str(HERE))
    held: dict[str, Any] = {"__name__": "__main__"}
    out, pictures = [], 0
    for kind, text in cells((HERE / f"{name}.py").read_text(encoding="utf-8")):
        if kind == "markdown":
            out.append(text)
            continue
        out.append(f"```python\n{text}\n```")
        printed = io.StringIO()
        with (
            contextlib.redirect_stdout(printed),
            warnings.catch_warnings(record=True) as said,
            style(),
        ):
            warnings.simplefilter("always")
            exec(compile(text, f"{name}.py", "exec"), held)
        for warning in said:
            print(f"{type(warning.message).__name__}: {warning.message}", file=printed)
        if printed.getvalue().strip():
            out.append(f"```text\n{printed.getvalue().rstrip()}\n```")
        links = _drawn(name, pictures)
        pictures += len(links)
        out.extend(links)
    out.append(
        f"*This page is what [`{name}.py`]({name}.py) printed and drew. [`data.py`](data.py) says "
        "where its public data comes from. With the files in a folder that `DISCREET_DATA` names, "
        f"`python docs/tutorials/make.py {name}` runs it again.*"
    )
    return "\n\n".join(out) + "\n"


def main(argv: list[str]) -> None:
    """Write the pages of the tutorials named, or of all."""
    os.environ.setdefault("COLUMNS", "90")
    for name in argv or names():
        print(name, flush=True)
        with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
            text = page(name)
        (HERE / f"{name}.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
