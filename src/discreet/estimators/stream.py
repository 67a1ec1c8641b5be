"""Private linear models for streams of rows: see :mod:`discreet.estimators.stream_base`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import numpy as np

from discreet.bounds import Array, Bounds
from discreet.checks import one_of
from discreet.errors import Incompatible, InvalidData, MissingBound
from discreet.estimators.linear import PrivateClassifier, PrivateRegressor
from discreet.estimators.shared.base import numbered
from discreet.estimators.shared.classes import class_numbers, read_classes
from discreet.estimators.shared.conditional import available_where
from discreet.estimators.shared.fitting import all_or_nothing
from discreet.estimators.shared.parameters import FITTED, GUESS, INTERCEPT, TABLES
from discreet.estimators.shared.probabilities import joint_probabilities
from discreet.estimators.stream_base import PrivateStream
from discreet.losses import Absolute, Clipped, Hinge, Huber, Logistic, Loss, Softmax, Squared

_PARAMETERS = f"""
    Parameters
    ----------
    epsilon, delta
        Privacy budget of the whole stream, all passes and releases included.
    bounds
        Declared :class:`~discreet.Bounds`, or a mapping of them.{TABLES}
    neighbours
        ``"zero-out"`` or ``"replace-one"``.
    loss
        Name of the loss, see above.
    strategy
        How prefix sums are made private: ``"blt"``, ``"toeplitz"``,
        ``"honaker"`` or ``"tree"``.
    batch_size
        Most rows of one step; None lets the plan choose.
    passes
        How often every row may be fed; see :meth:`begin_pass`.
    average
        Whether to publish the mean of all iterates instead of the last. Better
        where rows come in random order, worse where the data drifts.
    constraint
        Hard constraint on the weights, in the scaled domain.{INTERCEPT}{GUESS}
    n_rows
        Expected length of the stream. Only accuracy depends on it: the stream may be longer.
    state_path
        File that receives the secret state before every release, for
        :meth:`resume`. Must not exist.
    rows_per_group, group_rule
        Streams protect single rows. Leave both as they are.
    random_state
        None draws from the operating system. A seed makes the stream
        repeatable and the guarantee says ``secure=False``.
    ledger
        A :class:`~discreet.Ledger` that the whole stream, all passes included, is
        charged to before it begins. None charges nothing.{FITTED}
