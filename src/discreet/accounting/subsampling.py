"""Gaussian noise on sums over random batches of rows.

``multiplier`` is always the standard deviation of the noise divided by the
largest norm of *one row's* contribution, whatever the relation; the events
know by how much a replacement moves a sum. ``steps`` batches are drawn afresh,
each free to depend on earlier releases.

Poisson batches. Under zero-out and add-remove the worst pair is
``(1-q) N(0) + q N(1)`` against ``N(0)``, in either order, and the order is the
same at every step. Under replace-one it is ``(1-q) N(0) + q N(+1)`` against
``(1-q) N(0) + q N(-1)``.

Poisson batches with a cap: of more than ``cap`` rows drawn, ``cap`` are kept at
random. While the *other* rows drawn are fewer than the cap, nothing changes. Once
they are ``cap`` or more, the row enters with less than its rate and then in the
place of another one: both worlds can be told from the same batch without the row,
from which they are at most two rows away instead of one, so twice the shift covers
them, whatever the relation. The others reach the cap with at most the probability
``t`` that ``n - 1`` coins have ``cap`` heads, and telling whether they did can only
help an observer: the curve is ``(1-t) D(multiplier) + t D(multiplier/2)`` of the
pairs above. Fewer other rows reach the cap less often, so blank rows are covered.

Batches of fixed size, drawn without replacement. With ``u = 2/multiplier`` the
profile ``D(x) = q dG(log(1 + (exp(x) - 1)/q); u)``, ``x >= 0``, bounds every
pair in both directions: a batch with the row and one without it are two rows
apart. Poisson accounting is *not* valid for them.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import ClassVar

import numpy as np
from scipy.special import betainc, gammaln, logsumexp

from discreet.accounting.batch_losses import fixed_size_losses, poisson_losses
from discreet.accounting.events import Curve, Event, register
from discreet.accounting.gaussian_profile import TINY, gaussian_multiplier, gaussian_profile
from discreet.accounting.loss_grid import LossGrid
from discreet.bounds import NEIGHBOURS, Array, Neighbours, rows_apart
from discreet.checks import between, integer, one_of, positive
from discreet.errors import Incompatible, InvalidParameter

_TAIL = 1e-18
_DEEP = 1e-150  # the same where masses are tilted
_LOST = 1e-15  # mass that may be misplaced in all
_TILTS = 2.0 ** (np.arange(56) / 2 - 4)  # 1/16 to 12 million
_MOST_TILTS = 24  # of one curve
_VISIBLE = 1e-2  # share of a curve that may pay for what transforms hide
_ACCURACY = 1e-4
# Below this noise one batch tells all about its rows, and losses outgrow the grids.
_LEAST = 0.125
_MOST_STEPS = 2**36  # beyond, cells would be wider than one batch's loss


@dataclass(frozen=True)
class _Sampled(Curve):
    """What all kinds of batches share."""

    smooth: ClassVar[bool] = True
    multiplier: float
    rate: float
    steps: int
    neighbours: Neighbours

    def __post_init__(self) -> None:
        object.__setattr__(self, "multiplier", positive("multiplier", self.multiplier))
        object.__setattr__(self, "rate", between("rate", self.rate, 0, 1))
        integer("steps", self.steps, maximum=10**40)
        one_of("neighbours", self.neighbours, NEIGHBOURS)

    def unit(self) -> tuple[Curve, int]:
        return replace(self, steps=1), self.steps

    def repeated(self, times: int) -> tuple[Curve, ...]:
        return (replace(self, steps=times * self.steps),)

    @abstractmethod
    def _once(self, tail: float) -> tuple[LossGrid, ...]:
        """Return the losses of one batch up to a tail, in either order of the pair."""

    def profile(self, epsilons: Array) -> Array:
        # Telling the batches can only help an observer; then nothing but Gaussians is left.
        plain = gaussian_profile(epsilons, self._apart * math.sqrt(self.steps) / self.multiplier)
        # privacy: neighbours differ only if some batch holds the row, so this needs no noise.
        entered = -math.expm1(self.steps * math.log1p(-self.rate)) * (1 + 1e-9) + TINY
        simple = np.minimum(plain, min(1.0, entered))
        if self.multiplier < _LEAST or self.steps > _MOST_STEPS:
            return simple
        return np.minimum(simple, self._amplified(epsilons))

    def _amplified(self, epsilons: Array) -> Array:
        values, hidden = self._curve(0.0, epsilons)
        for _ in range(_MOST_TILTS):
            (unclear,) = np.nonzero(hidden > np.maximum(_VISIBLE * values, _DEEP))
            if not len(unclear):
                break
            at = epsilons[unclear]
            found, paid = self._curve(self._tilt(float(at.min())), at)
            better = found < values[unclear]
            values[unclear] = np.where(better, found, values[unclear])
            # What this tilt was chosen for is as clear as it gets.
            hidden[unclear] = np.where(at == at.min(), 0.0, np.where(better, paid, hidden[unclear]))
        # privacy: a Gaussian tail is never exactly 0.
        return np.asarray(np.minimum(values, 1.0) + TINY)

    def _curve(self, tilt: float, epsilons: Array) -> tuple[Array, Array]:
        """Return the curve by tilted masses, and how much of it pays for what they hide."""
        orders = _all_batches(self, tilt)
        # privacy: the order of a pair is the same at every step, so the worse one counts.
        values = np.max([losses.deltas(epsilons) for losses in orders], axis=0)
        return values, np.max([losses.hidden(epsilons) for losses in orders], axis=0)

    def _tilt(self, epsilon: float) -> float:
        """Return the tilt that hides least of the curve at ``epsilon``, among a few."""
        low, high = 0, len(_TILTS) - 1
        while low < high:
            middle = (low + high) // 2
            now, then = (
                self.steps * _log_moment(self, k) - _TILTS[k] * epsilon
                for k in (middle, middle + 1)
            )
            low, high = (low, middle) if now <= then else (middle + 1, high)
        return float(_TILTS[low])

    @property
    def _apart(self) -> int:
        """How far neighbours' sums over one given batch are apart, in row norms."""
        return rows_apart(self.neighbours)

    def rdp(self, order: float) -> float:
        return self.steps * order * self._apart**2 / (2 * self.multiplier**2)


