"""Private prefix sums: a strategy, a grid and noise calibrated to both.

Theorem. Let rows of ``C x`` be put on a grid of step ``g`` and released with
Gaussian noise of standard deviation ``sigma`` rounded to the same grid, each
before the next vector is chosen. If a data row moves the vectors it enters by
at most ``s`` and every vector has norm at most ``reach``, everything released
is ``paid / sigma``-Gaussian-private with

    paid = sens(C) s + 2 sqrt(k) rounding reach + sqrt(k p) g,

``k`` the number of rows of ``C`` it enters. Proof: given equal releases so far,
later vectors are equal too but for the moved ones, so the rows of ``C x``
differ by what the columns of ``C`` say plus twice the float64 error, and after
rounding by at most one step a coordinate more. Each row is on the grid, so
adding rounded noise is rounding the ideal Gaussian release: post-processing.
The bounds on the rows are fixed in advance, so Gaussian guarantees of the steps
compose exactly, adaptively chosen vectors included (Denisov et al. 2022; Dong,
Roth, Su 2022). Prefix sums are computed from what was released.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from discreet.bounds import Array
from discreet.checks import integer, nonnegative, positive
from discreet.errors import Incompatible, InvalidParameter
from discreet.noise.gaussian import Gaussian
from discreet.noise.grid import Grid
from discreet.noise.prefix.strategy import Strategy
from discreet.noise.randomness import Randomness


@dataclass(frozen=True)
class PrefixSums:
    """Calibrated noise for the prefix sums of a stream of vectors.

    Made by :meth:`plan`. The privacy of a whole stream is that of one Gaussian
    release with the ``multiplier`` given there.

    Examples
    --------
    >>> from discreet.noise import Seeded
    >>> from discreet.noise.prefix import Tree
    >>> sums = PrefixSums.plan(Tree(8), sensitivity=1.0, multiplier=1.0, shape=(2,), reach=1.0)
    >>> round(sums.sigma, 5)
    2.0
    >>> running = sums.start()
    >>> running.push(np.array([1.0, 0.0]), Seeded(0)).shape, running.steps
    ((2,), 1)
    """

    strategy: Strategy
    shape: tuple[int, ...]
    noise: Gaussian
    paid: float

    @classmethod
    def plan(
        cls,
        strategy: Strategy,
        *,
        sensitivity: float,
        multiplier: float,
        shape: tuple[int, ...],
        reach: float,
        participations: int = 1,
        separation: int = 1,
    ) -> PrefixSums:
        """Calibrate noise.

        Parameters
        ----------
        strategy
            The factorisation.
        sensitivity
            How far one data row moves a vector it enters.
        multiplier
            Standard deviation of the noise over the distance one data row
            moves the whole stream.
        shape
            Shape of a vector.
        reach
            Bound on the norm of a vector.
        participations, separation
            How many vectors one data row enters, and how far apart they are at
            least.
        """
        k = integer("participations", participations)
        apart = integer("separation", separation)
        touched = strategy.touched(k)
        # privacy: the three terms of the theorem, rounded outwards.
        moved = strategy.sensitivity(k, apart) * positive("sensitivity", sensitivity)
        moved += 2.0 * math.sqrt(touched) * strategy.rounding * nonnegative("reach", reach)
        moved *= 1.0 + 2.0**-45
        dim = math.prod(shape) * touched
        room = max(strategy.gain * reach, 20.0 * moved * positive("multiplier", multiplier))
        grid = Grid.choose(sensitivity=moved, dim=dim, norm="l2", reach=room)
        paid = grid.surcharged(moved, dim, "l2")
        return cls(strategy, shape, Gaussian(paid * multiplier, grid), paid)

    @property
    def sigma(self) -> float:
        """Standard deviation of the noise on every row of ``C x``."""
        return self.noise.sigma

    def deviation(self, step: int) -> float:
        """Return the standard deviation of each coordinate of the prefix at ``step``."""
        return self.sigma * math.sqrt(self.strategy.variance(step)) if step else 0.0

    def start(self) -> RunningSums:
        """Return a stream that has seen nothing yet."""
        return RunningSums(self)


class RunningSums:
    """A stream of private prefix sums under way.

    Its state is secret: :meth:`state` holds sums of data without noise.
    """

    def __init__(self, plan: PrefixSums) -> None:
        self._plan = plan
        self._coder = plan.strategy.coder(plan.shape)

    @property
    def steps(self) -> int:
        """Number of vectors seen."""
        return self._coder.steps

    @property
    def full(self) -> bool:
        """Whether the horizon is reached."""
        return self.steps >= self._plan.strategy.horizon

    def push(self, x: Array, random: Randomness) -> Array:
        """Take the next vector and return the noisy sum of all so far."""
        if self.full:
            # privacy: the sensitivity is that of the declared horizon.
            raise Incompatible(
                f"The stream has reached its horizon of {self._plan.strategy.horizon} steps, and "
                "its noise covers no more. Start a fresh mechanism for what follows."
            )
        rows = self._plan.noise.grid.round(self._coder.encode(x))
        # privacy: the only exit of data; both terms are whole steps, so the sum is exact.
        noisy = rows + self._plan.noise.sample(rows.shape, random)
        return self._coder.decode(noisy)

    def copy(self) -> Self:
        """Return a stream that goes on from here on its own.

        Only one of the two may ever release anything.
        """
        twin = type(self)(self._plan)
        twin._coder = self._coder.copy()
        return twin

    def state(self) -> dict[str, Any]:
        """Return everything needed to go on, as plain values. Secret."""
        coder = self._coder
        held = {"secret": coder.secret, "public": coder.public}
        plain = {kind: {k: v.tolist() for k, v in arrays.items()} for kind, arrays in held.items()}
        return {"steps": coder.steps, **plain}

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from a saved state."""
        coder, skip = self._coder, int(self._coder.growing)
        steps = integer("steps", state["steps"], 0)
        for kind, arrays in (("secret", coder.secret), ("public", coder.public)):
            for name, array in arrays.items():
                value = np.array(state[kind][name], dtype=np.float64)
                if value.size == 0:
                    value = value.reshape(array.shape)
                fits = value.shape[skip:] == array.shape[skip:] and len(value) >= skip * steps
                if not fits or steps > self._plan.strategy.horizon:
                    raise InvalidParameter("A saved stream does not fit the plan it resumes.")
                arrays[name] = value
        coder.steps = steps
