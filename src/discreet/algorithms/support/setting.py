"""What a private choice of a support is told, and what it offers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

from discreet.accounting import Budget, Event
from discreet.data import Rows
from discreet.mechanisms.signed_choice import Index
from discreet.noise import Randomness


@dataclass(frozen=True, kw_only=True)
class Setting:
    """The public facts a selector needs.

    ``label`` bounds labels, ``range_of_one`` is how much one row can change a
    least-squares score, ``most_rows`` bounds the rows that rounding is paid for.
    """

    size: int
    n_features: int
    budget: Budget
    neighbours: str
    blocks: int
    noise: str
    noise_level: float
    radius: float
    label: float
    range_of_one: float
    most_rows: int


class Selector(Protocol):
    """A calibrated private choice of a support."""

    @property
    def event(self) -> Event: ...

    def facts(self) -> dict[str, Any]: ...

    def select(self, rows: Rows, random: Randomness) -> Index | None: ...
