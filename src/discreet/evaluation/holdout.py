"""A part of the rows that is kept for testing: both parts together cost the larger of two."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from sklearn.base import clone
from sklearn.utils import _safe_indexing

from discreet.accounting import Guarantee
from discreet.accounting.parallel import in_parallel
from discreet.bounds import NEIGHBOURS
from discreet.checks import between, one_of
from discreet.errors import InvalidData
from discreet.evaluation.evaluate import evaluate
from discreet.evaluation.result import Evaluation
from discreet.noise import Randomness, as_randomness, permutation
from discreet.schema import Encoded

Index = npt.NDArray[np.int64]


class Tested(NamedTuple):
    """A fitted model, how good it is, and what both cost together."""

    model: Any
    evaluation: Evaluation
    guarantee: Guarantee


def split_rows(
    n_rows: int, test_size: float, neighbours: str, random: Randomness
) -> tuple[Index, Index]:
    """Return positions of training and of test rows, drawn without a look at any row.

    Where the number of rows is public the test part has a fixed size. Where it is
    secret every row is thrown into a part by a coin of its own: so a row more or
    less leaves the other rows where they are.

    >>> from discreet.noise import Seeded
    >>> [len(part) for part in split_rows(100, 0.2, "zero-out", Seeded(0))]
    [80, 20]
    """
    between("test_size", test_size, 0, 1)
    if one_of("neighbours", neighbours, NEIGHBOURS) == "add-remove":
        # privacy: one coin for each row, so neighbours differ inside one part.
        coins = random.words(n_rows).astype(np.float64) * 2.0**-64 < test_size
        return np.flatnonzero(~coins), np.flatnonzero(coins)
    # privacy: positions only; neighbours have the same ones.
    order = permutation(n_rows, random)
    size = round(test_size * n_rows)
    if not 0 < size < n_rows:
        raise InvalidData("test_size leaves a part without rows. Choose one nearer to a half.")
    return np.sort(order[size:]), np.sort(order[:size])


def take(data: Any, rows: Index) -> Any:
    """Return some rows of an array, a data frame, a sparse matrix or a list.

    >>> take(["a", "b", "c"], np.array([0, 2]))
    ['a', 'c']
    """
    return _safe_indexing(data, rows)


def encoded(model: Any, X: Any, y: Any) -> tuple[Any, Any]:
    """Return rows and labels; a table is encoded, labels and all, if the model has a schema.

    >>> from discreet import PrivateRidge, Range, Schema
    >>> model = PrivateRidge(schema=Schema({"age": Range(0, 99), "cost": Range(0, 9)}),
    ...                      target="cost")
    >>> encoded(model, {"age": [41], "cost": [3]}, None)
    (Encoded(X=array([[41.]]), y=array([3.])), None)
    """
    if getattr(model, "schema", None) is None:
        return X, y
    return Encoded(*clone(model)._read_table(X, y, labelled=True)), None


def part_of(rows: Any, labels: Any, which: Index) -> tuple[Any, Any]:
    """Return some rows and their labels, as a fit takes them.

    >>> part_of(np.eye(2), np.array([3, 4]), np.array([1]))
    (array([[0., 1.]]), array([4]))
    """
    if isinstance(rows, Encoded):
        return Encoded(take(rows.X, which), take(rows.y, which)), None
    return take(rows, which), take(labels, which)


def fit_and_evaluate(
    model: Any,
    X: Any,
    y: Any = None,
    *,
    epsilon: float | None = None,
    delta: float | None = None,
    test_size: float = 0.2,
    random_state: Any = None,
    **options: Any,
) -> Tested:
    """Fit a model to a part of the rows and evaluate it on the rest.

    A row takes part in the fit or in the evaluation. So both together cost the
    larger of the two budgets, not their sum.

    Parameters
    ----------
    model
        An estimator of this library; a copy of it is fitted.
    X, y
        Rows and labels; for a model with a schema a table, whose column ``target`` holds
        the labels if ``y`` is None.
    epsilon, delta
        Budget of the evaluation; default: that of the model.
    test_size
        Share of the rows that are evaluated on.
    random_state
        For tests; a seed voids the guarantee.
    options
        As for :func:`evaluate`.

    Returns
    -------
    Tested
        ``model``, ``evaluation`` and the ``guarantee`` of both together.

    Examples
    --------
    >>> import numpy as np
    >>> from discreet import Bounds, PrivateLogisticRegression
    >>> X = np.random.default_rng(0).uniform(-1, 1, (5000, 2))
    >>> bounds = Bounds(features=(-1, 1), classes=(False, True))
    >>> model = PrivateLogisticRegression(epsilon=1.0, bounds=bounds)
    >>> fitted, found, guarantee = fit_and_evaluate(model, X, X[:, 0] > 0)
    >>> guarantee.epsilon, bool(found.accuracy.value > 0.9)
    (1.0, True)
    """
    random = as_randomness(random_state)
    rows, labels = encoded(model, X, y)
    train, test = split_rows(count_rows(rows), test_size, model.neighbours, random)
    fitted = clone(model).fit(*part_of(rows, labels, train))
    found = evaluate(
        fitted,
        *part_of(rows, labels, test),
        epsilon=model.epsilon if epsilon is None else epsilon,
        delta=model.delta if delta is None else delta,
        random_state=random_state if random_state is None else random,
        **options,
    )
    return Tested(fitted, found, in_parallel(fitted.guarantee_, found.guarantee))


def count_rows(X: Any) -> int:
    """Return the number of rows of a table.

    >>> count_rows(np.eye(3))
    3
    """
    X = X.X if isinstance(X, Encoded) else X
    try:
        return int(X.shape[0] if hasattr(X, "shape") else len(X))
    except (TypeError, IndexError):
        raise InvalidData("X must be a table: one row per sample, one column each.") from None
