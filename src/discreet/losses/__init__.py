"""Losses of a prediction ``z = <x, w>``; one line in ``LOSSES`` registers a new one."""

from discreet.losses.base import Loss, Regularity
from discreet.losses.clipped import Clipped
from discreet.losses.distance import Absolute, EuclideanDistance
from discreet.losses.hinge import Hinge, HuberisedHinge
from discreet.losses.huber import Huber
from discreet.losses.logistic import Logistic
from discreet.losses.pinball import Quantile, SmoothedQuantile
from discreet.losses.poisson import Poisson
from discreet.losses.softmax import Softmax
from discreet.losses.squared import Squared

LOSSES: dict[str, Loss] = {
    loss.name: loss
    for loss in (
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
    )
}
"""Every loss by name, with its default parameters."""

__all__ = [
    "LOSSES",
    "Absolute",
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
]
