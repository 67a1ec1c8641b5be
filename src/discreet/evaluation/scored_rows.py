"""Rows of an evaluation: read, scored by the model, and added up.

Nothing here raises an error that quotes a row. A row that cannot be used, for a
missing number or a label the model does not know, is blank: it adds nothing.
"""

from __future__ import annotations

import copy
import math
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.special import expit

from discreet.bounds import Array
from discreet.data.parts_read import CHANGED
from discreet.errors import Incompatible, InvalidData
from discreet.estimators.linear import LinearModel
from discreet.estimators.shared.fitting import Seedless
from discreet.estimators.shared.reading import read_rows
from discreet.estimators.shared.streamed import streamed
from discreet.estimators.shared.tabular import Tabular
from discreet.evaluation.plan import EvaluationPlan
from discreet.evaluation.released_sums import Mask, cells, centred, moments, spread_moments

_UNSCORED = (
    "The model could not score these rows. Its own message is withheld because it may quote them. "
    "Pass rows as those it was fitted to."
)
_LENGTHS = "X and y must have one entry per row each, and as many as each other."


Sums = tuple[int, dict[str, Array]]


def sums_over_parts(
    model: Any,
    X: Any,
    y: Any,
    plan: EvaluationPlan,
    drawn: Callable[[int], Mask] | None = None,
) -> Iterator[Sums]:
    """Yield numbers of rows and their sums, part by part; one part if rows are in memory.

    Parameters
    ----------
    model, X, y, plan
        What is scored, by what rows, for what.
    drawn
        Takes the number of all rows and returns which of them count; all by default.
    """
    own = isinstance(model, Tabular)
    found = streamed(
        X,
        y,
        schema=model._declared_schema() if own else None,
        target=getattr(model, "target", None) if own else None,
        named=getattr(model, "feature_names_in_", None),
        blank=True,
        scored=True,
    )
    if found is None:
        rows, labels, good = read(model, X, y, plan)
        # privacy: a row that was not drawn is blank.
        good = good if drawn is None else good & drawn(len(good))
        yield len(good), add_up(model, rows, labels, good, plan)
        return
    if found.target is None:
        raise InvalidData("y must be the name of the labels' column.")
    scorer, source = _bare(model), found.source()
    if drawn is not None:
        # Which rows of a group count is drawn here, so workers of a cluster do not score them.
        yield from _by_block(scorer, plan, source, drawn(source.n_rows))
    elif source.cluster is None:
        yield from _by_block(scorer, plan, source)
    else:
        for part in source.cluster.each(partial(_by_block, scorer, plan)):
            yield from part


def _by_block(
    scorer: Any, plan: EvaluationPlan, source: Any, counted: Mask | None = None
) -> list[Sums]:
    """Return numbers of rows and their sums of every block."""
    found, start = [], 0
    for raw in source.blocks():
        # Predictions may round otherwise for columns than for rows, as arrays have them.
        X, y, good = read(scorer, np.ascontiguousarray(raw.X), raw.y, plan)
        if counted is not None:
            drawn = counted[start : start + len(good)]
            if len(drawn) != len(good):
                raise InvalidData(CHANGED)
            # privacy: a row that was not drawn is blank.
            good, start = good & drawn, start + len(good)
        found.append((len(good), add_up(scorer, X, y, good, plan)))
    return found


def _bare(model: Any) -> Any:
    """Return a model for rows that were read, encoded and put in order already."""
    if isinstance(model, Seedless):
        model = copy.copy(model)
        # Such rows carry no names to compare.
        vars(model).pop("feature_names_in_", None)
        if "ledger" in vars(model):
            model.ledger = None  # workers of a cluster get a copy
        if getattr(model, "schema", None) is not None:
            model.set_params(schema=None, target=None, bounds=model.bounds_)
    return model


