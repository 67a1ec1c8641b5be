"""Local privacy: the exact law of a report, unbiased means, models, and shuffling."""

from __future__ import annotations

import hashlib
import itertools
import math
import threading
from fractions import Fraction
from statistics import NormalDist

import numpy as np
import pytest

from discreet.bounds import Array
from discreet.errors import Incompatible, InvalidData, InvalidParameter
from discreet.local import (
    Aggregator,
    Query,
    Report,
    Reporter,
    Spec,
    direction,
    plan,
    private_sign,
    report_norm,
    shuffled_delta,
    shuffled_epsilon,
    shuffled_guarantee,
)
from discreet.local.randomizer import directions
from discreet.local.reporter import moments, vector
from discreet.noise import Seeded, System

LINEAR = Spec(model="linear", n_features=2, row_norm=1.0, label=(-1, 1), epsilon=1.0)
LOGISTIC = Spec(
    model="logistic", n_features=2, row_norm=1.0, label=(0, 1), epsilon=1.0, radius=4.0, rounds=5
)


class Words:
    """Words given in advance: the coins of a device, one outcome after the other."""

    secure = False

    def __init__(self, *words: int) -> None:
        self.left = list(words)

    def words(self, n: int) -> np.ndarray:
        taken, self.left = self.left[:n], self.left[n:]
        return np.array(taken, dtype=np.uint64)


def chance_of_truth(v: Array, z: Array, epsilon: float, first: int, second: int) -> Fraction:
    """Return the chance of the answer 1 given the first two coins, by bisection of the third."""

    def answer(word: int) -> bool:
        # Words after the third continue the same uniform where float64 leaves it open.
        return private_sign(v, z, epsilon, Words(first, second, word, 2**63, 2**63, 2**63)) == 1

    low, high, start = 0, 2**64, answer(0)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if answer(middle) == start else (low, middle)
    share = Fraction(high, 2**64)
    return share if start else 1 - share


RECORDS = [
    np.array(v)
    for v in (
        [0.0, 0.0],
        [1.0, 0.0],
        [-1.0, 0.0],
        [0.3, -0.4],
        [3.0, 4.0],
        [np.nan, 0],
        [1e-300, 0],
    )
]


@pytest.mark.parametrize("epsilon", [0.01, 0.5, 1.0, 4.0])
def test_the_law_of_an_answer_changes_by_epsilon_at_most(epsilon: float) -> None:
    """Enumerate both answers for a grid of records and of all other coins, exactly in the last."""
    z = direction(b"0123456789abcdef", 2)
    truth = 1 / (1 + math.exp(-epsilon))
    found = set()
    for v, first, second in itertools.product(RECORDS, (0, 2**62, 2**64 - 1), (0, 1)):
        chance = float(chance_of_truth(v, z, epsilon, first, second))
        assert min(abs(chance - truth), abs(chance - (1 - truth))) <= 2.0**-52
        found.add(round(chance, 12))
    assert len(found) == 2  # both orders occur, so the bound is attained
    assert max(found) / min(found) == pytest.approx(math.exp(epsilon), rel=1e-9)


def test_seed_and_coins_are_drawn_apart() -> None:
    """The bit must not be a function of the published seed."""
    seeds: dict[bytes, set[int]] = {}
    for _ in range(40):
        words = [7, 9, *System().words(6).tolist()]
        report = Reporter(LINEAR, random=Words(*words)).report([0.6, 0.8], 1.0)
        seeds.setdefault(report.seed, set()).add(report.sign)
    assert list(seeds.values()) == [{-1, 1}]


@pytest.mark.parametrize("dim", [1, 2, 5])
def test_answers_have_the_record_as_their_mean(dim: int) -> None:
    rng, random, n, epsilon = np.random.default_rng(dim), Seeded(dim), 6000, 2.0
    v = rng.normal(size=dim)
    v *= 0.7 / np.linalg.norm(v)
    seeds = [random.words(2).tobytes() for _ in range(n)]
    z = directions(seeds, dim)
    told = np.array([private_sign(v, row, epsilon, random) for row in z])
    found = report_norm(epsilon, dim) * told[:, None] * z
    assert np.linalg.norm(found, axis=1) == pytest.approx(report_norm(epsilon, dim))
    error = 4.5 * report_norm(epsilon, dim) / math.sqrt(dim * n)
    assert found.mean(axis=0) == pytest.approx(v, abs=error)
    # With the sign of |v| forgotten the mean would have norm 1.
    assert np.linalg.norm(found.mean(axis=0)) < 0.7 + error * math.sqrt(dim)


