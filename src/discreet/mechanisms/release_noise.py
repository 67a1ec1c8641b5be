"""Calibrated noise for releasing one vector of known sensitivity.

The vector is put on a public grid of powers of two first, so that the release
is post-processing of the ideal continuous mechanism on integers; what the
rounding adds to the sensitivity is paid for here.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from discreet.accounting import Budget, gaussian_multiplier
from discreet.accounting import events as event
from discreet.accounting.utility import mean_squared_noise
from discreet.bounds import Array
from discreet.checks import one_of
from discreet.errors import Incompatible
from discreet.noise import GammaSphere, Gaussian, Grid, Laplace, Noise, Randomness
from discreet.noise import release as add_on_grid

Kind = Literal["gaussian", "gamma", "laplace"]


@dataclass(frozen=True)
class ReleaseNoise:
    """Noise ready to be added to a vector, its event and its size."""

    kind: Kind
    noise: Noise
    event: event.Event
    scale: float
    mean_square: float

    def rounding(self, dimension: int) -> float:
        """Return how far the grid moves a vector, at most."""
        return self.noise.grid.step * math.sqrt(dimension) / 2

    def add(self, vector: Array, random: Randomness) -> Array:
        """Return ``vector`` on the grid with noise added; the only exit of data."""
        return add_on_grid(vector, self.noise, random)


def default_kind(budget: Budget) -> Kind:
    """Return the best noise for a budget: Gaussian with a delta, gamma-radius without.

    >>> default_kind(Budget(1.0)), default_kind(Budget(1.0, 1e-6))
    ('gamma', 'gaussian')
    """
    return "gaussian" if budget.delta > 0 else "gamma"


def spent_by(kind: Kind | None, budget: Budget) -> Budget:
    """Return what noise of a kind spends of a budget: pure noise leaves its delta.

    >>> spent_by("gamma", Budget(1.0, 1e-6)), spent_by("gaussian", Budget(1.0, 1e-6)).delta
    (Budget(epsilon=1.0, delta=0.0), 1e-06)
    """
    if kind is None:
        return budget
    if one_of("noise", kind, NOISE_KINDS) != "gaussian":
        return budget.part(budget.epsilon)
    if budget.delta == 0:
        raise Incompatible(
            "Gaussian noise needs delta > 0; a Gaussian release is never purely "
            "epsilon-private. Pass delta, or noise='gamma'."
        )
    return budget


def release_noise(
    sensitivity: float,
    budget: Budget,
    *,
    dimension: int,
    kind: Kind | None = None,
    reach: float | None = None,
) -> ReleaseNoise:
    """Calibrate noise for a vector of l2 ``sensitivity``.

    Parameters
    ----------
    sensitivity
        Largest l2 distance between the vectors of neighbouring data sets.
    budget
        What the release may cost.
    dimension
        Number of coordinates.
    kind
        ``"gaussian"``, ``"gamma"`` (density falling with the l2 norm) or
        ``"laplace"``; by default the best for the budget.
    reach
        Public bound the coordinates are clipped to; by default so wide that
        it costs a surcharge of 2^-12 at most.

    Examples
    --------
    >>> noise = release_noise(0.1, Budget(1.0, 1e-5), dimension=10)
    >>> noise.kind, round(noise.scale, 4)
    ('gaussian', 0.3731)
    """
    kind = default_kind(budget) if kind is None else kind
    one_of("noise", kind, NOISE_KINDS)
    if reach is None:
        reach = 2.0**36 * sensitivity / math.sqrt(dimension)
    return NOISE_KINDS[kind](sensitivity, budget, dimension, reach)


def _gaussian(sensitivity: float, budget: Budget, dimension: int, reach: float) -> ReleaseNoise:
    spent_by("gaussian", budget)
    grid = Grid.choose(sensitivity=sensitivity, dim=dimension, norm="l2", reach=reach)
    paid = grid.surcharged(sensitivity, dimension, "l2")  # privacy: rounding is in the sensitivity
    sigma = paid * gaussian_multiplier(budget.epsilon, budget.delta)
    return ReleaseNoise(
        "gaussian",
        Gaussian(sigma=sigma, grid=grid),
        event.Gaussian(multiplier=sigma / paid),
        sigma,
        mean_squared_noise("gaussian", sigma, dimension),
    )


def _gamma(sensitivity: float, budget: Budget, dimension: int, reach: float) -> ReleaseNoise:
    grid = Grid.choose(sensitivity=sensitivity, dim=dimension, norm="l2", reach=reach)
    paid = grid.surcharged(sensitivity, dimension, "l2")  # privacy: rounding is in the sensitivity
    scale = paid / budget.epsilon
    return ReleaseNoise(
        "gamma",
        GammaSphere(scale=scale, grid=grid),
        event.Pure(epsilon=budget.epsilon),
        scale,
        mean_squared_noise("gamma", scale, dimension),
    )


def _laplace(sensitivity: float, budget: Budget, dimension: int, reach: float) -> ReleaseNoise:
    l1 = math.sqrt(dimension) * sensitivity
    grid = Grid.choose(sensitivity=l1, dim=dimension, norm="l1", reach=reach)
    paid = grid.surcharged(l1, dimension, "l1")  # privacy: rounding is in the sensitivity
    scale = paid / budget.epsilon
    return ReleaseNoise(
        "laplace",
        Laplace(scale=scale, grid=grid),
        event.Pure(epsilon=budget.epsilon),
        scale,
        mean_squared_noise("laplace", scale, dimension),
    )


NOISE_KINDS: dict[str, Callable[[float, Budget, int, float], ReleaseNoise]] = {
    "gaussian": _gaussian,
    "gamma": _gamma,
    "laplace": _laplace,
}
