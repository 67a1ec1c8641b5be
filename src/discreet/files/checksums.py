"""JSON values with a checksum over all of them.

The checksum tells a file that was damaged, cut short or edited by hand from
one that this library wrote. It is not a signature: whoever changes a file can
compute it anew.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any, NoReturn


def checksum(held: Mapping[str, Any]) -> str:
    """Return the SHA-256 of JSON values but for the checksum itself.

    A number that is not finite has no form in JSON and is a ``ValueError``.

    >>> checksum({"b": 1, "a": 2.0}) == checksum({"a": 2.0, "b": 1, "sha256": "any"})
    True
    """
    covered = {name: value for name, value in held.items() if name != "sha256"}
    text = json.dumps(covered, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode("ascii")).hexdigest()


def with_checksum(held: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values with their checksum, whatever checksum they had.

    >>> checksum_holds(with_checksum({"a": 1})), checksum_holds(with_checksum({"a": 1}) | {"a": 2})
    (True, False)
    """
    return {**held, "sha256": checksum(held)}


def checksum_holds(held: Mapping[str, Any]) -> bool:
    """Return whether the values are those the checksum was made of."""
    return held.get("sha256") == checksum(held)


def parse(text: bytes) -> Any:
    """Return the values of a JSON text; NaN and Infinity, which are no JSON, are refused.

    >>> parse(b'{"a": [1, 2.5]}')
    {'a': [1, 2.5]}
    """
    return json.loads(text, parse_constant=_refused)


def _refused(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number.")
