"""What one mechanism costs, as frozen values that know their own privacy curves.

An event bounds the privacy loss between any two neighbours, in both
directions. It fails closed: an unknown Renyi bound is infinite and an unknown
delta is 1. :class:`Composed` is adaptive composition.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from functools import cached_property
from itertools import chain, groupby
from typing import Any, ClassVar, Protocol, TypeVar, runtime_checkable

import numpy as np

from discreet.accounting.conversions import rdp_delta, zcdp_profile
from discreet.accounting.gaussian_profile import gaussian_profile, least, two_sided
from discreet.bounds import Array
from discreet.checks import integer, nonnegative, positive
from discreet.errors import DiscreetError, InvalidParameter


@runtime_checkable
class Event(Protocol):
    """The cost of one mechanism; implementations are frozen and hashable."""

    def __hash__(self) -> int: ...

    def rdp(self, order: float) -> float:
        """Return a Renyi bound of that order, valid in both directions."""
        ...

    def delta(self, epsilon: float) -> float:
        """Return a delta at that epsilon, valid in both directions."""
        ...

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values that :func:`event_from_dict` reads back."""
        ...


EVENTS: dict[str, type[Curve]] = {}
"""Every event by the name it is stored under."""

MOST_EVENTS, MOST_RUNS = 100_000, 256
"""How many events a composition that is read may have, and how many different ones in a row."""

_Class = TypeVar("_Class", bound="type[Curve]")


def register(name: str) -> Callable[[_Class], _Class]:
    """Return a decorator that enters an event class in ``EVENTS`` under ``name``.

    >>> EVENTS["gaussian"] is Gaussian
    True
    """

    def enter(cls: _Class) -> _Class:
        cls.name = name
        EVENTS[name] = cls
        return cls

    return enter


