"""``discreet accuracy-first``: name the error that may remain, spend the least privacy."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from discreet.cli.fit import declared_model, read
from discreet.cli.ledger import add_option, opened
from discreet.cli.shared.files import (
    add_force,
    check_outputs,
    print_progress,
    print_result,
    read_schema,
    write_model,
)
from discreet.cli.shared.inputs import Inputs, add_inputs
from discreet.cli.shared.models import MODELS
from discreet.cli.shared.parser import add_quiet, add_seed, add_settings, progress_of
from discreet.errors import InvalidParameter, NotCertified
from discreet.files.writing import write_text
from discreet.style.colours import BLUE, QUIET, SOFT
from discreet.style.pictures import new_figure, save, style

METRICS = ("excess-risk", "loss", "error-rate")
METHODS = ("auto", "one-shot", "certificate", "noise-reduction", "doubling", "theory")

_EPILOG = """\
examples:
  discreet accuracy-first data.csv --target income --schema schema.toml \\
      --max-error 0.05 --max-epsilon 2 --out model.json --plot path.png
  discreet accuracy-first data.csv --target income --schema schema.toml \\
      --metric error-rate --max-error 0.2 --max-epsilon 1 --out model.json

excess-risk   how far the mean ridge objective may be above its minimum
loss          the mean loss itself, tested on the data
error-rate    the share of rows classified wrongly, tested on the data

a model that predicts one class for all rows has the error rate of the rarer class. If you
know that share from public sources, ask for less.

losses are in the scaled domain: features and labels in [-1, 1]. The cap is
reserved before the file is read; what is spent is known after the run and is
printed next to it. If the target cannot be met within the cap, no model is
written (but see --release-last) and the exit code is 1; what was spent is
printed all the same.

