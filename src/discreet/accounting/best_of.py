"""Best of a random number of runs: what is paid when only the winner is published.

A run draws an output with a score. ``K`` runs are made, ``K`` random and secret, and
the output of the best score is published, and nothing else. Let ``phi`` be the
generating function of ``K``. The published output has density ``Q(y) phi'(1 - u)``
where ``Q`` is the law of one run and ``u`` the chance that a run is better than ``y``. On
a neighbour that chance is at most ``v(u) = min over e of delta(e) + exp(e) u``. Since
``phi'`` increases,

    delta_best(e) <= E h(exp(-X)),   h(t) = max over u of phi'(1-u) - exp(e) t phi'(1-v(u)),

with ``X`` the privacy loss of one run; ``h`` is convex, so a pair that dominates a run's
may stand for it. The proof is in ``docs/proofs/tuning/best-of-random-tries.md``.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from mpmath import mp, mpf

from discreet.accounting.events import (
    Approximate,
    BoundedRange,
    Curve,
    Event,
    Gaussian,
    Laplace,
    Pure,
    event_from_dict,
    register,
)
from discreet.accounting.gaussian_profile import least
from discreet.accounting.loss_grid import LossGrid
from discreet.accounting.pld import convex_hull, profile_of
from discreet.bounds import Array
from discreet.checks import between, finite, positive
from discreet.errors import InvalidParameter

_SIMPLE = (Gaussian, Pure, Laplace, BoundedRange, Approximate)
_CELLS, _KNOTS = 1600, 32  # of a curve, and points where a curve that takes long is asked
_POINTS, _FINEST = 20_000, 1e-5  # of the grid of chances
_TAIL, _FAR, _ANY = 1e-20, 300.0, 1e15
_OUTWARDS = 1.0 + 1e-9  # more than float64 loses in these sums
_ORDERS = np.geomspace(1.01, 1e6, 120)


@dataclass(frozen=True)
class NegativeBinomialTries:
    """``P[K = k]`` proportional to ``(1-gamma)^k prod_{l<k} (l + eta) / (l + 1)``, from 1 on.

    ``eta = 1`` is the geometric law and ``eta = 0`` the logarithmic one.

    >>> NegativeBinomialTries.expecting(30.0, eta=1.0).mean
    30.0
    """

    eta: float
    gamma: float

    def __post_init__(self) -> None:
        if not finite("eta", self.eta) > -1:
            raise InvalidParameter(f"eta must be above -1. Got {self.eta!r} instead.")
        if self.gamma != 1.0:
            between("gamma", self.gamma, 0, 1)

    @classmethod
    def expecting(cls, mean: float, eta: float) -> NegativeBinomialTries:
        """Return the law with that mean number of tries."""
        if not positive("expected_tries", mean) >= 1:
            raise InvalidParameter(f"expected_tries must be at least 1. Got {mean!r} instead.")
        if eta == 1.0 or mean == 1.0:
            return cls(eta, 1.0 / mean)
        return cls(eta, 1.0 / least(lambda g: cls(eta, 1.0 / g).mean >= mean, accuracy=1e-12))

    @property
    def mean(self) -> float:
        """The expected number of tries."""
        g, eta = self.gamma, self.eta
        if g == 1.0:
            return 1.0
        if eta == 0.0:
            return (1.0 - g) / (g * -math.log(g))
        return eta * (1.0 - g) / (g * -math.expm1(eta * math.log(g)))

    def slope(self, u: Array) -> Array:
        """Return ``phi'(1 - u)``."""
        g = self.gamma
        return np.asarray(self.mean * (g / (g + (1.0 - g) * u)) ** (self.eta + 1.0))

    def missing(self, share: float) -> float:
        """Return the chance that no try has a property that a run has with that chance.

        >>> round(NegativeBinomialTries.expecting(10.0, 1.0).missing(1 / 3), 2)
        0.17
        """
        g, eta, rest = self.gamma, self.eta, 1.0 - (1.0 - self.gamma) * (1.0 - share)
        if g == 1.0:
            return 1.0 - share
        if eta == 0.0:
            return math.log(rest) / math.log(g)
        return math.expm1(-eta * math.log(rest)) / math.expm1(-eta * math.log(g))

    def pure(self, epsilon: float) -> float:
        """Return the pure epsilon of the best of runs that have that one."""
        # privacy: phi'(1-u) / phi'(1-v) <= (v/u)^(eta+1), and v <= exp(epsilon) u.
        return (2.0 + self.eta) * epsilon

    def renyi(self, event: Event, order: float) -> float:
        """Return the Renyi bound of Papernot and Steinke 2022, theorem 2."""
        # Any order of the second bound is valid, so the best of a grid is.
        spent = [(1.0 - 1.0 / a) * event.rdp(a) - math.log(self.gamma) / a for a in _ORDERS]
        second = min(-math.log(self.gamma), *spent)
        # privacy: Renyi divergences grow with their order, so a bound of a larger one holds too.
        larger = [order, *_ORDERS[order < _ORDERS]]
        first = min(event.rdp(a) + math.log(self.mean) / (a - 1.0) for a in larger)
        return float(first + (1.0 + self.eta) * second)

    def masses(self) -> Iterator[tuple[int, Any]]:
        """Yield every number of tries and its chance, at mpmath's precision."""
        g, eta, k = mpf(self.gamma), mpf(self.eta), 1
        mass = (1 - g) / -mp.log(g) if eta == 0 else eta * (1 - g) / mp.expm1(-eta * mp.log(g))
        while True:
            yield k, mass
            mass, k = mass * (1 - g) * (k + eta) / (k + 1), k + 1

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return {"law": "negative-binomial", "eta": self.eta, "gamma": self.gamma}


