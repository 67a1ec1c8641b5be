"""The classes of a label: those declared, or those seen."""

from __future__ import annotations

from typing import Any

import numpy as np

from discreet.bounds import Bounds
from discreet.errors import InvalidData
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
        Labels.

    Examples
    --------
    >>> read_classes("Model", Bounds(classes=("yes", "no", "never")), ["yes", "no"])
    (array(['never', 'no', 'yes'], dtype='<U5'), array([2, 1], dtype=int8), ())
    """
    check_labels(y)
    seen = np.unique(y)
    assumptions: tuple[str, ...] = ()
    if bounds.classes is None:
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
        if not np.isin(seen, classes).all():
            raise InvalidData(
                "y holds labels that are not among the declared bounds.classes. Declare every "
                "class a label may have. Some meta-estimators (VotingClassifier, "
                "OneVsRestClassifier, cross_val_predict of probabilities) pass labels as 0, 1, "
                "...: inside them declare these."
            )
    if len(classes) < 2:
        raise InvalidData(
            f"{owner} needs at least two classes; y holds one class only. Declare "
            "bounds=Bounds(classes=...)."
        )
    small = np.min_scalar_type(-len(classes))
    return classes, np.searchsorted(classes, y).astype(small), assumptions


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
