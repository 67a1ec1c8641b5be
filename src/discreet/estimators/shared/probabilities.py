"""Probabilities of the classes, from scores: one column, or one per class."""

from __future__ import annotations

import numpy as np
from scipy.special import expit, log_expit, softmax

from discreet.bounds import Array


def joint_probabilities(scores: Array) -> Array:
    """Return the probabilities of one model for all classes, logistic or softmax.

    >>> joint_probabilities(np.zeros(1)), joint_probabilities(np.zeros((1, 4)))
    (array([[0.5, 0.5]]), array([[0.25, 0.25, 0.25, 0.25]]))
    """
    found: Array = _of_two(scores) if scores.ndim == 1 else softmax(scores, axis=1)
    return found


def separate_probabilities(scores: Array) -> Array:
    """Return the probabilities of logistic models for each class against the rest.

    Their chances are scaled to add up to one.

    >>> separate_probabilities(np.log([[0.5, 0.5, 2.0]])).round(2)
    array([[0.25, 0.25, 0.5 ]])
    """
    # In logarithms: the chances of a row may all be too small for a number.
    found: Array = _of_two(scores) if scores.ndim == 1 else softmax(log_expit(scores), axis=1)
    return found


def _of_two(scores: Array) -> Array:
    # Not one minus the other: that is zero where a class is merely unlikely.
    found: Array = expit(np.column_stack([-scores, scores]))
    return found
