"""IBM diffprivlib's quantile of one column (exponential mechanism with ranks, pure epsilon)."""

import warnings

import diffprivlib
from diffprivlib.tools import quantile
from protocol import budget, serve


def fit(X, y, noise, setting, seed):
    """Return the quantile of one column within its declared range."""
    values = X[:, setting["column"]]
    return [quantile(values, setting["quantile"], noise[0], tuple(y), random_state=seed)]


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    serve(budget, fit, {"diffprivlib": diffprivlib.__version__})
