"""Logistic regression with more than two classes: the default against objective perturbation.

``python benchmarks/classes.py run`` fits both, with no other setting, on five public data sets and
on nine artificial ones at three budgets each, and writes ``results/classes.json`` and ``.md``. None
of them played a part in choosing the default's constants (notes/noisy-gradient.md). Delta is 1e-6,
neighbours are zero-out. Loss is the mean log loss on held-out rows; a model that knows nothing has
log K.

Public data, with public constants only: scikit-learn's digits (pixels over 16, 10 classes),
Covertype (7 cover types, as in ``problems.py``), KDD-99 (5 categories of attack, as there), wine
quality (7 grades), and news20 (20 groups, words hashed to 200 columns). Large ones are cut to
30,000 training rows, so that the rule has to decide both ways.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import scipy.sparse as sp
from scipy.special import softmax
from sklearn.datasets import load_digits
from sklearn.metrics import log_loss

from arguments import parser_of
from discreet import Bounds, PrivateLogisticRegression
from few_rows import LAWS, rows
from problems import PROBLEMS, Problem, clip_rows, data_directory, present, read_csv, split

RESULTS = Path(__file__).resolve().parent / "results" / "classes.json"
EPSILONS = (0.2, 1.0, 8.0)
METHODS = ("auto", "objective-perturbation")
MOST = 30_000
SIZES = ((1000, 6, 3), (5000, 15, 4), (20_000, 25, 8))

ATTACKS = {
    "normal": "normal",
    "dos": "back land neptune pod smurf teardrop",
    "probe": "ipsweep nmap portsweep satan",
    "remote": "ftp_write guess_passwd imap multihop phf spy warezclient warezmaster",
    "root": "buffer_overflow loadmodule perl rootkit",
}
# Fixed and volatile acidity, citric acid, sugar, chlorides, sulphur dioxide (free, total), density,
# pH, sulphates, alcohol: round numbers within which wines lie.
WINE = [(0, 20), (0, 2), (0, 2), (0, 50), (0, 1), (0, 200), (0, 400), (0.98, 1.04), (2, 5), (0, 2)]
WINE.append((5, 20))


def digits(directory: Path) -> Problem:
    """Eight by eight pixels from 0 to 16."""
    del directory
    X, y = load_digits(return_X_y=True)
    return split(clip_rows(X / 16.0 / 4.0), y.astype(np.int64))


def covertype(directory: Path) -> Problem:
    """Seven cover types."""
    types = read_csv(directory / "covertype" / "covtype.data.gz")[54].to_numpy() - 1
    return relabelled(PROBLEMS["covertype"](directory), types)


def kdd99(directory: Path) -> Problem:
    """Normal connections and four categories of attack."""
    names = read_csv(directory / "kdd99" / "kddcup.data_10_percent.gz")[41].str.rstrip(".")
    code = {name: k for k, group in enumerate(ATTACKS.values()) for name in group.split()}
    return relabelled(PROBLEMS["kdd99"](directory), names.map(code).to_numpy())


def wine(directory: Path) -> Problem:
    """Grades 3 to 9 of red and white wines."""
    frames = []
    for colour in ("red", "white"):
        path = present(directory / "wine-quality" / f"winequality-{colour}.csv.gz")
        frames.append(pd.read_csv(path, header=None).assign(colour=float(colour == "white")))
    frame = pd.concat(frames)
    low, high = np.array(WINE).T
    X = 2 * (np.clip(frame.iloc[:, :11].to_numpy(float), low, high) - low) / (high - low) - 1
    colours = frame[["colour"]].to_numpy()
    X = np.hstack([X, colours, 1 - colours])
    return split(clip_rows(X), frame[11].to_numpy(np.int64) - 3)


def news20(directory: Path) -> Problem:
    """Newsgroups by their words, each sent to one of 200 columns with a sign."""
    path = present(directory / "news20-multiclass" / "news20_train.npz")
    X, y = sp.load_npz(path), np.load(path)["y"]
    rng, p = np.random.default_rng(20), X.shape[1]
    sign = rng.choice([-1.0, 1.0], p)
    hashed = sp.csr_array((sign, (np.arange(p), rng.integers(200, size=p))), shape=(p, 200))
    X = np.asarray((X.sign() @ hashed).todense())
    X /= np.maximum(np.linalg.norm(X, axis=1), 1.0)[:, None]
    return split(X, np.unique(y, return_inverse=True)[1].astype(np.int64))


def relabelled(problem: Problem, labels: np.ndarray) -> Problem:
    """Return some rows of a problem that ``split`` made, with other labels."""
    parts = split(np.zeros((len(labels), 0)), labels.astype(np.int64))
    return Problem(
        problem.X_train[:MOST], parts.y_train[:MOST], problem.X_test[:MOST], parts.y_test[:MOST]
    )


def artificial(law: str, n: int, p: int, classes: int) -> Problem:
    """Return rows as in ``few_rows.py`` with labels drawn from a softmax model."""
    rng = np.random.default_rng([n, p, classes, LAWS.index(law)])
    X, weights = rows(law, 2 * n, p, rng), rng.normal(size=(p, classes))
    weights *= rng.choice([4.0, 8.0, 16.0]) * np.sqrt(classes / 2) / np.linalg.norm(weights)
    chances = softmax(X @ weights, axis=1).cumsum(axis=1)
    y = (chances > rng.random(2 * n)[:, None]).argmax(axis=1)
    return Problem(X[:n], y[:n], X[n:], y[n:])


def problems(directory: Path) -> Iterator[tuple[str, int, Problem]]:
    """Yield name, number of classes and data of every problem."""
    public = ((digits, 10), (wine, 7), (news20, 20), (covertype, 7), (kdd99, 5))
    for law, (n, p, classes) in product(LAWS, SIZES):
        yield f"{law}, {n} by {p}", classes, artificial(law, n, p, classes)
    for make, classes in public:
        yield make.__name__, classes, make(directory)


def compare(name: str, classes: int, data: Problem, seeds: int) -> Iterator[dict[str, object]]:
    """Yield one row per budget and method, means over seeds."""
    for epsilon, method in product(EPSILONS, METHODS):
        losses, accuracies, start = [], [], time.process_time()
        for seed in range(seeds):
            model = PrivateLogisticRegression(
                epsilon=epsilon,
                bounds=Bounds(row_norm=1.0, classes=tuple(range(classes))),
                algorithm=method,
                fit_intercept=False,
                random_state=seed,
            ).fit(data.X_train, data.y_train)
            chances = np.clip(model.predict_proba(data.X_test), 1e-15, None)
            losses.append(log_loss(data.y_test, chances, labels=range(classes)))
            accuracies.append(model.score(data.X_test, data.y_test))
        yield {
            "problem": name,
            "rows": len(data.y_train),
            "classes": classes,
            "epsilon": epsilon,
            "method": method,
            "took": model.algorithm_,
            "loss": float(np.mean(losses)),
            "accuracy": float(np.mean(accuracies)),
            "seconds": (time.process_time() - start) / seeds,
        }


def table(found: list[dict[str, object]]) -> str:
    """Return both methods side by side, and how often the default is behind."""
    text = [
        "Held-out log loss and accuracy (CPU seconds of a fit), default settings.",
        "",
        "| problem | classes | epsilon | default took | loss | loss, objective perturbation | "
        "accuracy | accuracy, objective perturbation |",
        "|---|---|---|---|---|---|---|---|",
    ]
    behind = differ = 0
    for ours, other in zip(found[::2], found[1::2], strict=True):
        cells = [f"{ours[key]}" for key in ("problem", "classes", "epsilon", "took")]
        cells += [f"{row['loss']:.3f}" for row in (ours, other)]
        cells += [f"{row['accuracy']:.3f} ({row['seconds']:.2g} s)" for row in (ours, other)]
        text.append("| " + " | ".join(cells) + " |")
        if ours["took"] != other["took"]:
            differ += 1
            behind += ours["loss"] > other["loss"]
    text += ["", f"The default took another way in {differ} cells; its loss is larger in {behind}."]
    return "\n".join(text) + "\n"


def main() -> None:
    """Compare on every problem, print and store."""
    parser = parser_of(__doc__)
    parser.add_argument("--data", help="directory of the data sets (or DISCREET_DATA)")
    parser.add_argument("--seeds", type=int, default=2)
    args = parser.parse_args()
    found = []
    for name, classes, data in problems(data_directory(args.data)):
        for row in compare(name, classes, data, args.seeds):
            found.append(row)
            print(row, flush=True)
    RESULTS.write_text(json.dumps({"seeds": args.seeds, "rows": found}, indent=1) + "\n")
    text = table(found)
    RESULTS.with_suffix(".md").write_text(text)
    print(text)


if __name__ == "__main__":
    main()
