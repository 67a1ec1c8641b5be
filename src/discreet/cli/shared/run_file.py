"""A run in one file: the options of a fit by name, kept beside the model."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

from discreet.errors import InvalidParameter

PATHS = ("data", "schema", "out", "card", "plot", "ledger")
"""Options that name files; in a file they start from its folder."""

VERBS = ("fit", "accuracy-first")


def expanded(argv: list[str]) -> list[str]:
    """Return a command line with the options of a run's file written out.

    Options of the command line come last, so they win.

    Parameters
    ----------
    argv
        Arguments without the program's name.
    """
    named = len(argv) > 1 and argv[0] in VERBS and argv[1].endswith(".toml")
    if not named or not Path(argv[1]).is_file():
        return argv
    path = Path(argv[1])
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except ValueError as error:
        raise InvalidParameter(f"{path}: {error}") from None
    if "data" not in content:
        raise InvalidParameter(
            f"{path} names no data. A run's file holds the options by name, e.g. data = "
            '"data.csv", target = "income", epsilon = 1, out = "model.json".'
        )
    return [argv[0], *_options(path, content), *argv[2:]]


def _options(path: Path, content: dict[str, Any]) -> list[str]:
    data = content.pop("data")
    found = [_placed(path, one) for one in (data if isinstance(data, list) else [data])]
    if isinstance(content.get("schema"), dict):
        content["schema"] = path.name  # which holds it
    for name, value in content.pop("set", {}).items():
        found += ["--set", f"{name}={_word(value)}"]
    for name, value in content.items():
        option = f"--{name.replace('_', '-')}"
        if value is True:
            found.append(option)
        elif value is not False:
            found.append(f"{option}={_placed(path, value) if name in PATHS else _word(value)}")
    return found


def _placed(path: Path, name: Any) -> str:
    return str(name) if name == "-" else str(path.parent / str(name))


def _word(value: Any) -> str:
    if isinstance(value, dict | list | bool):
        return json.dumps(value)  # as --set reads it
    return str(value)
