"""Instances on which no private method does well, and how well at most (replace-one, delta > 0).

Rows are ``M`` draws of signs with means ``P``, uniform in ``[-1, 1]^p``, over ``sqrt(p)``; the
others come in cancelling pairs. A release that knows ``P`` well agrees more with each row it was
fitted on than with a fresh one, and privacy limits by how much.

For quadratic losses each draw may appear ``k`` times: copies change together at ``(e, d)``, by
group privacy. Let ``f`` be the release as an estimate of ``P``, brought to ``[-1, 1]``, ``g = f -
P`` and ``m`` the mean of the draws. Integration by parts gives ``sum_i E<g, X_i - P> = 2 E<P, f>``,
hence ``E|f - m|^2 = E|g|^2 - 2 p / (3 M) - 4 E<P, g> / M``. For a fresh draw the score ``<g, X_i -
P>`` has mean zero given ``f`` and ``P``. Privacy lets the mean grow to ``c E(sum_j g_j^2
v_j)^(1/2)`` and a multiple of ``d p``, for either of

* ``c = sinh e`` and ``v = 1 - P^2``, the variance;
* ``c^2 = 2 e tanh(e / 2)``, twice the largest divergence, and ``v = P / artanh P``, with which
  ``exp(t^2 v / 2)`` bounds the moments of a sign (Kearns and Saul). This grows like ``sqrt(e)``
  only: with copies it gains a root of ``log(1 / delta)``.

The least ``E|f - m|^2`` that agrees with both has ``g = -a P / (1 - b v)``, and ``b`` gives ``a``.
"""

from __future__ import annotations

import math

import numpy as np


def hard_instance(n: int, p: int, size: int, copies: int, rng: np.random.Generator) -> np.ndarray:
    """Return unit rows: ``size`` draws, each copied, and cancelling pairs."""
    means = rng.uniform(-1, 1, p)
    signs = np.where(rng.random((size, p)) < (1 + means) / 2, 1.0, -1.0)
    pairs = rng.choice([-1.0, 1.0], ((n - size * copies) // 2, p))
    return np.concatenate([np.repeat(signs, copies, axis=0), pairs, -pairs]) / math.sqrt(p)


def linear_lower_bound(n: int, p: int, epsilon: float, delta: float) -> tuple[float, int, int]:
    """Return the bound for ``-<w, d>`` on the unit ball, the number of draws, and 1 for copies."""
    mean = math.sqrt(p / 3) * (1 - 1 / (10 * p))
    drop = (math.sinh(epsilon) + 4 * delta * math.sqrt(p)) / (2 * math.sqrt(p))
    values = [
        (m * (mean / math.sqrt(p) - (m + 2) * drop), m, 1) for m in range(2 - n % 2, n + 1, 2)
    ]
    return max(values)


COPIES = 200
"""Copies of a row that are tried, at most."""

P, WEIGHT = np.polynomial.legendre.leggauss(400)


def _shape(v: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the means of ``g^2``, ``g^2 v`` (its root) and ``-P g`` for ``a = 1``, by ``b``."""
    g = P / (1 - (1 - np.geomspace(1e-4, 3, 60))[:, None] * v)
    return g**2 @ WEIGHT / 2, np.sqrt((g**2 * v) @ WEIGHT / 2), (P * g) @ WEIGHT / 2


SHAPES = _shape(1 - P**2), _shape(P / np.arctanh(P))


def quadratic_lower_bound(
    n: int, p: int, epsilon: float, delta: float, share: float = 0.5
) -> tuple[float, int, int]:
    """Return the bound for ``||w - d||^2 / 2`` on the unit ball, and the draws and copies.

    Of all instances with at least ``share`` of the largest bound it is the one where weights of
    zero come closest to it.
    """
    found = []
    for k in range(1, min(COPIES, n) + 1):
        e = k * epsilon
        d = 8 * delta * math.expm1(e) / math.expm1(epsilon)
        scores = (math.sinh(e), d), (math.sqrt(2 * e * math.tanh(e / 2)), d * (1 + math.exp(-e)))
        for m in (m for m in range(1, n // k + 1) if (n - k * m) % 2 == 0):
            least = 0.0
            for (c, loose), (square, score, along) in zip(scores, SHAPES, strict=True):
                a = max(2 / 3 - m * loose, 0.0) / (m * c / math.sqrt(p) * score + 2 * along)
                least = max(least, float(np.min(a * (a * square + 4 / m * along))) - 2 / (3 * m))
            idle = 1 / 3 + 2 / (3 * m)
            found.append((least / idle, (k * m) ** 2 / (2 * n) * least, m, k))
    enough = share * max(bound for _, bound, _, _ in found)
    return max(each for each in found if each[1] >= enough)[1:]
