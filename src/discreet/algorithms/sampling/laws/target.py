"""What is sampled, and the one coin every exact sampler ends with."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from mpmath import mpf

from discreet.algorithms.sampling.laws.region import Region
from discreet.bounds import Array
from discreet.errors import Incompatible, NotCertified
from discreet.noise import Randomness
from discreet.noise.coins import below_exp
from discreet.noise.randomness import Words

MOST_SLACK = 4.0
"""Slack beyond which hardly any proposal would be kept; each pays for it twice."""


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


def check_slack(slack: float) -> None:
    """Refuse a law that is sharper than its scores are exact; decided by public values alone.

    >>> check_slack(1e-6)
    """
    if not slack <= MOST_SLACK:
        raise Incompatible(
            "At this epsilon the law is so sharp that rounding of the scores decides it, and a "
            "draw would hardly ever end. Use a smaller epsilon or another algorithm."
        )


class Begun:
    """A source of words whose first word has been looked at already.

    Parameters
    ----------
    first, rest
        The word, and where the later ones come from.

    Examples
    --------
    >>> from discreet.noise import Seeded
    >>> source = Begun(7, Seeded(0))
    >>> source.words(1).tolist(), bool((source.words(2) == Seeded(0).words(2)).all())
    ([7], True)
    """

    def __init__(self, first: int, rest: Randomness) -> None:
        self._first: int | None = first
        self._rest = rest

    @property
    def secure(self) -> bool:
        """Whether the later words are."""
        return self._rest.secure

    def words(self, n: int) -> Words:
        """Return the known word, then fresh ones."""
        if self._first is None:
            return self._rest.words(n)
        known, self._first = np.array([self._first], np.uint64), None
        return np.concatenate([known, self._rest.words(n - 1)])


def certify(near: float, size: float, target: Target) -> float:
    """Raise if an envelope lies below its density, or if rounding leaves that open.

    ``near`` is the log-ratio of density and envelope at a point, and ``size`` the
    sum of the magnitudes it was computed from. Returns its error.
    """
    error = 2.0**-45 * (64.0 + size)
    # privacy: an envelope below its target would bend the law, so nothing may come out.
    if not (near <= target.slack and error <= target.slack):
        raise NotCertified(
            "A sampler found its envelope below the density, so the loss is not convex or its "
            "gradient is wrong. Nothing was released."
        )
    return error


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
    error = certify(near, size, target)
    # privacy: the same constant for every point, so that it divides out of the law.
    paid = 2.0 * target.slack
    return below_exp(near - paid, error, lambda: exact() - mpf(paid), random)
