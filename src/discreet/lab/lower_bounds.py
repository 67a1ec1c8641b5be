"""Lower bounds on the mean excess of every private method, with explicit constants.

All are for ``replace-one`` neighbours; :func:`as_replaced` turns a budget of another relation into
one of this. Means are over the draw of the instance and the coins of the method.

**Copies of a word** (pure privacy). ``M`` rows are copies of one sign vector ``v / sqrt(p)``, drawn
uniformly; the others come in pairs that cancel. The release lies within 1/2 of the word with
probability at most ``exp(M epsilon) / K``: replace the ``M`` rows by fixed ones, which costs
``exp(M epsilon)``, and then the release knows nothing of the word. Two sign vectors in one ball
of radius 1/2 are less than 1 apart, so they differ in fewer than ``p/4`` places, and one ball
holds at most ``2^p / K = sum_(i < p/4) C(p, i)`` of them. With ``exp(M epsilon) <= K/2`` the
release is off by 1/2 at least every other time. On the unit ball ``-<w, d>`` then loses
``M/2 |w - v|^2 >= M/8``, hence ``M/16`` in the mean, and ``|w - d|^2 / 2`` loses ``M^2 / (16 n)``.

**Fingerprints** (delta > 0). ``M`` rows have signs of means ``P``, uniform in ``[-1, 1]^p``, and
the release ``f`` agrees more with a row it was fitted on than with a fresh one. Integration by
parts gives ``sum_i E<f, X_i - P> = 2 E<P, f>``. For a fresh row the score ``<f, X_i - P>`` has mean
zero and standard deviation ``|f|`` at most. If no score is larger than ``B``, privacy lets the
mean grow to ``sinh(epsilon) E|f| + 2 delta B``, so that

    E<f, sum_i X_i> = (1 + M/2) sum_i E<f, X_i - P>
                   <= M (M + 2)/2 (sinh(epsilon) E|f| + 2 delta B).

*Linear loss*: the best release gains ``E|sum X_i| >= M E|P|``. *LASSO*: see :func:`lasso_bound`.
*Quadratic*: see :func:`quadratic_bound`.
"""

from __future__ import annotations

import math
from functools import cache

import numpy as np
from scipy.integrate import quad
from scipy.special import erf

from discreet.accounting import Budget
from discreet.bounds import NEIGHBOURS
from discreet.checks import between, integer, one_of, positive

COPIES = 200
"""Copies of a row that are tried for quadratics, at most."""


def as_replaced(budget: Budget, neighbours: str) -> Budget:
    """Return what a budget under a relation amounts to under ``replace-one``.

    >>> as_replaced(Budget(0.5), "zero-out")
    Budget(epsilon=1.0, delta=0.0)
    """
    if one_of("neighbours", neighbours, NEIGHBOURS) == "replace-one":
        return budget
    # A replacement is a blanking and the opposite of one.
    delta = min((1 + math.exp(budget.epsilon)) * budget.delta, math.nextafter(1.0, 0.0))
    return Budget(2 * budget.epsilon, delta)


def hidden_copies(n_features: int, n_rows: int, epsilon: float) -> tuple[int, int]:
    """Return how many copies of a sign vector stay hidden, and in how many features.

    An instance of fewer features is one of ``n_features`` too, and may hide more. The number has
    the parity of ``n_rows``, so that the other rows make pairs.

    >>> hidden_copies(100, 10_001, 0.1), hidden_copies(5, 100, 1.0)
    ((155, 100), (2, 4))
    """
    n_features, n_rows = integer("n_features", n_features), integer("n_rows", n_rows)
    epsilon = positive("epsilon", epsilon)
    found = []
    for p in range(max(1, n_features - 4), n_features + 1):  # K jumps at multiples of four only
        near = math.log(sum(math.comb(p, i) for i in range(math.ceil(p / 4))))
        hidden = math.floor((p * math.log(2) - near - math.log(2)) / epsilon)
        copies = max(0, min(n_rows, hidden))
        found.append((copies - (n_rows - copies) % 2, -p))
    copies, features = max(found)
    return max(copies, 0), -features


