"""Budgets and guarantees."""

import json
import math
import time
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from discreet.accounting import (
    INSECURE,
    MODES,
    Approximate,
    Budget,
    Composed,
    Gaussian,
    Guarantee,
    LossTerms,
    PoissonGaussian,
    Pure,
    epsilon_at,
    gaussian_multiplier,
)
from discreet.errors import BudgetTooSmall, Incompatible, InvalidData, InvalidParameter


def guarantee(**changes: Any) -> Guarantee:
    given: dict[str, Any] = {
        "epsilon": 1.0,
        "delta": 1e-6,
        "neighbours": "zero-out",
        "event": Gaussian(gaussian_multiplier(1.0, 1e-6)),
        "theorem": "Gaussian mechanism",
        "assumptions": ("rows are clipped",),
    }
    return Guarantee(**(given | changes))


@pytest.mark.parametrize(
    ("epsilon", "delta"),
    [(0, 0), (-1, 0), (math.inf, 0), (math.nan, 0), (1, -1e-9), (1, 1), (1, math.nan), ("1", 0)],
)
def test_bad_budgets_are_refused(epsilon: Any, delta: Any) -> None:
    with pytest.raises(InvalidParameter):
        Budget(epsilon, delta)


@pytest.mark.parametrize("epsilon", [1e-300, 9e-31, 2e12, 1e300])
def test_a_budget_beyond_meaning_is_refused_with_the_range(epsilon: float) -> None:
    for delta in (0.0, 1e-6):
        with pytest.raises(InvalidParameter, match=r"epsilon must lie between 1e-30 and 1e\+12"):
            Budget(epsilon, delta)
    Budget(1e-30), Budget(1e12)


def test_a_delta_below_all_tails_is_refused_with_the_way_out() -> None:
    with pytest.raises(InvalidParameter, match="pass delta=0 for pure privacy"):
        Budget(1.0, 1e-300)
    assert Budget(1.0, 1e-290).delta == 1e-290


@pytest.mark.parametrize(
    ("whole", "blamed"),
    [(Budget(1e-30), "epsilon"), (Budget(1e-30, 1e-6), "epsilon"), (Budget(1.0, 1e-290), "delta")],
)
def test_a_budget_too_small_to_be_split_is_blamed_and_not_its_parts(
    whole: Budget, blamed: str
) -> None:
    for split in (lambda: whole.split(0.01), lambda: whole.split(0.99), lambda: whole.split(0.5)):
        with pytest.raises(BudgetTooSmall, match=f"^{blamed} is too small to be split") as caught:
            split()
        assert "Got" not in str(caught.value)
    assert Budget(2e-30, 2e-290).split(0.5) == (Budget(1e-30, 1e-290),) * 2


def test_budgets_compare_componentwise() -> None:
    assert Budget(1, 1e-6) <= Budget(1, 1e-6)
    assert Budget(2, 1e-5) >= Budget(1, 1e-6)
    left, right = Budget(1, 1e-5), Budget(2, 1e-6)
    assert not left <= right
    assert not left >= right


def test_split_spends_everything_once() -> None:
    part, rest = Budget(1.0, 1e-5).split(0.01)
    assert (part.epsilon, part.delta) == (0.01, pytest.approx(1e-7))
    assert part.epsilon + rest.epsilon == pytest.approx(1.0, abs=1e-15)
    assert part.delta + rest.delta == pytest.approx(1e-5, rel=1e-12)
    for fraction in (0, 1, -1, 2):
        with pytest.raises(InvalidParameter):
            Budget(1.0).split(fraction)


def test_remarks_warn_about_weak_budgets() -> None:
    assert Budget(1.0, 1e-6).remarks() == ()
    assert len(Budget(60.0, 0.05).remarks()) == 2


