"""Minimisation of losses with corners and a ridge: a primal-dual interior point method.

Mehrotra's predictor and corrector find the rows that lie on their corners; a least squares solve
on those rows then gives the exact dual point (*finish*). How the point is found does not matter
to privacy: only one with a certificate leaves :func:`solve_corners`.

References
----------
Mehrotra, *On the implementation of a primal-dual interior point method*, SIAM Journal on
Optimization 2 (1992).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from discreet.bounds import Array
from discreet.solvers.corner_certificate import CornerObjective
from discreet.solvers.objective import failed, norm

Mask: TypeAlias = npt.NDArray[np.bool_]

STEPS = 100
"""Steps after which the method gives up."""

ROUNDS = 80
"""Ridges that are tried to make the minimiser as long as the ball is wide."""

PATIENCE = 6
"""Certificates that do not halve the gap, after which more steps are vain."""


def solve_corners(objective: CornerObjective, room: float) -> Array:
    """Return weights within ``room / strength`` of the minimiser, or raise ``NotCertified``.

    Their objective is at most ``room^2 / (2 strength)`` above its minimum.

    Examples
    --------
    >>> from discreet.data import Rows
    >>> from discreet.losses import Hinge
    >>> rows = Rows(np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.5]]), np.ones(3))
    >>> (solve_corners(CornerObjective.of(rows, Hinge(), 1.0), 1e-6) + 0.0).round(6)
    array([0., 1.])
    """
    # privacy: 2 gap / strength bounds the squared distance; a little less covers this division
    goal = room**2 / (2.0 * objective.strength) * (1.0 - 1e-12)
    with np.errstate(all="ignore"):  # privacy: a warning of numpy would tell of the rows
        for w, gap in _candidates(objective, goal):
            if gap <= goal:
                return w
    raise failed()


def _candidates(objective: CornerObjective, goal: float) -> Iterator[tuple[Array, float]]:
    """Yield weights with bounds on their gaps."""
    if math.isinf(objective.radius):
        yield objective.certified(_search(objective, goal))
        return
    # On the sphere the minimiser is that of a larger ridge without the ball.
    free = replace(objective, radius=math.inf)
    s = _search(free, goal)
    yield objective.certified(s)
    ends = np.maximum(-objective.low, objective.high) @ objective.rows.norms / objective.radius
    low, high = math.log(objective.strength), math.log(max(float(ends), objective.strength)) + 0.1
    above, below = _longer(free, s, objective.radius, objective.strength), -0.1
    for _ in range(ROUNDS if above > 0.0 else 0):
        middle = low + (high - low) * above / (above - below)  # regula falsi, Illinois
        ridge = math.exp(middle)
        s = _search(replace(free, strength=ridge), 1e-6 * goal)
        yield objective.certified(s)
        longer = _longer(free, s, objective.radius, ridge)
        if longer > 0.0:
            low, above, below = middle, longer, 0.5 * below
        else:
            high, below, above = middle, longer, 0.5 * above


def _longer(free: CornerObjective, s: Array, radius: float, ridge: float) -> float:
    """Return the logarithm of the norm of weights over the radius."""
    return math.log(max(norm(free.combined(s)), 1e-300) / (ridge * radius))


@dataclass
class _State:
    """Weights, dual point and the two parts of every residual; rows that matter are live."""

    w: Array
    s: Array
    above: Array
    below: Array


def _search(objective: CornerObjective, goal: float) -> Array:
    """Return the dual point of the least gap that was found."""
    o = objective
    fixed = np.where(o.place < 0.0, o.high, o.low)  # what rows of zeros call for
    live = (o.high > o.low) & (o.rows.norms > 0.0)
    best = np.where(live, 0.5 * (o.low + o.high), fixed)
    least = o.certified(best)[1]
    state, count, waited, mark = _start(o, best), int(live.sum()), 0, least
    for _ in range(STEPS if count else 0):
        up, down = o.high - state.s, state.s - o.low
        open_ = float((state.above * up + state.below * down)[live].sum())
        if open_ < max(0.2 * max(1.0, o.strength), 100.0 * goal):
            for s in (state.s, _finished(o, state, live)):
                gap = math.inf if s is None else o.certified(s)[1]
                if gap < least:
                    best, least = state.s if s is None else s, gap
            # Progress is slow on rows of few kinds, where many lie near their corners.
            waited, mark = (0, least) if least < 0.5 * mark else (waited + 1, mark)
        if least <= goal or waited > PATIENCE:
            break
        stepped = _step(o, state, live, open_ / (2 * count))
        if stepped is None:
            break
        state = stepped
    return best


def _start(o: CornerObjective, s: Array) -> _State:
    w = -o.combined(s) / o.strength
    t = o.rows.projected(w) - o.place
    wide = float(np.abs(t).mean()) + 1e-3 if len(t) else 1.0
    return _State(w, s, np.maximum(t, 0.0) + wide, np.maximum(-t, 0.0) + wide)


def _step(o: CornerObjective, state: _State, live: Mask, mean: float) -> _State | None:
    """Take one step of predictor and corrector; None where digits have run out."""
    up, down = o.high - state.s, state.s - o.low
    inverse = np.where(live, 1.0 / (state.above / up + state.below / down), 0.0)
    dual = -o.combined(state.s) - o.strength * state.w
    primal = o.rows.projected(state.w) - o.place - state.above + state.below
    matrix = o.gram(inverse)
    matrix.flat[:: len(matrix) + 1] += o.strength
    if not np.isfinite(matrix).all():
        return None
    try:
        factor = cho_factor(matrix, check_finite=False)
    except LinAlgError:
        return None

    def move(q_up: Array, q_down: Array) -> _State:
        rest = np.where(live, primal - q_up / up + q_down / down, 0.0)
        w = cho_solve(factor, dual - o.combined(inverse * rest), check_finite=False)
        s = np.where(live, inverse * (rest + o.rows.projected(w)), 0.0)
        above = np.where(live, (q_up + state.above * s) / up, 0.0)
        below = np.where(live, (q_down - state.below * s) / down, 0.0)
        return _State(w, s, above, below)

    def length(d: _State) -> float:
        """Return the part of a step that stays inside."""
        pairs = ((up, -d.s), (down, d.s), (state.above, d.above), (state.below, d.below))
        return min(1.0, *(float(_ratios(a[live], b[live])) for a, b in pairs))

    try_ = move(-state.above * up, -state.below * down)
    part = length(try_)
    after = (state.above + part * try_.above) * (up - part * try_.s)
    after += (state.below + part * try_.below) * (down + part * try_.s)
    aim = mean * (float(after[live].mean()) / (2.0 * mean)) ** 3
    d = move(
        aim - state.above * up + try_.above * try_.s, aim - state.below * down - try_.below * try_.s
    )
    part = 0.995 * length(d)
    s = state.s + part * d.s
    sound = np.isfinite(d.w).all() and bool((live <= ((o.low < s) & (s < o.high))).all())
    if not (sound and part > 1e-12):
        return None
    return _State(
        state.w + part * d.w, s, state.above + part * d.above, state.below + part * d.below
    )


def _ratios(room: Array, move: Array) -> float:
    """Return the least step at which a coordinate reaches zero."""
    out = move < 0.0
    return float((-room[out] / move[out]).min(initial=math.inf))


def _finished(o: CornerObjective, state: _State, live: Mask) -> Array | None:
    """Return the dual point with rows off their corners at their bounds, and the rest solved."""
    top = live & (o.high - state.s <= state.above)
    bottom = live & ~top & (state.s - o.low <= state.below)
    s = np.where(top, o.high, np.where(bottom, o.low, state.s))
    on = np.flatnonzero(live & ~top & ~bottom)
    if len(on) > 3 * o.rows.dimension:
        return None
    if len(on):
        X = np.concatenate([_dense(o, int(i)) for i in on])
        w = -o.combined(s) / o.strength
        # The rows on corners move the weights onto them: X (w - X' d / strength) = place.
        matrix, off = X @ X.T / o.strength, X @ w - o.place[on]
        if not (np.isfinite(matrix).all() and np.isfinite(off).all()):
            return None
        try:
            d = np.linalg.lstsq(matrix, off, rcond=None)[0]
        except LinAlgError:
            return None
        s[on] = np.clip(s[on] + d, o.low[on], o.high[on])
    return s


def _dense(o: CornerObjective, i: int) -> Array:
    X = o.rows._slice(slice(i, i + 1))
    return np.asarray(X.toarray() if o.rows.sparse else X, dtype=np.float64)
