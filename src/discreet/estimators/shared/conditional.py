"""Methods that an estimator has with some of its parameters only."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from sklearn.utils.metaestimators import available_if

Method = TypeVar("Method", bound=Callable[..., Any])


def available_where(check: Callable[[Any], bool]) -> Callable[[Method], Method]:
    """Mark a method as missing from estimators that fail a check.

    Examples
    --------
    >>> class Model:
    ...     loss = "hinge"
    ...     @available_where(lambda self: self.loss == "logistic")
    ...     def predict_proba(self, X): ...
    >>> hasattr(Model(), "predict_proba")
    False
    """
    mark: Callable[[Method], Method] = available_if(check)
    return mark
