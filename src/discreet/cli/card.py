"""``discreet card``: print the privacy card of a model."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from discreet.cli.files import add_force, check_outputs, read_model, say, tell
from discreet.files.writing import write_text

_EPILOG = """\
examples:
  discreet card model.json
  discreet card model.json --json --out card.json

the card says in plain words what is promised, what an attacker can learn, what
the promise rests on and what it does not cover. It holds public values only.
"""


def add(verbs: Any) -> None:
    """Add the verb to the command line."""
    parser = verbs.add_parser(
        "card",
        help="print the privacy card of a model",
        description="Print or write the privacy card of a model file.",
        epilog=_EPILOG,
    )
    parser.add_argument("model", type=Path, help="model file")
    parser.add_argument("--json", action="store_true", help="JSON instead of text")
    parser.add_argument("--out", type=Path, help="file to write; default: standard output")
    parser.add_argument("--date", help="date to print on the card")
    add_force(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> None:
    """Make the card from the model file."""
    from discreet.report import card_dict, render

    check_outputs(args.out, inputs=(args.model,), force=args.force)
    card = card_dict(read_model(args.model), date=args.date)
    text = json.dumps(card, indent=1) + "\n" if args.json else render(card)
    if args.out is None:
        tell(text, end="")
    else:
        write_text(args.out, text)
        say(f"card written to {args.out}")
