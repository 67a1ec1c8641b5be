"""Pictures from kept results: accuracy against epsilon, defaults against hindsight, growth."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

from discreet.style.colours import AMBER, BLUE, GREEN, INK, ORANGE, PURPLE, QUIET, SKY
from discreet.style.pictures import new_figure, save, style
from logistic import summarise

RESULTS = Path(__file__).parent / "results"

LOOKS: dict[str, dict[str, Any]] = {
    "discreet": {"color": BLUE, "linestyle": "-", "marker": "s", "linewidth": 3, "zorder": 3},
    "jax-privacy": {"color": ORANGE, "linestyle": "--", "marker": "s"},
    "opacus": {"color": GREEN, "linestyle": "-.", "marker": "s"},
    "rkw23": {"color": PURPLE, "linestyle": ":", "marker": "s"},
    "phased-sgd": {"color": QUIET, "linestyle": "--", "marker": "s"},
    "discreet-replace-one": {"color": BLUE, "linestyle": "--", "marker": "o"},
    "amp": {"color": AMBER, "linestyle": "-.", "marker": "o"},
    "discreet-pure": {"color": BLUE, "linestyle": ":", "marker": "o"},
    "diffprivlib": {"color": SKY, "linestyle": ":", "marker": "o"},
}
"""How each method of ``logistic.py`` is drawn: squares for zero-out or add-remove neighbours."""

SHOWN = ("discreet", "jax-privacy", "opacus", "rkw23", "phased-sgd")
TITLES = {
    "adult": "Adult",
    "covertype": "Covertype",
    "kdd99": "KDD-99",
    "synthetic": "Artificial rows",
}


def _lines(table: list[dict[str, Any]], axes: Any, key: str, methods: Any) -> None:
    for method in methods:
        mine = [line for line in table if line["method"] == method]
        if mine:
            label = f"{mine[0]['title']} ({mine[0]['relation']})"
            x, y = [c["epsilon"] for c in mine], [c[key] for c in mine]
            axes.plot(x, y, label=label, **LOOKS[method])
    axes.set(xscale="log", xlabel="epsilon")
    axes.set_xticks([0.1, 1, 8], ["0.1", "1", "8"])
    axes.minorticks_off()


@style()
def draw_problem(name: str, lines: list[dict[str, Any]], path: Path) -> None:
    """Draw excess risk and test accuracy against epsilon for one data set."""
    figure = new_figure(9.6, 4.8)
    left, right = figure.subplots(1, 2)
    _lines(lines, left, "excess", LOOKS)
    _lines(lines, right, "accuracy", LOOKS)
    left.set(yscale="log", ylabel="excess empirical risk")
    right.set_ylabel("test accuracy")
    right.axhline(lines[0]["non_private_accuracy"], color=QUIET, linewidth=1)
    left.set_title(TITLES.get(name, name))
    handles = right.get_legend_handles_labels()
    figure.legend(*handles, loc="outside lower center", ncols=3, fontsize=8)
    save(figure, path)


@style()
def draw_frontier(path: Path) -> None:
    """Draw test accuracy against epsilon on all data sets, for methods of like relations."""
    table = [line for line in summarise(RESULTS / "logistic") if "excess" in line]
    figure = new_figure(8.2, 7.0)
    panels = figure.subplots(2, 2).ravel()
    for axes, (name, title) in zip(panels, TITLES.items(), strict=True):
        lines = [line for line in table if line["problem"] == name]
        _lines(lines, axes, "accuracy", SHOWN)
        axes.axhline(lines[0]["non_private_accuracy"], color=INK, linewidth=1, label="not private")
        axes.set_title(title)
        axes.set_ylabel("test accuracy")
    handles = panels[0].get_legend_handles_labels()
    figure.legend(*handles, loc="outside lower center", ncols=2, fontsize=9)
    save(figure, path)


GROWTH = {
    "logistic": ("logistic regression", {"color": BLUE, "marker": "o", "linestyle": "-"}),
    "ridge": ("ridge regression", {"color": ORANGE, "marker": "s", "linestyle": "--"}),
    "median": ("median of a column", {"color": GREEN, "marker": "^", "linestyle": "-."}),
    "read": ("reading the files", {"color": QUIET, "marker": "v", "linestyle": ":"}),
}


@style()
def draw_growth(path: Path) -> None:
    """Draw processor time and memory against the number of rows, as ``scale.py`` found them."""
    lines = json.loads((RESULTS / "scale.json").read_text())["lines"]
    figure = new_figure(8.2, 3.8)
    left, right = figure.subplots(1, 2)
    for model, (label, look) in GROWTH.items():
        own = sorted((x for x in lines if x["model"] == model), key=lambda x: x["rows"])
        for axes, key in ((left, "cpu"), (right, "memory")):
            axes.plot([x["rows"] for x in own], [x[key] for x in own], label=label, **look)
    left.set(xscale="log", yscale="log", xlabel="rows of 20 columns", ylabel="processor seconds")
    right.set(xscale="log", xlabel="rows of 20 columns", ylabel="peak memory, GB")
    right.set_ylim(bottom=0)
    left.set_title("Time grows like the rows")
    right.set_title("Memory, with 2 GB for rows")
    figure.legend(*left.get_legend_handles_labels(), loc="outside lower center", ncols=4)
    save(figure, path)


KINDS = (
    ("two classes", "binary", "1e-06"),
    ("several classes", "classes", "1e-06"),
    ("regression", "regression", "1e-06"),
    ("Huber regression", "huber", "1e-06"),
    ("text", "text", "1e-06"),
    ("two classes,\ndelta = 0", "binary", "0"),
    ("regression,\ndelta = 0", "regression", "0"),
)


@style()
def draw_defaults(path: Path) -> None:
    """Draw the ratio of excesses of every judging cell of ``tournament.py``, by kind."""
    from tournament_table import ratio_of

    figure = new_figure(8.2, 4.8)
    axes = figure.subplots()
    files = sorted((RESULTS / "tournament").glob("*.json"))
    held = [(file.stem.removesuffix(".huber"), json.loads(file.read_text())) for file in files]
    marks = {"0.1": ("v", ORANGE), "1": ("o", BLUE), "8": ("^", GREEN)}
    for row, (_, kind, delta) in enumerate(KINDS):
        ratios = []
        for stem, cell in held:
            problem_epsilon, _, its_delta = stem.rpartition(".")
            if (cell["half"], cell["kind"], its_delta) != ("judging", kind, delta):
                continue
            ratio, _ = ratio_of(cell, "default")
            ratios.append(max(ratio, 1e-3))
            epsilon = "0.1" if problem_epsilon.endswith(".0.1") else problem_epsilon[-1]
            mark, colour = marks[epsilon]
            height = row + 0.22 * (("0.1", "1", "8").index(epsilon) - 1)
            axes.plot(ratios[-1], height, mark, color=colour, alpha=0.75, linestyle="")
        middle = math.exp(sum(map(math.log, ratios)) / len(ratios))
        axes.plot([middle, middle], [row - 0.38, row + 0.38], color=INK, marker="", linestyle="-")
        axes.text(middle, row - 0.42, f"{middle:.2f}", ha="center", va="bottom", fontsize=9)
    for epsilon, (mark, colour) in marks.items():
        axes.plot([], [], mark, color=colour, linestyle="", label=f"epsilon {epsilon}")
    axes.plot([], [], color=INK, marker="", linestyle="-", label="geometric mean")
    axes.axvline(1.0, color=QUIET, linewidth=1)
    axes.set(xscale="log", xlabel="excess loss of the default / of the best setting in hindsight")
    ticks = ("0.05", "0.1", "0.2", "0.5", "1", "2", "5")
    axes.set_xticks(list(map(float, ticks)), ticks)
    axes.minorticks_off()
    axes.set_yticks(range(len(KINDS)), [name for name, *_ in KINDS])
    axes.invert_yaxis()
    axes.set_title("Left of 1 the default wins, untuned")
    figure.legend(loc="outside lower center", ncols=4, fontsize=9)
    save(figure, path)
