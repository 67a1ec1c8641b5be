# %% [markdown]
# # Patients with many rows
#
# A hospital keeps one row per stay, and many patients stayed more than once (the *Diabetes 130-US hospitals* data: 101,766 stays of 71,518 patients). Privacy per row hides one stay. The patient wants all their stays hidden at once. You fit both ways and compare what is guaranteed and what it costs.

# %%
import zipfile

import numpy as np
import pandas as pd
from sklearn.metrics import roc_auc_score

from data import path  # data.py: where the public files are, see below
from discreet import Categories, Ordinal, Person, PrivateLogisticRegression, Range, Schema

archive = zipfile.ZipFile(path("diabetes130/dataset_diabetes.zip"))
with archive.open("dataset_diabetes/diabetic_data.csv") as file:
    stays = pd.read_csv(file, na_values="?", low_memory=False)
stays["early"] = np.where(stays["readmitted"] == "<30", "yes", "no")
counts = stays["patient_nbr"].value_counts()
print(f"{len(stays):,} stays of {len(counts):,} patients, at most {counts.max()} of one patient")
for most in (1, 2, 5):
    print(f"patients with at most {most}: {(counts <= most).mean():.1%}")

# %% [markdown]
# This table is public, so you may look at these counts. On sensitive rows they are a secret, too: you declare how many stays may count from what you know of hospitals.
#
# ## Declare the columns
#
# The target is whether the patient comes back within 30 days.

# %%
decades = [f"[{age}-{age + 10})" for age in range(0, 100, 10)]
columns = {
    "age": Ordinal(decades),
    "gender": Categories(["Female", "Male"], missing="indicator"),
    "time_in_hospital": Range(1, 14),
    "num_lab_procedures": Range(0, 100),
    "num_medications": Range(0, 60),
    "number_inpatient": Range(0, 5),
    "number_emergency": Range(0, 5),
    "number_diagnoses": Range(1, 16),
    "insulin": Categories(["No", "Steady", "Up", "Down"]),
    "diabetesMed": Categories(["No", "Yes"]),
    "early": Categories(["no", "yes"]),
}
per_stay = Schema(columns)
per_patient = Schema(columns | {"patient_nbr": Person(rows=2)})

# %% [markdown]
# `Person` names the column that says whose row it is. It is no feature. With `rows=2` nobody counts for more than two stays: each stay of a patient with four counts one half.
#
# ## Keep patients together
#
# Test patients must not be training patients, or the model is tested on people it has seen.

# %%
patients = np.random.default_rng(0).permutation(stays["patient_nbr"].unique())
held = stays["patient_nbr"].isin(patients[: len(patients) // 5])
train, test = stays[~held], stays[held]


def area(model):
    """Return the area under the ROC curve on the test stays."""
    place = list(model.classes_).index("yes")
    return roc_auc_score(test["early"] == "yes", model.predict_proba(test)[:, place])


# %% [markdown]
# ## Protect a stay

# %%
row = PrivateLogisticRegression(epsilon=1.0, delta=1e-6, schema=per_stay, target="early")
row.fit(train)
print(row.guarantee_)

# %% [markdown]
# The first line says *per row*. What it says about a patient depends on how many stays the patient has. `for_group(k)` tells, for patients with at most `k` stays.

# %%
for k in (1, 2, 3, 5, 10):
    epsilon = row.guarantee_.for_group(k).epsilon
    print(f"{k:2d} stays: epsilon {epsilon:.1f}")

# %% [markdown]
# The guarantee weakens with every stay, and nothing bounds the number of stays. Patients who come most often are the sickest, and they are protected least.
#
# ## Protect a patient

# %%
patient = PrivateLogisticRegression(epsilon=1.0, delta=1e-6, schema=per_patient, target="early")
patient.fit(train)
print(patient.guarantee_)

# %% [markdown]
# *Per group*: the guarantee covers every patient, with two stays or with forty.
#
# ## What it costs
#
# Noise grows with the number of stays that may count. Fewer stays mean less noise and less to learn from.

# %%
print(f"per stay,             epsilon 1: AUC {area(row):.3f}")
for rows in (1, 2, 5):
    model = PrivateLogisticRegression(
        epsilon=1.0,
        delta=1e-6,
        schema=Schema(columns | {"patient_nbr": Person(rows=rows)}),
        target="early",
    ).fit(train)
    print(f"per patient, {rows} count, epsilon 1: AUC {area(model):.3f}")

# %% [markdown]
# Each line is one fit with fresh noise, so small differences mean nothing; [privacy per person](../groups.md) has means over several splits. These scores were computed on public rows without noise. On sensitive rows, `evaluate` scores per patient by the same schema.
#
# Declare `rows` before you see a result. Trying several on sensitive rows, as this page does on public ones, spends the budget several times.
#
# Read on: [privacy per person](../groups.md), [what the guarantee says](../guarantees.md), [a team's budget](budget.md).
