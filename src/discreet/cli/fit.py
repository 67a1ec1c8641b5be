"""``discreet fit``: fit a model to files of rows."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from discreet.cli.ledger import add_option, opened
from discreet.cli.shared.files import (
    add_force,
    check_outputs,
    print_progress,
    print_result,
    read_schema,
    write_model,
)
from discreet.cli.shared.inputs import INPUTS_HELP, Inputs, add_inputs, add_memory, limited
from discreet.cli.shared.models import MODELS, build, needs_target
from discreet.cli.shared.parser import (
    ALGORITHM_HELP,
    add_budget,
    add_group,
    add_inference,
    add_quiet,
    add_seed,
    add_settings,
    grouped,
    progress_of,
)
from discreet.data.storage import group_codes
from discreet.errors import MissingBound
from discreet.files.writing import write_text
from discreet.schema import Column, Encoded, Range, Schema
from discreet.schema.frames import read_columns

SCHEMA_EXAMPLE = """\
neighbours = "zero-out"   # or "replace-one", "add-remove" (then also n_rows = ...)
missing = "refuse"        # or "blank": a row with an unreadable cell counts for nothing

[columns]
age = { range = [17, 90] }
hours = { range = [0, 100], missing = 40 }
job = { categories = ["private", "public", "none"], other = "none" }
visit = { date = ["2020-01-01", "2026-12-31"] }
income = { categories = ["low", "high"] }
"""

_EPILOG = f"""\
the schema declares the columns in TOML. Ranges and categories must come from
public knowledge, never from the file. Numbers are clipped to their range.
If you do not know them, write range = "private", range = [0, "private"] or
categories = "private": the fit learns them with a tenth of its budget, or with the
share that --set bounds_share=.2 names, within the one guarantee.
Columns that are not declared are not read. discreet schema draft writes a first one.

{"".join("  " + line for line in SCHEMA_EXAMPLE.splitlines(keepends=True))}
examples:
  discreet fit data.csv --target income --epsilon 1 --schema schema.toml --out model.json
  discreet fit data.csv --target hours --model huber --epsilon 1 --delta 1e-7 \\
      --schema schema.toml --out model.json --card card.txt
  discreet fit a.csv.gz b.parquet --target hours --model lasso --set radius=3 \\
      --epsilon 1 --schema schema.toml --out model.json
  discreet fit run.toml

{INPUTS_HELP}
a run in one file holds the options above by name (data, target, epsilon, ...), a
table [set] of parameters and perhaps a table [schema]; paths in it start from its
folder. Options on the command line win.

the model file holds released values, the guarantee and the schema; it may be
published. Every fit spends its budget: two fits of the same rows cost the sum.
A file that exists is not overwritten unless --force is given: it was paid for.
--ledger keeps count and refuses what would pass a cap; see discreet ledger --help.

