# %% [markdown]
# # A messy survey
#
# NHANES asks Americans about their health. The table has words, yes and no, numbers and many empty cells. You go from the raw file to a private model of diabetes, a private evaluation and a card, without preparing a single column by hand.

# %%
import pandas as pd

from data import path  # data.py: where the public files are, see below
from discreet import (
    Boolean,
    Categories,
    Ordinal,
    PrivateLogisticRegression,
    Range,
    Schema,
    evaluate,
)
from discreet.report import card_text

table = pd.read_csv(path("nhanes-2009-2012/NHANESraw.csv.gz"), low_memory=False)
columns = ["Gender", "Age", "Race1", "Education", "BMI", "BPSysAve", "PhysActive", "Diabetes"]
print(table[columns].sample(5, random_state=1).to_string(index=False))
print("\nempty cells:")
print(table[columns].isna().mean().round(2).to_string())

# %% [markdown]
# ## Declare the columns
#
# The code book of the survey says what each column may hold. You copy that; you never compute it from the rows. What you do not declare is not read.
#
# Empty cells are part of the declaration. With `missing="indicator"` a cell that is empty counts as the middle of its range, and a further column says that it was empty. People who were not asked about diabetes cannot be learned from: their rows count for nothing (`missing="blank"`).

# %%
schema = Schema(
    {
        "Gender": Categories(["female", "male"]),
        "Age": Range(0, 80),
        "Race1": Categories(["Black", "Hispanic", "Mexican", "White", "Other"]),
        "Education": Ordinal(
            ["8th Grade", "9 - 11th Grade", "High School", "Some College", "College Grad"],
            missing="indicator",
        ),
        "BMI": Range(12, 60, missing="indicator"),
        "BPSysAve": Range(80, 200, missing="indicator"),
        "PhysActive": Boolean(missing="indicator"),
        "Diabetes": Categories(["No", "Yes"], missing="blank"),
    }
)

# %% [markdown]
# ## Ask for the price
#
# A plan needs no data. It says which algorithm will run and why.

# %%
model = PrivateLogisticRegression(epsilon=1.0, delta=1e-6, schema=schema, target="Diabetes")
shuffled = table.sample(frac=1.0, random_state=0)
train, test = shuffled[:14_000], shuffled[14_000:]
print(model.plan(n_rows=14_000))

# %% [markdown]
# ## Fit and look at the weights

# %%
model.fit(train)
weights = pd.Series(model.coef_[0], model.feature_names_in_)
print(weights.round(3).to_string())

# %% [markdown]
# ## How good is it?
#
# The test rows belong to people too, so the scores are released with noise. The test rows are not among the training rows: everybody pays once.

# %%
print(evaluate(model, test, epsilon=1.0, delta=1e-6))

# %% [markdown]
# ## The card
#
# The card says in plain words what is guaranteed. It goes with the model.

# %%
print(card_text(model))

# %% [markdown]
# The same from the shell: write the columns to `schema.toml`, then `discreet plan`, `fit`, `evaluate` and `card`. Read on: [tables and schemas](../schema.md), [rare classes](rare.md), [what the guarantee says](../guarantees.md).
