"""Averages of a path, one of which is released."""

from __future__ import annotations

from collections.abc import Callable

from discreet.bounds import Array

OUTPUTS: dict[str, str] = {
    "mean": "the mean of all iterates",
    "tail": "the mean of the last half of the iterates",
    "weighted": "a mean in which iterate k has weight k + 1",
    "last": "the last iterate",
}
"""What may be released of a path."""

SHARES: dict[str, Callable[[int, int], float]] = {
    "mean": lambda k, steps: 1.0,
    "tail": lambda k, steps: float(k >= steps // 2),
    "weighted": lambda k, steps: k + 1.0,
    "last": lambda k, steps: float(k == steps - 1),
}
"""What iterate ``k`` of so many steps counts."""


class Average:
    """One of ``OUTPUTS``, kept up to date in the memory of one iterate.

    >>> import numpy as np
    >>> mean = Average("tail", 4)
    >>> for k in range(4):
    ...     mean.add(k, np.array([float(k)]))
    >>> mean.value
    array([2.5])
    """

    def __init__(self, output: str, steps: int) -> None:
        self.output, self.steps = output, steps
        self._mass = 0.0
        self.value: Array | float = 0.0

    def add(self, k: int, point: Array) -> None:
        """Take in iterate ``k``."""
        share = SHARES[self.output](k, self.steps)
        if share:
            self._mass += share
            self.value = self.value + (point - self.value) * (share / self._mass)
