"""``discreet evaluate``: score a model on a CSV file, with a guarantee for the scores."""

from __future__ import annotations

import argparse
import math
from pathlib import Path
from typing import Any, cast

from discreet.bounds import Neighbours
from discreet.cli.fit import hides_size, read
from discreet.cli.ledger import add_option, opened
from discreet.cli.shared.files import (
    add_force,
    check_outputs,
    print_progress,
    print_result,
    read_model,
    read_schema,
)
from discreet.cli.shared.inputs import Inputs, add_inputs
from discreet.cli.shared.parser import (
    add_budget,
    add_group,
    add_quiet,
    add_seed,
    grouped,
    progress_of,
)
from discreet.errors import Incompatible, InvalidParameter
from discreet.schema import Schema

_PICTURES = (".png", ".pdf", ".svg")

_EPILOG = """\
examples:
  discreet evaluate model.json test.csv --epsilon 1
  discreet evaluate model.json test.csv --epsilon 1 --metrics accuracy --out scores.json
  discreet evaluate model.json test.csv --epsilon 1 --out scores.json --out curves.png

metrics of two classes: accuracy, balanced_accuracy, precision, recall, f1, confusion,
auc, roc, calibration, log_loss; of a number: mse, mae, r2. The budget is shared by
those you ask for.

rows that the model was not fitted to pay for the evaluation only. If the files share
rows, the budgets of both add up.
"""


def add(verbs: Any) -> None:
    """Add the verb to the command line."""
    parser = verbs.add_parser(
        "evaluate",
        help="score a model on files of rows, privately",
        description="Score a model on sensitive rows of files. The scores get noise and a "
        "guarantee of their own, so they may be published.",
        epilog=_EPILOG,
    )
    parser.add_argument("model", type=Path, help="model file written by discreet fit")
    add_inputs(parser)
    add_budget(parser)
    parser.add_argument("--schema", type=Path, help="TOML file; default: the schema of the model")
    parser.add_argument("--target", help="column of the labels; default: that of the model")
    parser.add_argument("--metrics", help="names, separated by commas (default: a usual few)")
    parser.add_argument("--bins", type=int, default=50, help="bins of the score (default: 50)")
    parser.add_argument(
        "--level", type=float, default=0.95, help="level of intervals (default: 0.95)"
    )
    parser.add_argument(
        "--out",
        type=Path,
        action="append",
        default=[],
        help="file to write: .json for numbers, .png, .pdf or .svg for curves; may be repeated",
    )
    add_seed(parser)
    add_group(parser)
    add_force(parser)
    add_option(parser)
    add_quiet(parser)
    parser.set_defaults(
        run=run,
        interrupted="nothing was written. If rows had been read, count the budget as spent.",
    )


def run(args: argparse.Namespace) -> None:
    """Plan, read, score, print and write."""
    from discreet.cli.shared.cautions import cautions
    from discreet.evaluation import plan_evaluation, run_plan

    inputs = Inputs.of(args)
    check_outputs(*args.out, inputs=(args.model, *inputs.files, args.schema), force=args.force)
    for path in args.out:
        if path.suffix.lower() not in (".json", *_PICTURES):
            raise InvalidParameter(f"{path}: end the name in .json, .png, .pdf or .svg.")
    model, schema, target = _declared(args)
    relation = cast(Neighbours, schema.neighbours or model.neighbours)
    ledger = opened(args, relation, schema)
    people: list[Any] | None = None if schema.group is None else []
    plan = plan_evaluation(
        model,
        epsilon=args.epsilon,
        delta=args.delta,
        metrics=tuple(m.strip() for m in args.metrics.split(",")) if args.metrics else None,
        neighbours=relation,
        bins=args.bins,
        rows_per_group=None if schema.group is None else schema.group[1].rows,
    )
    pictures = [path for path in args.out if path.suffix.lower() in _PICTURES]
    if pictures and not any(b.name == "histogram" and b.shape[1] > 2 for b in plan.blocks):
        raise Incompatible("There is no curve to draw. Ask for one: --metrics accuracy,auc")
    progress = progress_of(args)
    progress(f"reading {', '.join(map(str, inputs.paths))}")
    rows = read(inputs, schema, target, lambda message: None, people)
    public = None if hides_size(schema, relation) else len(rows.X)
    for caution in cautions(plan.budget, public):
        print_progress(caution)
    found = run_plan(
        plan,
        model,
        rows,
        groups=people,
        level=args.level,
        ledger=ledger,
        random_state=args.seed,
    )
    args.interrupted = "the budget is spent, and files may not have been written."
    for path in args.out:
        if path in pictures:
            found.plot(path)
        else:
            found.save(path)
        progress(f"written to {path}")
    print_result(str(found))
    if schema.may_be_blank and not any(math.isfinite(e.value) for e in found.estimates.values()):
        print_progress(
            "hint: rows with a cell or a label that is not spelled as the schema declares it count "
            "for nothing; too few others may be left."
        )


def _declared(args: argparse.Namespace) -> tuple[Any, Schema, str]:
    """Return the model, and the columns that rows are read by."""
    model = read_model(args.model)
    schema = getattr(model, "schema_", model.schema)
    target = getattr(model, "target", None)
    if args.schema is not None:
        schema = read_schema(args.schema)
    if schema is not None:
        schema = grouped(args, schema)
    if schema is None:
        raise Incompatible(
            f"{args.model} holds no schema, so columns of a file cannot be matched to features. "
            "Pass --schema and --target."
        )
    target = args.target or target
    if not target:
        raise InvalidParameter("--target is missing, and the model file names no column.")
    if len(schema.names(target)) != model.n_features_in_:
        raise Incompatible(
            "The schema declares other features than the model was fitted to. Leave --schema out."
        )
    model.set_params(schema=schema, target=target)
    if schema.neighbours is not None:
        model.set_params(neighbours=schema.neighbours, n_rows=schema.n_rows)
    return model, schema, target
