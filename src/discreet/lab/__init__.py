"""Instances on which no private method can do well, to measure algorithms against.

Each generator returns an :class:`Instance`: a problem, its rows, the exact minimiser, and where
one is proved, a lower bound on the mean excess of *every* private method. :func:`measure` runs an
algorithm on fresh draws of a generator.
"""

from discreet.lab.corner import corner
from discreet.lab.instance import Instance, Measurement, measure
from discreet.lab.lower_bounds import (
    codeword_bound,
    hidden_copies,
    lasso_bound,
    linear_bound,
    mean_length,
    quadratic_bound,
)
from discreet.lab.marginals import codeword, fingerprint, fingerprint_rows
from discreet.lab.sparse_instances import dense_l1, lasso_fingerprint

__all__ = [
    "Instance",
    "Measurement",
    "codeword",
    "codeword_bound",
    "corner",
    "dense_l1",
    "fingerprint",
    "fingerprint_rows",
    "hidden_copies",
    "lasso_bound",
    "lasso_fingerprint",
    "linear_bound",
    "mean_length",
    "measure",
    "quadratic_bound",
]
