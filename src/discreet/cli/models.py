"""The models the command line offers."""

from __future__ import annotations

from typing import Any

from discreet.checks import one_of
from discreet.errors import Incompatible

CLASSIFIERS = {"logistic": "PrivateLogisticRegression", "svm": "PrivateLinearSVC"}
REGRESSORS = {
    "ridge": "PrivateRidge",
    "huber": "PrivateHuberRegressor",
    "elastic-net": "PrivateElasticNet",
}
MODELS = CLASSIFIERS | REGRESSORS


def build(name: str | None, *, classes: bool, algorithm: str = "auto", **settings: Any) -> Any:
    """Return an unfitted estimator; the default suits the target.

    >>> type(build(None, classes=False, epsilon=1.0)).__name__
    'PrivateRidge'
    """
    import discreet
    from discreet.algorithms import ALGORITHMS

    one_of("algorithm", algorithm, ("auto", *ALGORITHMS))

    chosen = name or ("logistic" if classes else "ridge")
    if (chosen in CLASSIFIERS) != classes:
        offered = ", ".join(CLASSIFIERS if classes else REGRESSORS)
        kind = "categories" if classes else "a range"
        raise Incompatible(
            f"Model {chosen!r} does not fit the target, which is declared with {kind}. Use one "
            f"of: {offered}."
        )
    return getattr(discreet, MODELS[chosen])(algorithm=algorithm, **settings)
