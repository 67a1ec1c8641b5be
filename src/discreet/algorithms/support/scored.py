"""Supports chosen by their least-squares score, with the exponential mechanism.

Kifer, Smith, Thakurta, *Private convex ERM and high-dimensional regression*,
COLT 2012, with the factor 2 of add-remove and the largest loss corrected.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import comb

from discreet.accounting import Event
from discreet.algorithms.support.scores import Scores, score_range
from discreet.algorithms.support.setting import Setting
from discreet.bounds import rows_apart
from discreet.data import Rows
from discreet.errors import Incompatible
from discreet.mechanisms.bounded_range import per_round
from discreet.mechanisms.signed_choice import Index
from discreet.noise import Randomness, exponential_mechanism

MOST_SUPPORTS = 1_000_000
"""Supports that the exponential mechanism goes through; beyond, choose one by one."""


@dataclass(frozen=True)
class Forward:
    """One feature after the other, each by the exponential mechanism."""

    setting: Setting

    @property
    def rounds(self) -> int:
        """Number of private choices."""
        return self.setting.size

    @cached_property
    def _eta(self) -> tuple[float, Event]:
        return per_round(self.setting.budget, self.rounds)

    @property
    def event(self) -> Event:
        """The cost of all rounds."""
        return self._eta[1]

    @cached_property
    def scale(self) -> float:
        """Noise scale of the scores."""
        # privacy: blanking a row lowers all scores by between 0 and its largest loss, so their
        # differences move by one such loss; a replacement does that twice.
        times = rows_apart(self.setting.neighbours)
        paid = score_range(times * self.setting.range_of_one, self.setting.range_of_one, self)
        return paid / self._eta[0]

    @property
    def most_rows(self) -> int:
        """Rows that rounding is paid for."""
        return self.setting.most_rows

    def facts(self) -> dict[str, Any]:
        """Public numbers."""
        return {"choices": self.rounds, "selection noise scale": self.scale}

    def _scores(self, rows: Rows) -> Scores:
        s = self.setting
        return Scores(rows, s.n_features, s.radius, s.range_of_one, s.label)

    def select(self, rows: Rows, random: Randomness) -> Index | None:
        """Return the chosen features."""
        scores = self._scores(rows)
        chosen: list[int] = []
        for _ in range(self.rounds):
            left = np.setdiff1d(np.arange(self.setting.n_features), chosen)
            values = scores.extended(chosen, left)
            chosen.append(int(left[exponential_mechanism(-values / self.scale, random)]))
        return np.sort(np.array(chosen, dtype=np.intp))


@dataclass(frozen=True)
class Exponential(Forward):
    """The exponential mechanism over all supports of the wanted size."""

    def __post_init__(self) -> None:
        count = comb(self.setting.n_features, self.setting.size, exact=True)
        if count > MOST_SUPPORTS:
            raise Incompatible(
                f"There are more than {MOST_SUPPORTS} supports of {self.setting.size} among "
                f"{self.setting.n_features} features, too many to go through. Use "
                "selector='forward' or 'votes'."
            )

    @property
    def rounds(self) -> int:
        return 1

    def select(self, rows: Rows, random: Randomness) -> Index | None:
        """Return the chosen features."""
        scores, size = self._scores(rows), self.setting.size
        supports = np.array(
            list(itertools.combinations(range(self.setting.n_features), size)), dtype=np.intp
        )
        values = np.concatenate([scores.of(part) for part in _batches(supports)])
        chosen = exponential_mechanism(-values / self.scale, random)
        return np.array(supports[chosen], dtype=np.intp)


def _batches(supports: Index) -> list[Index]:
    return np.array_split(supports, math.ceil(len(supports) / 8192))
