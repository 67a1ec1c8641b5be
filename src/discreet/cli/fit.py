"""``discreet fit``: fit a model to a CSV file."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path
from typing import Any

from discreet.cli.files import add_force, check_outputs, say, tell, write_model
from discreet.cli.ledger import add_option, opened
from discreet.cli.models import MODELS, build
from discreet.cli.parser import ALGORITHM_HELP, add_budget, add_seed
from discreet.cli.schema import Categorical, Schema
from discreet.errors import Incompatible, InvalidData
from discreet.files.writing import write_text

SCHEMA_EXAMPLE = """\
neighbours = "zero-out"   # or "replace-one", "add-remove" (then also n_rows = ...)
missing = "refuse"        # or "blank": a row with an unreadable cell counts for nothing

[columns]
age = { range = [17, 90] }
hours = { range = [0, 100] }
job = { categories = ["private", "public", "none"] }
income = { categories = ["low", "high"] }
"""

_EPILOG = f"""\
the schema declares the columns in TOML. Ranges and categories must come from
public knowledge, never from the file. Numbers are clipped to their range.
Columns that are not declared are not read.

{"".join("  " + line for line in SCHEMA_EXAMPLE.splitlines(keepends=True))}
examples:
  discreet fit data.csv --target income --epsilon 1 --schema schema.toml --out model.json
  discreet fit data.csv --target hours --model huber --epsilon 1 --delta 1e-7 \\
      --schema schema.toml --out model.json --card card.txt

the model file holds released values, the guarantee and the schema; it may be
published. Every fit spends its budget: two fits of the same rows cost the sum.
A file that exists is not overwritten unless --force is given: it was paid for.
--ledger keeps count and refuses what would pass a cap; see discreet ledger --help.
"""


def add(verbs: Any) -> None:
    """Add the verb to the command line."""
    parser = verbs.add_parser(
        "fit",
        help="fit a model to a CSV file and write it as JSON",
        description="Fit a private linear model to a CSV file and write it as JSON.",
        epilog=_EPILOG,
    )
    parser.add_argument("data", type=Path, help="CSV file with a header line")
    parser.add_argument("--target", required=True, help="column to predict")
    add_budget(parser)
    parser.add_argument("--schema", type=Path, required=True, help="TOML file, see below")
    parser.add_argument("--out", type=Path, required=True, help="model file to write (JSON)")
    parser.add_argument("--card", type=Path, help="privacy card to write (text)")
    parser.add_argument(
        "--model",
        choices=list(MODELS),
        help="default: logistic for a target with categories, ridge for one with a range",
    )
    parser.add_argument("--algorithm", default="auto", help=ALGORITHM_HELP)
    add_seed(parser)
    add_force(parser)
    add_option(parser)
    parser.add_argument("--quiet", action="store_true", help="no progress on stderr")
    parser.set_defaults(
        run=run,
        interrupted="no model was written. If rows had been read, count the budget as spent.",
    )


def run(args: argparse.Namespace) -> None:
    """Fit, write the model, and print its guarantee."""
    from discreet import Budget
    from discreet.cli.cautions import cautions
    from discreet.report import card_text

    budget = Budget(args.epsilon, args.delta)  # refuses a bad one before anything is read
    inputs = (args.data, args.schema)
    check_outputs(args.out, args.card, inputs=inputs, force=args.force, paid=True)
    schema = Schema.read(args.schema)
    if schema.missing == "blank" and args.algorithm == "bolt-on":
        raise Incompatible("bolt-on has no blank rows. Use missing = 'refuse' in the schema.")
    progress = (lambda message: None) if args.quiet else say
    model = build(
        args.model,
        classes=isinstance(schema.column(args.target), Categorical),
        epsilon=args.epsilon,
        delta=args.delta,
        bounds=schema.bounds(args.target),
        neighbours=schema.neighbours,
        n_rows=schema.n_rows,
        algorithm=args.algorithm,
        random_state=args.seed,
        ledger=opened(args, schema.neighbours),
    )
    X, y, total = read_columns(args.data, schema, args.target, progress)
    # privacy: under add-remove only the declared size is public
    size = schema.n_rows if schema.neighbours == "add-remove" else total
    for caution in cautions(budget, size, model._posed(X.shape[1], size)[0]):
        say(caution)
    progress("fitting")
    if schema.missing == "blank" and schema.neighbours == "zero-out":
        _fit_without_blanks(model, X, y, total)
    else:
        model.fit(X, y)
    args.interrupted = f"{args.out} may not have been written, and the budget is spent."
    write_model(args.out, model, schema, args.target)
    args.interrupted = f"the model is in {args.out}, and the budget is spent."
    progress(f"model written to {args.out}")
    if args.card is not None:
        write_text(args.card, card_text(model, schema=schema.to_dict()))
        progress(f"card written to {args.card}")
    tell(str(model.guarantee_))


def read_columns(path: Path, schema: Schema, target: str, progress: Any) -> tuple[Any, Any, int]:
    """Return the rows that could be read in full, their labels, and the size of the file."""
    import numpy as np

    from discreet.cli.table import read_blocks

    progress(f"reading {path}")
    parts, labels, total = [], [], 0
    for block in read_blocks(path, schema, target, labelled=True):
        parts.append(block.X[block.good])
        labels.append(block.y[block.good])
        total += len(block.good)
        # privacy: under add-remove the number of rows is secret, so it is not shown
        if schema.neighbours != "add-remove":
            progress(f"  {total:,} row{'s' * (total != 1)}")
    if not any(map(len, parts)):
        raise InvalidData(f"{path} has no row that can be used.")
    return np.vstack(parts), np.concatenate(labels), total


def _fit_without_blanks(model: Any, X: Any, y: Any, total: int) -> None:
    """Fit under zero-out when rows that count for nothing were left out.

    The size of the file is public and the plan uses it. Blanking a row takes
    it out of ``X``, so the fit must hold for one row more or less at a fixed
    declared size, which is the ``add-remove`` calibration.
    """
    model.set_params(neighbours="add-remove", n_rows=total).fit(X, y)
    # privacy: the declared size is the true one, so only zero-out may be claimed
    model.set_params(neighbours="zero-out", n_rows=None)
    model.guarantee_ = replace(model.guarantee_, neighbours="zero-out")
