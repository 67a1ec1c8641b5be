"""``discreet predict``: apply a model to files of rows."""

from __future__ import annotations

import argparse
import csv
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from discreet.cli.shared.files import add_force, check_outputs, print_progress, read_model
from discreet.cli.shared.inputs import INPUTS_HELP, Inputs, add_inputs
from discreet.errors import Incompatible
from discreet.files.writing import replacing

_EPILOG = f"""\
examples:
  discreet predict model.json new.csv --out predictions.csv
  discreet predict model.json new.csv --out predictions.parquet --proba

the new file needs the columns of the schema, the target excepted. The model's
privacy is not spent by predictions; the new rows themselves get no protection.
With missing = "blank" in the schema a cell that cannot be read adds nothing to
the prediction of its row.

{INPUTS_HELP}"""


def add(verbs: Any) -> None:
    """Add the verb to the command line."""
    parser = verbs.add_parser(
        "predict",
        help="apply a model to files of rows",
        description="Write one line of predictions for every row of files.",
        epilog=_EPILOG,
    )
    parser.add_argument("model", type=Path, help="model file, from discreet fit or from Python")
    add_inputs(parser)
    parser.add_argument(
        "--out",
        type=Path,
        required=True,
        help="file to write: Parquet if the name ends in .parquet, else CSV",
    )
    parser.add_argument("--proba", action="store_true", help="also write class probabilities")
    add_force(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> None:
    """Read rows, predict, write."""
    inputs = Inputs.of(args)
    check_outputs(args.out, inputs=(args.model, *inputs.files), force=args.force)
    model = read_model(args.model)
    schema = getattr(model, "schema_", getattr(model, "schema", None))
    if schema is None:
        raise Incompatible(
            f"{args.model} holds no schema, so columns of a file cannot be matched to features. "
            "It was fitted without one in Python: use discreet.load(...) and predict there."
        )
    if not hasattr(model, "predict"):
        raise Incompatible("This model holds released values and predicts nothing.")
    if args.proba and not hasattr(model, "predict_proba"):
        raise Incompatible("This model gives no probabilities; logistic models do.")
    target = getattr(model, "target", None) or "prediction"
    header = [target, *(f"p({c})" for c in model.classes_)] if args.proba else [target]
    columns = schema.features(model.target)
    rules = [column.rule(schema.missing) for column in columns.values()]
    with _writer(args.out, header) as write:
        for table in inputs.tables(columns, strict="refuse" in rules):
            rows = schema.encode(table, model.target)
            found = [model.predict(rows)]
            write([*found, *(model.predict_proba(rows).T if args.proba else ())])
    print_progress(f"predictions written to {args.out}")


@contextmanager
def _writer(path: Path, header: list[str]) -> Iterator[Any]:
    """Yield what takes columns of predictions, block by block, and writes them."""
    if path.suffix.lower() not in (".parquet", ".pq"):
        with replacing(path) as file:
            rows = csv.writer(file, lineterminator="\n")
            rows.writerow(header)
            yield lambda columns: rows.writerows(zip(*(c.tolist() for c in columns), strict=True))
        return
    from discreet.data.storage import arrow_library

    arrow, writer = arrow_library(), None
    with replacing(path) as file:

        def write(columns: list[Any]) -> None:
            nonlocal writer
            held = {name: c.tolist() for name, c in zip(header, columns, strict=True)}
            block = arrow.table(held)
            writer = writer or arrow.parquet.ParquetWriter(file.buffer, block.schema)
            writer.write_table(block)

        yield write
        if writer is not None:
            writer.close()
