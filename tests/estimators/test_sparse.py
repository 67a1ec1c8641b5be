"""Sparse models as scikit-learn estimators: checks, memory, stages and files."""

from __future__ import annotations

import pickle
import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp

from discreet import (
    Bounds,
    Budget,
    PrivateLasso,
    PrivateSparseLogisticRegression,
    PrivateSparseRegression,
    load,
)
from discreet.errors import Incompatible
from discreet.estimators import NoStableSupport, UndeclaredBounds

REAL = Bounds(features=(-1, 1), label=(-1, 1))


def wide(n: int = 2000, p: int = 100_000, nonzeros: int = 20) -> tuple[sp.csr_array, np.ndarray]:
    """Sparse rows of which feature 3 gives the label."""
    rng = np.random.default_rng(0)
    index = rng.integers(10, p, size=(n, nonzeros))
    index[:, 0] = 3
    X = sp.csr_array(
        (rng.choice([-1.0, 1.0], n * nonzeros), index.ravel(), nonzeros * np.arange(n + 1)),
        shape=(n, p),
    )
    X.sum_duplicates()
    return X, X[:, [3]].toarray().ravel()


def planted(n: int = 6000, p: int = 40) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(1)
    X = rng.uniform(-1, 1, size=(n, p))
    return X, X[:, 1] * 0.5 - X[:, -1] * 0.4 + 0.02 * rng.normal(size=n)


@pytest.mark.parametrize(
    "model",
    [
        PrivateLasso(bounds=REAL, steps=5),
        PrivateLasso(bounds=REAL, steps=5, threshold=0.5, stale=0.05),
        PrivateSparseLogisticRegression(
            bounds=Bounds(features=(-1, 1), classes=(-1, 1)), steps=5, stale=0.05
        ),
        PrivateSparseLogisticRegression(bounds=Bounds(features=(-1, 1), classes=(-1, 1)), steps=3),
    ],
    ids=["squared", "huber", "stale", "fresh"],
)
def test_wide_sparse_rows_are_never_made_dense(model: PrivateLasso) -> None:
    X, y = wide(700)
    model.set_params(epsilon=24.0, random_state=0)
    model.fit(X[:50], y[:50])  # imports and caches
    tracemalloc.start()
    model.fit(X, y)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    # Dense rows would take 560 MB; a few vectors of the dimension and copies of X take little.
    assert peak < 60e6
    assert np.abs(model.coef_).argmax() == 3
    assert np.count_nonzero(model.coef_) <= 5
    assert model.score(X, y) > 0.9


def test_sparsified_models_predict_the_same_and_save_the_same(tmp_path: object) -> None:
    X, y = wide(500, 300)
    bounds = Bounds(features=(-1, 1), classes=(-1, 1))
    models = [
        PrivateLasso(bounds=REAL, steps=4, random_state=0).fit(X, y),
        PrivateSparseLogisticRegression(bounds=bounds, steps=4, random_state=0).fit(X, y),
    ]
    for model in models:
        expected, text = model.predict(X), model.to_dict()
        assert sp.issparse(model.sparsify().coef_)
        assert model.coef_.nnz <= 4
        assert (model.predict(X) == expected).all()
        assert (model.predict(X.toarray()) == expected).all()
        assert model.to_dict() == text
        path = tmp_path / "model.json"  # type: ignore[operator]
        model.save(path)
        again = load(path)
        assert (again.predict(X) == expected).all()
        assert again.guarantee_ == model.guarantee_
        assert model.densify().coef_.shape == again.coef_.shape


@pytest.mark.parametrize("selector", ["votes", "exponential", "forward", "stability"])
@pytest.mark.parametrize("neighbours", ["zero-out", "replace-one", "add-remove"])
def test_selectors_find_a_planted_support(selector: str, neighbours: str) -> None:
    X, y = planted()
    model = PrivateSparseRegression(
        epsilon=20.0, size=2, bounds=REAL, selector=selector, neighbours=neighbours, random_state=3
    )
    if neighbours == "add-remove":
        model.set_params(n_rows=6000)
    model.fit(X, y)
    assert model.support_.tolist() == [1, 39]
    assert model.score(X, y) > 0.9
    again = type(model).from_dict(model.to_dict())
    assert again.support_.tolist() == [1, 39]
    assert again.stages_ == model.stages_


def test_the_cost_is_split_by_stage() -> None:
    X, y = planted(500, 10)
    model = PrivateSparseRegression(epsilon=2.0, delta=1e-5, share=0.25, size=2, bounds=REAL)
    model.fit(X, y)
    first, second = Budget(2.0, 1e-5).split(0.25)
    assert model.stages_ == {"support": first, "fit": second}
    assert (first.epsilon, second.epsilon) == (0.5, 1.5)
    text = str(model.guarantee_)
    assert "stage 'support' costs epsilon = 0.5" in text
    assert "stage 'fit' costs epsilon = 1.5" in text
    assert model.guarantee_.event.delta(2.0) <= 1e-5
    # Laplace votes need no delta, so the fit gets all of it.
    model.set_params(vote_noise="laplace").fit(X, y)
    assert model.stages_ == {"support": Budget(0.5), "fit": Budget(1.5, 1e-5)}


