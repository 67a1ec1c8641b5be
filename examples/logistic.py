"""Logistic regression on public breast-cancer data, with declared ranges."""

from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

from discreet import Bounds, PrivateLogisticRegression

# Size, texture and shape of cell nuclei. On sensitive data the ranges must come from public
# knowledge; here the data itself is public.
RANGES = {
    "worst radius": (5, 30),
    "worst texture": (10, 40),
    "worst smoothness": (0.05, 0.2),
    "worst concave points": (0, 0.3),
}

data = load_breast_cancer()
X = data.data[:, [list(data.feature_names).index(name) for name in RANGES]]
X_fit, X_test, y_fit, y_test = train_test_split(X, data.target, random_state=0)

model = PrivateLogisticRegression(
    epsilon=1.0,
    delta=1e-5,
    bounds=Bounds(features=list(RANGES.values()), classes=(0, 1)),
).fit(X_fit, y_fit)

print(model.guarantee_)
# The data is public, so its accuracy may be shown.
print(f"test accuracy {model.score(X_test, y_test):.2f}")
