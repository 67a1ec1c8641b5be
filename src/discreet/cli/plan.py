"""``discreet plan``: price a fit with no data."""

from __future__ import annotations

import argparse
import math
from pathlib import Path
from typing import Any

from discreet.checks import moderate, row_count
from discreet.cli.shared.files import check_outputs, print_progress, print_result, read_schema
from discreet.cli.shared.models import build, check_planned
from discreet.cli.shared.parser import add_inference, add_quiet, add_settings, progress_of
from discreet.cli.shared.public_facts import add_public, public_facts
from discreet.errors import BudgetTooSmall, Incompatible, InvalidParameter

FACTORS = (0.1, 0.3, 1.0, 3.0, 10.0)
"""Multiples of the asked epsilon in the table of what epsilon buys."""

SECOND_BEST = "(+)"
"""Marks a bound of another algorithm than the chosen one."""

_UNKNOWN = "no bound is known"

_EPILOG = """\
examples:
  discreet plan --model logistic --rows 20000 --features 12 --epsilon 1 --row-norm 1
  discreet plan --model ridge --rows 5000 --features 8 --epsilon 0.5 --delta 0 --row-norm 1
  discreet plan --schema schema.toml --target income --rows 20000 --epsilon 1
  discreet plan --schema schema.toml --target income --rows 20000 --epsilon 1 \\
      --rehearse --signal 0.75 --share 0.1 --plot rehearsal.png

nothing is read but the schema. The expected error is a bound on the average loss of
the private model, above that of the best weights of the stated norm. The loss is the
one that the plan names, with features scaled by their ranges, and labels of a
regression in units of half the label range. Where noise dominates, ridge and elastic
net clip residuals earlier, so the loss may change with epsilon. For scale: guessing
between two classes costs a logistic model 0.69 a row. The bound is rarely attained.
A small bound means a useful model, and a model with a large bound may still be
useful. Doubling the rows, or halving the row norm where the data allows it, buys as
much as doubling epsilon.

--rehearse fits the plan to made-up rows that follow the schema, five times for each
epsilon, and says how good the models get. You declare how strong the signal in them
is, or it is typical: an area under the ROC curve of 0.8, or an R2 of 0.5. Without a
schema, counts go up to 10.
"""


