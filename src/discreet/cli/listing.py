"""``discreet models``: what can be fitted."""

from __future__ import annotations

import argparse
import inspect
from typing import Any

from discreet.checks import one_of
from discreet.cli.shared.files import print_result
from discreet.cli.shared.models import MODELS, OWN_OPTIONS

_EPILOG = """\
examples:
  discreet models
  discreet models lasso

a model's parameters are given with --set: discreet fit ... --model lasso --set radius=3
"""


def add(verbs: Any) -> None:
    """Add the verb to the command line."""
    parser = verbs.add_parser(
        "models",
        help="list the models, or the parameters of one",
        description="List the models that can be fitted, or the parameters of one of them.",
        epilog=_EPILOG,
    )
    parser.add_argument("model", nargs="?", help="name of a model")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> None:
    """Print the list, or what one model takes."""
    import discreet

    if args.model is None:
        width = max(map(len, MODELS))
        kinds = {name: getattr(discreet, kind) for name, kind in MODELS.items()}
        lines = [f"{name:{width}}  {_first(kind)}" for name, kind in kinds.items()]
        print_result("\n".join(lines))
        return
    kind = getattr(discreet, MODELS[one_of("model", args.model, MODELS)])
    lines = [f"{args.model}: {kind.__name__}. {_first(kind)}", "", "parameters for --set:"]
    for name, value in kind().get_params(deep=False).items():
        if name not in (*OWN_OPTIONS, "random_state", "state_path"):
            lines.append(f"  {name} = {'none' if value is None else value}")
    print_result("\n".join([*lines, "", f"Python's help(discreet.{kind.__name__}) explains them."]))


def _first(kind: Any) -> str:
    return (inspect.getdoc(kind) or "").split("\n")[0]