@dataclass(frozen=True)
class PoissonTries:
    """A Poisson number of tries; of none at all a public default is published.

    >>> PoissonTries(10.0).mean
    10.0
    """

    mean: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "mean", positive("mean", self.mean))

    @property
    def gamma(self) -> float:
        """Scale of chances on which the law changes."""
        return min(1.0, 1.0 / self.mean)

    def slope(self, u: Array) -> Array:
        """Return ``phi'(1 - u)``."""
        return np.asarray(self.mean * np.exp(-self.mean * u))

    def missing(self, share: float) -> float:
        """Return the chance that no try has a property that a run has with that chance."""
        return math.exp(-self.mean * share)

    def pure(self, epsilon: float) -> float:
        """Return the pure epsilon of the best of runs that have that one."""
        # privacy: phi'(1-u) / phi'(1-v) = exp(mean (v - u)), and v - u <= tanh(epsilon / 2).
        return epsilon + self.mean * math.tanh(epsilon / 2.0) * (1.0 + 1e-15)

    def renyi(self, event: Event, order: float) -> float:
        """Return infinity: no bound is claimed."""
        return math.inf

    def masses(self) -> Iterator[tuple[int, Any]]:
        """Yield every number of tries and its chance, at mpmath's precision."""
        mean, k = mpf(self.mean), 0
        mass = mp.exp(-mean)
        while True:
            yield k, mass
            mass, k = mass * mean / (k + 1), k + 1

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return {"law": "poisson", "mean": self.mean}


Tries = NegativeBinomialTries | PoissonTries


@register("best-of")
@dataclass(frozen=True)
class BestOf(Curve):
    """The best of a random number of equal runs, where nothing else is published.

    Parameters
    ----------
    base
        Cost of one run, its score included.
    tries
        Law of the number of runs, which stays secret.

    Examples
    --------
    >>> best = BestOf(Pure(0.1), NegativeBinomialTries.expecting(30.0, eta=1.0))
    >>> best.delta(0.3)
    0.0
    """

    base: Event
    tries: Tries

    def profile(self, epsilons: Array) -> Array:
        pure = self.tries.pure(_pure_epsilon(self.base))
        found = np.array([_delta(self.base, self.tries, float(e)) for e in epsilons])
        return np.where(epsilons >= pure, 0.0, found)

    def rdp(self, order: float) -> float:
        return min(self.tries.renyi(self.base, order), self.tries.pure(_pure_epsilon(self.base)))

    def to_dict(self) -> dict[str, Any]:
        return {"event": self.name, "base": self.base.to_dict(), "tries": self.tries.to_dict()}

    @classmethod
    def from_fields(cls, values: dict[str, Any]) -> BestOf:
        tries = dict(values["tries"])
        law = tries.pop("law", None)
        if law not in ("negative-binomial", "poisson"):
            raise InvalidParameter(f"Unknown law of tries {law!r}.")
        kind = NegativeBinomialTries if law == "negative-binomial" else PoissonTries
        return cls(event_from_dict(values["base"]), kind(**tries))


