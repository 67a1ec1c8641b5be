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
    "Every name below leads to its line of code. A page writes a test as "
    "`tests/<file>.py::<name>`. To run it, set up the environment by `make .venv/.ready`, then "
    "pass that to `.venv/bin/pytest -n0`. In the code, `# privacy:` marks the lines that a proof "
    "rests on. `make docs-map` makes this list from the pages.\n"
)
ALONE = "Other mechanisms"
TITLES = {"frank-wolfe": "Frank-Wolfe", "inference": "Intervals", "local": "Local privacy"}


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


def _listed(text: str, folder: str) -> str:
    found = references(text, folder)
    return ", ".join(f'[`{item}`](../../{file} "{file}")' for file, item in found)


def _family(name: str) -> str:
    folder = name.rpartition("/")[0]
    return TITLES.get(folder, folder.replace("-", " ").capitalize()) or ALONE


def index() -> str:
    """Return the text of the map."""
    families: dict[str, list[str]] = {}
    for name, statement in THEOREMS.items():
        text = (HERE / f"{name}.md").read_text()
        families.setdefault(_family(name), []).append(
            f"**[{name}]({name}.md)**: {statement}\n\n"
            f"- enforced by {_listed(text, 'src')}\n"
            f"- checked by {_listed(text, 'tests')}\n"
        )
    families[ALONE] = families.pop(ALONE)  # last
    parts = [f"\n## {family}\n\n" + "\n".join(pages) for family, pages in families.items()]
    return HEAD + "".join(parts) + TAIL


if __name__ == "__main__":
    (HERE / "index.md").write_text(index())