def codeword_bound(n_features: int, n_rows: int, epsilon: float, *, quadratic: bool) -> float:
    """Return the bound for copies of a word on the unit ball, under pure privacy.

    >>> codeword_bound(100, 10_001, 0.1, quadratic=False)
    9.6875
    """
    copies, _ = hidden_copies(n_features, n_rows, epsilon)
    return copies**2 / (16 * n_rows) if quadratic else copies / 16


@cache
def mean_length(n_features: int) -> float:
    """Return the mean norm of a uniform point of the cube ``[-1, 1]^p``.

    ``E sqrt(S) = integral of (1 - E exp(-t S)) t^(-3/2) / (2 sqrt(pi))``.

    >>> round(mean_length(1), 9), round(mean_length(2), 6)
    (0.5, 0.765196)
    """
    p = integer("n_features", n_features)

    def part(s: float) -> float:  # with t = s^2 / p
        t = s * s / p
        one = math.sqrt(math.pi) * float(erf(math.sqrt(t))) / (2 * math.sqrt(t)) if t else 1.0
        return -math.expm1(p * math.log(one)) / (s * s) if s else 1 / 3

    split = [quad(part, a, b, limit=200)[0] for a, b in ((0, 3), (3, 30), (30, math.inf))]
    return math.sqrt(p / math.pi) * math.fsum(split)


def linear_bound(
    n_features: int, n_rows: int, epsilon: float, delta: float
) -> tuple[float, int, int]:
    """Return the bound for ``-<w, d>`` on the unit ball, the number of draws, and 1 for copies.

    >>> least, draws, _ = linear_bound(1000, 10_000, 0.1, 1e-8)
    >>> round(least, 1), draws
    (52.0, 182)
    """
    p, n = integer("n_features", n_features), integer("n_rows", n_rows)
    length = mean_length(p) / math.sqrt(p)
    drop = (math.sinh(min(epsilon, 300.0)) + 4 * delta * math.sqrt(p)) / (2 * math.sqrt(p))
    sizes = range(2 - n % 2, n + 1, 2)
    return max((m * (length - (m + 2) * drop), m, 1) for m in sizes)


P, WEIGHT = np.polynomial.legendre.leggauss(400)


