"""The classes of a label: those declared, or those seen."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from discreet.bounds import Bounds
from discreet.data.missing import missing_labels
from discreet.errors import InvalidData, MissingBound
from discreet.estimators.base import warn_of_classes
from discreet.estimators.claims import LABELS_PUBLIC
from discreet.estimators.reading import check_labels

MOST_UNDECLARED = 50
"""Most classes that are taken from the labels themselves."""


def read_classes(owner: str, bounds: Bounds, y: Any) -> tuple[Any, Any, tuple[str, ...]]:
    """Return the classes in order, the labels as their numbers, and what is assumed.

    Parameters
    ----------
    owner
        Name of the estimator, for messages.
    bounds
        Where classes may be declared.
    y
        Labels; None if they are not in memory, and a map of them is wanted.

    Examples
    --------
    >>> read_classes("Model", Bounds(classes=("yes", "no", "never")), ["yes", "no"])
    (array(['never', 'no', 'yes'], dtype='<U5'), array([2, 1], dtype=int8), ())
    """
    if y is None:
        if bounds.classes is None:
            raise MissingBound(
                f"{owner}: labels that are not in memory need declared classes. Pass "
                "bounds=Bounds(classes=...).",
                parameter="bounds",
            )
        known = np.unique(np.asarray(bounds.classes))
        return known, partial(class_numbers, known, declared="the declared bounds.classes"), ()
    lost = missing_labels(y)
    # Beside a missing label all are held as objects; without it they have a type again.
    there = np.array(np.asarray(y)[~lost].tolist()) if lost.any() else y
    if len(there):
        check_labels(there)
    assumptions: tuple[str, ...] = ()
    if bounds.classes is None:
        seen = np.unique(there)
        if len(seen) > MOST_UNDECLARED:
            # privacy: labels that differ from row to row would be published with the model.
            raise InvalidData(
                f"y holds more than {MOST_UNDECLARED} different labels and bounds does not declare "
                "classes. Labels seen become part of the model, and so many look like an "
                "identifier or a number. Check y, or declare bounds=Bounds(classes=...)."
            )
        classes, assumptions = seen, (LABELS_PUBLIC,)
        warn_of_classes(owner, "the set of labels seen in the data is treated as public")
    else:
        classes = np.unique(np.asarray(bounds.classes))
    index = class_numbers(classes, y, "the declared bounds.classes")
    if len(classes) < 2:
        raise InvalidData(
            f"{owner} needs at least two classes; y holds one class only. Declare "
            "bounds=Bounds(classes=...)."
        )
    return classes, index, assumptions


def class_numbers(classes: Any, y: Any, declared: str) -> Any:
    """Return labels as numbers of their classes, -1 for a missing one.

    Parameters
    ----------
    classes
        Every class, in order.
    y
        Labels.
    declared
        What classes are called in a refusal.

    Examples
    --------
    >>> class_numbers(np.array(["no", "yes"]), np.array(["yes", None]), "the declared classes")
    array([ 1, -1], dtype=int8)
    """
    lost = missing_labels(y)
    held = np.asarray(y)
    if lost.any():
        held = np.where(lost, classes[0], held).astype(classes.dtype)
    if not np.isin(held, classes).all():
        raise InvalidData(
            f"y holds labels that are not among {declared}. Declare every class a label may have. "
            "Some meta-estimators (VotingClassifier, OneVsRestClassifier, cross_val_predict of "
            "probabilities) pass labels as 0, 1, ...: inside them declare these."
        )
    index = np.searchsorted(classes, held).astype(np.min_scalar_type(-len(classes)))
    # privacy: no class has this number, so the row is blank.
    index[lost] = -1
    return index


def check_two(classes: Any) -> None:
    """Refuse more classes than two.

    >>> check_two(["no", "yes"])
    """
    if len(classes) > 2:
        raise InvalidData(
            "Only binary classification is supported. The type of the target is multiclass, but "
            "sensitivities and quantiles of accuracy targets are worked out for two classes. Ask "
            "for one class against the rest, or name epsilon and fit the estimator itself."
        )
