"""How far a computed projection or prox is from the true one, in 60-digit arithmetic.

Certificates of near-optimality allow for ``2 (p + 8) u (||w|| + ||v||)``, with
``w`` the argument, ``v`` the result and ``u`` the unit roundoff.
"""

from __future__ import annotations

from collections.abc import Callable

import mpmath
import numpy as np
import pytest

from discreet.bounds import Array, unit_roundoff
from discreet.regularizers import (
    L1,
    ElasticNet,
    Group,
    Nuclear,
    Regularizer,
    Ridge,
    Zero,
    combined_prox,
)
from discreet.sets import (
    AllSpace,
    Box,
    ConvexSet,
    GroupBall,
    Intersection,
    L1Ball,
    L2Ball,
    NuclearBall,
    Simplex,
)
from discreet.sets.groups import group_labels

Exact = list[mpmath.mpf]


def norm(v: Exact) -> mpmath.mpf:
    return mpmath.sqrt(sum((a * a for a in v), mpmath.mpf(0)))


def bisect(low: mpmath.mpf, high: mpmath.mpf, too_low: Callable[[mpmath.mpf], bool]) -> mpmath.mpf:
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if too_low(middle) else (low, middle)
    return low


def shrink_to(sizes: Exact, total: mpmath.mpf, always: bool = False) -> Exact:
    """Subtract one threshold from every entry so that positive parts add up to ``total``."""
    if not always and sum(sizes) <= total:
        return sizes
    low, high = min(sizes) - total, max(sizes)
    t = bisect(low, high, lambda c: sum(max(a - c, 0) for a in sizes) > total)
    return [max(a - t, mpmath.mpf(0)) for a in sizes]


def clip(v: Exact, box: Box) -> Exact:
    low, high = (side.tolist() for side in box.limits((len(v),)))
    return [min(max(a, lo), hi) for a, lo, hi in zip(v, low, high, strict=True)]


def grouped(v: Exact, groups: int | tuple[int, ...], change: Callable[[Exact], Exact]) -> Exact:
    labels = group_labels(groups, len(v))
    members = [[a for a, k in zip(v, labels, strict=True) if k == g] for g in set(labels.tolist())]
    norms = [norm(group) for group in members]
    new = change(norms)
    return [a * (new[k] / norms[k] if norms[k] else 0) for a, k in zip(v, labels, strict=True)]


def singular(v: Exact, change: Callable[[Exact], Exact]) -> Exact:
    rows = mpmath.matrix([v[i : i + 3] for i in range(0, 12, 3)])
    left, values, right = mpmath.svd_r(rows)
    new = change([values[i] for i in range(3)])
    out = left * mpmath.diag(new) * right
    return [out[i, j] for i in range(4) for j in range(3)]


def exact_projection(constraint: ConvexSet, w: Exact) -> Exact:
    match constraint:
        case AllSpace():
            return w
        case L2Ball():
            return [a * min(1, constraint.size / norm(w)) if norm(w) else a for a in w]
        case L1Ball():
            kept = shrink_to([abs(a) for a in w], mpmath.mpf(constraint.size))
            return [mpmath.sign(a) * k for a, k in zip(w, kept, strict=True)]
        case Box():
            return clip(w, constraint)
        case Simplex():
            return shrink_to(w, mpmath.mpf(constraint.total), always=True)
        case GroupBall():
            total = mpmath.mpf(constraint.size)
            return grouped(w, constraint.groups, lambda n: shrink_to(n, total))
        case NuclearBall():
            total = mpmath.mpf(constraint.size)
            return singular(w, lambda n: shrink_to(n, total))
        case Intersection():
            ball, box = constraint.parts
            assert isinstance(box, Box)
            if isinstance(ball, L2Ball):
                if norm(clip(w, box)) <= ball.size:
                    return clip(w, box)

                def scaled(c: mpmath.mpf) -> Exact:
                    return clip([c * a for a in w], box)

                zero, one = mpmath.mpf(0), mpmath.mpf(1)
                return scaled(bisect(zero, one, lambda c: norm(scaled(c)) <= ball.size))
            total = ball.total  # type: ignore[attr-defined]
            inner = Box(low=max(0.0, box.low), high=box.high)  # type: ignore[type-var]
            t = bisect(
                min(w) - 10, max(w) + 10, lambda c: sum(clip([a - c for a in w], inner)) > total
            )
            return clip([a - t for a in w], inner)
        case _:
            raise AssertionError(constraint)


