"""Noise that is exactly what the theorems assume, on a public grid.

:class:`Gaussian`, :class:`Laplace` and :class:`GammaSphere` draw ideal continuous
noise rounded to the multiples of a power of two, without any error of floating
point; :func:`release` adds it to a value on the same :class:`Grid`.
"""

from __future__ import annotations

from typing import Protocol

from discreet.bounds import Array
from discreet.noise.coins import below_exps, coin, geometric, signs
from discreet.noise.gamma_sphere import GammaSphere
from discreet.noise.gaussian import Gaussian
from discreet.noise.grid import Grid
from discreet.noise.laplace import Laplace
from discreet.noise.randomness import (
    Randomness,
    Seeded,
    System,
    as_randomness,
    integers,
    permutation,
)
from discreet.noise.selection import exponential_mechanism, permute_and_flip, top

__all__ = [
    "NOISES",
    "GammaSphere",
    "Gaussian",
    "Grid",
    "Laplace",
    "Noise",
    "Randomness",
    "Seeded",
    "System",
    "as_randomness",
    "below_exps",
    "coin",
    "exponential_mechanism",
    "geometric",
    "integers",
    "permutation",
    "permute_and_flip",
    "release",
    "signs",
    "top",
]


class Noise(Protocol):
    """A law of noise, rounded exactly to a grid."""

    @property
    def grid(self) -> Grid:
        """The grid the noise lies on."""
        ...

    def sample(self, shape: tuple[int, ...], random: Randomness) -> Array:
        """Return noise, all multiples of the grid's step."""
        ...

    def displacement(self, dim: int) -> float:
        """Return a bound on the distance between the drawn and the ideal vector."""
        ...


NOISES: dict[str, type[Gaussian] | type[Laplace] | type[GammaSphere]] = {
    "gaussian": Gaussian,
    "laplace": Laplace,
    "gamma-sphere": GammaSphere,
}
"""The noises by name; each takes its scale and a grid."""


def release(x: Array, noise: Noise, random: Randomness) -> Array:
    """Return ``x`` on the grid plus noise, an exact sum.

    Account for it with the sensitivity ``noise.grid.surcharged(...)``.

    Parameters
    ----------
    x
        The value to protect; clipped to the grid's reach. Non-finite values raise.
    noise
        What to add.
    random
        Where the bits come from.

    Examples
    --------
    >>> import numpy as np
    >>> noise = Gaussian(1.0, Grid(step=0.25, reach=4.0))
    >>> y = release(np.array([0.1, 3.0]), noise, Seeded(0))
    >>> bool((y % 0.25 == 0).all())
    True
    """
    # privacy: both terms are whole steps below 2**51, so the sum is exact in float64.
    whole = noise.grid.round(x)
    return whole + noise.sample(whole.shape, random)
