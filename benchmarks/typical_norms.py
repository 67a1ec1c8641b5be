"""Which typical norm to take where ranges alone are declared, on the choosing half of the bank.

    python benchmarks/typical_norms.py run                 # results/typical_norms/choosing.json
    python benchmarks/typical_norms.py run --half judging  # the rule, and the one before it
    python benchmarks/typical_norms.py table               # results/typical_norms/table.md

Each problem is fitted in natural units, with an intercept, in two forms: with the range of each
column (``ranges``), and as a schema has it, where indicators of one category count as one column
(``table``). Candidates are parts of the longest norm and its root, as a typical norm; ``cut`` is
the root as a row norm, so that rows are shortened. ``categories in full`` is the rule for schemas.
Artificial laws have no units and are left out.
"""

from __future__ import annotations

import argparse
import json
import math
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse
from sklearn.linear_model import LinearRegression, LogisticRegression

from bank import SETS, half_of, load
from bank_sets import Data
from discreet.bounds import typical_norm
from forms import DELTA, natural
from problems import data_directory
from tournament import CORE_ROWS, EPSILONS, summary

RESULTS = Path(__file__).parent / "results" / "typical_norms"
PARTS = {"longest": 1.0, "0.5": 0.5, "0.25": 0.25}
BEFORE, RULE, FULL = "longest", "root", "categories in full"
KINDS = ("binary", "regression", "classes")


def counts(data: Data) -> tuple[int, int]:
    """Return how many numbers and categories a table has: its indicators exclude each other."""
    numbers, categories, held = 0, 0, None
    for j, ends in enumerate(data.ranges):
        column = data.X[:, j]
        if ends != (-1.0, 1.0):
            numbers += 1
        elif held is None or (held + column > 1).any():
            categories, held = categories + 1, column
        else:
            held = held + column
    return numbers, categories


def bounds(name: str, numbers: int, categories: int, form: str) -> dict[str, float]:
    """Return the norms to declare for a candidate."""
    longest = math.sqrt(numbers + categories)
    if name == "cut":
        return {"row_norm": math.sqrt(longest)}
    typical = PARTS[name] * longest if name in PARTS else math.sqrt(longest)
    if name == FULL:
        typical = typical_norm(numbers, categories)
    return {"typical_norm": typical} | ({"row_norm": longest} if form == "table" else {})


def optimum(kind: str, train: Data, test: Data) -> float:
    """Return the held-out loss of a fit without privacy."""
    low, high = np.array(train.ranges).T
    X, held = ((2.0 * np.clip(d.X, low, high) - high - low) / (high - low) for d in (train, test))
    if kind == "regression":
        guess = LinearRegression().fit(X, train.target).predict(held)
        return float(np.mean((guess - test.target) ** 2) / 2)
    model = LogisticRegression(C=100.0, max_iter=300).fit(X, train.y)
    chance = model.predict_proba(held)[np.arange(len(test.y)), test.y.astype(int)]
    return -float(np.mean(np.log(np.maximum(chance, 1e-300))))


def problems(arguments: argparse.Namespace) -> Any:
    """Yield the problems of the half in natural units."""
    for problem, (_, kind, _) in SETS.items():
        wanted = not arguments.problems or problem in arguments.problems.split(",")
        law = problem.startswith("law-") or problem == "mnist"  # images: minutes a fit
        if half_of(problem) != arguments.half or kind not in KINDS or law or not wanted:
            continue
        train, test = load(problem, data_directory(arguments.data), CORE_ROWS[kind])
        if scipy.sparse.issparse(train.X):
            train, test = (Data(d.X.toarray(), d.ranges, d.y, d.label) for d in (train, test))
        yield problem, kind, train, test


def run(arguments: argparse.Namespace) -> None:
    """Fit every problem of the half with every candidate."""
    warnings.simplefilter("ignore")
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{arguments.half}.json"
    found = json.loads(path.read_text()) if path.exists() else {}
    names = [*PARTS, RULE, "cut"] if arguments.half == "choosing" else [BEFORE, RULE]
    for problem, kind, train, test in problems(arguments):
        columns, best = train.X.shape[1], optimum(kind, train, test)
        sizes = {"ranges": (columns, 0), "table": counts(train)}
        for form, delta in (("ranges", DELTA), ("ranges", 0.0), ("table", DELTA)):
            if (form == "table" and sum(sizes[form]) == columns) or (
                kind == "classes" and not delta
            ):
                continue
            few = names if form == "ranges" and delta else [BEFORE, "0.5", RULE]
            few = few if form == "ranges" else [*few, FULL]
            for epsilon in EPSILONS:
                cell = found.setdefault(f"{problem}.{epsilon:g}.{delta:g}.{form}", {})
                cell |= {"kind": kind, "columns": sum(sizes[form]), "optimum": best}
                for name in few:
                    if name in (*names, FULL) and name not in cell:
                        stated = bounds(name, *sizes[form], form)
                        cell[name] = summary(
                            [
                                natural(kind, train, test, epsilon, seed, delta, **stated)
                                for seed in range(arguments.seeds)
                            ]
                        )
                path.write_text(json.dumps(found, indent=1))
                told = " ".join(f"{n} {cell[n]['held_out'][0]:.4f}" for n in few if n in cell)
                print(f"{problem} {epsilon:g} {delta:g} {form} {best:.4f} {told}", flush=True)


def table() -> None:
    """Write geometric means and worst cases of held-out losses, as ratios to the longest norm."""
    lines = ["| half | kind | form | delta | epsilon | cells | candidate | mean | worst | behind |"]
    lines.append("|---|---|---|---|---|---|---|---|---|---|")
    for half in ("choosing", "judging"):
        path = RESULTS / f"{half}.json"
        groups: dict[tuple[str, ...], list[Any]] = {}
        for key, cell in (json.loads(path.read_text()) if path.exists() else {}).items():
            epsilon, delta, form = key.removeprefix(key.split(".")[0] + ".").rsplit(".", 2)
            groups.setdefault((half, cell["kind"], form, delta, epsilon), []).append(cell)
        for group, cells in sorted(groups.items()):
            for name in [*PARTS, RULE, FULL, "cut"]:
                if name == BEFORE or any(name not in cell for cell in cells):
                    continue
                pairs = [(c[name]["held_out"], c[BEFORE]["held_out"]) for c in cells]
                ratios = [new[0] / old[0] for new, old in pairs]
                behind = sum(new[0] > old[0] + 3 * math.hypot(new[1], old[1]) for new, old in pairs)
                mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
                shown = [*group, str(len(cells)), name, f"{mean:.3f}", f"{max(ratios):.3f}"]
                lines.append(f"| {' | '.join(shown)} | {behind} |")
    (RESULTS / "table.md").write_text("\n".join(lines) + "\n")


def main() -> None:
    """Run cells or write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["run", "table"])
    parser.add_argument("--half", default="choosing", choices=["choosing", "judging"])
    parser.add_argument("--problems")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--data")
    arguments = parser.parse_args()
    table() if arguments.what == "table" else run(arguments)


if __name__ == "__main__":
    main()
