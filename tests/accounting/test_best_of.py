"""The best of a random number of runs: the bound against enumeration and published tables."""

import math
from dataclasses import dataclass

import numpy as np
import pytest
from scipy.special import logsumexp

from discreet.accounting import (
    Approximate,
    BestOf,
    Composed,
    Gaussian,
    NegativeBinomialTries,
    PoissonTries,
    Pure,
    event_from_dict,
    gaussian_multiplier,
    rdp_delta,
)
from discreet.accounting import best_of as module
from discreet.accounting.events import Curve

EXPECTED = NegativeBinomialTries.expecting


@dataclass(frozen=True)
class Finite(Curve):
    """A run with finitely many outputs, on two neighbours; known exactly."""

    here: tuple
    there: tuple

    def profile(self, epsilons):
        p, q = np.array(self.here), np.array(self.there)
        factors = np.exp(np.minimum(epsilons, 600.0))[:, None]
        one, other = np.maximum(p - factors * q, 0).sum(1), np.maximum(q - factors * p, 0).sum(1)
        return np.maximum(one, other)

    def rdp(self, order):
        p, q = np.array(self.here), np.array(self.there)
        if ((p > 0) != (q > 0)).any():
            return math.inf
        keep = p > 0
        p, q = np.log(p[keep]), np.log(q[keep])
        sums = [logsumexp(order * a + (1 - order) * b) for a, b in ((p, q), (q, p))]
        return float(max(sums)) / (order - 1)


def generating(tries, z):
    """Return the generating function of the number of tries, from its masses."""
    if isinstance(tries, PoissonTries):
        return np.exp(tries.mean * (z - 1))
    g, eta = tries.gamma, tries.eta
    if eta == 0:
        return np.log1p(-(1 - g) * z) / math.log(g)
    return ((1 - (1 - g) * z) ** -eta - 1) / (g**-eta - 1)


def best(masses, tries):
    """Return the law of the best output, outputs given from worst to best, with no try last."""
    ends = np.concatenate([[0.0], np.cumsum(masses)])
    ends[-1] = 1.0
    values = generating(tries, ends)
    return np.append(np.diff(values), values[0])


LAWS = [EXPECTED(8.0, 1.0), EXPECTED(30.0, 1.0), EXPECTED(8.0, 0.0), EXPECTED(8.0, -0.5),
        EXPECTED(3.0, 2.0), PoissonTries(6.0)]  # fmt: skip


def random_pair(random):
    """Return two laws on up to six outputs: close, or with a small part of no overlap."""
    size = random.integers(2, 7)
    here = random.dirichlet(np.full(size, random.choice([0.3, 1.0, 5.0])))
    tilt = np.exp(random.uniform(-1, 1, size) * random.choice([0.1, 0.5, 1.5]))
    there = here * tilt / (here * tilt).sum()
    if random.random() < 0.3:
        lone = random.choice([1e-3, 1e-6])
        here = np.append(here * (1 - lone), [lone, 0.0])
        there = np.append(there * (1 - lone), [0.0, lone])
        order = random.permutation(len(here))
        here, there = here[order], there[order]
    return here, there


def test_no_finite_mechanism_costs_more_than_the_bound_and_some_cost_nearly_as_much():
    random, closest = np.random.default_rng(0), 0.0
    for case in range(75):
        here, there = random_pair(random)
        tries = LAWS[case % len(LAWS)]
        event = BestOf(Finite(tuple(here), tuple(there)), tries)
        p, q = best(here, tries), best(there, tries)
        for epsilon in (0.0, 0.3, 1.0, 2.0):
            exact = max(np.maximum(a - math.exp(epsilon) * b, 0).sum() for a, b in ((p, q), (q, p)))
            said = event.delta(epsilon)
            assert exact <= said + 1e-12
            if said > 1e-9:
                closest = max(closest, exact / said)
    assert 0.95 < closest <= 1.0


