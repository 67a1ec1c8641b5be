"""Regularizers; one line in ``REGULARIZERS`` registers a new one."""

from discreet.parts import Table
from discreet.regularizers.base import Regularizer
from discreet.regularizers.combined import combined_prox
from discreet.regularizers.group import Group
from discreet.regularizers.indicator import Indicator
from discreet.regularizers.lasso import L1, ElasticNet
from discreet.regularizers.nuclear import Nuclear
from discreet.regularizers.ridge import Ridge, Zero
from discreet.sets import L2Ball

REGULARIZERS = Table[Regularizer](
    "discreet.regularizers",
    (
        Zero(),
        Ridge(),
        L1(),
        ElasticNet(),
        Group(),
        Nuclear(),
        Indicator(constraint=L2Ball(radius=1.0)),
    ),
    lambda part: isinstance(part, Regularizer),
)
"""Every regularizer by name, with its default parameters, and those of installed packages."""

__all__ = [
    "L1",
    "REGULARIZERS",
    "ElasticNet",
    "Group",
    "Indicator",
    "Nuclear",
    "Regularizer",
    "Ridge",
    "Zero",
    "combined_prox",
]
