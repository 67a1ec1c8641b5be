"""What is written into a ledger: reservations, settlements, splits and its end."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from discreet.accounting import Guarantee
from discreet.errors import BudgetExceeded, Incompatible, InvalidData, InvalidParameter
from discreet.ledger.amounts import Price, up
from discreet.ledger.conditions import Terms
from discreet.ledger.entry import DAMAGED, Accounts, Entry, Place, who
from discreet.ledger.filter import Account, Filter
from discreet.ledger.split import Split, leaves
from discreet.ledger.store import Reader, Store, Writer
from discreet.ledger.views import named, stated

REPLACED = (
    "Another ledger has taken the place of the one that was opened. A copied or replaced file "
    "would be a second budget; open the ledger that you trust."
)


@dataclass(frozen=True)
class Scope:
    """The tags and the part of a data set that a handle is about."""

    part: str = ""
    tags: tuple[str, ...] | None = None

    def places(self, accounts: Iterable[Place]) -> list[Place]:
        """Return the accounts of every tag and part in scope."""
        held = [place for place in accounts if self.tags is None or place[0] in self.tags]
        return [(tag, part) for tag, part in held if leaves(self.part, [part])]


@dataclass(frozen=True)
class Book:
    """A store together with the terms that it was created under."""

    store: Store
    terms: Terms

    def reserve(self, scope: Scope, guarantee: Guarantee, model: str, algorithm: str) -> str:
        """Set aside what a run may cost; return the id of the entry."""
        self.check(guarantee)
        rules = self.terms.rules
        price = rules.price(guarantee.event, stated(guarantee))
        with self.store.writing() as writer:
            last = self.newest(writer)
            self._check_open(writer)
            accounts, places = dict(last.accounts), scope.places(last.accounts)
            for place in places:
                account = rules.admit(accounts[place], price)
                if account is None:
                    raise BudgetExceeded(self._refusal(guarantee, place))
                accounts[place] = account
            if not places:  # privacy: what is charged to nothing is not counted
                raise InvalidParameter("This ledger has no such part.")
            entry = Entry(
                kind="reserve",
                accounts=accounts,
                places=tuple(places),
                price=price,
                guarantee=guarantee.to_dict(),
                details={"model": model, "algorithm": algorithm, "who": who()},
            ).after(last)
            writer.append(entry)
        return entry.id

    def settle(self, id: str, guarantee: Guarantee | None) -> None:
        """Note that a run has ended; what an ex-post run did not need comes back."""
        with self.store.writing() as writer:
            reserve = _reservation(writer, id)
            self._end(writer, reserve, "settle", self._unneeded(reserve, guarantee), guarantee)

    def void(self, id: str) -> None:
        """Take a reservation back."""
        with self.store.writing() as writer:
            reserve = _reservation(writer, id)
            back = Price(*(0 if amount is None else amount for amount in reserve.price))
            self._end(writer, reserve, "void", back, None)

    def split(self, made: Split) -> None:
        """Give every part of a split an account of its own."""
        made.check(self.terms.neighbours, self.terms.unit)
        with self.store.writing() as writer:
            last = self.newest(writer)
            self._check_open(writer)
            if not any(part == made.parent for _, part in last.accounts):
                raise Incompatible(
                    "This ledger is split already, or has no such part. A second split across the "
                    "first is refused; a part may be split again: part(name).split(...)."
                )
            accounts = divided(last.accounts, made)
            entry = Entry(kind="split", accounts=accounts, details=made.to_dict())
            writer.append(entry.after(last))

    def close(self) -> None:
        """Let nothing more be reserved."""
        with self.store.writing() as writer:
            self._check_open(writer)
            last = self.newest(writer)
            entry = Entry(kind="close", accounts=last.accounts, details={"who": who()})
            writer.append(entry.after(last))

    def check(self, guarantee: Guarantee) -> None:
        """Refuse what does not add up with the rest of the ledger."""
        terms = self.terms
        if not guarantee.secure:
            raise Incompatible(
                "The noise of this run is seeded, so it is not private and no ledger counts it. "
                "Leave random_state out."
            )
        if guarantee.kind == "ex-post" and guarantee.reserved is None:
            raise Incompatible(
                "What this run costs is known only afterwards, and no bound was fixed in advance "
                "that could be reserved."
            )
        if guarantee.unit != terms.unit:
            raise Incompatible(
                f"This ledger protects one {terms.unit}, but the run protects one "
                f"{guarantee.unit}. Their costs do not add up."
            )
        # privacy: a blank row is an admissible row, so zero-out follows from the other relations.
        if terms.neighbours not in ("zero-out", guarantee.neighbours):
            raise Incompatible(
                f"This ledger is about {terms.neighbours} neighbours, but the run is about "
                f"{guarantee.neighbours}. Fit with neighbours={terms.neighbours!r}."
            )

    def newest(self, reader: Reader) -> Entry:
        """Return the last entry, if it is what it was written as."""
        last, first = reader.last(), reader.of_kind("create")
        if [entry.id for entry in first] != [self.terms.id]:
            raise InvalidData(REPLACED)
        # privacy: an edited last entry would be a larger budget.
        if last.hash != last.fingerprint():
            raise InvalidData(DAMAGED.format(last.seq))
        return last

    def _check_open(self, reader: Reader) -> None:
        if reader.of_kind("close"):
            raise BudgetExceeded("This ledger is closed, so nothing more may be spent from it.")

    def _refusal(self, guarantee: Guarantee, place: Place) -> str:
        epsilon, delta = stated(guarantee)
        cap, several = self.terms.budget, len(self.terms.dataset) > 1
        return (
            f"The ledger of {', '.join(self.terms.dataset)} has too little left for a run of "
            f"epsilon = {epsilon:g}, delta = {delta:g} on {named(place, several)}: the whole could "
            f"pass its cap of epsilon = {cap.epsilon:g}, delta = {cap.delta:g}. Nothing was "
            "reserved. Ask for less: ledger.affordable(plan) names the largest epsilon that fits, "
            "and `discreet ledger show` says what is left."
        )

    def _unneeded(self, reserve: Entry, guarantee: Guarantee | None) -> Price:
        """Return what comes back after an ex-post run."""
        if guarantee is None or guarantee.kind != "ex-post":
            return Price()
        # privacy: proved for pure runs, and for the basic rule alone.
        pure = guarantee.delta == 0 and reserve.price.basic_delta == 0
        realised, reserved = up(guarantee.epsilon), reserve.price.basic_eps
        if not pure or "basic" not in self.terms.rules.rules:
            return Price()
        if realised is None or reserved is None:
            return Price()
        return Price(basic_eps=max(0, reserved - realised))

    def _end(
        self, writer: Writer, reserve: Entry, kind: str, back: Price, guarantee: Guarantee | None
    ) -> None:
        last = self.newest(writer)
        entry = Entry(
            kind=kind,
            of=reserve.id,
            accounts=returned(last.accounts, reserve, back, self.terms.rules),
            places=reserve.places,
            price=Price(*(-(amount or 0) for amount in back)),
            guarantee=None if guarantee is None else guarantee.to_dict(),
            created=reserve.created,
        )
        writer.append(entry.after(last))


def divided(accounts: Accounts, split: Split) -> dict[Place, Account]:
    """Return the accounts after a split."""
    found = {}
    for (tag, part), account in accounts.items():
        # privacy: what was spent before the split was spent on every part.
        names = split.names() if part == split.parent else [part]
        found.update({(tag, name): account for name in names})
    return found


def returned(
    accounts: Accounts, reserve: Entry, back: Price, rules: Filter
) -> dict[Place, Account]:
    """Return the accounts after part of a reservation is given back."""
    found = dict(accounts)
    for tag, within in reserve.places:
        # Parts that were split since have taken their parent's account over.
        for place in accounts:
            if place[0] == tag and leaves(within, [place[1]]):
                found[place] = rules.give_back(found[place], back)
    return found


def _reservation(reader: Reader, id: str) -> Entry:
    found = reader.about(id)
    if not found or found[0].kind != "reserve":
        raise InvalidParameter("There is no reservation of that id in this ledger.")
    if len(found) > 1:
        raise InvalidParameter("This reservation is settled already.")
    return found[0]
