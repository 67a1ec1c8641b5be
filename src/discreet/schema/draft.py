"""A first schema from a data dictionary, or from names and types of columns.

Values are never looked at: a range or a list of categories that was read from the
rows would tell who is in them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from discreet.checks import suggestion
from discreet.errors import DiscreetError, InvalidParameter
from discreet.schema.column import number
from discreet.schema.declaration import Schema
from discreet.schema.kinds import KINDS
from discreet.schema.toml import key_text, value_text

_HEAD = """\
# A first schema. Complete it from public knowledge (a code book, a form, an
# instrument), never from the data. Lines that begin with # are not read.
neighbours = "zero-out"
missing = "refuse"

[columns]
"""

_OPEN = {
    "number": ("{ range = [low, high] }", "a number: declare its range"),
    "boolean": ("{ boolean = true }", ""),
    "date": ('{ date = ["first", "last"] }', "a date: declare the first and the last"),
    "duration": ('{ duration = [low, high], unit = "days" }', "declare the longest and shortest"),
    "text": ('{ categories = ["...", "..."] }', "text: declare every category"),
    "unknown": (
        "{ range = [low, high] }",
        "or categories, codes, boolean, ordinal, date, duration",
    ),
}
"""What is left to be filled in, by type."""

_TYPES = (
    (("bool",), "boolean"),
    (("datetime", "timestamp", "date"), "date"),
    (("timedelta", "duration", "interval"), "duration"),
    (("int", "float", "double", "decimal", "numeric", "number", "real"), "number"),
    (("str", "text", "object", "cat", "char", "enum", "utf8"), "text"),
)
"""How names of types begin, in lower case."""


def draft(columns: Any, dictionary: Mapping[str, Any] | None = None) -> str:
    """Return the text of a first schema file.

    Columns that the dictionary describes in full are declared. All others are
    written as comments that say what to fill in.

    Parameters
    ----------
    columns
        Names of columns, or a mapping of names to types, such as ``frame.dtypes``.
    dictionary
        What a data dictionary says about columns, by name: ``values``,
        ``categories`` or ``codes`` (a list, or a mapping of codes to meanings),
        ``range``, or ``min`` and ``max``, ``type`` and ``description``. None if
        there is none.

    Examples
    --------
    >>> words = {"sex": {"values": {"1": "male", "2": "female"}}, "age": {"min": 0, "max": 99}}
    >>> print(draft({"sex": "int64", "age": "int64", "town": "object"}, words))
    # A first schema. Complete it from public knowledge (a code book, a form, an
    # instrument), never from the data. Lines that begin with # are not read.
    neighbours = "zero-out"
    missing = "refuse"
    <BLANKLINE>
    [columns]
    sex = { categories = [1, 2] }
    age = { range = [0, 99] }
    # town = { categories = ["...", "..."] }  # text: declare every category
    <BLANKLINE>
    """
    types = _named(columns)
    words = {} if dictionary is None else dictionary
    if not isinstance(words, Mapping):
        raise InvalidParameter(
            "dictionary must be a mapping of columns to what is known about them.",
            parameter="dictionary",
        )
    strange = [name for name in words if name not in types]
    if words and len(strange) == len(words):
        raise InvalidParameter(
            "dictionary describes none of these columns." + suggestion(str(strange[0]), types),
            parameter="dictionary",
        )
    return _HEAD + "".join(_line(name, kind, words.get(name)) for name, kind in types.items())


def _named(columns: Any) -> dict[str, str]:
    if hasattr(columns, "items"):
        return {str(name): str(kind) for name, kind in columns.items()}
    if isinstance(columns, str) or not isinstance(columns, Iterable):
        raise InvalidParameter("columns must be names, or a mapping of names to types.")
    return {str(name): "" for name in columns}


def _line(name: str, type_name: str, entry: Any) -> str:
    known = entry if isinstance(entry, Mapping) else {}
    said = str(known.get("description", "")).split("\n")[0][:100]
    facts = _declared(known)
    if facts is not None:
        try:
            Schema({name: facts})
        except DiscreetError:
            facts = None
    if facts is not None:
        return f"{key_text(name)} = {value_text(facts)}{_remark(said)}\n"
    shape, advice = _OPEN[_kind(str(known.get("type", type_name)))]
    start = "" if shape == "{ boolean = true }" else "# "
    return f"{start}{key_text(name)} = {shape}{_remark('; '.join(filter(None, (advice, said))))}\n"


def _remark(said: str) -> str:
    return f"  # {''.join(c for c in said if c.isprintable())}" if said else ""


def _declared(known: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return what a dictionary declares in full, as a schema file holds it."""
    if "min" in known and "max" in known:
        return {"range": [known["min"], known["max"]]}
    own = {k: v for k, v in known.items() if k in KINDS}
    values = known.get("values", own.get("categories"))
    if isinstance(known.get("codes"), Mapping):
        values = known["codes"]
    if isinstance(values, Mapping) and "min" in values and "max" in values:
        # A range with codes beside it: those that are numbers lie in the range, or widen it.
        codes = [number(v) for v in values if v not in ("min", "max")]
        ends = [values["min"], values["max"], *(int(c) for c in codes if c == c)]
        widened = {"range": [min(ends), max(ends)]}
        return widened | ({"missing": "indicator"} if any(c != c for c in codes) else {})
    if isinstance(values, Mapping | list | tuple):
        found = list(values)
        read = [number(v) for v in found]
        if found and all(r == int(r) for r in read if r == r) and all(r == r for r in read):
            if all(str(v) == str(int(r)) for v, r in zip(found, read, strict=True)):
                found = [int(r) for r in read]  # codes such as 01 stay text
        elif not all(isinstance(v, str) for v in found):
            found = list(map(str, found))
        return {"categories": found}
    return own if len(own) == 1 else None


def _kind(type_name: str) -> str:
    low = type_name.lower()
    for starts, kind in _TYPES:
        if low.startswith(starts) or low.removeprefix("u").startswith(starts):
            return kind
    return "unknown"
