"""Change the source one operator at a time and see whether the tests notice.

    python tests/mutation/run.py [--rooms noise data] [--sample 25] [--seed 1] [--record FILE]

Each mutant changes one operator, constant or call of one file of a room. The tests of the folder
that mirrors the room run against it, those of the file's own name and its docstring first, and the
exact privacy losses of ``tests/privacy``. A mutant that no test notices has survived: its
place, and why it may, stand in ``survivors.md`` beside this file. All of them would take days, so
mutants are drawn in a random order with a fixed seed, ``--sample`` from each room, the rooms in
turn. With ``--record`` each result is appended to a file, and a later run skips those it holds: you
may stop a run at any time, and a larger sample begins with the smaller one.

A mutant lives in the memory of a forked process; no file is written.
"""

from __future__ import annotations

import argparse
import ast
import copy
import importlib.abc
import importlib.util
import itertools
import os
import random
import resource
import sys
from collections.abc import Iterator, Sequence
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "discreet"
ROOMS = ("accounting", "noise", "mechanisms", "data")
PATIENCE = 120
"""Seconds of CPU time after which the tests of a mutant are stopped: most would never end."""

SWAPPED: dict[type, type] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Pow: ast.Mult,
    ast.And: ast.Or,
    ast.Or: ast.And,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
}
RENAMED = {
    "min": "max",
    "max": "min",
    "minimum": "maximum",
    "maximum": "minimum",
    "ceil": "floor",
    "floor": "ceil",
    "any": "all",
    "all": "any",
    "exp": "expm1",
    "log1p": "log",
}


def sites(tree: ast.Module) -> list[tuple[ast.AST, str]]:
    """Return the places that can be changed, and how; words and types are left alone."""
    found: list[tuple[ast.AST, str]] = []

    def visit(node: ast.AST) -> None:
        if isinstance(node, ast.Raise | ast.Import | ast.ImportFrom | ast.JoinedStr):
            return
        if isinstance(node, ast.Compare | ast.BinOp | ast.BoolOp):
            op = node.ops[0] if isinstance(node, ast.Compare) else node.op
            if type(op) in SWAPPED:
                found.append((node, "operator"))
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not | ast.USub):
            found.append((node, "sign"))
        if isinstance(node, ast.Constant) and isinstance(node.value, int | float):
            found.append((node, "constant"))
        if isinstance(node, ast.Name) and node.id in RENAMED:
            found.append((node, "name"))
        if isinstance(node, ast.Attribute) and node.attr in RENAMED:
            found.append((node, "name"))
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            found.append((node, "call"))
        for name, value in ast.iter_fields(node):
            if name in ("annotation", "returns", "decorator_list"):
                continue
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST):
                    visit(child)

    visit(tree)
    return found


def change(node: Any, kind: str) -> str:
    """Change a place and return what it was and became."""
    before = ast.unparse(node)
    if kind == "operator" and isinstance(node, ast.Compare):
        node.ops[0] = SWAPPED[type(node.ops[0])]()
    elif kind == "operator":
        node.op = SWAPPED[type(node.op)]()
    elif kind == "sign":
        node.op = ast.UAdd() if isinstance(node.op, ast.USub) else ast.Not()
        if isinstance(node.op, ast.Not):
            node.operand = ast.UnaryOp(ast.Not(), node.operand)
    elif kind == "constant" and isinstance(node.value, bool):
        node.value = not node.value
    elif kind == "constant":
        node.value = node.value + 1 if isinstance(node.value, int) else node.value * 1.5 + 1e-3
    elif kind == "name" and isinstance(node, ast.Name):
        node.id = RENAMED[node.id]
    elif kind == "name":
        node.attr = RENAMED[node.attr]
    else:
        node.value = ast.Constant(None)
    return f"`{before}` becomes `{ast.unparse(node)}`"