--group COLUMN --rows-per-group K protects all rows of one person together, who then
counts as at most K rows. A schema may say so: person = {{ group = true, rows = 5 }}
"""


def add(verbs: Any) -> None:
    """Add the verb to the command line."""
    parser = verbs.add_parser(
        "fit",
        help="fit a model to files of rows and write it as JSON",
        description="Fit a private model to files of rows and write it as JSON.",
        epilog=_EPILOG,
    )
    add_inputs(parser)
    parser.add_argument("--target", help="column to predict; medians and quantiles have none")
    add_budget(parser)
    parser.add_argument("--schema", type=Path, required=True, help="TOML file, see below")
    parser.add_argument("--out", type=Path, required=True, help="model file to write (JSON)")
    parser.add_argument("--card", type=Path, help="privacy card to write (text)")
    parser.add_argument(
        "--model",
        choices=list(MODELS),
        metavar="NAME",
        help="see discreet models; default: logistic for a target with classes, ridge for a number",
    )
    parser.add_argument("--algorithm", default="auto", help=ALGORITHM_HELP)
    add_inference(parser)
    add_group(parser)
    add_settings(parser)
    add_seed(parser)
    add_force(parser)
    add_option(parser)
    add_memory(parser)
    add_quiet(parser)
    parser.set_defaults(
        run=run,
        interrupted="no model was written. If rows had been read, count the budget as spent.",
    )


def run(args: argparse.Namespace) -> None:
    """Fit, write the model, and print its guarantee."""
    from discreet import Budget
    from discreet.report import card_text

    budget = Budget(args.epsilon, args.delta)  # refuses a bad one before anything is read
    inputs = Inputs.of(args)
    check_outputs(
        args.out, args.card, inputs=(*inputs.files, args.schema), force=args.force, paid=True
    )
    schema = grouped(args, read_schema(args.schema))
    progress = progress_of(args)
    model = declared_model(
        args,
        schema,
        epsilon=args.epsilon,
        delta=args.delta if args.model not in ("median", "quantile") else None,
        algorithm=args.algorithm,
        inference=args.inference,
        random_state=args.seed,
        ledger=opened(args, schema.neighbours or "zero-out", schema),
        learned=True,
    )
    with limited(args):
        _fit(args, model, schema, inputs, budget, progress)
    args.interrupted = f"{args.out} may not have been written, and the budget is spent."
    write_model(args.out, model)
    args.interrupted = f"the model is in {args.out}, and the budget is spent."
    progress(f"model written to {args.out}")
    if args.card is not None:
        write_text(args.card, card_text(model, file=args.out, ledger=model.ledger))
        progress(f"card written to {args.card}")
    print_result(str(model.guarantee_))


def _fit(
    args: argparse.Namespace,
    model: Any,
    schema: Schema,
    inputs: Inputs,
    budget: Any,
    progress: Callable[[str], None],
) -> None:
    """Fit to rows in memory or, where they do not fit, to files."""
    from discreet.cli.shared.cautions import cautions
    from discreet.data import watching
    from discreet.estimators.shared.learning import stand_in

    secret = hides_size(schema)
    # Where columns are to be learned, or rows belong to groups, all rows are held.
    held = schema.private or schema.group is not None
    files = None if held else beyond_memory(inputs, schema, args.target)
    # Columns that are learned protect single rows; the fit refuses groups beside them.
    people: list[Any] | None = None if schema.group is None or schema.private else []
    rows: Any = files or read(inputs, schema, args.target, progress, people)
    # privacy: under add-remove only the declared size is public
    size = schema.n_rows if schema.neighbours == "add-remove" else counted(rows)
    if people is not None:
        size = model._grouping().size(
            group_codes(people, len(rows.X)), model.neighbours, schema.n_rows
        )
    public = stand_in(model) if schema.private else model
    problem = public._public_problem(None, size)[0] if hasattr(public, "_public_problem") else None
    for caution in cautions(budget, size, problem):
        print_progress(caution)
    progress("fitting" if files is None else "fitting, part by part")

    def told(seen: Any) -> None:
        if not secret:
            progress(
                f"  {seen.rows:,} of {seen.total:,} rows, about {seen.left:.0f} s until all are"
                " read"
            )

    with watching(told):
        model.fit(rows, **({} if people is None else {"groups": people}))


def beyond_memory(inputs: Inputs, schema: Schema, target: str | None) -> list[Path] | None:
    """Return files whose encoded rows do not fit into memory and that can be read in parts."""
    from discreet.data.storage import memory, tables_of

    files = inputs.datasets()
    if files is None:
        return None
    tables = tables_of(files)
    assert tables is not None
    size = tables.count() * len(schema.names(target)) * 8
    return files if size > memory().limit else None


def counted(rows: Encoded | dict[str, Any] | list[Path]) -> int:
    """Return the number of rows, in memory or in files."""
    from discreet.data.storage import tables_of

    if isinstance(rows, Encoded):
        return len(rows.X)
    if isinstance(rows, dict):  # of columns that are not encoded yet
        return len(next(iter(rows.values())))
    tables = tables_of(rows)
    assert tables is not None
    return tables.count()


def declared_model(
    args: argparse.Namespace, schema: Schema, *, learned: bool = False, **settings: Any
) -> Any:
    """Return the model that options and schema ask for; refused if they do not go together.

    Parameters
    ----------
    args
        With ``model``, ``target`` and ``set``.
    schema
        Declared columns.
    learned
        Whether ranges and categories may be left to be learned.
    settings
        Parameters of the estimator.
    """
    if needs_target(args.model) and args.target is None:
        raise MissingBound("target is not set. It names the schema's column to predict.",
                           parameter="target")  # fmt: skip
    classes = args.target is not None and schema.column(args.target).classes is not None
    model = build(
        args.model,
        classes=classes,
        given=args.set,
        schema=schema,
        target=args.target,
        neighbours=schema.neighbours or "zero-out",
        n_rows=schema.n_rows,
        **settings,
    )
    if learned and schema.private:
        from discreet.estimators.shared.learning import stand_in

        stand_in(model)._given_bounds()
    else:
        model._given_bounds()
    return model


def hides_size(schema: Schema, neighbours: str | None = None) -> bool:
    """Return whether the number of rows is secret: it may differ between neighbours.

    Which these are the schema says, if nothing else does.
    """
    relation = neighbours or schema.neighbours
    return relation == "add-remove" or (schema.group is not None and relation == "replace-one")


def read(
    inputs: Inputs,
    schema: Schema,
    target: str | None,
    progress: Callable[[str], None],
    people: list[Any] | None = None,
) -> Any:
    """Return the encoded rows of files; their columns as they are if some are to be learned.

    Parameters
    ----------
    inputs
        Files of rows.
    schema, target
        Declared columns, and which of them is predicted.
    progress
        Told about files and rows.
    people
        A list that takes whom rows belong to, where a column says so.
    """
    total = 0
    rules = [column.rule(schema.missing) for column in schema.columns.values()]
    columns = schema.features(target) | ({} if target is None else {target: schema.column(target)})
    if people is not None and schema.group is not None:
        columns[schema.group[0]] = schema.group[1]

    def tables() -> Any:
        nonlocal total
        for table in inputs.tables(columns, strict="refuse" in rules):
            yield table
            total += table.num_rows if hasattr(table, "num_rows") else len(table[next(iter(table))])
            # privacy: under add-remove the number of rows is secret, so it is not shown
            if not hides_size(schema):
                progress(f"  {total:,} row{'s' * (total != 1)}")

    progress(f"reading {', '.join(map(str, inputs.paths))}")
    if not schema.private:
        return schema.encode_blocks(tables(), target, people)
    blocks = [
        {name: _kept(column, cells[name]) for name, column in columns.items()}
        for cells in (read_columns(table, list(columns)) for table in tables())
    ]
    return {name: np.concatenate([block[name] for block in blocks]) for name in columns}


def _kept(column: Column, cells: Any) -> Any:
    """Return cells in an array that takes little room and is read alike."""
    if isinstance(column, Range):
        return column.values(cells)
    held = np.empty(len(cells), dtype=object)
    held[:] = [sys.intern(cell) if isinstance(cell, str) else cell for cell in cells]
    return held