in a terminal every level is shown as soon as it is decided, with what a stop
there costs. The decisions are part of the result and paid for with it; a run
that is interrupted has cost no more than the last level shown.
"""


def add(verbs: Any) -> None:
    """Add the verb to the command line."""
    parser = verbs.add_parser(
        "accuracy-first",
        help="reach an error target with the least privacy loss",
        description="Fit a private model with at most a named error, at the least epsilon.",
        epilog=_EPILOG,
    )
    add_inputs(parser)
    parser.add_argument("--target", required=True, help="column to predict")
    parser.add_argument("--schema", type=Path, required=True, help="TOML file, see discreet fit")
    parser.add_argument(
        "--max-error",
        type=float,
        required=True,
        help="error that may remain, by --metric; smaller is harder",
    )
    parser.add_argument(
        "--metric",
        choices=METRICS,
        default="excess-risk",
        help="which error --max-error is about, see below (default: %(default)s)",
    )
    parser.add_argument(
        "--max-epsilon", type=float, required=True, help="most that the run may spend"
    )
    parser.add_argument(
        "--delta",
        type=float,
        default=1e-6,
        help="failure term; 0 for pure privacy (default: %(default)g)",
    )
    parser.add_argument(
        "--confidence",
        type=float,
        default=0.9,
        help="probability that a written model meets --max-error (default: %(default)g)",
    )
    parser.add_argument(
        "--method", choices=METHODS, default="auto", help="how to stop; default: the cheapest"
    )
    parser.add_argument("--model", choices=list(MODELS), metavar="NAME",
                        help="see discreet models; default: by the target's kind")  # fmt: skip
    add_settings(parser)
    parser.add_argument("--validation", type=float, help="share of rows set apart for tests")
    parser.add_argument("--out", type=Path, required=True, help="model file to write (JSON)")
    parser.add_argument("--card", type=Path, help="privacy card to write with the model (text)")
    parser.add_argument(
        "--plot", type=Path, help="picture to write: the path from private to accurate"
    )
    add_seed(parser)
    add_force(parser)
    add_option(parser)
    parser.add_argument(
        "--release-last",
        action="store_true",
        help="write the last model even if it missed the target; costs the same",
    )
    shown = parser.add_mutually_exclusive_group()
    add_quiet(shown)
    shown.add_argument(
        "--progress", action="store_true", help="show the levels even if stderr is not a terminal"
    )
    parser.set_defaults(
        run=run,
        interrupted="no model was written. The run cost at most the last level shown; if none "
        "was, count --max-epsilon as spent.",
    )


def run(args: argparse.Namespace) -> None:
    """Run, write the model if there is one, and say what it cost."""
    from discreet import AccuracyFirst
    from discreet.adaptive.outcome import unwatched
    from discreet.cli.shared.cautions import cautions
    from discreet.report import card_text

    inputs = Inputs.of(args)
    outputs = (args.out, args.card, args.plot)
    check_outputs(*outputs, inputs=(*inputs.files, args.schema), force=args.force, paid=True)
    check_picture(args.plot)
    schema = read_schema(args.schema)
    progress = progress_of(args)
    model = AccuracyFirst(
        declared_model(args, schema, delta=args.delta),
        max_error=args.max_error,
        metric=args.metric,
        max_epsilon=args.max_epsilon,
        confidence=args.confidence,
        method=args.method,
        validation=args.validation,
        release_last=args.release_last,
        random_state=args.seed,
        ledger=opened(args, schema.neighbours or "zero-out", schema),
    )
    reserve = model.check()
    rows = read(inputs, schema, args.target, progress)
    # privacy: under add-remove only the declared size is public
    size = schema.n_rows if schema.neighbours == "add-remove" else len(rows.X)
    for caution in cautions(reserve, size):
        print_progress(caution)
    progress("fitting")
    live = args.progress or (sys.stderr.isatty() and not args.quiet)
    model.fit(
        rows, watch=(lambda step: print_progress(_line(step, args.metric))) if live else unwatched
    )
    released = model.outcome_.weights is not None
    if released:  # before anything that may fail: the budget is spent
        args.interrupted = f"{args.out} may not have been written. Count --max-epsilon as spent."
        _write(args.out, model)
        args.interrupted = f"the model is in {args.out}; its guarantee says what was spent."
        progress(f"model written to {args.out}")
        if args.card is not None:
            write_text(args.card, card_text(model.estimator_, file=args.out, ledger=model.ledger))
            progress(f"card written to {args.card}")
    print_result(f"{model.summary_}\n{model.guarantee_}")
    if args.plot is not None:
        path_plot(args.plot, model)
        progress(f"path drawn in {args.plot}")
    if model.status_ != "met":
        what = (
            "the model that was written did not meet the target"
            if released
            else "the target was not met, so no model was written"
        )
        raise NotCertified(
            f"{what}; what was spent stays spent. Allow a larger --max-error or raise "
            "--max-epsilon."
        )


def _write(path: Path, model: Any) -> None:
    run = {"summary": model.summary_, "steps": [vars(s) for s in model.outcome_.steps]}
    write_model(path, model.estimator_, accuracy_first=run)


def check_picture(path: Path | None) -> None:
    """Refuse a picture that cannot be drawn, before any budget is spent."""
    if path is None:
        return
    formats = new_figure().canvas.get_supported_filetypes()
    if path.suffix[1:].lower() not in formats:
        raise InvalidParameter(f"--plot must end in one of {', '.join(sorted(formats))}.")


def _line(step: Any, metric: str) -> str:
    """Say what was decided at a level and what a stop there costs."""
    error = "" if step.bound is None else f", certified {metric} {step.bound:.3g}"
    return f"  epsilon {step.epsilon:.4g}{error}: {'stop' if step.accepted else 'go on'}"


@style()
def path_plot(path: Path, model: Any) -> None:
    """Draw what each level of a run would have cost, and where it stopped."""
    from matplotlib.ticker import LogLocator

    steps, reserved = model.outcome_.steps, model.guarantee_.reserved
    figure = new_figure()
    axes = figure.subplots()
    spent = [s.epsilon for s in steps]
    certified = steps[0].bound is not None
    levels = [s.bound if certified else k for k, s in enumerate(steps, 1)]
    axes.plot(spent, levels, "-o", color=BLUE, lw=1.5, ms=4)
    if steps[-1].accepted:
        axes.plot(spent[-1:], levels[-1:], "o", color=BLUE, ms=10)
        # On the side where there is room.
        right = reserved is None or spent[-1] ** 2 > spent[0] * reserved[0]
        axes.annotate(
            f"stop at epsilon {spent[-1]:.3g}", (spent[-1], levels[-1]),
            xytext=(-10 if right else 10, 0), textcoords="offset points", va="center",
            ha="right" if right else "left", fontweight="bold", color=BLUE,
        )  # fmt: skip
    if certified:
        axes.axhline(model.max_error, color=SOFT, ls="--", lw=1.2)
        axes.text(spent[0], model.max_error, f"target {model.max_error:g}", va="bottom", color=SOFT)
        axes.set_yscale("log")
        axes.set_ylabel(f"certified {model.metric}")
    else:
        axes.set_ylabel("models tested so far")
    if reserved is not None:
        axes.axvline(reserved[0], color=QUIET, ls=":", lw=1.2)
        axes.text(reserved[0], axes.get_ylim()[0], f"reserved {reserved[0]:.3g} ", ha="right",
                  va="bottom", color=QUIET, rotation=90)  # fmt: skip
    axes.set_xscale("log")
    axes.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
    axes.minorticks_off()
    axes.set_xlabel("epsilon of a stop here")
    axes.set_title(model.summary_, fontsize=9)
    save(figure, path)
