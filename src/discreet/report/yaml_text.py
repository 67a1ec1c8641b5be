"""Plain values as YAML that every reader takes alike."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from discreet.files.plain_text import printable


def yaml(values: Mapping[str, Any], indent: str = "") -> str:
    """Return tables, lists, texts and numbers as YAML.

    Texts are quoted, so that none is taken for a number, a date or a word of YAML.

    >>> print(yaml({"a": {"b": [1e-06, "no"]}}), end="")
    a:
      b:
        - 1.0e-06
        - "no"
    """
    lines = []
    for name, value in values.items():
        if isinstance(value, Mapping):
            lines.append(f"{indent}{name}:\n{yaml(value, indent + '  ')}")
        elif isinstance(value, list):
            lines.append(f"{indent}{name}:\n{_list(value, indent + '  ')}")
        else:
            lines.append(f"{indent}{name}: {_scalar(value)}\n")
    return "".join(lines)


def _list(values: list[Any], indent: str) -> str:
    lines = []
    for value in values:
        if isinstance(value, Mapping):
            inner = yaml(value, indent + "  ")
            lines.append(f"{indent}- {inner[len(indent) + 2 :]}")
        else:
            lines.append(f"{indent}- {_scalar(value)}\n")
    return "".join(lines)


def _scalar(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        shown = repr(value)
        # Readers of YAML 1.1 take 1e-06 for a text: the dot makes it a number.
        return shown if "." in shown or "e" not in shown else shown.replace("e", ".0e")
    return json.dumps(printable(str(value), keep="\n"), ensure_ascii=False)