def _shape(v: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the means of ``g^2``, ``g^2 v`` (its root) and ``-P g`` for ``a = 1``, by ``b``."""
    g = P / (1 - (1 - np.geomspace(1e-4, 3, 60))[:, None] * v)
    return g**2 @ WEIGHT / 2, np.sqrt((g**2 * v) @ WEIGHT / 2), (P * g) @ WEIGHT / 2


@cache
def _shapes() -> tuple[tuple[np.ndarray, np.ndarray, np.ndarray], ...]:
    return _shape(1 - P**2), _shape(P / np.arctanh(P))


def quadratic_bound(
    n_features: int, n_rows: int, epsilon: float, delta: float, share: float = 0.5
) -> tuple[float, int, int]:
    """Return the bound for ``|w - d|^2 / 2`` on the unit ball, the draws and the copies of each.

    Each draw may appear ``k`` times: copies change together at ``(e, d)``, by group privacy. Let
    ``f`` be the release as an estimate of ``P``, brought to ``[-1, 1]``, ``g = f - P`` and ``m``
    the mean of the draws. The identity above gives ``E|f - m|^2 = E|g|^2 - 2 p / (3 M) - 4 E<P, g>
    / M``. Privacy lets the mean score ``<g, X_i - P>`` grow to ``c E(sum_j g_j^2 v_j)^(1/2)`` and a
    multiple of ``d p``, for either of

    * ``c = sinh e`` and ``v = 1 - P^2``, the variance;
    * ``c^2 = 2 e tanh(e / 2)``, twice the largest divergence, and ``v = P / artanh P``, with which
      ``exp(t^2 v / 2)`` bounds the moments of a sign (Kearns and Saul). This grows like ``sqrt(e)``
      only: with copies it gains a root of ``log(1 / delta)``.

    The least ``E|f - m|^2`` that agrees with both has ``g = -a P / (1 - b v)``, and ``b`` gives
    ``a``. Of all instances with at least ``share`` of the largest bound it is the one where weights
    of zero come closest to it.

    >>> round(quadratic_bound(1000, 200, 0.1, 1e-6)[0], 2)
    12.58
    """
    p, n = integer("n_features", n_features), integer("n_rows", n_rows)
    found = []
    for k in range(1, min(COPIES, n) + 1):
        e = k * epsilon
        if e > 300:
            break
        d = 8 * delta * math.expm1(e) / math.expm1(epsilon)
        scores = (math.sinh(e), d), (math.sqrt(2 * e * math.tanh(e / 2)), d * (1 + math.exp(-e)))
        for m in (m for m in range(1, n // k + 1) if (n - k * m) % 2 == 0):
            least = 0.0
            for (c, loose), (square, score, along) in zip(scores, _shapes(), strict=True):
                a = max(2 / 3 - m * loose, 0.0) / (m * c / math.sqrt(p) * score + 2 * along)
                least = max(least, float(np.min(a * (a * square + 4 / m * along))) - 2 / (3 * m))
            at_zero = 1 / 3 + 2 / (3 * m)
            found.append((least / at_zero, (k * m) ** 2 / (2 * n) * least, m, k))
    enough = share * max(bound for _, bound, _, _ in found)
    return max(each for each in found if each[1] >= enough)[1:]


def lasso_bound(n_features: int, marked: int, repeats: int, epsilon: float, delta: float) -> float:
    """Return the bound for half squared errors on the l1 ball of radius 1, entries at most 1.

    ``w = marked`` rows of signs with means ``P`` have the label 1. ``repeats`` copies ``r`` of a
    Hadamard matrix of ``p`` rows have the label 0; they add ``r p |w|^2 / 2``. Since
    ``(z - 1)^2 / 2 >= 1/2 - z``, the objective of a release ``f`` is in the mean at least ``w/2 -
    E<f, sum X_i> + r p E|f|^2 / 2``. With ``s = w (w + 2)/2`` privacy bounds the middle term by ``s
    (sinh(epsilon) E|f| + 4 delta)``, no score being above 2, so that the sum is at least ``w/2 -
    s^2 sinh(epsilon)^2 / (2 r p) - 4 s delta``. The point ``a P / p`` has in the mean ``w/2 ((1 -
    a/3)^2 + 2 a^2 / (9 p)) + r a^2 / 6``, and lies in the ball but for a chance of ``exp(-2 p (1/a
    - 1/2)^2)``, where zero stands in for it. The difference is the bound.

    With ``r = w/6`` and ``p = 9 (w sinh epsilon)^2`` it tends to ``0.218 (n sinh(epsilon))^(-2/3)``
    per row: the rate of private Frank-Wolfe cannot be improved.

    >>> round(lasso_bound(512, 6, 1, 1.0, 1e-8), 3)
    1.177
    """
    p, w, r = integer("n_features", n_features), integer("marked", marked), integer("r", repeats)
    epsilon, s = positive("epsilon", epsilon), w * (w + 2) / 2
    a = np.linspace(0.05, 1.999, 400)
    middle = (1 - a / 3) ** 2 + 2 * a**2 / (9 * p)
    outside = np.exp(-2 * p * (1 / a - 0.5) ** 2)
    best = min(w / 2, float(np.min(w / 2 * (middle + outside) + r * a**2 / 6)))
    strong = (s * math.sinh(min(epsilon, 300.0))) ** 2 / (2 * r * p)
    return w / 2 - strong - 4 * s * between("delta", delta, -1e-300, 1) - best
