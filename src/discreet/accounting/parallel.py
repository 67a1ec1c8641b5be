"""Several mechanisms of which any one row meets only one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.accounting.events import Curve, Event, Gaussian, event_from_dict, register
from discreet.accounting.gaussian_profile import two_sided
from discreet.accounting.guarantee import Guarantee
from discreet.accounting.theorems import theorems
from discreet.bounds import Array
from discreet.errors import Incompatible, InvalidParameter


@register("parallel")
@dataclass(frozen=True)
class Parallel(Curve):
    """Mechanisms on disjoint parts of the rows, fixed in advance: the worst of them counts.

    Neighbours differ inside one part, and what runs on the others has one law
    on both. So the curve is the largest of the curves.

    >>> from discreet.accounting import Pure
    >>> Parallel((Pure(0.5), Pure(1.0))).delta(1.0)
    0.0
    """

    events: tuple[Event, ...]

    def __post_init__(self) -> None:
        if not self.events:
            raise InvalidParameter("events must hold at least one event.")
        # Curves of Gaussian noise are ordered, so of several the largest is enough.
        noises = [e for e in self.events if isinstance(e, Gaussian)]
        least = min(noises, key=lambda e: e.multiplier) if noises else None
        kept = (least if isinstance(e, Gaussian) else e for e in self.events)
        object.__setattr__(self, "events", tuple(dict.fromkeys(kept)))

    def profile(self, epsilons: Array) -> Array:
        curves = [
            two_sided(e.profile, epsilons)
            if isinstance(e, Curve)
            else np.array([e.delta(float(x)) for x in epsilons])
            for e in self.events
        ]
        return np.asarray(np.max(curves, axis=0))

    def rdp(self, order: float) -> float:
        return max(event.rdp(order) for event in self.events)

    def to_dict(self) -> dict[str, Any]:
        return {"event": self.name, "events": [event.to_dict() for event in self.events]}

    @classmethod
    def from_fields(cls, values: dict[str, Any]) -> Parallel:
        return cls(tuple(event_from_dict(event) for event in values["events"]))


def in_parallel(*guarantees: Guarantee) -> Guarantee:
    """Return the guarantee of releases that each read rows of their own.

    The parts must be fixed without looking at the rows: by position, or by a coin for
    each row.

    >>> from discreet.accounting import Pure
    >>> fit, test = (Guarantee(epsilon=e, delta=0.0, neighbours="zero-out", event=Pure(e),
    ...                        theorem="t") for e in (1.0, 0.5))
    >>> in_parallel(fit, test).epsilon
    1.0
    """
    first = guarantees[0]
    for name in ("neighbours", "unit"):
        if len({getattr(g, name) for g in guarantees}) > 1:
            raise Incompatible(
                f"These guarantees have different {name}, so the largest of them says nothing."
            )
    if any(g.kind != "ex-ante" for g in guarantees):
        raise Incompatible(
            "One of these guarantees was known only after its run, and then costs are added up: "
            "use compose."
        )
    return Guarantee(
        epsilon=max(g.epsilon for g in guarantees),
        delta=max(g.delta for g in guarantees),
        neighbours=first.neighbours,
        event=Parallel(tuple(g.event for g in guarantees)),
        theorem=theorems("composition/parallel", *(g.theorem for g in guarantees)),
        assumptions=tuple(dict.fromkeys(a for g in guarantees for a in g.assumptions)),
        secure=all(g.secure for g in guarantees),
        unit=first.unit,
    )
