"""Private linear classifiers."""

from __future__ import annotations

from typing import Any, ClassVar

from discreet.bounds import Array, Bounds
from discreet.checks import one_of, positive
from discreet.estimators.linear import AnyAlgorithm, ClassWeights, Penalised
from discreet.estimators.shared.intervals import INFERENCE, WithIntervals
from discreet.estimators.shared.parameters import (
    ALGORITHM,
    BASSILY,
    CHAUDHURI,
    CLASS_WEIGHT,
    COMMON,
    FITTED,
    GUESS,
    INTERCEPT,
    PENALTIES,
    REDBERG,
)
from discreet.estimators.shared.probabilities import joint_probabilities
from discreet.losses import Hinge, HuberisedHinge, Logistic, Loss, Softmax

_C = """
    C
        Inverse of the ridge strength, as in scikit-learn but on rows whose
        declared ranges are mapped to [-1, 1]; the plan raises the strength where
        privacy or noise needs more. None asks for no ridge, and a large C for nearly none."""

_PARAMETERS = COMMON + ALGORITHM + _C + CLASS_WEIGHT + PENALTIES + INTERCEPT + GUESS


class _Classifier(AnyAlgorithm, Penalised, ClassWeights):
    """What both classifiers share."""

    C: float | None = None

    def _strength(self) -> float | None:
        return None if self.C is None else 1.0 / positive("C", self.C)


class PrivateLogisticRegression(WithIntervals, _Classifier):
    __doc__ = f"""Logistic regression with a privacy guarantee, binary or multinomial.
{_PARAMETERS}{INFERENCE}{FITTED}

    See Also
    --------
    PrivateLinearSVC : classes without probabilities
    PrivateSGDClassifier : other losses, settings of the steps
    PrivateSparseLogisticRegression : many features

    References
    ----------{CHAUDHURI}{REDBERG}{BASSILY}

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from discreet import Bounds, PrivateLogisticRegression
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> ranges = [(5, 30), (10, 40)]  # declared for radius and texture; never computed from X
    >>> bounds = Bounds(features=ranges, classes=(0, 1))
    >>> model = PrivateLogisticRegression(epsilon=1.0, delta=1e-5, bounds=bounds)
    >>> model.fit(X[:, [20, 21]], y).guarantee_.epsilon
    1.0
    """

    _multinomial: ClassVar[bool] = True
    _typical: ClassVar[bool] = True

    def _loss(self, bounds: Bounds, row_norm: float) -> Loss:
        assert bounds.classes is not None
        return Logistic() if len(bounds.classes) == 2 else Softmax(n_classes=len(bounds.classes))

    def predict_proba(self, X: Any) -> Array:
        """Return the probability of every class for every row."""
        return joint_probabilities(self.decision_function(X))


class PrivateLinearSVC(WithIntervals, _Classifier):
    __doc__ = f"""Linear support vector classifier with a privacy guarantee.

    By default uses the huberised hinge loss, which rounds the corner of the
    hinge over ``width`` on either side of margin 1. More than two classes are
    fitted one against the rest, and all fits together cost the budget.
{_PARAMETERS}
    loss
        ``"huberised-hinge"``, or ``"hinge"`` with its corner, for which
        ``"auto"`` takes noisy gradient steps or, with a strength and ``delta=0``,
        rounds the corner by a public width.
    width
        Half the width of the rounded corner.{INFERENCE}{FITTED}

    See Also
    --------
    PrivateLogisticRegression : classes with probabilities
    PrivateSGDClassifier : other losses, settings of the steps

    References
    ----------{CHAUDHURI}{REDBERG}

    Examples
    --------
    >>> import numpy as np
    >>> from discreet import Bounds, PrivateLinearSVC
    >>> X = np.repeat([[1.0], [-1.0]], 200, axis=0)
    >>> y = np.repeat(["yes", "no"], 200)
    >>> bounds = Bounds(row_norm=1.0, classes=("no", "yes"))
    >>> PrivateLinearSVC(bounds=bounds, random_state=0).fit(X, y).predict([[0.9]])
    array(['yes'], dtype='<U3')
    """

    loss: str = "huberised-hinge"
    width: float = 0.5

    def _loss(self, bounds: Bounds, row_norm: float) -> Loss:
        if one_of("loss", self.loss, ("huberised-hinge", "hinge")) == "hinge":
            return Hinge()
        return HuberisedHinge(width=self.width)
