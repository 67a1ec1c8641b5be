"""Noise of a vector that is released whole: what it pays for."""

from __future__ import annotations

import pytest

from discreet.accounting import Budget, gaussian_multiplier
from discreet.mechanisms.release_noise import Kind, release_noise


@pytest.mark.parametrize(
    ("kind", "delta", "norm"),
    [("gaussian", 1e-6, "l2"), ("gamma", 0.0, "l2"), ("laplace", 0.0, "l1")],
)
def test_noise_pays_for_its_grid(kind: Kind, delta: float, norm: str) -> None:
    # A wide reach makes the steps coarse: rounding then adds a thousandth.
    made = release_noise(1.0, Budget(0.5, delta), dimension=4, kind=kind, reach=2.0**40)
    sensitivity = 2.0 if norm == "l1" else 1.0
    paid = made.noise.grid.surcharged(sensitivity, 4, norm)
    assert paid > 1.0003 * sensitivity
    unit = gaussian_multiplier(0.5, delta) if delta else 2.0
    assert made.scale >= paid * unit * (1 - 1e-12)
    # What is guaranteed of it is what is spent: the rest of the noise hides the rounding.
    assert made.event.delta(0.5) >= delta * (1 - 1e-9)
    assert made.event.delta(0.5 * (1 - 1e-6)) > delta
