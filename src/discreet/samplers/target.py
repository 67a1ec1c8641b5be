"""What is sampled, and the one coin every exact sampler ends with."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from mpmath import mpf

from discreet.errors import NotCertified
from discreet.noise import Randomness
from discreet.noise.selection import below_exp
from discreet.samplers.region import Region
from discreet.types import Array


@dataclass(frozen=True)
class Target:
    """The law ``P(w) ~ exp(-score(w))`` on the lattice points of a region.

    The score *is* the float64 number that ``evaluate`` returns: a deterministic
    function of data and point. What rounding does to it is part of the range
    the plan accounts for, so nothing here is approximate.

    Parameters
    ----------
    region
        Where the law lives.
    evaluate
        Returns the score and a subgradient of it at a flat point.
    slack
        Public bound on how far rounding lets a tangent exceed the scores.
    """

    region: Region
    evaluate: Callable[[Array], tuple[float, Array]]
    slack: float


def accepts(
    near: float, size: float, exact: Callable[[], Any], target: Target, random: Randomness
) -> bool:
    """Toss a coin of chance ``exp(exact() - 2 slack)``, or raise if that is above 1.

    Parameters
    ----------
    near
        The exponent in float64.
    size
        Sum of the magnitudes it was computed from.
    exact
        The exponent at mpmath's working precision.
    target, random
        Whose slack is used, and the source of bits.

    Examples
    --------
    >>> from discreet.noise import Seeded
    >>> from discreet.sets import Box
    >>> target = Target(Region.of(Box(), (1,)), lambda w: (0.0, w), 1e-6)
    >>> accepts(-800.0, 800.0, lambda: mpf(-800), target, Seeded(0))
    False
    """
    error = 2.0**-45 * (64.0 + size)
    # privacy: an envelope below its target would bend the law, so nothing may come out.
    if not (near <= target.slack and error <= target.slack):
        raise NotCertified(
            "A sampler found its envelope below the density, so the loss is not convex or its "
            "gradient is wrong. Nothing was released."
        )
    # privacy: the same constant for every point, so that it divides out of the law.
    paid = 2.0 * target.slack
    return below_exp(near - paid, error, lambda: exact() - mpf(paid), random)
