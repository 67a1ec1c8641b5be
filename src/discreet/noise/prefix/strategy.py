"""What a way of releasing prefix sums is: a factorisation of the summing matrix.

Let ``A`` be the lower triangular matrix of ones, so that ``A x`` holds the
prefix sums of a stream ``x``. A strategy is a pair ``A = B C`` with ``C`` lower
triangular. One adds noise to ``C x`` and publishes ``B (C x + noise)``; the
noise is scaled to the largest column of ``C`` and the error to the rows of ``B``.
"""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from dataclasses import asdict, dataclass
from typing import Any, ClassVar, Self

import numpy as np

from discreet.bounds import Array
from discreet.checks import integer


@dataclass(frozen=True)
class Strategy(ABC):
    """A factorisation ``A = B C`` for streams of up to ``horizon`` vectors."""

    horizon: int

    def __post_init__(self) -> None:
        integer("horizon", self.horizon)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values from which the very same strategy can be made again."""
        return {"strategy": type(self).__name__, **asdict(self)}

    @abstractmethod
    def sensitivity(self, participations: int = 1, separation: int = 1) -> float:
        """Return how far ``C x`` moves when some vectors of ``x`` move by 1.

        Parameters
        ----------
        participations
            How many vectors one row may enter.
        separation
            Least number of steps between two of them.
        """

    @abstractmethod
    def touched(self, participations: int = 1) -> int:
        """Return how many rows of ``C`` a data row can enter."""

    @property
    @abstractmethod
    def gain(self) -> float:
        """Largest sum of a row of ``C``: how large ``C x`` can be for vectors of norm 1."""

    @property
    @abstractmethod
    def rounding(self) -> float:
        """Bound on the float64 error of a row of ``C x`` for vectors of norm 1."""

    @abstractmethod
    def variance(self, step: int) -> float:
        """Return the variance of the prefix at ``step`` when that of the noise is 1."""

    @property
    def largest_variance(self) -> float:
        """The largest variance of any prefix; the last one's unless said otherwise."""
        return self.variance(self.horizon)

    @abstractmethod
    def coder(self, shape: tuple[int, ...]) -> Coder:
        """Return the running form of the factorisation for vectors of ``shape``."""


class Coder(ABC):
    """A stream on its way through ``C`` and ``B``.

    ``secret`` holds what :meth:`encode` remembers, which is computed from data
    without noise. ``public`` holds what :meth:`decode` remembers, which is
    computed from noisy values only. ``growing`` says whether arrays get longer
    with the stream.
    """

    growing: ClassVar[bool] = False

    def __init__(self, secret: dict[str, Array], public: dict[str, Array]) -> None:
        self.steps = 0
        self.secret = secret
        self.public = public

    @abstractmethod
    def encode(self, x: Array) -> Array:
        """Take the next vector and return the new rows of ``C x``, stacked."""

    @abstractmethod
    def decode(self, noisy: Array) -> Array:
        """Take those rows with noise and return the noisy prefix sum."""

    def copy(self) -> Self:
        """Return a coder that goes on from here on its own."""
        return copy.deepcopy(self)


def spaced(horizon: int, participations: int, separation: int) -> int:
    """Return how many steps at least ``separation`` apart fit, up to ``participations``.

    >>> spaced(10, 5, 4)
    3
    """
    return min(participations, 1 + (horizon - 1) // separation)


def stacked_norm(coefficients: Array, participations: int, separation: int) -> float:
    """Return the sensitivity of a Toeplitz ``C`` with falling non-negative coefficients.

    For those the worst rows come as early and as often as they may, and all
    their changes point the same way.

    >>> stacked_norm(np.array([1.0, 0.0]), 2, 1)
    1.4142135623730951
    """
    total = np.zeros_like(coefficients)
    for j in range(spaced(len(coefficients), participations, separation)):
        start = j * separation
        total[start:] += coefficients[: len(coefficients) - start]
    return float(np.linalg.norm(total))
