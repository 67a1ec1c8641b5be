"""The portfolio filter against the specification's numbers and against optimal adversaries."""

import math
from fractions import Fraction
from math import comb

import numpy as np
import pytest
from adversary import (
    Mechanism,
    Output,
    failing,
    refund,
    response,
    stopping,
    worst_delta,
    worst_delta_on_grid,
)

from discreet.accounting import Approximate, Budget, Composed, Gaussian, Pure, gaussian_multiplier
from discreet.accounting.gaussian_profile import gaussian_delta
from discreet.errors import InvalidData, InvalidParameter
from discreet.ledger.amounts import UNITS, Price, down, real, up
from discreet.ledger.filter import HEADROOM, POLICIES, Filter, best_order, renyi_cap
from discreet.ledger.prices import renyi_price

E, D = 0.6, 0.01
MECHANISMS = [response(0.1), response(0.3), failing(5e-4)]


def worst(rule, mechanisms, epsilon=E, steps=10**6):
    return worst_delta(
        epsilon,
        mechanisms,
        rule.fresh(),
        lambda account, mechanism: rule.admit(account, rule.price(mechanism.event)),
        lambda account, mechanism, output: refund(rule, account, mechanism, output),
        steps,
    )


@pytest.mark.parametrize(
    ("epsilon", "rules", "mu", "order", "cap"),
    [
        (1.0, 1, 0.23670, 22, 0.53583),
        (1.0, 3, 0.22493, 24, 0.53230),
        (3.0, 1, 0.64773, 9, 1.66550),
        (3.0, 3, 0.62001, 10, 1.70408),
        (8.0, 1, 1.53155, 4, 4.14461),
        (8.0, 3, 1.47755, 5, 4.89697),
    ],
)
def test_caps_are_those_of_the_specification(epsilon, rules, mu, order, cap):
    delta = 1e-6 / rules
    assert 1 / gaussian_multiplier(epsilon, delta) == pytest.approx(mu, abs=6e-6)
    assert best_order(epsilon, delta) == order
    assert renyi_cap(order, epsilon, delta) == pytest.approx(cap, abs=6e-6)


@pytest.mark.parametrize(
    ("epsilon", "counts"),
    [(0.01, (100, 490, 356)), (0.02, (50, 125, 89)), (0.05, (20, 22, 14)), (0.1, (10, 7, 3))],
)
def test_no_single_rule_is_best(epsilon, counts):
    budget, event = Budget(1.0, 1e-6), Pure(epsilon)
    basic, gdp = Filter.of("basic", budget), Filter.of("gdp", budget)
    order = best_order(1.0, 1e-6)
    renyi = down(renyi_cap(order, 1.0, 1e-6)) // renyi_price(event, order)[0]
    found = [rule.fits(rule.fresh(), rule.price(event)) for rule in (basic, gdp)]
    assert (found[0], renyi, found[1]) == counts


def test_the_cap_of_the_gdp_rule_is_tight():
    rule = Filter.of("gdp", Budget(1.0, 1e-6))
    mu = math.sqrt(real(rule.caps.mu2))
    assert gaussian_delta(1.0, mu) <= 1e-6 < gaussian_delta(1.0, mu * (1 + 1e-9))


def test_an_optimal_adversary_beats_composition_of_realised_events():
    """What a ledger must not do: admit while the composed events have delta below the cap."""

    def delta(counts):
        (i, j, k), found = counts, 0.0
        p, q = 1 / (1 + math.exp(-0.1)), 1 / (1 + math.exp(-0.3))
        for a in range(i + 1):
            for b in range(j + 1):
                both = comb(i, a) * comb(j, b)
                here = both * p**a * (1 - p) ** (i - a) * q**b * (1 - q) ** (j - b)
                there = both * p ** (i - a) * (1 - p) ** a * q ** (j - b) * (1 - q) ** b
                found += max(0.0, here - math.exp(E) * there)
        return 1 - (1 - 5e-4) ** k * (1 - found)

    def admit(counts, mechanism):
        after = tuple(c + (m is mechanism) for c, m in zip(counts, MECHANISMS, strict=True))
        return after if delta(after) <= D else None

    assert worst_delta(E, MECHANISMS, (0, 0, 0), admit) == pytest.approx(0.0204, abs=5e-5)


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("more", [[], [stopping(0.05, 0.3, 0.5)], [failing(3e-4, 0.15)]])
def test_no_adversary_beats_a_policy(policy, more):
    found = worst(Filter.of(policy, Budget(E, D)), [*MECHANISMS, *more])
    assert 0 < found <= D


