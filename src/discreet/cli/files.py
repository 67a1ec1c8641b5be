"""Model files with the schema beside the model, and lines of progress."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from discreet.cli.schema import Schema
from discreet.errors import InvalidParameter


def say(message: str) -> None:
    """Print one line of progress on stderr."""
    print(message, file=sys.stderr, flush=True)


def check_output(path: Path | None) -> None:
    """Refuse a path that cannot be written, before any budget is spent."""
    if path is not None and not path.absolute().parent.is_dir():
        raise InvalidParameter(f"The folder of {path} does not exist. Make it first.")


def write_json(path: Path, content: Any) -> None:
    """Write plain values as a JSON file."""
    path.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


def read_model(path: Path) -> tuple[Any, Schema | None, str]:
    """Return the model in a file, with its schema and target if it was fitted from a CSV."""
    from discreet import load

    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except ValueError:
        raise InvalidParameter(f"{path} is not a model file: it is not JSON.") from None
    if not isinstance(content, dict):
        raise InvalidParameter(f"{path} is not a model file of this library.")
    schema = content.get("schema")
    model = load(path)
    if schema is None:
        return model, None, ""
    return model, Schema.from_dict(schema), str(content["target"])
