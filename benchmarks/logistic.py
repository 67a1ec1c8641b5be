"""Private logistic regression against its peers: run, analyse, plot.

The three steps are separate, so a table or a figure can be redone without a new run, and a run of
some methods replaces only their own result files.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import platform
import subprocess
import tempfile
from collections import defaultdict
from collections.abc import Callable
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from environments import interpreter
from methods import METHODS, OURS, Method
from peers.newton import minimise
from problems import PROBLEMS, Problem, data_directory

HERE = Path(__file__).resolve().parent
EPSILONS = (0.1, 1.0, 8.0)
DEFAULT_PROBLEMS = ("synthetic", "adult", "kdd99", "covertype")
RIDGE = 1e-3  # of the non-private optimum, on the summed loss: only to make it exist
SINGLE_THREAD = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false",
    "JAX_PLATFORMS": "cpu",
}
Row = dict[str, Any]


# -- run ------------------------------------------------------------------------------------------


def score(problem: Problem, weights: Any) -> tuple[float, float]:
    """Return the mean training loss and the test accuracy of a weight vector."""
    w = np.asarray(weights)
    margin = (2 * problem.y_train - 1) * (problem.X_train @ w)
    accuracy = np.where(problem.X_test @ w > 0, problem.y_test, 1 - problem.y_test).mean()
    return float(np.logaddexp(0, -margin).mean()), float(accuracy)


def ask(method: Method, data: Path, jobs: list[Row]) -> tuple[dict[str, str], list[Row]]:
    """Run jobs inside the method's own environment; return versions and answers."""
    done = subprocess.run(
        [interpreter(method.environment), HERE / "peers" / method.script, data],
        input=json.dumps(jobs),
        text=True,
        stdout=subprocess.PIPE,
        env=os.environ | SINGLE_THREAD,
        check=True,
    )
    lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    return lines[0]["versions"], lines[1:]


def leaders(rows: list[Row]) -> list[tuple[float, Row]]:
    """Return, for each epsilon, the settings that lead on mean excess risk or mean accuracy."""
    found = []
    for epsilon in EPSILONS:
        groups = by_setting([row for row in rows if row["epsilon"] == epsilon])
        if groups:
            best = {min(groups, key=lambda s: mean(groups[s], "excess"))}
            best.add(max(groups, key=lambda s: mean(groups[s], "accuracy")))
            found += [(epsilon, json.loads(setting)) for setting in sorted(best)]
    return found


def by_setting(rows: list[Row]) -> dict[str, list[Row]]:
    """Group the successful rows by setting."""
    groups = defaultdict(list)
    for row in rows:
        if "error" not in row:
            groups[json.dumps(row["setting"], sort_keys=True)].append(row)
    return groups


def mean(rows: list[Row], key: str) -> float:
    """Return the mean of one field."""
    return float(np.mean([row[key] for row in rows]))


def standard_error(rows: list[Row], key: str) -> float:
    """Return the standard error of that mean."""
    return float(np.std([row[key] for row in rows], ddof=1) / np.sqrt(len(rows)))


def measure(method: Method, problem: Problem, data: Path, optimum: float) -> Row:
    """Try every setting with a few seeds, then the leading settings with the remaining seeds."""

    def job(epsilon: float, setting: Row, seed: int) -> Row:
        return {"epsilon": epsilon, "delta": method.delta, "setting": setting, "seed": seed}

    def answered(jobs: list[Row]) -> list[Row]:
        nonlocal versions
        versions, answers = ask(method, data, jobs) if jobs else (versions, [])
        for row in answers:
            if "error" not in row:
                risk, row["accuracy"] = score(problem, row.pop("weights"))
                row["excess"] = risk - optimum
        return answers

    versions: dict[str, str] = {}
    trials = method.trials
    rows = answered(
        [job(e, s, seed) for e in EPSILONS for s in method.settings for seed in range(trials)]
    )
    rows += answered(
        [job(e, s, seed) for e, s in leaders(rows) for seed in range(trials, method.seeds)]
    )
    return {"versions": versions, "rows": rows}


def one_row_per_line(result: Row) -> str:
    """Return a result as JSON that shows up in a diff row by row."""
    facts = {key: value for key, value in result.items() if key != "rows"}
    head = json.dumps(facts | {"rows": []}, indent=1).removesuffix("[]\n}")
    return head + "[\n" + ",\n".join(map(json.dumps, result["rows"])) + "\n]}\n"


