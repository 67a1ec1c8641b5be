# %% [markdown]
# # A team's budget
#
# Three analysts work on one table. Every model they publish spends privacy of the same people. You keep the account: a **ledger** with a cap that all releases together never pass, even if each analyst chooses the next model after seeing the last.
#
# The table is *Adult*, 32,561 rows of the 1994 US census.

# %%
import pandas as pd

from data import path  # data.py: where the public files are, see below
from discreet import Categories, Ledger, PrivateLogisticRegression, Range, Schema, evaluate

columns = (
    "age workclass fnlwgt education years marital job relationship race sex "
    "gain loss hours country income"
).split()
table = pd.read_csv(path("adult/adult.data.gz"), names=columns, skipinitialspace=True)
train, test = table[:26_000], table[26_000:]

# %% [markdown]
# ## Open the account
#
# The cap is the only number that the people in the table need: whatever happens, an attacker learns no more than `epsilon = 3`, `delta = 1e-6` allows.

# %%
ledger = Ledger.create("census.ledger", dataset="census", epsilon=3.0, delta=1e-6)
print(ledger.guarantee())

# %% [markdown]
# ## The first analyst
#
# She declares what is public: ranges and categories. They come from the questionnaire, not from the rows. Then she passes `ledger=`.

# %%
schema = Schema(
    {
        "age": Range(17, 90),
        "years": Range(1, 16),
        "hours": Range(1, 99),
        "sex": Categories(["Female", "Male"]),
        "marital": Categories(["Married-civ-spouse", "Never-married", "Divorced"], other="other"),
        "income": Categories(["<=50K", ">50K"]),
    }
)
model = PrivateLogisticRegression(
    epsilon=1.0, delta=1e-7, schema=schema, target="income", ledger=ledger
)
model.fit(train)
print(pd.Series(model.coef_[0], model.feature_names_in_).round(3))

# %% [markdown]
# ## The second analyst
#
# He wants to know how good that model is. Scores of sensitive rows are a release too, so he evaluates privately, on rows that the model has not seen, and pays from the same account.

# %%
print(evaluate(model, test, epsilon=0.2, delta=1e-7, ledger=ledger))

# %% [markdown]
# ## What is left
#
# `affordable` prices a plan. Nothing is read.

# %%
for epsilon in (0.1, 0.5, 1.0):
    model.set_params(epsilon=epsilon)
    plan = model.plan(n_rows=26_000)
    print(f"a fit at epsilon {epsilon:g}", ledger.affordable(plan))

# %% [markdown]
# ## The third analyst
#
# She asks for too much. The ledger refuses before a row is read, so nothing is spent.

# %%
from discreet.errors import DiscreetError

try:
    PrivateLogisticRegression(
        epsilon=2.5, delta=1e-7, schema=schema, target="income", ledger=ledger
    ).fit(train)
except DiscreetError as refusal:
    print(type(refusal).__name__, refusal, sep=": ")

# %% [markdown]
# ## Answer the auditor
#
# The history is append-only and hash-chained. `discreet ledger statement census.ledger --out statement.html` writes the same as a page.

# %%
for entry in ledger.history():
    print(entry.state, entry.model, entry.algorithm, sep=", ")

# %% [markdown]
# Read on: [the ledger](../ledger.md), [private evaluation](../evaluation.md), [the proof of the cap](../proofs/composition/ledger.md).
