"""The text of a schema file."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

_BARE = re.compile(r"[A-Za-z0-9_-]+")


def quoted(text: str) -> str:
    r"""Return text as TOML writes it.

    >>> print(quoted('say "yes"'))
    "say \"yes\""
    """
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def key_text(name: str) -> str:
    """Return a name as a key.

    >>> key_text("age"), key_text("length of stay")
    ('age', '"length of stay"')
    """
    return name if _BARE.fullmatch(name) else quoted(name)


def value_text(value: Any) -> str:
    """Return a plain value as TOML writes it.

    >>> value_text({"range": [0, 1.5], "missing": True})
    '{ range = [0, 1.5], missing = true }'
    """
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return quoted(value)
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{key_text(k)} = {value_text(v)}" for k, v in value.items()) + " }"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(value_text, value)) + "]"
    return repr(value)


def schema_text(schema: Any) -> str:
    """Return the text of a schema file; see :meth:`discreet.Schema.to_toml`."""
    content = schema.to_dict()
    columns = content.pop("columns")
    lines = [f"{key} = {value_text(value)}" for key, value in content.items()]
    lines += ["", "[columns]"]
    lines += [f"{key_text(name)} = {value_text(facts)}" for name, facts in columns.items()]
    return "\n".join(lines) + "\n"
