"""What a plan or an audit is told of rows that are not read, by options or by a schema."""

from __future__ import annotations

import argparse
from pathlib import Path

from discreet.bounds import NEIGHBOURS, Bounds
from discreet.checks import integer, moderate, weight_count
from discreet.cli.shared.files import read_schema
from discreet.cli.shared.models import MODELS, needs_target, predicts_classes
from discreet.cli.shared.parser import ALGORITHM_HELP, add_budget
from discreet.errors import Incompatible, MissingBound

MOST_CLASSES = 10**4
"""Beyond these a plan takes minutes or more memory than there is, and no fit would end."""


def add_public(parser: argparse.ArgumentParser, rows: str) -> None:
    """Add the model, its budget and what is public about rows.

    Parameters
    ----------
    parser
        Of a verb.
    rows
        What its number of rows is.
    """
    parser.add_argument("--model", choices=list(MODELS), metavar="NAME",
                        help="see discreet models; default: by the target's kind")  # fmt: skip
    parser.add_argument("--rows", type=int, required=True, help=rows)
    add_budget(parser)
    parser.add_argument("--features", type=int, help="number of features, if no schema is given")
    parser.add_argument(
        "--row-norm",
        type=float,
        help="longest norm of a row, if no schema is given; longer rows are scaled down",
    )
    parser.add_argument(
        "--classes", type=int, help="number of classes, if no schema is given (default: 2)"
    )
    parser.add_argument("--schema", type=Path, help="take columns and bounds from a schema")
    parser.add_argument("--target", help="column to predict, with --schema")
    parser.add_argument(
        "--neighbours",
        choices=list(NEIGHBOURS),
        help="which data sets count as neighbours; default: the schema's, or zero-out",
    )
    parser.add_argument("--algorithm", default="auto", help=ALGORITHM_HELP)


def public_facts(args: argparse.Namespace) -> tuple[Bounds, int, bool, str]:
    """Return bounds, number of features, whether the target has classes, neighbours."""
    if args.schema is not None:
        if args.target is None:
            raise MissingBound("--target is not set. It names the schema's column to predict.")
        for option in ("features", "row_norm", "classes"):
            if getattr(args, option) is not None:
                raise Incompatible(
                    f"--{option.replace('_', '-')} does not go with --schema, which declares it. "
                    "Change the schema instead."
                )
        schema = read_schema(args.schema).stand_in()
        bounds = schema.bounds_for(args.target)
        classes = bounds.classes is not None
        named = args.model is not None and needs_target(args.model)
        if named and predicts_classes(args.model) != classes:
            raise Incompatible(
                f"--model {args.model} predicts {'numbers' if classes else 'classes'}, and column "
                f"{args.target!r} is not declared as such. Declare it so, or use another model."
            )
        width = len(schema.names(args.target))
        neighbours = args.neighbours or schema.neighbours or "zero-out"
        if neighbours == "add-remove" and schema.n_rows not in (None, args.rows):
            raise Incompatible(
                f"--rows is {args.rows} and the schema's n_rows {schema.n_rows}, which a fit under "
                "add-remove counts on. Give both the same."
            )
        return bounds, width, classes, neighbours
    if args.target is not None:
        raise Incompatible(
            "--target names a column of a schema. Give --schema too, or leave it out."
        )
    if args.features is None or args.row_norm is None:
        raise MissingBound(
            "--features and --row-norm are needed. Noise is scaled to the row norm, and reading "
            "it from data would leak. Give both, or --schema and --target."
        )
    classes = predicts_classes(args.model or "logistic")
    if args.classes is not None and not classes:
        raise Incompatible(f"--classes does not go with --model {args.model}, a regression.")
    weight_count("--features", args.features)
    count = 2 if args.classes is None else args.classes
    integer("--classes", count, minimum=2, maximum=MOST_CLASSES)
    if count > 2:
        weight_count("--features times --classes", args.features * count)
    bounds = Bounds(
        row_norm=moderate("--row-norm", args.row_norm),
        classes=tuple(range(count)) if classes else None,
        label=None if classes else (0.0, 10.0) if args.model == "poisson" else (-1.0, 1.0),
    )
    return bounds, args.features, classes, args.neighbours or "zero-out"