def run(args: argparse.Namespace) -> None:
    """Measure the chosen methods on the chosen problems."""
    for name in args.problems:
        problem = PROBLEMS[name](data_directory(args.data))
        n, p = problem.X_train.shape
        best = minimise(problem.X_train, 2.0 * problem.y_train - 1, RIDGE, np.zeros(p), 1e-4)
        risk, accuracy = score(problem, best)
        print(f"{name}: n={n} p={p} non-private risk {risk:.5f} accuracy {accuracy:.4f}")
        with tempfile.TemporaryDirectory() as directory:
            data = Path(directory) / "train.npz"
            np.savez(data, X=problem.X_train, y=problem.y_train)
            for key in args.methods:
                method = METHODS[key].on(n)
                method = replace(method, seeds=args.seeds or method.seeds)
                result: Row = {"problem": name, "method": key, "rows": []}
                result["config"] = {
                    "relation": method.relation,
                    "delta": method.delta,
                    "epsilons": EPSILONS,
                    "settings": method.settings,
                    "trial seeds per setting": method.trials,
                    "seeds of the leading settings": method.seeds,
                    "training rows": n,
                    "test rows": len(problem.y_test),
                    "features": p,
                    "non-private risk": risk,
                    "non-private accuracy": accuracy,
                    "python": platform.python_version(),
                    "processor": platform.machine(),
                    "cores": os.cpu_count(),
                    "threads": 1,
                }
                try:
                    result |= measure(method, problem, data, risk)
                except (FileNotFoundError, subprocess.CalledProcessError) as error:
                    result["absent"] = f"{key} did not run: {type(error).__name__}"
                path = args.results / f"{name}.{key}.json"
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(one_row_per_line(result))
                print(f"  {key}: {len(result['rows'])} fits -> {path.name}", flush=True)


# -- analyse --------------------------------------------------------------------------------------


def summarise(directory: Path) -> list[Row]:
    """Reduce all result files to one row per problem, method and epsilon."""
    table = []
    for name, key in [(name, key) for name in PROBLEMS for key in METHODS]:
        path = directory / f"{name}.{key}.json"
        if not path.exists():
            continue
        result = json.loads(path.read_text())
        fits, default = result["rows"], []
        if besides := METHODS[key].besides:
            # What is tried besides the default, whose own fits are not run twice.
            default = json.loads((directory / f"{name}.{besides}.json").read_text())["rows"]
            fits = [row for row in fits if row["setting"] not in METHODS[besides].settings]
        one = one_setting(fits + default)
        for epsilon in EPSILONS:
            groups = by_setting([row for row in fits if row["epsilon"] == epsilon])
            full = max(map(len, groups.values()), default=0)
            groups = {s: g for s, g in groups.items() if len(g) == full}
            groups |= by_setting([row for row in default if row["epsilon"] == epsilon])
            rows = [row for row in fits + default if row["epsilon"] == epsilon]
            line: Row = {"problem": name, "method": key, "title": METHODS[key].title}
            line |= {"relation": METHODS[key].relation, "delta": METHODS[key].delta}
            line |= {"epsilon": epsilon, "seeds": full}
            if groups:
                low = min(groups, key=lambda s: mean(groups[s], "excess"))
                high = max(groups, key=lambda s: mean(groups[s], "accuracy"))
                line |= {
                    "excess": mean(groups[low], "excess"),
                    "excess_se": standard_error(groups[low], "excess"),
                    "accuracy": mean(groups[high], "accuracy"),
                    "accuracy_se": standard_error(groups[high], "accuracy"),
                    "accuracy_at_least_excess": mean(groups[low], "accuracy"),
                    "excess_of_median_setting": median_setting(rows),
                    "excess_of_one_setting": mean(by_setting(rows)[one], "excess"),
                    "seconds": float(np.median([r["seconds"] for r in groups[low]])),
                    "setting_excess": low,
                    "setting_accuracy": high,
                }
            line["non_private_risk"] = result["config"]["non-private risk"]
            line["non_private_accuracy"] = result["config"]["non-private accuracy"]
            table.append(line)
    return table


def median_setting(rows: list[Row]) -> float:
    """Return the median over the grid of the mean excess risk: what hindsight is worth."""
    return float(np.median([mean(group, "excess") for group in by_setting(rows).values()]))


def one_setting(rows: list[Row]) -> str:
    """Return the setting with the least geometric mean excess over all budgets."""
    budgets = [by_setting([row for row in rows if row["epsilon"] == e]) for e in EPSILONS]
    common = set.intersection(*(set(groups) for groups in budgets))
    return min(
        sorted(common),
        key=lambda s: sum(np.log(mean(groups[s], "excess")) for groups in budgets),
        default="",
    )


