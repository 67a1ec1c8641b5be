"""The guarantee that a release carries."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, Literal

from discreet.accounting.budget import below_one
from discreet.accounting.events import (
    Approximate,
    Composed,
    Curve,
    Event,
    epsilon_at,
    event_from_dict,
)
from discreet.accounting.gaussian_profile import least
from discreet.accounting.group_conversion import for_rows
from discreet.accounting.theorems import in_words, theorems
from discreet.bounds import NEIGHBOURS, Neighbours, neighbours_mean
from discreet.checks import (
    integer,
    nonnegative,
    one_of,
    truth,
)
from discreet.errors import Incompatible, InvalidData, InvalidParameter

_VERSION, _VERSION_KEY = 1, "discreet_guarantee_version"
_LARGEST = 1e4  # beyond this no epsilon is looked for

INSECURE = (
    "The noise came from a seed, so anyone who knows or guesses the seed can remove it. "
    "This release is NOT private; use it for tests only."
)
"""What is said about a release whose randomness was seeded."""


@dataclass(frozen=True, kw_only=True)
class Guarantee:
    """What a release guarantees, with everything needed to check and compose it.

    Parameters
    ----------
    epsilon, delta
        The stated guarantee.
    neighbours
        The relation it protects.
    event
        Its cost as an event, so it can be composed tightly.
    theorem
        What the statement rests on: a name of ``discreet.accounting.theorems``, whose proof
        is a page of ``docs/proofs``, or several of them joined by ``"; "``.
    assumptions
        What must hold for it, in words.
    kind
        ``"ex-ante"`` if fixed before running, ``"ex-post"`` if epsilon is what
        this particular output turned out to cost. With a delta the ex-post
        claim is ``P_D[S] <= integral over S of exp(epsilon) dP_D' + delta``.
    secure
        False when the noise was seeded.
    unit
        What one neighbour changes.
    reserved
        Of an ex-post guarantee, which must have it, the epsilon and delta that no
        output of the run could have exceeded; ``event`` is the cost of that worst case.

    Examples
    --------
    >>> from discreet.accounting.events import Pure
    >>> g = Guarantee(epsilon=1.0, delta=0.0, neighbours="zero-out", event=Pure(1.0), theorem="t")
    >>> g.under("replace-one")
    (2.0, 0.0)
    >>> Guarantee.from_dict(g.to_dict()) == g
    True
    """

    epsilon: float
    delta: float
    neighbours: Neighbours
    event: Event
    theorem: str
    assumptions: tuple[str, ...] = ()
    kind: Literal["ex-ante", "ex-post"] = "ex-ante"
    secure: bool = True
    unit: str = "row"
    reserved: tuple[float, float] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", nonnegative("epsilon", self.epsilon))
        object.__setattr__(self, "delta", nonnegative("delta", self.delta))
        object.__setattr__(self, "secure", truth("secure", self.secure))
        if not isinstance(self.assumptions, list | tuple):
            raise InvalidParameter("assumptions must be a list of texts.")
        object.__setattr__(self, "assumptions", tuple(self.assumptions))
        if not all(isinstance(t, str) for t in (self.theorem, self.unit, *self.assumptions)):
            raise InvalidParameter("theorem, unit and every assumption must be text.")
        one_of("neighbours", self.neighbours, NEIGHBOURS)
        one_of("kind", self.kind, ("ex-ante", "ex-post"))
        if not isinstance(self.event, Curve | Event):  # a class is quicker to ask for
            raise InvalidParameter("event must have rdp, delta and to_dict.")
        if self.reserved is not None:
            if not isinstance(self.reserved, list | tuple) or len(self.reserved) != 2:
                raise InvalidParameter("reserved must be an epsilon and a delta, or None.")
            epsilon, delta = (nonnegative("reserved", r) for r in self.reserved)
            object.__setattr__(self, "reserved", (epsilon, delta))
            if self.kind != "ex-post" or self.epsilon > epsilon or self.delta > delta:
                raise InvalidParameter(
                    "reserved is the worst case of an ex-post guarantee, so it cannot be below "
                    "epsilon and delta and has no place in an ex-ante one."
                )
        elif self.kind == "ex-post":
            raise InvalidParameter(
                "An ex-post guarantee needs its reserve: reserved must be the epsilon and delta "
                "that no output of the run could have exceeded."
            )

    def under(self, relation: str) -> tuple[float, float] | None:
        """Return (epsilon, delta) under another relation, or None for no claim.

        A replacement is a blanking followed by the opposite of one. Where the curve of the
        event is known, epsilon is what both cost at the same delta; else it is
        ``(2 epsilon, (1 + exp(epsilon)) delta)``. Nothing is claimed about hiding the number
        of rows when it was treated as public, as it is when groups are blanked: another
        group may have any number of them.
        """
        one_of("relation", relation, NEIGHBOURS)
        if relation == self.neighbours or relation == "zero-out":
            # privacy: a blank row is an admissible row and counts for nothing.
            return self.epsilon, self.delta
        if relation == "add-remove" or (self.unit == "group" and self.neighbours == "zero-out"):
            return None
        if self.delta == 0:
            return 2 * self.epsilon, 0.0
        return None if self.kind == "ex-post" else self._replaced

    @cached_property
    def _replaced(self) -> tuple[float, float] | None:
        """What a replacement costs, by two steps between neighbours."""
        # privacy: P[S] <= exp(a) O[S] + d(a) and O[S] <= exp(b) Q[S] + d(b), so that
        # P[S] <= exp(a + b) Q[S] + d(a) + exp(a) d(b), where O has the row blanked.
        first = self._epsilon_at(0.5 * self.delta)
        second = self._epsilon_at(0.5 * self.delta * math.exp(-first) * (1 - 1e-12))
        if first + second < math.inf:
            return first + second, self.delta
        delta = (1 + math.exp(min(self.epsilon, 700.0))) * self.delta
        return (2 * self.epsilon, delta) if delta < 1 else None

    def _epsilon_at(self, delta: float) -> float:
        return least(lambda e: self.event.delta(e) <= delta, limit=_LARGEST, accuracy=1e-4)

    def epsilon_at(self, delta: float) -> float:
        """Return the epsilon that this release has at another delta, or infinity.

        It is known from the event. What an ex-post guarantee spent is known at its own
        delta only, so there it is what was reserved.

        >>> from discreet.accounting.events import Gaussian
        >>> g = Guarantee(epsilon=1.0, delta=1e-5, neighbours="zero-out",
        ...               event=Gaussian(3.730631634816), theorem="Gaussian mechanism")
        >>> round(g.epsilon_at(1e-9), 4)
        1.5019
        """
        found = epsilon_at(self.event, below_one(delta))
        stated = self.reserved or (self.epsilon, self.delta)
        return min(found, stated[0]) if delta >= stated[1] else found

    def for_group(self, rows: int) -> Guarantee:
        """Return what this guarantee per row says about a group of at most so many rows.

        It follows from the curve of the event, and is weaker than a fit that protects
        groups from the start (``rows_per_group``).

        >>> from discreet.accounting.events import Gaussian
        >>> g = Guarantee(epsilon=1.0, delta=1e-5, neighbours="zero-out",
        ...               event=Gaussian(3.730631634816), theorem="Gaussian mechanism")
        >>> round(g.for_group(3).epsilon, 4), g.for_group(3).unit
        (3.407, 'group')
        """
        integer("rows", rows)
        if self.unit != "row" or self.kind != "ex-ante":
            raise Incompatible("Only a guarantee per row that was fixed in advance is converted.")
        found = for_rows(self.event, rows, (self.epsilon, self.delta))
        if found is None:
            raise Incompatible(
                "This guarantee says nothing about so many rows. Use fewer, or rows_per_group."
            )
        event, epsilon, delta = found
        size = "" if self.neighbours == "add-remove" else ", and a neighbour has as many"
        return replace(
            self,
            epsilon=epsilon,
            delta=delta,
            event=event,
            unit="group",
            theorem=theorems(self.theorem, "lemmas/groups"),
            assumptions=(*self.assumptions, f"no group has more than {rows} rows{size}"),
        )

    def compose(self, *others: Guarantee, delta: float | None = None) -> Guarantee:
        """Return the guarantee of publishing this release and the others together.

        It holds if all releases were fixed before the output of the first was seen: how
        many there are, in which order, and what each may spend. If you fitted again, or
        stopped, because of a result, or chose a budget by one, the true delta may be
        twice the composed one. Then keep one budget in a ``discreet.ledger.Ledger``.

        Deltas add up, and epsilon is the smallest the composed event allows at that
        delta, and never more than the sum. What ex-post guarantees spent adds
        up as well, provided that what each had reserved fitted the budget left
        before it ran; the reserves add up too. Guarantees with different relations
        are composed under one that all of them have (see :meth:`under`).

        Parameters
        ----------
        others
            Guarantees of the other releases.
        delta
            Total delta to state epsilon at, if not the sum of all deltas. Only
            guarantees that were all fixed in advance can be restated.

        Examples
        --------
        >>> from discreet.accounting.events import Gaussian
        >>> g = Guarantee(epsilon=1.0, delta=1e-5, neighbours="zero-out",
        ...               event=Gaussian(3.730631634816), theorem="Gaussian mechanism")
        >>> round(g.compose(g).epsilon, 4), round(g.compose(g, delta=1e-5).epsilon, 4)
        (1.4002, 1.4652)
        """
        for part in (self, *others):
            if not isinstance(part, Guarantee):
                raise InvalidParameter(
                    f"Pass guarantees, such as model.guarantee_. Got {type(part).__name__} instead."
                )
        if len({p.unit for p in (self, *others)}) > 1:
            raise Incompatible(
                "These guarantees protect different units, so their costs do not add up. "
                "Compose guarantees of one unit only."
            )
        parts = _under_one_relation((self, *others))
        ex_ante = all(p.kind == "ex-ante" for p in parts)
        caps = [p.reserved or (p.epsilon, p.delta) for p in parts]
        most = math.fsum(c[0] for c in caps), math.fsum(c[1] for c in caps)
        event = Composed(tuple(p.event for p in parts))
        epsilon, total = sum(p.epsilon for p in parts), sum(p.delta for p in parts)
        if delta is not None:
            if not ex_ante:
                raise Incompatible(
                    "What ex-post guarantees spent is known at their own delta only. Leave delta "
                    "out."
                )
            total = below_one(delta)
            epsilon = epsilon if total >= most[1] else math.inf
        if ex_ante and (len(parts) > 1 or delta is not None) and total < 1:
            epsilon = min(epsilon, epsilon_at(event, total))
        if math.isinf(epsilon):
            raise Incompatible(
                "These guarantees have no finite epsilon at so small a delta. Use a larger delta."
            )
        if not _covers(event, (epsilon, total) if ex_ante else most):
            # privacy: what the curves together cannot show holds by adding up the points.
            event = Composed(tuple(Approximate(*cap) for cap in caps))
        return Guarantee(
            epsilon=epsilon,
            delta=total,
            neighbours=parts[0].neighbours,
            event=event,
            theorem=theorems("composition/fixed", *(p.theorem for p in parts)),
            assumptions=tuple(dict.fromkeys(a for p in parts for a in p.assumptions)),
            kind="ex-ante" if ex_ante else "ex-post",
            secure=all(p.secure for p in parts),
            unit=self.unit,
            reserved=None if ex_ante else most,
        )

    def _reserve_lines(self) -> tuple[str, ...]:
        if self.reserved is None:
            return ()
        epsilon, delta = self.reserved
        return (f"  in advance: at most epsilon = {epsilon:.6g}, delta = {delta:.3g} (reserved)",)

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values that :meth:`from_dict` reads back.

        ``"discreet_guarantee_version"`` is among them whatever else changes, so that
        programs of others can tell what they read.
        """
        values = {f.name: getattr(self, f.name) for f in fields(self)}
        values |= {"event": self.event.to_dict(), "assumptions": list(self.assumptions)}
        if self.reserved is not None:
            values["reserved"] = list(self.reserved)
        return {_VERSION_KEY: _VERSION, **values}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Guarantee:
        """Read a guarantee back; unknown fields and claims below its cost are refused."""
        if not isinstance(values, Mapping):
            raise InvalidParameter("Pass what to_dict returned.")
        given = dict(values)
        # Files of version 0.1 have the short key.
        version = given.pop(_VERSION_KEY, None) or given.pop("version", None)
        if version != _VERSION:
            raise InvalidParameter(
                f"Cannot read a guarantee of version {version!r}; this release reads {_VERSION}."
            )
        expected = {f.name for f in fields(cls)}
        if set(given) != expected:
            raise InvalidParameter(
                f"A guarantee has fields {sorted(expected)}. Got {sorted(given)} instead."
            )
        given["event"] = event_from_dict(given["event"])
        guarantee = cls(**given)
        if not guarantee._event_covers_claim():
            raise InvalidData(
                "This guarantee claims a smaller epsilon or delta than its event does. Use it as "
                "discreet wrote it."
            )
        return guarantee

    def _event_covers_claim(self) -> bool:
        """Return whether the event costs no more than is claimed."""
        # The event of an ex-post guarantee is the worst case, which is what was reserved.
        return _covers(self.event, self.reserved or (self.epsilon, self.delta))

    def __repr__(self) -> str:
        shown = ("epsilon", "delta", "neighbours", "kind", "secure")
        return f"Guarantee({', '.join(f'{n}={getattr(self, n)!r}' for n in shown)}, ...)"

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        """Show the words in a notebook."""
        printer.text(str(self))

    def __str__(self) -> str:
        """Return the guarantee in words, one statement to a line."""
        when = (
            "fixed before the data was read"
            if self.kind == "ex-ante"
            else "known only after the run: it is the cost of this particular output"
        )
        lines = [
            f"epsilon = {self.epsilon:.6g}, delta = {self.delta:.3g} per {self.unit} ({self.kind})",
            f"  {when}",
            *self._reserve_lines(),
            f"  neighbours: {self.neighbours} ({neighbours_mean(self.neighbours, self.unit)})",
        ]
        for relation in NEIGHBOURS:
            if relation == self.neighbours:
                continue
            claim = self.under(relation)
            said = (
                "no claim" if claim is None else f"epsilon = {claim[0]:.6g}, delta = {claim[1]:.3g}"
            )
            if relation == "add-remove":
                said += ": the number of rows is treated as public" if claim is None else ""
            elif claim is None and self.unit == "group":
                said += ": how many rows each group has is treated as public"
            lines.append(f"  under {relation}: {said}")
        lines.extend(f"  proof: {words}" for words in in_words(self.theorem))
        lines.extend(f"  assumes: {assumption}" for assumption in self.assumptions)
        lines.append(
            "  randomness: operating-system entropy" if self.secure else f"  WARNING: {INSECURE}"
        )
        return "\n".join(lines)


