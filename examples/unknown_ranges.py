"""Fit a table whose ranges and categories nobody knows, within one budget.

The schema leaves them to the fit. A tenth of the budget learns them first, the rest
fits the model, and one guarantee covers both.
"""

import numpy as np
import pandas as pd

from discreet import Categories, PrivateLogisticRegression, Range, Schema

rng = np.random.default_rng(0)
people = pd.DataFrame(
    {
        "age": rng.uniform(18, 90, 20_000),
        "income": rng.lognormal(10, 0.5, 20_000),
        "job": rng.choice(["office", "field", "sea"], 20_000),
    }
)
people["sick"] = np.where(people.age + 20 * (people.job == "sea") > 70, "yes", "no")

schema = Schema(
    {
        "age": Range("private"),
        "income": Range(0, "private"),
        "job": Categories("private"),
        "sick": Categories(["no", "yes"]),
    }
)
model = PrivateLogisticRegression(epsilon=1.0, delta=1e-6, schema=schema, target="sick")
model.fit(people)
print(model.schema_.to_toml())
print(model.guarantee_)
