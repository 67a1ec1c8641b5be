"""What a fit leaves behind for intervals: released values, and what is computed from them.

Everything here is post-processing. An object holds what was released and public numbers
only, so it may be stored and published with the weights.

Weights live in the scaled domain; ``user = slopes * weights`` for features and ``constants @
weights + shift`` for the intercept bring them back to the user's units, covariances likewise.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from scipy.special import ndtri

from discreet.bounds import Array
from discreet.checks import between
from discreet.data import Bounding
from discreet.errors import Incompatible, InvalidData
from discreet.problem import Release

TARGETS: dict[str, str] = {
    "table": "what the same table gives without noise",
    "population": "the population that the rows are drawn from",
    "robust": "the population that the rows are drawn from, whatever law its labels follow",
}
"""What intervals may be for, in words."""


CLEAR = 2.0
"""The least eigenvalue must be so many times ``s sqrt(p)``, about the norm of the noise over
``sqrt(2)``. With less the second-order terms that are left out are no longer small."""

UNCLEAR = (
    "the data does not stand out from the noise in every direction: the least eigenvalue of the "
    "released {} is below twice the noise. More rows, a larger epsilon or fewer features help. "
    "Columns that add up to a constant never stand out beside an intercept: declare a column of "
    "two categories as boolean, and name a baseline of every other one"
)
"""What is said where that fails."""


def units_of(bounding: Bounding) -> dict[str, Any]:
    """Return the map from weights to the user's units, as fields of an :class:`Inference`.

    >>> from discreet.bounds import Bounds
    >>> from discreet.losses import Squared
    >>> units = units_of(Bounding.plan(Bounds(features=(0, 10), label=(-2, 2)), 1, Squared(), 1.0))
    >>> [v.tolist() if isinstance(v, np.ndarray) else v for v in units.values()]
    [[0.4], [-2.0, 2.0], 0.0]
    """
    dimension = bounding.dimension
    coef, constants = bounding.coefficients(np.eye(dimension))
    shift = bounding.coefficients(np.zeros(dimension))[1]
    slopes = np.diagonal(coef[:, : bounding.n_features]).copy()
    rest = constants - shift if bounding.intercept else np.empty(0)
    return {"slopes": slopes, "constants": rest, "shift": float(shift)}


@dataclass(frozen=True, kw_only=True, eq=False)
class Inference:
    """Centre and covariance of released weights; one subclass for every method.

    Parameters
    ----------
    target
        ``"table"``, ``"population"`` or ``"robust"``.
    slopes, constants, shift
        The way from weights to the user's units; ``constants`` is empty without an intercept.
    """

    method: ClassVar[str]
    """What the method is called, in words."""

    target: str
    slopes: Array
    constants: Array
    shift: float

    def __post_init__(self) -> None:
        for name in self._numbers:
            held = np.array(getattr(self, name), dtype=np.float64)
            object.__setattr__(self, name, held if held.ndim else float(held))
        p = len(self.slopes) + (len(self.constants) > 0)
        fits = [self.target in TARGETS, self.slopes.shape == (p - (len(self.constants) > 0),)]
        fits += [self.constants.shape in ((0,), (p,)), len(self.slopes) > 0]
        fits += [bool(np.isfinite(getattr(self, name)).all()) for name in self._numbers]
        if not (all(fits) and self._holds_together()):
            raise InvalidData("The released values for intervals do not fit together.")

    @property
    def _numbers(self) -> tuple[str, ...]:
        """Names of all fields that are numbers or arrays of them."""
        return "slopes", "constants", "shift"

    def _holds_together(self) -> bool:
        """Return whether the fields of a subclass fit together."""
        return True

    @property
    def count(self) -> int:
        """Number of coefficients, the intercept included."""
        return len(self.slopes) + (len(self.constants) > 0)

    # What a subclass computes, in the scaled domain.

    @cached_property
    def centre(self) -> Array:
        """Middle of the intervals, in the scaled domain."""
        raise NotImplementedError

    @cached_property
    def spread(self) -> Array:
        """Covariance of the centre about its target, in the scaled domain."""
        raise NotImplementedError

    @property
    def refusals(self) -> tuple[str, ...]:
        """Checks that failed, in words; if there is one, no interval is finite."""
        raise NotImplementedError

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What the intervals rest on, in words."""
        raise NotImplementedError

    @property
    def has_exact(self) -> bool:
        """Whether there are exact intervals too."""
        return False

    # What users ask for, in their units.

    @cached_property
    def _map(self) -> Array:
        p = len(self.slopes)
        out = np.zeros((self.count, self.count))
        out[np.arange(p), np.arange(p)] = self.slopes
        if len(self.constants):
            out[-1] = self.constants
        return out

    def _placed(self, weights: Array) -> Array:
        """Return weights in the user's units, the intercept last."""
        placed = np.asarray(self._map @ weights)
        if len(self.constants):
            placed[-1] += self.shift
        return placed

    @property
    def estimate(self) -> Array:
        """Middle of the intervals, features first and the intercept last; NaN if there is none."""
        return np.full(self.count, np.nan) if self.refusals else self._placed(self.centre)

    @property
    def covariance(self) -> Array:
        """Covariance of the estimate; infinite where a check failed."""
        if self.refusals:
            return np.full((self.count, self.count), np.inf)
        return np.asarray(self._map @ self.spread @ self._map.T)

    def interval(self, level: float = 0.95, *, exact: bool = False) -> Array:
        """Return the ends of one interval for every coefficient.

        Parameters
        ----------
        level
            Probability of covering, for each coefficient.
        exact
            Whether to take intervals that hold for all coefficients together and for any
            data, where the method has them.
        """
        level = between("level", level, 0, 1)
        if exact:
            return self._exact(level)
        reach = float(ndtri((1 + level) / 2)) * np.sqrt(np.diagonal(self.covariance))
        # A refused interval has no middle, and is all of the line.
        middle = np.nan_to_num(self.estimate, nan=0.0)
        return np.column_stack([middle - reach, middle + reach])

    def _exact(self, level: float) -> Array:
        raise Incompatible(
            "Exact intervals exist for inference='table' by sufficient-statistics only. Leave "
            "exact out, or fit PrivateRidge(inference='table')."
        )


@dataclass(frozen=True)
class InferredRelease(Release):
    """Weights and guarantee, and the released values that intervals are made of."""

    inference: Inference
