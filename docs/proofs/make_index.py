"""Write ``index.md``: the map from each theorem to the code that enforces it and its tests.

Run it as ``make docs-map``. Everything is read from the pages beside this file.
"""

from __future__ import annotations

import re
from pathlib import Path

from discreet.accounting.theorems import THEOREMS

HERE = Path(__file__).parent
REFERENCE = re.compile(r"`((?:src|tests)/[\w/]+\.py)::([\w.]+)`")

HEAD = (
    "# Proofs\n"
    "\n"
    "`Guarantee.theorem` names what a guarantee rests on, and prints the pages below. Each "
    "page has the statement, every assumption with the function that enforces it, the proof "
    "for every relation, what finite precision changes, the tests that check it by other "
    "means, and the source.\n"
    "\n"
    "Notation of all pages: `D` and `D'` are neighbours, `P` and `Q` the laws of what is "
    "released on them, `H_e(P, Q) = sup over S of P[S] - exp(e) Q[S]` the hockey-stick "
    'divergence, and "(epsilon, delta)-private" means `H_epsilon(P, Q) <= delta` for every '
    "pair of neighbours in both orders. `dG(e, m) = Phi(m/2 - e/m) - exp(e) Phi(-m/2 - e/m)` "
    "is that divergence of `N(m, 1)` from `N(0, 1)`. Statements without a named relation hold"
    " for all relations.\n"
    "\n"
    "This table is made by `make docs-map` from the pages.\n"
    "\n"
    "| theorem | enforced by | checked by |\n"
    "|---|---|---|\n"
)


TAIL = """
```{toctree}
:hidden:
:glob:

*
*/*
```
"""


def references(text: str, folder: str) -> list[tuple[str, str]]:
    """Return the functions in files of a folder that a page names, each once."""
    found = dict.fromkeys(REFERENCE.findall(text))
    return [(file, name) for file, name in found if file.startswith(folder)]


def _cell(name: str, text: str, folder: str) -> str:
    up = "../../"
    listed = [f'[`{item}`]({up}{file} "{file}")' for file, item in references(text, folder)]
    return ", ".join(listed)


def index() -> str:
    """Return the text of the map."""
    lines = []
    for name in THEOREMS:
        text = (HERE / f"{name}.md").read_text()
        title = f"[{name}]({name}.md): {THEOREMS[name]}"
        lines.append(f"| {title} | {_cell(name, text, 'src')} | {_cell(name, text, 'tests')} |\n")
    return HEAD + "".join(lines) + TAIL


if __name__ == "__main__":
    (HERE / "index.md").write_text(index())
