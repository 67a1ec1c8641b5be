"""The ROC curve and the calibration of an evaluation, drawn."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.errors import Incompatible
from discreet.style.colours import BLUE, QUIET, SOFT
from discreet.style.pictures import new_figure, save, style

if TYPE_CHECKING:
    from discreet.evaluation.result import Evaluation


@style()
def evaluation_plot(path: str | Path, evaluation: Evaluation) -> None:
    """Draw what :meth:`Evaluation.plot` describes and write it to ``path``.

    It shows released numbers only, so the picture costs nothing more.
    """
    table = evaluation.table
    if table is None or not table.binary or table.bins == 2:
        raise Incompatible(
            "There is no curve to draw: a table of scores of two classes was not released. Ask for "
            "it: metrics=('auc', ...)."
        )
    figure = new_figure()
    drawn = [_roc, _calibration] if evaluation.plan.probabilities else [_roc]
    figure.set_size_inches(4.8 * len(drawn), 4.6)
    for axes, draw in zip(figure.subplots(1, len(drawn), squeeze=False)[0], drawn, strict=True):
        draw(axes, evaluation)
        axes.plot([0, 1], [0, 1], color=QUIET, lw=1, ls=":")
        axes.set_xlim(-0.01, 1.01)
        axes.set_ylim(-0.01, 1.01)
        axes.set_aspect("equal")
    spent = evaluation.guarantee
    figure.suptitle(
        f"epsilon = {spent.epsilon:g}, delta = {spent.delta:g}, {spent.neighbours}",
        x=0.01, ha="left", fontsize=9, color=SOFT,
    )  # fmt: skip
    save(figure, path)


def _roc(axes: Any, evaluation: Evaluation) -> None:
    false, true, _ = evaluation.roc()
    axes.plot(false, true, color=BLUE, lw=2, marker="")
    area = evaluation.auc
    said = "not known" if math.isnan(area.value) else f"{area.value:.3f}"
    if not math.isnan(area.low):
        said += f"\n({area.low:.3f} to {area.high:.3f})"
    axes.text(0.97, 0.05, f"area {said}", ha="right", color=BLUE, fontweight="bold")
    axes.set_title("ROC")
    axes.set_xlabel("false positive rate")
    axes.set_ylabel("true positive rate")


def _calibration(axes: Any, evaluation: Evaluation) -> None:
    for low, high, share in evaluation.calibration():
        if math.isnan(share.value):
            continue  # too few rows for the noise
        middle = (low + high) / 2
        axes.plot([middle, middle], [share.low, share.high], color=BLUE, lw=1.5, alpha=0.5)
        axes.plot([middle], [share.value], "o", color=BLUE, ms=6)
    axes.set_title("Calibration")
    axes.set_xlabel("score of the second class")
    axes.set_ylabel("share of the second class")
