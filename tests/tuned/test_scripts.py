"""Every tuned number says what it is and which script chose it, and the script is there."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import discreet.tuned
from discreet.tuned import algorithms, defaults

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
UNKEPT = re.compile(r"no\s+script|script is not kept")


def constants(source: str) -> Iterator[tuple[list[str], str]]:
    """Yield the names of each assignment with its docstring and the comment over its group."""
    lines = source.splitlines()
    body = ast.parse(source).body
    for node, after in zip(body, [*body[1:], None], strict=True):
        if not isinstance(node, ast.Assign):
            continue
        names = [n.id for n in ast.walk(node.targets[0]) if isinstance(n, ast.Name)]
        said = "\n".join(lines[node.lineno - 1 : node.end_lineno])
        if isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant):
            said += str(after.value.value)
        above = [i for i, line in enumerate(lines[: node.lineno - 1]) if line.startswith("#")]
        while above:
            last = above.pop()
            said += lines[last]
            if last - 1 not in above:
                break
        yield names, said


def unknown(source: str) -> list[str]:
    """Return the names of which no script, or a script that is not there, is said."""
    found = []
    for names, said in constants(source):
        scripts = re.findall(r"\b\w+\.py\b", said)
        if any(not (BENCHMARKS / s).exists() for s in scripts) or not (
            scripts or UNKEPT.search(said)
        ):
            found += names
    return found


@pytest.mark.parametrize("module", [defaults, algorithms], ids=lambda m: m.__name__)
def test_every_tuned_number_names_its_script(module: object) -> None:
    assert unknown(Path(str(module.__file__)).read_text()) == []  # type: ignore[attr-defined]


def test_a_number_without_a_script_is_found() -> None:
    assert unknown('"""Doc."""\nA = 1.0\n"""What."""\n') == ["A"]
    assert unknown("# What: never_written.py.\n\nA, B = 1.0, 2.0\n") == ["A", "B"]
    assert unknown("# What: ridge.py.\n\nA, B = 1.0, 2.0\n") == []


def test_a_tuned_number_has_one_name() -> None:
    sources = [Path(str(m.__file__)).read_text() for m in (defaults, algorithms)]
    names = [n for source in sources for found, _ in constants(source) for n in found]
    assert len(names) == len(set(names)) > 60


def test_every_file_of_the_room_is_read() -> None:
    folder = Path(str(discreet.tuned.__file__)).parent
    assert {p.stem for p in folder.glob("*.py")} == {"__init__", "defaults", "algorithms"}


def test_every_tuned_number_is_used() -> None:
    folder = Path(str(discreet.tuned.__file__)).parent
    files = (p for p in folder.parent.rglob("*.py") if p.parent != folder)
    rest = {word for p in files for word in re.findall(r"\w+", p.read_text())}
    sources = [Path(str(m.__file__)).read_text() for m in (defaults, algorithms)]
    names = [n for source in sources for found, _ in constants(source) for n in found]
    assert [n for n in names if n not in rest] == []
