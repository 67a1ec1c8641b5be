# %% [markdown]
# # A stream
#
# Electricity prices of New South Wales come in every half hour. You predict whether the price goes up, you publish the model every day, and one guarantee covers all models together.

# %%
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from data import path  # data.py: where the public files are, see below
from discreet import Bounds, PrivateStreamClassifier

table = pd.read_csv(path("electricity/elec.csv.gz"))
X, y = table.drop(columns="class").to_numpy(), table["class"].to_numpy()
print(X.shape, "share of rises:", y.mean().round(3))

# %% [markdown]
# ## Learn day by day
#
# The columns were scaled to [0, 1] by those who published them, so the ranges are public. Each day has 48 rows. You predict the day first, then learn from it: that score is honest.

# %%
bounds = Bounds(features=[(0, 1)] * X.shape[1], classes=(0, 1))


def daily_accuracy(epsilon: float) -> np.ndarray:
    model = PrivateStreamClassifier(
        epsilon=epsilon, delta=1e-6, bounds=bounds, n_rows=len(X), batch_size=48
    )
    model.partial_fit(X[:48], y[:48])
    right = []
    for start in range(48, len(X), 48):
        day = slice(start, start + 48)
        right.append(np.mean(model.predict(X[day]) == y[day]))
        model.partial_fit(X[day], y[day])
    print(f"epsilon {epsilon}: {np.mean(right[-365:]):.3f} right in the last year")
    return np.array(right)


paths = {epsilon: daily_accuracy(epsilon) for epsilon in (0.5, 2.0, 8.0)}

# %% [markdown]
# Each number above stands for 943 published models. Their budget was spent once.

# %%
figure, axes = plt.subplots(figsize=(7, 3.6))
for epsilon, right in paths.items():
    axes.plot(pd.Series(right).rolling(60).mean(), label=f"epsilon {epsilon:g}", marker="")
axes.axhline(max(y.mean(), 1 - y.mean()), color="0.5", linestyle=":", label="always 'down'")
axes.set(xlabel="day", ylabel="right, mean of 60 days")
axes.set_title("Predicting each day before learning from it", loc="left")
axes.legend(frameon=False)

# %% [markdown]
# ## What is up to you
#
# No row may be fed twice in a pass, and the order of rows is public. If one person has many rows in the stream, the guarantee is for each row, not for the person. Read on: [streams](../streams.md), [how prefix sums are made private](../proofs/prefix-sums.md).
