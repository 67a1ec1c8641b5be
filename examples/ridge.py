"""Ridge regression on public diabetes data: what a larger epsilon buys."""

from statistics import mean

from sklearn.datasets import load_diabetes
from sklearn.linear_model import Ridge
from sklearn.model_selection import train_test_split

from discreet import Bounds, PrivateRidge

# On sensitive data the ranges must come from public knowledge; here the data itself is public.
RANGES = [
    (18, 80),  # age
    (1, 2),  # sex
    (15, 45),  # body-mass index
    (60, 140),  # blood pressure
    (90, 310),  # total cholesterol
    (40, 250),  # low-density lipoproteins
    (20, 100),  # high-density lipoproteins
    (2, 10),  # their ratio
    (3, 6.5),  # log of triglycerides
    (55, 125),  # blood sugar
]
bounds = Bounds(features=RANGES, label=(25, 350))

X, y = load_diabetes(return_X_y=True, scaled=False)
X_fit, X_test, y_fit, y_test = train_test_split(X, y, random_state=0)

# Before any row is read: noise and expected error of the fit.
plan = PrivateRidge(epsilon=1.0, delta=1e-5, bounds=bounds).plan(n_features=10, n_rows=len(X_fit))
print(plan)


def score(epsilon: float) -> float:
    """Return R2 on test rows of a new private fit."""
    model = PrivateRidge(epsilon=epsilon, delta=1e-5, bounds=bounds).fit(X_fit, y_fit)
    return model.score(X_test, y_test)


# Noise makes single fits vary, so this averages ten. On sensitive data every fit is paid for.
print()
for epsilon in (0.3, 1.0, 3.0, 10.0):
    print(f"epsilon {epsilon:4g}: mean R2 {mean(score(epsilon) for _ in range(10)):.2f}")
print(f"not private:  R2 {Ridge(alpha=1e-3).fit(X_fit, y_fit).score(X_test, y_test):.2f}")
