"""A release that never changes, to hold forms of its card against kept files."""

import numpy as np
import pytest

from discreet import Boolean, Categories, Guarantee, PrivateLogisticRegression, Range, Schema
from discreet.accounting import Gaussian
from discreet.estimators.shared.claims import ALWAYS_ASSUMED
from discreet.report import About

HOSTILE = (
    "</style><script>alert(1)</script>'\"><img src=x onerror=x>\n---\n# *a* | b: [c](d) \u202e"
)


def make_model(hostile=False):
    """Return a fitted model without a fit: its weights and guarantee are stated."""
    name = HOSTILE.replace("\n", " ") if hostile else "ward"
    schema = Schema(
        {
            "age": Range(18, 90),
            name: Categories(["surgery", name, "other"]),
            "smoker": Boolean(),
            "return": Categories(["no", "yes"]),
        }
    )
    model = PrivateLogisticRegression(epsilon=1.0, delta=1e-6, schema=schema, target="return")
    model.classes_ = np.array(["no", "yes"])
    model.feature_names_in_ = np.array(schema.names("return"), dtype=object)
    model.n_features_in_ = len(model.feature_names_in_)
    model.coef_ = np.array([[0.05, -0.5, 0.25, 0.125, 1.0]])
    model.intercept_ = np.array([-2.0])
    model.algorithm_, model.settings_, model.n_rows_ = "noisy-gradient", {}, 14000
    model.bounds_ = schema.bounds_for("return")
    model.guarantee_ = Guarantee(
        epsilon=1.0,
        delta=1e-6,
        neighbours="zero-out",
        event=Gaussian(4.22467888932982),
        theorem="noisy-gradient/full-batch",
        assumptions=ALWAYS_ASSUMED,
    )
    return model


@pytest.fixture
def model():
    return make_model()


@pytest.fixture
def hostile_model():
    return make_model(hostile=True)


@pytest.fixture
def about():
    return About(
        name="Risk of return",
        dataset="Admissions 2029",
        curators=["St. Example Hospital"],
        authors=["A. Analyst"],
        description="Logistic regression of return within 30 days.",
        intended_use="Planning of follow-up calls.",
        region="Example County",
        sector="Healthcare",
        date="2030-01-02",
        tuning="Columns and ranges were chosen by clinicians, without a look at rows.",
        license="apache-2.0",
    )


@pytest.fixture
def hostile_about():
    words = {"name", "dataset", "description", "intended_use", "region", "tuning", "actors"}
    words |= {"justification", "sources", "notes", "license"}
    said = dict.fromkeys(words, HOSTILE)
    return About(**said, date="2030-01-02", curators=[HOSTILE], authors=[HOSTILE])
