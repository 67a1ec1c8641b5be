"""Tables of ``outside.py``: totals, budgets, forms, causes and every cell."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np

from forms import DELTA
from tournament_table import RESULTS as TOURNAMENT
from tournament_table import cells as cells_in
from tournament_table import each_cell, in_forms, of_peers, ratio_of, totals

RESULTS = Path(__file__).parent / "results" / "outside"
WIDE = 0.35
"""Residuals from here on, in half label ranges, are summed up apart. Drawn after the results."""
STATED: dict[str, dict[str, dict[str, Any]]] = {
    "regression": {
        "clip=2": {"clip": 2.0},
        "sufficient statistics": {"algorithm": "sufficient-statistics"},
    }
}
"""Settings that a user may state, in every cell beside the default."""


def against_peers(rows: list[tuple[str, dict[str, Any]]]) -> str:
    """Return how the default compares with the best setting of diffprivlib, in a sentence."""
    ratios = [
        (cell["ours"]["default"]["risk"][0] - cell["optimum"]["risk"])
        / (cell["peers"]["diffprivlib"]["risk"][0] - cell["optimum"]["risk"])
        for _, cell in rows
        if "peers" in cell
    ]
    mean = math.exp(float(np.mean(np.log(ratios)))) if ratios else math.nan
    return (
        f"The default has {mean:.3f} times the excess of diffprivlib in the geometric mean over "
        f"{len(ratios)} cells, {max(ratios, default=math.nan):.2f} times at worst."
    )


def against_forms(rows: list[tuple[str, dict[str, Any]]]) -> list[str]:
    """Return held-out losses of the forms as ratios to that of the default on rows of norm 1."""
    lines = ["| kind | epsilon | form | cells | geometric mean | worst |", "|---" * 6 + "|"]
    groups: dict[tuple[str, str, str], list[float]] = {}
    for name, cell in rows:
        for form, found in cell.get("forms", {}).items():
            ratio = found["held_out"][0] / cell["ours"]["default"]["held_out"][0]
            epsilon = name.split(".", 1)[1].rsplit(".", 1)[0]
            groups.setdefault((cell["kind"], epsilon, form), []).append(ratio)
    for (kind, epsilon, form), ratios in sorted(groups.items()):
        mean = math.exp(float(np.mean(np.log(ratios))))
        lines.append(
            f"| {kind} | {epsilon} | {form} | {len(ratios)} | {mean:.3f} | {max(ratios):.3f} |"
        )
    return lines


def residual(cell: dict[str, Any]) -> float:
    """Return the root mean square residual of the optimum of a regression, in half ranges."""
    return math.sqrt(2.0 * cell["optimum"]["risk"])


def of_the_bank() -> list[str]:
    """Return the same residuals of the regressions of the bank, and what the default has there."""
    lines = ["| cell of the tournament | half | residuals | ratio |", "|---" * 4 + "|"]
    for name, cell in cells_in(TOURNAMENT):
        if cell["kind"] == "regression" and name.endswith(f".8.{DELTA:g}"):
            ratio, _ = ratio_of(cell, "default")
            lines.append(f"| {name} | {cell['half']} | {residual(cell):.2f} | {ratio:.2f} |")
    return lines


def lengths(rows: list[tuple[str, dict[str, Any]]]) -> list[str]:
    """Return what the default guesses of the weights, and how long those without privacy are."""
    lines = [
        "| cell | algorithm | norm guess | norm of the optimum | its residuals | ratio |",
        "|---" * 6 + "|",
    ]
    for name, cell in rows:
        plan, (ratio, errors) = cell["plan"], ratio_of(cell, "default")
        lines.append(
            f"| {name} | {plan['algorithm']} | {plan['guess']:.2f} | {plan['optimum']:.2f} "
            f"| {f'{residual(cell):.2f}' if cell['kind'] == 'regression' else ''} "
            f"| {ratio:.2f} ({errors:+.1f} s.e.) |"
        )
    return lines


def clipped(rows: list[tuple[str, dict[str, Any]]]) -> list[str]:
    """Return R2 of regressions in natural units with an intercept, by default and as stated."""
    labels = list(STATED["regression"])
    lines = [f"| cell | default | {' | '.join(labels)} |", "|---" * (len(labels) + 2) + "|"]
    for name, cell in rows:
        if "stated" in cell:
            forms = {"default": cell["forms"]["natural units"]} | cell["stated"]
            found = [forms[label]["r2"] for label in ("default", *labels)]
            lines.append(f"| {name} | " + " | ".join(f"{m:.4f} ± {s:.1g}" for m, s in found) + " |")
    return lines


SCORES = {"binary": "auc", "regression": "r2", "classes": "accuracy"}


def scores(rows: list[tuple[str, dict[str, Any]]]) -> list[str]:
    """Return AUC, R2 or accuracy of every cell on held-out rows."""
    lines = ["| cell | measure | default | best baseline | not private |", "|---" * 5 + "|"]
    for name, cell in rows:
        score = SCORES[cell["kind"]]
        mean, spread = cell["ours"]["default"][score]
        best = max(family[score][0] for family in cell["baselines"].values() if score in family)
        lines.append(
            f"| {name} | {score} | {mean:.4f} ± {spread:.1g} | {best:.4f} "
            f"| {cell['optimum'][score]:.4f} |"
        )
    return lines


def behind(rows: list[tuple[str, dict[str, Any]]]) -> list[str]:
    """Return in how many cells the default is ahead or behind in excess, and loses scores."""
    lines = [
        "| kind | delta | epsilon | cells | geometric mean | worst | ahead by 3 s.e. | behind "
        "| mean score | best baseline | not private |",
        "|---" * 11 + "|",
    ]
    groups: dict[tuple[str, str, str, str], list[dict[str, Any]]] = {}
    for name, cell in rows:
        epsilon, delta = name.split(".", 1)[1].rsplit(".", 1)
        kind, wide = cell["kind"], ""
        if kind == "regression":
            wide = ", wide" if residual(cell) > WIDE else ", others"
        for key in {(kind, "", delta, epsilon), (kind, wide, delta, epsilon)}:
            groups.setdefault(key, []).append(cell)
        groups.setdefault((kind, wide, delta, "all"), []).append(cell)
    for (kind, wide, delta, epsilon), cells in sorted(groups.items()):
        ratios = [ratio_of(cell, "default") for cell in cells]
        mean = np.exp(np.mean([math.log(max(ratio, 1e-3)) for ratio, _ in ratios]))
        score = SCORES[kind]
        ours = np.mean([cell["ours"]["default"][score][0] for cell in cells])
        best = np.mean(
            [max(f[score][0] for f in c["baselines"].values() if score in f) for c in cells]
        )
        free = np.mean([cell["optimum"][score] for cell in cells])
        lines.append(
            f"| {kind}{wide} | {delta} | {epsilon} | {len(cells)} | {mean:.3f} "
            f"| {max(ratio for ratio, _ in ratios):.2f} | {sum(s < -3 for _, s in ratios)} "
            f"| {sum(s > 3 for _, s in ratios)} | {ours:.4f} | {best:.4f} | {free:.4f} |"
        )
    return lines


def table() -> None:
    """Write the table of all cells, and what they come to for each kind."""
    rows = [
        (f"{path.stem}.{budget}", cell)
        for path in sorted(RESULTS.glob("*.json"))
        for budget, cell in json.loads(path.read_text()).items()
    ]
    lines = ["# Defaults on data outside the bank", "", *totals(rows), ""]
    lines += ["## By budget", "", *behind(rows), ""]
    lines += ["## Intercepts and natural units", "", *against_forms(rows), "", *in_forms(rows), ""]
    lines += ["## R2 in natural units, with an intercept", "", *clipped(rows), ""]
    lines += ["## Installed libraries", "", against_peers(rows), "", *of_peers(rows), ""]
    lines += ["## Lengths of weights", "", *lengths(rows), ""]
    lines += ["## Residuals in the bank", "", *of_the_bank(), ""]
    lines += ["## Scores on held-out rows", "", *scores(rows), ""]
    lines += ["## All cells", "", *each_cell(rows)]
    (RESULTS / "table.md").write_text("\n".join(lines) + "\n")
    print("\n".join(totals(rows)))