class Mutant(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Import one module from a changed tree, and all others as they are."""

    def __init__(self, path: Path, tree: ast.Module) -> None:
        self.path, self.tree = path, tree
        parts = path.relative_to(SOURCE.parent).with_suffix("").parts
        self.module = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name != self.module:
            return None
        package = [str(self.path.parent)] if self.path.stem == "__init__" else None
        return importlib.util.spec_from_file_location(
            name, self.path, loader=self, submodule_search_locations=package
        )

    def exec_module(self, module: ModuleType) -> None:
        exec(compile(self.tree, str(self.path), "exec"), vars(module))

    def get_filename(self, name: str) -> str:
        return str(self.path)


def tests_of(path: Path) -> list[list[str]]:
    """Return the tests to run in turn: those nearest to the file first."""
    room = path.relative_to(SOURCE).parts[0]
    folder = sorted((ROOT / "tests" / room).rglob("test_*.py"))
    words = set(path.stem.split("_"))
    near = [str(p) for p in folder if words & set(p.stem.split("_"))]
    far = [str(p) for p in folder if str(p) not in near]
    exact = [str(ROOT / "tests" / "privacy" / "test_transcripts.py")]
    return [group for group in ([str(path), *near], exact, far) if group]


def outcome(path: Path, tree: ast.Module) -> str:
    """Run the tests against a changed file, in a process of its own, and say how they ended."""
    child = os.fork()
    if child == 0:
        resource.setrlimit(resource.RLIMIT_CPU, (PATIENCE, PATIENCE))
        mutant = Mutant(path, tree)
        sys.meta_path.insert(0, mutant)
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 1)
        os.dup2(nowhere, 2)
        options = ["-x", "-q", "-n0", "-p", "no:cacheprovider", f"--rootdir={ROOT}"]
        try:
            importlib.import_module(mutant.module)  # else pytest would import the file itself
            failed = any(pytest.main([*options, *g]) not in (0, 5) for g in tests_of(path))
        except BaseException:
            failed = True
        os._exit(int(failed))
    status = os.waitpid(child, 0)[1]
    return "endless" if os.WIFSIGNALED(status) else "killed" if status else "SURVIVED"


def drawn(room: str, count: int, seed: int) -> Iterator[tuple[Path, ast.Module, str]]:
    """Yield random mutants of a room: file, changed tree, place and change in words."""
    every = [
        (path, number)
        for path in sorted((SOURCE / room).rglob("*.py"))
        for number in range(len(sites(ast.parse(path.read_text()))))
    ]
    random.Random(f"{seed} {room}").shuffle(every)
    for path, number in every[:count]:
        tree = copy.deepcopy(ast.parse(path.read_text()))
        node, kind = sites(tree)[number]
        place = f"{path.relative_to(SOURCE)}:{getattr(node, 'lineno', 0)}"
        change_said = change(node, kind)
        said = " ".join(f"{place} {change_said}".split())
        yield path, ast.fix_missing_locations(tree), said


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rooms", nargs="+", default=ROOMS, choices=ROOMS)
    parser.add_argument("--sample", type=int, default=25, help="mutants of each room")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--record", type=Path, help="a file of results to extend")
    asked = parser.parse_args()
    record = asked.record.resolve() if asked.record else Path(os.devnull)
    record.touch()
    known = {line[10:] for line in record.read_text().splitlines()}
    os.chdir(ROOT)
    # What every mutant needs and none changes is imported once.
    import mpmath  # noqa: F401
    import scipy.integrate
    import scipy.optimize
    import scipy.stats  # noqa: F401
    import sklearn.linear_model  # noqa: F401

    assert not any(name.startswith("discreet") for name in sys.modules)
    for room in asked.rooms:
        first = SOURCE / room / "__init__.py"
        if outcome(first, ast.parse(first.read_text())) != "SURVIVED":
            raise SystemExit(f"The tests of {room} fail without any change.")
    rooms = [drawn(room, asked.sample, asked.seed) for room in asked.rooms]
    for mutants in itertools.zip_longest(*rooms):
        for path, tree, said in filter(None, mutants):
            if said not in known:
                result = f"{outcome(path, tree):8}  {said}"
                print(result, flush=True)
                with record.open("a") as file:
                    file.write(result + "\n")


if __name__ == "__main__":
    main()
