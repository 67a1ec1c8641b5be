"""Principal components: the right ones, and no worse than the bound."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from discreet import Bounds, PrivatePCA
from discreet.errors import InvalidParameter

RNG = np.random.default_rng(0)
BASIS = np.linalg.qr(RNG.normal(size=(6, 6)))[0]
X = (RNG.normal(size=(20_000, 6)) * [0.5, 0.3, 0.02, 0.02, 0.02, 0.02]) @ BASIS.T


def fitted(**settings: object) -> PrivatePCA:
    asked = {"bounds": Bounds(row_norm=1.0), "random_state": 0, "n_components": 2} | settings
    return PrivatePCA(**asked).fit(X)  # type: ignore[arg-type]


def test_strong_components_are_found() -> None:
    pca = fitted()
    assert np.abs(pca.components_ @ BASIS[:, :2]) == pytest.approx(np.eye(2), abs=0.05)
    assert pca.components_ @ pca.components_.T == pytest.approx(np.eye(2), abs=1e-12)
    assert pca.explained_variance_[0] > pca.explained_variance_[1] > 0.05
    assert pca.get_feature_names_out().tolist() == ["privatepca0", "privatepca1"]


@pytest.mark.parametrize("relation", ["zero-out", "replace-one", "add-remove"])
def test_the_number_of_components_is_read_off_the_release(relation: str) -> None:
    pca = fitted(n_components="auto", neighbours=relation, n_rows=20_000)
    assert pca.n_components_ == 2
    assert fitted(n_components="auto", epsilon=1e-3).n_components_ == 1


def test_a_mean_is_taken_away_by_the_same_release() -> None:
    shifted = PrivatePCA(n_components=1, bounds=Bounds(features=(-4, 8)), random_state=0)
    shifted.fit(X + 3.0)
    assert len(getattr(shifted.guarantee_.event, "events", [1])) == 1
    assert shifted.mean_ == pytest.approx([1 / 6] * 6, abs=0.01)
    assert abs(shifted.components_[0] @ BASIS[:, 0]) > 0.99
    plain = PrivatePCA(n_components=1, centred=False, bounds=Bounds(features=(-4, 8)))
    plain.set_params(random_state=0).fit(X + 3.0)
    assert not plain.mean_.any()
    assert abs(plain.components_[0] @ np.ones(6)) / np.sqrt(6) > 0.9


def test_the_loss_is_within_the_bound_that_knows_no_gap() -> None:
    short = X / np.maximum(1.0, np.linalg.norm(X, axis=1))[:, None]
    moments = short.T @ short
    best = np.linalg.eigvalsh(moments)[-2:].sum()
    for seed in range(20):
        pca = fitted(centred=False, epsilon=0.2, random_state=seed)
        reached = np.trace(pca.components_ @ moments @ pca.components_.T)
        deviation = pca.noise_edge_ / np.sqrt(12)
        # The norm of the noise exceeds its mean by 5 deviations once in 270,000 draws.
        assert -1e-6 <= best - reached <= 4 * (pca.noise_edge_ + 5 * deviation)


def test_new_rows_are_clipped_alike() -> None:
    pca = fitted(centred=False)
    once, far = pca.transform(X[:1]), pca.transform(1e6 * X[:1] / np.linalg.norm(X[0]))
    assert np.linalg.norm(far) <= 1.0 + 1e-12
    assert once / np.linalg.norm(once) == pytest.approx(far / np.linalg.norm(far))


def test_columns_are_matched_by_name() -> None:
    frame = pd.DataFrame(X[:, :2] * [1.0, 10.0], columns=["a", "b"])
    bounds = Bounds(features={"b": (-20, 20), "a": (-2, 2)})
    pca = PrivatePCA(n_components=1, bounds=bounds, random_state=0).fit(frame)
    assert pca.transform(frame).shape == (20_000, 1)
    with pytest.raises(ValueError, match="feature names"):
        pca.transform(frame[["b", "a"]])


@pytest.mark.parametrize("wrong", ["mle", 0, 7, 1.5])
def test_a_wrong_number_of_components_is_refused(wrong: object) -> None:
    with pytest.raises(InvalidParameter, match="n_components"):
        fitted(n_components=wrong)
