"""IBM diffprivlib's logistic regression (objective perturbation with pure epsilon)."""

import warnings

import diffprivlib
import sklearn
from diffprivlib.models import LogisticRegression
from protocol import budget, serve


def fit(X, y, noise, setting, seed):
    """Fit with the library's own clipping at norm 1; it has no use for delta."""
    model = LogisticRegression(
        epsilon=noise[0],
        data_norm=1.0,
        C=setting["C"],
        fit_intercept=False,
        tol=1e-7,
        max_iter=2000,
        random_state=seed,
    )
    return model.fit(X, y).coef_[0]


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    versions = {"diffprivlib": diffprivlib.__version__, "scikit-learn": sklearn.__version__}
    serve(budget, fit, versions)
