"""The kinds of columns, and how a file declares them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from discreet.checks import suggestion
from discreet.errors import DiscreetError, InvalidParameter
from discreet.schema.boolean import Boolean
from discreet.schema.categories import Categories
from discreet.schema.codes import Codes
from discreet.schema.column import Column
from discreet.schema.dates import Date
from discreet.schema.duration import Duration
from discreet.schema.ordinal import Ordinal
from discreet.schema.person import Person
from discreet.schema.ranges import Range

KINDS: dict[str, Any] = {
    kind.key: kind for kind in (Range, Categories, Codes, Boolean, Ordinal, Date, Duration, Person)
}
"""Every kind of column, by the key that declares it."""

KEYS = ("neighbours", "missing", "row_norm", "n_rows")
"""What a schema declares besides its columns."""


def column_of(name: str, facts: Any) -> Column:
    """Return a column that is given as one, or by the facts that a file holds.

    >>> column_of("age", {"range": [0, 120]})
    Range(low=0.0, high=120.0)
    """
    if isinstance(facts, Column):
        return facts
    if name in KEYS and not isinstance(facts, Mapping):
        raise InvalidParameter(
            f"{name!r} stands below [columns], where it is read as a column. Move it above that "
            "line."
        )
    found = [key for key in KINDS if isinstance(facts, Mapping) and key in facts]
    if len(found) != 1:
        raise InvalidParameter(
            f"Column {name!r} needs one of: range = [low, high], categories = [...], boolean = "
            "true, ordinal = [...], codes = [first, last], date = [first, last], duration = [low, "
            "high], group = true."
        )
    kind = KINDS[found[0]]
    for key in facts:
        if key not in (kind.key, *kind.options):
            raise InvalidParameter(
                f"Column {name!r} has no key {key!r} beside {kind.key}; it may have "
                f"{', '.join(kind.options)}." + suggestion(str(key), kind.options)
            )
    try:
        read: Column = kind.read(facts[kind.key], **{k: facts[k] for k in facts if k != kind.key})
    except DiscreetError as error:
        raise InvalidParameter(f"Column {name!r}: {error}", parameter=error.parameter) from None
    return read
