"""A private evaluation on a page: metrics, the ROC curve and calibration."""

from __future__ import annotations

import math
from typing import Any

from discreet.accounting import Guarantee
from discreet.report.wording import budget
from discreet.style import note, section, table, text
from discreet.style.chart import Chart, shares, short


def evaluation_section(evaluation: Any, fit: Guarantee) -> str:
    """Return what an evaluation released. All of it may be published.

    Parameters
    ----------
    evaluation
        An ``Evaluation``.
    fit
        Guarantee of the model, whose cost is told beside that of the evaluation.
    """
    spent = evaluation.guarantee
    seeded = "" if spent.secure else " The noise was seeded, so these numbers are NOT private."
    level = f"{100 * evaluation.level:g}%"
    rows = [(name, *_shown(found), _kind(found)) for name, found in evaluation.named().items()]
    heads = ("metric", "value", f"{level} interval", "noise", "interval is")
    figures = _figures(evaluation)
    tested = "" if evaluation.n_rows is None else f" on {evaluation.n_rows:,} rows"
    return section(
        "How good it is",
        f"<p>Measured{tested} with a budget of its own: {text(budget(spent.to_dict()))} per "
        f"{text(spent.unit)}, {text(spent.neighbours)} neighbours.{text(seeded)}</p>",
        table(heads, rows, numbers=(1, 2, 3), caption="Metrics"),
        note(
            f"{_intervals(evaluation)}; noise is the deviation that privacy adds. Scores "
            "of rows that the model was fitted to, or chosen by, are too good. Rows that were in "
            "both the fit and this evaluation paid twice: "
            f"epsilon {fit.epsilon:.4g} and {spent.epsilon:.4g}."
        ),
        f"<div class='pair'>{''.join(figures)}</div>" if figures else "",
    )


def _shown(found: Any) -> tuple[str, str, str]:
    if math.isnan(found.value):
        return "unknown", "noise outweighs the rows", "–"
    ends = "none" if math.isnan(found.low) else f"{short(found.low)} to {short(found.high)}"
    return short(found.value), ends, f"±{found.noise:.2g}"


def _kind(found: Any) -> str:
    if math.isnan(found.low):
        return "–"
    return "exact" if found.exact else "approximate"


def _intervals(evaluation: Any) -> str:
    if evaluation.plan.rows_per_group is not None:
        return "Rows of a group are not independent, so there is no interval"
    return "Intervals count sampling and noise"


def _figures(evaluation: Any) -> list[str]:
    table_of = evaluation.table
    if table_of is None or not table_of.binary or table_of.bins == 2:
        return []
    found = [_roc(evaluation)]
    if evaluation.plan.probabilities:
        found.append(_calibration(evaluation))
    return found


def _roc(evaluation: Any) -> str:
    false, true, _ = evaluation.roc()
    chart = Chart(shares("false positive rate"), shares("true positive rate"))
    area = evaluation.auc
    said = "area not known" if math.isnan(area.value) else f"area {area.value:.3f}"
    drawn = [
        chart.line([(0, 0), (1, 1)], "bound"),
        chart.line(zip(false.tolist(), true.tolist(), strict=True)),
        chart.words((0.98, 0.06), said, "name", "end"),
    ]
    return _figure(
        chart.svg(f"ROC curve, {said}. The dotted diagonal is guessing.", *drawn),
        "ROC. How many of the second class are found, against false positives. Small dips are "
        "noise.",
    )


def _calibration(evaluation: Any) -> str:
    chart = Chart(shares("predicted probability"), shares("observed share"))
    held = [
        ((low + high) / 2, share.value, *_ends(share))
        for low, high, share in evaluation.calibration()
        if not math.isnan(share.value)  # too few rows for the noise
    ]
    drawn = [chart.line([(0, 0), (1, 1)], "bound"), chart.spans(held)]
    label = "Calibration: " + "; ".join(f"{x:.0%} predicted, {y:.0%} seen" for x, y, *_ in held)
    return _figure(
        chart.svg(label + ".", *drawn),
        "Calibration. On the diagonal a predicted probability is the share that is seen. Groups "
        "that noise outweighs are left out.",
    )


def _ends(share: Any) -> tuple[float, float]:
    return (share.value,) * 2 if math.isnan(share.low) else (share.low, share.high)


def _figure(svg: str, caption: str) -> str:
    return f"<figure>{svg}<figcaption>{text(caption)}</figcaption></figure>"
