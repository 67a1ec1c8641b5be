"""The picture: written where asked, and refused politely."""

import sys

import pytest

from discreet.errors import DiscreetError, InvalidParameter
from discreet.report import accuracy_plot

ARGUMENTS = {
    "epsilons": [1.0, 0.1],
    "scores": [[0.9, 0.8, 0.85], [0.5]],
    "baseline": 0.95,
    "guessing": 0.6,
    "title": "t",
}


def test_writes_the_format_of_the_ending(tmp_path):
    accuracy_plot(tmp_path / "a.png", **ARGUMENTS)
    accuracy_plot(tmp_path / "a.svg", **ARGUMENTS)
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")
    assert (tmp_path / "a.svg").read_text().startswith("<?xml")


def test_scores_must_match_epsilons(tmp_path):
    with pytest.raises(InvalidParameter, match="at least one accuracy for every epsilon"):
        accuracy_plot(tmp_path / "a.png", **(ARGUMENTS | {"scores": [[0.9]]}))


def test_absent_matplotlib_is_explained(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(DiscreetError, match=r"pip install 'matplotlib>=3.9'"):
        accuracy_plot(tmp_path / "a.png", **ARGUMENTS)
