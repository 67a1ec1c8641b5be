"""The methods of the logistic comparison: where each runs, its relation and its settings.

A peer may be tuned in hindsight: every setting of its grid is tried, and the best is reported,
separately for each metric. That costs privacy which is not accounted for, so it favours the peer.
Ours has one setting, the default. What the same hindsight is worth here is shown by the methods
that end in ``tried``: our descent with the peers' numbers of steps, lengths of steps, momenta and
clips, with the length of the weights fitted at the end and without, and without delta our objective
perturbation with diffprivlib's ridges. They are read together with the default's own fits.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import product
from typing import Any

LARGE = 200_000
Settings = tuple[dict[str, Any], ...]


@dataclass(frozen=True)
class Method:
    """One line of the comparison.

    ``trials`` seeds are spent on every setting; the winners are then run for all ``seeds``. On
    problems of more than LARGE rows these are cut to 1 and 3, and ``large`` replaces the settings.
    ``besides`` names the method whose fits count as one setting more. ``bank`` are settings more
    for the bank of problems, where rows are fewer.
    """

    title: str
    script: str
    relation: str
    environment: str | None = None
    delta: float = 1e-6
    seeds: int = 10
    trials: int = 3
    settings: Settings = ()
    large: Settings = ()
    bank: Settings = ()
    besides: str | None = None

    def on(self, n_rows: int) -> Method:
        """Return the method as it is run on a problem of this size."""
        if n_rows <= LARGE:
            return self
        return replace(self, trials=1, seeds=3, settings=self.large or self.settings)


def grid(**values: tuple[Any, ...]) -> tuple[dict[str, Any], ...]:
    """Return every combination of the given values."""
    return tuple(dict(zip(values, point, strict=True)) for point in product(*values.values()))


def sgd(rate: float, *points: tuple[int, float, float, float]) -> Settings:
    """Return DP-SGD settings at one sampling rate."""
    names = ("steps", "step_size", "momentum", "clip")
    return tuple({"rate": rate} | dict(zip(names, point, strict=True)) for point in points)


SGD = sgd(
    0.1,
    (100, 4.0, 0.0, 1.0),
    (100, 16.0, 0.0, 1.0),
    (100, 64.0, 0.0, 1.0),
    (100, 16.0, 0.0, 0.25),
    (100, 4.0, 0.9, 1.0),
    (100, 4.0, 0.9, 0.25),
    (400, 16.0, 0.0, 1.0),
    (400, 64.0, 0.0, 1.0),
    (400, 4.0, 0.9, 1.0),
    (400, 16.0, 0.9, 1.0),
    (1000, 16.0, 0.9, 1.0),
)
LONGER = sgd(0.1, (100, 32.0, 0.0, 0.25))
"""Where the length of the weights is fitted at the end, longer steps do no harm."""

LARGE_SGD = sgd(
    0.02,
    (100, 16.0, 0.0, 1.0),
    (100, 16.0, 0.0, 0.25),
    (100, 4.0, 0.9, 1.0),
    (400, 4.0, 0.9, 1.0),
    (400, 16.0, 0.9, 1.0),
)


LARGE_LONG = sgd(
    0.02,
    (400, 16.0, 0.9, 0.25),
    (400, 64.0, 0.9, 1.0),
    (1600, 16.0, 0.9, 1.0),
    (1600, 64.0, 0.9, 1.0),
    (1600, 64.0, 0.9, 0.25),
    (1600, 32.0, 0.9, 0.5),
    (1600, 64.0, 0.9, 0.7),
)
"""Beyond the others in every direction, for the faster of the two DP-SGD peers and for ours."""

BANK_SGD = sgd(0.1, (100, 0.25, 0.0, 1.0), (100, 1.0, 0.0, 1.0), (100, 4.0, 0.0, 0.25)) + sgd(
    1.0,
    (30, 1.0, 0.0, 0.1),
    (30, 4.0, 0.0, 0.1),
    (30, 1.0, 0.0, 1.0),
    (30, 4.0, 0.0, 0.25),
    (100, 1.0, 0.0, 1.0),
    (100, 4.0, 0.0, 1.0),
    (100, 16.0, 0.0, 0.25),
    (100, 4.0, 0.9, 1.0),
    (300, 4.0, 0.9, 0.25),
)
"""Shorter descents, and all rows in each step."""

RIDGES = (0.001, 0.01, 0.1, 1.0, 10.0, 100.0)
LARGE_RIDGES = (0.01, 1.0, 100.0)


def tried(neighbours: str, *points: dict[str, Any]) -> Settings:
    """Return our descents with these settings, the length fitted or not."""
    ours = grid(neighbours=(neighbours,), fitted=(True, False))
    return tuple(point | own for point in points for own in ours)


METHODS = {
    "discreet": Method(
        title="discreet",
        script="ours.py",
        relation="zero-out",
        settings=grid(neighbours=("zero-out",)),
    ),
    "discreet-tried": Method(
        title="discreet, settings tried like a peer's",
        script="ours.py",
        relation="zero-out",
        settings=tried("zero-out", *SGD, *LONGER),
        large=tried("zero-out", *LARGE_SGD, *LARGE_LONG),
        besides="discreet",
    ),
    "discreet-replace-one": Method(
        title="discreet",
        script="ours.py",
        relation="replace-one",
        settings=grid(neighbours=("replace-one",)),
    ),
    "discreet-replace-one-tried": Method(
        title="discreet, settings tried like a peer's",
        script="ours.py",
        relation="replace-one",
        settings=tried("replace-one", *SGD, *LONGER),
        large=tried("replace-one", *LARGE_SGD, *LARGE_LONG),
        besides="discreet-replace-one",
    ),
    "discreet-pure": Method(
        title="discreet, delta = 0",
        script="ours.py",
        relation="replace-one",
        delta=0.0,
        settings=grid(neighbours=("replace-one",)),
    ),
    "discreet-pure-tried": Method(
        title="discreet, delta = 0, settings tried like a peer's",
        script="ours.py",
        relation="replace-one",
        delta=0.0,
        settings=grid(neighbours=("replace-one",), C=RIDGES),
        large=grid(neighbours=("replace-one",), C=LARGE_RIDGES),
        besides="discreet-pure",
    ),
    "diffprivlib": Method(
        title="diffprivlib, delta = 0",
        script="diffprivlib_erm.py",
        relation="replace-one",
        environment="diffprivlib",
        delta=0.0,
        settings=grid(C=RIDGES),
        large=grid(C=LARGE_RIDGES),
    ),
    "amp": Method(
        title="Iyengar et al. AMP",
        script="amp.py",
        relation="replace-one",
        settings=grid(fraction=(0.5, 0.8, 0.9, 0.95, 0.99)),
        large=grid(fraction=(0.8, 0.9, 0.99)),
    ),
    "rkw23": Method(
        title="Redberg et al. objective perturbation",
        script="rkw23.py",
        relation="add-remove",
        settings=grid(share=(0.02, 0.05, 0.1, 0.2, 0.4)),
        large=grid(share=(0.05, 0.1, 0.2)),
    ),
    "phased-sgd": Method(
        title="Feldman et al. phased SGD",
        script="phased_sgd.py",
        relation="zero-out",
        settings=grid(radius=(5.0, 10.0, 20.0, 60.0), multiple=(1.0, 4.0)),
        large=grid(radius=(10.0, 60.0), multiple=(1.0, 4.0)),
    ),
    "opacus": Method(
        title="Opacus DP-SGD",
        script="opacus_sgd.py",
        relation="add-remove",
        environment="opacus",
        seeds=3,
        trials=1,
        settings=SGD,
        large=LARGE_SGD,
        bank=BANK_SGD,
    ),
    "jax-privacy": Method(
        title="JAX-Privacy DP-SGD",
        script="jax_privacy_sgd.py",
        relation="zero-out",
        environment="jax_privacy",
        seeds=3,
        trials=1,
        settings=SGD,
        large=LARGE_SGD + LARGE_LONG,
        bank=BANK_SGD,
    ),
}

OURS = [key for key in METHODS if key.startswith("discreet")]
