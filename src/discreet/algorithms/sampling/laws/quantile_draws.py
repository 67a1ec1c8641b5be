"""Draws of one quantile: how they are scaled, and where they may fall."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from discreet.algorithms.sampling.laws.one_dimensional import PiecewiseLinear
from discreet.algorithms.sampling.laws.rank_window import Ranks
from discreet.bounds import Array, Interval
from discreet.errors import InvalidData, InvalidParameter
from discreet.noise import Randomness

MOST_ROWS = 2**34
"""Rows for which rounding is paid for when their number is secret, and most rows there may be."""


def rank_scale(
    quantile: float, epsilon: float, neighbours: str, rows: int, per_unit: int = 1
) -> float:
    """Return the constant of the density per rank.

    A point above the quantile is off by ``1 - q`` ranks more, or ``q`` fewer, for
    a value below it, or above; for a point below it is the other way round. So
    one value changes these numbers by amounts that differ by at most ``2 max(q,
    1 - q)`` between two points. Replacing it changes them by one between the two
    values alone, one way above the quantile and the other way below. A group of
    ``per_unit`` values does so as many times.

    >>> [round(1 / rank_scale(0.9, 1.0, r, 1000), 6) for r in ("zero-out", "replace-one")]
    [1.8, 2.0]
    """
    one = 2.0 if neighbours == "replace-one" else 2.0 * max(quantile, 1.0 - quantile)
    # privacy: four rounded scores enter a ratio; see PiecewiseLinear.ranks for their error.
    return epsilon / (per_unit * one * (1.0 + 2.0**-40) + 4.0 * 2.0**-50 * rows)


def rank_lattice(quantile: float, scale: float, rows: int | None) -> int:
    """Return the number of points to draw from, so few that the far ones together weigh little.

    >>> [round(math.log2(rank_lattice(0.5, 1.0, rows))) for rows in (20, 60, 1000)]
    [16, 30, 40]
    """
    if rows is None:
        return 2**30
    return 1 << int(min(40.0, max(16.0, scale * min(quantile, 1.0 - quantile) * rows)))


def quantile_scale(
    quantile: float, epsilon: float, neighbours: str, rows: int, size: int, per_unit: int = 1
) -> float:
    """Return the constant of the density, per lattice step.

    One value changes the summed pinball loss by amounts that differ by at most
    ``max(q, 1 - q)`` ranges between two points; replacing it, by one range,
    because outside the two values both losses have the same slope. A group of
    ``per_unit`` values does so as many times.

    >>> round(1 / quantile_scale(0.9, 1.0, "zero-out", 1000, 2**20) / 2**20, 6)
    0.9
    >>> round(1 / quantile_scale(0.9, 1.0, "replace-one", 1000, 2**20) / 2**20, 6)
    1.0
    """
    one = 1.0 if neighbours == "replace-one" else max(quantile, 1.0 - quantile)
    # privacy: four rounded scores enter a ratio; see PiecewiseLinear.pinball for their error.
    return epsilon / ((per_unit * one * (1.0 + 2.0**-40) + 4.0 * 2.0**-48 * rows) * size)


def secret_size(neighbours: str, per_unit: int | None) -> bool:
    """Return whether neighbours may have different numbers of rows; ``per_unit`` is of groups.

    >>> secret_size("replace-one", None), secret_size("replace-one", 1)
    (False, True)
    """
    # privacy: a group may be replaced by one with more rows, or fewer.
    return neighbours == "add-remove" or (neighbours == "replace-one" and per_unit is not None)


def draw_quantile(
    values: Array,
    quantile: float,
    limits: Interval,
    epsilon: float,
    neighbours: str,
    random: Randomness,
    by: str = "ranks",
    per_unit: int | None = None,
) -> float:
    """Return one private quantile of a column, a point of a public lattice on ``limits``.

    Values are clipped to the limits; those that are not numbers count as blank. With
    ``per_unit`` a group of so many values is protected, not one.

    >>> from discreet.noise import Seeded
    >>> v = np.repeat([2.0, 4.0, 6.0], 500)
    >>> round(draw_quantile(v, 0.5, (0.0, 10.0), 1.0, "zero-out", Seeded(0)), 1)
    4.0
    """
    secret, many = secret_size(neighbours, per_unit), per_unit or 1
    rows = MOST_ROWS if secret else values.size
    low, high = limits
    _check(limits, values.size)
    if by == "ranks":
        scale = rank_scale(quantile, epsilon, neighbours, rows, many)
        size = rank_lattice(quantile, scale, None if secret else rows)
        make = PiecewiseLinear.ranks
    else:
        size = 2 ** min(40, 60 - rows.bit_length())  # sums of twice all indices stay below 2**62
        scale = quantile_scale(quantile, epsilon, neighbours, rows, size, many)
        make = PiecewiseLinear.pinball
    law = make(_placed(values, limits, size), size=size, quantile=quantile, scale=scale)
    return float(low + (high - low) * (law.draw(random) / (size - 1)))


def _check(limits: Interval, n_rows: int) -> None:
    if n_rows > MOST_ROWS:
        raise InvalidData(f"Quantiles take at most {MOST_ROWS} rows.")
    if not math.isfinite(limits[1] - limits[0]):
        # privacy: values could not be put on the lattice, and sums of their places would overflow.
        raise InvalidParameter("bounds.features is too wide for float64. Rescale the column.")


def _placed(values: Array, limits: Interval, size: int) -> Any:
    """Return the lattice points of the values that are numbers."""
    low, high = limits
    inside = np.clip(values[~np.isnan(values)], low, high, dtype=np.float64)
    # privacy: every value is put on the lattice by itself, so neighbours stay neighbours.
    return np.rint((inside - low) / (high - low) * (size - 1)).astype(np.int64)


def asked_ranks(
    column: int,
    quantile: float,
    limits: Interval,
    epsilon: float,
    neighbours: str,
    rows: int,
    per_unit: int | None,
) -> Ranks:
    """Return what is asked of one column of many rows."""
    _check(limits, rows)
    scale = rank_scale(quantile, epsilon, neighbours, rows, per_unit or 1)
    secret = secret_size(neighbours, per_unit)
    size = rank_lattice(quantile, scale, None if secret else rows)
    return Ranks(lambda block: _placed(block[:, column], limits, size), size, quantile, scale)