def test_relations() -> None:
    zero_out = guarantee()
    assert zero_out.under("zero-out") == (1.0, 1e-6)
    assert zero_out.under("replace-one") == (pytest.approx(2.123, abs=1e-3), 1e-6)
    assert zero_out.under("add-remove") is None
    replace = guarantee(neighbours="replace-one")
    assert replace.under("zero-out") == (1.0, 1e-6)
    assert replace.under("add-remove") is None
    secret = guarantee(neighbours="add-remove")
    assert secret.under("zero-out") == (1.0, 1e-6)
    assert secret.under("replace-one") == zero_out.under("replace-one")
    late = {"kind": "ex-post", "reserved": (1.0, 1e-6)}
    assert guarantee(**late).under("replace-one") is None
    assert guarantee(**late, delta=0.0).under("replace-one") == (2.0, 0.0)
    with pytest.raises(InvalidParameter):
        zero_out.under("sideways")


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 8.0, 14.0])
def test_two_blankings_cover_a_real_replacement_and_little_more(epsilon: float) -> None:
    sigma = gaussian_multiplier(epsilon, 1e-6)
    claim = guarantee(epsilon=epsilon, event=Gaussian(sigma)).under("replace-one")
    assert claim is not None
    assert claim[1] == 1e-6
    # Replacing moves a Gaussian release by twice the distance of blanking.
    exact = epsilon_at(Gaussian(sigma / 2), 1e-6)
    assert exact <= claim[0] <= 1.003 * exact


@pytest.mark.parametrize(("sigma", "rate", "steps"), [(1.5, 0.1, 30), (0.7, 0.02, 5)])
def test_two_blankings_cover_replacements_in_batches(sigma: float, rate: float, steps: int) -> None:
    blanked = PoissonGaussian(sigma, rate, steps, "zero-out")
    claim = guarantee(epsilon=epsilon_at(blanked, 1e-6), event=blanked)
    claim = claim.under("replace-one")
    assert claim is not None
    assert PoissonGaussian(sigma, rate, steps, "replace-one").delta(claim[0]) <= claim[1]


class Chain:
    """What tells three laws apart, each from the next, as an event."""

    def __init__(self, laws: np.ndarray) -> None:
        self.laws = laws

    def delta(self, epsilon: float) -> float:
        pairs = [(0, 1), (1, 0), (1, 2), (2, 1)]
        return max(hockey_stick(self.laws[a], self.laws[b], epsilon) for a, b in pairs)

    def rdp(self, order: float) -> float:
        return math.inf

    def to_dict(self) -> dict[str, Any]:
        return {}


def hockey_stick(p: np.ndarray, q: np.ndarray, epsilon: float) -> float:
    return float(np.maximum(p - math.exp(min(epsilon, 700.0)) * q, 0.0).sum())


def test_two_blankings_cover_both_ends_of_any_chain() -> None:
    rng = np.random.default_rng(0)
    closest = 0.0
    for _ in range(200):
        step = rng.normal(size=6) * rng.choice([0.2, 1.0, 3.0])
        # The second step goes on where the first one went, so that ends are as far as they can be.
        middle = rng.dirichlet(np.ones(6))
        laws = np.array([middle * np.exp(step), middle, middle * np.exp(-step)])
        chain = Chain(laws / laws.sum(axis=1, keepdims=True))
        delta = float(10 ** rng.uniform(-6, -1))
        claim = guarantee(epsilon=9.0, delta=delta, event=chain).under("replace-one")
        assert claim is not None
        ends = (chain.laws[0], chain.laws[2])
        far = max(hockey_stick(*ends, claim[0]), hockey_stick(*ends[::-1], claim[0]))
        assert far <= claim[1]
        # Nine tenths of the claim are often too little, so the test can fail.
        near = max(hockey_stick(*ends, 0.9 * claim[0]), hockey_stick(*ends[::-1], 0.9 * claim[0]))
        closest = max(closest, near / claim[1])
    assert closest > 1.0


def test_of_a_point_only_the_worst_is_known() -> None:
    point = guarantee(event=Approximate(1.0, 1e-6))
    assert point.under("replace-one") == (2.0, pytest.approx((1 + math.e) * 1e-6))
    assert guarantee(event=Approximate(1.0, 0.4), delta=0.4).under("replace-one") is None
    assert guarantee(event=Approximate(900.0, 1e-6), epsilon=900.0).under("replace-one") is None


