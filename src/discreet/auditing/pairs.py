"""Neighbours that an attack can best tell apart.

The canary is a row that pulls as hard as the declared bounds allow, along a
coordinate no other row uses (but one that pulls the other way, half as hard), with
the label that makes the slope steepest. It
is given far outside the bounds, and it is too heavy, so that whatever is not
clipped shows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.bounds import Array
from discreet.data import ArraySource, Source
from discreet.problem import Problem

BEYOND = 8.0
"""How many times its bound a canary exceeds."""

_SAID = {
    "zero-out": "a row at the declared bounds against a blank row",
    "replace-one": "a row at the declared bounds against one that pulls the other way",
    "add-remove": "a row at the declared bounds against its absence",
}


@dataclass(frozen=True)
class Pair:
    """Two neighbours, what they are in words, and the direction in which they pull apart."""

    first: Source
    second: Source
    words: str
    direction: Array | None = None


@dataclass(frozen=True)
class Canary:
    """One place of the data in both worlds; a row of ``None`` is absent."""

    first: tuple[Array, Any] | None
    second: tuple[Array, Any] | None
    direction: Array


def worst_pair(problem: Problem) -> Pair:
    """Return neighbours that differ in the canary, among rows on the other coordinates.

    Parameters
    ----------
    problem
        Its relation, bounds and loss say what the canary is.

    Examples
    --------
    >>> from discreet.losses import Logistic
    >>> from discreet.bounds import Bounds
    >>> problem = Problem(loss=Logistic(), bounds=Bounds(row_norm=1.0, classes=(0, 1)),
    ...                   n_features=2, n_rows=3)
    >>> pair = worst_pair(problem)
    >>> pair.first.n_rows, pair.second.n_rows, pair.direction.round(3) + 0.0
    (3, 3, array([-0.5,  0. ]))
    """
    one = canary(problem, 0)
    count = (problem.n_rows or 2) - 1
    others = [_other(problem, i) for i in range(count)]
    if problem.neighbours != "replace-one":
        others[:1] = [_opponent(problem)] * min(count, 1)
    # A group of more rows than may count; every other row is a group of its own.
    many = 1 if problem.grouping is None else 2 * problem.per_unit
    words = _SAID[problem.neighbours]
    return Pair(
        source_of(problem, [*[one.first] * many, *others], many),
        source_of(problem, [*[one.second] * many, *others], many),
        words if problem.grouping is None else f"a group of {many} rows, each {words}",
        one.direction,
    )


def canary(problem: Problem, coordinate: int) -> Canary:
    """Return the rows of one coordinate whose gradients at weights of zero differ most."""
    rows = list(_rows(problem, coordinate))
    pulls = [_pull(problem, row) for row in rows]
    if problem.neighbours != "replace-one":
        best = int(np.argmax([np.linalg.norm(pull) for pull in pulls]))
        other = None if problem.neighbours == "add-remove" else blank(problem)
        return Canary(rows[best], other, -pulls[best])
    apart = np.array([[np.linalg.norm(one - two) for two in pulls] for one in pulls])
    i, j = np.unravel_index(int(np.argmax(apart)), apart.shape)
    return Canary(rows[i], rows[j], pulls[j] - pulls[i])


def source_of(
    problem: Problem, rows: list[tuple[Array, Any] | None], together: int = 1
) -> ArraySource:
    """Return the rows that are there as a source, each heavier than it may be.

    Where groups are protected, the first ``together`` rows are one.
    """
    there = [row for row in rows if row is not None]
    X = np.array([row[0] for row in there]).reshape(len(there), problem.n_features)
    y = np.array([row[1] for row in there])
    if not len(y) and problem.loss.target == "vector":
        y = np.zeros((0, problem.loss.outputs))
    weight = np.full(len(there), BEYOND * problem.bounds.weight)
    if problem.grouping is None:
        return ArraySource(X, y, weight)
    place = np.maximum(np.arange(len(rows)), together - 1)
    return ArraySource(X, y, weight, groups=place[[row is not None for row in rows]])


def _rows(problem: Problem, coordinate: int) -> Iterator[tuple[Array, Any]]:
    """Yield rows at both ends of a coordinate, with every label that may matter."""
    for end in _ends(problem, coordinate):
        for label in _labels(problem):
            x = _rest(problem)
            x[coordinate] = end
            yield x, label


def _ends(problem: Problem, coordinate: int) -> tuple[float, float]:
    ranges = problem.bounds.ranges(problem.n_features)
    if ranges is None:
        far = BEYOND * problem.row_norm
        return far, -far
    low, high = ranges[coordinate]
    return high + BEYOND * (high - low), low - BEYOND * (high - low)


def _rest(problem: Problem) -> Array:
    """Return a row that is zero once it is bounded, where the ranges allow that."""
    ranges = problem.bounds.ranges(problem.n_features)
    if ranges is None:
        return np.zeros(problem.n_features)
    low, high = np.array(ranges).T
    holds = (low <= 0) & (high >= 0)
    return np.where(holds | (problem.intercept == 0), 0.0, 0.5 * low + 0.5 * high)


def _labels(problem: Problem) -> list[Any]:
    loss, bounds = problem.loss, problem.bounds
    if loss.target in ("sign", "index"):
        return list(bounds.classes or ())
    size = problem.bounding.label_bound
    low, high = bounds.label or ((-size, size) if np.isfinite(size) else (-1e3, 1e3))
    ends = [high + BEYOND * (high - low), low - BEYOND * (high - low), 0.5 * low + 0.5 * high]
    if loss.target != "vector":
        return ends
    return [end * np.eye(loss.outputs)[0] for end in ends]


def blank(problem: Problem) -> tuple[Array, Any]:
    """Return a blank row: one that cannot be read, as :class:`~discreet.data.Bounding` says."""
    return np.full(problem.n_features, np.nan), _labels(problem)[0]


def _other(problem: Problem, index: int) -> tuple[Array, Any]:
    """Return a row beside the canary: along another coordinate, with labels in turn."""
    x, labels = _rest(problem), _labels(problem)
    if problem.n_features > 1:
        j = 1 + index % (problem.n_features - 1)
        x[j] = _ends(problem, j)[(index // (problem.n_features - 1)) % 2]
    return x, labels[index % len(labels)]


def _opponent(problem: Problem) -> tuple[Array, Any]:
    """Return a row that pulls half as hard as the canary, the other way.

    With it the neighbours pull one way and the other, and not one way and not at all:
    choices between two ends are then told apart best. Sums of noise do not care.
    """
    rows, most = list(_rows(problem, 0)), canary(problem, 0).direction
    x, label = rows[int(np.argmax([_pull(problem, row) @ most for row in rows]))]
    ranges, rest = problem.bounds.ranges(problem.n_features), _rest(problem)
    low, high = (-problem.row_norm, problem.row_norm) if ranges is None else ranges[0]
    x[0] = 0.5 * rest[0] + 0.5 * min(max(x[0], low), high)
    return x, label


def _pull(problem: Problem, row: tuple[Array, Any]) -> Array:
    rows = problem.bounding.apply(source_of(problem, [row]))
    return rows.gradient(problem.loss, np.zeros(problem.shape)).ravel()