@register("poisson-gaussian")
@dataclass(frozen=True)
class PoissonGaussian(_Sampled):
    """Gaussian noise on sums over batches that each row enters independently.

    Parameters
    ----------
    multiplier
        Standard deviation of the noise over the largest norm of one row's part.
    rate
        Probability with which a row enters a batch, below 1.
    steps
        Number of batches.
    neighbours
        The relation the curve is for.

    Examples
    --------
    >>> event = PoissonGaussian(2.0, 0.01, 1000, "zero-out")
    >>> bool(abs(event.delta(0.6220) - 1e-5) < 2e-7)
    True
    """

    def _once(self, tail: float) -> tuple[LossGrid, ...]:
        return poisson_losses(self.multiplier, self.rate, self.steps, self.neighbours, 0.0, tail)

    def rdp(self, order: float) -> float:
        plain = super().rdp(order)
        if self.neighbours == "replace-one" or not order <= 512:
            return plain
        # privacy: at the next whole order; Renyi curves only grow.
        whole = max(2, math.ceil(order))
        return min(plain, self.steps * _poisson_rdp(self.multiplier, self.rate, whole))


@register("capped-poisson-gaussian")
@dataclass(frozen=True)
class CappedPoissonGaussian(_Sampled):
    """Gaussian noise on sums over Poisson batches of at most ``cap`` rows.

    Larger batches are cut to ``cap`` rows at random. How often that happens
    depends on the number of rows, so add-remove is refused.

    Parameters
    ----------
    multiplier, rate, steps, neighbours
        As for :class:`PoissonGaussian`.
    cap
        Most rows in a batch.
    n_rows
        Rows in the data, public.

    Examples
    --------
    >>> event = CappedPoissonGaussian(1.41463, 0.01, 1000, "zero-out", cap=150, n_rows=10_000)
    >>> bool(abs(event.delta(1.00013) - 1e-5) < 2e-8)
    True
    """

    cap: int
    n_rows: int

    def __post_init__(self) -> None:
        super().__post_init__()
        if not integer("cap", self.cap) < integer("n_rows", self.n_rows) < 2**62:
            raise InvalidParameter(
                "cap must be below n_rows, or nothing would be cut; leave it out."
            )
        if self.neighbours == "add-remove":
            raise Incompatible(
                "How often a batch reaches its cap depends on the number of rows, which add-remove "
                "keeps secret. Leave cap out, or use neighbours='zero-out' or 'replace-one'."
            )

    @property
    def reached(self) -> float:
        """Probability that the other rows alone fill a batch, at most."""
        full = float(betainc(self.cap, self.n_rows - self.cap, self.rate))
        return min(1.0, full * (1 + 1e-9) + TINY)  # privacy: rounded up

    @property
    def _apart(self) -> int:
        return 2

    def _once(self, tail: float) -> tuple[LossGrid, ...]:
        return poisson_losses(
            self.multiplier, self.rate, self.steps, self.neighbours, self.reached, tail
        )

    def rdp(self, order: float) -> float:
        if not 1.0 < order < math.inf:
            return super().rdp(order)
        one, two = (
            (order - 1) * PoissonGaussian(z, self.rate, 1, self.neighbours).rdp(order)
            for z in (self.multiplier, self.multiplier / 2)
        )
        t = self.reached
        return self.steps * float(logsumexp([one, two], b=[1 - t, t])) / (order - 1)


