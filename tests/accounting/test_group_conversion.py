"""From a guarantee per row to one per group, by chains of finite mechanisms."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.accounting import Approximate, Gaussian, Guarantee, PoissonGaussian, Pure
from discreet.accounting.events import Composed, Event
from discreet.accounting.gaussian_profile import gaussian_profile
from discreet.accounting.group_conversion import for_rows
from discreet.errors import Incompatible


def promised(event: Event, epsilon: float, delta: float, **facts: object) -> Guarantee:
    values: dict[str, object] = {"neighbours": "zero-out", "theorem": "t"} | facts
    return Guarantee(epsilon=epsilon, delta=delta, event=event, **values)  # type: ignore[arg-type]


def test_a_chain_of_finite_mechanisms_stays_below_the_conversion() -> None:
    """Chains of the extreme (epsilon, delta) mechanism, by enumeration."""
    epsilon, delta = 0.4, 0.01
    random = np.random.default_rng(0)
    for k in (2, 3):
        found = for_rows(Approximate(epsilon, delta), k, (epsilon, delta))
        assert found is not None
        worst = 0.0
        for _ in range(3000):
            laws = [random.dirichlet(np.full(4, 0.3))]
            while len(laws) <= k:
                # A neighbour: mass delta anywhere, the rest tilted by at most epsilon.
                tilt = laws[-1] * np.exp(epsilon * random.choice([-1.0, 1.0], 4))
                moved = (1 - delta) * tilt / tilt.sum() + delta * random.dirichlet(np.ones(4) / 9)
                ok = max(
                    np.maximum(a - np.exp(epsilon) * b, 0).sum()
                    for a, b in ((laws[-1], moved), (moved, laws[-1]))
                )
                if ok <= delta:
                    laws.append(moved)
            gap = np.maximum(laws[0] - np.exp(found[1]) * laws[-1], 0).sum()
            worst = max(worst, float(gap))
        assert worst <= found[2]


def test_gaussian_noise_converts_exactly() -> None:
    g = promised(Gaussian(4.0), 1.3, 1e-5).for_group(3)
    assert g.unit == "group"
    assert g.event == Gaussian(4.0 / 3)
    assert gaussian_profile(np.array([g.epsilon]), 0.75)[0] == pytest.approx(1e-5, rel=1e-3)
    both = promised(Composed((Gaussian(4.0), Gaussian(4.0))), 1.9, 1e-5).for_group(2)
    assert both.event.delta(both.epsilon) <= 1e-5 * 1.001
    one = promised(Gaussian(4.0 / np.sqrt(2)), 1.9, 1e-5).for_group(2)
    assert both.epsilon == pytest.approx(one.epsilon, rel=1e-3)


def test_pure_privacy_is_multiplied_and_points_grow() -> None:
    assert promised(Pure(0.5), 0.5, 0.0).for_group(4).epsilon == 2.0
    assert promised(Pure(0.5), 0.5, 0.0).for_group(1).epsilon == 0.5
    point = promised(Approximate(0.5, 1e-6), 0.5, 1e-6).for_group(2)
    assert point.epsilon == 1.0
    assert point.delta == pytest.approx(1e-6 * (np.exp(1.0) - 1) / (np.exp(0.5) - 1))


def test_a_curve_beats_the_point_of_it() -> None:
    event = PoissonGaussian(2.0, 0.01, 1000, "zero-out")
    delta = 1e-5
    epsilon = 0.9
    assert event.delta(epsilon) <= delta
    found = promised(event, epsilon, delta).for_group(3)
    assert found.delta == delta
    # The point alone would give 3 epsilon at a much larger delta.
    assert found.epsilon < 2 * 3 * epsilon


def test_the_second_row_of_a_chain_is_paid_after_the_first() -> None:
    """The claim of two rows is that of some split of the curve: all splits, by a grid."""
    event, delta = PoissonGaussian(1.0, 0.5, 1, "zero-out"), 1e-3
    found = for_rows(event, 2, (1.0, delta))
    assert found is not None
    first = np.linspace(0.0, found[1], 201)
    curve = np.array([event.delta(float(e)) for e in first])
    assert 0.9 * delta < np.min(curve + np.exp(first) * curve[::-1]) <= delta


def test_what_cannot_be_converted_is_refused_and_conditions_are_said() -> None:
    ex_post = promised(Pure(2.0), 1.0, 0.0, kind="ex-post", reserved=(2.0, 0.0))
    for one in (ex_post, promised(Pure(1.0), 1.0, 0.0, unit="group")):
        with pytest.raises(Incompatible, match="per row"):
            one.for_group(2)
    with pytest.raises(Incompatible, match="so many rows"):
        promised(Approximate(5.0, 1e-6), 5.0, 1e-6).for_group(100)
    kept = promised(Pure(1.0), 1.0, 0.0).for_group(2)
    assert kept.assumptions[-1] == "no group has more than 2 rows, and a neighbour has as many"
    assert "per group" in str(kept)
