"""Pictures for choosing: which estimator fits a question, and which algorithm ``"auto"`` takes."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from discreet import Bounds, PrivateLogisticRegression, PrivateRidge
from discreet.errors import TooFewRows
from discreet.problem import Plan
from discreet.style.colours import AMBER, BLUE, GREEN, INK, LINE, ORANGE, SKY, SOFT, contrast
from discreet.style.pictures import new_figure, save, style

DELTA, FEATURES = 1e-8, 20

# -- which estimator ------------------------------------------------------------------------------

QUESTIONS = [
    ("Do rows come over time,\nwith a model after every batch?", "yes", "PrivateStream..."),
    ("Do you know the error you need\nand want the least epsilon?", "yes", "AccuracyFirst"),
    ("Do you want a middle or a quantile\nof columns, and no model?", "yes", "PrivateMedian"),
    ("Do you need a model\nof few features?", "yes", "PrivateLasso,\nPrivateSparse..."),
    ("What is predicted?", "a class", "PrivateLogistic-\nRegression"),
    ("", "a number", "PrivateRidge"),
    ("", "a number,\nwith outliers", "PrivateHuber-\nRegressor"),
    ("", "a count", "PrivatePoisson-\nRegressor"),
    ("", "a quantile", "PrivateQuantile-\nRegressor"),
    ("", "by another\nloss", "PrivateSGD..."),
]  # fmt: skip
"""A question, an answer and the estimator that fits it; an empty question goes on with the last."""


@style()
def draw_estimators(path: Path) -> None:
    """Draw the questions from top to bottom, with an estimator to the right of every answer."""
    figure = new_figure(7.2, 7.6)
    axes = figure.subplots()
    axes.set(xlim=(0, 10), ylim=(-len(QUESTIONS) + 0.45, 0.55))
    axes.axis("off")
    asked = max(i for i, (question, *_) in enumerate(QUESTIONS) if question)
    arrow: dict[str, Any] = {"arrowstyle": "-|>", "color": SOFT, "lw": 1.2}
    for i, (question, answer, estimator) in enumerate(QUESTIONS):
        _box(axes, 8.4, -i, 2.9, estimator, BLUE, "white")
        left = 4.25 if question else 2.1
        axes.annotate("", (6.9, -i), (left, -i), arrowprops=arrow)
        axes.text(5.6, -i + 0.08, answer, ha="center", va="bottom", fontsize=9)
        if question:
            _box(axes, 2.1, -i, 4.2, question, LINE, INK)
        if i < asked:
            axes.annotate("", (2.1, -i - 0.66), (2.1, -i - 0.34), arrowprops=arrow)
            axes.text(2.25, -i - 0.5, "no", va="center", fontsize=9)
    axes.plot(
        [2.1, 2.1], [-asked - 0.34, -len(QUESTIONS) + 1], color=SOFT, lw=1.2, marker="", ls="-"
    )
    save(figure, path)


def _box(axes: Any, x: float, y: float, width: float, words: str, fill: str, ink: str) -> None:
    assert contrast(fill, ink if ink.startswith("#") else "#ffffff") >= 4.5
    from matplotlib.patches import FancyBboxPatch

    corner = (x - width / 2 + 0.1, y - 0.24)
    axes.add_patch(
        FancyBboxPatch(
            corner,
            width - 0.2,
            0.48,
            boxstyle="round,pad=0.1",
            mutation_aspect=0.6,
            fc=fill,
            ec="none",
        )
    )
    axes.text(x, y, words, ha="center", va="center", color=ink, fontsize=9)


# -- which algorithm ------------------------------------------------------------------------------

ROWS = np.logspace(2, 7.5, 45)
EPSILONS = np.logspace(-1.5, 1.5, 37)
ALGORITHMS = {
    "noisy gradient descent,\nstopped early": (SKY, ""),
    "objective perturbation": (LINE, ""),
    "objective perturbation\nabout a first run": (AMBER, "//"),
    "objective perturbation,\nthen Newton steps": (GREEN, ".."),
    "second moments": (ORANGE, "xx"),
}


def taken(plan: Plan) -> str:
    """Return the name that the picture has for the algorithm of a plan."""
    # Of two runs the second one counts, with a usual clip.
    plan = getattr(plan, "usual", plan)
    if plan.algorithm == "objective-perturbation":
        corrected = getattr(plan, "correction", None) is not None
        return list(ALGORITHMS)[3 if corrected else 1]
    known = {"noisy-gradient": 0, "recentred-perturbation": 2, "sufficient-statistics": 4}
    return list(ALGORITHMS)[known[plan.algorithm]]


@style()
def draw_algorithms(path: Path) -> None:
    """Draw, for two estimators, the algorithm that ``"auto"`` takes by rows and epsilon."""
    from matplotlib.patches import Patch

    warnings.simplefilter("ignore", TooFewRows)  # the picture shows such corners too

    bounds = Bounds(features=(-1, 1), classes=(0, 1))
    label = Bounds(features=(-1, 1), label=(0, 1))
    panels: dict[str, Callable[[float], Any]] = {
        "PrivateLogisticRegression": lambda e: PrivateLogisticRegression(
            epsilon=e, delta=DELTA, bounds=bounds
        ),
        "PrivateRidge": lambda e: PrivateRidge(epsilon=e, delta=DELTA, bounds=label),
    }
    figure = new_figure(9.2, 4.4)
    names = list(ALGORITHMS)
    seen: set[str] = set()
    for axes, (title, model) in zip(
        figure.subplots(1, 2, sharey=True), panels.items(), strict=True
    ):
        grid = np.array(
            [[names.index(taken(model(e).plan(FEATURES, int(n)))) for n in ROWS] for e in EPSILONS]
        )
        for k, (colour, hatch) in enumerate(ALGORITHMS.values()):
            if (grid == k).any():
                seen.add(names[k])
                axes.contourf(
                    ROWS, EPSILONS, grid == k, levels=[0.5, 1.5], colors=[colour], hatches=[hatch]
                )
        axes.set(xscale="log", yscale="log", xlabel="rows")
        axes.set_title(title)
        axes.grid(False)
    figure.axes[0].set_ylabel("epsilon")
    patches = [
        Patch(facecolor=c, hatch=h, edgecolor=INK, lw=0.5, label=n)
        for n, (c, h) in ALGORITHMS.items()
        if n in seen
    ]
    figure.legend(handles=patches, loc="outside lower center", ncols=len(patches), fontsize=9)
    save(figure, path)
