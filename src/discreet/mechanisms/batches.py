"""Which rows a step reads, and what reading them costs.

A sampler draws the rows of one step and names the privacy event of all steps.
There is no sampling rate to declare separately, so the two cannot disagree.

Noise is described by its ``multiplier``: standard deviation over the largest
norm of one row's part, the same for every sampler and relation.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np

from discreet.accounting import (
    Budget,
    CappedPoissonGaussian,
    Event,
    FixedSizeGaussian,
    Gaussian,
    PoissonGaussian,
    gaussian_multiplier,
    sampled_multiplier,
)
from discreet.bounds import Neighbours, rows_apart
from discreet.checks import between, integer, one_of
from discreet.data import Rows
from discreet.data.clipped import Index
from discreet.errors import Incompatible
from discreet.noise import Randomness, integers, permutation

_ALL_ROWS = "batch must be below n_rows; use sampler='full' for all rows."


class Sampler(Protocol):
    """Draws the rows of a step."""

    theorem: ClassVar[str]
    shifting: ClassVar[bool]

    @property
    def rate(self) -> float:
        """Share of the rows that a step reads."""
        ...

    def event(self, multiplier: float, steps: int, neighbours: Neighbours) -> Event:
        """Return what all steps cost together."""
        ...

    def multiplier(self, budget: Budget, steps: int, neighbours: Neighbours) -> float:
        """Return the least noise with which all steps stay within the budget."""
        ...

    def draw(self, rows: Rows, random: Randomness) -> Index | None:
        """Return the rows of one step; None for all."""
        ...

    def variance(self, n_rows: int, lipschitz: float) -> float:
        """Return the variance that sampling adds to the estimate of the sum over all rows."""
        ...


@dataclass(frozen=True)
class FullBatch:
    """Every step reads all rows; steps compose exactly.

    >>> FullBatch().event(8.0, 16, "replace-one")
    Gaussian(multiplier=1.0)
    """

    theorem: ClassVar[str] = "noisy-gradient/full-batch"
    shifting: ClassVar[bool] = False
    rate: ClassVar[float] = 1.0

    def event(self, multiplier: float, steps: int, neighbours: Neighbours) -> Event:
        return Gaussian(multiplier / (rows_apart(neighbours) * math.sqrt(steps)))

    def multiplier(self, budget: Budget, steps: int, neighbours: Neighbours) -> float:
        one = gaussian_multiplier(budget.epsilon, budget.delta)
        # privacy: rounded up, so that the event never costs more than the budget.
        return rows_apart(neighbours) * math.sqrt(steps) * one * (1 + 2.0**-50)

    def draw(self, rows: Rows, random: Randomness) -> Index | None:
        return None

    def variance(self, n_rows: int, lipschitz: float) -> float:
        return 0.0


@dataclass(frozen=True)
class PoissonBatch:
    """Each row enters a step independently with probability ``rate``.

    >>> PoissonBatch(0.1).event(8.0, 16, "zero-out").rate
    0.1
    """

    rate: float
    theorem: ClassVar[str] = "noisy-gradient/poisson"
    shifting: ClassVar[bool] = True

    def __post_init__(self) -> None:
        between("rate", self.rate, 0, 1)

    def event(self, multiplier: float, steps: int, neighbours: Neighbours) -> Event:
        return PoissonGaussian(multiplier, self.rate, steps, neighbours)

    def multiplier(self, budget: Budget, steps: int, neighbours: Neighbours) -> float:
        return sampled_multiplier(
            lambda z: self.event(z, steps, neighbours),
            budget.epsilon,
            budget.delta,
            rate=rows_apart(neighbours) * self.rate,
            steps=steps,
        )

    def draw(self, rows: Rows, random: Randomness) -> Index | None:
        # privacy: a word below floor(rate 2^64) has at most probability rate. Its first 16 bits
        # decide unless they tie with the threshold's; then 48 more bits are drawn.
        high, low = divmod(math.floor(self.rate * 2.0**64), 2**48)
        # privacy: the rows of a group are drawn together, by one coin.
        n = rows.n_rows if rows.groups is None else int(rows.groups.max(initial=-1)) + 1
        first = random.words(-(-n // 4)).view(np.uint16)[:n]
        chosen = first < high
        ties = np.flatnonzero(first == high)
        chosen[ties] = (random.words(len(ties)) >> np.uint64(16)) < np.uint64(low)
        if rows.groups is not None:
            chosen = np.append(chosen, False)[rows.groups]  # -1 is in no group
        # privacy: a blank row leaves no trace, as if it had not been drawn.
        chosen &= rows.weight > 0.0
        return np.flatnonzero(chosen)

    def variance(self, n_rows: int, lipschitz: float) -> float:
        return n_rows * lipschitz**2 * (1 - self.rate) / self.rate


@dataclass(frozen=True)
class CappedBatch(PoissonBatch):
    """A Poisson batch of which at most ``cap`` rows are kept, at random.

    >>> CappedBatch(0.1, cap=150, n_rows=1000).event(8.0, 16, "zero-out").cap
    150
    """

    cap: int
    n_rows: int
    theorem: ClassVar[str] = "noisy-gradient/capped"

    def event(self, multiplier: float, steps: int, neighbours: Neighbours) -> Event:
        return CappedPoissonGaussian(
            multiplier, self.rate, steps, neighbours, self.cap, self.n_rows
        )

    def draw(self, rows: Rows, random: Randomness) -> Index | None:
        drawn = super().draw(rows, random)
        assert isinstance(drawn, np.ndarray)
        if len(drawn) <= self.cap:
            return drawn
        # privacy: every part of that size is as likely as any other.
        return drawn[np.sort(permutation(len(drawn), random)[: self.cap])]


@dataclass(frozen=True)
class FixedSizeBatch:
    """Each step reads ``size`` of ``n_rows`` rows, drawn without replacement.

    >>> FixedSizeBatch(10, 100).rate
    0.1
    """

    size: int
    n_rows: int
    theorem: ClassVar[str] = "noisy-gradient/fixed-size"
    shifting: ClassVar[bool] = False

    def __post_init__(self) -> None:
        integer("batch", self.size)
        if self.size >= self.n_rows:
            raise Incompatible(_ALL_ROWS)

    @property
    def rate(self) -> float:
        return self.size / self.n_rows

    def event(self, multiplier: float, steps: int, neighbours: Neighbours) -> Event:
        return FixedSizeGaussian(multiplier, self.rate, steps, neighbours)

    def multiplier(self, budget: Budget, steps: int, neighbours: Neighbours) -> float:
        return sampled_multiplier(
            lambda z: self.event(z, steps, neighbours),
            budget.epsilon,
            budget.delta,
            rate=2 * self.rate,
            steps=steps,
        )

    def draw(self, rows: Rows, random: Randomness) -> Index | None:
        # privacy: the order stays random, so that exchanging one row for another in place maps
        # batches onto batches and all other rows keep their positions.
        if self.size > rows.n_rows // 4:
            return permutation(rows.n_rows, random)[: self.size]
        drawn = integers(rows.n_rows, 2 * self.size, random)
        while True:
            # First occurrences of independent uniform draws are a uniform ordered sample.
            _, first = np.unique(drawn, return_index=True)
            if len(first) >= self.size:
                return drawn[np.sort(first)[: self.size]]
            drawn = np.concatenate([drawn, integers(rows.n_rows, self.size, random)])

    def variance(self, n_rows: int, lipschitz: float) -> float:
        return n_rows**2 * lipschitz**2 / self.size


def _full(batch: int | None, cap: int | None, n_rows: int) -> Sampler:
    if batch is not None:
        raise Incompatible("sampler='full' reads all rows; leave batch out.")
    return FullBatch()


def _poisson(batch: int | None, cap: int | None, n_rows: int) -> Sampler:
    batch = _usual(n_rows) if batch is None else batch
    if batch >= n_rows:
        raise Incompatible(_ALL_ROWS)
    if cap is None:
        return PoissonBatch(batch / n_rows)
    if cap < batch:
        raise Incompatible(
            f"cap must be at least batch, which is {batch}, or most batches would be cut. Use "
            "sampler='fixed-size' for batches of one size."
        )
    return CappedBatch(batch / n_rows, cap, n_rows)


def _fixed_size(batch: int | None, cap: int | None, n_rows: int) -> Sampler:
    return FixedSizeBatch(_usual(n_rows) if batch is None else batch, n_rows)


def _usual(n_rows: int) -> int:
    return max(1, min(n_rows - 1, max(256, n_rows // 20)))


SAMPLERS: dict[str, Callable[[int | None, int | None, int], Sampler]] = {
    "full": _full,
    "poisson": _poisson,
    "fixed-size": _fixed_size,
}
"""The samplers by name, made from the (expected) batch size, its cap and the number of rows."""


def rows_of_a_step(rate: float, n_rows: int) -> dict[str, Any]:
    """Return the settings for Poisson batches of this part of the rows, or for all of them.

    >>> rows_of_a_step(0.02, 10_000), rows_of_a_step(1.5, 10_000), rows_of_a_step(0.9999, 100)
    ({'sampler': 'poisson', 'batch': 200}, {'sampler': 'full'}, {'sampler': 'full'})
    """
    batch = max(1, round(min(rate, 1.0) * n_rows))
    return {"sampler": "poisson", "batch": batch} if batch < n_rows else {"sampler": "full"}


def sampler_for(name: str, batch: int | None, cap: int | None, n_rows: int) -> Sampler:
    """Return the sampler of that name.

    >>> sampler_for("poisson", 100, 150, 10_000)
    CappedBatch(rate=0.01, cap=150, n_rows=10000)
    """
    make = SAMPLERS[one_of("sampler", name, SAMPLERS)]
    if batch is not None:
        integer("batch", batch)
    if cap is not None and name != "poisson":
        raise Incompatible("Only Poisson batches vary in size; leave cap out.")
    return make(batch, None if cap is None else integer("cap", cap), n_rows)