def analyse(args: argparse.Namespace) -> None:
    """Write the table of all result files as CSV and Markdown."""
    table = summarise(args.results)
    columns = list(max(table, key=len))
    with open(args.results / "table.csv", "w", newline="") as file:
        writer = csv.DictWriter(file, columns)
        writer.writeheader()
        writer.writerows(table)
    text = [
        "Mean test accuracy / mean excess empirical risk / median CPU seconds of one fit.",
        "Peers: best setting of their grid in hindsight, per metric. discreet: its default.",
    ]
    for name in dict.fromkeys(line["problem"] for line in table):
        lines = [line for line in table if line["problem"] == name]
        text += [
            "",
            f"**{name}**: non-private accuracy {lines[0]['non_private_accuracy']:.4f}, "
            f"risk {lines[0]['non_private_risk']:.5f}",
            "",
            "| method | relation | " + " | ".join(f"eps {e:g}" for e in EPSILONS) + " |",
            "|---|---|" + "---|" * len(EPSILONS),
        ]
        for key in dict.fromkeys(line["method"] for line in lines):
            mine = [line for line in lines if line["method"] == key]
            cells = [
                f"{c['accuracy']:.4f} / {c['excess']:.3g} / {c['seconds']:.2g} s"
                if "excess" in c
                else "absent"
                for c in mine
            ]
            text.append(f"| {mine[0]['title']} | {mine[0]['relation']} | {' | '.join(cells)} |")
    text += [
        "",
        "Mean test accuracy / mean excess empirical risk (its standard error) of the same fits, "
        "those with the setting of least excess.",
        *wide(table, one_model),
        "",
        "Mean excess empirical risk, one setting for all budgets of a problem, in hindsight too.",
        *wide(table, lambda line: f"{line['excess_of_one_setting']:.3g}"),
        "",
        "Where ours is behind a peer of the same relation: by how much (standard error).",
        "",
        *behind(table),
    ]
    (args.results / "table.md").write_text("\n".join(text) + "\n")
    print("\n".join(text))


def one_model(line: Row) -> str:
    """Return both metrics of the fits with the least excess."""
    excess, error = line["excess"], line["excess_se"]
    return f"{line['accuracy_at_least_excess']:.4f} / {excess:.3g} ({error:.1g})"


def wide(table: list[Row], show: Callable[[Row], str]) -> list[str]:
    """Return a Markdown table of one line per method, with a column per problem and budget."""
    names = list(dict.fromkeys(line["problem"] for line in table))
    text = [
        "",
        "| method | " + " | ".join(f"{name}, eps {e:g}" for name in names for e in EPSILONS) + " |",
        "|---|" + "---|" * len(names) * len(EPSILONS),
    ]
    for key in dict.fromkeys(line["method"] for line in table):
        mine = [line for line in table if line["method"] == key]
        found = {(line["problem"], line["epsilon"]): line for line in mine}
        lines = (found.get((n, e), {}) for n in names for e in EPSILONS)
        cells = " | ".join(show(line) if "excess" in line else "-" for line in lines)
        text.append(f"| {mine[0]['title']}, {mine[0]['relation']} | {cells} |")
    return text


def behind(table: list[Row]) -> list[str]:
    """Return a line for every cell in which a method of ours has the worse mean of a metric."""
    lines = []
    for ours, peer in product([line for line in table if "excess" in line], repeat=2):
        cell = ("problem", "epsilon", "delta")
        same = all(ours[key] == peer[key] for key in cell) and alike(ours) == alike(peer)
        if not (same and ours["method"] in OURS and peer["method"] not in OURS):
            continue
        for metric, sign in (("excess", 1), ("accuracy", -1)):
            loss = sign * (ours[metric] - peer[metric])
            error = float(np.hypot(ours[f"{metric}_se"], peer[f"{metric}_se"]))
            if loss > 0:
                lines.append(
                    f"- {ours['problem']}, eps {ours['epsilon']:g}, {metric}: {ours['title']}, "
                    f"{ours['relation']}, behind {peer['title']} by {loss:.2g} ({error:.1g})"
                )
    return lines


def alike(line: Row) -> bool:
    """Return whether the constants are those of a replaced row."""
    return bool(line["relation"] == "replace-one")


# -- plot -----------------------------------------------------------------------------------------


def plot(args: argparse.Namespace) -> None:
    """Draw excess risk and test accuracy against epsilon, one figure per problem."""
    from figures_results import draw_problem

    table = [line for line in summarise(args.results) if "excess" in line]
    for name in dict.fromkeys(line["problem"] for line in table):
        lines = [line for line in table if line["problem"] == name]
        draw_problem(name, lines, args.results / f"{name}.png")


def main() -> None:
    """Parse the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--results", type=Path, default=HERE / "results" / "logistic")
    steps = parser.add_subparsers(required=True)
    step = steps.add_parser("run", help="measure and write one result file per problem and method")
    step.add_argument("--data", help="directory of the data sets (or DISCREET_DATA)")
    step.add_argument("--problems", nargs="+", choices=PROBLEMS, default=DEFAULT_PROBLEMS)
    step.add_argument("--methods", nargs="+", choices=METHODS, default=list(METHODS))
    step.add_argument("--seeds", type=int, help="fits of the leading settings; see methods.py")
    step.set_defaults(act=run)
    steps.add_parser("analyse", help="write table.csv and table.md").set_defaults(act=analyse)
    steps.add_parser("plot", help="write one PNG per problem").set_defaults(act=plot)
    args = parser.parse_args()
    args.act(args)


if __name__ == "__main__":
    main()
