"""The models the command line offers."""

from __future__ import annotations

from typing import Any

from discreet.errors import Incompatible

CLASSIFIERS = {"logistic": "PrivateLogisticRegression", "svm": "PrivateLinearSVC"}
REGRESSORS = {
    "ridge": "PrivateRidge",
    "huber": "PrivateHuberRegressor",
    "elastic-net": "PrivateElasticNet",
}
MODELS = CLASSIFIERS | REGRESSORS
ALGORITHMS = ("auto", "objective-perturbation", "output-perturbation", "bolt-on")


def build(name: str | None, *, classes: bool, **settings: Any) -> Any:
    """Return an unfitted estimator; the default suits the target.

    >>> type(build(None, classes=False, epsilon=1.0)).__name__
    'PrivateRidge'
    """
    import discreet

    chosen = name or ("logistic" if classes else "ridge")
    if (chosen in CLASSIFIERS) != classes:
        offered = ", ".join(CLASSIFIERS if classes else REGRESSORS)
        kind = "categories" if classes else "a range"
        raise Incompatible(
            f"Model {chosen!r} does not fit the target, which is declared with {kind}. Use one "
            f"of: {offered}."
        )
    return getattr(discreet, MODELS[chosen])(**settings)