def test_directions_are_uniform_on_the_sphere() -> None:
    z = directions([Seeded(0).words(2).tobytes() for _ in range(1)], 4)
    np.testing.assert_array_equal(z[0], direction(Seeded(0).words(2).tobytes(), 4))
    random = Seeded(1)
    z = directions([random.words(2).tobytes() for _ in range(20_000)], 4)
    assert z.mean(axis=0) == pytest.approx(np.zeros(4), abs=4.5 / math.sqrt(4 * 20_000))
    assert z.T @ z / 20_000 == pytest.approx(np.eye(4) / 4, abs=0.01)


def test_directions_never_change() -> None:
    """Devices in the field and servers of another version must agree."""
    seed = bytes(range(16))
    drawn = hashlib.shake_256(b"discreet.local.1" + seed).digest(24)
    words = [int.from_bytes(drawn[8 * k : 8 * k + 8], "little") for k in range(3)]
    normal = [NormalDist().inv_cdf(((w >> 11) + 0.5) / 2**53) for w in words]
    assert direction(seed, 3) == pytest.approx(np.array(normal) / math.hypot(*normal), abs=1e-9)
    assert direction(seed, 3) == pytest.approx([-0.39726612, 0.85102949, 0.34340709], abs=1e-8)


def test_report_norms_are_those_of_the_reference() -> None:
    table = {1.0: (5.7705, 8.3650, 11.9783, 19.0819), 2.0: (3.5014, 5.0757, 7.2682, 11.5784)}
    for epsilon, values in table.items():
        found = [report_norm(epsilon, d) for d in (5, 10, 20, 50)]
        assert found == pytest.approx(values, abs=5e-5)


def test_what_is_answered_about_never_exceeds_norm_one() -> None:
    rng = np.random.default_rng(0)
    for scale in (1e-200, 0.5, 3.0, 1e200):
        x, y = scale * rng.normal(size=2), scale * rng.normal()
        for spec, part, query in ((LINEAR, 0, Query()), (LINEAR, 1, Query()),
                                  (LOGISTIC, 0, Query(0, (1.0, -2.0)))):  # fmt: skip
            label = 1 if spec is LOGISTIC else y
            assert np.linalg.norm(vector(spec, x, label, query, part)) <= 1 + 1e-12
    row = rng.normal(size=3)
    assert np.linalg.norm(moments(row)) == pytest.approx(row @ row)


UNREADABLE = [
    ([np.nan, 0.0], 1.0), ([1.0, 0.0], None), ([1.0], 0.0), ("text", 0.0), (object(), 0.0),
    ([1.0, 0.0], "high"), ([np.inf, 0.0], 0.0), ([[1.0, 0.0]], 0.0), ([1.0, 0.0], [1, 2]),
]  # fmt: skip


@pytest.mark.parametrize(("x", "y"), UNREADABLE)
def test_unreadable_records_answer_with_a_fair_coin(x: object, y: object) -> None:
    assert not Reporter(LINEAR).readable(x, y)
    told = [Reporter(LINEAR, random=Seeded(k)).report(x, y).sign for k in range(200)]
    assert abs(sum(told)) <= 4.5 * math.sqrt(200)


def test_a_label_of_no_class_is_unreadable() -> None:
    assert Reporter(LOGISTIC).readable([1.0, 0.0], 1)
    assert not Reporter(LOGISTIC).readable([1.0, 0.0], 0.5)


