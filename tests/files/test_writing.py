"""Files that are written whole or not at all."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from discreet.errors import InvalidData
from discreet.files.writing import replacing, write_json


def test_a_file_is_replaced_only_when_complete(tmp_path) -> None:
    path, link = tmp_path / "out.csv", tmp_path / "link.csv"
    path.write_text("old")
    path.chmod(0o600)
    link.symlink_to(path)

    def interrupted():
        with replacing(link) as file:
            file.write("half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert path.read_text() == "old"
    with replacing(link) as file:
        file.write("new")
        assert path.read_text() == "old"
    assert path.read_text() == "new"
    assert link.is_symlink()
    assert path.stat().st_mode & 0o777 == 0o600
    assert {p.name for p in tmp_path.iterdir()} == {"out.csv", "link.csv"}


def test_names_may_be_long_and_writers_many(tmp_path) -> None:
    path = tmp_path / ("x" * 250 + ".json")
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda k: write_json(path, {"writer": k}), range(200)))
    assert json.loads(path.read_text())["writer"] in range(200)
    assert list(tmp_path.iterdir()) == [path]


def test_what_may_not_be_written_is_not_replaced(tmp_path, monkeypatch) -> None:
    path = tmp_path / "model.json"
    path.write_text("kept")
    opened = Path.open

    def denied(self: Path, mode: str = "r", **rest: Any) -> Any:
        if mode == "ab":
            raise PermissionError(13, "Permission denied")
        return opened(self, mode, **rest)

    monkeypatch.setattr(Path, "open", denied)
    with pytest.raises(PermissionError):
        write_json(path, {})
    monkeypatch.undo()
    assert path.read_text() == "kept"


@pytest.mark.parametrize("folder", ["nowhere", "file"])
def test_a_failure_names_the_file_that_was_asked_for(tmp_path, folder: str) -> None:
    (tmp_path / "file").write_text("")
    path = tmp_path / folder / "model.json"
    with pytest.raises(OSError, match=r"model\.json"):
        write_json(path, {})


def test_a_value_without_a_form_leaves_what_was_there(tmp_path) -> None:
    path = tmp_path / "model.json"
    write_json(path, {"weights": [1.5]})
    with pytest.raises(TypeError):
        write_json(path, {"weights": object()})
    assert json.loads(path.read_text()) == {"weights": [1.5]}
    assert [p.name for p in tmp_path.iterdir()] == ["model.json"]


@pytest.mark.parametrize("value", [float("inf"), float("nan")])
def test_a_number_that_is_not_finite_leaves_what_was_there(tmp_path, value: float) -> None:
    path = tmp_path / "card.json"
    write_json(path, {"epsilon": 1.0})
    with pytest.raises(InvalidData, match="Nothing was written"):
        write_json(path, {"epsilon": value})
    assert json.loads(path.read_text()) == {"epsilon": 1.0}


def test_a_file_and_its_folder_are_on_the_disk_before_it_counts(tmp_path, monkeypatch) -> None:
    path, seen = tmp_path / "model.json", []
    synced, replaced = os.fsync, os.replace

    def sync(handle: int) -> None:
        synced(handle)
        # Where the same is open, and how much had been written.
        same = [p for p in (tmp_path, *tmp_path.iterdir()) if p.samefile(f"/dev/fd/{handle}")]
        seen.append(("sync", "folder" if same == [tmp_path] else same[0].read_text()))

    def replace(*names: Any) -> None:
        replaced(*names)
        seen.append(("replace", path.read_text()))

    monkeypatch.setattr(os, "fsync", sync)
    monkeypatch.setattr(os, "replace", replace)
    with replacing(path) as file:
        file.write("whole")
    assert seen == [("sync", "whole"), ("replace", "whole"), ("sync", "folder")]


WRITER = """
import sys, time
from pathlib import Path
from discreet.files.writing import replacing
with replacing(Path(sys.argv[1])) as file:
    file.write("half")
    file.flush()
    print("writing", flush=True)
    time.sleep(60)
"""


@pytest.mark.skipif(os.name != "posix", reason="needs locks of files")
def test_what_a_killed_writer_left_is_removed_and_what_a_living_one_writes_is_not(tmp_path) -> None:
    path = tmp_path / "model.json"
    command = [sys.executable, "-c", WRITER, str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdout is not None
        assert writer.stdout.readline() == "writing\n"
        (part,) = tmp_path.iterdir()
        mine = tmp_path / "mine.part"
        mine.write_text("a file of someone else")
        write_json(path, {"by": "another"})
        assert set(tmp_path.iterdir()) == {part, mine, path}
        writer.send_signal(signal.SIGKILL)
        writer.wait()
    assert part.exists()
    write_json(tmp_path / "other.json", {})
    assert set(tmp_path.iterdir()) == {mine, path, tmp_path / "other.json"}
    assert json.loads(path.read_text()) == {"by": "another"}
