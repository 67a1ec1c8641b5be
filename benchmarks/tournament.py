"""Our defaults against baselines tuned in hindsight, on the bank of problems.

    python benchmarks/tournament.py run --half choosing     # minutes; --full takes all rows, hours
    python benchmarks/tournament.py table                   # results/tournament/table.md

A cell is a problem at one budget and relation. Every baseline has its whole grid tried in a cell,
and the best mean of its fits is reported for each measure by itself: hindsight that costs privacy
nobody pays for. Ours is the default, with nothing stated but bounds. ``run`` writes one file per
cell; a cell whose file is there is read, and its baselines are not run again.

Measures: excess of the mean training loss over the optimum without privacy; held-out loss; AUC,
accuracy or R2. In the table, ratios of the excess are to the best baseline of the cell.
"""

from __future__ import annotations

import argparse
import json
import math
import time
import warnings
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np

from bank import SETS, half_of, load
from bank_sets import Data
from baselines import Array, baselines, optimum
from discreet import (
    Bounds,
    PrivateHuberRegressor,
    PrivateLogisticRegression,
    PrivateRidge,
    PrivateSparseLogisticRegression,
)
from discreet.defaults import capping, early_stopping, rules
from discreet.errors import DiscreetError
from forms import DELTA, intercept, measures, natural
from problems import data_directory
from tournament_table import RESULTS, line, table

EPSILONS = (0.1, 1.0, 8.0)
CORE_ROWS = {"binary": 20_000, "regression": 20_000, "classes": 8_000, "text": 10_000}
REGRESSORS: dict[str, Any] = {"regression": PrivateRidge, "huber": PrivateHuberRegressor}
"""By the loss that they minimise and are scored by; both fit the regressions of the bank."""
CORE_COLUMNS = 400
"""Of images and text the core takes a fixed draw of columns, for time."""


def default(
    kind: str, X: Any, y: Array, epsilon: float, delta: float, seed: int, **stated: Any
) -> Array:
    """Fit our default on rows of norm 1, without an intercept."""
    relation = "zero-out" if delta else "replace-one"
    common = {"epsilon": epsilon, "delta": delta, "neighbours": relation, "random_state": seed}
    common |= {"fit_intercept": False, **stated}
    if kind in REGRESSORS:
        bounds = Bounds(row_norm=1.0, label=(-1.0, 1.0))
        return np.asarray(REGRESSORS[kind](bounds=bounds, **common).fit(X, y).coef_)
    classes = tuple(range(int(y.max()) + 1))
    bounds = Bounds(row_norm=1.0, classes=classes)
    fitted = PrivateLogisticRegression(bounds=bounds, **common).fit(X, y.astype(int))
    return np.asarray(fitted.coef_[0] if len(classes) == 2 else fitted.coef_.T)


def sparse(kind: str, X: Any, y: Array, epsilon: float, delta: float, seed: int) -> Array:
    """Fit the sparse classifier by default, on text."""
    assert kind == "text"
    model = PrivateSparseLogisticRegression(
        epsilon=epsilon,
        delta=delta,
        bounds=Bounds(features=(-1.0, 1.0), classes=(0, 1)),
        fit_intercept=False,
        random_state=seed,
    )
    return np.asarray(model.fit(X, y.astype(int)).coef_[0])


CANDIDATES: dict[str, Callable[..., Array]] = {"default": default}
OTHERS: dict[str, dict[str, Callable[..., Array]]] = {
    "text": {"PrivateSparseLogisticRegression": sparse},
}
SECRET = "default, size secret"
ORACLE = "default, best norm_guess in hindsight"
FACTORS = (0.125, 0.25, 0.5, 2.0, 4.0, 8.0)


