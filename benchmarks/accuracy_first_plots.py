"""The pictures of ``accuracy_first.py``: Figures 1 to 4 of Ligett et al. (2017), with bars."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np

from discreet.style.colours import AMBER, BLUE, GREEN, INK, ORANGE, PURPLE, QUIET, SKY
from discreet.style.pictures import new_figure, save, style

FIGURES = {
    # name: what is drawn, label of the vertical axis, logarithmic, title
    "figure1": ("epsilon", "ex-post privacy loss", True, "Privacy loss that meets the target"),
    "figure2": ("excess", "excess error", True, "Excess error that was reached"),
    "figure3": ("eps_model", "privacy loss, by cause", True,
                "What the loss was spent on: models (lines) and tests (dotted)"),
    "figure4": ("norm", "norm of the weights", False, "Length of the released weights"),
}  # fmt: skip
TITLES = {
    "standin-ridge": "ridge, stand-in for Twitter\n(weights of zero meet every target)",
    "kdd-ridge": "\nridge, KDD-99",
    "kdd-logistic": "\nlogistic, KDD-99",
}
METHODS = {
    # method: colour, mark, width. Wide lines lie below narrow ones, so equal series are both seen.
    "paper: theory": (QUIET, "x", 1.6),
    "paper: doubling": (AMBER, "s", 1.6),
    "paper: noise reduction": (ORANGE, "D", 1.6),
    "noise reduction (laplace)": (PURPLE, "o", 6.0),
    "noise reduction (brownian)": (BLUE, "v", 1.6),
    "noise reduction (gamma)": (INK, "^", 1.6),
    "one-shot (pure)": (SKY, "p", 3.2),
    "one-shot (gaussian)": ("#882255", "P", 1.2),
    "certificate": (GREEN, "*", 2.4),
}
TESTED = ("paper: doubling", "paper: noise reduction", *list(METHODS)[3:6])
"""Methods that spend something on tests; the last three the same."""


@style()
def draw(found: list[dict[str, Any]], most: dict[str, float], folder: Path) -> None:
    """Draw all figures, one panel for every task.

    ``most`` has the norm that no weights of a task exceed by the paper's theory.
    """
    configs = {c["config"]["setting"]: c["config"] for c in found}
    for name, (key, label, log, title) in FIGURES.items():
        figure = new_figure(4.6 * len(configs), 6.2)
        shown: dict[str, Any] = {}
        top, panels = _panels(figure, len(configs), broken=key == "norm")
        for axes, setting in zip(panels, TITLES, strict=True):
            runs = {c["config"]["method"]: c["runs"] for c in found
                    if c["config"]["setting"] == setting}  # fmt: skip
            for method in METHODS:
                if method not in runs or (key == "eps_model" and method not in TESTED):
                    continue
                shown[method] = _series(axes, runs[method], method, key)
                if key == "eps_model" and method in TESTED[:3]:
                    words = "tests of our noise reduction" if method in TESTED[2:] else (
                        f"tests of {method.removeprefix('paper: ')} (paper)"
                    )  # fmt: skip
                    shown[words] = _series(axes, runs[method], method, "eps_test", ":")
            shown |= _references(axes, key, configs[setting])
            axes.set(xlabel="target alpha", xlim=(0, 0.205), yscale="log" if log else "linear")
            axes.set_xticks([0, 0.05, 0.1, 0.15, 0.2])
        for axes, setting in zip(top, TITLES, strict=True):
            axes.set_title(TITLES[setting])
            if key == "norm":
                height = most[setting]
                shown["maximum by the theory"] = axes.plot(
                    [0.0, 0.205], [height] * 2, "-.", color=INK, marker="", linewidth=1.6
                )[0]
                axes.set(ylim=(0.9 * height, 1.1 * height), yticks=[round(height, 1)])
        panels[0].set_ylabel(label)
        figure.suptitle(title, x=0.01, ha="left", fontweight="bold", fontsize=14)
        figure.legend(list(shown.values()), list(shown), loc="outside lower center", ncols=4,
                      fontsize=10, handlelength=3)  # fmt: skip
        save(figure, folder / f"{name}.png")


def _series(axes: Any, rows: list[Any], method: str, key: str, line: str | None = None) -> Any:
    """Draw the means of the runs that met their target, with two standard errors."""
    colour, mark, width = METHODS[method]
    points = []
    for alpha in sorted({r["alpha"] for r in rows}):
        values = [r[key] for r in rows if r["alpha"] == alpha and r["met"]]
        if values and (np.mean(values) > 0 or key == "norm"):
            error = 2 * np.std(values, ddof=1) / math.sqrt(len(values)) if len(values) > 1 else 0.0
            points.append((alpha, np.mean(values), error))
    x, y, bars = zip(*points, strict=True)
    # A bar on a logarithmic axis ends above zero.
    ends = [[min(b, 0.95 * v) for b, v in zip(bars, y, strict=True)], bars]
    paper = method.startswith("paper")
    return axes.errorbar(
        x, y, ends, color=colour, marker=mark, capsize=2, elinewidth=1.2, markersize=5,
        linewidth=1.2 if line else width, linestyle=line or ("--" if paper else "-"),
        alpha=0.45 if width > 4 and not line else 1.0,
    )  # fmt: skip


def _panels(figure: Any, count: int, *, broken: bool) -> tuple[Any, Any]:
    """Return the upper and lower panels; unless the axis is broken they are the same."""
    if not broken:
        panels = figure.subplots(1, count, squeeze=False)[0]
        return panels, panels
    top, panels = figure.subplots(2, count, squeeze=False, sharex="col", height_ratios=[1, 6])
    for axes in top:
        axes.spines["bottom"].set_visible(False)
        axes.tick_params(bottom=False)
    return top, panels


def _references(axes: Any, key: str, config: dict[str, Any]) -> dict[str, Any]:
    """Draw what a figure is to be compared with."""
    how: dict[str, Any] = {"color": INK, "marker": "", "linewidth": 1.2, "linestyle": ":"}
    if key == "excess":
        x = np.linspace(0.005, 0.2, 50)
        return {"target": axes.plot(x, x, **how)[0]}
    if key == "norm":
        return {"optimum": axes.plot([0.0, 0.205], [config["norm"]] * 2, **how)[0]}
    return {}
