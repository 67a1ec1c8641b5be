"""Second moments of bounded rows, in exact integers.

Rows and labels are rounded towards zero to multiples of a public power of two.
Products of such numbers are integers, sums of 4096 of them stay below 2^53,
and block sums are added as integers: the result does not depend on the order
of rows, on threads or on BLAS, and two neighbours differ by exactly what one
row contributes. Rounding towards zero only shortens rows, so bounds hold.
It also pulls sums towards zero, which intervals of millions of rows would
miss: for them rows are rounded to the nearest multiple, and bounds grow.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from hashlib import sha256
from typing import Any

import numpy as np

from discreet.algorithms.perturbation.compiled_moments import mirrored, straight, whole_sums
from discreet.bounds import Array, Integers, rows_apart, unit_roundoff
from discreet.checks import positive
from discreet.data import ArraySource, RawBlock, Rows, Source
from discreet.data.blocks import block_rows, in_order, slices
from discreet.data.fused import loop_for
from discreet.errors import Incompatible, InvalidData, InvalidParameter
from discreet.problem import NOMINAL_ROWS, Problem

_BLOCK = 4096
_COMPILED = 2**20  # rows whose sums an integer of 64 bits holds
_ROOM = 1 - 8 * unit_roundoff()
_EXACT = 51  # totals stay below 2^51 units, so that float64 holds value and noise exactly


def power_above(value: float) -> float:
    """Return the least power of two that is not below ``value``.

    >>> power_above(3.0), power_above(4.0)
    (4.0, 4.0)
    """
    return 2.0 ** math.ceil(math.log2(value))


def packed(matrix: Array, double: float) -> Array:
    """Return diagonal and upper triangle as a vector, off-diagonal entries times ``double``.

    >>> packed(np.array([[1.0, 2.0], [2.0, 3.0]]), 2.0)
    array([1., 3., 4.])
    """
    return np.concatenate([np.diag(matrix), double * matrix[np.triu_indices(len(matrix), 1)]])


def unpacked(vector: Array, dimension: int, double: float) -> Array:
    """Return the symmetric matrix that :func:`packed` was given.

    >>> unpacked(np.array([1.0, 3.0, 4.0]), 2, 2.0)
    array([[1., 2.], [2., 3.]])
    """
    matrix = np.diag(vector[:dimension])
    matrix[np.triu_indices(dimension, 1)] = vector[dimension:] / double
    found: Array = np.triu(matrix) + np.triu(matrix, 1).T
    return found


@dataclass(frozen=True, kw_only=True)
class SecondMoments:
    """How ``sum x x'`` and ``sum x y`` are computed, bounded and compared.

    The matrix is counted in units of ``row_scale**2`` and the vector in units
    of ``row_scale * label_scale``, both powers of two.

    Parameters
    ----------
    dimension
        Number of coordinates of a row.
    row_norm, label
        Bounds on the Euclidean norm of a row and of a label, each
        times the root of the largest weight. A label of 0 stands for rows without
        labels: the vector is then not part of the release.
    row_l1
        Rows are scaled down to this l1 norm; None leaves them.
    capacity
        Public number of rows the sums have room for; larger sums are clipped.
    coarse
        Largest noise scale that has to fit beside a sum, in units of ``row_scale**2``.
    label_room
        Power of two that the label scale is enlarged by: the vector then gets
        a smaller share of the sensitivity and larger noise.
    outputs
        Numbers in a label; with several ``sum x y'`` is a matrix.
    nearest
        Whether numbers are rounded to the nearest multiple, for :meth:`augmented_sensitivity`
        alone and rows that count by themselves.

    Examples
    --------
    >>> moments = SecondMoments(dimension=2, row_norm=1.0, label=1.0, capacity=1000)
    >>> [round(moments.l2_sensitivity(r) ** 2, 9) for r in ("zero-out", "replace-one")]
    [2.0, 4.5]
    """

    dimension: int
    row_norm: float
    label: float
    capacity: int
    row_l1: float | None = None
    coarse: float = 1.0
    label_room: float = 1.0
    outputs: int = 1
    nearest: bool = False

    def __post_init__(self) -> None:
        room = positive("label_room", self.label_room)
        # privacy: whole labels stay below 2^20 units, as exact sums require.
        if room < 1.0 or math.frexp(room)[0] != 0.5:
            raise InvalidParameter("label_room must be a power of two of at least 1.")

    @classmethod
    def of(
        cls, problem: Problem, *, row_l1: float | None = None, coarse: float = 1.0
    ) -> SecondMoments:
        """Return the moments of a least-squares problem; refuses other losses."""
        loss = problem.loss.inner
        if not (loss.quadratic or loss.squared_distance):
            raise Incompatible(
                f"Sufficient statistics exist for the squared loss only, not for {loss.name!r}. "
                "Use objective-perturbation."
            )
        weight = problem.bounds.weight
        root = 1.0 if weight == 1 else math.sqrt(weight) * (1 + 2 * unit_roundoff())
        rows = problem.n_rows if problem.n_rows is not None else NOMINAL_ROWS
        # The size is then the number of groups, and each may count for all its rows.
        full = problem.per_unit if problem.neighbours == "replace-one" else 1
        return cls(
            dimension=problem.bounding.dimension,
            row_norm=problem.row_norm * root,
            label=problem.bounding.label_bound * root,
            # privacy: under add-remove the size is only declared; sums beyond are clipped
            capacity=rows if not problem.size_is_declared else max(4, full) * rows,
            row_l1=None if row_l1 is None else positive("row_l1", row_l1) * root,
            coarse=coarse,
            outputs=loss.outputs,
        )

    @cached_property
    def row_scale(self) -> float:
        """Power of two above the norm of a row."""
        return power_above(self.row_norm)

    @cached_property
    def label_scale(self) -> float:
        """Power of two above the size of a label."""
        return self.label_room * (power_above(self.label) if self.label else 1.0)

    @cached_property
    def bits(self) -> int:
        """Rows and labels are multiples of ``2**-bits`` of their scales."""
        room = power_above(max(self.capacity, 256 * self.coarse, 1))
        return max(4, min(20, (_EXACT - int(math.log2(room))) // 2))

    @property
    def unit(self) -> float:
        """One unit of the integer sums, in units of the scales."""
        return 2.0 ** (-2 * self.bits)

    @property
    def _bounds(self) -> tuple[float, float, float]:
        """Norm of a row, its l1 norm, and size of a label, in units of the scales."""
        l1 = math.sqrt(self.dimension) * (1 + 4 * unit_roundoff()) * self.row_norm
        if self.row_l1 is not None:
            l1 = min(l1, self.row_l1)
        x = min(self.row_norm, l1)
        return x / self.row_scale, l1 / self.row_scale, self.label / self.label_scale

    def l2_sensitivity(self, neighbours: str) -> float:
        """Return how far neighbours' (svec of the matrix, vector) are apart in l2."""
        x, _, y = self._bounds
        if neighbours != "replace-one":
            return x * math.hypot(x, y)
        # privacy: the worst pair is not opposite: see the brute-force test
        if y * y <= 2 * x * x:
            return math.sqrt(2 * x**4 + 2 * x * x * y * y + y**4 / 2)
        return 2 * x * y

    def augmented_sensitivity(self, neighbours: str) -> float:
        """Return how far neighbours' ``sum v v'`` of :meth:`augmented` are apart in l2."""
        x, _, y = self._bounds
        if self.nearest:
            # privacy: each number may have grown by half a step.
            half = 2.0 ** -(self.bits + 1)
            x, y = x + math.sqrt(self.dimension) * half, y + half
        # privacy: two semidefinite parts differ by at most sqrt(2) times the longer one.
        apart = math.sqrt(2) * (1 + 2 * unit_roundoff()) if neighbours == "replace-one" else 1.0
        return apart * (x * x + y * y) * (1 + 8 * unit_roundoff())

    def l1_sensitivity(self, neighbours: str) -> float:
        """Return how far (diagonal, twice the off-diagonal, vector) are apart in l1."""
        _, x, y = self._bounds
        # privacy: a label of K numbers and norm y has absolute values of sum sqrt(K) y at most.
        total = y if self.outputs == 1 else math.sqrt(self.outputs) * (1 + 4 * unit_roundoff()) * y
        return rows_apart(neighbours) * x * (x + total)

    def eigenvalue_sensitivity(self) -> float:
        """Return how far neighbours' smallest eigenvalues are apart, rounding included."""
        # A rank-one change moves eigenvalues one way by at most its norm, also for a replacement.
        x, room = self._bounds[0], 32.0 * self.dimension * math.sqrt(self.dimension)
        return x * x + room * unit_roundoff() * self.capacity

    def integers(self, problem: Problem, source: Source) -> tuple[Array, Array]:
        """Return matrix and vector as exact integers in units of :attr:`unit`; one pass.

        With several outputs the second is a matrix too, one column for each.
        """
        return self.split(self.augmented(problem, source))

    def split(self, sums: Array) -> tuple[Array, Array]:
        """Return matrix and vector of augmented sums."""
        p = self.dimension
        cross = sums[:p, p] if self.outputs == 1 else sums[:p, p:]
        return np.ascontiguousarray(sums[:p, :p]), np.ascontiguousarray(cross)

    def augmented(self, problem: Problem, source: Source) -> Array:
        """Return ``sum v v'`` of ``v = (x, y)`` as exact integers; the label comes last."""
        return self.total(problem, self.partial(problem, source))

    def partial(self, problem: Problem, source: Source) -> Integers:
        """Return augmented sums over some rows and their number, as integers that add up.

        The last one is the number times a mark of the units, which sums of other units lack.
        """
        cluster = getattr(source, "cluster", None)
        if cluster is not None:
            # privacy: integers, so it does not matter who adds up what
            parts = cluster.each(partial(self.partial, problem))
            return np.asarray(np.sum(parts, axis=0, dtype=np.int64))
        d = self.dimension + self.outputs
        # Many rows are bounded and summed by compiled code, if there is some; no bit differs.
        quick = not source.sparse and loop_for(source.n_rows, source.n_features) is not None

        def one(job: tuple[int, RawBlock]) -> tuple[Integers, int]:
            start, raw = job
            plain = problem.grouping is None and self.row_l1 is None
            if quick and plain and len(raw.X) <= _COMPILED:
                direct = self._straight(problem, raw)
                if direct is not None:
                    return _digits(direct), len(raw.X)
            rows = problem.bounding.apply(ArraySource(raw.X, raw.y, raw.weight), columns=True)
            if problem.grouping is not None:
                here = slice(start, start + rows.n_rows)
                capped = source.capped  # type: ignore[attr-defined]
                rows = rows.shared(capped.share[here], capped.codes[here])
            found = np.zeros((2, d, d), dtype=np.int64)
            # Sparse rows come in longer blocks than fit into memory as dense ones.
            size = min(_BLOCK, block_rows(self.dimension))
            for s in slices(rows.n_rows, _COMPILED if quick else size):
                part = self._compiled(rows, s) if quick else self._block(rows, s)
                found += _digits(part)
            return found, rows.n_rows

        total, seen = np.zeros((2, d, d), dtype=np.int64), 0
        # privacy: integers, so threads and the order of blocks change nothing
        for part, n_rows in in_order(one, _placed(source)):
            total += part
            seen += n_rows
        return np.concatenate([total.ravel(), [seen], _marked(seen, self._mark(problem))])

    def total(self, problem: Problem, partial: Integers) -> Array:
        """Return augmented sums of partial ones that were added up."""
        d, given = self.dimension + self.outputs, np.asarray(partial)
        if given.dtype != np.int64 or given.shape != (2 * d * d + 2,):
            raise InvalidData("A partial sum must be what plan.partial returns, or a sum of such.")
        seen = int(given[-2])
        # privacy: sums in other units would move by more than the noise is made for.
        if given[-1] != _marked(seen, self._mark(problem))[0]:
            raise InvalidData(
                "A part was summed by another plan. Sum every part by a copy of the same one."
            )
        if not problem.size_is_declared and seen != problem.n_rows:
            raise InvalidData(
                f"The data has {seen} rows but the plan was made for {problem.n_rows}."
            )
        high, low = given[:-2].reshape(2, d, d)
        # privacy: clipping after the exact sum contracts distances between neighbours
        limit = 2.0**_EXACT
        return np.asarray(np.clip(high * 2.0**30 + low, -limit, limit))

    def _mark(self, problem: Problem) -> int:
        """Return a number that other units, bounds or capacities do not share."""
        said = repr((self, problem.bounds, problem.intercept))
        return int.from_bytes(sha256(said.encode()).digest()[:8]) | 1

    def _scaled(self, rows: Rows, part: slice) -> tuple[Any, Array, Array, Array]:
        """Return rows and labels, and what makes them multiples of the units."""
        X = rows.take(part).X.toarray() if rows.sparse else rows.X[part]
        # A clipped loss keeps the clip beside its label.
        y = rows.y[part, 0] if self.outputs == 1 and rows.y.ndim == 2 else rows.y[part]
        root = _root(rows.weight[part])
        factor, label = self._factors(root)
        if self.row_l1 is not None:
            # privacy: in one order, however rows are stored, so a secret number of rows may decide.
            size = np.abs(np.ascontiguousarray(X)).sum(axis=1) * root
            limit = self.row_l1 * (1 - 4 * (self.dimension + 8) * unit_roundoff())
            factor = factor * np.minimum(1.0, limit / np.maximum(size, limit))
        return X, y, factor, label

    def _factors(self, root: Array) -> tuple[Array, Array]:
        """Return what makes rows and labels multiples of the units, given roots of weights."""
        return root / self.row_scale * 2.0**self.bits, root / self.label_scale * 2.0**self.bits

    def _straight(self, problem: Problem, raw: RawBlock) -> Integers | None:
        """Return the sums over columns of a table, which are bounded but not stored."""
        d = self.dimension + self.outputs
        # Compiled code takes columns two by two.
        total = np.zeros((d + d % 2, d + d % 2), dtype=np.int64)

        def more(y: Array, weight: Array) -> tuple[Any, ...]:
            return y.reshape(len(y), -1).T, *self._factors(_root(weight)), self.nearest

        found = problem.bounding.each_column(raw, straight(), total, more)
        return mirrored(total, d) if found else None

    def _compiled(self, rows: Rows, part: slice) -> Any:
        X, y, factor, label = self._scaled(rows, part)
        return whole_sums(X, y.reshape(len(X), -1), factor, label, nearest=self.nearest)

    def _block(self, rows: Rows, part: slice) -> Any:
        X, y, factor, label = self._scaled(rows, part)
        p = X.shape[1]
        both = np.empty((len(X), p + self.outputs))
        np.multiply(X, factor[:, None], out=both[:, :p])
        np.multiply(y.T, label, out=both[:, p:].T)
        # privacy: coordinate by coordinate towards zero, which shortens vectors too.
        (np.rint if self.nearest else np.trunc)(both, out=both)
        # privacy: integers below 2^20 and at most 4096 terms: every partial sum is exact
        return (both.T @ both).astype(np.int64)


def _root(weight: Array) -> Array:
    """Return roots of weights, at most."""
    # privacy: the factor covers the rounding of the root and of the products
    plain = (weight == 0.0) | (weight == 1.0)
    return weight if plain.all() else np.sqrt(weight) * np.where(plain, 1.0, _ROOM)


def _digits(part: Any) -> Integers:
    """Return high and low digits of sums."""
    # privacy: apart, so that no number of rows overflows
    return np.stack([part >> 30, part & (2**30 - 1)])


def _marked(seen: int, mark: int) -> Integers:
    """Return the product as the one integer that sums of such products have modulo 2^64."""
    return np.array([seen * mark % 2**64], dtype=np.uint64).view(np.int64)


def _placed(source: Source) -> Iterator[tuple[int, RawBlock]]:
    """Yield every block with the place of its first row."""
    start = 0
    for raw in source.blocks():
        yield start, raw
        start += raw.X.shape[0]
