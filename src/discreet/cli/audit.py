"""``discreet audit``: attack a fit on made-up rows and report the epsilon that shows."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from discreet.checks import row_count
from discreet.cli.shared.files import print_result
from discreet.cli.shared.models import build, check_planned
from discreet.cli.shared.parser import add_quiet, add_seed, progress_of
from discreet.cli.shared.public_facts import add_public, public_facts

_METHODS = ("auto", "gdp", "curve", "fixed", "exact", "one-run")

_EPILOG = """\
examples:
  discreet audit --model logistic --rows 100 --features 2 --epsilon 1 --row-norm 1
  discreet audit --schema schema.toml --target income --rows 100 --epsilon 1
  discreet audit --model svm --rows 2000 --features 1000 --epsilon 4 --row-norm 1 \\
      --method one-run

no data is read: the rows are made up, as easy to tell apart as the bounds allow.
Few rows and features make runs quick and attacks no weaker. A program that
spends more than it claims is caught; none is proved private by an audit.

exit code 1 if the claim is refuted, 0 otherwise.
"""


def add(verbs: Any) -> None:
    """Add the verb to the command line."""
    parser = verbs.add_parser(
        "audit",
        help="attack a fit on made-up rows and see whether it keeps its guarantee",
        description="Run a fit many times on neighbouring made-up rows and bound epsilon below.",
        epilog=_EPILOG,
    )
    add_public(parser, "number of made-up rows")
    parser.add_argument(
        "--runs", type=int, default=20_000, help="runs on each neighbour (default: %(default)s)"
    )
    parser.add_argument(
        "--confidence",
        type=float,
        default=0.95,
        help="confidence of the bound (default: %(default)s)",
    )
    parser.add_argument("--method", choices=_METHODS, default="auto", help="default: auto")
    add_seed(parser)
    add_quiet(parser)
    parser.set_defaults(run=run, interrupted="nothing was found out, and no budget was spent.")


def run(args: argparse.Namespace) -> None:
    """Audit, print the report, and leave with 1 if the claim is refuted."""
    from discreet import audit

    check_planned(args.model)
    row_count("--rows", args.rows)
    bounds, n_features, classes, neighbours = public_facts(args)
    model = build(
        args.model,
        classes=classes,
        epsilon=args.epsilon,
        delta=args.delta,
        bounds=bounds,
        neighbours=neighbours,
        n_rows=args.rows,
        algorithm=args.algorithm,
    )
    plan = model.plan(n_features, args.rows)
    if args.method != "one-run":
        progress_of(args)(f"attacking {plan.algorithm}: {args.runs:,} runs on each neighbour")
    report = audit(
        plan,
        runs=args.runs,
        confidence=args.confidence,
        method=args.method,
        random_state=args.seed,
    )
    print_result(str(report))
    if report.violated:
        sys.exit(1)
