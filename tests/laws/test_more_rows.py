"""More rows must help: the planned noise falls like one over their number."""

from __future__ import annotations

import math
import warnings

import pytest

import discreet
from discreet.bounds import NEIGHBOURS, Bounds
from discreet.problem import Plan

SIZES = [10**k for k in range(6, 11)]
PERTURBED = (
    "PrivateElasticNet",
    "PrivateHuberRegressor",
    "PrivateLinearSVC",
    "PrivateLogisticRegression",
    "PrivatePoissonRegressor",
    "PrivateRidge",
)
DESCENTS = (
    "PrivateGeometricMedian",
    "PrivateQuantileRegressor",
    "PrivateSGDClassifier",
)


def plan(name: str, neighbours: str, budget: tuple[float, float], n_rows: int) -> Plan:
    kind = getattr(discreet, name)
    chosen = {
        "epsilon": budget[0],
        "delta": budget[1],
        "bounds": Bounds(features=(-1, 1), label=(-1, 1), classes=(0, 1)),
        "neighbours": neighbours,
        "n_rows": n_rows if neighbours == "add-remove" or "Stream" in name else None,
    }
    known = kind().get_params()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = kind(**{k: v for k, v in chosen.items() if k in known})
        # A stream is planned for the length that it declares.
        found: Plan = model.plan(20) if "Stream" in name else model.plan(20, n_rows)
    return found


def noise(found: Plan, n_rows: int) -> float:
    """Return the noise of the weights, or of all steps together for a row's part in their sum."""
    spread = getattr(found, "spread", None)
    if spread is not None:
        return float(spread)
    facts = found.facts()
    scale = next(v for k, v in facts.items() if "noise scale" in k)
    # The last step of a correction makes up for the noise before it.
    scale = facts.get("noise scale of the last gradient", scale)
    scale = max(scale) if isinstance(scale, tuple) else scale
    batch = n_rows * facts.get("sampling rate", 1.0)
    return float(scale) * math.sqrt(facts.get("steps", 1)) / batch


@pytest.mark.parametrize("neighbours", NEIGHBOURS)
@pytest.mark.parametrize("budget", [(1.0, 1e-10), (0.1, 1e-6), (1.0, 0.0)], ids=str)
@pytest.mark.parametrize("name", PERTURBED)
def test_noise_falls_like_one_over_the_number_of_rows(name, budget, neighbours):
    found = [plan(name, neighbours, budget, n) for n in SIZES]
    # A clip that rises with the rows changes the loss and its noise; either is compared by itself.
    kinds = [(type(p).__name__, p.problem.loss) for p in found]
    times = [noise(p, n) * n for p, n in zip(found, SIZES, strict=True)]
    for kind in set(kinds):
        same = [t for t, k in zip(times, kinds, strict=True) if k == kind]
        # What steps save may be up to half of the noise, see NEWTON_NOISE.
        assert max(same) <= 2.2 * same[0], (kinds, times)


@pytest.mark.parametrize("neighbours", NEIGHBOURS)
@pytest.mark.parametrize("delta", [1e-10, 0.0])
@pytest.mark.parametrize("name", DESCENTS)
def test_noise_of_a_descent_never_outgrows_its_rows(name, delta, neighbours):
    times = [noise(plan(name, neighbours, (1.0, delta), n), n) * n for n in SIZES]
    assert max(times) <= 2.2 * times[0]


@pytest.mark.parametrize("neighbours", ["zero-out", "replace-one"])
@pytest.mark.parametrize("name", ["PrivateStreamClassifier", "PrivateStreamRegressor"])
def test_a_longer_stream_is_promised_a_smaller_error_per_row(name, neighbours):
    # Its noise covers all prefixes, so it falls a little slower than one over the rows.
    found = [plan(name, neighbours, (1.0, 1e-6), n) for n in SIZES]
    errors = [p.expected_excess / n for p, n in zip(found, SIZES, strict=True)]
    noises = [noise(p, n) for p, n in zip(found, SIZES, strict=True)]
    assert errors == sorted(errors, reverse=True)
    assert noises == sorted(noises, reverse=True)
