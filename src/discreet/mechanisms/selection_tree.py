"""Drawing from many weights of which few change: a tree of log-sums.

The leaves hold log-weights and every inner node the log of the sum below it.
A draw walks down from the root, choosing among children by whole-number
weights, so the probability of every leaf it proposes is known exactly; an
acceptance step then corrects what rounding did to the sums. The result has the
exact law of the leaves whatever the tree holds inside. Changed leaves are
carried up by new sums, never by subtraction, which would lose all digits.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt
from mpmath import mp, mpf

from discreet.bounds import Array
from discreet.errors import NotCertified
from discreet.noise.coins import below_exp, signs
from discreet.noise.randomness import Randomness
from discreet.noise.selection import pick, propose, scale_bits, whole_weights

Index = npt.NDArray[np.intp]
Path = list[tuple[int, int]]

FAN = 32
"""Children of a node: few levels, each one vector operation."""

SLACK = 2.0**-14
"""How far, in logarithm, a proposal may fall short of its weight.

Whole-number weights cost ``FAN 2**-40`` relative at each level of the tree, and
rounding of the sums less than that, so it is never used up.
"""


def log_sum(rows: Array) -> Array:
    """Return the log of the sum of exponentials along the last axis; ``-inf`` if empty.

    >>> log_sum(np.array([[0.0, 0.0], [-np.inf, -np.inf]])).round(6)
    array([0.693147,     -inf])
    """
    # Sums over the first of two axes run along memory.
    turned = rows.T.copy()
    peak = turned.max(axis=0, initial=-np.inf)
    peak = np.where(peak > -np.inf, peak, 0.0)
    turned -= peak
    np.exp(turned, out=turned)
    with np.errstate(divide="ignore"):
        return np.asarray(peak + np.log(turned.sum(axis=0)))


def log_pair(h: Array) -> Array:
    """Return ``log(exp(h) + exp(-h))``, the weight of a coordinate with both signs.

    >>> log_pair(np.array([0.0, -1000.0])).round(6)
    array([6.93147e-01, 1.00000e+03])
    """
    size = np.abs(h)
    return np.asarray(size + np.log1p(np.exp(-2.0 * size)))


class SamplingTree:
    """A complete tree of log-sums over leaves that may change.

    Parameters
    ----------
    leaves
        Log-weights; ``-inf`` for a leaf that is never drawn.

    Examples
    --------
    >>> from discreet.noise import Seeded
    >>> tree = SamplingTree(np.zeros(100))
    >>> tree.update(np.array([7]), np.array([50.0]))
    >>> round(tree.root, 6), tree.propose(Seeded(0))[0]
    (50.0, 7)
    """

    def __init__(self, leaves: Array) -> None:
        self._levels = [_padded(leaves)]
        while len(self._levels[-1]) > FAN:
            self._levels.append(_padded(log_sum(self._levels[-1].reshape(-1, FAN))))

    @property
    def root(self) -> float:
        """Log of the sum of all weights."""
        return float(log_sum(self._levels[-1]))

    def update(self, index: Index, values: Array) -> None:
        """Set some leaves, given in increasing order, and renew the sums above them."""
        if not index.size:
            return
        self._levels[0][index] = values
        for below, above in zip(self._levels[:-1], self._levels[1:], strict=True):
            index = index // FAN
            index = index[np.append(True, index[1:] != index[:-1])]
            above[index] = log_sum(below.reshape(-1, FAN)[index])

    def propose(self, random: Randomness) -> tuple[int, Path]:
        """Return a leaf and the steps to it, each as a weight and the sum of weights."""
        node, path = 0, []
        for level in reversed(self._levels):
            children = level[node * FAN : (node + 1) * FAN]
            child, weight, total = propose(children, float(children.max()), random)
            path.append((weight, total))
            node = node * FAN + child
        return node, path


def _padded(values: Array) -> Array:
    out = np.full(-(-len(values) // FAN) * FAN, -np.inf)
    out[: len(values)] = values
    return out


class SignedSampler:
    """Draws a coordinate and a sign with probability proportional to ``exp(sign * h_j)``.

    Coordinates whose ``h`` changes at every draw are *hot* and stand beside the
    tree in one flat list; all others are leaves. A leaf that became hot leaves
    the tree when it is next proposed there: a proposal that cannot be accepted
    only costs time.

    Parameters
    ----------
    h
        Log-odds of every coordinate.

    Examples
    --------
    >>> from discreet.noise import Seeded
    >>> sampler = SignedSampler(np.array([0.0, -40.0, 3.0]))
    >>> sampler.draw(Seeded(0))
    (1, -1)
    """

    def __init__(self, h: Array) -> None:
        self._h = h.copy()
        self._tree = SamplingTree(log_pair(h))
        self.hot: Index = np.empty(0, dtype=np.intp)
        self._slot = np.full(h.size, -1, dtype=np.intp)

    def warm(self, index: Index) -> Index:
        """Make coordinates hot and return their places in the list of hot ones."""
        new = index[self._slot[index] < 0]
        self._slot[new] = np.arange(self.hot.size, self.hot.size + new.size)
        self.hot = np.concatenate([self.hot, new])
        return self._slot[index]

    def update(self, index: Index, h: Array) -> None:
        """Set the log-odds of some coordinates, given in increasing order, in the tree."""
        self._h[index] = h
        self._tree.update(index, log_pair(h))

    def draw(self, random: Randomness, hot: Array | None = None) -> tuple[int, int]:
        """Return a coordinate and its sign; ``hot`` holds ``h`` of the hot ones, in order."""
        flat = self._flat(np.abs(hot)) if hot is not None and hot.size else None
        while True:
            parts = np.array([self._tree.root, -np.inf if flat is None else flat[1]])
            total = float(log_sum(parts))
            part, weight, of = propose(parts, float(parts.max()), random)
            path = [(weight, of)]
            if part == 0:
                j, steps = self._tree.propose(random)
                if self._slot[j] >= 0:
                    self._tree.update(np.array([j]), np.array([-np.inf]))
                    continue
                path, h = path + steps, float(self._h[j])
            else:
                assert flat is not None
                assert hot is not None
                i, weight, of = pick(flat[0], random)
                path, j, h = [*path, (weight, of)], int(self.hot[i]), float(hot[i])
            # privacy: each round accepts in proportion to the wanted weights, so the law is
            # exact although rejected rounds may have changed the tree.
            if _accepted(h, path, total, random):
                return j, 1 if signs(np.array([2.0 * h]), random)[0] else -1

    @staticmethod
    def _flat(size: Array) -> tuple[npt.NDArray[np.int64], float]:
        """Return whole weights that bound the hot pairs from above, and the log of their sum."""
        peak = float(size.max())
        ends = whole_weights(size, peak)
        # A pair weighs at most twice its larger half.
        log_two = math.log(2.0)
        return ends, math.log(int(ends[-1])) + peak - (scale_bits(size.size) - 1) * log_two


def _accepted(h: float, path: Path, total: float, random: Randomness) -> bool:
    """Accept with the exact ratio of the wanted weight to the proposal's."""

    def exact() -> Any:
        size = abs(mpf(h))
        wanted = size + mp.log1p(mp.exp(-2 * size))
        return wanted - sum(mp.log(mpf(w) / t) for w, t in path) - mpf(total) - mpf(SLACK)

    near = abs(h) + math.log1p(math.exp(-2.0 * abs(h))) - total - SLACK
    near -= sum(math.log(w / t) for w, t in path)
    # privacy: if a proposal could be too rare for its weight, the law would not be exact.
    if near > 0:
        raise NotCertified("The sampling tree lost its precision, so no choice was made.")
    return below_exp(near, 2.0**-44 * (64.0 + abs(total) + abs(h)), exact, random)
