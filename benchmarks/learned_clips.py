"""What a clip of residuals is worth that a first run tells, and how much its constants matter.

    python benchmarks/learned_clips.py run      # results/learned_clips.json

``PrivateRidge`` is fitted to the regressions of the choosing half of the bank, and to four laws
whose labels fill their range as answers, incomes cut at the top and hours that are often zero do.
Each cell has the clip that public facts give, the learned one, and learned ones with constants
changed one at a time. Numbers are means of the excess training loss over that of the best baseline
in hindsight: kept ones of ``tournament.py`` for the bank, fitted here for the laws.
"""

from __future__ import annotations

import json
import math
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import discreet.defaults.learned_clip as learned_clip
from arguments import parser_of
from bank import SETS, half_of
from baselines import Array, baselines, optimum
from discreet import Bounds, PrivateRidge
from discreet.accounting import Budget
from discreet.defaults import residual_clip
from discreet.problem import rows_against_noise
from forms import DELTA, loss
from problems import data_directory
from tournament import EPSILONS, prepared
from tournament_table import RESULTS

RESULT = Path(__file__).resolve().parent / "results" / "learned_clips.json"
SEEDS = {DELTA: 8, 0.0: 12}
LAWS = {
    "two values": (20_000, 12, 0.3, 0.8),
    "answers": (20_000, 30, 0.5, 0.6),
    "cut at the top": (12_000, 20, 0.5, 0.7),
    "many zeros": (20_000, 40, 0.2, 0.7),
}
"""Rows, columns, how fast these fall, and the spread of what weights predict."""
CHANGED = {
    "LEARNED_FIRST": (0.03, 0.1),
    "LEARNED_SIZE": (0.005, 0.02),
    "LEARNED_MOST": (3.0, 5.0),
    "LEARNED_ONCE": (175.0, 350.0),
    "LEARNED_ROWS": (50.0, 200.0),
    "LEARNED_MOMENTS": (0.03, 1.0),
    "GRID": (4.0 ** (1 / 3), 2.0),
}
"""Constants of the rule, and other values that are tried."""


def law(name: str, number: int) -> tuple[Array, Array]:
    """Return rows of norm 0.6 to 1 and labels that fill [-1, 1]."""
    rows, columns, fall, signal = LAWS[name]
    rng = np.random.default_rng([50, number])
    X = rng.standard_normal((rows, columns)) * np.arange(1, columns + 1) ** -fall
    X *= rng.uniform(0.6, 1.0, (rows, 1)) / np.linalg.norm(X, axis=1, keepdims=True)
    u = X @ rng.standard_normal(columns)
    u = signal * u / u.std() + rng.standard_normal(rows)
    if name == "two values":
        return X, np.where(u > 0, 1.0, -1.0)
    if name == "answers":
        return X, np.clip(np.round(3.0 * u), -4.5, 4.5) / 4.5
    if name == "cut at the top":
        return X, np.clip(-0.6 + 0.6 * np.exp(0.5 * u), -1.0, 1.0)
    return X, np.where(u < 0, -1.0, np.clip(0.72 * u - 1.0, -1.0, 1.0))


def problems(directory: Path) -> Iterator[tuple[str, Any, Array, Array, dict[Any, float]]]:
    """Yield name, rows, labels, optimum, and the excess of the best baseline in each cell."""
    budgets = [(epsilon, delta) for delta in SEEDS for epsilon in EPSILONS]
    for name, (_, kind, _) in SETS.items():
        if kind != "regression" or half_of(name) != "choosing":
            continue
        X, y = prepared(name, directory, False)[2]
        best = {}
        for epsilon, delta in budgets:
            held = json.loads((RESULTS / f"{name}.{epsilon:g}.{delta:g}.json").read_text())
            found = min(family["risk"][0] for family in held["baselines"].values())
            best[epsilon, delta] = found - held["optimum"]["risk"]
        yield name, X, y, optimum(kind, X, y), best
    for number, name in enumerate(LAWS):
        X, y = law(name, number)
        w = optimum("regression", X, y)
        least, best = loss("regression", X, y, w), {}
        for epsilon, delta in budgets:
            fits = baselines("regression", X, y, epsilon, delta, w)
            means = [
                np.mean([loss("regression", X, y, v) for v in found]) for found in fits.values()
            ]
            best[epsilon, delta] = float(np.nanmin(means)) - least
        yield f"law: {name}", X, y, w, best


def fitted(X: Any, y: Array, w: Array, epsilon: float, delta: float, **stated: Any) -> list[float]:
    """Return the mean excess of fits over the optimum, and its standard error."""
    least, found = loss("regression", X, y, w), []
    for seed in range(SEEDS[delta]):
        model = ridge(epsilon, delta, random_state=seed, **stated).fit(X, y)
        found.append(loss("regression", X, y, np.asarray(model.coef_)) - least)
    return [float(np.mean(found)), float(np.std(found, ddof=1)) / math.sqrt(len(found))]


def ridge(epsilon: float, delta: float, **stated: Any) -> PrivateRidge:
    """Return the regressor on rows of norm 1."""
    return PrivateRidge(
        epsilon=epsilon,
        delta=delta,
        bounds=Bounds(row_norm=1.0, label=(-1.0, 1.0)),
        neighbours="zero-out" if delta else "replace-one",
        fit_intercept=False,
        **stated,
    )


def main() -> None:
    """Fit every cell, print geometric means of ratios, and store."""
    parser = parser_of(__doc__)
    parser.add_argument("--data")
    directory = data_directory(parser.parse_args().data)
    changes = {"default": {}} | {
        f"{name}={value:.3g}": {name: value} for name, tried in CHANGED.items() for value in tried
    }
    cells = []
    for name, X, y, w, best in problems(directory):
        for (epsilon, delta), base in best.items():
            problem = ridge(epsilon, delta).plan(X.shape[1], len(y)).problem
            clip = residual_clip(problem, Budget(epsilon, delta))
            cell: dict[str, Any] = {"problem": name, "epsilon": epsilon, "delta": delta}
            cell["rows per noise"] = rows_against_noise(problem, Budget(epsilon, delta))
            cell["best baseline"] = base
            cell["public clip"] = fitted(X, y, w, epsilon, delta, clip=clip)
            for label, change in changes.items():
                usual = {constant: getattr(learned_clip, constant) for constant in change}
                for constant, value in change.items():
                    setattr(learned_clip, constant, value)
                cell[label] = fitted(X, y, w, epsilon, delta)
                for constant, value in usual.items():
                    setattr(learned_clip, constant, value)
            cells.append(cell)
            shown = {k: round(cell[k][0] / base, 2) for k in ("public clip", "default")}
            print(name, epsilon, delta, shown, flush=True)
    for label in ("public clip", *changes):
        for delta in SEEDS:
            for laws in (False, True):
                ratios = [
                    cell[label][0] / cell["best baseline"]
                    for cell in cells
                    if cell["delta"] == delta and cell["problem"].startswith("law:") == laws
                ]
                mean = math.exp(float(np.mean(np.log(ratios))))
                where = "laws" if laws else "bank"
                print(f"{label:20} delta={delta:g} {where}: {mean:.3f}, worst {max(ratios):.2f}")
    RESULT.write_text(json.dumps(cells, indent=1) + "\n")


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main()
