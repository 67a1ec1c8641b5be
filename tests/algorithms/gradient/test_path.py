"""The steps of noisy gradient descent: how long they are, and which rows they count."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from discreet.accounting import Budget
from discreet.algorithms import NoisyGradient
from discreet.algorithms.gradient import path as gradient_path
from discreet.algorithms.gradient.adaptive_clip import AdaptiveClip
from discreet.bounds import Bounds
from discreet.data import ArraySource
from discreet.losses import Logistic
from discreet.noise import Seeded
from discreet.problem import Problem
from discreet.sets import L2Ball

N = 40


def problem(**changes: Any) -> Problem:
    bounds = Bounds(row_norm=1.0, classes=(0, 1))
    settings = {"loss": Logistic(), "bounds": bounds, "n_features": 2, "n_rows": N}
    return Problem(**(settings | changes))


def data() -> tuple[np.ndarray, np.ndarray]:
    return np.eye(2)[np.arange(N) % 2], np.arange(N) % 2


@pytest.mark.parametrize("budget", [Budget(1.0, 1e-6), Budget(20.0, 1e-2)])
def test_hidden_steps_are_as_long_as_was_certified(
    monkeypatch: pytest.MonkeyPatch, budget: Budget
) -> None:
    task = problem(constraint=L2Ball(radius=50.0))
    plan = NoisyGradient(hidden_state=True, steps=3).plan(task, budget)
    sizes: list[float] = []
    monkeypatch.setattr(
        gradient_path, "_mover", lambda plan: lambda w, g, size: sizes.append(size) or w
    )
    plan.run(ArraySource(*data()), Seeded(0))
    assert sizes == [plan.hidden.step] * 3


@pytest.mark.parametrize("sampler", ["full", "poisson"])
@pytest.mark.parametrize("left", [3, 0])
def test_blank_rows_are_neither_short_nor_held(
    monkeypatch: pytest.MonkeyPatch, sampler: str, left: int
) -> None:
    counts: list[tuple[int, int]] = []

    def next_clip(self: AdaptiveClip, clip: float, short: int, held: int, random: Any) -> float:
        counts.append((short, held))
        return clip

    monkeypatch.setattr(AdaptiveClip, "next_clip", next_clip)
    config = NoisyGradient(adaptive_clip=True, steps=5, sampler=sampler)  # type: ignore[arg-type]
    plan = config.plan(problem(), Budget(4.0, 1e-5))
    X, y = data()
    X[left:] = math.nan
    plan.run(ArraySource(X, y), Seeded(0))
    # No gradient is longer than the clip, so all that are held are short.
    assert len(counts) == 5
    assert all(short == held <= left for short, held in counts)
    assert sampler != "full" or counts == [(left, left)] * 5
