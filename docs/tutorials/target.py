# %% [markdown]
# # An accuracy target
#
# A product owner does not ask for epsilon. She asks for a model that is good enough. `AccuracyFirst` takes the error that may remain and the most you are willing to spend, and spends no more than that error takes.
#
# The table is California housing: 20,640 districts, and the median value of their houses.

# %%
import numpy as np
import pandas as pd

from data import path  # data.py: where the public files are, see below
from discreet import AccuracyFirst, Bounds, PrivateRidge

columns = "longitude latitude age rooms bedrooms population households income value".split()
table = pd.read_csv(path("california-housing/cal_housing.data.gz"), names=columns)
table = table.sample(frac=1.0, random_state=0)
features = ["age", "income", "latitude", "longitude"]
train, test = table[:15_000], table[15_000:]

# %% [markdown]
# ## Say what is public, and what is good enough
#
# Errors are per row and scaled: labels lie in [-1, 1], and the loss is half the squared residual. A model that is off by a quarter of the label range on every row has a loss of 0.125.

# %%
bounds = Bounds(
    features={"age": (1, 52), "income": (0, 15), "latitude": (32, 42), "longitude": (-125, -114)},
    label=(0, 500_001),
)
for target in (0.1, 0.08, 0.055):
    model = AccuracyFirst(
        PrivateRidge(bounds=bounds), metric="loss", max_error=target, max_epsilon=2.0
    )
    model.fit(train[features], train["value"])
    print(f"--- loss of at most {target}")
    print(model.summary_)

# %% [markdown]
# A harder target usually costs more, but chance plays a part. What was not needed stays unspent, and a [ledger](../ledger.md) refunds it.

# %%
predicted = model.estimator_.predict(test[features])
residual = (predicted - test["value"]) / 250_000
print("loss on new rows:", np.mean(residual**2 / 2).round(4))

# %% [markdown]
# The guarantee is *ex-post*: it tells what this one output cost. The most that any output could have cost is the reserve.

# %%
print(model.guarantee_)

# %% [markdown]
# Read on: [accuracy first](../accuracy-first.md).
