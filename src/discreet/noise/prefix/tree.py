"""Prefix sums by a binary tree (Dwork et al. 2010; Chan, Shi, Song 2011).

A node of level ``k`` is the sum of ``2**k`` consecutive vectors, and a prefix is
the sum of one node per bit of its length. A vector enters one node of each
level, and of a stream of ``n`` vectors only ``floor(log2 n) + 1`` levels are
ever completed.

Honaker's refinement also releases both halves of every node. A node then has
two estimates, its own and the sum of its halves, and their best mixture has the
variance ``v_k = 2**k / (2**(k+1) - 1)``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from discreet.bounds import Array, unit_roundoff
from discreet.noise.prefix.strategy import Coder, Strategy, spaced


@dataclass(frozen=True)
class Tree(Strategy):
    """A binary tree of noisy sums, with O(log n) vectors of memory.

    Parameters
    ----------
    horizon
        Number of vectors the stream may have.
    refine
        Whether to mix every node with its halves (Honaker 2015, from below).

    Examples
    --------
    >>> Tree(8).levels, Tree(8).variance(7), round(Tree(8, refine=True).variance(7), 4)
    (4, 3.0, 2.2381)
    """

    refine: bool = False

    @property
    def levels(self) -> int:
        """Levels with a completed node."""
        # privacy: floor(log2 n) + 1; ceil(log2 n) is one short when n is a power of two.
        return self.horizon.bit_length()

    def sensitivity(self, participations: int = 1, separation: int = 1) -> float:
        """Return how far the nodes move when some vectors move by 1.

        A level's nodes hold at most ``k`` participations together and no node
        holds more than ``ceil(2**level / separation)``; the bound is their
        product, summed over levels.

        >>> round(Tree(1024).sensitivity(8, 128), 3)
        13.266
        """
        k = spaced(self.horizon, participations, separation)
        squares = (k * min(k, -(-(2**level) // separation)) for level in range(self.levels))
        return float(np.sqrt(sum(squares)))

    def touched(self, participations: int = 1) -> int:
        """Return the number of nodes a data row can enter."""
        return participations * self.levels

    @property
    def gain(self) -> float:
        """Number of vectors in the largest node."""
        return float(2 ** (self.levels - 1))

    @property
    def rounding(self) -> float:
        """Bound on the float64 error of a node of vectors of norm 1."""
        # A vector passes through at most two additions a level.
        return 4 * self.levels * unit_roundoff() * self.gain

    def variance(self, step: int) -> float:
        """Return the variance of the prefix at ``step``: one node per bit."""
        bits = (k for k in range(self.levels) if step >> k & 1)
        return float(sum(_mixed(k) if self.refine else 1.0 for k in bits))

    @property
    def largest_variance(self) -> float:
        """The largest variance of any prefix.

        >>> Tree(8).largest_variance
        3.0
        """
        # The worst length is the horizon itself, or one of its bits traded for all lower ones.
        n = self.horizon
        lengths = [n, *((n >> k << k) - 1 for k in range(self.levels) if n >> k & 1)]
        return max(self.variance(t) for t in lengths)

    def coder(self, shape: tuple[int, ...]) -> TreeCoder:
        """Return the running tree."""
        return TreeCoder(self, shape)


def _mixed(level: int) -> float:
    """Variance of the best estimate of a node, and the weight of its own value."""
    return float(2**level / (2 ** (level + 1) - 1))


class TreeCoder(Coder):
    """The nodes of a tree that later nodes still need, one a level."""

    def __init__(self, tree: Tree, shape: tuple[int, ...]) -> None:
        size = (tree.levels, *shape)
        super().__init__({"sums": np.zeros(size)}, {"estimates": np.zeros(size)})
        self._refine = tree.refine

    def encode(self, x: Array) -> Array:
        """Return the nodes that end here: all of them, or only the largest."""
        sums, top = self.secret["sums"], _trailing_zeros(self.steps + 1)
        nodes = [np.asarray(x, dtype=np.float64)]
        for level in range(top):
            nodes.append(sums[level] + nodes[-1])
        sums[:top] = 0.0
        sums[top] = nodes[-1]
        return np.stack(nodes if self._refine else nodes[-1:])

    def decode(self, noisy: Array) -> Array:
        """Return the sum of the noisy nodes that make up the prefix."""
        estimates = self.public["estimates"]
        self.steps += 1
        top, best = _trailing_zeros(self.steps), noisy[0]
        for level in range(1, len(noisy)):
            own = _mixed(level)
            best = own * noisy[level] + (1.0 - own) * (estimates[level - 1] + best)
        estimates[:top] = 0.0
        estimates[top] = best
        return np.asarray(estimates.sum(axis=0))


def _trailing_zeros(step: int) -> int:
    return (step & -step).bit_length() - 1
