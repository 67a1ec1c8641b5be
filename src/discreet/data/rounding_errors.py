"""Bounds on rounding errors, the same for a plan and for a certificate."""

from __future__ import annotations

import math

import numpy as np

from discreet.bounds import Array, unit_roundoff
from discreet.data.blocks import fine_rows, gamma
from discreet.data.norms import outwards
from discreet.losses import Loss


def certificate_error(
    loss: Loss,
    *,
    n_rows: int,
    dimension: int,
    row_norm: float,
    weights_norm: float,
    label: float = math.inf,
    weight: float = 1.0,
    sparse: bool = False,
    nonzeros: int | None = None,
    proximal: bool = False,
) -> float:
    """Return a public bound on the rounding error of a certificate.

    It holds whenever the weights have at most norm ``weights_norm``. A plan
    asks for a tolerance well above it, because no tighter one can be certified.

    Parameters
    ----------
    loss
        The loss.
    n_rows, dimension
        Number of rows, and of coordinates of a row (intercept included).
    row_norm
        Bound on the norm of a bounded row.
    weights_norm
        Bound on, or guess of, the norm of the weights.
    label, weight
        Bounds on the size of a label and on the weight of a row.
    sparse
        Whether rows are sparse; their certificate is a little coarser.
    nonzeros
        Guess of the largest number of nonzeros of a sparse row, intercept
        included; ``dimension`` by default. Longer rows make the error larger.
    proximal
        Whether there is a constraint or a penalty other than ridge: the
        rounding of its proximal map then counts too.

    Examples
    --------
    >>> from discreet.losses import Logistic
    >>> error = certificate_error(
    ...     Logistic(), n_rows=1000, dimension=10, row_norm=1.0, weights_norm=5.0)
    >>> 1e-14 < error < 1e-10
    True
    """
    regularity = loss.regularity(label=label, reach=1.01 * row_norm * weights_norm)
    norm = row_norm * outwards(dimension)
    size = np.array([regularity.lipschitz])
    margin = margin_error(nonzeros or dimension, dimension, weights_norm)
    slope = float(slope_error(regularity.smoothness, np.array([margin * norm]), size, loss)[0])
    fine = fine_rows(dimension, sparse=sparse)
    each = slope + 1.01 * regularity.lipschitz * sum_error(fine, n_rows // fine + 2)
    if proximal:
        # The smoothness once for the gradient and once for the step, and a step of their size.
        slip = prox_error(dimension * loss.outputs) * 3.0 * weights_norm
        each += 3.0 * regularity.smoothness * norm * slip
    return n_rows * weight * norm * (1.02 * each + 4.0 * unit_roundoff() * regularity.lipschitz)


def prox_error(size: int) -> float:
    """Return a bound on the relative rounding error of a proximal map of ``size`` weights.

    Thresholds, norms and sums of ``size`` sorted values all stay within it.

    >>> prox_error(100) < 1e-13
    True
    """
    return (size + 16) * unit_roundoff()


def margin_error(terms: int, dimension: int, weights_norm: float) -> float:
    """Return the error of a sum of ``terms`` products ``<x, w>`` per unit of the norm of ``x``.

    >>> margin_error(10, 10, 1.0) < 2e-15
    True
    """
    return gamma(terms + 4) * weights_norm * outwards(dimension)


def slope_error(smoothness: float | Array, margin: Array, size: Array, loss: Loss) -> Array:
    """Return the error of slopes of given sizes, when ``z`` is off by ``margin``.

    >>> from discreet.losses import Logistic
    >>> bool(slope_error(0.25, np.zeros(1), np.ones(1), Logistic())[0] < 3e-15)
    True
    """
    ulps = 2.0 * unit_roundoff()
    return smoothness * (margin + ulps * loss.offset()) + ulps * (8.0 * size + 2.0 * loss.outputs)


def sum_error(fine: int, count: int) -> float:
    """Return the relative error of sums of ``fine`` terms, ``count`` of them added up.

    >>> sum_error(128, 1000) < 2e-14
    True
    """
    return 1.01 * gamma(fine + 2) + gamma(count) ** 2
