"""Tables as they are: estimators that carry a schema, and rows with missing values."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from discreet.bounds import Bounds
from discreet.checks import one_of, weight_count
from discreet.data.missing import missing_labels
from discreet.errors import Incompatible, InvalidData, InvalidParameter, MissingBound
from discreet.estimators.shared.learning import fit_learned, learns
from discreet.estimators.shared.persistence import Portable
from discreet.estimators.shared.reading import read_rows
from discreet.schema import Encoded, Schema
from discreet.schema.frames import cells_of, only_column

MISSING = ("refuse", "blank")

_KINDS = {
    "classes": ("classes", "categories, codes, boolean or ordinal"),
    "real": ("numbers", "a range or a duration"),
}
"""What labels of an estimator are, and what a target is declared with."""


class Tabular(Portable):
    """An estimator that takes tables as they are, by a schema; not used directly."""

    schema: Schema | None = None
    bounds_share: float = 0.1

    neighbours: Any
    bounds: Any

    def _declared_schema(self) -> Schema | None:
        """Return the schema, if there is one and it goes with the other settings."""
        schema = getattr(self, "schema_", self.schema)
        if schema is None:
            return None
        if not isinstance(schema, Schema):
            raise InvalidParameter(
                "schema must be a discreet.Schema, e.g. Schema.from_toml('schema.toml'). Got "
                f"{type(schema).__name__} instead.",
                parameter="schema",
            )
        for name in ("neighbours", "n_rows"):
            wanted, own = getattr(schema, name), getattr(self, name, None)
            if wanted is not None and hasattr(self, name) and wanted != own:
                raise Incompatible(
                    f"The schema declares {name} = {wanted!r}, and the estimator's {name} is "
                    f"{own!r}. Pass {name}={wanted!r}, or leave it out of the schema.",
                    parameter=name,
                )
        return schema

    def _feature_count(self, n_features: Any) -> int:
        """Return the number of features: given, or known from the schema."""
        schema = self._declared_schema()
        if n_features is None and schema is not None:
            n_features = len(schema.names(self._target()))
        return weight_count("n_features", n_features)

    def _target(self) -> str | None:
        """Return the column that is no feature."""
        return getattr(self, "target", None)

    def _given_bounds(self) -> Bounds:
        """Return what is declared about rows and labels: by bounds, by the schema, or by both."""
        bounds, schema = Bounds.of(self.bounds), self._declared_schema()
        if bounds.private and hasattr(self, "bounds_"):
            bounds = replace(bounds, features=self.bounds_.features)  # as the fit has learned them
        if schema is None:
            if self._target() is not None:
                raise InvalidParameter(
                    "target names a column of a schema. Pass schema=... too, or leave it out.",
                    parameter="target",
                )
            return bounds
        declared = schema.bounds_for(self._target())
        twice = [
            name
            for name in ("features", "label", "classes")
            if getattr(bounds, name) is not None and getattr(declared, name) is not None
        ]
        if twice:
            raise Incompatible(
                f"Both bounds and schema declare {', '.join(twice)}. Leave it out of bounds.",
                parameter="bounds",
            )
        self._check_kind(declared)
        typical = declared.typical_norm if bounds.row_norm is None else None
        return replace(
            declared,
            row_norm=declared.row_norm if bounds.row_norm is None else bounds.row_norm,
            typical_norm=typical if bounds.typical_norm is None else bounds.typical_norm,
            label=bounds.label if declared.label is None else declared.label,
            classes=bounds.classes if declared.classes is None else declared.classes,
            centred=bounds.centred,
        )

    def _check_kind(self, declared: Bounds) -> None:
        kind = getattr(self, "_labels", "rows")
        held = {"classes": declared.classes, "real": declared.label}.get(kind, ())
        if self._target() is not None and held is None:
            what, with_what = _KINDS[kind]
            raise Incompatible(
                f"{type(self).__name__} predicts {what}, and column {self._target()!r} is not "
                f"declared as such. Declare it with {with_what}, or use another model.",
                parameter="target",
            )

    # Rows.

    def _run_fit(self, fit: Any, *args: Any, **kwargs: Any) -> Any:
        """Run a fit; what is to be learned first is learned within its budget."""
        # Columns that an earlier fit learned say nothing about the schema of this one.
        self.__dict__.pop("schema_", None)
        # A stream never has all rows, and says itself that it cannot learn columns.
        if hasattr(self, "partial_fit") or not learns(self):
            return super()._run_fit(fit, *args, **kwargs)
        return fit_learned(self, fit, *args, **kwargs)

    def _read_table(
        self, X: Any, y: Any = None, *, labelled: bool = False, reset: bool = False
    ) -> tuple[Any, Any]:
        """Return encoded rows and their labels; NaN or None where one is missing."""
        if reset:
            # privacy: weights of one fit must never stand beside the guarantee of another.
            self._forget()
        schema, target = self._declared_schema(), self._target()
        assert schema is not None
        if isinstance(X, Encoded):  # by this schema already
            encoded = X
        else:
            here = labelled and y is None and target is not None
            encoded = schema.encode(X, target, labelled=here)
        rows, labels = encoded.X, encoded.y
        if not len(rows):
            raise InvalidData("X has no rows. Pass at least one.")
        names = np.array(schema.names(target), dtype=object)
        if rows.shape[1] != len(names):
            raise InvalidData("These rows were encoded by another schema. Pass the table itself.")
        if labelled and (y is not None or labels is None):
            labels = self._labels_beside(y, schema, len(rows))
        if reset:
            self.n_features_in_, self.feature_names_in_ = rows.shape[1], names
        return rows, labels

    def _labels_beside(self, y: Any, schema: Schema, n_rows: int) -> Any:
        """Return labels that came beside the table."""
        target = self._target()
        if y is None:
            raise InvalidData(
                f"This {type(self).__name__} estimator requires y to be passed, but the target y "
                "is None. Pass y, or name its column with target=..."
            )
        if target is None:
            bounds = self._given_bounds()
            return read_labels(y, n_rows, getattr(self, "_labels", "rows"), bounds, blank=True)
        labels = schema.labels(cells_of(only_column(y)), target)
        if len(labels) != n_rows:
            raise InvalidData("X and y have inconsistent numbers of samples.")
        return labels


class _Reader(BaseEstimator):  # type: ignore[misc]
    """Stands for an estimator whose rows were read already."""

    def _forget(self) -> None:
        pass


def read_labels(y: Any, n_rows: int, kind: str, bounds: Bounds, *, blank: bool) -> Any:
    """Return labels that passed scikit-learn's checks; missing ones stay so if they may.

    Parameters
    ----------
    y
        Labels, one per row.
    n_rows
        Number of rows.
    kind
        ``"classes"`` or ``"real"``.
    bounds
        Where classes are declared, without which a missing label would be one of its own.
    blank
        Whether labels may be missing.

    Examples
    --------
    >>> read_labels([1.0, None], 2, "real", Bounds(), blank=True)
    array([ 1., nan])
    """
    whole, lost = set_aside(y, kind, bounds) if blank else (y, None)
    read = read_rows(_Reader(), np.zeros((n_rows, 1)), whole, y_numeric=kind == "real")[1]
    return put_back(read, lost)


def set_aside(y: Any, kind: str, bounds: Bounds) -> tuple[Any, Any]:
    """Return labels with something harmless in place of missing ones, and where these are.

    >>> set_aside(["no", None], "classes", Bounds(classes=("no", "yes")))
    (['no', 'no'], array([False,  True]))
    """
    if y is None:
        return y, None
    lost = missing_labels(y)
    if lost.ndim != 1 or not lost.any():
        return y, None
    if kind == "classes" and bounds.classes is None:
        raise MissingBound(
            "A label is missing, and bounds does not declare classes, so it would be a class of "
            "its own. Pass bounds=Bounds(classes=...).",
            parameter="bounds",
        )
    held = bounds.classes[0] if kind == "classes" and bounds.classes is not None else 0.0
    cells = [
        held if gone else value for value, gone in zip(cells_of(y), lost.tolist(), strict=True)
    ]
    return cells, lost


def put_back(y: Any, lost: Any) -> Any:
    """Return labels with the missing ones missing again: NaN among numbers, else None.

    >>> put_back(np.array(["no", "no"]), np.array([False, True]))
    array(['no', None], dtype=object)
    """
    if lost is None:
        return y
    y = y.astype(np.float64) if y.dtype.kind in "biuf" else y.astype(object)
    y[lost] = np.nan if y.dtype.kind == "f" else None
    return y


def allows_blank(missing: Any) -> bool:
    """Return whether rows with missing values count for nothing; if not, they are refused.

    >>> allows_blank("blank"), allows_blank("refuse")
    (True, False)
    """
    return one_of("missing", missing, MISSING) == "blank"
