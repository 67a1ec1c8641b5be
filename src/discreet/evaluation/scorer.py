"""A scorer for scikit-learn's model selection whose scores are private."""

from __future__ import annotations

from typing import Any

from discreet.accounting import Budget, Guarantee
from discreet.checks import one_of
from discreet.evaluation.evaluate import evaluate
from discreet.evaluation.plan import CLASSIFIER_METRICS, REGRESSOR_METRICS

_LOSSES = ("log_loss", "mse", "mae")
_NUMBERS = tuple(
    m
    for m in (*CLASSIFIER_METRICS, *REGRESSOR_METRICS)
    if m not in ("confusion", "roc", "calibration")
)


class PrivateScorer:
    """A scorer that pays for every call; see :func:`make_private_scorer`."""

    def __init__(self, metric: str, budget: Budget, ledger: Any, options: dict[str, Any]) -> None:
        self.metric, self.budget, self.ledger, self.options = metric, budget, ledger, options
        self.spent: list[Guarantee] = []

    def __call__(self, estimator: Any, X: Any, y: Any) -> float:
        """Return the score of a fitted estimator; a larger one is better, also of losses."""
        found = evaluate(
            estimator,
            X,
            y,
            epsilon=self.budget.epsilon,
            delta=self.budget.delta,
            metrics=(self.metric,),
            ledger=self.ledger,
            **self.options,
        )
        self.spent.append(found.guarantee)
        value = float(found.estimates[self.metric].value)
        return -value if self.metric in _LOSSES else value

    def total(self) -> Guarantee | None:
        """Return what all calls in this process cost together, were their rows the same."""
        return self.spent[0].compose(*self.spent[1:]) if self.spent else None

    def __repr__(self) -> str:
        return (
            f"make_private_scorer({self.metric!r}, epsilon={self.budget.epsilon!r}, "
            f"delta={self.budget.delta!r})  # every call pays"
        )


def make_private_scorer(
    metric: str,
    *,
    epsilon: float,
    delta: float = 1e-6,
    ledger: Any = None,
    **options: Any,
) -> PrivateScorer:
    """Return a scorer for scikit-learn whose scores have a guarantee.

    Every call pays ``epsilon`` and ``delta`` for the rows it is given. In
    ``cross_validate`` each row is tested once, so the scores of all folds cost one
    budget; but the fits cost theirs, and a row takes part in all of them but one.
    With ``n_jobs`` calls run in other processes and only a ledger sees them all.

    Parameters
    ----------
    metric
        One that :func:`evaluate` gives as a number.
    epsilon, delta
        Budget of each call.
    ledger
        Where each call is reserved.
    options
        As for :func:`evaluate`.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.model_selection import cross_validate
    >>> from discreet import Bounds, PrivateLogisticRegression
    >>> X = np.random.default_rng(0).uniform(-1, 1, (3000, 2))
    >>> model = PrivateLogisticRegression(bounds=Bounds(features=(-1, 1), classes=(False, True)))
    >>> scorer = make_private_scorer("accuracy", epsilon=1.0)
    >>> scores = cross_validate(model, X, X[:, 0] > 0, scoring=scorer, cv=3)["test_score"]
    >>> bool((scores > 0.8).all()), len(scorer.spent)
    (True, 3)
    """
    one_of("metric", metric, _NUMBERS)
    return PrivateScorer(metric, Budget(epsilon, delta), ledger, options)
