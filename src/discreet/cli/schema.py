"""``discreet schema``: write a first schema, or check one."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from discreet.cli.shared.files import (
    add_force,
    check_outputs,
    print_result,
    read_schema,
    write_or_print,
)
from discreet.cli.shared.inputs import Inputs, add_inputs, whole_text
from discreet.errors import InvalidParameter
from discreet.schema import Schema

_EPILOG = """\
examples:
  discreet schema draft data.csv --out schema.toml
  discreet schema draft data.csv --dictionary code-book.json --out schema.toml
  discreet schema check schema.toml

a draft is made from the names in the first line (and the types of a Parquet
file) and from a data dictionary; no row is looked at. The dictionary is JSON:
{"sex": {"values": {"1": "male", "2": "female"}}, "age": {"min": 0, "max": 99}}.
"""


def add(verbs: Any) -> None:
    """Add the verb to the command line."""
    parser = verbs.add_parser(
        "schema",
        help="write a first schema from names and types, or check one",
        description="Write a first schema from names, types and a data dictionary; check one.",
        epilog=_EPILOG,
    )
    parser.add_argument("what", choices=("draft", "check"), help="draft, or check a schema file")
    add_inputs(parser)
    parser.add_argument("--dictionary", type=Path, help="JSON file that describes the columns")
    parser.add_argument("--out", type=Path, help="schema file to write; default: standard output")
    add_force(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> None:
    """Write the draft, or say what a schema declares."""
    if args.what == "check":
        for path in args.data:
            schema = read_schema(path)
            print_result(f"{path}: {len(schema.columns)} columns, {len(schema.names())} features")
        return
    inputs = Inputs.of(args)
    check_outputs(args.out, inputs=(*inputs.files, args.dictionary), force=args.force, paid=True)
    text = Schema.draft(inputs.types(), _dictionary(args.dictionary))
    write_or_print(args.out, text, "draft written to {}; complete it from public knowledge")


def _dictionary(path: Path | None) -> Any:
    if path is None:
        return None
    try:
        return json.loads(whole_text(path))
    except ValueError:
        raise InvalidParameter(f"{path} is not JSON in UTF-8.", parameter="dictionary") from None
