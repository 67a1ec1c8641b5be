"""scikit-learn's checks of rows and labels, without what they say about the data.

Its messages quote cells, print whole arrays and count rows. Here a message is
a release, so only those that speak of names and types pass; of the others the
gist is kept.
"""

from __future__ import annotations

import warnings
from datetime import date, time, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import validate_data

from discreet.data.storage import well_formed
from discreet.errors import InvalidData, NotNumbers

_HARMLESS = (
    "Input ",
    "X has ",
    "The feature names ",
    "Feature names are only supported",  # ... if all are text
    "Sparse data was passed",
)
"""How messages begin that hold no value and no number of rows."""

_TIMES = (date, time, timedelta, np.datetime64, np.timedelta64)

MISSING = (
    "{} has a missing or non-finite value (NaN or infinity). Fill it by a fixed rule, not one "
    "learnt from the rows."
)
INFINITE = (
    "X has an infinite value, or one too large for float64. Replace it by a fixed rule, such as an "
    "end of the declared range. NaN may stay: a row that holds one counts for nothing."
)
_TWO = (
    "Expected 2D array: one row per sample, one column per feature. Reshape your data, with "
    "X.reshape(-1, 1) for a single feature, or X.to_frame() for a series."
)

_DATES = (
    "{} holds dates or durations. Turn them into numbers by a fixed rule, such as days since a "
    "fixed day, and declare the range of these."
)
UNLIKE = (
    "Unknown label type: a label of y is missing (NaN or None), labels differ in type, or numbers "
    "are held as objects. Give every row a label, all of one type."
)

# scikit-learn's checks ask for the words after the colon, and the shape may count secret rows.
_NO_COLUMN = (
    "X has no columns. Pass at least one. As scikit-learn says it, with the number of rows left "
    "out: 0 feature(s) (shape=(, 0)) while a minimum of 1 is required."
)

_GISTS = {
    "Input X contains": MISSING.format("X"),
    "Input y contains": MISSING.format("y"),
    "Found array with 0 sample": "X has no rows. Pass at least one.",
    "Found array with 0 feature": _NO_COLUMN,
    "Found array with dim": _TWO,
    "Complex data": "Complex data not supported. X must hold real numbers only.",
    "Expected 2D": _TWO,
    "Expected a 2-dimensional": _TWO,
    "Found input": "X and y have inconsistent numbers of samples.",
    "y should be": "y should be a 1d array with one label per row.",
    "Expected unique column names": "X has several columns of one name. Rename or drop them.",
    "fill value must be 0": "A sparse data frame needs the fill value 0, or pass dense columns.",
    "Input contains": UNLIKE,
    "boolean value of NA is ambiguous": "X or y has a missing value (NA). Fill it by a fixed rule.",
}
"""What is said instead, by how the original begins."""

