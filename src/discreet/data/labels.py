"""Labels: how each kind of target is clipped and encoded, and weights."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.bounds import Array, Bounds, unit_roundoff
from discreet.data.norms import shorten
from discreet.errors import Incompatible, InvalidData, InvalidParameter, MissingBound
from discreet.losses import Loss

Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Labels:
    """The public map from the user's labels to what a loss expects.

    Used by :class:`~discreet.data.Bounding` only. ``centred`` tells whether an
    intercept can take up the middle of the label range.

    Examples
    --------
    >>> from discreet.losses import Squared
    >>> labels = Labels(Bounds(label=(0, 10)), Squared(), centred=True)
    >>> labels.encode(np.array([0, 5, 99]), 3)[0], labels.scale, labels.centre
    (array([-1.,  0.,  1.]), 5.0, 5.0)
    """

    bounds: Bounds
    loss: Loss
    centred: bool

    def check(self) -> None:
        """Raise unless the declared bounds suffice for the loss."""
        target, classes = self.loss.target, self.bounds.classes
        if target in ("sign", "index"):
            if classes is None:
                raise MissingBound(
                    "classes is not set. Noise is scaled to their number, and reading them from "
                    "the data would leak. Pass Bounds(classes=(...)) with every possible label."
                )
            wanted = 2 if target == "sign" else self.loss.outputs
            if len(classes) != wanted:
                raise InvalidParameter(
                    f"{self.loss.name} needs {wanted} classes but bounds.classes has "
                    f"{len(classes)}."
                )
            return
        if self.bounds.label is None:
            slope = self.loss.regularity(label=self.bound, reach=1.0).lipschitz
            if not math.isfinite(slope):
                raise MissingBound(
                    f"label is not set. The slope of {self.loss.name} grows with the label, and "
                    "reading its range from the data would leak. Pass Bounds(label=(low, high)); "
                    "labels are clipped to it."
                )
        elif target == "count" and self.bounds.label[1] <= 0:
            raise Incompatible(
                f"{self.loss.name} is for counts, so bounds.label must reach above 0. "
                "Pass Bounds(label=(0, high))."
            )

    @property
    def bound(self) -> float:
        """Bound on the size of an encoded label, a Euclidean norm for vectors."""
        target, label = self.loss.target, self.bounds.label
        if target in ("sign", "index"):
            return 1.0 if target == "sign" else float(self.loss.outputs - 1)
        if label is None:
            norm = self.bounds.row_norm if target == "vector" else None
            return math.inf if norm is None else norm
        if target == "count":
            return max(label[1], 0.0)
        if target == "vector":
            return math.sqrt(self.loss.outputs) * (1.0 + 4.0 * unit_roundoff())
        return 1.0

    @property
    def _scaled(self) -> bool:
        return self.loss.target in ("real", "vector") and self.bounds.label is not None

    @property
    def centre(self) -> float:
        """What the user's label is when the encoded one is 0."""
        if not (self._scaled and self.centred):
            return 0.0
        assert self.bounds.label is not None
        low, high = self.bounds.label
        return 0.5 * low + 0.5 * high

    @property
    def scale(self) -> float:
        """What one unit of the encoded label is in the user's units."""
        if not self._scaled:
            return 1.0
        assert self.bounds.label is not None
        low, high = self.bounds.label
        return 0.5 * high - 0.5 * low if self.centred else max(abs(low), abs(high))

    def empty(self, n_rows: int) -> Array:
        """Return room for the labels of ``n_rows`` rows."""
        return np.empty((n_rows, self.loss.outputs) if self.loss.target == "vector" else n_rows)

    def encode(self, y: Any | None, n_rows: int) -> tuple[Array, Mask]:
        """Return encoded labels, and which rows have a usable one.

        A row without a usable label gets a harmless one.
        """
        if y is None:
            raise InvalidData(f"{self.loss.name} needs labels, but the source has no y.")
        given = np.asarray(y)
        if given.shape != self.empty(n_rows).shape:
            if self.loss.target == "vector" or given.size != n_rows:
                raise InvalidData(f"y has the wrong shape for {self.loss.name}.")
            given = given.reshape(n_rows)
        if self.loss.target in ("sign", "index"):
            return self._codes(given)
        try:
            values = given.astype(np.float64)
        except (TypeError, ValueError):
            # privacy: the original message would quote the label that failed.
            raise InvalidData("y must hold real numbers only.") from None
        ok: Mask = np.isfinite(values)
        if values.ndim > 1:
            ok = np.asarray(ok.all(axis=1))
        values[~ok] = 0.0
        return self._clip(values), ok

    def _codes(self, given: Any) -> tuple[Array, Mask]:
        assert self.bounds.classes is not None
        codes = np.full(len(given), -1.0)
        for k, name in enumerate(self.bounds.classes):
            codes[given == name] = k
        ok = codes >= 0.0
        codes[~ok] = 0.0
        return (2.0 * codes - 1.0 if self.loss.target == "sign" else codes), ok

    def _clip(self, values: Array) -> Array:
        """Clip to the declared range, then encode; privacy rests on both clips."""
        label = self.bounds.label
        if self.loss.target == "count":
            return np.clip(values, 0.0, math.inf if label is None else label[1])
        if label is not None:
            scaled = (np.clip(values, *label) - self.centre) / self.scale
            return np.clip(scaled, -1.0, 1.0)
        if self.loss.target == "vector" and math.isfinite(self.bound):
            shorten(values, self.bound)
        return values


def weights_of(given: Any | None, n_rows: int, most: float) -> tuple[Array, Mask]:
    """Return weights of rows clipped to ``most``, and which rows have a usable one.

    >>> weights_of([0.5, 3.0, np.nan], 3, 1.0)
    (array([0.5, 1. , 0. ]), array([ True,  True, False]))
    """
    if given is None:
        # privacy: constants are scaled by the largest weight, which is enforced here too.
        return np.full(n_rows, min(1.0, most)), np.ones(n_rows, np.bool_)
    try:
        weight = np.asarray(given).astype(np.float64).reshape(n_rows)
    except (TypeError, ValueError):
        # privacy: the original message would quote the weight that failed.
        raise InvalidData("weight must hold one real number per row.") from None
    # privacy: a row of no weight is blank, so that nothing of it is left to be counted.
    ok = np.isfinite(weight) & (weight > 0.0)
    # privacy: constants are scaled by the largest weight, which is enforced here.
    return np.clip(np.where(ok, weight, 0.0), 0.0, most), ok
