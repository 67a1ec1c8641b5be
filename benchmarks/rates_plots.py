"""The pictures of ``rates.py``: measured points with bars, lower and upper bounds, and guides."""

from __future__ import annotations

import math
from collections.abc import Callable
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

GUIDES: dict[str, dict[str, tuple[Callable[[float], float], str]]] = {
    "linear loss, pure": {"objective-perturbation": (lambda p: p, "p")},
    "linear loss, delta = 1e-6": {"objective-perturbation": (lambda p: p**0.5, "sqrt p")},
    "quadratic, pure": {"objective-perturbation": (lambda n: 1 / n, "1/n")},
    "absolute error on corners, pure": {"localization": (lambda n: 1 / n, "1/n")},
    "dense answer": {"frank-wolfe, steps of the theorem": (lambda n: n ** (-2 / 3), "n^(-2/3)")},
    "sparse answer": {"frank-wolfe": (lambda n: n ** (-2 / 3), "n^(-2/3)")},
    "lower bound": {"frank-wolfe": (lambda n: n ** (-2 / 3), "n^(-2/3)")},
    "size of the support, 16 features": {
        "exponential": (lambda s: s**3, "s^3"),
        "votes": (lambda s: s**2, "s^2"),
    },
    "features, support of 2": {
        "exponential": (math.log, "ln p"),
        "votes": (lambda p: math.log(p) ** 2, "ln^2 p"),
    },
    "any data": {
        "gamma noise, pure": (lambda p: p**3, "p^3"),
        "Gaussian noise": (lambda p: p**2.5, "p^(5/2)"),
    },
    "data that curves": {"Gaussian noise": (lambda p: p**2, "p^2")},
}
"""Growth by the theorems, drawn a little below the first point of a series."""

BELOW = 0.6
"""How far below, so that a guide and its series are both seen."""


@style()
def draw(part: str, content: dict[str, Any], file: Path) -> None:
    """Draw the panels of one part side by side."""
    figure = new_figure(4.4 * len(content), 5.6)
    panels = figure.subplots(1, len(content), squeeze=False)[0]
    for axes, (title, series) in zip(panels, content.items(), strict=True):
        _panel(axes, series, GUIDES.get(title, {}))
        below, names = LABELS[part]
        axes.set(xlabel=next(v for k, v in names.items() if title.startswith(k)))
        axes.set_title(title)
        axes.legend(fontsize=9, loc="upper left", bbox_to_anchor=(0.0, -0.22), borderaxespad=0)
    panels[0].set_ylabel(below)
    save(figure, file)


def _panel(axes: Any, series: dict[str, Any], guides: dict[str, Any]) -> None:
    axes.set(xscale="log", yscale="log")
    for name, points in series.items():
        x, y = ([p[k] for p in points] for k in ("x", "excess"))
        bars = [2 * p.get("error", 0.0) for p in points]
        (line, *_) = axes.errorbar(x, y, bars, capsize=2, label=name)
        if name in guides:
            grows, words = guides[name]
            axes.plot(
                x,
                [BELOW * y[0] * grows(v) / grows(x[0]) for v in x],
                color=line.get_color(),
                linestyle=":",
                linewidth=1.4,
                marker="",
                label=f"grows like {words}" if grows(2) > grows(1) else f"falls like {words}",
            )
    first = next(iter(series.values()))
    ticks = sorted({p["x"] for points in series.values() for p in points})
    axes.set_xticks(ticks, [f"{t:,}" for t in ticks], rotation=30 if ticks[-1] > 999 else 0)
    low, high = axes.get_ylim()
    if high < 300 * low:  # few decades: label more than powers of ten
        axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.minorticks_off()
    _reference(axes, first, "idle", "weights of zero", "--")
    _reference(axes, first, "lower", "proved lower bound", "-")


def _reference(axes: Any, points: list[Any], key: str, label: str, line: str) -> None:
    known = [(p["x"], p[key]) for p in points if p.get(key) and math.isfinite(p[key])]
    if known:
        x, y = zip(*known, strict=True)
        axes.plot(x, y, color=SOFT, linestyle=line, linewidth=1.4, marker="", label=label)
