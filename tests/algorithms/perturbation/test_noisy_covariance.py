"""Second moments without labels: sensitivity by search, noise by its law."""

from __future__ import annotations

import math

import numpy as np
import pytest

from discreet.accounting import Budget
from discreet.algorithms.perturbation import NoisyCovariance
from discreet.algorithms.perturbation.second_moments import packed
from discreet.bounds import Bounds
from discreet.data import ArraySource
from discreet.losses import Squared
from discreet.noise import Seeded
from discreet.problem import Problem


def covariance(
    relation: str, *, p: int = 3, rows: int = 1, constant: float = 0.0
) -> NoisyCovariance:
    problem = Problem(
        loss=Squared(),
        bounds=Bounds(row_norm=1.0, label=(-1, 1)),
        n_features=p,
        n_rows=rows,
        neighbours=relation,  # type: ignore[arg-type]
        intercept=constant,
    )
    return NoisyCovariance(problem, Budget(1.0, 1e-6))


def statistic(release: NoisyCovariance, row: list[float] | np.ndarray) -> np.ndarray:  # type: ignore[type-arg]
    source = ArraySource(np.array([row]), np.zeros(1))
    gram = release.moments.integers(release.problem, source)[0] * release.moments.unit
    return packed(gram, math.sqrt(2.0))


@pytest.mark.parametrize("relation", ["zero-out", "replace-one"])
@pytest.mark.parametrize("constant", [0.0, 0.5])
def test_no_pair_of_rows_is_further_apart_than_the_sensitivity(
    relation: str, constant: float
) -> None:
    release = covariance(relation, constant=constant)
    rng = np.random.default_rng(0)
    rows = [*np.eye(3), *-np.eye(3), *rng.normal(size=(40, 3)), np.array([np.nan, 0.0, 0.0])]
    blank = statistic(release, [np.nan, 0.0, 0.0])
    assert not blank.any()
    parts = [statistic(release, row) for row in rows]
    others = parts if relation == "replace-one" else [blank]
    worst = max(float(np.linalg.norm(a - b)) for a in parts for b in others)
    assert worst <= release.sensitivity
    if not constant:
        assert worst > release.sensitivity * (1 - 1e-4)


def test_the_noise_of_the_specification() -> None:
    assert covariance("zero-out").deviation == pytest.approx(4.2246788893, rel=1e-6)
    assert covariance("replace-one").deviation == pytest.approx(5.9745981819, rel=1e-6)


def test_noise_off_the_diagonal_has_half_the_variance() -> None:
    release, random = covariance("zero-out", p=2), Seeded(0)
    source = ArraySource(np.array([[0.6, 0.3]]), np.zeros(1))
    drawn = np.array([release.released(source, random) for _ in range(900)])
    assert (drawn[:, 0, 1] == drawn[:, 1, 0]).all()
    diagonal, off = drawn[:, 0, 0].var(), drawn[:, 0, 1].var()
    assert diagonal == pytest.approx(release.deviation**2, rel=0.2)
    assert off == pytest.approx(release.deviation**2 / 2, rel=0.2)
