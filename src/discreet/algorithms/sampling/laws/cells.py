"""Boxes of lattice points, each under one plane: an envelope that is drawn from exactly.

In a cell the score lies above a plane, so ``exp(-plane)`` lies above the density:
a product of exponential laws on runs of integers. Cells are proposed by
whole-number weights just above their masses. So the probability of every proposal
is known exactly, and many can be drawn at once.

Places are counted in lattice steps from the middle of the region.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from mpmath import mp, mpf

from discreet.algorithms.sampling.laws.geometric import (
    exact_log_sum,
    log_sum,
    mean_offset,
    truncated,
)
from discreet.algorithms.sampling.laws.region import Region
from discreet.algorithms.sampling.laws.tangents import Tangents
from discreet.bounds import Array, Integers
from discreet.noise import Randomness, integers
from discreet.noise.selection import integer_weights, scale_bits

Index = npt.NDArray[np.intp]

SHARE = 16
"""One proposal per so many cells that carry the mass, so that no cell is proposed for long."""

LIGHT = 1e-6
"""Cells of a smaller part of the average mass wait for new planes until they are cut."""


@dataclass(frozen=True)
class Proposals:
    """Independent draws from one envelope, and what their chances were.

    Parameters
    ----------
    cell, index
        Where each was drawn, and its integers within the cell.
    place
        The points, in steps from the middle of the region.
    slope, counts, offset
        Of the cells, and the integers measured from their middles.
    envelope
        Minus the height of the cell's plane at the point.
    surplus
        Log of how much rarer than its mass the cell was proposed; never above 0 but for rounding.
    weight, peak, bits
        The whole-number weight of the cell, and the scale of all weights.
    """

    cell: Index
    index: Integers
    place: Array
    slope: Array
    counts: Integers
    offset: Array
    envelope: Array
    surplus: Array
    weight: Integers
    peak: float
    bits: int

    @property
    def size(self) -> Array:
        """Sums of the magnitudes behind the log-chances."""
        steep = (np.abs(self.slope) * self.counts).sum(axis=1)
        logs = 64.0 * self.counts.shape[1]
        return np.asarray(2.0 * (abs(self.peak) + np.abs(self.envelope) + steep) + logs)

    def exact(self, i: int, score: float) -> Any:
        """Return the log-ratio of the density to the chance of proposal ``i``, up to a constant."""
        total = -mpf(score) - mpf(self.peak) + self.bits * mp.log(2) - mp.log(int(self.weight[i]))
        for a, t, n in zip(self.slope[i], self.offset[i], self.counts[i], strict=True):
            total += mpf(float(a)) * mpf(float(t)) + exact_log_sum(float(a), int(n))
        return total


class Cells:
    """A partition of a region's lattice box, with the best known plane in every cell.

    Parameters
    ----------
    region
        Whose box is cut.
    tangents
        The planes; shared, and at least one when cells are proposed.

    Examples
    --------
    >>> from discreet.noise import Seeded
    >>> from discreet.sets import Box
    >>> planes = Tangents(1)
    >>> cells = Cells(Region.of(Box(), (1,), bits=3), planes)
    >>> cells.learn(planes.add(np.array([9.0]), 0.0))
    >>> cells.propose(1, Seeded(0)).place
    array([[-4.]])
    """

    def __init__(self, region: Region, tangents: Tangents) -> None:
        self._region, self._tangents = region, tangents
        self._half = region.counts // 2
        p = region.dimension
        self._cells = 1
        self._low, self._counts = np.zeros((64, p), np.int64), np.ones((64, p), np.int64)
        self._counts[0] = region.counts
        self._plane = np.zeros(64, np.intp)
        self._base, self._mass = np.zeros(64), np.full(64, 1e300)
        self._mean, self._height = np.zeros((64, p)), np.full(64, -np.inf)

    def propose(self, most: int, random: Randomness) -> Proposals:
        """Draw some points from the envelope as it stands, ``most`` at most."""
        mass = self._mass[: self._cells]
        peak = float(mass.max())
        ends = integer_weights(mass, peak)
        weights = np.diff(ends, prepend=0)
        share = weights / ends[-1]
        many = min(most, 1 + int(1.0 / (SHARE * float(share @ share))))
        # privacy: whole-number weights, so that the chance of a cell is known exactly.
        cell = ends.searchsorted(integers(int(ends[-1]), many, random), side="right")
        slope, counts = self._tangents.slope[self._plane[cell]], self._counts[cell]
        index = truncated(slope.ravel(), counts.ravel(), random).reshape(counts.shape)
        offset = index - 0.5 * (counts - 1)
        bits = scale_bits(mass.size)
        return Proposals(
            cell,
            index,
            (self._low[cell] + index - self._half).astype(np.float64),
            slope,
            counts,
            offset,
            self._base[cell] - (slope * offset).sum(axis=1),
            mass[cell] - peak + bits * math.log(2.0) - np.log(weights[cell]),
            weights[cell],
            peak,
            bits,
        )

    @property
    def count(self) -> int:
        """Number of cells."""
        return self._cells

    @property
    def total(self) -> float:
        """Log of the mass of all cells."""
        return float(np.logaddexp.reduce(self._mass[: self._cells]))

    def learn(self, first: int, last: int | None = None) -> None:
        """Use some planes in the cells where that makes the mass smaller."""
        if first == self._tangents.count:
            return
        mass = self._mass[: self._cells]
        share = np.exp(mass - mass.max())
        heavy = np.flatnonzero(share >= LIGHT * share.mean())
        height, which = self._tangents.highest(self._mean[heavy], first, last)
        # A plane that is lower where the cell's mass is will not make that mass smaller.
        hopeful = height > self._height[heavy]
        self._fit(heavy[hopeful], which[hopeful])

    def _middle(self, cells: Index) -> Array:
        return np.asarray(self._low[cells] - self._half + 0.5 * (self._counts[cells] - 1))

    def counts(self, cell: int) -> Integers:
        """Return how many points a cell has a side."""
        return np.asarray(self._counts[cell])

    def mass(self, cell: int, slope: Array, base: float) -> float:
        """Return the log-mass of a cell under a plane that need not be kept."""
        height = base + float(self._middle(np.array([cell]))[0] @ slope)
        return float(log_sum(slope, self._counts[cell]).sum()) - height

    def _fit(self, cells: Index, planes: Index, *, always: bool = False) -> None:
        """Put planes over cells, where that makes their mass smaller or ``always``."""
        slope = self._tangents.slope[planes]
        base = -self._tangents.base[planes] - (self._middle(cells) * slope).sum(axis=1)
        mass = base + log_sum(slope, self._counts[cells]).sum(axis=1)
        better = np.ones(cells.size, bool) if always else mass < self._mass[cells]
        chosen, slope = cells[better], slope[better]
        offset = mean_offset(slope, self._counts[chosen])
        self._plane[chosen], self._base[chosen] = planes[better], base[better]
        self._mass[chosen] = mass[better]
        self._mean[chosen] = self._middle(chosen) + offset
        self._height[chosen] = (slope * offset).sum(axis=1) - base[better]

    def split(self, cells: Index, length: Array, mode: Integers) -> Index:
        """Cut each cell across its side of greatest ``length``; return the second halves.

        The cut goes through ``mode``, the best point known, or else the mean of the
        cell's law. A cell of one point gets -1 as its second half.
        """
        second = np.full(cells.size, -1)
        wide = self._counts[cells] > 1
        kept = wide.any(axis=1)
        side = np.where(wide, np.maximum(length, 1e-300), -1.0).argmax(axis=1)[kept]
        first = cells[kept]
        new = self._room(first.size)
        second[kept] = new
        for array in (self._low, self._counts, self._plane):
            array[new] = array[first]
        count, low = self._counts[first, side], self._low[first, side]
        centre = mode[side] - low
        mean = np.rint(self._mean[first, side] + self._half[side] - low).astype(np.int64)
        cut = np.where((centre > 0) & (centre < count), centre, np.clip(mean, 1, count - 1))
        self._counts[first, side] = cut
        self._low[new, side] += cut
        self._counts[new, side] -= cut
        both = np.concatenate([first, new])
        self._fit(both, self._plane[both], always=True)
        self._fit(both, self._tangents.highest(self._mean[both])[1])
        if not self._region.full:
            self._drop(both)
        return second

    def _drop(self, cells: Index) -> None:
        """Give cells that hold no point of the set no mass."""
        region = self._region
        corner = region.points(self._low[cells])
        for c, low in zip(cells, corner, strict=True):
            if region.misses(low, low + (self._counts[c] - 1) * region.step):
                self._mass[c] = -np.inf

    def _room(self, more: int) -> Index:
        while self._cells + more > len(self._mass):
            for name in ("_low", "_counts", "_plane", "_base", "_mass", "_mean", "_height"):
                array = getattr(self, name)
                setattr(self, name, np.concatenate([array, np.empty_like(array)]))
        self._cells += more
        return np.arange(self._cells - more, self._cells)