@dataclass(frozen=True)
class Curve(ABC):
    """Base of the events here: a profile for epsilon >= 0 gives delta everywhere."""

    name: ClassVar[str]
    smooth: ClassVar[bool] = False
    """Losses have a density and no end, so adding up deltas never is the best bound."""

    @abstractmethod
    def profile(self, epsilons: Array) -> Array:
        """Return a bound on delta at each nonnegative epsilon."""

    @abstractmethod
    def rdp(self, order: float) -> float:
        """Return a Renyi bound of that order, valid in both directions."""

    def delta(self, epsilon: float) -> float:
        """Return a delta at any real epsilon, valid in both directions."""
        return float(two_sided(self.profile, np.array([float(epsilon)]))[0])

    def unit(self) -> tuple[Curve, int]:
        """Return the event that this one repeats, and how often."""
        return self, 1

    def repeated(self, times: int) -> tuple[Curve, ...]:
        """Return events that cost as much as so many of this one, or less."""
        return (self,) * times

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values that :func:`event_from_dict` reads back."""
        return {"event": self.name} | {f.name: getattr(self, f.name) for f in self._fields()}

    @classmethod
    def from_fields(cls, values: dict[str, Any]) -> Curve:
        """Build the event from its JSON values."""
        return cls(**values)

    @classmethod
    def _fields(cls) -> tuple[Any, ...]:
        return fields(cls)


def event_from_dict(values: Mapping[str, Any]) -> Curve:
    """Read an event back from :meth:`Event.to_dict`.

    >>> event_from_dict({"event": "pure", "epsilon": 0.5})
    Pure(epsilon=0.5)
    """
    if not isinstance(values, Mapping):
        raise InvalidParameter("Pass what to_dict of an event returned.")
    kind = values.get("event")
    if not isinstance(kind, str) or kind not in EVENTS:
        raise InvalidParameter(f"An event must be one of {sorted(EVENTS)}.")
    cls = EVENTS[kind]
    expected = {f.name for f in cls._fields()}
    given = {name: value for name, value in values.items() if name != "event"}
    if set(given) != expected:
        raise InvalidParameter(f"Event {kind!r} has the fields {sorted(expected)} and no others.")
    try:
        return cls.from_fields(given)
    except DiscreetError:
        raise
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        raise InvalidParameter(f"Event {kind!r} has a field of the wrong kind.") from error


def epsilon_at(event: Event, delta: float) -> float:
    """Return the smallest epsilon at which ``event`` has that delta, or infinity.

    >>> epsilon_at(Pure(0.5), 0.0)
    0.5
    >>> round(epsilon_at(Gaussian(3.730631634816), 1e-5), 9)
    1.0
    """
    if not 0 <= delta <= 1:
        raise InvalidParameter(f"delta must lie in [0, 1]. Got {delta!r} instead.")
    if event.delta(0.0) <= delta:
        return 0.0
    found = least(lambda epsilon: event.delta(epsilon) <= delta, limit=1e4, accuracy=1e-12)
    # Bisection stops just above; prefer the short number when it is feasible too.
    tidy = float(f"{found:.10g}")
    return tidy if math.isfinite(found) and event.delta(tidy) <= delta else found


@register("gaussian")
@dataclass(frozen=True)
class Gaussian(Curve):
    """Gaussian noise with standard deviation ``multiplier`` times the l2 sensitivity.

    >>> round(Gaussian(2.0).rdp(3.0), 6)
    0.375
    """

    smooth: ClassVar[bool] = True
    multiplier: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "multiplier", positive("multiplier", self.multiplier))

    def profile(self, epsilons: Array) -> Array:
        return gaussian_profile(epsilons, 1 / self.multiplier)

    def rdp(self, order: float) -> float:
        # Divided twice, because the square of a multiplier may overflow.
        return order / 2 / self.multiplier / self.multiplier


def _log_cosh(x: float) -> float:
    if x < 1.0:
        return math.log1p(2.0 * math.sinh(x / 2.0) ** 2)
    return x - math.log(2.0) + math.log1p(math.exp(-2.0 * x))


@register("pure")
@dataclass(frozen=True)
class Pure(Curve):
    """Any mechanism with pure epsilon-differential privacy.

    >>> Pure(1.0).delta(1.0)
    0.0
    """

    epsilon: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", nonnegative("epsilon", self.epsilon))

    def profile(self, epsilons: Array) -> Array:
        gap = np.minimum(epsilons - self.epsilon, 0.0)
        return np.asarray(-np.expm1(gap) / (1 + math.exp(-self.epsilon)))

    def rdp(self, order: float) -> float:
        # Randomised response costs the most. In this form small epsilons do not cancel away.
        e = self.epsilon
        far, near = _log_cosh((order - 0.5) * e), _log_cosh(0.5 * e)
        # privacy: rounded up, for orders near 1 too.
        found = (far - near + 2.0**-48 * (far + near)) / (order - 1)
        return min(e, order * e * e / 2 * (1.0 + 2.0**-50), found)


@register("approximate")
@dataclass(frozen=True)
class Approximate(Curve):
    """Any mechanism of which only (epsilon, delta) is known; ``failure`` is its delta.

    >>> Approximate(1.0, 1e-6).delta(2.0)
    1e-06
    """

    epsilon: float
    failure: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", nonnegative("epsilon", self.epsilon))
        if not 0 <= self.failure <= 1:
            raise InvalidParameter(f"failure must lie in [0, 1]. Got {self.failure!r} instead.")

    def profile(self, epsilons: Array) -> Array:
        return self.failure + (1 - self.failure) * Pure(self.epsilon).profile(epsilons)

    def rdp(self, order: float) -> float:
        return Pure(self.epsilon).rdp(order) if self.failure == 0 else math.inf


@register("laplace")
@dataclass(frozen=True)
class Laplace(Curve):
    """Laplace noise on one number, of scale ``multiplier`` times its sensitivity.

    For a vector released with l1 sensitivity use ``Pure(1 / multiplier)``.

    >>> Laplace(2.0).delta(0.5)
    0.0
    """

    multiplier: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "multiplier", positive("multiplier", self.multiplier))

    def profile(self, epsilons: Array) -> Array:
        return np.asarray(-np.expm1(np.minimum(epsilons - 1 / self.multiplier, 0.0) / 2))

    def rdp(self, order: float) -> float:
        e, a = 1 / self.multiplier, order
        top = np.logaddexp(
            (a - 1) * e + math.log(a / (2 * a - 1)), -a * e + math.log((a - 1) / (2 * a - 1))
        )
        # privacy: rounded up; what is lost where terms cancel is less than the pure bound.
        found = (float(top) + 2.0**-48 * (1.0 + a * e)) / (a - 1)
        return min(Pure(e).rdp(order), max(0.0, found))


@register("zcdp")
@dataclass(frozen=True)
class ZCDP(Curve):
    """Any mechanism with rho zero-concentrated differential privacy.

    >>> ZCDP(0.1).rdp(2.0)
    0.2
    """

    rho: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "rho", positive("rho", self.rho))

    def profile(self, epsilons: Array) -> Array:
        return zcdp_profile(epsilons, self.rho)

    def rdp(self, order: float) -> float:
        return self.rho * order


@register("bounded-range")
@dataclass(frozen=True)
class BoundedRange(Curve):
    """Any mechanism whose log-ratio varies by at most ``eta`` over the outputs.

    The exponential mechanism with Gumbel noise is the standard case.

    >>> round(BoundedRange(0.3).delta(0.0), 7)
    0.0748597
    """

    eta: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "eta", positive("eta", self.eta))

    def profile(self, epsilons: Array) -> Array:
        gap = np.minimum(epsilons - self.eta, 0.0) / 2
        return np.asarray(np.expm1(gap) ** 2 / -math.expm1(-self.eta))

    def rdp(self, order: float) -> float:
        return min(order * self.eta**2 / 8, Pure(self.eta).rdp(order))


@register("composed")
@dataclass(frozen=True)
class Composed(Curve):
    """Several events one after the other, each free to depend on earlier outputs.

    Gaussian and zCDP events merge exactly; otherwise delta is the best of Renyi,
    privacy-loss-distribution and basic composition.

    >>> round(Composed((Gaussian(2.0), Gaussian(2.0))).delta(1.0), 9)
    0.039632593
    """

    events: tuple[Event, ...]

    def __post_init__(self) -> None:
        flat: list[Event] = []
        for event in self.events:
            flat.extend(event.events if isinstance(event, Composed) else (event,))
        object.__setattr__(self, "events", tuple(flat))

    def merged(self) -> tuple[Event, ...]:
        """Return fewer events of the same cost.

        They are one Gaussian, one zCDP, one of all batches drawn alike, and the others.
        """
        return self._merged

    @cached_property
    def _merged(self) -> tuple[Event, ...]:
        units: dict[Event, int] = {}
        for event, run in groupby(self.events):
            if not isinstance(event, Gaussian | ZCDP):
                one, times = event.unit() if isinstance(event, Curve) else (event, 1)
                units[one] = units.get(one, 0) + times * len(list(run))
        rest: list[Event] = []
        for one, times in units.items():
            rest.extend(one.repeated(times) if isinstance(one, Curve) else (one,) * times)
        noises = [e.multiplier for e in self.events if isinstance(e, Gaussian)]
        rho = sum(e.rho for e in self.events if isinstance(e, ZCDP))
        if noises:
            # privacy: squares of shares of the least noise; those of the multipliers themselves
            # could underflow, and the event would be left out as if it cost nothing.
            least_noise = min(noises)
            squares = sum((least_noise / noise) ** 2 for noise in noises)
            rest.append(Gaussian(least_noise * squares**-0.5))
        if rho:
            rest.append(ZCDP(rho))
        return tuple(rest)

    @cached_property
    def _counted(self) -> Counter[Event]:
        return Counter(self._merged)

    def profile(self, epsilons: Array) -> Array:
        return np.array([self._bound(float(e)) for e in epsilons])

    def _bound(self, epsilon: float) -> float:
        # Imported here because the composition bounds themselves work on events.
        from discreet.accounting.pld import basic_delta, pld_bound

        events = self.merged()
        if len(events) <= 1:
            return events[0].delta(epsilon) if events else 0.0
        found, best = pld_bound(events, epsilon)
        if best:
            return found
        return min(rdp_delta(self.rdp, epsilon), basic_delta(events, epsilon), found)

    def rdp(self, order: float) -> float:
        return sum(times * event.rdp(order) for event, times in self._counted.items())

    def to_dict(self) -> dict[str, Any]:
        # Runs of equal events are stored once, as [times, event].
        runs = [[len(list(run)), event.to_dict()] for event, run in groupby(self.events)]
        return {"event": self.name, "events": runs}

    @classmethod
    def from_fields(cls, values: dict[str, Any]) -> Composed:
        runs = values["events"]
        if not isinstance(runs, list | tuple) or len(runs) > MOST_RUNS:
            raise InvalidParameter(
                f"A composed event is read from a list of at most {MOST_RUNS:,} runs of events."
            )
        if not all(isinstance(run, list | tuple) and len(run) == 2 for run in runs):
            raise InvalidParameter("A run of events is a number and the event it repeats.")
        # Counted before any of them is made.
        if sum(integer("times", times) for times, _ in runs) > MOST_EVENTS:
            raise InvalidParameter(f"A composed event is read of at most {MOST_EVENTS:,} events.")
        if any(isinstance(event, Mapping) and event.get("event") == cls.name for _, event in runs):
            raise InvalidParameter("A composed event does not hold other composed events.")
        made = [(event_from_dict(event),) * times for times, event in runs]
        return cls(tuple(chain.from_iterable(made)))
