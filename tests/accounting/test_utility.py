"""Utility bounds: vectors and a brute-force check that they hold."""

import math

import numpy as np
import pytest
from scipy.stats import chi2, gamma

from discreet.accounting import (
    best_strength,
    gaussian_multiplier,
    mean_squared_noise,
    noise_quantile,
    objective_excess,
    output_excess,
    output_sensitivity,
    solution_distance,
    sparse_regression_excess,
)
from discreet.errors import Incompatible


def test_noise_quantiles() -> None:
    assert noise_quantile("gaussian", 1.0, 10, 0.05) ** 2 == pytest.approx(18.3070380533, rel=1e-9)
    assert noise_quantile("gaussian", 3.0, 4, 0.3) ** 2 == pytest.approx(9 * chi2.ppf(0.7, 4))
    assert noise_quantile("gamma", 2.0, 10, 0.05) == pytest.approx(31.4104328442, rel=1e-9)
    assert noise_quantile("gamma", 2.0, 10, 0.05) == pytest.approx(gamma.ppf(0.95, 10, scale=2))


def test_excess_vector() -> None:
    sigma = gaussian_multiplier(1, 1e-5)
    noise = noise_quantile("gaussian", sigma, 10, 0.05)
    assert objective_excess(noise, 1.0, 1.0) / 1000 == pytest.approx(0.12789512986, rel=1e-9)


def test_best_strength_vector_and_optimality() -> None:
    strength, excess = best_strength("gamma", 2.0, 10, 2.0)
    assert strength == pytest.approx(10.4880884817, rel=1e-9)
    assert excess == pytest.approx(41.9523539268, rel=1e-9)
    spread = math.sqrt(mean_squared_noise("gamma", 2.0, 10))
    assert objective_excess(spread, strength, 2.0) == pytest.approx(excess)
    for other in (0.9, 1.1):
        assert objective_excess(spread, other * strength, 2.0) > excess


def test_output_perturbation_vectors() -> None:
    sensitivity = output_sensitivity(1.0, 10.0, 0.0, "zero-out")
    assert sensitivity == pytest.approx(0.1)
    sigma = sensitivity * gaussian_multiplier(1, 1e-5)
    assert sigma == pytest.approx(0.373063163482, rel=1e-9)
    assert mean_squared_noise("gaussian", sigma, 10) == pytest.approx(1.39176123947, rel=1e-9)
    assert mean_squared_noise("gamma", sensitivity, 10) == pytest.approx(1.1, rel=1e-9)
    laplace = math.sqrt(10) * sensitivity
    assert mean_squared_noise("laplace", laplace, 10) == pytest.approx(2.0, rel=1e-9)
    assert output_sensitivity(1.0, 10.0, 0.5, "replace-one") == pytest.approx(0.3)
    assert output_sensitivity(1.0, 10.0, 0.5, "add-remove") == pytest.approx(0.2)
    assert output_excess(10, 2.0, 0.25) == 5.0


def test_sparse_regression_vector_and_refusal() -> None:
    given = {"n_rows": 10_000, "epsilon": 1.0, "delta": 1e-5, "curvature": 0.5, "strength": 8.0}
    value = sparse_regression_excess(support=2, failure=0.05, solution_norm=math.sqrt(2), **given)
    assert value == pytest.approx(0.00232598323633, rel=1e-9)
    with pytest.raises(Incompatible, match="false"):
        sparse_regression_excess(support=50, failure=0.9, solution_norm=1.0, **given)


def test_bounds_hold_on_random_quadratics() -> None:
    random = np.random.default_rng(5)
    tightest = 0.0
    for _ in range(300):
        dim = int(random.integers(1, 5))
        root = random.normal(size=(dim, dim)) * random.choice([0.05, 1.0])
        hessian = root @ root.T
        curvature = float(np.linalg.eigvalsh(hessian)[0])
        best = random.normal(size=dim)
        noise = random.normal(size=dim) * random.choice([0.1, 1.0, 10.0])
        strength = float(np.exp(random.normal()))
        private = np.linalg.solve(hessian + strength * np.eye(dim), hessian @ best - noise)
        excess = float((private - best) @ hessian @ (private - best)) / 2
        size, norm = float(np.linalg.norm(noise)), float(np.linalg.norm(best))
        for known in (0.0, max(0.0, curvature)):
            bound = objective_excess(size, strength, norm, known)
            assert excess <= bound * (1 + 1e-9)
            tightest = max(tightest, excess / bound)
        distance = solution_distance(size, strength, norm, max(0.0, curvature))
        assert np.linalg.norm(private - best) <= distance * (1 + 1e-9)
    assert tightest > 0.2
