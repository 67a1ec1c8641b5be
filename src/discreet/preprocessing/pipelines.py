"""What a fitted pipeline costs as a whole."""

from __future__ import annotations

from typing import Any

from discreet.accounting import Guarantee
from discreet.errors import Incompatible, InvalidParameter
from discreet.schema.encoder import SchemaEncoder
from discreet.schema.stateless import instead, learns_freely, leaves, own


def pipeline_guarantee(pipe: Any) -> Guarantee:
    """Return the guarantee of all steps of a fitted pipeline together.

    Costs of steps with a guarantee add up. Steps that read no row are allowed. A step that
    learned from rows without a guarantee is refused, and so is one that is not known.
    A ``FunctionTransformer`` is trusted: its function must treat each row by itself.
    All budgets must have been fixed before the first step was fitted.

    Parameters
    ----------
    pipe
        A fitted ``Pipeline``, ``ColumnTransformer`` or ``FeatureUnion`` of scikit-learn, or
        any estimator of this library.

    Returns
    -------
    Guarantee
        Of publishing the whole pipeline.

    See Also
    --------
    Guarantee.compose : Adds up guarantees.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.pipeline import make_pipeline
    >>> from discreet import Bounds, PrivateBounds, PrivateRidge, pipeline_guarantee
    >>> X = np.random.default_rng(0).normal(size=(5000, 2))
    >>> ridge = PrivateRidge(epsilon=0.9, bounds=Bounds(features=(-1, 1), label=(-3, 3)))
    >>> pipe = make_pipeline(PrivateBounds(epsilon=0.1, scale=True), ridge).fit(X, X[:, 0])
    >>> pipeline_guarantee(pipe).epsilon <= 1.0
    True
    """
    steps = list(leaves(pipe))
    # privacy: an attribute of that name is not enough, only what can be added up.
    free = [s for s in steps if learns_freely(s) or (hasattr(s, "guarantee_") and not _made(s))]
    if free:
        raise Incompatible(
            "This pipeline has no guarantee: these steps learned from the rows without one, and "
            f"their results reach the model: {'; '.join(map(instead, free))}."
        )
    # privacy: whatever has a guarantee is counted, also where a class is not of this library, and
    # what is not fitted is refused, so that no cost is left out.
    counted = [s for s in steps if _made(s) or (own(s) and not isinstance(s, SchemaEncoder))]
    unfitted = [type(step).__name__ for step in counted if not _made(step)]
    if unfitted:
        raise InvalidParameter(
            f"Without a guarantee yet: {', '.join(unfitted)}. Fit the pipeline first."
        )
    if not counted:
        raise InvalidParameter(
            "This pipeline has no step with a guarantee. Add a private estimator."
        )
    found: list[Guarantee] = [step.guarantee_ for step in counted]
    for what, values in (
        ("neighbours", {g.neighbours for g in found}),
        ("units of privacy", {g.unit for g in found}),
    ):
        if len(values) > 1:
            raise Incompatible(
                f"The steps of this pipeline are about different {what}: {sorted(values)}. Give "
                "all of them the same."
            )
    return found[0].compose(*found[1:])


def _made(step: Any) -> bool:
    return isinstance(getattr(step, "guarantee_", None), Guarantee)
