"""A strongly convex problem whose minimiser sits on the corners of its loss."""

from __future__ import annotations

import math

import numpy as np

from discreet.bounds import Bounds, Neighbours
from discreet.checks import integer
from discreet.lab.instance import Instance
from discreet.losses import Absolute
from discreet.problem import Problem
from discreet.regularizers import Ridge


def corner(*, n_rows: int, n_features: int, neighbours: Neighbours = "zero-out") -> Instance:
    """Return least absolute deviations with a ridge, minimal exactly where all losses have corners.

    Row ``i`` is the unit vector ``i mod p`` and every label is ``0.5 / sqrt(p)``. The ridge of
    strength ``n / (4 p^1.5)`` pulls too little to move the minimiser off the corners. This is row
    three of table I of Bassily, Smith and Thakurta: Lipschitz, strongly convex and not smooth.
    Under pure privacy the excess of output perturbation, of exponential sampling and of
    perturbing a rounded objective stays the same however many rows there are; only that of
    localization falls, like one over the rows. Nothing is proved of other methods, so there is no
    lower bound.

    Examples
    --------
    >>> instance = corner(n_rows=1000, n_features=4)
    >>> instance.minimiser.tolist(), round(instance.at_zero, 3)
    ([0.25, 0.25, 0.25, 0.25], 246.094)
    """
    n, p = integer("n_rows", n_rows), integer("n_features", n_features)
    level = 0.5 / math.sqrt(p)
    X = np.zeros((n, p))
    X[np.arange(n), np.arange(n) % p] = 1.0
    problem = Problem(
        loss=Absolute(),
        bounds=Bounds(row_norm=1.0, label=(-1.0, 1.0)),
        n_features=p,
        n_rows=n,
        neighbours=neighbours,
        regularizer=Ridge(strength=n / (4 * p**1.5)),
    )
    return Instance(
        name="corner",
        problem=problem,
        X=X,
        y=np.full(n, level),
        minimiser=np.full(p, level),
        source="Bassily, Smith, Thakurta 2014, table I and section IV",
    )
