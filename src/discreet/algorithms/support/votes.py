"""Supports chosen by blocks of rows that vote.

Kifer, Smith, Thakurta, *Private convex ERM and high-dimensional regression*,
COLT 2012; Smith, Thakurta, *Differentially private feature selection via
stability arguments*, COLT 2013; with an assignment of rows to blocks that is
right for each neighbour relation.
"""

from __future__ import annotations

import math
import warnings
from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from discreet.accounting import Approximate, Event, Pure, gaussian_multiplier
from discreet.accounting import Gaussian as GaussianEvent
from discreet.algorithms.support.setting import Setting
from discreet.bounds import Array
from discreet.data import Rows
from discreet.data.storage import Codes
from discreet.errors import Incompatible
from discreet.mechanisms.bounded_range import per_round
from discreet.mechanisms.signed_choice import Index
from discreet.noise import Gaussian, Grid, Laplace, Randomness, integers, permutation, release, top

VOTE_GRID = 2.0**-24
"""Step of the noise on votes; votes are whole, so rounding costs nothing."""


def blocks_of(n_rows: int, blocks: int, neighbours: str, random: Randomness) -> Index:
    """Return a secret block number for every row.

    Rows that keep their position on both neighbours may share out positions
    evenly. Where a row may be missing, later ones shift, so every row draws its
    block by itself. Contiguous blocks would move all boundaries.

    >>> from discreet.noise import Seeded
    >>> np.bincount(blocks_of(10, 5, "zero-out", Seeded(0))).tolist()
    [2, 2, 2, 2, 2]
    """
    if neighbours == "add-remove":
        return integers(blocks, n_rows, random)
    # privacy: drawn without looking at the rows, so one row lies in one block on both sides.
    out = np.empty(n_rows, dtype=np.intp)
    out[permutation(n_rows, random)] = np.arange(n_rows) % blocks
    return out


def blocks_of_groups(codes: Codes, blocks: int, random: Randomness) -> Index:
    """Return a secret block number for every row, the same for all rows of a group.

    Every group draws by itself, so that all others keep their blocks where one is missing.

    >>> from discreet.noise import Seeded
    >>> block = blocks_of_groups(np.array([0, 1, 0, -1, 1]), 9, Seeded(0))
    >>> bool(block[0] == block[2]), bool(block[1] == block[4]), int(block[3])
    (True, True, -1)
    """
    drawn = integers(blocks, int(codes.max(initial=-1)) + 1, random)
    return np.append(drawn, -1)[codes]


def block_vote(X: Any, y: Array, size: int, noise_level: float) -> tuple[int, ...]:
    """Return at most ``size`` features that a LASSO on one block of rows prefers.

    The penalty follows the size of the block. A block that is too small or
    fails votes for nothing: an error here would be an answer about its rows.

    >>> X = np.repeat([[1.0, 0.0], [-1.0, 0.1]], 20, axis=0)
    >>> block_vote(X, X[:, 0], 1, 0.05)
    (0,)
    """
    # Imported here because the package takes long to load.
    from sklearn.linear_model import Lasso

    rows, features = X.shape
    if rows < 2:
        return ()
    penalty = 4.0 * noise_level * math.sqrt(math.log(max(features, 2)) / rows)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            fitted = Lasso(alpha=penalty, max_iter=1000).fit(X, y)
        sizes = np.abs(np.asarray(fitted.coef_, dtype=np.float64))
    except Exception:
        return ()
    order = np.argsort(-sizes, kind="stable")[:size]
    return tuple(sorted(int(j) for j in order if sizes[j] > 0.0))


