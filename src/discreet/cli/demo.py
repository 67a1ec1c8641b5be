"""``discreet demo``: the whole way on public data."""

from __future__ import annotations

import argparse
from pathlib import Path
from statistics import median
from typing import Any

from discreet.cli.shared.files import (
    add_force,
    check_outputs,
    make_folder,
    print_progress,
    print_result,
    write_model,
)
from discreet.cli.shared.parser import add_seed
from discreet.errors import DiscreetError
from discreet.files.writing import write_json, write_text
from discreet.schema import Categories, Range, Schema

RANGES = {
    "worst radius": (5, 30),
    "worst texture": (10, 40),
    "worst perimeter": (50, 200),
    "worst area": (0, 2000),
    "worst smoothness": (0.05, 0.2),
    "worst compactness": (0, 0.8),
    "worst concavity": (0, 0.8),
    "worst concave points": (0, 0.3),
    "worst symmetry": (0.1, 0.5),
    "worst fractal dimension": (0.05, 0.15),
}
"""Columns of the breast-cancer data and round ranges for them.

Both were picked with the data in view, which is fine for public data only.
"""

TARGET = "benign"
SCHEMA = Schema({name: Range(*r) for name, r in RANGES.items()} | {TARGET: Categories([0, 1])})

DELTA = 1e-5

_FILES = ("report.html", "model.json", "card.json", "card.txt", "accuracy.png")

_EPILOG = """\
examples:
  discreet demo
  discreet demo --out demo --epsilon 0.5 1 2 --fits 20

the data is scikit-learn's breast-cancer set. It is public, so that showing
accuracy and fitting many times costs nobody any privacy. On sensitive data every
fit spends its epsilon and a score on the data is a release of its own.

columns and ranges were picked with this public data in view. On sensitive data
they have to be picked blindly, so expect somewhat less accuracy there.
"""


def add(verbs: Any) -> None:
    """Add the verb to the command line."""
    parser = verbs.add_parser(
        "demo",
        help="see it work on public data: accuracy, picture, card, report",
        description="Fit private models on public data; write picture, report, card and model.",
        epilog=_EPILOG,
    )
    parser.add_argument(
        "--out", type=Path, default=Path("demo"), help="folder to write to (default: demo)"
    )
    parser.add_argument(
        "--epsilon",
        type=float,
        nargs="+",
        default=[0.1, 0.3, 1.0, 3.0, 10.0],
        metavar="E",
        help="budgets to compare (default: 0.1 0.3 1 3 10)",
    )
    parser.add_argument(
        "--fits", type=int, default=15, help="private fits per epsilon (default: 15)"
    )
    add_seed(parser)
    add_force(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> None:
    """Fit, compare, and write the results."""
    from sklearn.datasets import load_breast_cancer
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import train_test_split
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    from discreet import Budget, PrivateLogisticRegression
    from discreet.checks import integer
    from discreet.report import About, accuracy_plot, card_dict, render, report_html

    integer("fits", args.fits)
    for epsilon in args.epsilon:
        Budget(epsilon, DELTA)  # refuses a bad one before anything is made
    make_folder(args.out, "demo")
    outputs = [args.out / name for name in _FILES]
    check_outputs(*outputs, force=args.force, paid=True)
    data = load_breast_cancer()
    columns = [list(data.feature_names).index(name) for name in RANGES]
    X, X_test, y, y_test = train_test_split(
        data.data[:, columns], data.target, test_size=0.3, stratify=data.target, random_state=0
    )
    baseline = make_pipeline(StandardScaler(), LogisticRegression()).fit(X, y)
    plain = baseline.score(X_test, y_test)
    guessing = max(y_test.mean(), 1 - y_test.mean())
    tables = [dict(zip(RANGES, part.T, strict=True)) for part in (X, X_test)]

    def fit(epsilon: float, i: int) -> Any:
        seed = None if args.seed is None else args.seed + i
        model = PrivateLogisticRegression(
            epsilon=epsilon, delta=DELTA, schema=SCHEMA, target=TARGET, random_state=seed
        )
        return model.fit(tables[0], y)

    print_result(
        f"Breast cancer: {len(X)} rows to fit, {len(X_test)} to test, {len(RANGES)} features.\n"
        "This data is public, so showing accuracy on it costs nobody any privacy.\n"
        "Columns and ranges were picked with it in view; sensitive data allows no such look.\n"
    )
    print_result(f"{'epsilon':>12}  median test accuracy   lowest and highest of {args.fits} fits")
    epsilons, scores, models = sorted(set(args.epsilon)), [], []
    for k, epsilon in enumerate(epsilons):
        fits = [fit(epsilon, k * args.fits + i) for i in range(args.fits)]
        scores.append([m.score(tables[1], y_test) for m in fits])
        models.append(fits[0])
        low, high = min(scores[-1]), max(scores[-1])
        print_result(f"{epsilon:12g}  {median(scores[-1]):20.1%}   {low:.1%} to {high:.1%}")
    print_result(f"{'not private':>12}  {plain:20.1%}")
    print_result(f"{'guessing':>12}  {guessing:20.1%}   (always the larger class)\n")

    shown = models[min(range(len(epsilons)), key=lambda i: abs(epsilons[i] - 1.0))]
    print_result(f"The model that is written has this guarantee:\n\n{shown.guarantee_}\n")
    write_model(args.out / "model.json", shown)
    file = args.out / "model.json"
    about = About(
        name="Is a tumour benign?",
        dataset="Breast cancer Wisconsin (diagnostic), public",
        tuning="Columns and ranges were picked with the rows in view, as the data is public.",
    )
    card = card_dict(shown, about=about, file=file)
    write_json(args.out / "card.json", card)
    write_text(args.out / "card.txt", render(card))
    write_text(args.out / "report.html", report_html(shown, about=about, file=file))
    written = ["report.html", "model.json", "card.txt", "card.json"]
    try:
        accuracy_plot(
            args.out / "accuracy.png",
            epsilons=epsilons,
            scores=scores,
            baseline=plain,
            guessing=guessing,
            title="Logistic regression on breast-cancer data",
            subtitle=f"{len(X)} rows, {len(RANGES)} features, delta = {DELTA:g}, "
            f"{shown.neighbours} neighbours",
        )
        written.insert(0, "accuracy.png")
    except DiscreetError as absent:
        print_progress(str(absent))
    print_result(f"Written to {args.out}: {', '.join(written)}")
