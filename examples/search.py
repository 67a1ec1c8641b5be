"""Choose a setting by GridSearchCV in a pipeline, and count beforehand what it spends.

The candidates are compared on rows that are public. Then the comparison is free
and only the fits on sensitive rows cost: one per candidate and one at the end.
Ordinary cross-validation would also read raw scores of the sensitive rows, and
no guarantee covers that.
"""

from dataclasses import replace

import numpy as np
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import GridSearchCV, PredefinedSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from discreet import Bounds, PrivateLogisticRegression
from discreet.accounting import Approximate

X, y = load_breast_cancer(return_X_y=True)
X = X[:, [20, 21, 27]]  # worst radius, texture, concave points
public = np.arange(len(X)) % 4 == 0  # pretend that these rows are public and the rest is not

bounds = Bounds(features=[(2, 6), (3, 7), (0, 0.6)], classes=(0, 1))
model = PrivateLogisticRegression(epsilon=0.5, delta=1e-6, bounds=bounds)
strengths = [0.01, 0.1, 1.0]

# Plans know their guarantee, so the bill is there before any row is read.
first, *others = (
    clone(model).set_params(C=C).plan(3, int((~public).sum())).guarantee for C in strengths
)
# Which setting the last fit has is not known yet, so it is entered by its budget alone.
last = replace(first, event=Approximate(model.epsilon, model.delta))
print(f"{len(strengths) + 1} fits of epsilon = {model.epsilon} together:\n")
print(first.compose(*others, last))

# A step before the model may reshape rows one by one, but must not learn from them.
search = GridSearchCV(
    make_pipeline(FunctionTransformer(np.sqrt), model),
    {"privatelogisticregression__C": strengths},
    cv=PredefinedSplit(np.where(public, 0, -1)),
).fit(X, y)
print(f"\nchosen: {search.best_params_}")
