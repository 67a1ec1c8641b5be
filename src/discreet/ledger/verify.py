"""Whether a ledger is what it says: every hash, every sum and every admission again."""

from __future__ import annotations

from collections.abc import Sequence

from discreet.errors import InvalidData
from discreet.ledger.amounts import Price
from discreet.ledger.book import divided, returned
from discreet.ledger.entry import DAMAGED, KINDS, Entry, Place
from discreet.ledger.filter import Account, Filter
from discreet.ledger.split import Split


def replayed(entries: Sequence[Entry], rules: Filter) -> dict[Place, Account]:
    """Return every account after all entries; the first that does not follow is named."""
    accounts: dict[Place, Account] = {}
    reserved: dict[str, Entry] = {}
    previous = ""
    for seq, entry in enumerate(entries):
        chained = entry.prev_hash == previous and entry.hash == entry.fingerprint()
        try:
            after = _after(accounts, entry, rules, reserved)
        except (KeyError, ValueError, TypeError):
            after = None
        if not chained or entry.seq != seq or after is None or dict(entry.accounts) != after:
            raise InvalidData(DAMAGED.format(seq))
        accounts, previous = after, entry.hash
    return accounts


def _after(
    accounts: dict[Place, Account], entry: Entry, rules: Filter, reserved: dict[str, Entry]
) -> dict[Place, Account] | None:
    """Return the accounts after an entry, or None if it cannot have been written."""
    if entry.kind not in KINDS or (entry.kind == "create") != (not accounts):
        return None
    if entry.kind == "create":
        return {(tag, ""): rules.fresh() for tag in entry.details["dataset"]}
    found = dict(accounts)
    if entry.kind == "reserve":
        reserved[entry.id] = entry
        for place in entry.places:
            after = rules.admit(found[place], entry.price)
            if after is None:
                return None
            found[place] = after
    elif entry.kind in ("settle", "void"):
        given = reserved.pop(entry.of or "")
        amounts = [-(amount or 0) for amount in entry.price]
        if any(not 0 <= b <= (a or 0) for a, b in zip(given.price, amounts, strict=True)):
            return None
        back = Price(*amounts)
        found = returned(accounts, given, back, rules)
    elif entry.kind == "split":
        found = divided(accounts, Split.from_dict(entry.details))
    return found
