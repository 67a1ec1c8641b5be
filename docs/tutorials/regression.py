# %% [markdown]
# # A regression with intervals
#
# What drives house prices? You fit the value of California districts on a few columns, you want to know which effects are real, and the table is sensitive. A private coefficient is uncertain twice: noise was added, and the rows are a sample. The intervals below count both.

# %%
import numpy as np
import pandas as pd

from data import path  # data.py: where the public files are, see below
from discreet import Bounds, PrivateRidge

columns = "longitude latitude age rooms bedrooms population households income value".split()
table = pd.read_csv(path("california-housing/cal_housing.data.gz"), names=columns)
features = ["age", "income", "latitude"]
bounds = Bounds(
    features={"age": (1, 52), "income": (0, 15), "latitude": (32, 42)},
    label=(0, 500_001),
)

# %% [markdown]
# ## Fit with intervals
#
# `inference="population"` asks for what a statistics package prints. The guarantee is the same as without: the epsilon you named pays for everything.

# %%
model = PrivateRidge(epsilon=2.0, delta=1e-6, bounds=bounds, inference="population")
model.fit(table[features], table["value"])
print(model.summary())

# %% [markdown]
# ## Compare with the answer without privacy
#
# The data is public, so you may look. Ordinary least squares on all rows gives the numbers below.

# %%
design = np.column_stack([table[features], np.ones(len(table))])
plain = np.linalg.lstsq(design, table["value"], rcond=None)[0]
low, high = model.interval().T
for name, value, a, b in zip([*features, "intercept"], plain, low, high, strict=True):
    print(f"{name:10} {value:14,.0f}   inside {a:,.0f} to {b:,.0f}: {a <= value <= b}")

# %% [markdown]
# ## What a smaller epsilon costs
#
# The interval gets wider. Where noise hides a direction of the data, there is no interval at all, and the summary says so.

# %%
for epsilon in (0.2, 1.0, 2.0, 8.0):
    fitted = PrivateRidge(epsilon=epsilon, delta=1e-6, bounds=bounds, inference="population")
    fitted.fit(table[features], table["value"])
    low, high = fitted.interval()[1]
    print(f"epsilon {epsilon:3}: one more unit of income adds {low:,.0f} to {high:,.0f}")

# %% [markdown]
# Each of these four fits spent its epsilon; on sensitive rows they would add up ([a team's budget](budget.md)). Read on: [intervals of coefficients](../intervals.md), [noisy second moments](../proofs/inference/augmented-moments.md).