def oracle(
    kind: str,
    first: Any,
    second: Any,
    epsilon: float,
    delta: float,
    seeds: int,
    *,
    descents: bool = True,
) -> dict[str, Any]:
    """Return the default with the guess of the norm that is best in hindsight, or {}.

    With a delta, of descents alone unless ``descents`` is false.
    """
    X, y = first
    best: dict[str, Any] = {}
    for factor in FACTORS:
        fits = []
        for seed in range(seeds):
            plan = planned(kind, X, y, epsilon, delta)
            if descents and plan.algorithm != "noisy-gradient" and delta:
                return {}
            guess = factor * float(plan.facts()["norm guess"])
            w = default(kind, X, y, epsilon, delta, seed, norm_guess=guess)
            fits.append(measures(kind, first, second, w))
        found = summary(fits) | {"factor": [factor, 0.0]}
        if not best or found["risk"][0] < best["risk"][0]:
            best = found
    return best


def planned(kind: str, X: Any, y: Array, epsilon: float, delta: float) -> Any:
    """Return the plan of our default on such rows."""
    relation = "zero-out" if delta else "replace-one"
    common = {"epsilon": epsilon, "delta": delta, "neighbours": relation, "fit_intercept": False}
    if kind in REGRESSORS:
        bounds = Bounds(row_norm=1.0, label=(-1.0, 1.0))
        return REGRESSORS[kind](bounds=bounds, **common).plan(X.shape[1], X.shape[0])
    bounds = Bounds(row_norm=1.0, classes=tuple(range(int(y.max()) + 1)))
    return PrivateLogisticRegression(bounds=bounds, **common).plan(X.shape[1], X.shape[0])


def summary(fits: list[dict[str, float]]) -> dict[str, list[float]]:
    """Return mean and standard error of each measure."""
    found = {}
    for name in fits[0]:
        values = np.array([fit[name] for fit in fits])
        spread = values.std(ddof=1) / math.sqrt(len(values)) if len(values) > 1 else 0.0
        found[name] = [float(values.mean()), float(spread)]
    return found


def hindsight(fits: dict[str, list[dict[str, float]]]) -> dict[str, Any]:
    """Return, for each family of baselines and measure, its best setting, mean and error."""
    best: dict[str, Any] = {}
    for setting, found in fits.items():
        family = best.setdefault(setting.split()[0], {})
        for name, (mean, error) in summary(found).items():
            better = (lambda a, b: a < b) if name in ("risk", "held_out") else (lambda a, b: a > b)
            if math.isfinite(mean) and (name not in family or better(mean, family[name][0])):
                family[name] = [mean, error, setting]
    return best


def prepared(problem: str, directory: Path, full: bool) -> tuple[Data, Data, Any, Any]:
    """Return the data and its matrix form, with fewer rows and columns unless in full."""
    kind = SETS[problem][1]
    train, test = load(problem, directory, 50_000 if full else CORE_ROWS[kind])
    first, second = (train.matrix, train.target), (test.matrix, test.target)
    if not full and kind == "classes" and first[0].shape[1] > CORE_COLUMNS:
        kept = np.random.default_rng(21).permutation(first[0].shape[1])[:CORE_COLUMNS]
        first, second = (first[0][:, kept], first[1]), (second[0][:, kept], second[1])
    return train, test, first, second


def cells(kind: str) -> Iterable[tuple[float, float]]:
    """Return the budgets of a kind of problem."""
    yield from ((epsilon, DELTA) for epsilon in EPSILONS)
    if kind in ("binary", "regression"):
        yield from ((epsilon, 0.0) for epsilon in EPSILONS)


