"""How estimators declare their parameters, and the texts many of them share.

scikit-learn reads the parameters of an estimator off its constructor. Here a
class lists them as annotated defaults, those of its bases included, and gets
the constructor that scikit-learn expects: keyword-only, and storing every value
unchanged. What a fit leaves behind is annotated in plain classes outside this
machinery, so that it can never be passed in.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, dataclass_transform


@dataclass_transform(kw_only_default=True, eq_default=False, field_specifiers=(field,))
class Configured:
    """Gives every subclass a constructor of its annotated defaults.

    Examples
    --------
    >>> class Base(Configured):
    ...     epsilon: float = 1.0
    >>> class Model(Base):
    ...     alpha: float = 0.5
    >>> vars(Model(alpha=2.0))
    {'epsilon': 1.0, 'alpha': 2.0}
    """

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        # Identity and printing stay those of scikit-learn.
        dataclass(kw_only=True, eq=False, repr=False, match_args=False)(cls)


TABLES = """
    schema, target
        Declared :class:`~discreet.Schema` of a table, and the name of the column to
        predict. ``fit`` and ``predict`` then take a data frame or an Arrow table as
        it is, the model keeps the schema, and ``bounds`` may add what it lacks. Names
        and numbers of features are those of the encoded table.
    bounds_share
        Share of the budget for ranges and categories that schema or bounds leave as
        ``"private"``. They are learned first, within the one guarantee.
    missing
        Rows with a missing value (NaN), where there is no schema: ``"refuse"``, or
        ``"blank"``, which lets a row count for nothing in a fit, and puts a missing
        value at the middle of its range in a prediction. Infinite values are refused
        either way."""

RANDOM = """
    random_state
        None draws from the operating system. A seed makes the fit repeatable
        and the guarantee says ``secure=False``."""

LEDGER = """
    ledger
        A :class:`~discreet.Ledger` that this fit is charged to before anything is
        computed from rows. It refuses what does not fit, and seeded fits. None
        counts nothing."""

COMMON = f"""
    Parameters
    ----------
    epsilon, delta
        Privacy budget of one fit. ``delta=0`` asks for pure epsilon-privacy.
    bounds
        Declared :class:`~discreet.Bounds`, or a mapping of them. Rows and
        labels are clipped to them, new rows too; they are never read from the
        data.{TABLES}
    neighbours
        ``"zero-out"``, ``"replace-one"`` or ``"add-remove"``.
    n_rows
        Declared size of the data; used under ``add-remove`` only, and under
        ``replace-one`` with groups.
    rows_per_group
        What is protected: None for one row; a number for all rows of one group, such as
        a person, which then counts as at most so many rows. ``fit`` takes ``groups``.
    group_rule
        What becomes of a group's further rows: ``"weight"`` lets all of them count less,
        ``"sample"`` draws as many as may count, and ``"clip"`` clips the summed gradient of
        the group, by noisy gradients only.{RANDOM}{LEDGER}"""

ALGORITHM = """
    algorithm
        Name of an algorithm, an instance of one, or ``"auto"``, which decides by
        public facts: one that usually does best at such sizes, even if no bound
        on its error is known, or else the one with the smallest bound. ``print`` of
        ``plan`` says why.
    settings
        Parameters of an algorithm given by name, such as ``{"steps": 100}``. What a fit
        leaves in ``algorithm_`` and ``settings_`` repeats it if both are passed."""

CLASS_WEIGHT = """
    class_weight
        Weight of every class, as ``{"no": 1, "yes": 8}``: declared, never counted from
        rows. Weights are divided by the largest, so noise stays as it is, penalties
        weigh against a sum that counts the other classes less, and probabilities are
        those of rows that are weighted so. None weighs all alike."""

GUESS = """
    norm_guess
        Public guess of the norm of good weights in the scaled domain: what you would
        expect without noise. Only accuracy depends on it."""

PENALTIES = """
    regularizer, constraint
        Further penalty and hard constraint on the weights, in the scaled domain."""

INTERCEPT = """
    fit_intercept, intercept_scaling
        Whether to append a constant feature, and its size as a fraction of the
        row norm. The intercept is penalised like every weight."""

FITTED = """

    Attributes
    ----------
    coef_, intercept_
        The released weights, in the units of the rows; ``classes_`` of a classifier
        are in their order.
    guarantee_
        The privacy guarantee of the release; ``print`` says it in words.
    algorithm_, settings_, bounds_
        The algorithm that was taken, its parameters, and the bounds that rows are clipped to.
        ``calibrated_clip`` among them is the clip of the calibrated logistic loss, if that
        was fitted in place of the logistic one.
    n_rows_
        The number of rows where it is public, or the declared one; else None.
    n_features_in_, feature_names_in_
        As in scikit-learn."""