"""

REGRESSION_LOSSES: dict[str, Callable[[float], Loss]] = {
    "huber": lambda row_norm: Huber(threshold=0.25),
    "absolute": lambda row_norm: Absolute(),
    "squared": lambda row_norm: Clipped(loss=Squared(), clip=row_norm),
}
"""Losses of the regressor by name, given the norm of the longest row."""


class PrivateStreamClassifier(PrivateStream, PrivateClassifier):
    __doc__ = f"""Linear classifier that learns from a stream with one privacy guarantee.

    ``loss`` is ``"logistic"`` (softmax for more than two classes) or
    ``"hinge"`` (two classes).
{_PARAMETERS}
    See Also
    --------
    PrivateSGDClassifier : rows that are all there

    References
    ----------
    Kairouz et al., *Practical and private (deep) learning without sampling or shuffling*, 2021.

    Examples
    --------
    >>> import numpy as np
    >>> from discreet import Bounds, PrivateStreamClassifier
    >>> bounds = Bounds(row_norm=1.0, classes=("no", "yes"))
    >>> model = PrivateStreamClassifier(epsilon=2.0, bounds=bounds, random_state=0)
    >>> X, y = np.repeat([[1.0], [-1.0]], 50, axis=0), np.repeat(["yes", "no"], 50)
    >>> for _ in range(20):
    ...     _ = model.partial_fit(X, y)
    >>> model.predict([[0.9]]), model.rows_seen_, model.guarantee_.epsilon
    (array(['yes'], dtype='<U3'), 2000, 2.0)
    """

    loss: str = "logistic"

    @all_or_nothing
    def fit(self, X: Any, y: Any = None, groups: Any = None) -> Self:
        """Start a new stream with these rows, in this order, in every pass; not in groups."""
        self._identified(X, groups)
        X, y = self._validated(X, y)
        bounds = self._bounds_of(X)
        classes, labels, assumptions = read_classes(type(self).__name__, bounds, y)
        encoded = self._with_classes(bounds, classes)
        self._begin(encoded, X.shape[0], *assumptions)
        self._feed_in_passes(X, labels)
        return self

    def partial_fit(
        self, X: Any, y: Any = None, classes: Any = None, *, start: int | None = None
    ) -> Self:
        """Learn the next rows of the stream and publish new weights.

        Parameters
        ----------
        X, y
            The rows that come next, and their labels.
        classes
            Every class a label may have; needed in the first call unless
            ``bounds`` declares them.
        start
            Number of rows of this pass before these. Rows already learned are
            refused. Needed in the first call after :meth:`resume`.
        """
        first = not hasattr(self, "guarantee_")
        X, y = self._validated(X, y, reset=first)
        encoded = None
        if first:
            encoded = self._with_classes(self._bounds_of(X), classes)
        labels = self._encoded(y)
        if encoded is not None:
            self._begin(encoded, None)
        self._feed(X, labels, start)
        return self

    def _with_classes(self, bounds: Bounds, classes: Any) -> Bounds:
        """Fix the classes, which are public, and return the bounds with their numbers."""
        if bounds.classes is not None:
            classes = np.asarray(bounds.classes)
        if classes is None:
            raise MissingBound(
                "classes is not set. A stream may show a class late, and reading the classes from "
                "the rows would leak. Pass classes=... or bounds=Bounds(classes=...)."
            )
        self.classes_ = np.unique(classes)
        if len(self.classes_) < 2:
            raise InvalidData(
                f"{type(self).__name__} needs at least two classes; there is one class only. "
                "Declare bounds=Bounds(classes=...)."
            )
        return numbered(bounds, len(self.classes_))

    def _encoded(self, y: Any) -> Any:
        return class_numbers(self.classes_, y, "the declared classes")

    def _loss(self, bounds: Bounds, row_norm: float) -> Loss:
        one_of("loss", self.loss, ("logistic", "hinge"))
        assert bounds.classes is not None
        if len(bounds.classes) == 2:
            return Logistic() if self.loss == "logistic" else Hinge()
        if self.loss == "hinge":
            raise Incompatible(
                "The hinge loss separates two classes. Use loss='logistic' for more."
            )
        return Softmax(n_classes=len(bounds.classes))

    def _shaped(self, coef: Array, intercept: Any) -> tuple[Array, Any]:
        return np.atleast_2d(coef.T), np.atleast_1d(intercept)

    @available_where(lambda self: self.loss == "logistic")
    def predict_proba(self, X: Any) -> Array:
        """Return the probability of every class for every row."""
        return joint_probabilities(self.decision_function(X))


class PrivateStreamRegressor(PrivateStream, PrivateRegressor):
    __doc__ = f"""Linear regressor that learns from a stream with one privacy guarantee.

    ``loss`` is ``"huber"``, ``"absolute"`` or ``"squared"`` (with clipped
    gradients); residuals are measured in half label ranges.
{_PARAMETERS}
    See Also
    --------
    PrivateSGDRegressor : rows that are all there

    References
    ----------
    Kairouz et al., *Practical and private (deep) learning without sampling or shuffling*, 2021.

    Examples
    --------
    >>> import numpy as np
    >>> from discreet import Bounds, PrivateStreamRegressor
    >>> X = np.linspace(-1, 1, 4000).reshape(-1, 1)
    >>> bounds = Bounds(features=(-1, 1), label=(-1, 1))
    >>> model = PrivateStreamRegressor(epsilon=4.0, bounds=bounds, random_state=0)
    >>> for part in np.split(np.random.default_rng(0).permutation(4000), 8):
    ...     _ = model.partial_fit(X[part], X[part].ravel())
    >>> bool(model.predict([[0.8]])[0] > 0.3)
    True
    """

    loss: str = "huber"

    @all_or_nothing
    def fit(self, X: Any, y: Any = None, groups: Any = None) -> Self:
        """Start a new stream with these rows, in this order, in every pass; not in groups."""
        self._identified(X, groups)
        X, y = self._validated(X, y)
        self._begin(self._bounds_of(X), X.shape[0])
        self._feed_in_passes(X, y)
        return self

    def partial_fit(self, X: Any, y: Any = None, *, start: int | None = None) -> Self:
        """Learn the next rows of the stream and publish new weights.

        Parameters
        ----------
        X, y
            The rows that come next, and their labels, clipped to ``bounds.label``.
        start
            Number of rows of this pass before these. Rows already learned are
            refused. Needed in the first call after :meth:`resume`.
        """
        first = not hasattr(self, "guarantee_")
        X, y = self._validated(X, y, reset=first)
        if first:
            self._begin(self._bounds_of(X), None)
        self._feed(X, y, start)
        return self

    def _loss(self, bounds: Bounds, row_norm: float) -> Loss:
        return REGRESSION_LOSSES[one_of("loss", self.loss, REGRESSION_LOSSES)](row_norm)