@dataclass(frozen=True)
class Votes:
    """Features with the most votes among blocks of rows, counted with noise.

    One row, or one group, changes one block's vote, hence counts by at most 1 each and
    ``2 size`` in all.
    """

    setting: Setting

    @cached_property
    def _calibrated(self) -> tuple[float, Event]:
        """Noise scale of a count, or the log-weight of one vote, and what publishing costs."""
        budget, size = self.setting.budget, self.setting.size
        if self.setting.noise == "laplace":
            # privacy: rounded up, as every scale of noise here.
            return math.nextafter(2.0 * size / budget.epsilon, math.inf), Pure(budget.epsilon)
        if self.setting.noise == "gaussian":
            if budget.delta == 0:
                raise Incompatible("Gaussian votes need delta > 0. Pass delta, or noise='gumbel'.")
            root = math.nextafter(math.sqrt(2.0 * size), math.inf)
            scale = root * gaussian_multiplier(budget.epsilon, budget.delta)
            return scale, GaussianEvent(scale / math.sqrt(2.0 * size))
        eta, event = per_round(budget, size)
        # privacy: 24 digits, so that products with counts are exact. Counts go up or down by
        # one, a range of two.
        mantissa, exponent = math.frexp(eta / 2.0)
        return math.ldexp(math.floor(mantissa * 2.0**24), exponent - 24), event

    @property
    def event(self) -> Event:
        """The cost of publishing the chosen features."""
        return self._calibrated[1]

    @property
    def scale(self) -> float:
        """Noise scale of a count."""
        scale = self._calibrated[0]
        return 1.0 / scale if self.setting.noise == "gumbel" else scale

    def facts(self) -> dict[str, Any]:
        """Public numbers."""
        return {
            "blocks": self.setting.blocks,
            f"{self.setting.noise} noise scale of a vote": self.scale,
        }

    def votes(self, rows: Rows, random: Randomness) -> list[tuple[int, ...]]:
        """Return what each block votes for; not private by itself."""
        setting = self.setting
        # privacy: a group lies in one block, which is all that it can change.
        if rows.groups is not None:
            block = blocks_of_groups(rows.groups, setting.blocks, random)
        else:
            block = blocks_of(rows.n_rows, setting.blocks, setting.neighbours, random)
        labels = rows.y if rows.y.ndim == 1 else rows.y[:, 0]
        X = rows.X[:, : setting.n_features]
        used = rows.weight > 0.0
        found = []
        # privacy: a block sees its own rows only; nothing is shared or standardised across.
        for b in range(setting.blocks):
            mine = np.flatnonzero((block == b) & used)
            part = sp.csc_array(X[mine]) if rows.sparse else np.ascontiguousarray(X[mine])
            found.append(block_vote(part, labels[mine], setting.size, setting.noise_level))
        return found

    def select(self, rows: Rows, random: Randomness) -> Index | None:
        """Return the features with the largest noisy counts."""
        votes = self.votes(rows, random)
        return self.choose(
            np.bincount(
                [j for vote in votes for j in vote], minlength=self.setting.n_features
            ).astype(np.float64),
            random,
        )

    def choose(self, counts: Array, random: Randomness) -> Index:
        """Return the features with the largest noisy counts, in increasing order."""
        size = self.setting.size
        if self.setting.noise == "gumbel":
            return top(counts * self._calibrated[0], size, random)
        grid = Grid(step=VOTE_GRID, reach=float(self.setting.blocks))
        law = Laplace(self.scale, grid) if self.setting.noise == "laplace" else None
        noisy = release(counts, law or Gaussian(self.scale, grid), random)
        return np.sort(np.argsort(-noisy, kind="stable")[:size])


@dataclass(frozen=True)
class Stability(Votes):
    """The support most blocks agree on, or None when the lead is not clear.

    Half the lead of the most frequent support over the next moves by at most 1
    when one block changes. The support is published only if that, with Laplace
    noise, exceeds a threshold that it misses with probability ``1 - delta``
    wherever neighbours could disagree about the winner.
    """

    def __post_init__(self) -> None:
        if not 0.0 < self.setting.budget.delta < 0.5:
            raise Incompatible(
                "Stability selection needs 0 < delta < 1/2: it may publish an unstable support "
                "with that probability. Pass delta, or another selector."
            )

    @property
    def event(self) -> Event:
        return Approximate(self.setting.budget.epsilon, self.setting.budget.delta)

    @property
    def scale(self) -> float:
        return math.nextafter(1.0 / self.setting.budget.epsilon, math.inf)

    @property
    def threshold(self) -> float:
        """What the noisy half lead has to exceed."""
        budget = self.setting.budget
        return 1.0 + math.log(1.0 / (2.0 * budget.delta)) / budget.epsilon

    def facts(self) -> dict[str, Any]:
        """Public numbers."""
        return {
            "blocks": self.setting.blocks,
            "threshold": self.threshold,
            "laplace noise scale of the half lead": self.scale,
        }

    def select(self, rows: Rows, random: Randomness) -> Index | None:
        """Return the agreed support, or None."""
        return self.decide(self.votes(rows, random), random)

    def decide(self, votes: list[tuple[int, ...]], random: Randomness) -> Index | None:
        """Return the most frequent support if its noisy lead is clear."""
        full = Counter(vote for vote in votes if len(vote) == self.setting.size)
        ranked = sorted(full.items(), key=lambda item: (-item[1], item[0]))
        counts = [count for _, count in ranked[:2]] + [0, 0]
        half = np.array([(counts[0] - counts[1]) / 2.0])
        grid = Grid(step=VOTE_GRID, reach=float(self.setting.blocks))
        lead = float(release(half, Laplace(self.scale, grid), random)[0])
        # privacy: a step above the threshold, so that rounding it cannot lower it.
        if not ranked or lead <= self.threshold + VOTE_GRID:
            return None
        return np.array(ranked[0][0], dtype=np.intp)