@pytest.mark.parametrize(
    "change",
    [{"share": 0.75}, {"selector": "exponential"}, {"epsilon": 9.0}, {"vote_noise": "laplace"}],
    ids=str,
)
def test_what_a_stage_cost_does_not_follow_later_settings(change: dict[str, object]) -> None:
    X, y = planted(500, 10)
    model = PrivateSparseRegression(
        epsilon=2.0, delta=1e-5, share=0.25, size=2, bounds=REAL, random_state=0
    ).fit(X, y)
    first, second = Budget(2.0, 1e-5).split(0.25)
    model.set_params(**change)
    assert model.stages_ == {"support": first, "fit": second}
    if "epsilon" not in change:  # a file would not be written: its guarantee has another epsilon
        # A file holds the settings as they are now, and the costs as they were.
        assert type(model).from_dict(model.to_dict()).stages_ == model.stages_
    assert pickle.loads(pickle.dumps(model)).stages_ == model.stages_


def test_no_stable_support_is_an_answer_and_nothing_replaces_it() -> None:
    rng = np.random.default_rng(2)
    X, y = rng.uniform(-1, 1, size=(400, 30)), rng.uniform(-1, 1, size=400)
    model = PrivateSparseRegression(selector="stability", size=3, bounds=REAL, random_state=0)
    with pytest.warns(NoStableSupport, match="did not agree"):
        model.fit(X, y)
    assert model.support_.size == 0
    assert not model.coef_.any()
    assert model.predict(X) == pytest.approx(np.zeros(400))
    with pytest.raises(Incompatible, match="delta"):
        PrivateSparseRegression(selector="stability", delta=0.0, bounds=REAL).fit(X, y)


def test_undeclared_ranges_warn_and_clip_every_entry() -> None:
    X, y = planted(300, 5)
    with pytest.warns(UndeclaredBounds, match="features"):
        model = PrivateLasso(random_state=0).fit(X, y)
    # Rows beyond the default range count as if they were at its end.
    with pytest.warns(UndeclaredBounds, match="features"):
        same = PrivateLasso(random_state=0).fit(np.where(X > 0.5, 3.0, X), y)
    with pytest.warns(UndeclaredBounds, match="features"):
        far = PrivateLasso(random_state=0).fit(np.where(X > 0.5, 1e9, X), y)
    assert (same.coef_ == far.coef_).all()
    assert model.algorithm_ == "frank-wolfe"


def test_probabilities_of_several_classes_add_up() -> None:
    X, _ = planted(900, 5)
    y = np.digitize(X[:, 0], [-0.3, 0.3])
    bounds = Bounds(features=(-1, 1), classes=(0, 1, 2))
    model = PrivateSparseLogisticRegression(epsilon=9.0, bounds=bounds, random_state=0).fit(X, y)
    assert model.coef_.shape == (3, 5)
    assert model.predict_proba(X).sum(axis=1) == pytest.approx(np.ones(900))
    assert (model.predict_log_proba(X) <= 0).all()


def test_probabilities_far_away_are_still_probabilities() -> None:
    X, y = planted(300, 5)
    bounds = Bounds(features=(-1, 1), classes=(0, 1, 2))
    model = PrivateSparseLogisticRegression(bounds=bounds, steps=2, random_state=0)
    model.fit(X, np.digitize(y, [-0.1, 0.1]))
    model.coef_[:] = -1.0  # all three classes are as unlikely
    chances = model.predict_proba(np.full((1, 5), 1e4))
    assert chances == pytest.approx(np.full((1, 3), 1 / 3), abs=1e-3)


def test_the_default_radius_follows_the_steps_and_a_given_one_is_kept() -> None:
    bounds = Bounds(features=(-1, 1), classes=(0, 1))
    for radius, steps, expected in ((None, 16, 4.0), (None, 25, 5.0), (2.0, 16, 2.0)):
        model = PrivateSparseLogisticRegression(bounds=bounds, steps=steps, radius=radius)
        assert model.plan(100, 1000).problem.constraint.radius(101) == pytest.approx(expected)
    more = PrivateSparseLogisticRegression(bounds=bounds, epsilon=8.0).plan(100, 10_000)
    less = PrivateSparseLogisticRegression(bounds=bounds, epsilon=0.5).plan(100, 10_000)
    assert more.problem.constraint.radius(101) > 2 * less.problem.constraint.radius(101)
