"""What a ledger tells about itself."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from discreet.accounting import Budget, Guarantee
from discreet.ledger.amounts import Price, real
from discreet.ledger.entry import Entry, Place
from discreet.ledger.filter import WATCHED, Account, Filter

WORDS = {
    "basic_eps": "sum of epsilons",
    "basic_delta": "sum of deltas",
    "renyi": "Renyi bounds of order {order}",
    "renyi_delta": "sum of deltas beside them",
    "mu2": "squares of mu",
}
"""How an account is called."""


def named(place: Place, several: bool) -> str:
    """Return how a place is called, where there are several tags of the data set or not.

    >>> named(("trial", "train"), False), named(("trial", ""), True)
    ('train', 'trial')
    """
    tag, part = place
    return (f"{tag}/{part}" if part else tag) if several else (part or "all rows")


@dataclass(frozen=True)
class Balance:
    """How much of a cap was used. ``print`` says it in words.

    Parameters
    ----------
    cap
        What everything together never exceeds.
    accounts
        What was spent, for every tag and part.
    rules
        The rules that admit events.
    """

    cap: Budget
    accounts: Mapping[Place, Account]
    rules: Filter

    def used(self, place: Place) -> float:
        """Return the share of the cap that is gone, by the alive rule that has most left."""
        return self.share(place, Price(*self.accounts[place].spent))

    def share(self, place: Place, price: Price) -> float:
        """Return the share of the cap that a price is, in the account that :meth:`used` tells."""
        _, name = self._telling(self.accounts[place])
        cap, amount = getattr(self.rules.caps, name), getattr(price, name)
        return 0.0 if not cap or amount is None else amount / cap

    def _telling(self, account: Account) -> tuple[str, str]:
        """Return the alive rule that has most left, and the account of it that has least."""

        def used(name: str) -> float:
            cap = getattr(self.rules.caps, name)
            return getattr(Price(*account.spent), name) / cap if cap else 0.0

        fullest = {rule: max(WATCHED[rule], key=used) for rule in account.alive}
        return min(fullest.items(), key=lambda item: used(item[1]))

    def lines(self, place: Place) -> list[tuple[str, bool, list[tuple[str, float, float]]]]:
        """Return for every rule its name, whether it is alive, and (account, spent, cap)."""
        account, found = self.accounts[place], []
        for rule in self.rules.rules:
            held = [
                (WORDS[name].format(order=self.rules.order), real(spent), real(cap))
                for name, spent, cap in zip(
                    Price._fields, account.spent, self.rules.caps, strict=True
                )
                if name in WATCHED[rule]
            ]
            found.append((rule, rule in account.alive, held))
        return found

    def __str__(self) -> str:
        several = len({tag for tag, _ in self.accounts}) > 1
        lines = [
            f"whatever happens, at most epsilon = {self.cap.epsilon:g}, delta = {self.cap.delta:g}"
        ]
        for place in self.accounts:
            lines.append(f"{named(place, several)}: {100 * self.used(place):.4g}% is spent")
            for rule, alive, held in self.lines(place):
                if not alive:
                    lines.append(f"  {rule}: no longer used, because it did not admit every event")
                    continue
                sums = ", ".join(f"{word}: {spent:.6g} of {cap:.6g}" for word, spent, cap in held)
                lines.append(f"  {rule}, {sums}")
        return "\n".join(lines)


@dataclass(frozen=True)
class Spending:
    """One reservation and what became of it."""

    id: str
    state: str
    created: str
    model: str
    algorithm: str
    who: str
    host: str
    places: tuple[Place, ...]
    price: Price
    stated: Mapping[str, Any]

    @property
    def guarantee(self) -> Guarantee:
        """The privacy guarantee of the release, with everything needed to check it."""
        return Guarantee.from_dict(self.stated)

    @property
    def cost(self) -> str:
        """Return what it costs, in words."""
        said = f"epsilon {self.stated['epsilon']:.4g}, delta {self.stated['delta']:.3g}"
        reserved = self.stated["reserved"]
        if reserved is None:
            return said
        return f"{said} (ex-post; at most {reserved[0]:.4g} was reserved)"

    @classmethod
    def of(cls, reserve: Entry, ending: Entry | None) -> Spending:
        """Return the story of a reservation."""
        state, stated, price = "reserved", reserve.guarantee, reserve.price
        if ending is not None:
            back = (amount or 0 for amount in ending.price)
            price = Price(*(a if a is None else a + b for a, b in zip(price, back, strict=True)))
            state = "void" if ending.kind == "void" else "spent"
            stated = ending.guarantee or stated
        assert stated is not None
        details = reserve.details
        return cls(
            id=reserve.id,
            state=state,
            created=reserve.created,
            model=str(details.get("model", "")),
            algorithm=str(details.get("algorithm", "")),
            who=str(details.get("who", "")),
            host=reserve.host,
            places=reserve.places,
            price=price,
            stated=stated,
        )

    def __str__(self) -> str:
        what = " by ".join(text for text in (self.model, self.algorithm) if text)
        return f"{self.created}  {self.state:<8}  {self.cost}  {what}  {self.who}@{self.host}"


def spendings(entries: Iterable[Entry]) -> list[Spending]:
    """Return every reservation with its outcome, oldest first."""
    held = list(entries)
    endings = {entry.of: entry for entry in held if entry.kind in ("settle", "void")}
    return [Spending.of(e, endings.get(e.id)) for e in held if e.kind == "reserve"]


def stated(guarantee: Guarantee) -> tuple[float, float]:
    """Return what a guarantee states before its run: of an ex-post one, what it reserves."""
    if guarantee.kind == "ex-ante":
        return guarantee.epsilon, guarantee.delta
    return guarantee.reserved or (math.inf, 1.0)
