"""Files that are written whole or not at all."""

from __future__ import annotations

import json

import pytest

from discreet.writing import replacing, write_json


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


def test_a_value_without_a_form_leaves_what_was_there(tmp_path) -> None:
    path = tmp_path / "model.json"
    write_json(path, {"weights": [1.5]})
    with pytest.raises(TypeError):
        write_json(path, {"weights": object()})
    assert json.loads(path.read_text()) == {"weights": [1.5]}
    assert [p.name for p in tmp_path.iterdir()] == ["model.json"]
