"""``PrivateRidge`` with several labels for each row."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import r2_score

from discreet import Bounds, PrivateElasticNet, PrivateRidge, load
from discreet.errors import Incompatible, InvalidData

RANDOM = np.random.default_rng(5)
N = 3000
X = RANDOM.uniform(0, 10, (N, 3))
W = np.array([[1.0, -1.0], [0.5, 2.0], [0.0, 1.0]])
Y = X @ W + 3.0
BOUNDS = Bounds(features=(0, 10), label=(-40, 40))


@pytest.fixture(scope="module")
def model():
    return PrivateRidge(epsilon=3.0, bounds=BOUNDS, random_state=0).fit(X, Y)


def test_each_output_has_its_weights_in_the_users_units(model):
    assert model.coef_.shape == (2, 3)
    assert model.intercept_.shape == (2,)
    assert np.abs(model.coef_ - W.T).max() < 0.5
    assert model.predict(X).shape == (N, 2)
    assert model.score(X, Y) == pytest.approx(r2_score(Y, model.predict(X)))
    assert model.guarantee_.epsilon == 3.0
    assert model.guarantee_.theorem == "sufficient-statistics"


def test_a_fit_is_what_was_planned_and_is_kept(model, tmp_path):
    plan = PrivateRidge(epsilon=3.0, bounds=BOUNDS).plan(3, N, n_outputs=2)
    assert plan.guarantee.event == model.guarantee_.event
    model.save(tmp_path / "m.json")
    again = load(tmp_path / "m.json")
    assert (again.predict(X) == model.predict(X)).all()
    assert model.to_sklearn().predict(X) == pytest.approx(model.predict(X))


def test_noise_is_that_of_one_release_for_all_outputs():
    # Deviation of the cross moments relative to that of a single label: the sensitivity grows from
    # R sqrt(R^2 + 1) to R sqrt(R^2 + 2), not by a factor of two.
    options = {"algorithm": "sufficient-statistics", "bounds": BOUNDS}
    one, two = (PrivateRidge(**options).plan(3, N, n_outputs=k) for k in (1, 2))
    square = one.problem.row_norm**2
    ratio = two.noise.scale * two.moments.row_scale**2 / one.noise.scale / one.moments.row_scale**2
    scales = (two.moments.label_scale, one.moments.label_scale)
    exact = np.hypot(1, np.sqrt(2) / scales[0] * two.moments.row_scale / np.sqrt(square))
    exact /= np.hypot(1, 1 / scales[1] * one.moments.row_scale / np.sqrt(square))
    assert ratio == pytest.approx(exact, rel=1e-3)


def test_one_column_is_one_output_and_frames_are_taken():
    flat = PrivateRidge(bounds=BOUNDS, random_state=0).fit(X, Y[:, 0])
    assert flat.coef_.shape == (3,)
    frame = pd.DataFrame(Y, columns=["a", "b"])
    both = PrivateRidge(epsilon=3.0, bounds=BOUNDS, random_state=0).fit(pd.DataFrame(X), frame)
    assert both.coef_.shape == (2, 3)


@pytest.mark.parametrize(
    "options",
    [
        {"clip": 1.0},
        {"algorithm": "noisy-gradient"},
        {"inference": "table"},
        {"missing": "blank"},
        {"rows_per_group": 2},
    ],
    ids=str,
)
def test_what_is_for_one_output_is_refused(options):
    model = PrivateRidge(bounds=BOUNDS, **options)
    with pytest.raises(Incompatible, match=r"one output|Several outputs|each"):
        model.fit(X, Y)
    assert not hasattr(model, "coef_")


def test_other_regressors_and_missing_labels_are_refused():
    with pytest.raises(InvalidData):
        PrivateElasticNet(bounds=BOUNDS).fit(X, Y)
    lost = Y.copy()
    lost[3, 1] = np.nan
    with pytest.raises(InvalidData):
        PrivateRidge(bounds=BOUNDS).fit(X, lost)
