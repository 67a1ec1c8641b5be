"""The pictures of ``rates.py``: measured points with bars, lower and upper bounds, and guides."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from matplotlib.ticker import FuncFormatter, LogLocator

from discreet.style.colours import SOFT
from discreet.style.pictures import new_figure, save, style

LABELS = {
    "table-i": ("excess of the sum", {"linear": "features", "quadratic": "rows", "abs": "rows"}),
    "lasso": ("mean excess", {"": "rows"}),
    "table-1": ("excess of the sum", {"": "features"}),
    "table-2": ("rows for half of the runs", {"size": "size of the support", "feat": "features"}),
}

GUIDES = {
    "linear loss, pure": [(1.0, "p")],
    "linear loss, delta = 1e-6": [(0.5, "sqrt p")],
    "quadratic, pure": [(-1.0, "1/n")],
    "absolute error on corners, pure": [(-1.0, "1/n")],
    "dense answer": [(-2 / 3, "n^(-2/3)")],
    "sparse answer": [(-2 / 3, "n^(-2/3)")],
    "lower bound": [(-2 / 3, "n^(-2/3)")],
    "size of the support, 16 features": [(3.0, "s^3"), (2.0, "s^2")],
    "any data": [(3.0, "p^3"), (2.5, "p^(5/2)")],
    "data that curves": [(2.0, "p^2")],
}
"""Slopes of the theorems, drawn through the first point of the series in order."""


@style()
def draw(part: str, content: dict[str, Any], file: Path) -> None:
    """Draw the panels of one part side by side."""
    figure = new_figure(4.2 * len(content), 4.6)
    panels = figure.subplots(1, len(content), squeeze=False)[0]
    for axes, (title, series) in zip(panels, content.items(), strict=True):
        _panel(axes, series, GUIDES.get(title, []))
        below, names = LABELS[part]
        axes.set(xlabel=next(v for k, v in names.items() if title.startswith(k)))
        axes.set_title(title)
        axes.legend(fontsize=7, ncols=2, loc="upper center", bbox_to_anchor=(0.5, -0.2))
    panels[0].set_ylabel(below)
    save(figure, file)


def _panel(axes: Any, series: dict[str, Any], guides: list[tuple[float, str]]) -> None:
    axes.set(xscale="log", yscale="log")
    for number, (name, points) in enumerate(series.items()):
        x, y = ([p[k] for p in points] for k in ("x", "excess"))
        bars = [2 * p.get("error", 0.0) for p in points]
        (line, *_) = axes.errorbar(x, y, bars, capsize=2, label=name)
        if number < len(guides):
            slope, words = guides[number]
            axes.plot(
                [x[0], x[-1]],
                [y[0], y[0] * (x[-1] / x[0]) ** slope],
                color=line.get_color(),
                linestyle=":",
                linewidth=1,
                marker="",
                label=f"slope of {words}",
            )
    first = next(iter(series.values()))
    ticks = sorted({p["x"] for points in series.values() for p in points})
    axes.set_xticks(ticks, [f"{t:,}" for t in ticks], rotation=30 if ticks[-1] > 999 else 0)
    low, high = axes.get_ylim()
    if high < 100 * low:  # less than two decades: label more than powers of ten
        axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.minorticks_off()
    _reference(axes, first, "idle", "weights of zero", "--")
    _reference(axes, first, "lower", "proved lower bound", "-")


def _reference(axes: Any, points: list[Any], key: str, label: str, line: str) -> None:
    known = [(p["x"], p[key]) for p in points if p.get(key) and math.isfinite(p[key])]
    if known:
        x, y = zip(*known, strict=True)
        axes.plot(x, y, color=SOFT, linestyle=line, linewidth=1, marker="", label=label)