def test_a_guarantee_is_short_in_a_list_and_long_in_print() -> None:
    assert repr(guarantee()) == (
        "Guarantee(epsilon=1.0, delta=1e-06, neighbours='zero-out', kind='ex-ante', secure=True,"
        " ...)"
    )
    assert "under replace-one: epsilon = 2.12" in str(guarantee())


def test_composition_is_tight_and_keeps_everything() -> None:
    one, two = guarantee(), guarantee(secure=False, assumptions=("n is public",), theorem="other")
    both = one.compose(two)
    assert both.delta == 2e-6
    pair = Gaussian(gaussian_multiplier(1.0, 1e-6) / math.sqrt(2))
    assert both.epsilon == pytest.approx(epsilon_at(pair, 2e-6), rel=1e-9)
    assert both.epsilon < 1.5
    assert not both.secure
    assert both.assumptions == ("rows are clipped", "n is public")
    assert "Gaussian mechanism" in both.theorem
    assert "other" in both.theorem
    assert both.event.delta(both.epsilon) <= both.delta


def test_composition_of_pure_and_ex_post_adds_up() -> None:
    pure = guarantee(epsilon=0.5, delta=0.0, event=Pure(0.5))
    assert pure.compose(pure).epsilon == pytest.approx(1.0)
    late = guarantee(epsilon=0.5, delta=0.0, event=Pure(4.0), kind="ex-post", reserved=(4.0, 0.0))
    both = pure.compose(late)
    assert (both.epsilon, both.kind) == (1.0, "ex-post")


def test_reserves_of_ex_post_guarantees() -> None:
    late = guarantee(epsilon=0.35, delta=0.0, event=Pure(2.0), kind="ex-post", reserved=(2.0, 0.0))
    text = str(late)
    assert "epsilon = 0.35" in text
    assert "at most epsilon = 2, delta = 0 (reserved)" in text
    assert Guarantee.from_dict(json.loads(json.dumps(late.to_dict()))) == late
    both = late.compose(guarantee(epsilon=0.5, delta=0.0, event=Pure(0.5)), late)
    assert both.epsilon == pytest.approx(1.2)
    assert both.reserved == pytest.approx((4.5, 0.0))
    assert both.event.delta(4.5) <= 1e-12
    # What was spent is never above its reserve, which must be known.
    for change in (
        {"reserved": (0.2, 0.0)}, {"kind": "ex-ante"}, {"reserved": (2.0, -1.0)}, {"reserved": None}
    ):  # fmt: skip
        with pytest.raises(InvalidParameter):
            guarantee(**({"epsilon": 0.35, "delta": 0.0, "kind": "ex-post",
                          "reserved": (2.0, 0.0)} | change))  # fmt: skip


def test_only_guarantees_compose() -> None:
    with pytest.raises(InvalidParameter, match="Got str instead"):
        guarantee().compose("a model")  # type: ignore[arg-type]


def test_different_units_do_not_compose() -> None:
    with pytest.raises(Incompatible, match="unit"):
        guarantee().compose(guarantee(unit="person"))


def test_different_relations_compose_under_one_that_all_have() -> None:
    zero, replaced = guarantee(), guarantee(neighbours="replace-one")
    secret = guarantee(neighbours="add-remove")
    both = zero.compose(replaced)
    assert both.epsilon == pytest.approx(replaced.compose(zero).epsilon, rel=1e-9)
    assert both.neighbours == "replace-one"
    # The first moves twice as far under a replacement; the sum of both covers that.
    true = Composed((Gaussian(gaussian_multiplier(1.0, 1e-6) / 2), replaced.event))
    assert true.delta(both.epsilon) <= both.delta == 2e-6
    assert Guarantee.from_dict(both.to_dict()) == both
    blanked = zero.compose(secret)
    assert (blanked.neighbours, blanked.epsilon) == ("zero-out", zero.compose(zero).epsilon)
    # Without a curve a large delta says nothing of a replacement, but something of a blanking.
    point = guarantee(event=Approximate(1.0, 0.4), delta=0.4)
    with pytest.raises(Incompatible, match="different neighbours"):
        replaced.compose(replace(point, neighbours="add-remove"))
    # What is said is no less than what holds under zero-out, where both curves hold as they are.
    assert replaced.compose(secret).under("zero-out")[0] >= zero.compose(zero).epsilon  # type: ignore[index]