@pytest.mark.parametrize("policy", POLICIES)
def test_no_adversary_with_gaussian_noise_beats_a_policy(policy):
    rule, mechanisms = Filter.of(policy, Budget(E, D)), [response(0.1), failing(5e-4)]
    assert 0 < worst_delta_on_grid(E, rule, mechanisms, (0.1, 0.2)) <= D


def test_gaussian_noise_nearly_fills_the_gdp_rule_and_beats_rules_that_do_not_share_delta():
    gdp = Filter.of("gdp", Budget(E, D))
    assert worst_delta_on_grid(E, gdp, [], (0.05, 0.2)) > 0.95 * D
    greedy = Filter.portfolio(("basic", "renyi"), E, Fraction(D))
    assert worst_delta_on_grid(E, greedy, [response(0.1), failing(5e-4)], (0.2,)) > 1.05 * D


def test_the_basic_policy_is_nearly_tight():
    assert worst(Filter.of("basic", Budget(E, D)), MECHANISMS) == pytest.approx(0.00995, abs=5e-6)


def test_rules_that_do_not_share_delta_are_beaten():
    shared = Filter.portfolio(("basic", "renyi"), E, Fraction(D) / 2)
    assert worst(shared, MECHANISMS) <= D
    greedy = Filter.portfolio(("basic", "renyi"), E, Fraction(D))
    assert worst(greedy, MECHANISMS) > 1.05 * D


def test_a_rule_that_could_come_alive_again_is_beaten():
    """Admitting by any rule that has room, dead or not, adds the rules' budgets up."""
    rule = Filter.portfolio(("basic", "renyi"), E, Fraction(D) / 2)

    def forgetful(account, mechanism):
        after = rule.admit(account, rule.price(mechanism.event))
        if after is None:
            return None
        return type(after)(after.spent, rule.rules)

    assert worst_delta(E, MECHANISMS, rule.fresh(), forgetful) > D


def test_a_refund_of_more_than_was_saved_is_beaten():
    rule = Filter.of("basic", Budget(E, D))
    mechanisms = [stopping(0.1, 0.3, 0.5)]

    def admit(account, mechanism):
        return rule.admit(account, rule.price(mechanism.event))

    def generous(account, mechanism, output):
        return rule.give_back(account, Price(basic_eps=up(0.3) - up(output.cost / 2)))

    assert worst(rule, mechanisms, steps=8) <= D
    assert worst_delta(E, mechanisms, rule.fresh(), admit, generous, steps=8) > D


def test_the_published_counterexample_is_refused():
    first, plus, minus = Pure(0.2), Pure(0.8000026), Approximate(0.0, 9.99e-7)
    for second in (plus, minus):
        assert Composed((first, second)).delta(1.0) < 1e-6
    p = 1 / (1 + math.exp(-0.2))
    q = 1 / (1 + math.exp(-0.8000026))
    total = max(0.0, p * q - math.e * (1 - p) * (1 - q)) + (1 - p) * 9.99e-7
    assert total == pytest.approx(1.44e-6, abs=5e-9)  # more than either path claims
    for policy in POLICIES:
        rule = Filter.of(policy, Budget(1.0, 1e-6))
        account = rule.admit(rule.fresh(), rule.price(first))
        assert account is None or rule.admit(account, rule.price(plus)) is None


def random_mechanism(rng):
    """Return a mechanism of up to four outputs with its true price, some with failures."""
    size = int(rng.integers(2, 5))
    here, there = rng.dirichlet(np.ones(size)) + 0.3, rng.dirichlet(np.ones(size)) + 0.3
    here, there = here / here.sum(), there / there.sum()
    mix = rng.uniform(0.1, 0.5)
    there = mix * there + (1 - mix) * here
    epsilon = float(np.abs(np.log(here / there)).max()) * (1 + 1e-12)
    outputs = [Output(float(a), float(b)) for a, b in zip(here, there, strict=True)]
    kind = rng.integers(3)
    if kind == 0:
        return Mechanism(Pure(epsilon), tuple(outputs))
    if kind == 1 and size < 4:
        delta = float(rng.choice([5e-4, 2e-3]))
        kept = [Output((1 - delta) * o.here, (1 - delta) * o.there) for o in outputs]
        lost = (Output(delta, 0.0), Output(0.0, delta))
        return Mechanism(Approximate(epsilon, delta), (*kept, *lost))
    costs = [abs(math.log(o.here / o.there)) * (1 + 1e-12) for o in outputs]
    priced = [Output(o.here, o.there, c) for o, c in zip(outputs, costs, strict=True)]
    return Mechanism(Pure(epsilon), tuple(priced))


