"""``discreet predict``: apply a model to a CSV file."""

from __future__ import annotations

import argparse
import csv
from pathlib import Path
from typing import Any

from discreet.cli.files import add_force, check_outputs, read_model, say
from discreet.errors import Incompatible
from discreet.files.writing import replacing

_EPILOG = """\
examples:
  discreet predict model.json new.csv --out predictions.csv
  discreet predict model.json new.csv --out predictions.csv --proba

the new file needs the columns of the schema, the target excepted. The model's
privacy is not spent by predictions; the new rows themselves get no protection.
With missing = "blank" in the schema a row that cannot be read gets an empty line
of predictions.
"""


def add(verbs: Any) -> None:
    """Add the verb to the command line."""
    parser = verbs.add_parser(
        "predict",
        help="apply a model to a CSV file",
        description="Write one line of predictions for every row of a CSV file.",
        epilog=_EPILOG,
    )
    parser.add_argument("model", type=Path, help="model file written by discreet fit")
    parser.add_argument("data", type=Path, help="CSV file with a header line")
    parser.add_argument("--out", type=Path, required=True, help="CSV file to write")
    parser.add_argument("--proba", action="store_true", help="also write class probabilities")
    add_force(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> None:
    """Read rows, predict, write."""
    import numpy as np

    from discreet.cli.table import read_blocks

    check_outputs(args.out, inputs=(args.model, args.data), force=args.force)
    model, schema, target = read_model(args.model)
    if schema is None:
        raise Incompatible(
            f"{args.model} holds no schema, so columns of a file cannot be matched to features. "
            "It was saved from Python: use discreet.load(...) and predict there."
        )
    if args.proba and not hasattr(model, "predict_proba"):
        raise Incompatible("This model gives no probabilities; logistic models do.")
    # Rows are encoded by the schema: their order is right, and they carry no names to compare.
    vars(model).pop("feature_names_in_", None)
    header = [target]
    if args.proba:
        header += [f"p({c})" for c in model.classes_]
    with replacing(args.out) as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header)
        for block in read_blocks(args.data, schema, target, labelled=False):
            table = np.full((len(block.good), len(header)), "", dtype=object)
            if block.good.any():
                rows = block.X[block.good]
                table[block.good, 0] = model.predict(rows)
                if args.proba:
                    table[block.good, 1:] = model.predict_proba(rows)
            writer.writerows(table.tolist())
    say(f"predictions written to {args.out}")
