"""``discreet tune``: choose settings of a model on a CSV file, and pay for it."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from discreet.cli.fit import declared_model, read
from discreet.cli.ledger import add_option, opened
from discreet.cli.shared.files import (
    add_force,
    check_outputs,
    print_result,
    read_schema,
    write_model,
)
from discreet.cli.shared.inputs import Inputs, add_inputs
from discreet.cli.shared.models import MODELS, read_value
from discreet.cli.shared.parser import (
    ALGORITHM_HELP,
    add_budget,
    add_quiet,
    add_seed,
    add_settings,
    progress_of,
)
from discreet.errors import InvalidParameter

_EPILOG = """\
examples:
  discreet tune data.csv --target income --epsilon 1 --schema schema.toml \\
      --grid C=0.01,0.1,1,10 --out model.json
  discreet tune data.csv --target income --epsilon 1 --schema schema.toml \\
      --grid C=0.01,0.1,1,10 --plan-only --rows 20000

tuning is not free: each try gets a part of the budget, and some rows are held out to
compare tries. What that costs in noise is said before a row is read. With default
settings and the whole budget discreet fit is often the better buy.

only the winner is written. Other tries, their number and all scores stay secret.
"""


def add(verbs: Any) -> None:
    """Add the verb to the command line."""
    parser = verbs.add_parser(
        "tune",
        help="choose settings of a model privately and write the winner",
        description="Fit a model to files of rows with several settings, choose one privately and "
        "write the winner, all within one budget.",
        epilog=_EPILOG,
    )
    add_inputs(parser)
    parser.add_argument("--target", required=True, help="column to predict")
    add_budget(parser)
    parser.add_argument("--schema", type=Path, required=True, help="TOML file, see discreet fit")
    parser.add_argument("--out", type=Path, help="model file to write (JSON)")
    parser.add_argument(
        "--grid",
        action="append",
        required=True,
        metavar="NAME=VALUES",
        help="a setting and its values, separated by commas; may be repeated",
    )
    parser.add_argument("--model", choices=list(MODELS), metavar="NAME", help="see discreet models")
    parser.add_argument("--algorithm", default="auto", help=ALGORITHM_HELP)
    add_settings(parser)
    parser.add_argument(
        "--tries",
        choices=("auto", "geometric", "logarithmic", "all"),
        default="auto",
        help="law of the number of tries (default: all of up to 3 candidates, else geometric)",
    )
    parser.add_argument("--expected-tries", type=float, help="default: 10 for each candidate")
    parser.add_argument("--scoring", help="metric of tries (default: accuracy, or mse)")
    parser.add_argument(
        "--holdout", type=float, default=0.2, help="share of rows held out (default: 0.2)"
    )
    parser.add_argument("--plan-only", action="store_true", help="say the costs and read no row")
    parser.add_argument("--rows", type=int, help="number of rows, for --plan-only")
    add_seed(parser)
    add_force(parser)
    add_option(parser)
    add_quiet(parser)
    parser.set_defaults(
        run=run,
        interrupted="no model was written. If rows had been read, count the budget as spent.",
    )


def run(args: argparse.Namespace) -> None:
    """Say the costs, search, write the winner."""
    from discreet import PrivateSearch

    if (args.out is None) != args.plan_only:
        raise InvalidParameter("Pass either --out, the model file to write, or --plan-only.")
    inputs = Inputs.of(args)
    check_outputs(args.out, inputs=(*inputs.files, args.schema), force=args.force)
    schema = read_schema(args.schema)
    search = PrivateSearch(
        declared_model(args, schema, algorithm=args.algorithm),
        dict(_setting(text) for text in args.grid),
        tries=args.tries,
        expected_tries=args.expected_tries,
        epsilon=args.epsilon,
        delta=args.delta,
        scoring=args.scoring,
        holdout=args.holdout,
        verbose=False,
        random_state=args.seed,
        ledger=opened(args, schema.neighbours or "zero-out", schema),
    )
    if args.plan_only:
        print_result(str(search.plan(n_rows=args.rows)))
        return
    search.plan(n_rows=1)  # refuses what cannot be searched before anything is read
    progress = progress_of(args)
    rows = read(inputs, schema, args.target, progress)
    size = None if schema.neighbours == "add-remove" else len(rows.X)
    for line in str(search.plan(n_rows=size)).splitlines():
        progress(line)
    progress("searching")
    search.fit(rows)
    args.interrupted = f"{args.out} may not have been written, and the budget is spent."
    write_model(args.out, search.best_estimator_)
    args.interrupted = f"the model is in {args.out}, and the budget is spent."
    progress(f"model written to {args.out}")
    chosen = ", ".join(f"{name} = {value}" for name, value in search.best_params_.items())
    print_result(f"chosen: {chosen}\n\n{search.guarantee_}")


def _setting(text: str) -> tuple[str, list[Any]]:
    """Return the name of a setting and its values.

    >>> _setting("C=0.1,1")
    ('C', [0.1, 1])
    """
    name, equals, values = text.partition("=")
    if not equals or not name.strip() or not values.strip():
        raise InvalidParameter(f"--grid {text}: write a setting and its values, as C=0.01,0.1,1.")
    return name.strip(), [read_value(v.strip()) for v in values.split(",")]
