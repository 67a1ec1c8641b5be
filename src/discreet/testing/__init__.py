"""Laws that parts obey, for those who write parts: plain functions that raise AssertionError.

The test suite of this library puts every listed part through the same functions. They
test what a part declares on random rows and weights; they are no proof, and they do not
audit the noise of an algorithm.
"""

from discreet.testing.algorithm_laws import ALGORITHM_LAWS, check_algorithm
from discreet.testing.loss_laws import LOSS_LAWS, check_loss
from discreet.testing.regularizer_laws import REGULARIZER_LAWS, check_regularizer
from discreet.testing.set_laws import SET_LAWS, check_set

__all__ = [
    "ALGORITHM_LAWS",
    "LOSS_LAWS",
    "REGULARIZER_LAWS",
    "SET_LAWS",
    "check_algorithm",
    "check_loss",
    "check_regularizer",
    "check_set",
]
