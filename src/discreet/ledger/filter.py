"""The portfolio filter: which events a ledger admits. Numbers only.

After a user has seen a first model, the cost of the next fit may depend on it.
Rules that stay valid then are, for a cap (E, D):

* ``basic``: the epsilons sum to at most E and the deltas to at most D;
* ``renyi``: the Renyi bounds of one order, fixed when the ledger is created;
* ``gdp``: the squares of the mu of Gaussian privacy;
* ``hybrid``: Gaussian noise by ``gdp``, everything else by ``basic``.

A portfolio holds several rules, rule k for ``(E, D_k)`` with the ``D_k`` adding
up to D. A rule is alive while it has admitted every event that was admitted. An
event is admitted if some alive rule admits it; alive rules that do not admit
it die for good. ``docs/proofs/composition/ledger.md`` proves that the whole is (E, D).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.accounting import Budget, Event
from discreet.accounting.gaussian_profile import gaussian_multiplier
from discreet.checks import between, one_of
from discreet.errors import InvalidData
from discreet.ledger.amounts import Price, down
from discreet.ledger.prices import Point, basic_price, hybrid_price, mu_price, renyi_price

POLICIES = {
    "portfolio": ("basic", "renyi", "gdp"),
    "basic": ("basic",),
    "renyi": ("renyi",),
    "gdp": ("gdp",),
    "hybrid": ("hybrid",),
}
"""The rules of every policy."""

WATCHED = {
    "basic": ("basic_eps", "basic_delta"),
    "renyi": ("renyi", "renyi_delta"),
    "gdp": ("mu2",),
    "hybrid": ("basic_eps", "basic_delta", "mu2"),
}
"""The accounts that every rule watches."""

_PLACES = {rule: tuple(map(Price._fields.index, names)) for rule, names in WATCHED.items()}

HEADROOM = 1 + Fraction(1, 2**40)
"""How far sums of epsilons and deltas may pass what was declared; the guarantee says so.

Ten times 0.1 is more than 1 in binary fractions: without it the tenth fit would be refused.
"""

CONVERSION = Fraction(9, 10)
"""Part of a Renyi rule's delta that goes into the conversion; the rest is for failures."""


def renyi_cap(order: int, epsilon: float, delta: float) -> float:
    """Return the most that Renyi bounds of that order may sum to under (epsilon, delta).

    >>> round(renyi_cap(22, 1.0, 1e-6), 5)
    0.53583
    """
    terms = (epsilon, -math.log1p(-1 / order), (math.log(delta) + math.log(order)) / (order - 1))
    # privacy: never more than the exact value, whatever float64 lost.
    return sum(terms) - 2.0**-44 * sum(map(abs, terms))


def best_order(epsilon: float, delta: float) -> int:
    """Return the order at which the most Gaussian noise fits.

    >>> best_order(1.0, 1e-6), best_order(3.0, 1e-6)
    (22, 9)
    """
    few = np.arange(2, 4096)
    many = np.unique(np.geomspace(4096, 2**40, 4096).astype(np.int64))
    orders = np.concatenate([few, many])
    # Any order is valid; a coarse search can only be loose.
    caps = epsilon - np.log1p(-1 / orders) + (math.log(delta) + np.log(orders)) / (orders - 1)
    return int(orders[np.argmax(caps / orders)])


@dataclass(frozen=True)
class Account:
    """What was spent of one cap, and which rules are alive."""

    spent: tuple[int, int, int, int, int]
    alive: tuple[str, ...]

    def to_list(self) -> list[Any]:
        """Return plain JSON values; amounts are text."""
        return [list(self.alive), [str(amount) for amount in self.spent]]

    @classmethod
    def from_list(cls, values: Any) -> Account:
        """Read an account back."""
        alive, spent = values
        a, b, c, d, e = (int(amount) for amount in spent)
        return cls((a, b, c, d, e), tuple(alive))


