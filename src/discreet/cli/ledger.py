"""``discreet ledger``: the account of a data set."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from discreet.bounds import NEIGHBOURS
from discreet.cli.shared.files import check_outputs, print_progress, print_result
from discreet.cli.shared.parser import Parser
from discreet.errors import BudgetExceeded, Incompatible
from discreet.files.writing import write_text

_EPILOG = """\
examples:
  discreet ledger create trial-7.ledger --dataset trial-7 --epsilon 2 --delta 1e-6
  discreet fit data.csv --target income --epsilon 0.5 --schema schema.toml \\
      --out model.json --ledger trial-7.ledger
  discreet ledger show trial-7.ledger --fit 0.5
  discreet ledger statement trial-7.ledger --out statement.html

the ledger refuses a fit that does not fit what is left, before it is run.
What was begun counts in full, whatever became of it. A ledger is a file on a
local disk, or postgresql://host/database?dataset=NAME.

policies:
  portfolio  three rules, each with a third of delta; the default
  basic      epsilons and deltas add up; best for few fits, and for delta 0
  renyi, gdp one rule with all of delta; best for many fits with Gaussian noise
  hybrid     Gaussian noise by gdp, everything else by basic, shares fixed
"""


def add(verbs: Any) -> None:
    """Add the verb to the command line."""
    parser = verbs.add_parser(
        "ledger",
        help="keep the privacy budget of a data set",
        description="Keep the privacy budget of a data set in one account.",
        epilog=_EPILOG,
    )
    parser.set_defaults(interrupted="the ledger is as it was, or has one entry more.")
    actions = parser.add_subparsers(
        dest="action", metavar="action", required=True, parser_class=Parser, help="what to do"
    )
    made = _action(actions, "create", "begin a ledger", _create)
    made.add_argument("--dataset", action="append", required=True,
                      help="name of the data; repeatable, one for each population")  # fmt: skip
    made.add_argument("--epsilon", type=float, required=True, help="cap of all fits together")
    made.add_argument("--delta", type=float, required=True, help="cap, far below 1/rows, or 0")
    made.add_argument(
        "--neighbours",
        choices=list(NEIGHBOURS),
        default="zero-out",
        help="what is protected (default: %(default)s)",
    )
    made.add_argument(
        "--unit",
        choices=("row", "group"),
        default="row",
        help="whose change is hidden (default: %(default)s)",
    )
    made.add_argument(
        "--policy",
        choices=("portfolio", "basic", "renyi", "gdp", "hybrid"),
        default="portfolio",
        help="rules that admit fits, see discreet ledger --help (default: %(default)s)",
    )
    shown = _action(actions, "show", "say what was spent and what is left", _show)
    _add_fits(shown)
    _action(actions, "history", "list every release", _history)
    page = _action(actions, "statement", "write an HTML page of all that was spent", _statement)
    page.add_argument("--out", type=Path, required=True, help="page to write (HTML)")
    _add_fits(page)
    _action(actions, "close", "refuse all further spending", _close)


def add_option(parser: argparse.ArgumentParser) -> None:
    """Add ``--ledger`` to a verb that reads rows."""
    parser.add_argument(
        "--ledger", help="ledger that is charged before rows are read; see discreet ledger --help"
    )


def opened(args: argparse.Namespace, neighbours: str, schema: Any = None) -> Any:
    """Return the ledger that was named, or None, and refuse what it could not count."""
    if args.ledger is None:
        return None
    from discreet import Ledger

    ledger = Ledger.open(args.ledger)
    if getattr(args, "seed", None) is not None:
        raise Incompatible("A seeded fit is not private, so no ledger counts it. Leave --seed out.")
    if ledger.terms.neighbours not in ("zero-out", neighbours):
        raise Incompatible(
            f"This ledger is about {ledger.terms.neighbours} neighbours. Declare them in the "
            f'schema: neighbours = "{ledger.terms.neighbours}".'
        )
    declared = schema is not None and schema.group is not None
    unit = "group" if declared or getattr(args, "rows_per_group", None) else "row"
    if ledger.terms.unit != unit:
        raise Incompatible(
            f"This ledger protects one {ledger.terms.unit}, and this run protects one {unit}. "
            "Their costs do not add up."
        )
    if ledger.closed:
        raise BudgetExceeded("This ledger is closed, so nothing more may be spent from it.")
    return ledger


def _action(actions: Any, name: str, what: str, run: Any) -> Any:
    parser = actions.add_parser(name, help=what, description=f"{what[0].upper()}{what[1:]}.")
    parser.add_argument("ledger", help="file, or postgresql:// address")
    parser.set_defaults(run=run)
    return parser


def _add_fits(parser: Any) -> None:
    parser.add_argument(
        "--fit",
        type=float,
        action="append",
        default=[],
        metavar="EPSILON",
        help="say how many fits of this epsilon are left; may be given again",
    )
    parser.add_argument(
        "--fit-delta", type=float, metavar="DELTA", help="their delta (default: the ledger's)"
    )


def _fits(args: argparse.Namespace, ledger: Any) -> list[tuple[float, float]]:
    from discreet import Budget

    delta = ledger.terms.budget.delta if args.fit_delta is None else args.fit_delta
    return [(fit.epsilon, fit.delta) for fit in (Budget(e, delta) for e in args.fit)]


def _create(args: argparse.Namespace) -> None:
    from discreet import Ledger

    ledger = Ledger.create(
        args.ledger,
        dataset=args.dataset,
        epsilon=args.epsilon,
        delta=args.delta,
        neighbours=args.neighbours,
        unit=args.unit,
        policy=args.policy,
    )
    print_result(f"ledger created: {args.ledger}\n{ledger.balance()}")


def _show(args: argparse.Namespace) -> None:
    from discreet import Ledger
    from discreet.ledger.statement import _stated

    ledger = Ledger.open(args.ledger)
    terms = ledger.terms
    lines = [
        f"{', '.join(terms.dataset)}: {terms.policy} ledger, {terms.neighbours} neighbours, per "
        f"{terms.unit}, since {terms.created}",
        *(["closed: nothing more may be spent"] if ledger.closed else []),
        str(ledger.balance()),
    ]
    for epsilon, delta in _fits(args, ledger):
        found = ledger.affordable(_stated(ledger, epsilon, delta))
        lines.append(f"a fit of epsilon = {epsilon:g}, delta = {delta:g} {found}")
    lines.append(f"head of the chain: {ledger.verify()}")
    print_result("\n".join(lines))


def _history(args: argparse.Namespace) -> None:
    from discreet import Ledger

    history = Ledger.open(args.ledger).history()
    print_result("\n".join(map(str, history)) if history else "nothing was released")


def _statement(args: argparse.Namespace) -> None:
    from discreet import Ledger
    from discreet.ledger.statement import statement

    check_outputs(args.out, inputs=[Path(args.ledger)])
    ledger = Ledger.open(args.ledger)
    write_text(args.out, statement(ledger, _fits(args, ledger)))
    print_progress(f"statement written to {args.out}")


def _close(args: argparse.Namespace) -> None:
    from discreet import Ledger

    Ledger.open(args.ledger).close()
    print_result("closed: nothing more may be spent from this ledger")
