"""The table of coefficients, as statistics packages print it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import ndtr

from discreet.accounting import Guarantee
from discreet.bounds import Array
from discreet.errors import Incompatible
from discreet.files.plain_text import printable
from discreet.inference.base import TARGETS, Inference
from discreet.style.chart import short
from discreet.style.colours import BLUE, QUIET
from discreet.style.pictures import new_figure, save, style

NONE = (
    "No intervals: fit with inference='table', for what the same table gives without noise, or "
    "with inference='population' or 'robust', for the rows it was drawn from."
)


@dataclass(frozen=True, eq=False)
class Summary:
    """Coefficients, standard errors and intervals, and what they cover; ``print`` shows all.

    Parameters
    ----------
    title
        Name of the model.
    names, coefficients
        The coefficients that the model predicts with, the intercept last.
    guarantee
        The privacy guarantee of the release.
    inference
        What intervals are computed from; None if they were not asked for.
    level
        Probability of covering.
    odds
        Of a classifier, the class whose odds the coefficients are for, and the other one.
    """

    title: str
    names: Sequence[str]
    coefficients: Array
    guarantee: Guarantee
    inference: Inference | None
    level: float
    odds: tuple[str, str] | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the table as plain values; None where a check failed."""
        found: dict[str, Any] = {"names": list(self.names), "coef": self.coefficients.tolist()}
        if self.odds is not None:
            found["odds"] = list(self.odds)
        if self.inference is None:
            return found
        low, high = self.inference.interval(self.level).T
        columns = {"estimate": self.inference.estimate, "se": self._errors, "low": low}
        columns |= {"high": high, "z": self._ratios, "p": self._chances}
        for name, values in columns.items():
            found[name] = [float(v) if np.isfinite(v) else None for v in values]
        return found | {
            "level": self.level,
            "target": self.inference.target,
            "method": self.inference.method,
            "refusals": list(self.inference.refusals),
        }

    def plot(self, path: str | Path) -> None:
        """Draw the intervals and write them to a file, whose ending gives the format.

        A coefficient without a finite interval is named and has no mark.
        """
        if self.inference is None:
            raise Incompatible(NONE)
        with style():
            figure = new_figure(7.2, min(1.6 + 0.3 * len(self.names), 100.0))
            axes = figure.subplots()
            ends, middle = self.inference.interval(self.level), self.inference.estimate
            labels = []
            for place, (name, value) in enumerate(zip(self.names, middle, strict=True)):
                labels.append(printable(str(name)).replace("$", r"\$"))
                if np.isnan(value):
                    labels[-1] += " (none)"
                    continue
                axes.plot(ends[place], [place, place], "-", color=BLUE, solid_capstyle="round")
                axes.plot(value, place, "o", color=BLUE)
            axes.axvline(0.0, color=QUIET, lw=1, ls=":")
            axes.set_yticks(range(len(labels)), labels)
            axes.set_ylim(len(labels) - 0.5, -0.5)
            axes.grid(visible=False, axis="y")
            axes.set_xlabel(
                f"{self.level:.4g} intervals for the {self.inference.target}, in units of the data"
            )
            save(figure, path)

    @property
    def _errors(self) -> Array:
        assert self.inference is not None
        return np.asarray(np.sqrt(np.diagonal(self.inference.covariance)), dtype=np.float64)

    @property
    def _ratios(self) -> Array:
        assert self.inference is not None
        with np.errstate(divide="ignore", invalid="ignore"):
            ratios = self.inference.estimate / self._errors
        return np.asarray(ratios, dtype=np.float64)

    @property
    def _chances(self) -> Array:
        return np.asarray(2 * ndtr(-np.abs(self._ratios)), dtype=np.float64)

    def __str__(self) -> str:
        spent = f"epsilon = {self.guarantee.epsilon:g}, delta = {self.guarantee.delta:g}"
        lines = [f"{self.title}, {spent} per {self.guarantee.unit}", "", *self._table()]
        return "\n".join([*lines, "", *self._words()])

    def __repr__(self) -> str:
        return str(self)

    def _table(self) -> list[str]:
        heads, columns = ["coef"], [[_number(v) for v in self.coefficients]]
        if self.inference is not None:
            low, high = self.inference.interval(self.level).T
            tail = (1 - self.level) / 2
            heads += ["estimate", "std err", "z", "P>|z|", f"[{tail:.3g}", f"{1 - tail:.4g}]"]
            columns += [[_number(v) for v in self.inference.estimate]]
            columns += [[_number(v) for v in self._errors]]
            columns += [[_fixed(v, 2) for v in self._ratios], [_fixed(v, 3) for v in self._chances]]
            columns += [[_number(v) for v in low], [_number(v) for v in high]]
        names = [printable(str(name)) for name in self.names]
        first = max(map(len, names))
        widths = [max(9, len(h), *map(len, c)) for h, c in zip(heads, columns, strict=True)]
        rows = zip(*columns, strict=True)
        lines = [" " * first + "".join(f"  {h:>{w}}" for h, w in zip(heads, widths, strict=True))]
        lines.append("-" * len(lines[0]))
        for name, row in zip(names, rows, strict=True):
            cells = "".join(f"  {cell:>{w}}" for cell, w in zip(row, widths, strict=True))
            lines.append(f"{name:<{first}}{cells}")
        return lines

    def _words(self) -> list[str]:
        found, lines = self.inference, []
        if self.odds is not None:
            first, second = (printable(name) for name in self.odds)
            lines = [f"Coefficients above 0 speak for {first}, below 0 for {second}."]
        if found is None:
            return [*lines, NONE]
        noise = "noise" if found.target == "table" else "noise and sampling"
        lines += [
            f"Intervals of level {self.level:g} for {TARGETS[found.target]} ({found.target}). They "
            f"count {noise}.",
            f"Method: {found.method}. Approximate: right when rows are many, by first-order "
            "arguments and simulation.",
            "coef is what the model predicts with, estimate the middle of the interval: without "
            "the bias of noise, and",
            "for the population without the pull of a ridge.",
        ]
        if found.has_exact:
            lines.append(
                "interval(exact=True) gives wider ones that hold exactly, for any data and all "
                "coefficients together."
            )
        lines += [f"Assumes: {said}." for said in found.assumptions]
        if found.refusals:
            lines = [
                f"No finite intervals for {TARGETS[found.target]}, because a check failed:",
                *(f"- {said}." for said in found.refusals),
            ]
        return lines


def _number(value: float) -> str:
    if np.isnan(value):
        return ""
    return short(value) if np.isfinite(value) else "inf" if value > 0 else "-inf"


def _fixed(value: float, digits: int) -> str:
    return f"{value:.{digits}f}" if np.isfinite(value) else ""