@dataclass(frozen=True)
class Filter:
    """The rules of a ledger with their caps, fixed when it is created.

    Examples
    --------
    >>> from discreet.accounting import Pure
    >>> rule = Filter.of("basic", Budget(1.0, 1e-6))
    >>> price = rule.price(Pure(0.4))
    >>> account = rule.admit(rule.fresh(), price)
    >>> account = rule.admit(account, price)
    >>> rule.admit(account, price) is None
    True
    """

    rules: tuple[str, ...]
    caps: Price
    order: int
    largest: float
    """Delta of the rule that takes (epsilon, delta) points."""

    @classmethod
    def of(cls, policy: str, budget: Budget, share: float = 0.5) -> Filter:
        """Return the rules of a policy for a cap.

        Parameters
        ----------
        policy
            ``"portfolio"``, ``"basic"``, ``"renyi"``, ``"gdp"`` or ``"hybrid"``.
        budget
            The cap.
        share
            Of ``"hybrid"``: the share of epsilon that is for Gaussian noise.
        """
        rules = POLICIES[one_of("policy", policy, POLICIES)]
        if policy == "hybrid":
            return cls._hybrid(budget, between("share", share, 0, 1))
        # privacy: one transcript may end with any of the rules alive, so their deltas add up.
        return cls.portfolio(rules, budget.epsilon, Fraction(budget.delta) / len(rules))

    @classmethod
    def portfolio(cls, rules: tuple[str, ...], epsilon: float, each: Fraction) -> Filter:
        """Return rules that are each calibrated to epsilon and a delta of their own.

        Together they hold for epsilon and the sum of those deltas, and for no less.
        """
        delta = float(each)
        if Fraction(delta) > each:
            delta = math.nextafter(delta, 0.0)
        order, renyi, failures, mu2 = 2, 0, 0, 0
        if delta > 0 and "renyi" in rules:
            conversion = float(Fraction(delta) * CONVERSION)
            order = best_order(epsilon, conversion)
            renyi = down(renyi_cap(order, epsilon, conversion))
            failures = down(Fraction(delta) - Fraction(conversion))
        if delta > 0 and "gdp" in rules:
            mu2 = _mu_cap(epsilon, delta)
        born = {"basic": True, "renyi": renyi > 0, "gdp": mu2 > 0}
        caps = Price(*_basic_caps(epsilon, delta), renyi, failures, mu2)
        return cls(tuple(rule for rule in rules if born[rule]), caps, order, delta)

    @classmethod
    def _hybrid(cls, budget: Budget, share: float) -> Filter:
        noise, rest = share * budget.epsilon, budget.epsilon * (1.0 - share) * (1.0 - 2.0**-50)
        # privacy: Gaussian steps first, then the others: (E_g + E_b, D_g + exp(E_g) D_b).
        half = budget.delta / 2
        basic = half * math.exp(-min(noise, 700.0)) * (1.0 - 2.0**-40)
        mu2 = _mu_cap(noise, half) if half > 0 else 0
        caps = Price(*_basic_caps(rest, basic), 0, 0, mu2)
        return cls(("hybrid",), caps, 2, basic)

    def fresh(self) -> Account:
        """Return an account from which nothing was spent."""
        return Account((0, 0, 0, 0, 0), self.rules)

    def price(self, event: Event, stated: tuple[float, float] | None = None) -> Price:
        """Return what an event costs; ``stated`` is an (epsilon, delta) already proved of it."""
        if "hybrid" in self.rules:
            point, mu2 = hybrid_price(event, self.largest, stated)
            return Price(*point, 0, 0, mu2)
        basic: Point = (None, None)  # what no rule watches is not worked out
        renyi: Point = (None, None)
        if "basic" in self.rules:
            basic = basic_price(event, self.largest, stated)
        if "renyi" in self.rules:
            renyi = renyi_price(event, self.order)
        return Price(*basic, *renyi, mu_price(event) if "gdp" in self.rules else None)

    def admit(self, account: Account, price: Price) -> Account | None:
        """Return the account after an event, or None if no alive rule admits it."""
        alive = tuple(rule for rule in account.alive if self.times(rule, account, price) > 0)
        return self._moved(account, price, alive, 1) if alive else None

    def give_back(self, account: Account, price: Price) -> Account:
        """Return the account after part of a price is returned; no rule comes alive again."""
        return self._moved(account, price, account.alive, -1)

    def _moved(self, account: Account, price: Price, alive: tuple[str, ...], sign: int) -> Account:
        spent = list(account.spent)
        # Accounts that only dead rules watch stay as they were.
        for at in {at for rule in alive for at in _PLACES[rule]}:
            spent[at] += sign * (price[at] or 0)
        a, b, c, d, e = spent
        return Account((a, b, c, d, e), alive)

    def times(self, rule: str, account: Account, price: Price, most: int = 2**100) -> int:
        """Return how many events of one price a rule still admits, at most ``most``."""
        found = most
        for at in _PLACES[rule]:
            amount = price[at]
            if amount is None:
                return 0
            if amount > 0:
                found = min(found, ((self.caps[at] or 0) - account.spent[at]) // amount)
        return max(0, found)

    def fits(self, account: Account, price: Price) -> int:
        """Return how many events of one price are still admitted.

        >>> from discreet.accounting import Pure
        >>> rule = Filter.of("portfolio", Budget(1.0, 1e-6))
        >>> rule.fits(rule.fresh(), rule.price(Pure(0.1)))
        10
        """
        return max((self.times(rule, account, price) for rule in account.alive), default=0)

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values; amounts are text."""
        caps = {name: str(cap) for name, cap in zip(Price._fields, self.caps, strict=True)}
        return {
            "rules": list(self.rules),
            "caps": caps,
            "order": self.order,
            "largest": self.largest,
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Filter:
        """Read the rules back."""
        try:
            caps = Price(**{name: int(cap) for name, cap in values["caps"].items()})
            rules = tuple(one_of("rule", rule, WATCHED) for rule in values["rules"])
            return cls(rules, caps, int(values["order"]), float(values["largest"]))
        except (KeyError, TypeError, ValueError, AttributeError):
            raise InvalidData("The rules of this ledger are damaged.") from None


def _basic_caps(epsilon: float, delta: float) -> tuple[int, int]:
    return down(Fraction(epsilon) * HEADROOM), down(Fraction(delta) * HEADROOM)


def _mu_cap(epsilon: float, delta: float) -> int:
    """Return the square of the largest mu whose curve passes below (epsilon, delta)."""
    multiplier = gaussian_multiplier(epsilon, delta)
    return down(1 / Fraction(multiplier) ** 2) if math.isfinite(multiplier) else 0
