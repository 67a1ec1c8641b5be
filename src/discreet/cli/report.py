"""``discreet report``: one page about a model, for a committee."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from discreet.cli.card import add_sources, sources
from discreet.cli.files import add_force, check_outputs, read_model, say
from discreet.files.writing import write_text

_EPILOG = """\
examples:
  discreet report model.json --out report.html
  discreet report model.json --out report.html --evaluation scores.json \\
      --ledger people.ledger --about about.toml

the page runs no script and fetches nothing, so it can be mailed, printed and kept.
It shows what is in the release and what you add to it, and reads no row: it costs
no privacy. The list of NIST SP 800-226 says what is met, what is not covered, and
what is yours to answer.
"""


def add(verbs: Any) -> None:
    """Add the verb to the command line."""
    parser = verbs.add_parser(
        "report",
        help="write one page about a model, for a committee",
        description="Write a report on a model file: promise, coefficients, evaluation, account, "
        "proofs and open questions on one HTML page.",
        epilog=_EPILOG,
    )
    parser.add_argument("model", type=Path, help="model file")
    parser.add_argument("--out", type=Path, required=True, help="page to write (HTML)")
    parser.add_argument(
        "--level", type=float, default=0.95, help="of intervals of coefficients (default: 0.95)"
    )
    add_sources(parser)
    add_force(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> None:
    """Write the report."""
    from discreet.report import report_html

    check_outputs(args.out, inputs=(args.model, args.about, args.evaluation), force=args.force)
    model = read_model(args.model)
    page = report_html(model, proofs=args.proofs, level=args.level, **sources(args))
    write_text(args.out, page)
    say(f"report written to {args.out}")
