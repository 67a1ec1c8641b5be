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
    "Feature names are only supported",  # ... if all are text
    "Sparse data was passed",
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

_DATES = (
    "{} holds dates or durations. Turn them into numbers by a fixed rule, such as days since a "
    "fixed day, and declare the range of these."
)
_UNLIKE = (
    "Unknown label type: a label of y is missing (NaN or None), labels differ in type, or numbers "
    "are held as objects. Give every row a label, all of one type."
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
    "Expected unique column names": "X has several columns of one name. Rename or drop them.",
    "fill value must be 0": "A sparse data frame needs the fill value 0, or pass dense columns.",
    "Input contains": _UNLIKE,
    "boolean value of NA is ambiguous": "X or y has a missing value (NA). Fill it by a fixed rule.",
}
"""What is said instead, by how the original begins."""

# privacy: one row can decide which column is of no number type, so none is named.
_OTHERWISE = (
    "X and y must hold real numbers only, in arrays of one shape. Encode other columns; X.dtypes "
    "and y.dtype tell which are of no number type."
)
_TEXT = "y must hold real numbers only, and it holds text. Turn it into numbers."
_MASKED = (
    "{0} is a masked array, and masked cells would count. Pass a plain one, such as "
    "{0}.filled(value), filled by a fixed rule."
)


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
    numeric = rows if options.get("y_numeric") else rows[:1]
    for name, given in zip("Xy", rows, strict=False):
        if isinstance(given, np.ma.MaskedArray):
            raise InvalidData(_MASKED.format(name))
    for name, given in zip("Xy", numeric, strict=False):
        # They would count nanoseconds, all beyond any range.
        if any(map(_is_time, _types(given))):
            raise InvalidData(_DATES.format(name))
    for given in rows[1:]:
        # numpy would turn all into text.
        if isinstance(given, list | tuple) and len({isinstance(v, str) for v in given}) > 1:
            raise InvalidData(_UNLIKE)
    try:
        # privacy: a sum over huge values overflows, and a warning would tell that there are some.
        with np.errstate(all="ignore"):
            read = validate_data(estimator, *rows, **options)
    except (ValueError, TypeError, OverflowError) as error:
        said = str(error)
        for start, gist in _GISTS.items():
            if said.startswith(start):
                raise InvalidData(gist) from None
        if said.startswith("Found array with "):
            # privacy: the shape counts rows, which may be secret even where there is no column.
            raise InvalidData(re.sub(r"shape=\(\d+", "shape=(", said)) from None
        if said.startswith("float() argument must be "):
            # privacy: the original names the type of one cell.
            raise TypeError("float() argument must be a string or a real number") from None
        if said.startswith(_HARMLESS):
            raise
        # privacy: the original message may quote rows.
        raise InvalidData(_OTHERWISE) from None
    if len(numeric) > 1:
        if read[1].dtype.kind not in "biuf":
            raise InvalidData(_TEXT)
        if not np.isfinite(read[1]).all():
            # A None among objects passes as finite and turns into NaN afterwards.
            raise InvalidData(_MISSING.format("y"))
    return read


def _types(data: Any) -> list[Any]:
    """Return the types of the columns of a data frame, or the one type of an array."""
    found: Any = getattr(data, "dtypes", getattr(data, "dtype", None))
    return list(found) if hasattr(found, "__iter__") else [found]


def _is_time(kind: Any) -> bool:
    if hasattr(kind, "is_temporal"):  # polars
        return bool(kind.is_temporal())
    return getattr(kind, "kind", "") in ("M", "m")


def check_labels(y: Any) -> None:
    """Refuse labels of a classifier that are no classes.

    >>> check_labels(np.array(["no", "yes"]))
    """
    try:
        with warnings.catch_warnings():
            # privacy: a warning that few rows share a class is an answer about the rows.
            warnings.simplefilter("ignore")
            check_classification_targets(y)
        if np.asarray(y).dtype == object:
            np.unique(y)  # refuses labels that cannot be put in order
    except (TypeError, ValueError) as error:
        if str(error).startswith("Unknown label type: continuous"):
            raise
        raise InvalidData(_UNLIKE) from None
