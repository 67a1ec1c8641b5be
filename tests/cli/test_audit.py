"""``discreet audit``."""

from __future__ import annotations

import pytest

from discreet.auditing import METHODS
from discreet.cli.audit import _METHODS
from discreet.cli.main import main
from discreet.noise import Gaussian

COMMAND = [
    "audit", "--model", "huber", "--rows", "2", "--features", "1", "--epsilon", "8",
    "--row-norm", "1", "--algorithm", "output-perturbation", "--runs", "100", "--seed", "1",
]  # fmt: skip


def test_a_sound_fit_is_not_accused_and_nothing_is_proved(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(COMMAND) == 0
    seen = capsys.readouterr()
    assert seen.out.startswith("100 runs found no violation")
    assert "per row under zero-out (95 %). An audit cannot prove privacy." in seen.out
    assert seen.err.startswith("attacking output-perturbation: 100 runs on each neighbour")


def test_a_fit_with_too_little_noise_leaves_with_one(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    draw = Gaussian.sample
    monkeypatch.setattr(Gaussian, "sample", lambda *args: draw(*args) / 8)
    assert main([*COMMAND, "--quiet"]) == 1
    seen = capsys.readouterr()
    assert seen.out.startswith("VIOLATION: 100 runs show epsilon >= ")
    assert not seen.err


def test_what_cannot_be_audited_is_refused_in_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*COMMAND, "--method", "one-run"]) == 1
    assert "method='one-run' needs at least 10 features" in capsys.readouterr().err


def test_the_methods_are_those_of_the_library() -> None:
    assert _METHODS == METHODS