@pytest.mark.parametrize("policy", POLICIES)
def test_random_mechanisms_never_beat_a_policy(policy):
    rng = np.random.default_rng(1)
    for _ in range(6):
        mechanisms = [random_mechanism(rng) for _ in range(3)]
        for given in (mechanisms, [_turned(m) for m in mechanisms]):
            assert worst(Filter.of(policy, Budget(E, D)), given, steps=5) <= D


def _turned(mechanism):
    turned = tuple(Output(o.there, o.here, o.cost) for o in mechanism.outputs)
    return Mechanism(mechanism.event, turned)


def test_many_spends_of_one_unit_are_counted_exactly():
    rule = Filter.of("basic", Budget(10.0, 1e-6))
    account, price = rule.fresh(), rule.price(Pure(2.0**-60))
    assert price.basic_eps == 1
    for _ in range(10**5):
        account = rule.admit(account, price)
    assert account.spent[0] == 10**5
    assert rule.fits(account, price) == rule.caps.basic_eps - 10**5
    rest = rule.admit(account, Price(basic_eps=rule.caps.basic_eps - 10**5))
    assert rule.admit(rest, price) is None  # not one unit more


def test_sums_pass_what_was_declared_by_no_more_than_is_said():
    rule = Filter.of("basic", Budget(1.0, 1e-6))
    assert rule.fits(rule.fresh(), rule.price(Pure(0.1))) == 10
    assert Fraction(rule.caps.basic_eps, UNITS) <= HEADROOM
    assert Fraction(rule.caps.basic_delta, UNITS) <= Fraction(1e-6) * HEADROOM


def test_order_does_not_change_totals():
    rule = Filter.of("portfolio", Budget(5.0, 1e-6))
    events = [Pure(0.1), Gaussian(9.0), Pure(0.03), Gaussian(30.0), Pure(0.2)] * 3
    rng, seen = np.random.default_rng(0), set()
    for _ in range(10):
        account = rule.fresh()
        for index in rng.permutation(len(events)):
            account = rule.admit(account, rule.price(events[index]))
        seen.add(account)
    assert len(seen) == 1


def test_a_refused_event_kills_nothing_and_costs_nothing():
    rule = Filter.of("portfolio", Budget(1.0, 1e-6))
    account = rule.admit(rule.fresh(), rule.price(Gaussian(10.0)))
    assert account.alive == ("basic", "renyi", "gdp")
    assert rule.admit(account, rule.price(Approximate(3.0, 1e-3))) is None
    assert rule.fits(account, rule.price(Gaussian(10.0))) > 0


def test_a_rule_dies_for_good_and_a_return_does_not_revive_it():
    rule = Filter.of("portfolio", Budget(1.0, 1e-6))
    price = rule.price(Approximate(0.1, 1e-8))
    account = rule.admit(rule.fresh(), price)
    assert account.alive == ("basic", "renyi")
    assert rule.give_back(account, price) == type(account)((0, 0, 0, 0, 0), ("basic", "renyi"))


def test_pure_ledgers_keep_the_basic_rule_alone():
    rule = Filter.of("portfolio", Budget(1.0))
    assert rule.rules == ("basic",)
    assert rule.admit(rule.fresh(), rule.price(Gaussian(1e6), (1.0, 1e-9))) is None
    assert rule.fits(rule.fresh(), rule.price(Pure(0.25))) == 4


def test_the_hybrid_policy_is_within_its_cap_by_quadrature():
    """Gaussian noise at its cap, then randomised response at its cap: exact delta."""
    rule = Filter.of("hybrid", Budget(2.0, 1e-3))
    mu, epsilon = math.sqrt(real(rule.caps.mu2)), real(rule.caps.basic_eps)
    p = 1 / (1 + math.exp(-epsilon))
    exact = sum(
        here * gaussian_delta(2.0 + math.log(there / here), mu)
        for here, there in ((p, 1 - p), (1 - p, p))
    )
    assert 0 < exact <= 1e-3
    # With failures too, Gaussian steps come first: (E_g + E_b, D_g + exp(E_g) D_b).
    noise = 2.0 - epsilon
    failures = gaussian_delta(noise, mu) + math.exp(noise) * real(rule.caps.basic_delta)
    assert 0.99e-3 < failures <= 1e-3 * (1 + 2.0**-39)


def test_rules_are_read_back_and_damage_is_refused():
    rule = Filter.of("portfolio", Budget(8.0, 1e-6))
    assert Filter.from_dict(rule.to_dict()) == rule
    with pytest.raises(InvalidData, match="damaged"):
        Filter.from_dict({"rules": ["basic"]})
    with pytest.raises(InvalidParameter, match="policy"):
        Filter.of("pld", Budget(1.0, 1e-6))