def _covers(event: Event, claim: tuple[float, float]) -> bool:
    """Return whether an event is known to cost no more than an epsilon and a delta."""
    # Accountants of other machines and releases may round a little differently.
    # privacy: an unknown curve is 1, which covers no delta below it.
    return event.delta(claim[0] * (1 + 1e-9)) <= claim[1] * 1.02


def _under_one_relation(parts: tuple[Guarantee, ...]) -> tuple[Guarantee, ...]:
    """Return guarantees under a relation all of them have: the strongest there is."""
    kinds = {part.neighbours for part in parts}
    if len(kinds) == 1:
        return parts
    for relation in ("replace-one", "zero-out"):
        if relation in kinds:
            found = [_restated(part, relation) for part in parts]
            if None not in found:
                return tuple(part for part in found if part is not None)
    raise Incompatible(
        f"These guarantees are for different neighbours ({', '.join(sorted(kinds))}), and not "
        "all of them say something under one relation. Compose those with the same neighbours."
    )


def _restated(part: Guarantee, relation: Neighbours) -> Guarantee | None:
    """Return what a guarantee says under another relation, or None."""
    if part.neighbours == relation:
        return part
    claim = part.under(relation)
    if claim is None or (part.reserved is not None and relation != "zero-out"):
        return None
    # privacy: under zero-out the curve itself holds; of a replacement only the point is known.
    event = part.event if relation == "zero-out" else Approximate(*claim)
    return replace(part, epsilon=claim[0], delta=claim[1], neighbours=relation, event=event)
