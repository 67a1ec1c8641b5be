"""The ledger: one account per data set that refuses before it is overdrawn."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager
from functools import cached_property
from pathlib import Path
from typing import Any, Self

from discreet.accounting import Approximate, Budget, Guarantee
from discreet.bounds import Neighbours
from discreet.checks import one_of
from discreet.errors import InvalidData, InvalidParameter
from discreet.ledger.afford import Affordable, affordable, counting
from discreet.ledger.book import REPLACED, Book, Scope
from discreet.ledger.conditions import Terms, first_entry
from discreet.ledger.entry import Accounts
from discreet.ledger.filter import HEADROOM
from discreet.ledger.reserving import Reserved, spending
from discreet.ledger.split import Mask, Split, leaves
from discreet.ledger.store import store_of
from discreet.ledger.verify import replayed
from discreet.ledger.views import Balance, Spending, spendings


class Ledger:
    """A handle to the account of a data set: an address, not a connection.

    It may be copied, cloned, pickled, sent to other processes and used from
    several threads: all spend from the same account. Make one with
    :meth:`create` or :meth:`open`.

    Examples
    --------
    >>> import tempfile, pathlib, numpy as np
    >>> from discreet import Bounds, Ledger, PrivateRidge
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = pathlib.Path(folder.name) / "trial-7.ledger"
    >>> ledger = Ledger.create(path, dataset="trial-7", epsilon=2.0, delta=1e-6)
    >>> X = np.linspace(-1, 1, 500).reshape(-1, 1)
    >>> bounds = Bounds(features=(-1, 1), label=(-1, 1))
    >>> model = PrivateRidge(epsilon=1.0, delta=0, bounds=bounds, ledger=ledger)
    >>> _ = model.fit(X, X.ravel())
    >>> [(entry.state, entry.model) for entry in Ledger.open(path).history()]
    [('spent', 'PrivateRidge')]
    >>> ledger.affordable(model.plan(1, 500)).times
    1
    >>> folder.cleanup()
    """

    def __init__(
        self, address: str, id: str, part: str = "", tags: tuple[str, ...] | None = None
    ) -> None:
        self._address, self._id, self._part, self._tags = address, id, part, tags

    @classmethod
    def create(
        cls,
        address: str | Path,
        *,
        dataset: str | Iterable[str],
        epsilon: float,
        delta: float,
        neighbours: Neighbours = "zero-out",
        unit: str = "row",
        policy: str = "portfolio",
        gaussian_share: float = 0.5,
    ) -> Self:
        """Begin a ledger; one that exists is refused.

        Parameters
        ----------
        address
            A file on a local disk, or ``"postgresql://host/database"``.
        dataset
            Name of the data, or several names of populations that share people:
            each has its own account, and a run is charged to all it touches.
        epsilon, delta
            The cap. It is what everything together will guarantee.
        neighbours, unit
            What is protected. A ``zero-out`` ledger also takes runs under
            ``replace-one`` and ``add-remove``.
        policy
            Which rules admit runs: ``"portfolio"``, ``"basic"``, ``"renyi"``,
            ``"gdp"`` or ``"hybrid"``.
        gaussian_share
            Of ``"hybrid"``: share of epsilon for Gaussian noise.
        """
        budget = Budget(epsilon, delta)
        first = first_entry(dataset, budget, neighbours, unit, policy, gaussian_share)
        store = store_of(_located(str(address), "+".join(first.details["dataset"])))
        store.create(first)
        return cls(store.address, first.id)

    @classmethod
    def open(cls, address: str | Path) -> Self:
        """Return the ledger at an address that :meth:`create` was given."""
        store = store_of(str(address))
        with store.reading() as reader:
            return cls(store.address, Terms.of(reader.of_kind("create")).id)

    # The handle.

    @cached_property
    def _book(self) -> Book:
        store = store_of(self._address)
        with store.reading() as reader:
            book = Book(store, Terms.of(reader.of_kind("create")))
        if book.terms.id != self._id:
            raise InvalidData(REPLACED)
        return book

    @property
    def terms(self) -> Terms:
        """What was fixed when the ledger was created."""
        return self._book.terms

    @property
    def address(self) -> str:
        """Where the ledger is."""
        return self._address

    @property
    def _scope(self) -> Scope:
        return Scope(self._part, self._tags)

    def _key(self) -> tuple[Any, ...]:
        return self._address, self._id, self._part, self._tags

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Ledger) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: Any) -> Self:
        return self

    def __sklearn_clone__(self) -> Self:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), self._key()

    def __repr__(self) -> str:
        part = f", part={self._part!r}" if self._part else ""
        tags = f", tags={list(self._tags)}" if self._tags else ""
        return f"Ledger({_shown(self._address)!r}{part}{tags})"

    # Spending.

    def reserve(self, guarantee: Guarantee, *, model: str = "", algorithm: str = "") -> str:
        """Set aside what a run may cost, before it reads a row; return the entry's id.

        Use :meth:`spending`, which also settles. What is reserved counts in full
        until it is settled, and for good if it never is.
        """
        return self._book.reserve(self._scope, guarantee, model, algorithm)

    def settle(self, id: str, guarantee: Guarantee | None = None) -> None:
        """Note that a run has ended; what an ex-post run did not need comes back.

        Only the basic rule takes anything back, and only of pure runs.
        """
        self._book.settle(id, guarantee)

    def void(self, id: str) -> None:
        """Take a reservation back. Only for a run that has not read a single row."""
        self._book.void(id)

    def spending(
        self, guarantee: Guarantee, *, model: str = "", algorithm: str = ""
    ) -> AbstractContextManager[Reserved]:
        """Reserve, run the block, and settle; see :func:`discreet.ledger.spending`."""
        return spending(self, guarantee, model=model, algorithm=algorithm)

    # Looking.

    def _accounts(self) -> Accounts:
        """Return the accounts of this part and these tags."""
        with self._book.store.reading() as reader:
            accounts = self._book.newest(reader).accounts
        return {place: accounts[place] for place in self._scope.places(accounts)}

    def balance(self) -> Balance:
        """Return what was spent of the cap; ``print`` says it in words."""
        return Balance(self.terms.budget, self._accounts(), self.terms.rules)

    def history(self) -> list[Spending]:
        """Return every reservation with its outcome, oldest first."""
        with self._book.store.reading() as reader:
            return spendings(reader.all())

    def guarantee(self) -> Guarantee:
        """Return what everything that is ever spent from this ledger guarantees together."""
        terms, extra = self.terms, float(HEADROOM)
        epsilon, delta = terms.budget.epsilon * extra, terms.budget.delta * extra
        return Guarantee(
            epsilon=epsilon,
            delta=delta,
            neighbours=terms.neighbours,
            event=Approximate(epsilon, delta),
            theorem="composition/ledger",
            assumptions=self._assumptions(),
            unit=terms.unit,
        )

    def _assumptions(self) -> tuple[str, ...]:
        found = ["everything released from the data was charged to this ledger"]
        if len(self.terms.dataset) > 1:
            names = ", ".join(self.terms.dataset)
            found.append(f"no {self.terms.unit} is in more than one of {names}")
        with self._book.store.reading() as reader:
            if reader.of_kind("split"):
                found.append("runs on a part were given the rows of that part alone")
        return tuple(found)

    def affordable(self, what: Any) -> Affordable:
        """Return how often a run still fits, and the largest epsilon of its kind that does.

        Parameters
        ----------
        what
            A plan, a guarantee, or a function from epsilon to either.
        """
        accounts, terms = self._accounts(), self.terms
        again: Callable[..., Guarantee] | None = None
        if callable(what):

            def again(epsilon: float) -> Guarantee:
                return _guarantee(what(epsilon))

        guarantee = _guarantee(what if again is None else what(terms.budget.epsilon))
        self._book.check(guarantee)
        fits = counting(terms.rules, accounts.values())
        return affordable(fits, guarantee, terms.rules, terms.budget.epsilon, again)

    def verify(self, head: str | None = None) -> str:
        """Check every entry, sum and hash; return the last hash, to be kept elsewhere.

        Parameters
        ----------
        head
            A hash that an earlier call returned: it must still be in the chain.
        """
        with self._book.store.reading() as reader:
            entries = reader.all()
        replayed(entries, self.terms.rules)
        if head is not None and head not in {entry.hash for entry in entries}:
            raise InvalidData(
                "The entry of that hash is not in this ledger: it was rewritten or cut short since."
            )
        return entries[-1].hash

    # Parts and the end.

    def split(
        self,
        by: str,
        parts: Mapping[str, float],
        *,
        key: str | None = None,
        identifier: str = "record",
    ) -> Split:
        """Let parts of the data be charged on their own; see ``docs/ledger.md``.

        Parameters
        ----------
        by
            ``"position"``, ``"hash"`` of an identifier, or ``"group"``.
        parts
            Names and shares, such as ``{"train": 0.8, "test": 0.2}``.
        key
            Key of the hash; random by default. It is kept in the ledger.
        identifier
            ``"record"`` if it belongs to the record (add-remove, and groups under
            zero-out), ``"public"`` if it is public and every neighbour keeps it.
        """
        made = Split.of(by, parts, parent=self._part, key=key, identifier=identifier)
        self._book.split(made)
        return made

    def part(self, name: str) -> Ledger:
        """Return a handle that is charged for one part alone."""
        full = f"{self._part}/{name}" if self._part else name
        if not leaves(full, [part for _, part in self._accounts()]):
            raise InvalidParameter("This ledger has no such part. Make parts with split.")
        return type(self)(self._address, self._id, full, self._tags)

    def tagged(self, *tags: str) -> Ledger:
        """Return a handle that is charged to these names of the data set alone."""
        for tag in tags:
            one_of("tag", tag, self.terms.dataset)
        return type(self)(self._address, self._id, self._part, tags or None)

    def rows(self, rows: Any) -> Mask:
        """Return which rows belong to this part.

        Parameters
        ----------
        rows
            Their number where rows are split by position, else their identifiers
            or groups, in the order of the rows.
        """
        with self._book.store.reading() as reader:
            splits = [Split.from_dict(entry.details) for entry in reader.of_kind("split")]
        found, place = None, self._part
        while place:
            parent, _, name = place.rpartition("/")
            [split] = [split for split in splits if split.parent == parent]
            mask = split.mask(name, rows)
            found, place = mask if found is None else found & mask, parent
        if found is None:
            raise InvalidParameter("This handle is for all rows. Take part(name) of it.")
        return found

    def close(self) -> None:
        """Refuse all further reservations; runs that were reserved may still be settled."""
        self._book.close()

    @property
    def closed(self) -> bool:
        """Whether nothing more may be spent."""
        with self._book.store.reading() as reader:
            return bool(reader.of_kind("close"))


def _located(address: str, name: str) -> str:
    """Return the address with the name of the data set, where one database holds several."""
    if not address.startswith(("postgresql://", "postgres://")):
        return address
    from discreet.ledger.postgres import with_dataset

    return with_dataset(address, name)


def _shown(address: str) -> str:
    """Return an address without its password.

    >>> _shown("postgresql://me:secret@host/db")
    'postgresql://me:***@host/db'
    """
    return re.sub(r"(://[^:/@]*):[^@]*@", r"\1:***@", address)


def _guarantee(what: Any) -> Guarantee:
    found = getattr(what, "guarantee", what)
    if not isinstance(found, Guarantee):
        raise InvalidParameter(
            "Pass a plan, a guarantee, or a function from epsilon to either. Got "
            f"{type(what).__name__} instead."
        )
    return found