def test_a_total_delta_can_be_chosen() -> None:
    one = guarantee()
    pair = Gaussian(gaussian_multiplier(1.0, 1e-6) / math.sqrt(2))
    for delta in (1e-9, 1e-6, 1e-3):
        both = one.compose(one, delta=delta)
        assert both.delta == delta
        assert both.epsilon == pytest.approx(epsilon_at(pair, delta), rel=1e-9)
        assert one.epsilon_at(delta) == pytest.approx(epsilon_at(one.event, delta), rel=1e-9)
        assert Guarantee.from_dict(both.to_dict()) == both
    assert one.compose(delta=1e-9).epsilon == pytest.approx(one.epsilon_at(1e-9))
    # A point says nothing at a smaller delta.
    point = guarantee(event=Approximate(1.0, 1e-6))
    assert 0.9999 < point.epsilon_at(1e-5) < 1.0
    assert point.epsilon_at(1e-7) == math.inf
    with pytest.raises(Incompatible, match="no finite epsilon at so small a delta"):
        point.compose(point, delta=1e-6)
    late = guarantee(kind="ex-post", epsilon=0.3, reserved=(1.0, 1e-6))
    assert late.epsilon_at(1e-6) == pytest.approx(1.0)
    with pytest.raises(Incompatible, match="their own delta only"):
        one.compose(late, delta=1e-3)
    for delta in (-1e-9, 1.0, math.nan):
        with pytest.raises(InvalidParameter, match="delta"):
            one.compose(one, delta=delta)
        with pytest.raises(InvalidParameter, match="delta"):
            one.epsilon_at(delta)


def test_json_round_trip() -> None:
    for original in (guarantee(), guarantee().compose(guarantee(event=Approximate(0.1, 1e-7)))):
        again = Guarantee.from_dict(json.loads(json.dumps(original.to_dict())))
        assert again == original


def test_the_version_has_a_key_of_its_own_and_files_with_the_short_one_are_read() -> None:
    values = guarantee().to_dict()
    assert values["discreet_guarantee_version"] == 1
    values["version"] = values.pop("discreet_guarantee_version")
    assert Guarantee.from_dict(values) == guarantee()


@pytest.mark.parametrize("change", [{"version": 2}, {"note": "x"}, {"delta": None}, {"event": {}}])
def test_bad_json_is_refused(change: dict[str, Any]) -> None:
    values = guarantee().to_dict() | change
    if change == {"delta": None}:
        del values["delta"]
    with pytest.raises(InvalidParameter):
        Guarantee.from_dict(values)


@pytest.mark.parametrize(
    "change",
    [
        {"secure": "no"},
        {"secure": 0},
        {"theorem": 1},
        {"unit": None},
        {"assumptions": "rows are clipped"},
        {"assumptions": [1]},
        {"kind": "ex-post", "reserved": 2.0},
        {"kind": "ex-post", "reserved": [2.0]},
    ],
    ids=str,
)
def test_json_of_other_types_is_refused(change: dict[str, Any]) -> None:
    with pytest.raises(InvalidParameter):
        Guarantee.from_dict(guarantee().to_dict() | change)