def add(verbs: Any) -> None:
    """Add the verb to the command line."""
    parser = verbs.add_parser(
        "plan",
        help="price a fit with no data: noise, expected error, what epsilon buys",
        description="Print noise, expected error and guarantee of a fit, with no data.",
        epilog=_EPILOG,
    )
    add_public(parser, "number of rows")
    parser.add_argument(
        "--rows-per-group",
        type=int,
        metavar="K",
        help="protect all rows of one person, who counts for at most K of them",
    )
    add_inference(parser)
    parser.add_argument("--norm-guess", type=float, help="public guess of the norm of good weights")
    add_settings(parser)
    parser.add_argument(
        "--ledger", help="ledger that the fit would be charged to; says what it affords"
    )
    parser.add_argument(
        "--rehearse", action="store_true", help="fit made-up rows to say how good models get"
    )
    parser.add_argument(
        "--signal", type=float, help="area under ROC, or R2, of the true weights of made-up rows"
    )
    parser.add_argument(
        "--share", type=float, help="share of the second class in made-up rows (default: 0.5)"
    )
    parser.add_argument("--repeats", type=int, help="fits for each epsilon (default: 5)")
    parser.add_argument("--plot", type=Path, help="picture of the rehearsal: .png, .pdf or .svg")
    add_quiet(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> None:
    """Plan, and print what other budgets would buy."""
    from discreet import Budget
    from discreet.cli.ledger import opened
    from discreet.cli.shared.cautions import cautions
    from discreet.problem.one_against_rest import OneAgainstRest

    budget = Budget(args.epsilon, args.delta)
    check_planned(args.model)
    row_count("--rows", args.rows)
    for option in ("signal", "share", "repeats", "plot"):
        if getattr(args, option) is not None and not args.rehearse:
            raise Incompatible(f"--{option} is about made-up rows. Pass --rehearse too.")
    if args.ledger is not None and args.rehearse:
        raise Incompatible(
            "No ledger is charged for made-up rows. Leave out --ledger or --rehearse."
        )
    check_outputs(args.plot, inputs=(args.schema,))
    if args.norm_guess is not None:
        moderate("--norm-guess", args.norm_guess)
    bounds, n_features, classes, neighbours = public_facts(args)
    declared: dict[str, Any] = {"bounds": bounds}
    schema = None if args.schema is None else read_schema(args.schema)
    if schema is not None and schema.private:
        # What is to be learned has a share of the budget, which the model knows of.
        declared = {"schema": schema, "target": args.target}
    counted = args.rows_per_group
    if schema is not None and schema.group is not None:
        counted = schema.group[1].rows
        if args.rows_per_group not in (None, counted):
            raise Incompatible(
                "The schema declares the rows of a group. Leave out --rows-per-group."
            )
    if counted is not None:
        if args.rehearse:
            raise Incompatible("--rehearse makes up single rows, which belong to nobody.")
        declared["rows_per_group"] = counted
    # A ledger counts other releases too, so noise that adds up to less is planned; see fit.
    ledger = opened(args, neighbours, schema)
    model = build(
        args.model,
        classes=classes,
        given=args.set,
        ledger=ledger,
        epsilon=args.epsilon,
        delta=args.delta,
        neighbours=neighbours,
        n_rows=args.rows,
        **declared,
        algorithm=args.algorithm,
        inference=args.inference,
        norm_guess=args.norm_guess,
    )
    plan = model.plan(n_features, args.rows)
    # Printed at the end: a refusal on the way leaves no half of an answer.
    columns = f"{n_features} feature{'s' * (n_features != 1)}"
    lines = [f"{type(model).__name__}: {args.rows:,} rows, {columns}\n"]
    lines += [_described(model, plan, n_features), "\nwhat epsilon buys\n"]
    heads = ("noise scale", "strength", "expected error per row <=", "algorithm")
    lines.append("  epsilon  {:>12}  {:>10}  {}  {}".format(*heads))
    table = []
    for factor in FACTORS:
        model.set_params(epsilon=factor * args.epsilon)
        table.append(_row(model, n_features, args.rows, chosen=factor == 1.0))
    lines += table
    lines.append(
        "\n* this plan. Noise scales compare only for one algorithm, with equal steps and clips."
    )
    if args.norm_guess is None:
        lines.append(
            f"Every error is for weights of norm {_norm(model, plan):.3g}, usual for such rows and "
            f"labels.{_aside(model, plan)}\nPass --norm-guess for another norm."
        )
    if any(SECOND_BEST in row for row in table):
        lines.append(
            f"{SECOND_BEST} the bound of objective perturbation: no bound is known for this\n"
            "  algorithm, which was taken because it usually does better at such sizes."
        )
    if isinstance(plan, OneAgainstRest):
        lines.append(
            f"Epsilon is that of all {plan.fits} fits together; the other columns are about one "
            "of them."
        )
    lines += [f"\n{caution}" for caution in cautions(budget, args.rows, plan.problem)]
    if ledger is not None:
        lines.append(f"\nof {args.ledger}: {ledger.affordable(plan)}")
    if not args.rehearse:
        lines += _worthless(model, plan, n_features, args.rows)
        print_result("\n".join(lines))
        return
    # The plan is worth having while fits of many rows take their time.
    print_result("\n".join(lines), end="\n\n")
    _rehearse(args, model, n_features)


def _worthless(model: Any, plan: Any, n_features: int, rows: int) -> list[str]:
    """Say in words where a bound is no better than guessing."""
    guess = {"sign": math.log(2.0), "index": math.log(max(2, plan.problem.loss.outputs))}
    least = guess.get(plan.problem.loss.target, 0.5)  # of labels in [-1, 1], half the square
    excess = _excess(model, plan, n_features)[0] / rows
    if excess < least:
        return []
    return [
        f"\nThe bound is no better than guessing, which costs {least:.2g} a row at most. Models "
        "are often\nfar better than their bound: --rehearse fits made-up rows and tells."
    ]


def _rehearse(args: argparse.Namespace, model: Any, n_features: int) -> None:
    from sklearn.base import clone

    from discreet.rehearsal import rehearse

    copy = clone(model).set_params(epsilon=args.epsilon)
    if args.schema is not None:
        copy.set_params(schema=read_schema(args.schema), target=args.target, bounds=None)
    found = rehearse(
        copy,
        args.rows,
        n_features=n_features,
        signal=args.signal,
        share=0.5 if args.share is None else args.share,
        repeats=5 if args.repeats is None else args.repeats,
        epsilons=[factor * args.epsilon for factor in FACTORS],
        progress=progress_of(args),
    )
    if args.plot is not None:
        found.plot(args.plot)
        print_progress(f"picture written to {args.plot}")
    print_result(str(found))


def _described(model: Any, plan: Any, n_features: int) -> str:
    """Return the plan as text, with the bound of another algorithm where it has none of its own."""
    from discreet.problem.printing import table

    excess, mark = _excess(model, plan, n_features)
    if not mark:
        return str(plan)
    # The plan's own guess, which stands above, is how far its steps should go.
    norm = f"for weights of norm {_norm(model, plan):.6g}"
    other = f"{_UNKNOWN}; {excess:.6g}{mark} by objective perturbation, {norm}"
    shown = plan.shown().items()
    facts = {k: other if k.startswith("expected excess") else v for k, v in shown}
    return f"{table(facts)}\n\n{plan.guarantee}"


def _row(model: Any, n_features: int, rows: int, *, chosen: bool) -> str:
    try:
        plan = model.plan(n_features, rows)
    except (BudgetTooSmall, InvalidParameter):
        return f"{model.epsilon:9.3g}  no valid calibration at this budget"
    facts = plan.facts()
    noise = next((v for k, v in facts.items() if "noise scale" in k), math.nan)
    strength = facts.get("strength", 0.0)
    excess, mark = _excess(model, plan, n_features)
    said = f"{excess / rows:.3g}{mark}" if math.isfinite(excess) else _UNKNOWN
    return (
        f"{model.epsilon:9.3g}{'*' if chosen else ' '} {noise:12.4g}  {strength:10.4g}  "
        f"{said:<25}  {facts['algorithm']}"
    )


def _excess(model: Any, plan: Any, n_features: int) -> tuple[float, str]:
    """Return the bound of a plan, or the bound of objective perturbation, and its mark."""
    from sklearn.base import clone

    if math.isfinite(plan.expected_excess) or getattr(model, "algorithm", None) != "auto":
        return plan.expected_excess, ""
    other = clone(model).set_params(algorithm="objective-perturbation")
    try:
        bound = other.plan(n_features, model.n_rows).expected_excess
    except (BudgetTooSmall, Incompatible, InvalidParameter):
        return math.inf, ""
    return bound, f" {SECOND_BEST}" if math.isfinite(bound) else ""


def _norm(model: Any, plan: Any) -> float:
    """Return the norm of weights that errors are for: the same whatever is chosen."""
    from discreet.problem import norm_guess_of

    return norm_guess_of(plan.problem, getattr(model, "norm_guess", None))


def _aside(model: Any, plan: Any) -> str:
    """Say what a norm guess in the plan is, if the errors are for another norm."""
    own = plan.facts().get("norm guess")
    if own is None or math.isclose(own, _norm(model, plan), rel_tol=0.01):
        return ""
    return f"\nThe plan's own norm guess, {own:.3g}, only sets how far its steps go."
