"""What runs on a person's device."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import expit

from discreet.accounting import Guarantee
from discreet.bounds import Array
from discreet.errors import Incompatible, InvalidData, InvalidParameter
from discreet.local.randomizer import SEED, direction, private_sign
from discreet.local.spec import MOST_ROUNDS, Spec
from discreet.noise import Randomness, System

BYTES = SEED + 3 + 1 + 8
"""Length of a report: seed, round, bit, digest of the specification."""


@dataclass(frozen=True)
class Report:
    """One answer: everything that leaves the device.

    Examples
    --------
    >>> report = Report(bytes(16), 0, 1, bytes(8))
    >>> len(report.to_bytes()), Report.from_bytes(report.to_bytes()) == report
    (28, True)
    """

    seed: bytes
    round: int
    sign: int
    digest: bytes

    def to_bytes(self) -> bytes:
        """Return the 28 bytes to send."""
        bit = b"\x01" if self.sign > 0 else b"\x00"
        return self.seed + self.round.to_bytes(3, "big") + bit + self.digest

    @classmethod
    def from_bytes(cls, data: bytes) -> Report:
        """Read a report."""
        if not isinstance(data, bytes) or len(data) != BYTES or data[SEED + 3] > 1:
            raise InvalidData(f"A report has {BYTES} bytes, of which byte {SEED + 3} is 0 or 1.")
        number = int.from_bytes(data[SEED : SEED + 3], "big")
        return cls(data[:SEED], number, 1 if data[SEED + 3] else -1, data[SEED + 4 :])


@dataclass(frozen=True)
class Query:
    """What a server asks in one round: nothing for a linear model, weights for a logistic one.

    Examples
    --------
    >>> Query(3, (0.5, 0.0)).round
    3
    """

    round: int = 0
    weights: tuple[float, ...] = ()


class Reporter:
    """Answers for one person, at most as often as the specification says.

    Parameters
    ----------
    spec
        The public specification; read it before you agree to it.
    slots
        A folder of this person in which given answers are counted, so that the count outlives
        the process. Without one the object counts by itself.
    random
        For tests: another source of coins. A guarantee with seeded coins says it is none.

    Examples
    --------
    >>> spec = Spec(model="linear", n_features=2, row_norm=1.0, label=(-1, 1), epsilon=1.0)
    >>> reporter = Reporter(spec)
    >>> len(reporter.report([0.6, 0.8], 0.5).to_bytes())
    28
    >>> reporter.report([0.6, 0.8], 0.5)
    Traceback (most recent call last):
    ...
    discreet.errors.Incompatible: This person has given all answers (1) of the specification...
    """

    def __init__(
        self, spec: Spec, *, slots: str | Path | None = None, random: Randomness | None = None
    ) -> None:
        if not isinstance(spec, Spec):
            raise InvalidParameter(f"spec must be a Spec. Got {type(spec).__name__} instead.")
        self.spec = spec
        self._slots = None if slots is None else Path(slots)
        self._random: Randomness = System() if random is None else random
        self._given = 0

    @property
    def guarantee(self) -> Guarantee:
        """What this person is guaranteed for all answers together."""
        return replace(self.spec.guarantee, secure=self._random.secure)

    def report(self, x: Any, y: Any, query: Query | None = None) -> Report:
        """Return one answer about a record, and count it.

        A record that cannot be read, because a value is missing or it has another length,
        answers with a fair coin, and no message says so. Try :meth:`readable` while you build.

        Parameters
        ----------
        x, y
            Features and label. The label of a logistic model is one of the two numbers of
            ``spec.label``.
        query
            What the server asked; needed for a logistic model.
        """
        asked = _checked(self.spec, query)
        self._take_slot()  # privacy: counted before anything is computed, let alone sent
        seed = self._random.words(SEED // 8).tobytes()  # privacy: drawn afresh, never passed
        part = part_of(self.spec, seed)
        z = direction(seed, self.spec.sizes[part])
        with np.errstate(all="ignore"):  # privacy: no warning tells anything of the record
            v = vector(self.spec, x, y, asked, part)
        # privacy: the coins come from the entropy source, never from what the seed determines
        sign = private_sign(v, z, self.spec.epsilon, self._random)
        return Report(seed, asked.round, sign, self.spec.digest)

    def readable(self, x: Any, y: Any) -> bool:
        """Return whether a record has the right form; do not send this anywhere."""
        return _record(self.spec, x, y) is not None

    def _take_slot(self) -> None:
        for k in range(self._given, self.spec.answers):
            self._given = k + 1
            if self._slots is None:
                return
            self._slots.mkdir(parents=True, exist_ok=True)
            try:
                # privacy: exclusive creation, so that no two processes share a slot
                with (self._slots / f"{self.spec.digest.hex()}-{k}").open("x"):
                    return
            except FileExistsError:
                continue
        raise Incompatible(
            f"This person has given all answers ({self.spec.answers}) of the specification. A "
            "further one would cost privacy that was not agreed to."
        )


def part_of(spec: Spec, seed: bytes) -> int:
    """Return what a seed asks about: of a linear model second moments (0) or products (1).

    >>> spec = Spec(model="linear", n_features=2, row_norm=1.0, label=(-1, 1), epsilon=1.0)
    >>> part_of(spec, bytes(16)), part_of(spec, bytes(15) + b"1")
    (0, 1)
    """
    return seed[-1] & 1 if len(spec.sizes) == 2 else 0


def vector(spec: Spec, x: Any, y: Any, query: Query, part: int) -> Array:
    """Return what a person answers about, of norm at most 1; zero for an unreadable record.

    >>> spec = Spec(model="linear", n_features=2, row_norm=1.0, label=(-1, 1), epsilon=1.0)
    >>> vector(spec, [0.6, 0.8], 0.5, Query(), 1)
    array([0.3, 0.4])
    """
    record = _record(spec, x, y)
    if record is None:
        return np.zeros(spec.sizes[part])
    row, label = record
    if spec.model == "logistic":
        slope = -label * expit(-label * float(np.dot(row, query.weights)))
        return np.asarray(slope * row / spec.row_norm)
    row = row / spec.row_norm
    return moments(row) if part == 0 else row * label


def moments(row: Array) -> Array:
    """Return the products of a row's entries as a vector of norm ``|row|^2``.

    >>> moments(np.array([1.0, 2.0])).round(4)
    array([1.    , 2.8284, 4.    ])
    """
    i, j = np.triu_indices(len(row))
    return np.asarray(row[i] * row[j] * np.where(i == j, 1.0, np.sqrt(2.0)))


def _record(spec: Spec, x: Any, y: Any) -> tuple[Array, float] | None:
    """Return the clipped features and the label in [-1, 1], or None."""
    try:
        row = np.asarray(x, dtype=np.float64)
        label = float(np.asarray(y, dtype=np.float64).reshape(()))
    except Exception:  # privacy: what is wrong with a record must not show
        return None
    low, high = spec.label
    known = spec.model == "linear" or label in (low, high)
    if row.shape != (spec.n_features,) or not np.isfinite([*row, label]).all() or not known:
        return None
    largest = float(np.abs(row).max())
    norm = largest * float(np.linalg.norm(row / largest)) if largest > 0 else 0.0
    if norm > spec.row_norm:
        row = row / norm * spec.row_norm
    centred = (min(max(label, low), high) - low) / (high - low)
    return row, 2.0 * centred - 1.0


def _checked(spec: Spec, query: Query | None) -> Query:
    """Return the query if it fits the specification; it comes from the server, not the data."""
    asked = Query() if query is None and spec.model == "linear" else query
    if not isinstance(asked, Query):
        raise InvalidParameter("query must be the Query of a round: Aggregator.query() makes it.")
    wanted = spec.n_features if spec.model == "logistic" else 0
    fits = isinstance(asked.round, int) and 0 <= asked.round <= min(spec.rounds - 1, MOST_ROUNDS)
    if not fits or len(asked.weights) != wanted or not np.isfinite(asked.weights).all():
        raise InvalidData("This query does not fit the specification, so it is not answered.")
    return asked