def run(arguments: argparse.Namespace) -> None:
    """Fill the cells that are asked for."""
    warnings.simplefilter("ignore")
    for name, value in (pair.split("=") for pair in arguments.constant):
        for module in (capping, early_stopping, rules):
            if hasattr(module, name):
                setattr(module, name, type(getattr(module, name))(float(value)))
    (RESULTS / "replace-one").mkdir(parents=True, exist_ok=True)
    kinds = arguments.kinds.split(",")
    for problem, (_, kind, _) in SETS.items():
        if kind == "regression" and kinds == ["huber"]:
            kind = "huber"
        if half_of(problem) != arguments.half or kind not in kinds:
            continue
        if arguments.problems and problem not in arguments.problems.split(","):
            continue
        train, test, first, second = prepared(
            problem, data_directory(arguments.data), arguments.full
        )
        best = None
        for epsilon, delta in cells(kind):
            if arguments.deltas and str(delta) not in arguments.deltas.split(","):
                continue
            if arguments.epsilons and f"{epsilon:g}" not in arguments.epsilons.split(","):
                continue
            zero_out = arguments.relation == "zero-out" or delta == 0.0
            secret = arguments.relation == "add-remove"
            if secret and delta == 0.0:
                continue
            tail = (".huber" if kind == "huber" else "") + (".full" if arguments.full else "")
            folder = RESULTS if zero_out or secret else RESULTS / "replace-one"
            path = folder / f"{problem}.{epsilon:g}.{delta:g}{tail}.json"
            held = json.loads(path.read_text()) if path.exists() else {}
            if "baselines" not in held or arguments.baselines:
                best = optimum(kind, *first) if best is None else best
                twice = not (zero_out or secret)
                fits = baselines(kind, *first, epsilon, delta, best, twice=twice)
                held |= {
                    "kind": kind,
                    "half": arguments.half,
                    "rows": first[0].shape,
                    "optimum": measures(kind, first, second, best),
                    "baselines": hindsight(
                        {k: [measures(kind, first, second, w) for w in v] for k, v in fits.items()}
                    ),
                    "ours": held.get("ours", {}),
                }
            for name, fit in (CANDIDATES | (OTHERS.get(kind, {}) if zero_out else {})).items():
                label = (arguments.label or name) if name == "default" else name
                label = SECRET if secret else label
                if label in held["ours"] and not arguments.again:
                    continue
                started, found = time.process_time(), []
                try:
                    for seed in range(arguments.seeds):
                        stated = {} if zero_out else {"neighbours": arguments.relation}
                        w = fit(kind, *first, epsilon, delta, seed, **stated)
                        found.append(measures(kind, first, second, w))
                except DiscreetError as refusal:
                    print(problem, epsilon, delta, name, refusal, flush=True)
                    continue
                spent = (time.process_time() - started) / arguments.seeds
                held["ours"][label] = summary(found) | {"seconds": [spent, 0.0]}
            seeds = range(arguments.seeds)
            if arguments.natural and delta and kind in ("binary", "regression"):
                forms = held.setdefault("forms", {})
                forms["intercept"] = summary(
                    [intercept(kind, first, second, epsilon, s) for s in seeds]
                )
                forms["natural units"] = summary(
                    [natural(kind, train, test, epsilon, s) for s in seeds]
                )
            if arguments.oracle:
                known = oracle(kind, first, second, epsilon, delta, arguments.seeds)
                if known:
                    mine = held["ours"]["default"]
                    known = mine if mine["risk"][0] <= known["risk"][0] else known
                    held["ours"][ORACLE] = {"seconds": [0.0, 0.0]} | known
            path.write_text(json.dumps(held, indent=1))
            print(line(path.stem, held), flush=True)


def main() -> None:
    """Run cells or write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["run", "table"])
    parser.add_argument("--half", default="choosing", choices=["choosing", "judging"])
    parser.add_argument(
        "--kinds", default="binary,regression,classes,text", help="or huber, by itself"
    )
    parser.add_argument("--problems")
    parser.add_argument("--deltas")
    parser.add_argument("--epsilons")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument(
        "--relation",
        default="zero-out",
        choices=["zero-out", "replace-one", "add-remove"],
        help="with a delta; without one it is always replace-one. Under add-remove the size is "
        "secret and none is declared; the baselines are those of zero-out",
    )
    parser.add_argument("--full", action="store_true", help="all rows, up to 50,000")
    parser.add_argument(
        "--natural", action="store_true", help="also with an intercept, in both forms"
    )
    parser.add_argument("--oracle", action="store_true", help="also the best guess of the norm")
    parser.add_argument("--again", action="store_true", help="fit ours again")
    parser.add_argument("--baselines", action="store_true", help="fit the baselines again")
    parser.add_argument("--label", help="name of the rule in the results")
    parser.add_argument(
        "--constant",
        action="append",
        default=[],
        help="NAME=VALUE of a tuned number",
    )
    parser.add_argument("--data")
    arguments = parser.parse_args()
    table() if arguments.what == "table" else run(arguments)


if __name__ == "__main__":
    main()