def test_enumeration_finds_planted_faults(monkeypatch):
    def caught():
        module._lines.cache_clear()
        with pytest.raises(AssertionError):
            test_no_finite_mechanism_costs_more_than_the_bound_and_some_cost_nearly_as_much()
        module._lines.cache_clear()

    # On a neighbour the chance of something better is taken to be the same.
    monkeypatch.setattr(module, "_worse", lambda gap, right, u: u)
    caught()
    monkeypatch.undo()
    # One try too few is counted.
    monkeypatch.setattr(NegativeBinomialTries, "slope", lambda self, u: np.ones_like(u))
    caught()
    monkeypatch.undo()


def test_renyi_bound_holds_for_finite_mechanisms():
    random = np.random.default_rng(1)
    for case in range(20):
        here, there = random_pair(random)
        tries = LAWS[case % 5]
        event = BestOf(Finite(tuple(here), tuple(there)), tries)
        exact = Finite(tuple(best(here, tries)), tuple(best(there, tries)))
        for order in (1.5, 2.0, 8.0):
            assert exact.rdp(order) <= event.rdp(order) * (1 + 1e-9) + 1e-9
    assert BestOf(Gaussian(3.0), PoissonTries(5.0)).rdp(2.0) == math.inf


@pytest.mark.parametrize("eta", [1.0, 0.0, -0.5])
def test_pure_runs_cost_two_plus_eta_times_theirs(eta):
    event = BestOf(Pure(0.2), EXPECTED(20.0, eta))
    assert event.delta((2 + eta) * 0.2) == 0.0
    assert event.delta((2 + eta) * 0.2 - 1e-9) >= 0.0
    assert event.delta(0.15) > 0.0
    assert event.rdp(5.0) <= (2 + eta) * 0.2


def test_pure_poisson_runs_have_their_own_bound_which_is_attained():
    tries, e = PoissonTries(4.0), 0.5
    keep = math.exp(e) / (1 + math.exp(e))
    here, there = np.array([keep, 1 - keep]), np.array([1 - keep, keep])
    loss = np.abs(np.log(best(here, tries)[:2] / best(there, tries)[:2])).max()
    assert loss <= tries.pure(e)
    assert BestOf(Pure(e), tries).delta(tries.pure(e)) == 0.0


REFERENCE = {
    5: [(0.765, 0.810), (0.789, 0.832), (0.812, 0.853), (0.701, 0.749)],
    30: [(0.606, 0.666), (0.661, 0.720), (0.699, 0.757), (0.318, 0.354)],
    100: [(0.534, 0.597), (0.602, 0.666), (0.646, 0.709), (0.179, 0.184)],
}


@pytest.mark.parametrize("expected", REFERENCE)
def test_shares_of_the_noise_are_those_of_the_specification(expected):
    laws = [EXPECTED(expected, eta) for eta in (1.0, 0.0, -0.5)] + [PoissonTries(expected)]
    for tries, shares in zip(laws, REFERENCE[expected], strict=True):
        for epsilon, share in zip((1.0, 8.0), shares, strict=True):
            single = gaussian_multiplier(epsilon, 1e-6)
            # A little less noise than the table has would not do, a little more does.
            assert BestOf(Gaussian(single / (share - 0.003)), tries).delta(epsilon) <= 1e-6
            assert BestOf(Gaussian(single / (share + 0.003)), tries).delta(epsilon) > 1e-6


def test_chances_of_missing_a_candidate_are_those_of_the_specification():
    table = {
        (10, 1.0): (0.17, 0.29, 0.47),
        (30, 1.0): (0.06, 0.12, 0.23),
        (100, 1.0): (0.02, 0.04, 0.08),
        (10, 0.0): (0.29, 0.42, 0.58),
        (30, -0.5): (0.43, 0.56, 0.70),
    }
    for (mean, eta), chances in table.items():
        found = [EXPECTED(mean, eta).missing(1 / c) for c in (3, 5, 10)]
        assert found == pytest.approx(chances, abs=0.0051)
    assert PoissonTries(10.0).missing(0.2) == pytest.approx(0.14, abs=0.005)


@pytest.mark.parametrize("eta", [-0.5, 0.0, 0.5, 3.0])
def test_a_law_has_the_mean_that_was_asked_for(eta):
    for mean in (1.5, 10.0, 300.0):
        found = NegativeBinomialTries.expecting(mean, eta).mean
        assert mean * (1 - 1e-12) <= found <= mean * (1 + 1e-9)


