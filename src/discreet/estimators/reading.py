"""scikit-learn's checks of rows and labels, without what they say about the data.

Its messages quote cells, print whole arrays and count rows. Here a message is
a release, so only those that speak of names and types pass; of the others the
gist is kept.
"""

from __future__ import annotations

import re
import warnings
from typing import Any

import numpy as np
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import validate_data

from discreet.errors import InvalidData

_HARMLESS = (
    "Input ",
    "X has ",
    "The feature names ",
    "Sparse data was passed",
    "float() argument must be ",
    "This ",  # ... estimator requires y to be passed
)
"""How messages begin that hold no value and no number of rows."""

_MISSING = (
    "{} has a missing or non-finite value (NaN or infinity). Fill it by a fixed rule, not one "
    "learnt from the rows."
)
_TWO = (
    "Expected 2D array: one row per sample, one column per feature. Reshape your data, with "
    "X.reshape(-1, 1) for a single feature, or X.to_frame() for a series."
)

_GISTS = {
    "Input X contains": _MISSING.format("X"),
    "Input y contains": _MISSING.format("y"),
    "Found array with 0 sample": "X has no rows. Pass at least one.",
    "Complex data": "Complex data not supported. X must hold real numbers only.",
    "Expected 2D": _TWO,
    "Expected a 2-dimensional": _TWO,
    "Found input": "X and y have inconsistent numbers of samples.",
    "y should be": "y should be a 1d array with one label per row.",
}
"""What is said instead, by how the original begins."""

_OTHERWISE = "X and y must hold real numbers only, in arrays of one shape. Encode other columns."


def read_rows(estimator: Any, *rows: Any, **options: Any) -> Any:
    """Return what ``validate_data`` returns; its errors lose what they tell about rows.

    Unless ``reset`` is false the rows are those of a new fit, and the earlier one is forgotten.

    Parameters
    ----------
    estimator, rows, options
        As for :func:`sklearn.utils.validation.validate_data`.

    Examples
    --------
    >>> from discreet import PrivateRidge
    >>> read_rows(PrivateRidge(), [["name of a patient"]])
    Traceback (most recent call last):
    discreet.errors.InvalidData: X and y must hold real numbers only, ...
    """
    if options.get("reset", True):
        # privacy: weights of one fit must never stand beside the guarantee of another.
        estimator._forget()
    try:
        # privacy: a sum over huge values overflows, and a warning would tell that there are some.
        with np.errstate(all="ignore"):
            return validate_data(estimator, *rows, **options)
    except (ValueError, TypeError, OverflowError) as error:
        said = str(error)
        for start, gist in _GISTS.items():
            if said.startswith(start):
                raise InvalidData(gist) from None
        if said.startswith("Found array with "):
            # privacy: the shape counts rows, which may be secret even where there is no column.
            raise InvalidData(re.sub(r"shape=\(\d+", "shape=(", said)) from None
        if said.startswith(_HARMLESS):
            raise
        # privacy: the original message may quote rows.
        raise InvalidData(_OTHERWISE) from None


def check_labels(y: Any) -> None:
    """Refuse labels of a classifier that are no classes.

    >>> check_labels(np.array(["no", "yes"]))
    """
    with warnings.catch_warnings():
        # privacy: a warning that few rows share a class is an answer about the rows.
        warnings.simplefilter("ignore")
        check_classification_targets(y)
