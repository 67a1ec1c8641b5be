"""The schema as a scikit-learn transformer."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin

from discreet.bounds import Array
from discreet.errors import InvalidParameter
from discreet.schema.declaration import Schema


class SchemaEncoder(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Encodes tables by a schema; learns nothing from rows.

    Parameters
    ----------
    schema
        Declared columns.
    target
        Column that is left out.

    Examples
    --------
    >>> from discreet import Range, Schema
    >>> encoder = SchemaEncoder(Schema({"age": Range(0, 100)}))
    >>> encoder.transform({"age": ["41"]}), encoder.get_feature_names_out().tolist()
    (array([[41.]]), ['age'])
    """

    def __init__(self, schema: Schema, *, target: str | None = None) -> None:
        self.schema = schema
        self.target = target

    def fit(self, X: Any = None, y: Any = None) -> Self:
        """Do nothing: what is needed was declared."""
        self._declared()
        return self

    def transform(self, X: Any) -> Array:
        """Return the encoded rows of a table; NaN where a cell is missing and may be."""
        return self._declared().encode(X, self.target).X

    def get_feature_names_out(self, input_features: Any = None) -> Any:
        """Return the names of the encoded features."""
        return np.array(self._declared().names(self.target), dtype=object)

    def _declared(self) -> Schema:
        if not isinstance(self.schema, Schema):
            raise InvalidParameter("schema must be a discreet.Schema.", parameter="schema")
        return self.schema

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.requires_fit = False
        tags.input_tags.string = tags.input_tags.categorical = True
        tags.input_tags.allow_nan = True
        return tags
