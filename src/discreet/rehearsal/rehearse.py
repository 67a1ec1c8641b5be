"""``rehearse``: fit a plan to made-up rows, a few times, and score it."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.metrics import log_loss, mean_absolute_error, r2_score, roc_auc_score

from discreet.checks import between, integer, positive, row_count, weight_count
from discreet.errors import BudgetTooSmall, Incompatible, InvalidParameter, NotCertified
from discreet.estimators.shared.base import PrivateEstimator
from discreet.rehearsal.made_up import Drawn, World
from discreet.rehearsal.verdicts import Rehearsal
from discreet.schema import Encoded

TEST_ROWS = 4000
MOST_CELLS = 2**28
"""Cells of made-up rows beyond which two gigabytes would be needed."""

SIGNALS = {"classes": 0.8, "real": 0.5}
"""Area under the ROC curve, and R2, that are called typical."""


def rehearse(
    model: Any,
    n_rows: int,
    *,
    n_features: int | None = None,
    signal: float | None = None,
    share: float = 0.5,
    epsilons: Sequence[float] | None = None,
    repeats: int = 5,
    random_state: int = 0,
    progress: Callable[[str], None] | None = None,
) -> Rehearsal:
    """Fit a model to made-up rows a few times, and say how good it gets.

    Rows follow the schema or the bounds of the model, with a signal that you declare
    or that is typical. No data is read and nothing is spent. Real rows differ: a
    rehearsal tells what noise takes away, not what your data holds. Where rows belong
    to groups, every made-up group has as many as are declared.

    Parameters
    ----------
    model
        An unfitted classifier or regressor of this library, as you would fit it.
    n_rows
        Number of rows of a fit.
    n_features
        Number of features; a schema knows it.
    signal
        How well the truth itself predicts: the area under its ROC curve (default 0.8),
        for more classes about that of each against the rest, or R2 (default 0.5).
    share
        Share of the second of two classes, in their order.
    epsilons
        Budgets to compare; default: that of the model.
    repeats
        Fits for each budget, each of rows and a truth of its own.
    random_state
        Seed of the made-up rows.
    progress
        Told before every fit.

    Returns
    -------
    Rehearsal
        Prints as a table, with a verdict in words; ``plot`` draws it.

    See Also
    --------
    discreet.evaluate : Scores on real rows, with a guarantee.

    Examples
    --------
    >>> from discreet import Boolean, Categories, PrivateLogisticRegression, Range, Schema
    >>> schema = Schema({"age": Range(0, 99), "job": Categories(["office", "field"]),
    ...                  "ill": Boolean()})
    >>> model = PrivateLogisticRegression(schema=schema, target="ill")
    >>> found = rehearse(model, 3000, epsilons=(0.001, 1.0))
    >>> found.verdict(0.001), found.verdict(1.0)
    ('no better than guessing', 'nearly all that the rows can tell')
    """
    if not isinstance(model, PrivateEstimator) or model._labels not in SIGNALS:
        raise Incompatible(
            "A rehearsal is for classifiers and regressors of this library, unfitted. Got "
            f"{type(model).__name__}."
        )
    n_rows, repeats = row_count("n_rows", n_rows), integer("repeats", repeats, minimum=1)
    signal = SIGNALS[model._labels] if signal is None else signal
    between("signal", signal, 0.5 if is_classifier(model) else 0.0, 1.0)
    between("share", share, 0.0, 1.0)
    schema = model._declared_schema()
    if schema is not None and schema.private:
        raise Incompatible(
            f"The schema leaves {', '.join(map(repr, schema.private))} to be learned from rows, "
            "and made-up rows need every range and category. Declare guesses for the rehearsal."
        )
    if schema is not None:
        n_features = len(schema.names(model._target()))
    width = weight_count("n_features", n_features)
    if n_rows * width > MOST_CELLS:
        raise InvalidParameter(
            f"{n_rows:,} made-up rows of {width:,} features need more than two gigabytes. Rehearse "
            "fewer rows: noise matters less for more of them.",
            parameter="n_rows",
        )
    budgets = [positive("epsilons", e) for e in (epsilons or (model.epsilon,))]
    scores: dict[float, dict[str, list[float]]] = {epsilon: {} for epsilon in budgets}
    best: dict[str, list[float]] = {}
    guessing: dict[str, list[float]] = {}
    for repeat in range(repeats):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of bounds and budgets; a plan has said it
            random = np.random.default_rng([random_state, repeat, 1])
            world = World(model, width, signal, share, random)
            train, test = world.draw(n_rows), world.draw(TEST_ROWS)
        _add(best, _scores(test, test.best, world.classes))
        _add(guessing, _scores(test, _blind(train, world.classes), world.classes))
        for at, epsilon in enumerate(budgets):
            if progress is not None:
                done = repeat * len(budgets) + at + 1
                progress(f"rehearsing: fit {done} of {repeats * len(budgets)}")
            # Not the seed of the rows, whose random numbers noise would repeat.
            seed = np.random.default_rng([random_state, repeat, at, 2]).integers(2**62)
            fitted = _fitted(model, train, epsilon, n_rows, int(seed))
            if fitted is not None:
                _add(scores[epsilon], _scores(test, _answers(fitted, test.X), world.classes))
    two = is_classifier(model) and len(world.classes) == 2
    # Those that cannot give chances are scored by what they give.
    given = next((held for held in scores.values() if held), best)
    return Rehearsal(
        type(model).__name__,
        n_rows,
        float(signal),
        float(share) if two else None,
        scores,
        {name: float(np.mean(values)) for name, values in best.items() if name in given},
        {name: float(np.mean(values)) for name, values in guessing.items() if name in given},
    )


def _fitted(model: Any, train: Drawn, epsilon: float, n_rows: int, seed: int) -> Any:
    """Return the model fitted to made-up rows; None if the budget allows no fit."""
    copy = clone(model).set_params(epsilon=epsilon, ledger=None, random_state=seed)
    if copy.neighbours == "add-remove" and copy.n_rows is None:
        copy.set_params(n_rows=n_rows)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        grouping = copy._grouping()
        more: dict[str, Any] = {}
        if grouping is not None:  # everybody has as many rows as are declared
            more["groups"] = np.arange(n_rows) // grouping.rows
        try:
            if copy.schema is not None:
                return copy.fit(Encoded(train.X, train.y), **more)
            return copy.fit(train.X, train.y, **more)
        except (BudgetTooSmall, NotCertified):
            return None


def _answers(model: Any, X: Any) -> Any:
    """Return chances of the classes, else scores, or predictions."""
    rows = Encoded(X, None) if model.schema is not None else X
    if not is_classifier(model):
        return model.predict(rows)
    if hasattr(model, "predict_proba"):
        return model.predict_proba(rows)
    return model.decision_function(rows)


def _blind(train: Drawn, classes: Any) -> Any:
    """Return what is best said without a look at features."""
    if classes is None:
        return np.full(TEST_ROWS, train.y.mean())
    share = (train.y[:, None] == classes).mean(axis=0)
    return np.tile(np.maximum(share, 1e-9), (TEST_ROWS, 1))


def _scores(test: Drawn, said: Any, classes: Any) -> dict[str, float]:
    """Return the metrics of answers."""
    if classes is None:
        return {
            "r2": float(r2_score(test.y, said)),
            "mae": float(mean_absolute_error(test.y, said)),
        }
    right = np.searchsorted(classes, test.y)
    chosen = (said > 0).astype(int) if said.ndim == 1 else said.argmax(axis=1)
    found = {"accuracy": float((chosen == right).mean())}
    if len(classes) == 2 and 0 < right.sum() < len(right):
        found["auc"] = float(roc_auc_score(right, said if said.ndim == 1 else said[:, 1]))
    if said.ndim == 2 and (said >= 0).all():
        whole = said / said.sum(axis=1, keepdims=True)
        found["log_loss"] = float(log_loss(right, whole, labels=range(len(classes))))
    return found


def _add(held: dict[str, list[float]], new: dict[str, float]) -> None:
    for name, value in new.items():
        held.setdefault(name, []).append(value)
