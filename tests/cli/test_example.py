"""``discreet example`` writes the files that the pages use, the same every time."""

from __future__ import annotations

from pathlib import Path

import pytest

from discreet.cli.example import FILES, ROWS
from discreet.cli.main import main


def test_the_same_files_are_written_every_time(tmp_path: Path) -> None:
    for name in ("one", "two"):
        assert main(["example", "--out", str(tmp_path / name)]) == 0
    for name in [*ROWS, *FILES]:
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()


def test_each_file_has_its_rows_and_some_empty_cells(tmp_path: Path) -> None:
    main(["example", "--out", str(tmp_path)])
    for name, n_rows in ROWS.items():
        lines = (tmp_path / name).read_text().splitlines()
        assert len(lines) == n_rows + 1
        assert {line.count(",") for line in lines} == {6}
        assert any(",," in line for line in lines)


def test_no_file_is_overwritten_unless_that_is_asked_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "schema.toml").write_text("mine")
    assert main(["example", "--out", str(tmp_path)]) == 1
    assert "--force" in capsys.readouterr().err
    assert [p.name for p in tmp_path.iterdir()] == ["schema.toml"]
    assert (tmp_path / "schema.toml").read_text() == "mine"
    assert main(["example", "--out", str(tmp_path), "--force"]) == 0
    assert (tmp_path / "schema.toml").read_text() == FILES["schema.toml"]


def test_a_file_in_place_of_the_folder_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "taken").write_text("")
    assert main(["example", "--out", str(tmp_path / "taken")]) == 1
    assert "a file is in its place" in capsys.readouterr().err
