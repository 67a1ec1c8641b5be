"""AboveThreshold: exact privacy loss against the claim, vectors, failure rates, planted errors."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from scipy import integrate

from discreet.adaptive.above_threshold import (
    AboveThreshold,
    Sensitivity,
    violation_probability,
)
from discreet.errors import Incompatible, InvalidParameter
from discreet.noise import Seeded


def outcomes(queries: list[float], b1: float, b2: float, threshold: float = 0.0) -> np.ndarray:
    """Return the probability of a stop at each step, and of no stop, for exponential noise."""

    def passes(x: float) -> float:
        return math.exp(-max(x, 0.0) / b2)

    found, kinks = [], sorted({max(threshold - e, 0.0) for e in queries} | {0.0})
    edges = [*kinks, kinks[-1] + 60 * b1]
    for t in range(len(queries) + 1):

        def density(rho: float, t: int = t) -> float:
            value = math.exp(-rho / b1) / b1
            for e in queries[:t]:
                value *= 1 - passes(e + rho - threshold)
            return value * (passes(queries[t] + rho - threshold) if t < len(queries) else 1.0)

        found.append(sum(integrate.quad(density, a, b, epsabs=0, epsrel=1e-11, limit=200)[0]
                         for a, b in pairwise(edges) if b > a))  # fmt: skip
    return np.array(found)


def losses(queries: list[float], moves: list[float], b1: float, b2: float) -> np.ndarray:
    other = [e - d for e, d in zip(queries, moves, strict=True)]
    return np.log(outcomes(queries, b1, b2) / outcomes(other, b1, b2))


def test_worst_case_of_the_design_is_attained() -> None:
    b1, b2 = 1.3, 0.9
    loss = losses([-12.0, 8.0], [1.0, -1.0], b1, b2)
    assert loss[1] == pytest.approx(1 / b1 + 2 / b2, abs=2e-4)
    assert loss[1] == pytest.approx(2.991453, abs=2e-4)
    assert loss[2] == pytest.approx(1 / b1, abs=2e-4)
    rule = AboveThreshold(
        sensitivity=Sensitivity.any(1.0), shared_scale=b1, own_scale=b2, threshold=0.0
    )
    assert loss[1] <= rule.epsilon
    assert loss[2] <= rule.epsilon_without_stop
    # Half the shared noise, or noise on queries only, would not be enough.
    assert loss[1] > 0.5 / b1 + 2 / b2
    assert loss[1] > 1 / b1 + 1 / b2


@pytest.mark.parametrize(("shared", "own"), [(1.0, 2.0), (1.0, 1.0), (2.0, 1.0)])
def test_exact_losses_never_exceed_the_claim(shared: float, own: float) -> None:
    rng = np.random.default_rng(0)
    b1, b2 = 1.5, 0.8
    rule = AboveThreshold(
        sensitivity=Sensitivity(shared, own), shared_scale=b1, own_scale=b2, threshold=0.0
    )
    worst = worst_none = -math.inf
    for k in range(40):
        queries = list(rng.choice([-9.0, -2.0, 0.5, 3.0, 7.0], size=3) + rng.normal(size=3) * 0.1)
        # Moves within own of the largest, and at most shared in either direction.
        s = shared * (1.0 if k % 2 else rng.random())
        moves = np.maximum(s - own * rng.choice([0.0, 1.0, rng.random()], size=3), -shared)
        moves[k % 3] = s
        for sign in (1, -1):
            loss = losses(queries, list(sign * moves), b1, b2)
            worst, worst_none = max(worst, loss[:-1].max()), max(worst_none, loss[-1])
    assert worst <= rule.epsilon + 1e-9
    assert worst_none <= rule.epsilon_without_stop + 1e-9
    assert worst > 0.75 * rule.epsilon


def test_the_case_without_a_positive_move_needs_the_second_term() -> None:
    # All queries of D lie below those of D': s = 0 and the loss is -d_t / b2.
    b1, b2 = 50.0, 1.0
    rule = AboveThreshold(
        sensitivity=Sensitivity(1.5, 1.0), shared_scale=b1, own_scale=b2, threshold=0.0
    )
    loss = losses([6.0], [-1.5], b1, b2)[0]
    first_term_only = 1.5 / b1 + 1.0 / b2
    assert loss > first_term_only
    assert loss <= rule.epsilon


def test_hardened_integer_form_obeys_the_same_bound() -> None:
    # Exact probabilities of the geometric version, summed.
    b1, b2, step = 1.3, 0.9, 0.125
    rho = np.arange(0, 4000)
    weight = np.exp(-rho * step / b1) * -math.expm1(-step / b1)

    def stop_at_second(queries: tuple[float, float]) -> tuple[float, float]:
        up = [math.ceil(e / step) for e in queries]
        tail = [np.exp(-np.maximum(u + rho, 0) * step / b2) for u in up]
        return float(weight @ ((1 - tail[0]) * tail[1])), float(
            weight @ ((1 - tail[0]) * (1 - tail[1]))
        )

    rng = np.random.default_rng(1)
    for _ in range(200):
        e = rng.uniform(-6, 9, size=2)
        d = np.clip(rng.uniform(-1, 1, size=2) * 1.2, -1, 1)
        ours, other = stop_at_second(tuple(e)), stop_at_second(tuple(e - d))
        assert math.log(ours[0] / other[0]) <= (1 + step) / b1 + (2 + 2 * step) / b2
        assert math.log(ours[1] / other[1]) <= (1 + step) / b1


def test_calibration_vectors() -> None:
    def rule(shared: float, own: float, tests: int, exact: bool) -> AboveThreshold:
        return AboveThreshold.calibrate(
            Sensitivity(shared, own), target=1.0, margin=0.8, tests=tests, exact=exact
        )

    plain = rule(1, 1, 23, False)
    assert plain.epsilon == pytest.approx(18.522313, rel=1e-5)
    assert (plain.shared_scale, plain.own_scale) == pytest.approx((0.1369587, 0.0891199), abs=1e-7)
    assert plain.threshold == pytest.approx(0.5153590, abs=1e-7)
    assert violation_probability(
        plain.shared_scale, plain.own_scale, 1 - plain.threshold, 23
    ) == pytest.approx(0.03827, abs=5e-6)
    assert rule(1, 2, 23, False).epsilon == pytest.approx(28.984245, rel=1e-5)
    assert rule(1, 1, 1000, False).epsilon == pytest.approx(25.904082, rel=1e-5)
    tight = rule(1, 1, 23, True)
    assert tight.epsilon == pytest.approx(16.42076, rel=1e-5)
    assert (tight.shared_scale, tight.own_scale) == pytest.approx((0.1602467, 0.0982281), abs=1e-6)
    assert rule(1, 2, 23, True).epsilon == pytest.approx(25.99811, rel=1e-5)
    assert rule(1, 1, 1000, True).epsilon == pytest.approx(23.64743, rel=1e-5)


def test_published_constants() -> None:
    # The text's epsilon and the authors' code, which the figures of the paper follow.
    n, lam, tests, gamma = 1e5, 0.005, 1000, 0.1
    ridge = (1 / math.sqrt(lam) + 1) ** 2 / n
    logistic = 2 * math.sqrt(2 * math.log(2) / lam) / n
    assert (ridge, logistic) == pytest.approx((2.2928427e-3, 3.3302184e-4), rel=1e-7)
    b = 1 / (4 * math.log(1.5**0.75 * math.sqrt(tests) / gamma))
    assert b == pytest.approx(0.0412503, abs=1e-7)
    assert 2 * ridge / (b * 0.05) == pytest.approx(2.2233463, abs=1e-6)
    assert 16 * ridge * math.log(2 * tests / gamma) / 0.05 == pytest.approx(7.2662846, abs=1e-6)
    # Ours at the same target and number of tests, with the same radius: less than the code.
    width = ridge / 2
    ours = AboveThreshold.calibrate(
        Sensitivity.of("excess-risk", "replace-one", lo=0.0, hi=width), target=0.05,
        margin=0.04, tests=tests,
    )  # fmt: skip
    assert ours.epsilon < 0.65 * 2.2233463


def test_failure_rates_are_those_promised() -> None:
    runs, tests, gamma = 1500, 8, 0.1
    rule = AboveThreshold.calibrate(
        Sensitivity(1.0, 1.0), target=10.0, margin=8.0, tests=tests,
        violation=gamma, refusal=gamma,
    )  # fmt: skip
    random = Seeded(3)
    violated = refused = 0
    for _ in range(runs):
        bad, good = rule.start(random), rule.start(random)
        violated += any(bad.accepts(10.001) for _ in range(tests))
        refused += not good.accepts(1.999)
    slack = 4.5 * math.sqrt(gamma * (1 - gamma) / runs)
    assert violated / runs < gamma + slack
    assert violated / runs > gamma - slack  # tight: the exact calibration wastes nothing
    assert refused / runs < gamma + slack


def test_the_printed_sign_of_the_logistic_algorithm_accepts_by_noise_only() -> None:
    # Queries f = -e <= 0 against +alpha/2: even a perfect model passes by luck alone.
    alpha = 10.0
    rule = AboveThreshold.calibrate(
        Sensitivity(0.05, 0.05), target=alpha, margin=0.8 * alpha, tests=8
    )
    printed = AboveThreshold(
        sensitivity=rule.sensitivity, shared_scale=rule.shared_scale, own_scale=rule.own_scale,
        threshold=-alpha / 2,
    )  # fmt: skip
    random = Seeded(4)
    right = sum(rule.start(random).accepts(0.0) for _ in range(200))
    wrong = sum(printed.start(random).accepts(0.0) for _ in range(200))
    assert right > 190
    assert wrong < 20


def test_table_of_sensitivities() -> None:
    lo, hi = math.log1p(math.exp(-1.0)), math.log1p(math.exp(1.0))
    assert hi == pytest.approx(1.3132617, abs=1e-7)
    of = Sensitivity.of
    assert of("loss", "replace-one", lo=0, hi=2.0, target=1.0) == Sensitivity(2.0, 4.0)
    assert of("error-rate", "add-remove", lo=0, hi=1, target=0.2) == Sensitivity(0.8, 1.0)
    logistic = of("loss", "add-remove", lo=lo, hi=hi, target=0.4)
    assert logistic.shared == pytest.approx(0.9132617)  # not 0.6, which the width would give
    assert logistic.own == pytest.approx(1.0)
    assert of("excess-risk", "replace-one", lo=0, hi=3.0) == Sensitivity(6.0, 6.0)
    assert of("excess-risk", "zero-out", lo=0, hi=3.0) == Sensitivity(3.0, 3.0)
    counted = of("excess-risk", "add-remove", lo=0, hi=8.0, target=0.5, counted=True)
    assert counted == Sensitivity(8.5, 8.0)
    # The design's pair: ridge, radius 3, the added record makes every query fall by B + alpha.
    rows, labels = np.r_[np.full(400, 0.3), 1.0], np.r_[np.ones(400), -1.0]

    def objective(w: float, n: int) -> float:
        return float(0.5 * ((labels[:n] - w * rows[:n]) ** 2).sum() + 0.5 * w * w)

    def minimum(n: int) -> float:
        w = rows[:n] @ labels[:n] / (rows[:n] @ rows[:n] + 1)
        return objective(float(np.clip(w, -3, 3)), n)

    def query(w: float, n: int) -> float:
        return objective(w, n) - minimum(n) - 0.5 * n

    moves = [query(w, 401) - query(w, 400) for w in (-1.0, 3.0, 0.0)]
    assert moves[0] == pytest.approx(-8.5, abs=0.05)
    assert max(moves) <= 0


def test_bad_inputs_are_refused() -> None:
    sane = {"target": 1.0, "margin": 0.8, "tests": 5}
    for change in ({"margin": 0.0}, {"margin": -1.0}, {"tests": 0}, {"violation": 0.0},
                   {"violation": 1.0}, {"refusal": 1.5}, {"target": math.nan}):  # fmt: skip
        with pytest.raises(InvalidParameter):
            AboveThreshold.calibrate(Sensitivity(1.0, 1.0), **(sane | change))  # type: ignore[arg-type]
    for lo, hi in ((0.0, 0.0), (0.0, math.inf), (1.0, 0.0)):
        with pytest.raises(InvalidParameter):
            Sensitivity.of("loss", "zero-out", lo=lo, hi=hi)
    with pytest.raises(InvalidParameter, match="target"):
        Sensitivity.of("error-rate", "zero-out", lo=0.0, hi=1.0, target=2.0)
    tester = AboveThreshold.calibrate(Sensitivity(1.0, 1.0), **sane).start(Seeded(0))  # type: ignore[arg-type]
    assert not tester.accepts(math.inf)
    assert not tester.accepts(math.nan)
    assert tester.accepts(-1e9)
    with pytest.raises(Incompatible, match="stopped"):
        tester.accepts(0.0)
