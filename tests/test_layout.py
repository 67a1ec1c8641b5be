"""The rooms of the house: who may import from whom, read off the import lines."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import discreet
from discreet.losses import LOSSES
from discreet.regularizers import REGULARIZERS
from discreet.sets import SETS

SOURCE = Path(discreet.__file__).parent

ROOMS = (
    "errors",
    "tuned",
    "checks",
    "bounds",
    "parts",
    "files",
    "style",
    "schema",
    "accounting",
    "ledger",
    "losses",
    "sets",
    "regularizers",
    "noise",
    "data",
    "problem",
    "solvers",
    "mechanisms",
    "algorithms",
    "testing",
    "adaptive",
    "defaults",
    "inference",
    "lab",
    "local",
    "estimators",
    "preprocessing",
    "report",
    "auditing",
    "evaluation",
    "rehearsal",
    "tuning",
    "cli",
)
"""From the ground up: a room imports from itself and from rooms named before it."""

FAMILIES = ("gradient", "sampling", "perturbation", "frank_wolfe", "support", "stream")
"""Families of algorithms, in the same way."""

FILES = [p for p in sorted(SOURCE.rglob("*.py")) if p.parent != SOURCE or p.stem in ROOMS]


@cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


def module(path: Path) -> tuple[str, ...]:
    """Return the parts of a file's module name below the package."""
    parts = path.relative_to(SOURCE).with_suffix("").parts
    return parts[:-1] if parts[-1] == "__init__" else parts


@cache
def imported(path: Path, *, at_once: bool = False) -> list[tuple[str, ...]]:
    """Return the modules of the package that a file imports (at once), as parts of their names."""
    return list(_imported(parsed(path), at_once))


def _imported(tree: ast.Module, at_once: bool) -> Iterator[tuple[str, ...]]:
    for node in tree.body if at_once else ast.walk(tree):
        found = [a.name for a in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports name the module in full"
            found = [f"{node.module}.{a.name}" for a in node.names]
            found = [f if _is_module(f) else str(node.module) for f in found]
        yield from (tuple(f.split(".")[1:]) for f in found if f.startswith("discreet."))


@cache
def _is_module(name: str) -> bool:
    path = SOURCE.parent.joinpath(*name.split("."))
    return path.with_suffix(".py").exists() or path.is_dir()


def test_every_folder_and_file_at_the_top_is_a_room() -> None:
    found = [p for p in SOURCE.iterdir() if p.suffix == ".py" or (p / "__init__.py").exists()]
    entries = {p.stem for p in found}
    assert entries - {"__init__", "__main__"} == set(ROOMS)


def test_a_file_imports_from_its_own_room_and_rooms_below() -> None:
    upward = [
        (".".join(module(path)), ".".join(target))
        for path in FILES
        for target in imported(path)
        if ROOMS.index(target[0]) > ROOMS.index(module(path)[0])
    ]
    assert upward == []


def test_a_family_of_algorithms_is_entered_by_its_door() -> None:
    inner = []
    for path in FILES:
        own = module(path)[1] if module(path)[0] == "algorithms" and module(path)[1:] else None
        for target in imported(path):
            if target[0] != "algorithms" or target[1:2] in ((), (own,), ("purification",)):
                continue
            by_door = len(target) == 2 or target[1:] == ("sampling", "laws")
            below = own not in FAMILIES or FAMILIES.index(target[1]) < FAMILIES.index(own)
            if not (by_door and below):
                inner.append((".".join(module(path)), ".".join(target)))
    assert inner == []


def test_a_folder_of_data_is_entered_by_its_door() -> None:
    inner = [
        (".".join(module(path)), ".".join(target))
        for path in FILES
        for target in imported(path)
        if target[0] == "data" and len(target) == 3 and target[:2] != module(path)[:2]
    ]
    assert inner == []


def test_no_two_files_of_the_tree_have_one_name() -> None:
    names = [module(p)[-1] for p in FILES if p.stem not in ("__init__", "base")]
    # A model, a verb of the command line and a check may share a name with what they are about.
    spoken = {p.stem for p in (SOURCE / "cli").rglob("*.py")}
    twice = {n for n in names if names.count(n) > 1} - spoken
    assert twice == set(), "give the new file another name"


def test_no_cycle_of_imports() -> None:
    edges = {module(p): set(imported(p, at_once=True)) for p in FILES}
    done: set[tuple[str, ...]] = set()

    def visit(node: tuple[str, ...], above: tuple[tuple[str, ...], ...]) -> None:
        assert node not in above, f"cycle: {[*above, node]}"
        if node in done:
            return
        for target in edges.get(node, ()):
            visit(target, (*above, node))
        done.add(node)

    for node in edges:
        visit(node, ())


def test_no_code_asks_for_a_particular_part() -> None:
    """Facts are asked for instead, so that parts of others are served alike; see Part."""
    tables = (LOSSES, SETS, REGULARIZERS)
    parts = {type(part).__name__ for table in tables for part in table.own} | {"Clipped"}
    asked = [
        (".".join(module(path)), name.id)
        for path in FILES
        for call in ast.walk(parsed(path))
        if isinstance(call, ast.Call) and getattr(call.func, "id", "") in ("isinstance", "type")
        for name in ast.walk(call)
        if isinstance(name, ast.Name) and name.id in parts
    ]
    # A set may know its own kind.
    assert asked == [("sets.box", "Box"), ("sets.intersection", "Intersection")]
