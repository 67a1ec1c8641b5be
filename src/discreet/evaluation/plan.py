"""What an evaluation will release and cost, before any row is read."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from discreet.accounting import Budget, Event, Gaussian, Guarantee, Pure, gaussian_multiplier
from discreet.accounting.theorems import theorems
from discreet.bounds import NEIGHBOURS, Array, Interval, Neighbours, interval
from discreet.checks import between, integer, one_of, positive
from discreet.data import Grouping
from discreet.errors import Incompatible, InvalidParameter, MissingBound
from discreet.evaluation.laws import NoiseLaw
from discreet.evaluation.released_sums import Block
from discreet.noise import Randomness, release
from discreet.problem import NUMERICS, SIDE_CHANNELS, Printed

_CURVES = ("auc", "roc", "calibration")
_ANSWERS = ("confusion", "balanced_accuracy", "precision", "recall", "f1")

CLASSIFIER_METRICS = ("accuracy", *_ANSWERS, *_CURVES, "log_loss")
REGRESSOR_METRICS = ("mse", "mae", "r2")

MOST_BINS = 1000

ALONE = "the model scores each row by itself"

_OUTWARDS = 1.0 + 2.0**-40  # privacy: float64 must not shrink what noise is scaled to


@dataclass(frozen=True, kw_only=True)
class EvaluationPlan(Printed):
    """An evaluation that is priced and calibrated, and has read no row.

    Parameters
    ----------
    budget
        What it may cost.
    metrics
        Names of what is asked for.
    classes
        Classes of a classifier; None for a regressor.
    neighbours
        Which data sets count as neighbours.
    bins
        Number of bins of the score, an even one: the decision threshold is the
        edge in the middle.
    count_rows
        Whether the number of usable rows is released too and sums are divided by it.
        Needed where that number is secret or where many rows are blank.
    clip_probability
        Probabilities are clipped to this and one minus this before their logarithm.
    residual
        Residuals of a regression are clipped to this size.
    label
        Range of the labels of a regression.
    probabilities
        Whether the scores of a classifier are probabilities.
    rows_per_group
        What is protected: None for one row; else all rows of one group, of which at most
        so many are drawn and scored.

    Examples
    --------
    >>> plan = EvaluationPlan(budget=Budget(1.0, 1e-6), metrics=("accuracy", "auc"), classes=(0, 1))
    >>> plan.guarantee.epsilon
    1.0
    >>> round(plan.laws["correct"].deviation, 2)  # rows
    2.99
    """

    budget: Budget
    metrics: tuple[str, ...]
    classes: tuple[Any, ...] | None = None
    neighbours: Neighbours = "zero-out"
    bins: int = 50
    count_rows: bool = False
    clip_probability: float = 0.01
    residual: float = 1.0
    label: Interval | None = None
    probabilities: bool = True
    rows_per_group: int | None = None

    def __post_init__(self) -> None:
        offered = REGRESSOR_METRICS if self.classes is None else CLASSIFIER_METRICS
        if not self.metrics:
            raise InvalidParameter(f"metrics is empty. Ask for some of {', '.join(offered)}.")
        for name in self.metrics:
            one_of("metrics", name, offered)
        if self.classes is not None and len(self.classes) > 2:
            lost = [m for m in self.metrics if m in _CURVES]
            if lost:
                raise Incompatible(
                    f"{', '.join(lost)} needs two classes, and this model has more. Ask for "
                    "accuracy, balanced_accuracy, precision, recall, f1, confusion or log_loss."
                )
        for name in ("log_loss", "calibration"):
            if name in self.metrics and not self.probabilities:
                raise Incompatible(f"{name} needs probabilities, and this model gives none.")
        one_of("neighbours", self.neighbours, NEIGHBOURS)
        if integer("bins", self.bins, 2, MOST_BINS) % 2:
            raise InvalidParameter(
                "bins must be even, so that the decision threshold is the edge of a bin."
            )
        between("clip_probability", self.clip_probability, 0, 0.5)
        positive("residual", self.residual)
        if "r2" in self.metrics:
            if self.label is None:
                raise MissingBound(
                    "r2 needs the range of the labels, by which their spread is measured. Pass "
                    "label=(low, high)."
                )
            interval("label", self.label)
        if self.rows_per_group is not None:
            Grouping(self.rows_per_group)
            if not self.count_rows:
                raise Incompatible(
                    "How many rows of a group are scored is not public, so their number is "
                    "released with noise: count_rows must be True."
                )
        if self.neighbours == "add-remove" and not self.count_rows:
            raise Incompatible(
                "Under add-remove neighbours the number of rows is secret, so it is released "
                "with noise: count_rows must be True."
            )

    @cached_property
    def blocks(self) -> tuple[Block, ...]:
        """What is released; each block has an equal share of the budget."""
        found = []
        fine = any(m in _CURVES for m in self.metrics)
        if fine or any(m in _ANSWERS for m in self.metrics):
            assert self.classes is not None
            k = len(self.classes)
            # Right and wrong answers alone need two bins, and fewer cells add up to less noise.
            found.append(Block("histogram", (k, (self.bins if fine else 2) if k == 2 else k)))
        if "accuracy" in self.metrics and (fine or not found):
            found.append(Block("correct", (1,)))
        for name in ("log_loss", "mae"):
            if name in self.metrics:
                found.append(Block(name, (2,)))
        if "r2" in self.metrics:
            found.append(Block("r2", (5,)))  # holds the squared errors too
        elif "mse" in self.metrics:
            found.append(Block("mse", (2,)))
        if self.count_rows and any(b.name != "histogram" for b in found):
            found.append(Block("count", (1,)))
        return tuple(found)

    @property
    def hides_size(self) -> bool:
        """Whether the number of rows is a fact of the data, which is not told."""
        return self.neighbours == "add-remove" or self.rows_per_group is not None

    @property
    def rows_move(self) -> bool:
        """Whether a row may stand at another place in a neighbour."""
        moves = self.rows_per_group is not None and self.neighbours == "replace-one"
        return self.neighbours == "add-remove" or moves

    @cached_property
    def laws(self) -> dict[str, NoiseLaw]:
        """The noise of each block, in units of rows."""
        # privacy: a group is so many rows at most, see lemmas/groups.
        many = len(self.blocks) * (self.rows_per_group or 1)
        if self.budget.delta > 0:
            # privacy: shifts over deviations, squared, add up to one over the multiplier squared.
            unit = _OUTWARDS * gaussian_multiplier(self.budget.epsilon, self.budget.delta)
            lengths = {b.name: b.sensitivity("l2", self.neighbours) for b in self.blocks}
            scale = unit * math.sqrt(len(self.blocks)) * (self.rows_per_group or 1)
            return {name: NoiseLaw("gaussian", length * scale) for name, length in lengths.items()}
        # privacy: sums of absolute shifts over scales add up to epsilon.
        lengths = {b.name: b.sensitivity("l1", self.neighbours) for b in self.blocks}
        scale = _OUTWARDS * many / self.budget.epsilon
        return {name: NoiseLaw("laplace", length * scale) for name, length in lengths.items()}

    @cached_property
    def guarantee(self) -> Guarantee:
        """What the evaluation guarantees, whatever the rows are."""
        event: Event = Pure(self.budget.epsilon)
        grouped = self.rows_per_group is not None
        if self.budget.delta > 0:
            event = Gaussian(gaussian_multiplier(self.budget.epsilon, self.budget.delta))
        return Guarantee(
            epsilon=self.budget.epsilon,
            delta=self.budget.delta,
            neighbours=self.neighbours,
            event=event,
            theorem="evaluation" if not grouped else theorems("evaluation", "lemmas/groups"),
            assumptions=(SIDE_CHANNELS, ALONE, *([NUMERICS] if self.rows_move else [])),
            unit="group" if grouped else "row",
        )

    def run(self, sums: Mapping[str, Array], random: Randomness) -> dict[str, Array]:
        """Return the sums of all blocks with noise: the only release of an evaluation."""
        # Noise is built for all blocks first: what cannot be drawn is refused before any is.
        noises = {name: law.noise() for name, law in self.laws.items()}
        return {name: release(np.asarray(sums[name]), n, random) for name, n in noises.items()}

    def facts(self) -> dict[str, Any]:
        """Public numbers of the plan: what is released, and the noise of each number."""
        noise = {f"noise of {b.name} (rows)": self.laws[b.name].deviation for b in self.blocks}
        return {"metrics": ", ".join(self.metrics), **noise}
