"""The exact minimum of a quadratic over a Euclidean ball, convex or not."""

from __future__ import annotations

import math

import numpy as np

from discreet.bounds import Array
from discreet.checks import positive
from discreet.errors import InvalidParameter


def trust_region(matrix: Array, vector: Array, radius: float) -> Array:
    """Return the minimiser of ``w'Aw/2 - c'w`` over ``||w|| <= radius``.

    ``A`` may be indefinite, as a matrix with noise on it often is. A point of
    the ball is a global minimum exactly if ``(A + mu I) w = c`` for some ``mu
    >= 0`` with ``A + mu I`` positive semidefinite and ``mu = 0`` inside the
    ball (More and Sorensen 1983); ``mu`` is found in the eigenbasis of ``A``.

    Parameters
    ----------
    matrix, vector
        ``A``, symmetric, and ``c``.
    radius
        Radius of the ball.

    Examples
    --------
    >>> trust_region(np.diag([-1.0, 0.5, 2.0]), np.array([0.3, -0.2, 1.0]), 1.5).round(6)
    array([ 1.462497, -0.117293,  0.312   ])
    """
    positive("radius", radius)
    if not (np.isfinite(matrix).all() and np.isfinite(vector).all()):
        raise InvalidParameter("matrix and vector must be finite.")
    values, basis = np.linalg.eigh(matrix)
    turned = basis.T @ vector
    if values[0] > 0 and np.linalg.norm(turned / values) <= radius:
        return np.asarray(basis @ (turned / values))
    return np.asarray(basis @ _on_the_sphere(values, turned, radius))


def _on_the_sphere(values: Array, turned: Array, radius: float) -> Array:
    """Solve for a point of norm ``radius``, eigenvalues ascending."""
    lowest, scale = float(values[0]), float(np.abs(values).max()) or 1.0
    low = values <= lowest + 1e-12 * scale
    least = max(0.0, -lowest)
    tail = np.zeros_like(turned)
    tail[~low] = turned[~low] / (values[~low] + least)
    size = float(np.linalg.norm(turned))
    at_pole = float(np.linalg.norm(turned[low]))
    if at_pole <= 1e-14 * max(size, scale * radius) and np.linalg.norm(tail) <= radius:
        # The hard case: nothing pulls along the lowest eigenvectors, so fill up along one.
        tail[0] = math.sqrt(max(0.0, radius**2 - float(tail @ tail)))
        return tail
    # Newton on 1/||w(mu)|| - 1/radius, which is concave and nearly linear, kept in a bracket.
    a = max(least, at_pole / radius - lowest)
    b = max(a, size / radius - lowest)
    mu = a
    for _ in range(200):
        shifted = np.maximum(values + mu, 1e-150 * scale)
        w = turned / shifted
        norm = float(np.linalg.norm(w))
        if abs(norm - radius) <= 4e-16 * radius or b - a <= 4e-16 * abs(b):
            break
        a, b = (mu, b) if norm > radius else (a, mu)
        slope = float(np.sum((w / norm) ** 2 / shifted)) / norm
        step = mu + (1 / radius - 1 / norm) / slope
        mu = step if a < step < b else 0.5 * (a + b)
    # Close to the pole rounding of mu moves the lowest coordinates only, so they make up the norm.
    rest, pole = float(np.linalg.norm(w[~low])), float(np.linalg.norm(w[low]))
    if pole > 0 and rest < radius:
        w[low] *= math.sqrt((radius - rest) * (radius + rest)) / pole
        return w
    return w * (radius / norm)
