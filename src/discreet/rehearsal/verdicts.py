"""What a rehearsal says: scores of fits of made-up rows, in numbers and in words."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

TITLES = {
    "accuracy": "accuracy",
    "auc": "area under ROC",
    "log_loss": "log loss",
    "r2": "R2",
    "mae": "mean absolute error",
}

VERDICTS = (
    (0.1, "no better than guessing"),
    (0.5, "noise takes most of the signal"),
    (0.9, "noise takes a part of the signal"),
    (math.inf, "nearly all that the rows can tell"),
)
"""Below which share of the signal a model is called what."""


@dataclass(frozen=True)
class Rehearsal:
    """Scores of private fits of made-up rows, for several budgets.

    Parameters
    ----------
    estimator
        Name of the model's class.
    n_rows
        Number of made-up rows of a fit.
    signal, share
        What was declared about them.
    scores
        For every epsilon the values of every metric, one for each fit; empty where no
        fit is possible.
    best, guessing
        Every metric of the truth itself, and of an answer that looks at no feature.

    Examples
    --------
    >>> from discreet import Bounds, PrivateRidge, rehearse
    >>> model = PrivateRidge(bounds=Bounds(features=(-1, 1), label=(-1, 1)))
    >>> found = rehearse(model, 2000, n_features=3, epsilons=(1.0,), repeats=2)
    >>> found.verdict(1.0)
    'nearly all that the rows can tell'
    """

    estimator: str
    n_rows: int
    signal: float
    share: float | None
    scores: dict[float, dict[str, list[float]]]
    best: dict[str, float]
    guessing: dict[str, float]

    @property
    def main(self) -> str:
        """The metric that verdicts are about."""
        return next(name for name in ("auc", "r2", "accuracy") if name in self.best)

    def kept(self, epsilon: float) -> float:
        """Return the share of the signal that a model of this budget has, in the mean."""
        values = self.scores[epsilon].get(self.main)
        if not values:
            return 0.0
        low = self.guessing[self.main]
        return float((np.mean(values) - low) / max(self.best[self.main] - low, 1e-12))

    def verdict(self, epsilon: float) -> str:
        """Return in words what a model of this budget is worth."""
        values = self.scores[epsilon].get(self.main)
        if not values:
            return "no fit is possible"
        error = float(np.std(values, ddof=1)) / math.sqrt(len(values)) if len(values) > 1 else 0.0
        if np.mean(values) - 2.0 * error <= self.guessing[self.main]:
            return VERDICTS[0][1]  # luck, as far as these fits can tell
        return next(words for limit, words in VERDICTS if self.kept(epsilon) < limit)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        return {
            "estimator": self.estimator,
            "n_rows": self.n_rows,
            "signal": self.signal,
            "share": self.share,
            "scores": {f"{epsilon:g}": held for epsilon, held in self.scores.items()},
            "best": self.best,
            "guessing": self.guessing,
        }

    def __str__(self) -> str:
        names = list(self.best)
        fits = max((len(h[self.main]) for h in self.scores.values() if h), default=0)
        lines = [
            f"rehearsal: {fits} fits of {self.n_rows:,} made-up rows for each epsilon; no data "
            "was read",
            "",
            "  epsilon  " + "".join(f"{TITLES[name]:<22}" for name in names) + "verdict",
        ]
        for epsilon, held in self.scores.items():
            cells = "".join(f"{_spread(held.get(name, [])):<22}" for name in names)
            lines.append(f"{epsilon:9.3g}  {cells}{self.verdict(epsilon)}")
        for title, values in (("guessing", self.guessing), ("the truth", self.best)):
            cells = "".join(f"{values[name]:<22.3f}" for name in names)
            lines.append(f"{title:>9}  {cells}".rstrip())
        lines += ["", "mean and deviation over fits. Real rows may hold more signal, or less."]
        return "\n".join(lines)

    def plot(self, path: str | Path) -> None:
        """Draw the main metric against epsilon; needs the extra ``plot``.

        Parameters
        ----------
        path
            File to write; its ending gives the format.
        """
        from discreet.report.plots import accuracy_plot

        held = {e: s[self.main] for e, s in self.scores.items() if s}
        accuracy_plot(
            path,
            epsilons=list(held),
            scores=list(held.values()),
            baseline=self.best[self.main],
            guessing=self.guessing[self.main],
            title=f"{self.estimator} on {self.n_rows:,} made-up rows",
            subtitle="a rehearsal: no data was read",
            names=("the truth", "guessing", TITLES[self.main]),
        )


def _spread(values: list[float]) -> str:
    if not values:
        return "-"
    deviation = float(np.std(values, ddof=1)) if len(values) > 1 else 0.0
    return f"{np.mean(values):.3f} +- {deviation:.3f}"