def test_slots_outlive_the_process_and_are_shared(tmp_path) -> None:
    spec = Spec(model="linear", n_features=1, row_norm=1.0, label=(0, 1), epsilon=1.0, answers=3)
    assert spec.guarantee.epsilon == 3.0
    given: list[bytes] = []

    def device() -> None:
        for _ in range(3):
            try:
                given.append(Reporter(spec, slots=tmp_path / "me").report([1.0], 1.0).to_bytes())
            except Incompatible:
                return

    threads = [threading.Thread(target=device) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(given) == 3
    with pytest.raises(Incompatible, match="all answers"):
        Reporter(spec, slots=tmp_path / "me").report([1.0], 1.0)
    # Another study counts by itself, and its guarantee says so.
    other = Spec(model="linear", n_features=1, row_norm=2.0, label=(0, 1), epsilon=1.0)
    Reporter(other, slots=tmp_path / "me").report([1.0], 1.0)


def test_a_seeded_device_says_that_it_is_not_private() -> None:
    assert Reporter(LINEAR).guarantee.secure
    assert not Reporter(LINEAR, random=Seeded(0)).guarantee.secure


def test_epsilons_are_added_up_without_rounding_down() -> None:
    for answers in range(1, 40):
        spec = Spec(
            model="linear", n_features=1, row_norm=1, label=(0, 1), epsilon=0.1, answers=answers
        )
        assert Fraction(spec.guarantee.epsilon) >= answers * Fraction(0.1)


def test_strange_damaged_and_repeated_reports_are_left_out() -> None:
    other = Spec(model="linear", n_features=2, row_norm=1.0, label=(-1, 1), epsilon=2.0)
    good = Reporter(LINEAR).report([1.0, 0.0], 1.0).to_bytes()
    aggregator = Aggregator(LINEAR)
    strange = Reporter(other).report([1.0, 0.0], 1.0)
    late = Report(bytes(16), 3, 1, LINEAR.digest)
    assert aggregator.add([good, good, strange, late, good[:-1], b""]) == 1
    assert aggregator.refused == 5


@pytest.mark.parametrize(
    "query", [Query(5, (0.0, 0.0)), Query(0, (0.0,)), Query(0, (math.nan, 0.0)), Query(-1, (0, 0))]
)
def test_queries_that_do_not_fit_are_not_answered(query: Query) -> None:
    reporter = Reporter(LOGISTIC)
    with pytest.raises(InvalidData, match="does not fit"):
        reporter.report([1.0, 0.0], 1, query)
    reporter.report([1.0, 0.0], 1, Query(0, (0.0, 0.0)))  # nothing was spent


def rows_of(n: int, p: int, seed: int) -> Array:
    X = np.random.default_rng(seed).normal(size=(n, p))
    return X / np.linalg.norm(X, axis=1)[:, None]


def test_a_linear_model_is_found_within_its_standard_errors() -> None:
    n, w = 12_000, np.array([1.5, -1.0])
    spec = Spec(model="linear", n_features=2, row_norm=2.0, label=(1, 9), epsilon=3.0)
    X, rng, random = 2.0 * rows_of(n, 2, 0), np.random.default_rng(1), Seeded(2)
    y = 5.0 + X @ w + 0.2 * rng.normal(size=n)
    aggregator = Aggregator(spec)
    aggregator.add(Reporter(spec, random=random).report(*each) for each in zip(X, y, strict=True))
    model = aggregator.solve()
    assert model.n_reports_ == n
    assert model.stderr_ is not None
    assert (np.abs(model.coef_ - w) <= 4.5 * model.stderr_ + 0.05).all()  # a ridge shortens a bit
    assert (model.stderr_ < 0.25).all()
    assert np.mean((model.predict(X) - y) ** 2) < 0.1 * np.var(y)
    assert plan(spec, n).needed < n


def test_standard_errors_are_those_of_repeated_studies() -> None:
    """Draw reports by their law, without devices: z uniform, signs by randomised response."""
    rng, n, p, epsilon = np.random.default_rng(0), 4000, 2, 4.0
    spec = Spec(model="linear", n_features=p, row_norm=1.0, label=(-1, 1), epsilon=epsilon)
    X = rows_of(n, p, 3)
    y = np.clip(X @ np.array([0.5, 0.3]), -1, 1)
    vectors = [np.array([moments(x) for x in X[::2]]), X[1::2] * y[1::2, None]]
    found, claimed = [], []
    for _ in range(150):
        aggregator = Aggregator(spec)
        for part, dim in enumerate(spec.sizes):
            v, z = vectors[part], rng.normal(size=(n // 2, dim))
            z /= np.linalg.norm(z, axis=1)[:, None]
            keep = rng.random(n // 2) < 0.5 + 0.5 * np.linalg.norm(v, axis=1)
            side = np.sign(np.sum(z * v, axis=1)) * np.where(keep, 1, -1)
            told = np.where(rng.random(n // 2) < 1 / (1 + math.exp(-epsilon)), side, -side)
            aggregator._sums[part], aggregator._counts[part] = told @ z, n // 2
        model = aggregator.solve()
        found.append(model.coef_)
        claimed.append(model.stderr_)
    spread = np.std(found, axis=0)
    assert (spread < 1.2 * np.mean(claimed, axis=0)).all()
    assert (spread > 0.6 * np.mean(claimed, axis=0)).all()


def test_a_logistic_model_is_found_in_rounds() -> None:
    n, w = 10_000, np.array([4.0, -2.0])
    spec = Spec(
        model="logistic", n_features=2, row_norm=1, label=(0, 1), epsilon=3, radius=8.0, rounds=20
    )
    X, random = rows_of(n, 2, 0), Seeded(5)
    y = (np.random.default_rng(1).random(n) < 1 / (1 + np.exp(-X @ w))).astype(int)
    aggregator, m = Aggregator(spec, persons=n), n // 20
    query: Query | None = aggregator.query()
    for k in range(20):
        mine = range(k * m, (k + 1) * m)
        query = aggregator.step(
            Reporter(spec, random=random).report(X[i], y[i], query) for i in mine
        )
    assert query is None
    model = aggregator.solve()
    best = np.mean((X @ w > 0) == y)
    assert np.mean(model.predict(X) == y) > best - 0.02
    loss = [np.logaddexp(0, -(2 * y - 1) * (X @ v)).mean() for v in (model.coef_, w)]
    assert loss[0] - loss[1] < min(0.1, plan(spec, n).excess or 0.0)
    with pytest.raises(Incompatible, match="rounds"):
        aggregator.query()


@pytest.mark.parametrize(
    ("model", "wrong", "words"),
    [
        ("logistic", {}, "radius"),
        ("linear", {"rounds": 3}, "one round"),
        ("linear", {"n_features": 10**6}, "at most"),
        ("forest", {}, "one of"),
    ],
)
def test_specifications_that_make_no_sense_are_refused(model: str, wrong: dict, words: str) -> None:
    values = {"n_features": 2, "row_norm": 1.0, "label": (0, 1), "epsilon": 1.0} | wrong
    with pytest.raises(InvalidParameter, match=words):
        Spec(model=model, **values)


def test_specifications_are_read_back_strictly() -> None:
    assert Spec.from_json(LOGISTIC.to_json()) == LOGISTIC
    assert Spec.from_json(LOGISTIC.to_json()).digest == LOGISTIC.digest
    for text in ("{}", "no", LOGISTIC.to_json().replace('"rounds"', '"round"')):
        with pytest.raises(InvalidParameter):
            Spec.from_json(text)


# -- shuffling ------------------------------------------------------------------------------------


def test_shuffled_epsilons_are_those_of_the_reference() -> None:
    table = {
        1000: (0.0627, 0.1487, 0.3971, 1.853),
        10_000: (0.0181, 0.0432, 0.1144, 0.4108),
        100_000: (0.0052, 0.0124, 0.0332, 0.1182),
    }
    for n, values in table.items():
        found = [shuffled_epsilon(e, n, 1e-6) for e in (0.5, 1.0, 2.0, 4.0)]
        assert found == pytest.approx(values, abs=6e-5, rel=3e-4)


def multiset_law(bits: tuple[int, ...], e0: float) -> dict[int, float]:
    """Return the law of the number of ones among randomised responses to these bits."""
    truth, law = 1 / (1 + math.exp(-e0)), {0: 1.0}
    for bit in bits:
        one = truth if bit else 1 - truth
        law = {
            k: law.get(k, 0.0) * (1 - one) + law.get(k - 1, 0.0) * one for k in range(len(bits) + 1)
        }
    return law


@pytest.mark.parametrize("n", [1, 2, 3, 4])
@pytest.mark.parametrize("e0", [0.3, 1.0, 3.0])
def test_no_small_data_set_exceeds_the_shuffled_delta(n: int, e0: float) -> None:
    """Enumerate every data set of bits, and what shuffled answers tell, exactly."""
    for share in (0.0, 0.3, 0.7, 0.95):
        epsilon, worst = share * e0, 0.0
        for others in itertools.product((0, 1), repeat=n - 1):
            for first, second in ((0, 1), (1, 0)):
                p = multiset_law((first, *others), e0)
                q = multiset_law((second, *others), e0)
                gap = sum(max(0.0, p[k] - math.exp(epsilon) * q[k]) for k in p)
                worst = max(worst, gap)
        assert worst <= shuffled_delta(epsilon, e0, n)
        if n == 1:
            assert worst == pytest.approx(shuffled_delta(epsilon, e0, n), abs=2e-12)


def test_a_shuffled_guarantee_says_what_it_depends_on() -> None:
    claim = shuffled_guarantee(LINEAR, 100_000, 1e-6)
    assert claim.assumptions[0].startswith("ONLY IF an anonymous shuffler")
    assert claim.epsilon < 0.02
    assert LINEAR.guarantee.epsilon == 1.0  # the device's own promise stays as it is
    with pytest.raises(Incompatible, match="answers=1"):
        shuffled_guarantee(
            Spec(model="linear", n_features=1, row_norm=1, label=(0, 1), epsilon=1, answers=2),
            100,
            1e-6,
        )
    with pytest.raises(InvalidParameter, match="delta"):
        shuffled_epsilon(1.0, 100, 1e-12)
    assert 0.4999 < shuffled_epsilon(0.5, 1, 1e-6) <= 0.5  # alone nothing is gained
    assert shuffled_epsilon(40.0, 10**6, 1e-6) == 40.0


def test_a_plan_cautions_where_persons_are_few() -> None:
    spec = Spec(model="linear", n_features=20, row_norm=1, label=(-1, 1), epsilon=1)
    assert "CAUTION" in str(plan(spec, 100_000))
    assert 80 * 20**3 < plan(spec, 1).needed < 160 * 20**3
    assert "CAUTION" not in str(plan(LOGISTIC, 10**6))
    assert "hundred times as many persons" in str(plan(LOGISTIC, 10**6))
