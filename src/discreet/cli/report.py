"""``discreet report``: one page about a model, for a committee."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from discreet.cli.card import add_sources, sources
from discreet.cli.shared.files import add_force, check_outputs, print_progress, read_model
from discreet.errors import InvalidParameter
from discreet.files.writing import write_text

_AROUND = (0.1, 0.3, 1.0, 3.0, 10.0)
"""Budgets of a rehearsal, as shares of the model's own."""

_EPILOG = """\
examples:
  discreet report model.json --out report.html
  discreet report model.json --out report.html --evaluation scores.json \\
      --ledger people.ledger --about about.toml --rehearse

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
        description="Write a report on a model file: guarantee, coefficients, evaluation, account, "
        "proofs and open questions on one HTML page.",
        epilog=_EPILOG,
    )
    parser.add_argument("model", type=Path, help="model file")
    parser.add_argument("--out", type=Path, required=True, help="page to write (HTML)")
    parser.add_argument(
        "--level",
        type=float,
        default=0.95,
        help="level of the intervals of coefficients (default: 0.95)",
    )
    parser.add_argument(
        "--rehearse",
        action="store_true",
        help="also fit made-up rows, to tell what other budgets would have bought",
    )
    add_sources(parser)
    add_force(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> None:
    """Write the report."""
    from discreet.report import report_html

    check_outputs(args.out, inputs=(args.model, args.about, args.evaluation), force=args.force)
    model = read_model(args.model)
    given = sources(args)
    rehearsal = _rehearsed(model, given["about"].rows) if args.rehearse else None
    page = report_html(model, proofs=args.proofs, level=args.level, rehearsal=rehearsal, **given)
    write_text(args.out, page)
    print_progress(f"report written to {args.out}")


def _rehearsed(model: Any, rows: int | None) -> Any:
    """Fit the model to made-up rows, at budgets around its own."""
    from discreet.rehearsal import rehearse

    size = getattr(model, "n_rows_", None) or rows
    if size is None:
        raise InvalidParameter(
            "--rehearse needs the number of rows, and the model file does not hold it. Pass --rows "
            "if it is public."
        )
    budgets = [factor * model.epsilon for factor in _AROUND]
    return rehearse(
        model,
        size,
        n_features=model.n_features_in_,
        epsilons=budgets,
        repeats=3,
        progress=print_progress,
    )
