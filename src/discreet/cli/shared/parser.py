"""An argument parser that says what was probably meant."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable
from typing import Any, NoReturn

from discreet.checks import suggestion
from discreet.cli.shared.files import print_progress
from discreet.errors import InvalidParameter
from discreet.files.plain_text import printable

ALGORITHM_HELP = "such as noisy-gradient; a wrong name lists all (default: auto)"

_CHOICE = re.compile(r"invalid choice: '(?P<given>[^']*)' \(choose from (?P<options>.*)\)")


class Parser(argparse.ArgumentParser):
    """An ``argparse`` parser with house settings: no abbreviations, and suggestions."""

    def __init__(self, **kwargs: Any) -> None:
        kwargs.setdefault("formatter_class", argparse.RawDescriptionHelpFormatter)
        super().__init__(**kwargs, allow_abbrev=False)

    def error(self, message: str) -> NoReturn:
        """Print usage and the message, then leave with exit code 2."""
        found = _CHOICE.search(message)
        if found:
            options = [o.strip(" '") for o in found["options"].split(",")]
            message += "." + suggestion(found["given"], options)
        super().error(printable(message, keep="\n"))


def add_budget(parser: argparse.ArgumentParser) -> None:
    """Add ``--epsilon`` and ``--delta``."""
    parser.add_argument(
        "--epsilon", type=float, required=True, help="privacy budget of this release"
    )
    parser.add_argument(
        "--delta",
        type=float,
        default=1e-6,
        help="failure term, far below 1/rows; 0 for pure epsilon-privacy (default: %(default)g)",
    )


def add_inference(parser: argparse.ArgumentParser) -> None:
    """Add ``--inference``."""
    parser.add_argument(
        "--inference",
        choices=("table", "population", "robust"),
        help="give intervals of the coefficients, which count noise (table), sampling too "
        "(population), or both whatever the law of the labels (robust)",
    )


def add_group(parser: argparse.ArgumentParser) -> None:
    """Add ``--group`` and ``--rows-per-group``."""
    parser.add_argument(
        "--group",
        metavar="COLUMN",
        help="column that says whose row it is; protects people instead of rows",
    )
    parser.add_argument(
        "--rows-per-group", type=int, metavar="K", help="most rows that one person counts for"
    )


def grouped(args: argparse.Namespace, schema: Any) -> Any:
    """Return the schema with the column that ``--group`` names, if it does."""
    if (args.group is None) != (args.rows_per_group is None):
        raise InvalidParameter(
            "--group and --rows-per-group belong together: the column that says whom a row "
            "belongs to, and how many rows one person counts for at most."
        )
    return schema if args.group is None else schema.with_group(args.group, args.rows_per_group)


def add_seed(parser: argparse.ArgumentParser) -> None:
    """Add ``--seed``."""

    def seed(text: str) -> int:
        if (number := int(text)) < 0:
            raise ValueError
        return number

    parser.add_argument(
        "--seed",
        type=seed,
        help="whole number, 0 or more; for tests only: the result is NOT private",
    )


def add_quiet(parser: Any) -> None:
    """Add ``--quiet`` to a parser or a group of options."""
    parser.add_argument("--quiet", action="store_true", help="no progress on stderr")


def progress_of(args: argparse.Namespace) -> Callable[[str], None]:
    """Return what takes lines of progress: nothing comes of them if ``--quiet`` was given."""
    return (lambda message: None) if args.quiet else print_progress


def add_settings(parser: argparse.ArgumentParser) -> None:
    """Add ``--set``."""
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="parameter of the model, e.g. radius=3 or constraint='L2Ball(radius=3)'; repeatable",
    )