def test_claims_that_the_event_does_not_bear_are_refused() -> None:
    for part in ({"epsilon": 0.5}, {"delta": 1e-7}):
        with pytest.raises(InvalidData, match="claims a smaller epsilon or delta"):
            Guarantee.from_dict(guarantee().to_dict() | part)
    assert Guarantee.from_dict(guarantee().to_dict() | {"epsilon": 2.0}).epsilon == 2.0
    # A little is no better than much, and the worst case of a run bears what it reserved.
    spent = guarantee(kind="ex-post", epsilon=0.3, reserved=(1.0, 1e-6))
    whole = guarantee().compose(guarantee(event=Pure(0.2), epsilon=0.2, delta=0.0))
    for one, close in (
        (guarantee(), {"epsilon": 0.99}),
        (guarantee(), {"delta": 0.9e-6}),
        (spent, {"reserved": [0.99, 1e-6]}),
        (spent, {"delta": 0.0, "reserved": [1.0, 0.9e-6]}),
        (whole, {"epsilon": 0.99 * whole.epsilon}),
        (whole, {"delta": 0.9 * whole.delta}),
    ):
        assert Guarantee.from_dict(one.to_dict()) == one
        with pytest.raises(InvalidData, match="claims a smaller epsilon or delta"):
            Guarantee.from_dict(one.to_dict() | close)
    with pytest.raises(InvalidParameter, match="what to_dict returned"):
        Guarantee.from_dict(None)  # type: ignore[arg-type]


def composed(*runs: Any) -> dict[str, Any]:
    return {"event": "composed", "events": list(runs)}


@pytest.mark.parametrize(
    ("claim", "event"),
    [
        ((1.0, 0.0), Composed((Pure(1000.0), Pure(1000.0)))),
        ((301.0, 0.0), Composed((Pure(1e6), Pure(1e6)))),
        ((1.0, 0.9), Composed((Approximate(400.0, 0.1), Pure(1000.0)))),
        ((1e5, 1e-6), Pure(1e6)),
        ((30.0, 0.0), Composed((Gaussian(2.0), Pure(1.0)))),  # all but pure
    ],
    ids=str,
)
def test_unknown_curves_bear_no_claim(claim: tuple[float, float], event: Any) -> None:
    stated = guarantee(epsilon=claim[0], delta=claim[1], event=event)
    with pytest.raises(InvalidData, match="claims a smaller epsilon or delta"):
        Guarantee.from_dict(stated.to_dict())
    late = guarantee(epsilon=0.5, delta=0.0, event=event, kind="ex-post", reserved=claim)
    with pytest.raises(InvalidData, match="claims a smaller epsilon or delta"):
        Guarantee.from_dict(late.to_dict())


def test_an_ex_post_guarantee_is_not_read_without_its_reserve() -> None:
    late = guarantee(kind="ex-post", epsilon=0.3, reserved=(1.0, 1e-6))
    with pytest.raises(InvalidParameter, match="needs its reserve"):
        Guarantee.from_dict(late.to_dict() | {"reserved": None})


@pytest.mark.parametrize(
    ("event", "message"),
    [
        (lambda: composed([10**10, Pure(0.1).to_dict()]), "at most 100,000 events"),
        (lambda: composed(*[[1, Pure(0.1).to_dict()]] * 10**6), "at most 256 runs"),
        (lambda: composed([60_000, Pure(0.1).to_dict()], [60_000, Pure(0.2).to_dict()]), "100,000"),
        (lambda: composed([1, composed([1, Pure(0.1).to_dict()])]), "does not hold other composed"),
        (lambda: composed([1]), "a number and the event"),
        (lambda: composed(["x", Pure(0.1).to_dict()]), "times must be a whole number"),
        (lambda: composed([1, None]), "what to_dict of an event returned"),
        (lambda: composed([1, {"event": "\x1b[2J"}]), "An event must be one of"),
        (lambda: {"event": "composed", "events": {"a": 1}}, "list of at most"),
        (lambda: {"event": "approximate", "epsilon": 1.0, "failure": "x"}, "wrong kind"),
        (lambda: PoissonGaussian(1.0, 0.1, 5, "zero-out").to_dict() | {"steps": 10**400}, "steps"),
        (lambda: sharp(vertices=[0.1] * 10**6), "at most 100,000 vertices"),
        (lambda: sharp(vertices=[k / 200 for k in range(200)]), "100 different lengths"),
        (lambda: sharp(vertices=["x"]), "wrong kind"),
        (lambda: sharp(rank=10**400), "rank must be at most"),
    ],
)
def test_hostile_events_are_refused_quickly_and_in_words(event: Any, message: str) -> None:
    values = guarantee().to_dict() | {"event": event()}
    start = time.process_time()
    with pytest.raises(InvalidParameter, match=message) as caught:
        Guarantee.from_dict(values)
    assert time.process_time() - start < 1.0
    assert "\x1b" not in str(caught.value)