def exact_prox(regularizer: Regularizer, w: Exact, step: mpmath.mpf) -> Exact:
    match regularizer:
        case L1():
            t = step * mpmath.mpf(regularizer.strength)
            return [mpmath.sign(a) * max(abs(a) - t, 0) for a in w]
        case Group():
            t = step * mpmath.mpf(regularizer.strength)
            return grouped(w, regularizer.groups, lambda n: [max(a - t, mpmath.mpf(0)) for a in n])
        case Nuclear():
            t = step * mpmath.mpf(regularizer.strength)
            return singular(w, lambda n: [max(a - t, mpmath.mpf(0)) for a in n])
        case _:
            return w


def exact_combined(regularizer: Regularizer, constraint: ConvexSet, w: Array, step: float) -> Exact:
    factor = 1 + mpmath.mpf(step) * mpmath.mpf(regularizer.strong_convexity)
    shrunk = [mpmath.mpf(float(a)) / factor for a in w.ravel()]
    return exact_projection(constraint, exact_prox(regularizer.kernel, shrunk, step / factor))


CASES: list[tuple[Regularizer, ConvexSet]] = [
    (Zero(), L2Ball(radius=0.7)),
    (Zero(), L1Ball(radius=0.7)),
    (Zero(), Simplex()),
    (Zero(), GroupBall(radius=0.7, groups=5)),
    (Zero(), NuclearBall(radius=0.7)),
    (Zero(), Intersection(sets=(L2Ball(radius=0.7), Box(low=-0.3, high=0.2)))),
    (Zero(), Intersection(sets=(Simplex(), Box(low=-1.0, high=0.2)))),
    (Ridge(strength=0.3), Simplex(total=3.0)),
    (Ridge(strength=0.3), Box(low=-0.3, high=0.2)),
    (ElasticNet(l1=0.1, l2=0.3), L2Ball(radius=0.7)),
    (ElasticNet(l1=0.1, l2=0.3), L1Ball(radius=0.7)),
    (ElasticNet(l1=0.1, l2=0.3), Box(low=-0.3, high=0.2)),
    (ElasticNet(l1=0.1, l2=0.3), AllSpace()),
    (Group(strength=0.3, groups=4), L2Ball(radius=0.7)),
    (Nuclear(strength=0.3), L2Ball(radius=0.7)),
    (Nuclear(strength=0.3), NuclearBall(radius=0.7)),
]


@pytest.mark.parametrize(("regularizer", "constraint"), CASES, ids=repr)
def test_rounding_of_every_prox(regularizer: Regularizer, constraint: ConvexSet) -> None:
    rng = np.random.default_rng(8)
    matrix = "nuclear" in regularizer.name + constraint.name
    shape, n = ((4, 3), 6) if matrix else ((12,), 25)
    prox = combined_prox(regularizer, constraint)
    worst = 0.0
    for _ in range(n):
        w = rng.normal(size=shape) * rng.choice([1e-6, 0.3, 3.0, 1e4])
        v = prox(w, 0.37)
        with mpmath.workdps(60):
            exact = exact_combined(regularizer, constraint, w, 0.37)
            error = norm([mpmath.mpf(float(a)) - b for a, b in zip(v.ravel(), exact, strict=True)])
        size = float(np.linalg.norm(w) + np.linalg.norm(v))
        worst = max(worst, float(error) / (unit_roundoff() * size))
    assert worst <= 2.0 * (12 + 8)


def test_the_bound_needs_the_size_of_the_result() -> None:
    """Near zero a simplex projects to something much larger than its argument."""
    w = 1e-18 * np.arange(3.0)
    v = Simplex().project(w)
    with mpmath.workdps(60):
        exact = exact_projection(Simplex(), [mpmath.mpf(float(a)) for a in w])
        error = norm([mpmath.mpf(float(a)) - b for a, b in zip(v, exact, strict=True)])
    slip = 2 * (3 + 8) * unit_roundoff()
    assert error > slip * np.linalg.norm(w)
    assert error <= slip * (np.linalg.norm(w) + np.linalg.norm(v))
