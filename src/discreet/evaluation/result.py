"""What an evaluation gives back: metrics with intervals, curves and the guarantee."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Self

from discreet.accounting import Guarantee
from discreet.bounds import Array
from discreet.checks import between
from discreet.errors import Incompatible
from discreet.evaluation.accuracy import exact_share
from discreet.evaluation.estimate import Estimate, around, unknown
from discreet.evaluation.means import Size, mean_estimate, r2_estimate
from discreet.evaluation.plan import EvaluationPlan
from discreet.evaluation.saved import FORMAT, VERSION, plan_values, read_file, read_parts
from discreet.evaluation.table import ScoreTable
from discreet.files.checksums import with_checksum
from discreet.files.writing import write_json

_SHOWN = {
    "accuracy": "accuracy",
    "balanced_accuracy": "balanced accuracy",
    "precision": "precision",
    "recall": "recall",
    "f1": "F1",
    "auc": "area under ROC",
    "log_loss": "log loss",
    "mse": "mean squared error",
    "mae": "mean absolute error",
    "r2": "R2",
}


@dataclass(frozen=True, eq=False)
class Evaluation:
    """The release of an evaluation. All of it may be published.

    Every metric is an attribute: an :class:`Estimate` with ``value``, ``low`` and
    ``high``. Whatever follows from the released numbers is offered, asked for or not.

    Parameters
    ----------
    plan
        What was released, and how much noise is in it.
    released
        The released numbers, with noise.
    n_rows
        Number of rows where it is public, else None.
    guarantee
        The privacy guarantee of the release.
    level
        Of all intervals.

    Examples
    --------
    >>> import numpy as np
    >>> from discreet import Bounds, PrivateLogisticRegression, evaluate
    >>> random = np.random.default_rng(0)
    >>> X = random.uniform(-1, 1, (4000, 2))
    >>> y = (X[:, 0] + 0.3 * random.normal(size=4000) > 0).astype(int)
    >>> bounds = Bounds(features=(-1, 1), classes=(0, 1))
    >>> model = PrivateLogisticRegression(bounds=bounds, random_state=0).fit(X[:2000], y[:2000])
    >>> found = evaluate(model, X[2000:], y[2000:], epsilon=1.0, random_state=0)
    >>> bool(found.accuracy.low < found.accuracy.value < found.accuracy.high)
    True
    >>> found.guarantee.epsilon
    1.0
    """

    plan: EvaluationPlan
    released: Mapping[str, Array] = field(repr=False)
    n_rows: int | None
    guarantee: Guarantee
    level: float = 0.95

    def __post_init__(self) -> None:
        between("level", self.level, 0, 1)

    def __getattr__(self, name: str) -> Any:
        if name in _SHOWN:
            found = self.estimates.get(name)
            if found is not None:
                return found
            raise AttributeError(
                f"This evaluation did not release what {name} needs. Ask for it: "
                f"metrics=(..., {name!r})."
            )
        raise AttributeError(f"An evaluation has no attribute {name!r}.")

    @cached_property
    def estimates(self) -> dict[str, Estimate]:
        """Every metric that follows from what was released."""
        found: dict[str, Estimate] = {}
        table = self.table
        if table is not None:
            found["accuracy"] = self._counted(table)
            for name in ("balanced_accuracy", "precision", "recall", "f1"):
                found[name] = getattr(table, name)()
            if table.binary and table.bins > 2:
                found["auc"] = table.auc()
        if "correct" in self.released:
            found["accuracy"] = self._share()
        if "log_loss" in self.released:
            tau = self.plan.clip_probability
            found["log_loss"] = self._mean("log_loss", -math.log1p(-tau), -math.log(tau))
        residual = self.plan.residual
        if "mae" in self.released:
            found["mae"] = self._mean("mae", 0.0, residual)
        for name in ("mse", "r2"):
            if name in self.released:
                found["mse"] = self._mean(name, 0.0, residual**2)
        if "r2" in self.released:
            assert self.plan.label is not None
            low, high = self.plan.label
            found["r2"] = r2_estimate(
                self.released["r2"], self.plan.laws["r2"], self._size, level=self.level,
                residual=residual, reach=0.5 * high - 0.5 * low,
            )  # fmt: skip
        if self.plan.rows_per_group is not None:
            found = {name: _without_ends(one) for name, one in found.items()}
        return {name: found[name] for name in _SHOWN if name in found}

    def named(self) -> dict[str, Estimate]:
        """Return every metric by the name that people read."""
        return {_SHOWN[name]: found for name, found in self.estimates.items()}

    # Curves and tables.

    @cached_property
    def table(self) -> ScoreTable | None:
        """The released table of classes by scores, or None."""
        if "histogram" not in self.released:
            return None
        return ScoreTable(self.released["histogram"], self.plan.laws["histogram"], self.level)

    def confusion(self, threshold: float = 0.5) -> Array:
        """Return true classes by predicted ones, as counts with noise.

        Of two classes any threshold of the score may be asked for, and the edge
        of a bin next to it is taken; choosing the best one by this table costs
        nothing more, but makes it look better than it is.
        """
        return self._table("confusion").confusion(between("threshold", threshold, 0, 1))

    def roc(self) -> tuple[Array, Array, Array]:
        """Return false positive rates, true positive rates and their thresholds."""
        return self._curve("roc").roc()

    def calibration(self, groups: int = 10) -> list[tuple[float, float, Estimate]]:
        """Return for each range of predicted probabilities its ends and the observed share."""
        if not self.plan.probabilities:
            raise Incompatible("calibration needs probabilities, and this model gives none.")
        found = self._curve("calibration").calibration(groups)
        if self.plan.rows_per_group is None:
            return found
        return [(low, high, _without_ends(share)) for low, high, share in found]

    def plot(self, path: str | Path) -> None:
        """Draw the ROC curve and the calibration, and write them to a file.

        The ending of ``path`` gives the format. Needs the extra ``plot``.
        """
        from discreet.evaluation.curves_plot import evaluation_plot

        evaluation_plot(path, self)

    # For people and for files.

    def __str__(self) -> str:
        percent = f"{100 * self.level:g}%"
        lines = [f"{'metric':<22}{'value':>10}   {percent + ' interval':<24}{'noise':>10}"]
        for name, found in self.named().items():
            if math.isnan(found.value):
                lines.append(f"{name:<22}{'?':>10}   noise outweighs the rows it rests on")
                continue
            ends = f"{_number(found.low)} to {_number(found.high)}" + " exact" * found.exact
            ends = "none" if math.isnan(found.low) else ends
            noise = f"+-{found.noise:.2g}"
            lines.append(f"{name:<22}{_number(found.value):>10}   {ends:<24}{noise:>10}")
        return "\n".join([*lines, "", *self._notes(), "", str(self.guarantee)])

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        """Show the same in a notebook."""
        printer.text(str(self))

    def _notes(self) -> list[str]:
        if self.plan.rows_per_group is not None:
            return ["Rows of a group are not independent, so no interval is given."]
        notes = ["Intervals count sampling and privacy noise; 'noise' is the latter's deviation."]
        notes.append("Scores of rows the model was fitted to, or chosen by, are too good.")
        if not self.plan.count_rows:
            notes.append("Rows that could not be used count as half right; pass count_rows=True")
            notes[-1] += " if there may be many."
        return notes

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values: metrics, the released numbers and the guarantee."""
        content: dict[str, Any] = {
            "format": FORMAT,
            "version": VERSION,
            "level": self.level,
            "metrics": {name: found.to_dict() for name, found in self.estimates.items()},
            "n_rows": self.n_rows,
            "released": {name: values.tolist() for name, values in self.released.items()},
            "noise": {name: law.deviation for name, law in self.plan.laws.items()},
            "guarantee": self.guarantee.to_dict(),
            "plan": plan_values(self.plan),
        }
        if self.plan.classes is not None:
            content["classes"] = list(self.plan.classes)
        return with_checksum(content)

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Self:
        """Return the evaluation that :meth:`to_dict` described.

        One that was edited, or whose claim its plan does not lead to, is refused.
        """
        return cls(*read_parts(content))

    def save(self, path: str | Path) -> None:
        """Write the evaluation to a JSON file, whole or not at all."""
        write_json(Path(path), self.to_dict())

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Return the evaluation in a file that :meth:`save` or ``discreet evaluate`` wrote."""
        return cls.from_dict(read_file(path))

    # How metrics follow.

    @property
    def _size(self) -> Size:
        if not self.plan.count_rows:
            assert self.n_rows is not None
            return Size(float(self.n_rows))
        return Size(float(self.released["count"][0]), self.plan.laws["count"].deviation)

    def _mean(self, block: str, low: float, high: float) -> Estimate:
        return mean_estimate(
            self.released[block], self.plan.laws[block], self._size,
            level=self.level, low=low, high=high,
        )  # fmt: skip

    def _share(self) -> Estimate:
        """Return the accuracy by the sum that was released for it alone."""
        law, centred, size = (
            self.plan.laws["correct"],
            float(self.released["correct"][0]),
            self._size,
        )
        if not self.plan.count_rows:
            assert self.n_rows is not None
            return exact_share(
                centred + self.n_rows / 2.0, self.n_rows, law.cdf,
                level=self.level, noise=law.deviation,
            )  # fmt: skip
        if not size.enough:
            return unknown((0.0, 1.0))
        shift = min(max(centred / size.value, -0.5), 0.5)
        return around(
            0.5 + shift,
            noise=math.hypot(law.deviation, shift * size.noise) / size.value,
            sampling=math.sqrt((0.25 - shift**2) / size.value),
            critical=law.critical(self.level),
            limits=(0.0, 1.0),
        )

    def _counted(self, table: ScoreTable) -> Estimate:
        """Return the accuracy by the cells of right answers."""
        if self.plan.count_rows:
            return table.accuracy()
        assert self.n_rows is not None
        right = table.right()
        terms = int(right.sum())
        return exact_share(
            float((right * table.cells).sum()), self.n_rows,
            lambda z: table.law.cdf(z, terms),
            level=self.level, noise=table.law.deviation * math.sqrt(terms),
        )  # fmt: skip

    def _table(self, name: str) -> ScoreTable:
        if self.table is None:
            raise Incompatible(
                f"This evaluation did not release the table that {name} needs. Ask for it: "
                f"metrics=(..., {name!r})."
            )
        return self.table

    def _curve(self, name: str) -> ScoreTable:
        table = self._table(name)
        if not (table.binary and table.bins > 2):
            raise Incompatible(
                f"{name} needs a table of scores of two classes. Ask for it: "
                f"metrics=(..., {name!r})."
            )
        return table


def _without_ends(found: Estimate) -> Estimate:
    """Return a value without an interval: all of them take it that rows are independent."""
    return replace(found, low=math.nan, high=math.nan, exact=False)


def _number(value: float) -> str:
    return f"{value:.4g}" if abs(value) >= 10 or 0 < abs(value) < 1e-3 else f"{value:.4f}"