def sharp(**terms: Any) -> dict[str, Any]:
    event = MODES["sharp"].event(LossTerms.logistic(radius=1.0), 1.0, 1.0, "zero-out").to_dict()
    return event | {"terms": event["terms"] | terms}


def test_nesting_of_any_depth_is_refused() -> None:
    event: dict[str, Any] = Pure(0.1).to_dict()
    for _ in range(100_000):
        event = composed([1, event])
    with pytest.raises(InvalidParameter, match="does not hold other composed"):
        Guarantee.from_dict(guarantee().to_dict() | {"event": event})


def test_every_composition_is_borne_by_its_event() -> None:
    softmax = LossTerms(lipschitz=1.0, smoothness=0.5, trace=0.6, rank=2, one_signed=False,
                        slopes=(0.0, 0.0), vertices=(1.0, 1.0), scalar=False)  # fmt: skip
    for epsilon, delta in ((0.1, 1e-18), (1.0, 1e-6), (200.0, 1e-6), (2000.0, 1e-200)):
        points = [guarantee(epsilon=e * epsilon, delta=delta, event=Approximate(e * epsilon, delta))
                  for e in (0.3171, 0.7123, 1.0)]  # fmt: skip
        tilts = []
        for radius in (1.0, 1.37):
            strength = softmax.strength_for(epsilon / 10)
            sigma = MODES["sharp"].sigma(softmax, radius * epsilon, delta, strength, "zero-out")
            event = MODES["sharp"].event(softmax, sigma, strength, "zero-out")
            tilts.append(guarantee(epsilon=radius * epsilon, delta=delta, event=event))
        for parts in (points, tilts, points + tilts):
            whole = parts[0].compose(*parts[1:])
            assert whole.epsilon <= sum(p.epsilon for p in parts) * (1 + 1e-15)
            assert Guarantee.from_dict(whole.to_dict()) == whole


def test_compositions_of_the_smallest_deltas_are_read_back() -> None:
    parts = [
        guarantee(epsilon=e, delta=1e-18, event=Gaussian(gaussian_multiplier(e, 1e-18)))
        for e in (0.317, 0.7123, 0.1234)
    ]
    parts += [guarantee(epsilon=0.5, delta=1e-18, event=Approximate(0.5, 1e-18))]
    whole = parts[0].compose(*parts[1:])
    assert Guarantee.from_dict(whole.to_dict()) == whole


def test_invalid_guarantees_are_refused() -> None:
    for change in ({"neighbours": "x"}, {"kind": "x"}, {"epsilon": math.inf}, {"event": 3}):
        with pytest.raises(InvalidParameter):
            guarantee(**change)


def test_text_says_what_is_promised() -> None:
    text = str(guarantee())
    for phrase in ("epsilon = 1,", "1e-06", "per row", "zero-out", "the number of rows is public"):
        assert phrase in text
    for phrase in ("replace-one: epsilon = 2", "add-remove: no claim", "rows are clipped"):
        assert phrase in text
    assert "Gaussian mechanism" in text
    assert INSECURE not in text
    assert INSECURE in str(guarantee(secure=False))
    assert "after the run" in str(guarantee(kind="ex-post", reserved=(1.0, 1e-6)))


def test_a_notebook_shows_the_words() -> None:
    class Printer:
        shown = ""

        def text(self, words: str) -> None:
            self.shown += words

    printer, one = Printer(), guarantee()
    one._repr_pretty_(printer, cycle=False)
    assert printer.shown == str(one)
