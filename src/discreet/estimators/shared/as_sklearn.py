"""Released weights as plain scikit-learn models, for exporters and other tools."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import is_classifier
from sklearn.linear_model import LinearRegression, LogisticRegression, PoissonRegressor
from sklearn.svm import LinearSVC
from sklearn.utils.validation import check_is_fitted

from discreet.estimators.shared.base import numbered


def as_sklearn(model: Any) -> Any:
    """Return a fitted linear model of this library as one of scikit-learn.

    Parameters
    ----------
    model
        A fitted private classifier or regressor.

    Examples
    --------
    >>> from discreet import Bounds, PrivateRidge
    >>> X = np.linspace(-1, 1, 200).reshape(-1, 1)
    >>> model = PrivateRidge(bounds=Bounds(features=(-1, 1), label=(-1, 1))).fit(X, X.ravel())
    >>> type(as_sklearn(model)).__name__
    'LinearRegression'
    """
    check_is_fitted(model)
    plain = _kind(model)()
    coef = model.coef_.toarray() if sp.issparse(model.coef_) else model.coef_
    plain.coef_ = np.array(coef, dtype=np.float64)
    plain.intercept_ = np.array(model.intercept_, dtype=np.float64)[()]
    plain.n_features_in_ = model.n_features_in_
    for name in ("classes_", "feature_names_in_"):
        if hasattr(model, name):
            setattr(plain, name, np.array(getattr(model, name)))
    if isinstance(plain, PoissonRegressor):
        plain._base_loss = plain._get_loss()  # which its own fit notes, and predict asks for
    if not is_classifier(model) and len(np.atleast_2d(plain.coef_)) == 1:
        plain.coef_ = plain.coef_.ravel()
    return plain


def _kind(model: Any) -> Any:
    count = len(model.classes_) if is_classifier(model) else 0
    bounds = model.bounds_
    if count:
        joint = model._fits(count)[1] == 1
        loss = model._loss(numbered(bounds, count if joint else 2), 1.0)
        tells = loss.probabilities and joint
        return LogisticRegression if tells else LinearSVC
    return PoissonRegressor if model._loss(bounds, 1.0).target == "count" else LinearRegression
