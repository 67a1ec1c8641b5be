"""Losses of a prediction ``z = <x, w>``; one line in ``LOSSES`` registers a new one."""

from discreet.losses.absolute import Absolute
from discreet.losses.against_rest import AgainstRest
from discreet.losses.base import Loss, Regularity
from discreet.losses.calibrated_logistic import CalibratedLogistic
from discreet.losses.clipped import Clipped
from discreet.losses.distance import EuclideanDistance
from discreet.losses.hinge import Hinge, HuberisedHinge
from discreet.losses.huber import Huber
from discreet.losses.logistic import Logistic
from discreet.losses.pinball import Quantile, SmoothedQuantile
from discreet.losses.poisson import Poisson
from discreet.losses.softmax import Softmax
from discreet.losses.squared import Squared
from discreet.losses.squared_vector import SquaredVector
from discreet.parts import Table

LOSSES = Table[Loss](
    "discreet.losses",
    (
        Logistic(),
        HuberisedHinge(),
        Hinge(),
        Squared(),
        Huber(),
        Absolute(),
        Quantile(),
        SmoothedQuantile(),
        Poisson(),
        Softmax(),
        EuclideanDistance(),
        SquaredVector(),
    ),
    lambda part: isinstance(part, Loss),
)
"""Every loss by name, with its default parameters, and those of installed packages."""

__all__ = [
    "LOSSES",
    "Absolute",
    "AgainstRest",
    "CalibratedLogistic",
    "Clipped",
    "EuclideanDistance",
    "Hinge",
    "Huber",
    "HuberisedHinge",
    "Logistic",
    "Loss",
    "Poisson",
    "Quantile",
    "Regularity",
    "SmoothedQuantile",
    "Softmax",
    "Squared",
    "SquaredVector",
]