def read(model: Any, X: Any, y: Any, plan: EvaluationPlan) -> tuple[Any, Array, Mask]:
    """Return rows, labels and which rows can be used.

    Labels of a classifier become the numbers of their classes. Tables of a model with a
    schema are encoded by it, and hold the labels if y is None.
    """
    declared = getattr(model, "schema", None) is not None and isinstance(model, Tabular)
    if declared:
        X, y = model._read_table(X, y, labelled=True)
    elif y is None:
        raise InvalidData("y is None, and the model has no schema that names a column of labels.")
    y, usable = _numbers(y) if plan.classes is None else _codes(y, plan.classes)
    if isinstance(model, Seedless) and not declared:
        X = read_rows(
            model,
            X,
            accept_sparse="csr",
            dtype=(np.float64, np.float32),
            ensure_all_finite=False,
            reset=False,
        )
    X, finite = _filled(X)
    if len(finite) != len(y):
        raise InvalidData(_LENGTHS)
    if not len(y):
        raise InvalidData("X has no rows. Pass at least one.")
    return X, y, usable & finite


def add_up(model: Any, X: Any, y: Array, good: Mask, plan: EvaluationPlan) -> dict[str, Array]:
    """Return the sums over rows that the plan releases."""
    model = _bare(model)
    if not plan.rows_move:
        # privacy: blank rows keep their places, because matrix products may round a row
        # differently at another place, and one row would move the cells of others.
        return _sums(model, X, y, good, plan)
    if isinstance(model, LinearModel):
        # privacy: for the same reason every row is multiplied by itself where one may be missing.
        return _sums(model._alike_anywhere(), X, y, good, plan)
    # privacy: other models may round as they like, so they see one row at a time.
    total = {block.name: np.zeros(block.shape) for block in plan.blocks}
    for i in np.flatnonzero(good):
        part = slice(i, i + 1)
        for name, value in _sums(model, _taken(X, part), y[part], good[part], plan).items():
            total[name] += value
    return total


def _sums(model: Any, X: Any, y: Array, good: Mask, plan: EvaluationPlan) -> dict[str, Array]:
    wanted = {block.name: block.shape for block in plan.blocks}
    found: dict[str, Array] = {}
    with np.errstate(all="ignore"):
        if plan.classes is None:
            _regression(found, model, X, y, good, plan)
        else:
            _classification(found, wanted, model, X, y.astype(np.int64), good, plan)
    found["count"] = np.array([float(good.sum())])
    return {name: found[name] for name in wanted}


def _classification(
    found: dict[str, Array],
    wanted: dict[str, tuple[int, ...]],
    model: Any,
    X: Any,
    y: Any,
    good: Mask,
    plan: EvaluationPlan,
) -> None:
    assert plan.classes is not None
    if "correct" in wanted or len(plan.classes) > 2:
        predicted, known = _codes(_ask(model.predict, X, len(good)), plan.classes)
        found["correct"] = centred(predicted == y, good & known)
    chances = None
    if hasattr(model, "predict_proba") and not {"histogram", "log_loss"}.isdisjoint(wanted):
        chances = _ask(model.predict_proba, X, len(good)).astype(np.float64)
    if "histogram" in wanted:
        shape = wanted["histogram"]
        if len(plan.classes) > 2:
            found["histogram"] = cells(shape, y, predicted, good & known)
        else:
            score, finite = _score(model, X, chances, len(good))
            # Bins are closed above: a score of one half is a prediction of the first class.
            column = np.clip(np.ceil(score * shape[1]) - 1.0, 0, shape[1] - 1).astype(np.int64)
            found["histogram"] = cells(shape, y, column, good & finite)
    if "log_loss" in wanted:
        assert chances is not None
        true = chances[np.arange(len(y)), y]
        low, high = _loss_ends(plan.clip_probability)
        loss = -np.log(np.clip(true, plan.clip_probability, 1.0 - plan.clip_probability))
        v = np.clip((loss - low) / (high - low), 0.0, 1.0)
        found["log_loss"] = moments(np.nan_to_num(v), good & np.isfinite(true))


def _regression(
    found: dict[str, Array], model: Any, X: Any, y: Array, good: Mask, plan: EvaluationPlan
) -> None:
    predicted = _ask(model.predict, X, len(good)).astype(np.float64)
    if predicted.ndim != 1:
        raise Incompatible("Only models that predict one number per row can be evaluated.")
    if plan.label is not None:
        y = np.clip(y, *plan.label)  # as in a fit, so that errors and spread are of one label
    residual = np.clip((y - predicted) / plan.residual, -1.0, 1.0)
    good = good & np.isfinite(residual)
    residual = np.nan_to_num(residual)
    found["mse"], found["mae"] = moments(residual**2, good), moments(np.abs(residual), good)
    if plan.label is not None:
        low, high = plan.label
        scaled = np.clip((y - 0.5 * low - 0.5 * high) / (0.5 * high - 0.5 * low), -1.0, 1.0)
        found["r2"] = spread_moments(residual, np.nan_to_num(scaled), good)


