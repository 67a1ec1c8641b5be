"""Benchmarks explain themselves, and write nothing unless they are asked to run."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"
SCRIPTS = sorted(p.name for p in BENCHMARKS.glob("*.py") if "__main__" in p.read_text())


def files() -> dict[Path, tuple[int, int]]:
    found = (p for p in BENCHMARKS.rglob("*") if p.is_file() and p.suffix != ".pyc")
    return {p: (p.stat().st_mtime_ns, p.stat().st_size) for p in found}


def run(monkeypatch: pytest.MonkeyPatch, name: str, *words: str) -> int:
    """Run a script in this process, where what it imports is mostly there; return its code."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    monkeypatch.setattr(sys, "argv", [name, *words])
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    before, modules = files(), set(sys.modules)
    # A benchmark that goes ahead all the same must not replace what is stored.
    monkeypatch.setattr(Path, "write_text", lambda *_, **__: pytest.fail("a file is written"))
    try:
        with pytest.raises(SystemExit) as ended:
            runpy.run_path(str(BENCHMARKS / name), run_name="__main__")
    finally:
        for new in set(sys.modules) - modules:
            if str(getattr(sys.modules[new], "__file__", "")).startswith(str(BENCHMARKS)):
                del sys.modules[new]
    assert files() == before
    return int(ended.value.code or 0)


@pytest.mark.parametrize("name", SCRIPTS)
def test_help_helps_and_runs_nothing(name, monkeypatch, capsys):
    assert run(monkeypatch, name, "--help") == 0
    assert "usage:" in capsys.readouterr().out


@pytest.mark.parametrize("name", [n for n in SCRIPTS if n != "environments.py"])  # asks pip alone
def test_nothing_runs_unless_a_part_is_named(name, monkeypatch, capsys):
    assert run(monkeypatch, name) == 2
    assert "required" in capsys.readouterr().err


def test_every_script_has_its_place_on_a_page():
    page = (BENCHMARKS / "README.md").read_text()
    assert [name for name in SCRIPTS if f"`{name}`" not in page] == ["environments.py"]
