"""The released coefficients, with intervals where they were paid for."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from discreet.style import note, section, table
from discreet.style.chart import short

MOST = 40
"""How many coefficients are shown."""


def coefficients_section(model: Any, level: float) -> list[str]:
    """Return the table of coefficients; nothing for a model that has none."""
    if not hasattr(model, "coef_"):
        return []
    summed = _summary(model, level)
    rows, heads, said = _with_intervals(summed) if summed else _bare(model)
    left = len(rows) - MOST
    if left > 0:
        # Released numbers may be sorted: that costs nothing more.
        rows = sorted(rows, key=lambda row: -abs(_value(row[1])))[:MOST]
        said.insert(0, f"The {MOST} largest are shown; {left} more are in the model file.")
    numbers = tuple(range(1, len(heads)))
    kind = "wide slim" if len(heads) == 2 else "wide"
    shown = table(heads, rows, numbers=numbers, kind=kind, caption="Coefficients")
    return [section("Coefficients", shown, *map(note, said))]


def _summary(model: Any, level: float) -> dict[str, Any] | None:
    """Return the model's own summary, if it has one with intervals."""
    if getattr(model, "inference_", None) is None or not hasattr(model, "summary"):
        return None
    found: dict[str, Any] = model.summary(level).to_dict()
    assumed = [f"Assumes: {said}." for said in getattr(model.inference_, "assumptions", ())]
    if "odds" in found:
        first, second = found["odds"]
        assumed.insert(0, f"Coefficients above 0 speak for {first}, below 0 for {second}.")
    return found | {"assumed": assumed} if "low" in found else None


def _with_intervals(found: dict[str, Any]) -> tuple[list[tuple[str, ...]], list[str], list[str]]:
    percent = f"{100 * found['level']:g}%"
    heads = ["feature", "coefficient", "estimate", "standard error", f"{percent} interval"]
    rows: list[tuple[str, ...]] = [
        (str(name), _number(coef), _number(middle), _number(error), _ends(low, high))
        for name, coef, middle, error, low, high in zip(
            *(found[key] for key in ("names", "coef", "estimate", "se", "low", "high")), strict=True
        )
    ]
    target = (
        "what the same table gives without noise; they count the noise"
        if found["target"] == "table"
        else "the population that rows were drawn from; they count noise and sampling"
    )
    said = [
        f"Intervals are for {target}. Each holds by itself at its level, approximately "
        f"({found['method']}).",
        "The coefficient is what the model predicts with; the estimate is the middle of the "
        "interval, without the bias of noise.",
        *found["assumed"],
    ]
    if found["refusals"]:
        said = [f"There is no finite interval: {'; '.join(found['refusals'])}."]
    return rows, heads, said


def _bare(model: Any) -> tuple[list[tuple[str, ...]], list[str], list[str]]:
    weights = np.asarray(model.coef_, dtype=np.float64)
    table_of = weights.reshape(-1, weights.shape[-1])
    names = [str(n) for n in getattr(model, "feature_names_in_", ())]
    names = names or [f"feature {j + 1}" for j in range(table_of.shape[1])]
    intercept = np.ravel(getattr(model, "intercept_", np.zeros(len(table_of))))
    heads = ["feature", *_outputs(model, len(table_of))]
    rows = [(n, *map(_number, column)) for n, column in zip(names, table_of.T, strict=True)]
    if getattr(model, "fit_intercept", False) and len(intercept) == len(table_of):
        rows.append(("intercept", *map(_number, intercept)))
    return rows, heads, [
        "In the units of the columns. No intervals were paid for, so how far noise moved a "
        "coefficient is not told here."
    ]  # fmt: skip


def _outputs(model: Any, count: int) -> list[str]:
    if count == 1:
        return ["coefficient"]
    classes = getattr(model, "classes_", None)
    if classes is not None and len(classes) == count:
        return [f"class {name}" for name in classes]
    quantiles = np.ravel(getattr(model, "quantile", ()))
    if len(quantiles) == count:
        return [f"quantile {q:g}" for q in quantiles]
    return [f"output {k + 1}" for k in range(count)]


def _number(value: float | None) -> str:
    return "unknown" if value is None or not math.isfinite(value) else short(value)


def _value(shown: str) -> float:
    return 0.0 if shown == "unknown" else float(shown)


def _ends(low: float | None, high: float | None) -> str:
    return "none" if low is None or high is None else f"{short(low)} to {short(high)}"