def _loss_ends(tau: float) -> tuple[float, float]:
    """Return the least and the largest logarithmic loss of a clipped probability."""
    return -math.log1p(-tau), -math.log(tau)


def _score(model: Any, X: Any, chances: Array | None, n: int) -> tuple[Array, Mask]:
    """Return a score in [0, 1] whose threshold is one half, and where it is a number."""
    if chances is not None:
        score = chances[:, 1]
    else:
        score = expit(_ask(model.decision_function, X, n).astype(np.float64).reshape(n))
    finite = np.isfinite(score)
    return np.where(finite, score, 0.0), finite


def _ask(method: Any, X: Any, n: int) -> Any:
    """Return what a model says of rows, or refuse without its message."""
    try:
        with warnings.catch_warnings():
            # privacy: warnings of models may count or quote rows.
            warnings.simplefilter("ignore")
            answer = np.asarray(method(X))
    except MemoryError:
        raise MemoryError("There is no memory for another copy of the rows.") from None
    except Exception:
        # privacy: messages of other libraries may quote rows.
        raise InvalidData(_UNSCORED) from None
    if answer.ndim == 0 or len(answer) != n:
        raise InvalidData(_UNSCORED)
    return answer


def _filled(X: Any) -> tuple[Any, Mask]:
    """Return rows of finite numbers, and which of them were so before."""
    if isinstance(X, list | tuple):
        X = np.asarray(X)
    if sp.issparse(X):
        X = sp.csr_array(X, copy=True)
        rows = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
        finite = np.isfinite(X.data)
        good = np.ones(X.shape[0], dtype=bool)
        good[rows[~finite]] = False
        X.data[~finite] = 0.0
        return X, good
    if isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype.kind in "biuf":
        good = np.asarray(np.isfinite(X).all(axis=1))
        # privacy: a copy of one layout whatever the rows are; see add_up.
        X = np.array(X, order="C")
        X[~good] = 0
        return X, good
    # What another model takes, such as a data frame with text, it reads by itself.
    try:
        return X, np.ones(int(X.shape[0]), dtype=bool)
    except (AttributeError, IndexError, TypeError, ValueError):
        raise InvalidData("X must be a table: one row per sample, one column each.") from None


def _taken(X: Any, part: slice) -> Any:
    return X.iloc[part] if hasattr(X, "iloc") else X[part]


def _column(y: Any) -> Any:
    try:
        given = np.asarray(y)
    except Exception:
        raise InvalidData(_LENGTHS) from None
    if given.ndim == 2 and given.shape[1] == 1:
        given = given[:, 0]
    if given.ndim != 1:
        raise InvalidData("y should be a 1d array with one label per row.")
    return given


def _codes(y: Any, classes: tuple[Any, ...]) -> tuple[Any, Mask]:
    """Return the numbers of the classes, 0 for an unknown label, and which are known."""
    given = _column(y)
    text = isinstance(classes[0], str)
    if given.dtype.kind in "US" if not text else given.dtype.kind in "biufSmM":
        raise InvalidData(
            "y holds labels of another type than the classes of this model: text and numbers "
            "cannot be compared. Pass labels as those it was fitted on."
        )
    at = {label: k for k, label in enumerate(classes)}
    codes = np.fromiter((_place(at, label) for label in given.tolist()), np.int64, len(given))
    known = codes >= 0
    return np.where(known, codes, 0), known


def _place(at: dict[Any, int], label: Any) -> int:
    try:
        return at.get(label, -1)
    except TypeError:  # not hashable, so no label
        return -1


def _numbers(y: Any) -> tuple[Array, Mask]:
    """Return labels as numbers, 0 for those that are none, and which are numbers."""
    given = _column(y)
    if given.dtype.kind not in "biufO":
        raise InvalidData("y must hold real numbers only. Turn text and dates into numbers.")
    try:
        values = given.astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        # privacy: the original message would quote the label that failed.
        raise InvalidData("y must hold real numbers only.") from None
    finite = np.isfinite(values)
    return np.where(finite, values, 0.0), finite
