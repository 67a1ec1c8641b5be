"""What device and server agree on before anyone answers; public, and stored as JSON."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, fields
from fractions import Fraction
from functools import cached_property
from math import inf, nextafter
from typing import Any

from discreet.accounting import Guarantee, Pure
from discreet.bounds import Interval, interval
from discreet.checks import integer, moderate, one_of, usable_epsilon
from discreet.errors import InvalidParameter

VERSION = 1
"""Of the protocol: the map from seeds to directions, and the form of a report."""

MOST_FEATURES = 200
"""Second moments of more features would need more persons than there are."""

MOST_ROUNDS = 2**24 - 1
"""A report holds its round in three bytes."""

ASSUMPTIONS = (
    "the device runs this program, and its operating system's entropy is not known to others",
    "whether and when a person answers, and how long it takes, are not protected",
    "a person who answers for several specifications pays for each of them",
)


@dataclass(frozen=True, kw_only=True)
class Spec:
    """A study under local privacy: which model, which bounds, what each answer may tell.

    Parameters
    ----------
    model
        ``"linear"`` (least squares, one round) or ``"logistic"`` (several rounds).
    n_features
        Number of features of a record.
    row_norm
        Longest norm of a record; longer ones are scaled down on the device.
    label
        For a linear model the range of the label, clipped on the device. For a logistic one the
        two classes, as numbers.
    epsilon
        What one answer may tell: the odds of any two records change by ``exp(epsilon)`` at most.
    answers
        How many answers a device gives at most.
    radius
        Norm of good weights at most; weights are projected on this ball. In the units of
        ``label`` over those of the features for a linear model.
    rounds
        Number of rounds of a logistic model. Each person answers in one of them.

    Examples
    --------
    >>> spec = Spec(model="linear", n_features=5, row_norm=1.0, label=(-1, 1), epsilon=1.0)
    >>> Spec.from_json(spec.to_json()) == spec
    True
    >>> print(spec.guarantee.epsilon, spec.guarantee.unit)
    1.0 person
    """

    model: str
    n_features: int
    row_norm: float
    label: Interval
    epsilon: float
    answers: int = 1
    radius: float | None = None
    rounds: int = 1

    def __post_init__(self) -> None:
        def put(name: str, value: object) -> None:
            object.__setattr__(self, name, value)

        one_of("model", self.model, ("linear", "logistic"))
        put("n_features", integer("n_features", self.n_features, maximum=MOST_FEATURES))
        put("row_norm", moderate("row_norm", self.row_norm))
        put("label", interval("label", self.label))
        put("epsilon", usable_epsilon("epsilon", self.epsilon))
        put("answers", integer("answers", self.answers, maximum=10**6))
        put("rounds", integer("rounds", self.rounds, maximum=MOST_ROUNDS))
        if self.radius is not None:
            put("radius", moderate("radius", self.radius))
        elif self.model == "logistic":
            raise InvalidParameter(
                "radius is not set. The steps of a logistic model depend on how long good weights "
                "may be. Pass radius=..., such as 5 / row_norm."
            )
        if self.model == "linear" and self.rounds != 1:
            raise InvalidParameter("A linear model takes one round. Leave rounds out.")

    @property
    def sizes(self) -> tuple[int, ...]:
        """Dimension of what each part of the persons answers about.

        >>> Spec(model="linear", n_features=3, row_norm=1, label=(0, 1), epsilon=1.0).sizes
        (6, 3)
        """
        p = self.n_features
        return (p * (p + 1) // 2, p) if self.model == "linear" else (p,)

    def to_json(self) -> str:
        """Return the specification as text that :meth:`from_json` reads back."""
        values = {f.name: getattr(self, f.name) for f in fields(self)}
        values["label"] = list(self.label)
        return json.dumps({"version": VERSION, **values}, sort_keys=True)

    @classmethod
    def from_json(cls, text: str) -> Spec:
        """Read a specification; anything unknown in it is refused."""
        try:
            given = json.loads(text)
        except ValueError:
            given = None
        if not isinstance(given, Mapping) or given.get("version") != VERSION:
            raise InvalidParameter(f"Pass what to_json returned, of version {VERSION}.")
        values: dict[str, Any] = {k: v for k, v in given.items() if k != "version"}
        if set(values) != {f.name for f in fields(cls)}:
            raise InvalidParameter("A specification must have all fields of to_json and no other.")
        return cls(**values)

    @cached_property
    def digest(self) -> bytes:
        """Eight bytes that reports carry, so that those of other specifications are not used."""
        return hashlib.sha256(self.to_json().encode()).digest()[:8]

    @property
    def guarantee(self) -> Guarantee:
        """What each person is guaranteed, whatever the server does."""
        total = self.answers * self.epsilon
        if Fraction(total) < self.answers * Fraction(self.epsilon):
            total = nextafter(total, inf)  # privacy: sums of epsilons are never rounded down
        return Guarantee(
            epsilon=total,
            delta=0.0,
            neighbours="replace-one",
            event=Pure(total),
            theorem="local/randomised-response",
            assumptions=ASSUMPTIONS,
            unit="person",
        )
