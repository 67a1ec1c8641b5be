"""``discreet``: dispatch to one file per verb."""

from __future__ import annotations

import argparse
import io
import os
import sys
import warnings
from collections.abc import Sequence
from importlib import import_module

from discreet import __version__
from discreet.errors import DiscreetError, TooFewRows, WeakBudget
from discreet.files.plain_text import printable

VERBS = (
    "demo", "example", "listing", "schema", "plan", "fit", "tune", "accuracy_first", "evaluate",
    "predict", "summary", "card", "report", "ledger", "audit",
)  # fmt: skip
"""Files with a verb each, in the order of the help."""

_DESCRIPTION = "Fit linear models on sensitive data with a differential-privacy guarantee."

_EPILOG = """\
a first session:
  discreet demo --out demo
  discreet example
  discreet plan --schema schema.toml --target income --rows 5000 --epsilon 1
  discreet fit data.csv --target income --epsilon 1 --schema schema.toml --out model.json
  discreet card model.json
  discreet report model.json --out report.html

each command has its own help: discreet fit --help

exit codes:
  0  done
  1  refused or failed; one line on stderr says why and what to do
  2  the command line was wrong
  130  interrupted; one line on stderr says what a fit has written and spent

messages and progress name columns and settings, never values of the data.
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code.

    Parameters
    ----------
    argv
        Arguments without the program's name; by default those of the process.

    Examples
    --------
    >>> main(["plan", "--model", "logistic", "--rows", "1000", "--features", "3",
    ...       "--epsilon", "-1", "--row-norm", "1"])
    1
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # Names of columns may not fit the terminal's encoding; no model fails over that.
            stream.reconfigure(errors="backslashreplace")
    arguments = argparse.Namespace(interrupted="the command did not finish.")
    try:
        _parse(argv, arguments)
        with warnings.catch_warnings():
            warnings.simplefilter("always", UserWarning)
            for said in (WeakBudget, TooFewRows):  # verbs say them before they read rows
                warnings.simplefilter("ignore", said)
            warnings.showwarning = _caution
            arguments.run(arguments)
    except SystemExit as leave:
        return int(leave.code or 0)
    except BrokenPipeError:  # of a file such as /dev/stdout
        return _fail(f"nobody reads the output: {arguments.interrupted}")
    except KeyboardInterrupt:
        return _fail(f"interrupted: {arguments.interrupted}", 130)
    except DiscreetError as error:
        return _fail(f"{type(error).__name__}: {error}{_option(error.parameter, arguments)}")
    except OSError as error:
        return _fail(
            f"{error.strerror or 'cannot be read or written'}: {error.filename or 'output'}"
        )
    except Exception as error:
        if os.environ.get("DISCREET_DEBUG"):
            raise
        # privacy: messages of other libraries may quote rows, so only their type is shown
        return _fail(
            f"unexpected {type(error).__name__}. Its message is withheld because it may quote "
            "data; set DISCREET_DEBUG=1 to see it where that is safe."
        )
    return 0


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line, with every verb.

    Examples
    --------
    >>> parser().prog
    'discreet'
    """
    from discreet.cli.shared.parser import Parser

    found = Parser(prog="discreet", description=_DESCRIPTION, epilog=_EPILOG)
    found.add_argument("--version", action="version", version=f"discreet {__version__}")
    verbs = found.add_subparsers(title="commands", dest="command", metavar="command", required=True)
    for name in VERBS:
        # Imported here, so that an interruption of what takes long is caught.
        import_module(f"discreet.cli.{name}").add(verbs)
    return found


def _parse(argv: Sequence[str] | None, arguments: argparse.Namespace) -> None:
    from discreet.cli.shared.run_file import expanded

    given = expanded(sys.argv[1:] if argv is None else list(argv))
    parser().parse_args(given, arguments)


def _option(parameter: str | None, arguments: argparse.Namespace) -> str:
    """Return the option that a parameter comes from, in brackets."""
    if parameter is None or parameter.startswith("-"):
        return ""
    name = {"n_features": "features", "n_rows": "rows"}.get(parameter, parameter)
    if any(given.partition("=")[0] == name for given in getattr(arguments, "set", ())):
        return f" (--set {name})"
    return f" (--{name.replace('_', '-')})" if hasattr(arguments, name) else ""


def _caution(
    message: Warning | str, category: type[Warning], *place: object, **further: object
) -> None:
    """Say a warning of this library in one line, without the place in the code."""
    # privacy: warnings of other libraries may quote rows
    if category.__module__.startswith("discreet.") or os.environ.get("DISCREET_DEBUG"):
        print(f"caution: {printable(str(message))}", file=sys.stderr)


def _fail(message: str, code: int = 1) -> int:
    print(f"discreet: {printable(message)}", file=sys.stderr)
    return code
