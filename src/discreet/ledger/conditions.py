"""What is fixed when a ledger is created."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from importlib.metadata import version

from discreet.accounting import Budget
from discreet.bounds import NEIGHBOURS, Neighbours
from discreet.checks import one_of
from discreet.errors import InvalidData, InvalidParameter
from discreet.ledger.entry import DAMAGED, Entry, who
from discreet.ledger.filter import Filter

FORMAT = 1


@dataclass(frozen=True)
class Terms:
    """What was fixed when the ledger was created."""

    id: str
    dataset: tuple[str, ...]
    budget: Budget
    neighbours: Neighbours
    unit: str
    policy: str
    rules: Filter
    created: str

    @classmethod
    def of(cls, entries: list[Entry]) -> Terms:
        """Read the terms from the entry that began the ledger."""
        if len(entries) != 1 or entries[0].seq != 0:
            raise InvalidData(DAMAGED.format(0))
        [first] = entries
        held = first.details
        if held.get("format") != FORMAT:
            raise InvalidData("This ledger was written by another release of this library.")
        if first.hash != first.fingerprint():
            raise InvalidData(DAMAGED.format(0))
        return cls(
            id=held["ledger"],
            dataset=tuple(held["dataset"]),
            budget=Budget(held["epsilon"], held["delta"]),
            neighbours=held["neighbours"],
            unit=held["unit"],
            policy=held["policy"],
            rules=Filter.from_dict(held["rules"]),
            created=first.created,
        )


def first_entry(
    dataset: str | Iterable[str],
    budget: Budget,
    neighbours: str,
    unit: str,
    policy: str,
    gaussian_share: float,
) -> Entry:
    """Return the entry that begins a ledger, after checking what it is to hold."""
    tags = _tags(dataset)
    one_of("neighbours", neighbours, NEIGHBOURS)
    one_of("unit", unit, ("row", "group"))
    rules = Filter.of(policy, budget, gaussian_share)
    if not rules.rules:
        raise InvalidParameter(
            f"policy {policy!r} admits nothing at this delta. Use policy='basic', or a larger "
            "delta."
        )
    first = Entry(kind="create", accounts={(tag, ""): rules.fresh() for tag in tags})
    details = {
        "format": FORMAT,
        "library": f"discreet {version('discreet')}",
        "ledger": first.id,
        "dataset": list(tags),
        "epsilon": budget.epsilon,
        "delta": budget.delta,
        "neighbours": neighbours,
        "unit": unit,
        "policy": policy,
        "rules": rules.to_dict(),
        "who": who(),
    }
    return replace(first, details=details).with_hash()


def _tags(dataset: object) -> tuple[str, ...]:
    given = (dataset,) if isinstance(dataset, str) or not isinstance(dataset, Iterable) else dataset
    tags = tuple(given)
    plain = all(isinstance(tag, str) and tag and tag == tag.strip() for tag in tags)
    if not tags or not plain or len(set(tags)) < len(tags):
        raise InvalidParameter("dataset must be a name, or a list of different names.")
    return tags