@register("fixed-size-gaussian")
@dataclass(frozen=True)
class FixedSizeGaussian(_Sampled):
    """Gaussian noise on sums over batches of a fixed number of rows.

    Batches are drawn without replacement. The size of the data is public, so
    add-remove is refused. Under zero-out a batch without the row may still be
    two rows away from one with it, so both relations share the curve.

    Parameters
    ----------
    multiplier, steps, neighbours
        As for :class:`PoissonGaussian`.
    rate
        Rows in a batch over rows in the data, below 1.

    Examples
    --------
    >>> event = FixedSizeGaussian(4.0, 0.01, 1000, "replace-one")
    >>> bool(abs(event.delta(0.7186) - 1e-5) < 2e-7)
    True
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.neighbours == "add-remove":
            raise Incompatible(
                "Batches of a fixed size need a public number of rows, which add-remove keeps "
                "secret. Use Poisson batches, or neighbours='zero-out' or 'replace-one'."
            )

    def _once(self, tail: float) -> tuple[LossGrid, ...]:
        return fixed_size_losses(self.multiplier, self.rate, self.steps, tail)


@lru_cache(maxsize=2**13)
def _poisson_rdp(multiplier: float, rate: float, order: int) -> float:
    """Return the Renyi bound of one batch at a whole order (Mironov, Talwar, Zhang 2019)."""
    a, k = order, np.arange(order + 1)
    terms = (
        gammaln(a + 1) - gammaln(k + 1) - gammaln(a - k + 1)
        + k * math.log(rate) + (a - k) * math.log1p(-rate)
        + k * (k - 1) / (2 * multiplier**2)
    )  # fmt: skip
    return max(0.0, float(logsumexp(terms))) / (a - 1)


@lru_cache(maxsize=32)
def _all_batches(event: _Sampled, tilt: float) -> tuple[LossGrid, ...]:
    """Return the losses of all batches, in either order of the pair."""
    once = event._once(_TAIL if tilt == 0.0 else _DEEP)
    # privacy: the order of a pair is the same at every step, so each order is composed by itself.
    return tuple(
        (losses.tilted(tilt) if tilt else losses).repeated(event.steps, _LOST) for losses in once
    )


@lru_cache(maxsize=256)
def _log_moment(event: _Sampled, k: int) -> float:
    return max(losses.log_moment(float(_TILTS[k])) for losses in event._once(_DEEP))


def sampled_multiplier(
    event: Callable[[float], Event], epsilon: float, delta: float, *, rate: float, steps: int
) -> float:
    """Return a multiplier at which ``event(multiplier)`` costs at most (epsilon, delta).

    Within a ten-thousandth of the smallest one, and never below an eighth: where
    sampling alone costs less than delta no noise would be needed.

    Parameters
    ----------
    event
        The event as a function of its multiplier.
    epsilon, delta
        What it may cost.
    rate, steps
        Sampling rate and number of batches, where the search starts.

    Examples
    --------
    >>> z = sampled_multiplier(lambda z: PoissonGaussian(z, 0.01, 1000, "zero-out"),
    ...                        1.0, 1e-5, rate=0.01, steps=1000)
    >>> round(z, 3)
    1.415
    """

    def excess(log_multiplier: float) -> float:
        return math.log(event(math.exp(log_multiplier)).delta(epsilon) / delta)

    # Where amplification is efficient the answer is near this; elsewhere it lies above.
    start = rate * math.sqrt(steps) * gaussian_multiplier(epsilon, delta)
    high = math.log(max(start, 0.7))
    f_high, stride = excess(high), 0.1
    low, f_low = high, f_high
    while f_high > 0:
        low, f_low = high, f_high
        high, stride = high + stride, 1.6 * stride
        f_high = excess(high)
    floor = math.log(_LEAST) + _ACCURACY
    while f_low <= 0 and low > floor:
        high, f_high = low, f_low
        low, stride = max(floor, low - stride), 1.6 * stride
        f_low = excess(low)
    if f_low <= 0:
        return math.exp(low)
    while high - low > _ACCURACY:
        # False position, kept away from the ends so that both of them move.
        share = min(0.95, max(0.05, f_low / (f_low - f_high)))
        middle = low + share * (high - low)
        if high - middle > _ACCURACY / 2:
            middle += _ACCURACY / 3
        f_middle = excess(middle)
        if f_middle > 0:
            low, f_low = middle, f_middle
        else:
            high, f_high = middle, f_middle
    return math.exp(high)
