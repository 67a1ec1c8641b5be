"""The classes of a label: those declared, or those seen; and what they weigh.

The largest weight becomes 1, so a row adds at most what it adds without weights:
every sensitivity, and so the noise, stays as it is. See ``docs/rare-classes.md``.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np

from discreet.bounds import Array, Bounds
from discreet.checks import positive
from discreet.data.missing import missing_labels
from discreet.errors import InvalidData, InvalidParameter, MissingBound
from discreet.estimators.shared.base import warn_of_classes
from discreet.estimators.shared.claims import LABELS_PUBLIC
from discreet.estimators.shared.reading import check_labels

FEW = 8
"""Classes up to which comparing labels with each takes less time than looking them up."""

MOST_UNDECLARED = 50
"""Most classes that are taken from the labels themselves."""


_BALANCED = (
    "class_weight='balanced' counts the classes of the rows, and these counts are private. "
    "Declare weights from public knowledge, e.g. class_weight={'no': 1, 'yes': 8} for a class "
    "known to have about one row in nine."
)


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
    index = _whole_numbers(classes, held)
    if index is None and np.isin(held, classes).all():
        index = np.searchsorted(classes, held).astype(np.min_scalar_type(-len(classes)))
    if index is None or (index < 0).any():
        raise InvalidData(
            f"y holds labels that are not among {declared}. Declare every class a label may have. "
            "Some meta-estimators (VotingClassifier, OneVsRestClassifier, cross_val_predict of "
            "probabilities) pass labels as 0, 1, ...: inside them declare these."
        )
    # privacy: no class has this number, so the row is blank.
    index[lost] = -1
    return index


def _whole_numbers(classes: Any, held: Any) -> Any | None:
    """Return numbers of few classes that are whole numbers, -1 for others; None elsewhere."""
    if len(classes) > FEW or held.dtype.kind not in "iu" or classes.dtype.kind not in "iu":
        return None
    index = np.full(held.shape, -1, np.min_scalar_type(-len(classes)))
    for k, name in enumerate(classes.tolist()):
        index[held == name] = k
    return index


def check_class_weight(given: Any) -> dict[str, float] | None:
    """Return declared weights by the text of their class, the largest of them 1.

    Parameters
    ----------
    given
        A mapping of classes to positive numbers, or None.

    Examples
    --------
    >>> check_class_weight({"no": 1, "yes": 8})
    {'no': 0.125, 'yes': 1.0}
    """
    if given is None:
        return None
    if isinstance(given, str) and given == "balanced":
        raise InvalidParameter(_BALANCED, parameter="class_weight")
    if not isinstance(given, Mapping) or not given:
        raise InvalidParameter(
            "class_weight must be a mapping of every class to its weight, e.g. {'no': 1, 'yes': "
            "8}, or None.",
            parameter="class_weight",
        )
    # A file, and the command line, hold labels as text.
    weights = {str(label): positive("class_weight", value) for label, value in given.items()}
    largest = max(weights.values())
    return {label: weight / largest for label, weight in weights.items()}


def row_weights(given: Any, classes: Any, index: Any) -> Array | None:
    """Return the weight of every row by the number of its class; None if all weigh 1.

    Parameters
    ----------
    given
        As for :func:`check_class_weight`.
    classes
        Every class, in order.
    index
        Numbers of classes, -1 for a missing label.

    Examples
    --------
    >>> row_weights({"no": 1, "yes": 8}, np.array(["no", "yes"]), np.array([1, 0, -1]))
    array([1.   , 0.125, 1.   ])
    """
    weights = check_class_weight(given)
    if weights is None:
        return None
    names = [str(label) for label in classes.tolist()]
    if set(names) != set(weights):
        raise InvalidParameter(
            "class_weight must name every class that is declared, and no other.",
            parameter="class_weight",
        )
    # privacy: by the row's own label and declared numbers alone; a missing label makes the row
    # blank whatever its weight is.
    found: Array = np.array([weights[name] for name in names])[index]
    return found
