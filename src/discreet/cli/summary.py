"""``discreet summary``: print the coefficients of a model, with intervals where it has them."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from discreet.cli.shared.files import (
    add_force,
    check_outputs,
    print_progress,
    read_model,
    write_or_print,
)
from discreet.errors import Incompatible

_EPILOG = """\
examples:
  discreet fit data.csv --target hours --epsilon 1 --inference population \\
      --schema schema.toml --out model.json
  discreet summary model.json
  discreet summary model.json --level 0.9 --json --out coefficients.json
  discreet summary model.json --plot coefficients.png

intervals count the noise, and with --inference population sampling too. They are
computed from released values, so the summary costs nothing and may be published.
"""


def add(verbs: Any) -> None:
    """Add the verb to the command line."""
    parser = verbs.add_parser(
        "summary",
        help="print the coefficients of a model and their intervals",
        description="Print coefficients, standard errors and intervals of a model file.",
        epilog=_EPILOG,
    )
    parser.add_argument("model", type=Path, help="model file")
    parser.add_argument(
        "--level", type=float, default=0.95, help="probability of covering (default: %(default)g)"
    )
    parser.add_argument("--json", action="store_true", help="JSON instead of text")
    parser.add_argument("--out", type=Path, help="file to write; default: standard output")
    parser.add_argument("--plot", type=Path, help="picture of the intervals to write")
    add_force(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> None:
    """Make the table from the model file."""
    check_outputs(args.out, args.plot, inputs=(args.model,), force=args.force)
    model = read_model(args.model)
    if not hasattr(model, "summary"):
        raise Incompatible(f"There is no summary of {type(model).__name__}. Use discreet card.")
    found = model.summary(args.level)
    text = json.dumps(found.to_dict(), indent=1) + "\n" if args.json else f"{found}\n"
    if args.plot is not None:
        found.plot(args.plot)
        print_progress(f"picture written to {args.plot}")
    write_or_print(args.out, text, "summary written to {}")