# privacy: one row can decide which column is of no number type, so none is named.
_OTHERWISE = (
    "X and y must hold real numbers only, in arrays of one shape. Encode other columns; X.dtypes "
    "and y.dtype tell which are of no number type."
)
_TEXT = {
    "X": "X must hold real numbers only, and it holds text; X.dtypes of a data frame tells which "
    "columns are of no number type. Numbers written as text become numbers with X.astype(float); "
    "encode other text by a fixed rule, such as one column per declared category.",
    "y": "y must hold real numbers only, and it holds text. Turn it into numbers.",
}
_BYTES = "y holds bytes, and labels are text or numbers. Decode them, as label.decode() does."
# In words that scikit-learn's checks look for.
_OBJECTS = (
    "Every cell of an argument must be a real number, not a string, a missing value such as NA, an "
    "interval or another object. Pass an array or a data frame of numbers, with missing values "
    "filled by a fixed rule."
)
_LAZY = "{0} is a {1}, whose rows are not in memory yet. Pass {0}.{2}."
_FILES = (
    "X is a path or a data set, whose rows are not in memory. Fits of linear models and quantiles "
    "read such rows; elsewhere pass rows in memory, such as dataset.to_table()."
)
_MATRIX = "{0} is an np.matrix, which scikit-learn does not take. Pass np.asarray({0})."
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
    discreet.errors.InvalidData: X must hold real numbers only, and it holds text; ...
    """
    if options.get("reset", True):
        # privacy: weights of one fit must never stand beside the guarantee of another.
        estimator._forget()
    for name, given in zip("Xy", rows, strict=False):
        if isinstance(given, np.ma.MaskedArray):
            raise InvalidData(_MASKED.format(name))
        if isinstance(given, np.matrix):
            raise InvalidData(_MATRIX.format(name))
        if isinstance(given, str | Path) or hasattr(type(given), "count_rows"):
            raise InvalidData(_FILES)
        lazy = _lazy(given)
        if lazy is not None:
            raise InvalidData(_LAZY.format(name, *lazy))
    if rows and sp.issparse(rows[0]):
        rows = (well_formed(rows[0]), *rows[1:])
    numeric = rows if options.get("y_numeric") else rows[:1]
    for given in rows[1:]:
        # numpy would turn all into text.
        if isinstance(given, list | tuple) and len({isinstance(v, str) for v in given}) > 1:
            raise InvalidData(UNLIKE)
    try:
        # privacy: a sum over huge values overflows, and a warning would tell that there are some.
        with np.errstate(all="ignore"):
            for name, given in zip("Xy", rows, strict=False):
                _check_types(name, given, numeric=name == "X" or len(numeric) > 1)
            read = validate_data(estimator, *rows, **options)
    except (InvalidData, ImportError):
        raise
    except MemoryError:
        # privacy: the original tells the number of rows, which may be secret.
        raise MemoryError("There is no memory for another copy of the rows.") from None
    except Exception as error:  # of an object in a cell, whatever its kind
        said = str(error)
        if said.startswith("Input X contains") and options.get("ensure_all_finite") == "allow-nan":
            raise InvalidData(INFINITE) from None
        for start, gist in _GISTS.items():
            if said.startswith(start):
                raise InvalidData(gist) from None
        if said.startswith("float() argument must be "):
            # privacy: the original names the type of one cell.
            raise NotNumbers(_OBJECTS) from None
        lacks_y = f"This {type(estimator).__name__} estimator requires y"
        if isinstance(error, ValueError | TypeError) and said.startswith((*_HARMLESS, lacks_y)):
            raise
        # privacy: the original message may quote rows.
        raise InvalidData(_OTHERWISE) from None
    if len(numeric) > 1:
        if read[1].dtype.kind not in "biuf":
            raise InvalidData(_OTHERWISE)
        if not np.isfinite(read[1]).all():
            # A None among objects passes as finite and turns into NaN afterwards.
            raise InvalidData(MISSING.format("y"))
    return read


def _lazy(data: Any) -> tuple[str, str] | None:
    """Return what data is whose rows are not in memory, and how they are read; None for other."""
    kind = type(data)  # frames answer for names of columns too, their types do not
    if kind.__name__ == "LazyFrame":  # of polars
        return "LazyFrame", "collect()"
    # Arrays of xarray have a graph only where they hold a Dask collection.
    if hasattr(kind, "__dask_graph__") and data.__dask_graph__() is not None:
        return "Dask collection", "compute()"
    if hasattr(kind, "toPandas"):
        return "Spark data frame", "toPandas()"
    if hasattr(kind, "fetchdf"):
        return "DuckDB relation", "df()"
    return None


def read_weights(weights: Any, n_rows: int) -> Any:
    """Return the weights of rows that are scored, one finite number per row.

    >>> read_weights([1, 2], 2)
    array([1., 2.])
    """
    try:
        read = np.asarray(weights, dtype=np.float64)
    except (ValueError, TypeError, OverflowError):
        read = np.empty(0)
    if read.shape != (n_rows,) or not np.isfinite(read).all():
        # privacy: the shapes would count rows.
        raise InvalidData("sample_weight must be a 1d array with one finite number per row.")
    return read


def _check_types(name: str, data: Any, *, numeric: bool) -> None:
    """Refuse what would be turned into numbers without anybody having asked for it."""
    types = _types(data)
    # They would count nanoseconds, all beyond any range.
    if any(issubclass(t, _TIMES) or t.__name__ == "Period" for t in types):
        raise InvalidData(_DATES.format(name))
    if numeric and any(issubclass(t, str | bytes) for t in types):
        raise InvalidData(_TEXT[name])
    if any(issubclass(t, bytes) for t in types):
        raise InvalidData(_BYTES)


def _types(data: Any) -> set[type]:
    """Return the types of the cells of an array, a data frame or nested lists."""
    if isinstance(data, list | tuple):
        found = set(map(type, data))
        if all(issubclass(t, str | bytes) or not hasattr(t, "__len__") for t in found):
            return found
        return set[type]().union(*map(_types, data))
    if hasattr(data, "columns"):
        return set[type]().union(*map(_types, _columns(data)))
    declared: Any = getattr(data, "dtype", None)
    if hasattr(declared, "is_numeric"):  # polars, whose dates crash numpy in old versions
        return {float} if declared.is_numeric() else set(map(type, data.to_list()))
    if getattr(declared, "kind", "O") == "O":
        data = np.asarray(data)
        if data.dtype == object:
            return set(map(type, data.flat))
        declared = data.dtype
    return {declared.type}


def _columns(frame: Any) -> Any:
    """Return the columns of a data frame."""
    if hasattr(frame, "get_columns"):  # polars
        return frame.get_columns()
    if hasattr(frame, "items"):  # pandas
        return [column for _, column in frame.items()]
    return frame.columns  # pyarrow


def check_labels(y: Any) -> None:
    """Refuse labels of a classifier that are not classes.

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
        raise InvalidData(UNLIKE) from None


def check_scored(y: Any, classes: Any) -> None:
    """Refuse labels that cannot be compared with the classes of a model.

    >>> check_scored(np.array(["no", "maybe"]), np.array(["no", "yes"]))
    """
    check_labels(y)
    if (np.asarray(y).dtype.kind in "biuf") != (np.asarray(classes).dtype.kind in "biuf"):
        raise InvalidData(
            "y holds labels of another type than the classes of this model: text and numbers "
            "cannot be compared. Pass labels as those it was fitted on."
        )
