"""IBM diffprivlib's linear regression (functional mechanism, pure epsilon)."""

import warnings

import diffprivlib
import numpy as np
import sklearn
from diffprivlib.models import LinearRegression
from protocol import budget, serve


def fit(X, y, noise, setting, seed):
    """Fit with the declared bounds; the intercept comes last."""
    model = LinearRegression(
        epsilon=noise[0], bounds_X=(-1.0, 1.0), bounds_y=(-1.0, 1.0), random_state=seed
    ).fit(X, y)
    return np.append(model.coef_, model.intercept_)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    versions = {"diffprivlib": diffprivlib.__version__, "scikit-learn": sklearn.__version__}
    serve(budget, fit, versions)