@lru_cache(maxsize=256)
def _pure_epsilon(event: Event) -> float:
    if event.delta(_ANY) > 0:
        return math.inf
    return least(lambda e: event.delta(e) <= 0) if event.delta(0.0) > 0 else 0.0


def _delta(base: Event, tries: Tries, epsilon: float) -> float:
    curve = _curve(base)
    if curve is None:
        return 1.0
    losses = LossGrid.joined(curve[0], curve[1], curve[1])
    steps, slopes, levels = _lines(base, tries)
    # max over lines level - s * step, at the vertex of their envelope that s picks
    s = np.exp(np.minimum(epsilon - losses.values, 700.0))
    at = np.searchsorted(slopes, -s)
    # privacy: rounding may pick the neighbour of the best vertex, so its neighbours count too.
    near = np.clip(at[:, None] + np.array([-1, 0, 1]), 0, len(steps) - 1)
    h = np.maximum((levels[near] - s[:, None] * steps[near]).max(axis=1), 0.0)
    top = float(tries.slope(np.zeros(1))[0])
    # privacy: a loss without end counts as the largest value, and masses that
    # rounding took away are given back.
    lost = max(0.0, 1.0 - losses.infinite - float(losses.masses.sum()))
    return min(1.0, (float(losses.masses @ h) + (losses.infinite + lost) * top) * _OUTWARDS)


@lru_cache(maxsize=64)
def _curve(event: Event) -> tuple[float, Array] | None:
    """Return a gap and an upper bound on the curve at its multiples, convex in exp(epsilon)."""
    floor = event.delta(_FAR)
    if floor >= 1.0:
        return None
    reach = least(lambda e: event.delta(e) <= floor + _TAIL, limit=_FAR, accuracy=0.05)
    reach = min(max(reach, 1e-6), _FAR)
    gap = reach / _CELLS
    grid = gap * np.arange(_CELLS + 1.0)
    if isinstance(event, _SIMPLE):
        values = profile_of(event, grid)
    else:
        knots = np.linspace(0.0, reach, _KNOTS + 1)
        # privacy: curves are convex in exp(epsilon), so their chords lie above them.
        values = np.interp(np.exp(grid), np.exp(knots), profile_of(event, knots))
    return gap, np.clip(convex_hull(np.exp(grid), values), 0.0, 1.0)


@lru_cache(maxsize=64)
def _lines(base: Event, tries: Tries) -> tuple[Array, Array, Array]:
    """Return the envelope of the lines whose maximum is h, by increasing step."""
    curve = _curve(base)
    assert curve is not None
    gap, right = curve
    scale = _FINEST * tries.gamma
    u = np.concatenate([[0.0], np.geomspace(scale, 1.0, _POINTS)])
    # privacy: between grid points phi'(1-u) is at most its value at the left end, and
    # phi'(1-v(u)) at least its value at the right end.
    level = tries.slope(u[:-1])
    step = tries.slope(_worse(gap, right, u[1:]))
    order = np.lexsort((-level, step))
    step, level = step[order], level[order]
    first = np.concatenate([[True], np.diff(step) > 0])
    step, level = step[first], level[first]
    hull = -convex_hull(step, -level)
    slopes = np.maximum.accumulate(np.diff(-hull) / np.diff(step))
    return step, slopes, hull


def _worse(gap: float, right: Array, u: Array) -> Array:
    """Return the largest chance on a neighbour of what has the chance u."""
    exps = np.exp(gap * np.arange(len(right)))
    # The curve at epsilon and, of the exchanged pair, at minus epsilon; see two_sided.
    factors = np.concatenate([1.0 / exps[:0:-1], exps])
    deltas = np.concatenate([(1.0 - (1.0 - right) / exps)[:0:-1], right])
    # privacy: every line delta + factor u bounds the chance, so any choice of one is valid.
    falls = np.maximum.accumulate(-np.diff(deltas)[::-1] / np.diff(factors)[::-1])[::-1]
    at = len(falls) - np.searchsorted(falls[::-1], u, side="right")
    return np.minimum(deltas[at] + factors[at] * u, 1.0)
