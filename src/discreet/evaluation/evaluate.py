"""``evaluate``: score a model on sensitive rows and publish the result."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import is_classifier, is_regressor
from sklearn.utils.validation import check_is_fitted

from discreet.accounting import Budget
from discreet.bounds import Neighbours
from discreet.data import Grouping
from discreet.data.storage import group_codes, tables_of
from discreet.errors import Incompatible, InvalidData, MissingBound
from discreet.estimators.shared.base import warn_of_budget
from discreet.estimators.shared.grouped import identifiers
from discreet.estimators.shared.tabular import Tabular
from discreet.evaluation.plan import EvaluationPlan
from discreet.evaluation.released_sums import Mask
from discreet.evaluation.result import Evaluation
from discreet.evaluation.scored_rows import sums_over_parts
from discreet.ledger import spending
from discreet.noise import Randomness, as_randomness
from discreet.problem import with_randomness
from discreet.schema import Encoded, Schema


def evaluate(
    model: Any,
    X: Any,
    y: Any = None,
    *,
    epsilon: float,
    delta: float = 1e-6,
    metrics: Sequence[str] | None = None,
    neighbours: Neighbours | None = None,
    level: float = 0.95,
    bins: int = 50,
    count_rows: bool | None = None,
    clip_probability: float = 0.01,
    residual: float | None = None,
    label: tuple[float, float] | None = None,
    groups: Any = None,
    rows_per_group: int | None = None,
    ledger: Any = None,
    random_state: Any = None,
) -> Evaluation:
    """Score a model on sensitive rows, with a privacy guarantee for the scores.

    The result covers these rows. If the model was fitted to them too, its own
    guarantee adds up with this one, and the scores are too good. On other rows,
    those of a test part, both together cost the larger of the two; see
    :func:`fit_and_evaluate`.

    Parameters
    ----------
    model
        A fitted classifier or regressor, of this library or any other that scores
        each row by itself.
    X, y
        Rows and labels. Rows with missing numbers or unknown labels count for nothing.
        A model with a schema takes a table as it is, and its column ``target`` if ``y``
        is None. Rows that are not in memory are read part by part, and ``y`` is then the
        name of their column.
    epsilon, delta
        Budget of the evaluation. With ``delta=0`` noise is Laplace, else Gaussian.
    metrics
        Some of ``accuracy``, ``balanced_accuracy``, ``precision``, ``recall``, ``f1``,
        ``confusion``, ``auc``, ``roc``, ``calibration`` and ``log_loss``, or of ``mse``,
        ``mae`` and ``r2``. The budget is shared by what they need, so ask for few.
        Default: accuracy, auc and log_loss where there are, or mse and r2.
    neighbours
        Which data sets count as neighbours; default: those of the model.
    level
        Level of the intervals.
    bins
        Number of bins of the score, even.
    count_rows
        Whether the number of usable rows is released and divided by. Needed where many
        rows may be blank. Default: under ``add-remove``, and where the schema lets rows be
        blank.
    clip_probability
        Probabilities are clipped to this and one minus this before their logarithm.
    residual
        Residuals are clipped to this size; default: the width of the label's range. A
        smaller one means less noise.
    label
        Range of the labels; default: that of the model.
    groups, rows_per_group
        Whom every row belongs to, and how many rows of one group are scored at most, drawn
        at random: all rows of a group are then protected together. Rows of a group are not
        independent, so metrics come without intervals. Default: as a column of the model's
        schema says.
    ledger
        Where the cost is reserved before a row is read.
    random_state
        For tests; a seed voids the guarantee.

    Returns
    -------
    Evaluation
        Prints as a table; metrics are its attributes.

    Examples
    --------
    >>> import numpy as np
    >>> from discreet import Bounds, PrivateRidge
    >>> X = np.linspace(-1, 1, 4000).reshape(-1, 1)
    >>> model = PrivateRidge(bounds=Bounds(features=(-1, 1), label=(-1, 1)), random_state=0)
    >>> found = evaluate(model.fit(X, X.ravel()), X, X.ravel(), epsilon=1.0, random_state=0)
    >>> bool(found.r2.value > 0.9)
    True
    """
    if groups is None and rows_per_group is None:
        groups, rows_per_group = _belonging(model, X)
    plan = plan_evaluation(
        model, epsilon=epsilon, delta=delta, metrics=metrics, neighbours=neighbours, bins=bins,
        count_rows=count_rows, clip_probability=clip_probability, residual=residual, label=label,
        rows_per_group=rows_per_group,
    )  # fmt: skip
    return run_plan(
        plan, model, X, y, groups=groups, level=level, ledger=ledger, random_state=random_state
    )


def plan_evaluation(
    model: Any,
    *,
    epsilon: float,
    delta: float = 1e-6,
    metrics: Sequence[str] | None = None,
    neighbours: Neighbours | None = None,
    bins: int = 50,
    count_rows: bool | None = None,
    clip_probability: float = 0.01,
    residual: float | None = None,
    label: tuple[float, float] | None = None,
    rows_per_group: int | None = None,
) -> EvaluationPlan:
    """Return what :func:`evaluate` will release and cost; no row is needed.

    >>> from sklearn.linear_model import LogisticRegression
    >>> model = LogisticRegression().fit([[0.0], [1.0]], [0, 1])
    >>> print(plan_evaluation(model, epsilon=1.0, metrics=("accuracy",)))
    metrics                  accuracy
    noise of correct (rows)  2.11234
    <BLANKLINE>
    epsilon = 1, delta = 1e-06 per row (ex-ante)
    ...
    """
    check_is_fitted(model)
    relation = neighbours or getattr(model, "neighbours", "zero-out")
    if count_rows is None:
        count_rows = _may_lack(model, relation) or rows_per_group is not None
    common: dict[str, Any] = {
        "budget": Budget(epsilon, delta),
        "neighbours": relation,
        "bins": bins,
        "count_rows": count_rows,
        "clip_probability": clip_probability,
        "rows_per_group": rows_per_group,
    }
    if is_classifier(model):
        classes = tuple(c.item() if hasattr(c, "item") else c for c in model.classes_)
        asked = _names(metrics, _defaults(model, len(classes)))
        chances = hasattr(model, "predict_proba")
        return EvaluationPlan(metrics=asked, classes=classes, probabilities=chances, **common)
    if not is_regressor(model):
        raise Incompatible("Only classifiers and regressors can be evaluated.")
    declared = label or getattr(getattr(model, "bounds_", None), "label", None)
    if residual is None:
        if declared is None:
            raise Incompatible(
                "residual is not set, and noise is scaled to it. Pass residual=..., the size that "
                "residuals are clipped to, or label=(low, high), the range of the labels."
            )
        residual = declared[1] - declared[0]
    usual = ("mse", "r2") if declared else ("mse",)
    asked = _names(metrics, usual)
    return EvaluationPlan(metrics=asked, residual=residual, label=declared, **common)


def run_plan(
    plan: EvaluationPlan,
    model: Any,
    X: Any,
    y: Any = None,
    *,
    groups: Any = None,
    level: float = 0.95,
    ledger: Any = None,
    random_state: Any = None,
) -> Evaluation:
    """Reserve, read, add noise: the only thing here that touches rows."""
    if (groups is None) != (plan.rows_per_group is None):
        raise MissingBound(
            "groups and rows_per_group belong together: whom every row belongs to, and how many "
            "rows one group counts for. Pass both or neither."
        )
    random = as_randomness(random_state)
    guarantee = with_randomness(plan.guarantee, random)
    name = type(model).__name__
    with spending(ledger, guarantee, model=name, algorithm="evaluation"):
        total, n_rows = {block.name: np.zeros(block.shape) for block in plan.blocks}, 0

        # privacy: drawn from all rows at once. Of each part as many would count as of all of them.
        drawn = None if groups is None else partial(_drawn, groups, plan, random)
        for some, sums in sums_over_parts(model, X, y, plan, drawn):
            n_rows += some
            # privacy: sums of parts are exact, so they add up to the sum over all rows.
            for name, value in sums.items():
                total[name] += value
        public = None if plan.hides_size else n_rows
        warn_of_budget("evaluate", plan.budget, public)
        released = plan.run(total, random)
    return Evaluation(plan, released, public, guarantee, level)


def _belonging(model: Any, X: Any) -> tuple[Any, int | None]:
    """Return whom rows belong to and how many count, if the model's schema has a column for it."""
    schema = model._declared_schema() if isinstance(model, Tabular) else None
    if schema is None or schema.group is None:
        return None, None
    name, column = schema.group
    if isinstance(X, Encoded):
        # privacy: scores per row would be read as scores per person.
        raise MissingBound(
            f"Column {name!r} of the schema says whom a row belongs to, and these rows come "
            "without it. Pass a table with it, or groups and rows_per_group.",
            parameter="groups",
        )
    return identifiers(schema, X, tables_of(X)), column.rows


def _drawn(groups: Any, plan: EvaluationPlan, random: Randomness, n_rows: int) -> Mask:
    """Return which rows were drawn from their groups."""
    if len(groups) != n_rows:
        raise InvalidData("groups must hold one identifier for every row.")
    assert plan.rows_per_group is not None
    grouping = Grouping(plan.rows_per_group, "sample")
    return grouping.shares(group_codes(groups, n_rows), random) > 0.0


def _may_lack(model: Any, relation: str | None) -> bool:
    """Return whether the number of rows that count is secret: all of them, or blank ones."""
    schema = getattr(model, "schema", None)
    return relation == "add-remove" or (isinstance(schema, Schema) and schema.may_be_blank)


def _names(metrics: Sequence[str] | None, usual: tuple[str, ...]) -> tuple[str, ...]:
    if metrics is None:
        return usual
    return (metrics,) if isinstance(metrics, str) else tuple(metrics)


def _defaults(model: Any, n_classes: int) -> tuple[str, ...]:
    found = ["accuracy"]
    if n_classes == 2:
        found.append("auc")
    if hasattr(model, "predict_proba"):
        found.append("log_loss")
    return tuple(found)
