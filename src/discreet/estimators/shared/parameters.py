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
        What to do with missing values (NaN) where there is no schema. ``"refuse"`` raises
        an error. ``"blank"`` lets such a row count for nothing in a fit; a prediction puts
        the value at the middle of its range. Infinite values are refused either way."""

RANDOM = """
    random_state
        None draws from the operating system. A seed makes the fit repeatable
        and the guarantee says ``secure=False``."""

LEDGER = """
    ledger
        A :class:`~discreet.Ledger` that this fit is charged to before anything is
        computed from rows. It refuses fits beyond its cap, and seeded fits. None
        charges nothing."""

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
        ``replace-one`` with groups. Where a plan needs a size and none is declared, it is
        refused, or rows are counted with noise by ``algorithm="auto"``.
    rows_per_group
        What is protected. None protects one row. A number protects all rows of one group,
        such as a person; a group then counts as at most so many rows, and ``fit`` takes
        ``groups``.
    group_rule
        What happens to a group with more rows: ``"weight"`` lets all of them count less,
        ``"sample"`` draws those that count, and ``"clip"`` clips the summed gradient of
        the group (noisy gradients only).{RANDOM}{LEDGER}"""

ALGORITHM = """
    algorithm
        Name or instance of an algorithm. ``"auto"`` decides from public facts, and from
        noisy numbers that a part of the budget pays for: it takes the one that usually does
        best at such sizes, even if no bound on its error is known, or else the one with the
        smallest bound. Print ``plan`` to see why.
    settings
        Parameters of an algorithm given by name, such as ``{"steps": 100}``. Pass
        ``algorithm_`` and ``settings_`` of a fit to repeat it."""

CLASS_WEIGHT = """
    class_weight
        Weight of every class, such as ``{"no": 1, "yes": 8}``. You declare it; it is never
        computed from rows. Weights are divided by the largest, so the noise does not
        change; penalties count for more against the lighter classes, and probabilities
        are those of the weighted rows. None weighs all classes alike."""

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
        typical norm of rows. The intercept is penalised like every weight."""

# Papers that docstrings of several estimators name.

CHAUDHURI = """
    Chaudhuri, Monteleoni, Sarwate, *Differentially private empirical risk minimization*, 2011."""

REDBERG = """
    Redberg, Koskela, Wang, *Improving the privacy and practicality of objective perturbation
    for differentially private linear learners*, 2023."""

BASSILY = """
    Bassily, Smith, Thakurta, *Private empirical risk minimization: efficient algorithms and
    tight error bounds*, 2014."""

FITTED = """

    Attributes
    ----------
    coef_, intercept_
        The released weights, in the units of the rows; ``classes_`` of a classifier
        are in their order.
    guarantee_
        The privacy guarantee of the release; ``print`` says it in words.
    algorithm_, settings_, bounds_
        The algorithm of the fit, its parameters, and the bounds that rows are clipped to.
        ``calibrated_clip`` among them is the clip of the calibrated logistic loss, if that
        was fitted in place of the logistic one.
    n_rows_
        The number of rows where it is public, or the declared one; else None.
    n_features_in_, feature_names_in_
        As in scikit-learn."""