@pytest.mark.parametrize("tries", LAWS)
def test_masses_have_the_mean_and_the_generating_function(tries):
    from itertools import islice

    masses = [(k, float(m)) for k, m in islice(tries.masses(), 4000)]
    assert sum(m for _, m in masses) == pytest.approx(1.0, abs=1e-10)
    assert sum(k * m for k, m in masses) == pytest.approx(tries.mean, rel=1e-6)
    for z in (0.1, 0.7):
        assert sum(m * z**k for k, m in masses) == pytest.approx(generating(tries, z), rel=1e-9)
        step = 1e-6
        slope = (generating(tries, z + step) - generating(tries, z - step)) / (2 * step)
        assert tries.slope(np.array([1 - z]))[0] == pytest.approx(slope, rel=1e-6)


def test_one_try_costs_what_the_run_costs():
    one = BestOf(Gaussian(4.0), EXPECTED(1.0, 1.0))
    for epsilon in (0.2, 1.0):
        exact = Gaussian(4.0).delta(epsilon)
        assert exact <= one.delta(epsilon) <= 1.01 * exact + 1e-12


def test_envelope_is_the_largest_of_all_lines():
    base, tries = Gaussian(5.0), EXPECTED(30.0, 1.0)
    gap, right = module._curve(base)
    u = np.concatenate([[0.0], np.geomspace(1e-5 * tries.gamma, 1.0, module._POINTS)])
    level, step = tries.slope(u[:-1]), tries.slope(module._worse(gap, right, u[1:]))
    from discreet.accounting.loss_grid import LossGrid

    losses = LossGrid.joined(gap, right, right)
    for epsilon in (1.0, 2.5):
        s = np.exp(epsilon - losses.values)
        h = [max(0.0, float((level - t * step).max())) for t in s]
        total = losses.masses @ h + losses.infinite * tries.mean
        found = BestOf(base, tries).delta(epsilon)
        assert total * (1 - 1e-9) <= found <= total * (1 + 1e-6)


def test_curves_that_take_long_are_bounded_by_chords(monkeypatch):
    tries = EXPECTED(20.0, 1.0)
    simple = BestOf(Gaussian(8.0), tries).delta(0.8)
    module._curve.cache_clear(), module._lines.cache_clear()
    monkeypatch.setattr(module, "_SIMPLE", ())
    rough = BestOf(Gaussian(8.0), tries).delta(0.8)
    module._curve.cache_clear(), module._lines.cache_clear()
    assert simple <= rough <= 1.6 * simple


def test_failures_are_multiplied_by_the_tries():
    event = BestOf(Approximate(0.2, 1e-7), EXPECTED(20.0, 1.0))
    assert 1e-7 * 20 <= event.delta(0.65) < 1e-7 * 20 * 3
    assert BestOf(Approximate(0.0, 1.0), EXPECTED(2.0, 1.0)).delta(1.0) == 1.0


def test_renyi_and_profile_agree_in_order_of_size():
    event = BestOf(Gaussian(10.0), EXPECTED(10.0, 1.0))
    by_renyi = rdp_delta(event.rdp, 1.0)
    assert event.delta(1.0) <= by_renyi


def test_it_is_stored_and_composed():
    event = BestOf(Composed((Gaussian(4.0), Pure(0.1))), EXPECTED(10.0, 1.0))
    assert event_from_dict(event.to_dict()) == event
    poisson = BestOf(Gaussian(4.0), PoissonTries(3.0))
    assert event_from_dict(poisson.to_dict()) == poisson
    with pytest.raises(ValueError, match="law"):
        event_from_dict({"event": "best-of", "base": Pure(1.0).to_dict(), "tries": {"law": "x"}})


@pytest.mark.parametrize("bad", [(0.5, 1.0), (math.nan, 1.0), (5.0, -1.0)])
def test_impossible_laws_are_refused(bad):
    with pytest.raises(ValueError):
        EXPECTED(*bad)
