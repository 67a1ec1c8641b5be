"""Budgets and guarantees."""

import json
import math
from typing import Any

import numpy as np
import pytest

from discreet.accounting import (
    INSECURE,
    Approximate,
    Budget,
    Gaussian,
    Guarantee,
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
    assert guarantee(kind="ex-post").under("replace-one") is None
    assert guarantee(kind="ex-post", delta=0.0).under("replace-one") == (2.0, 0.0)
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
    promise = guarantee(epsilon=epsilon_at(blanked, 1e-6), event=blanked)
    claim = promise.under("replace-one")
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
    late = guarantee(epsilon=0.5, delta=0.0, event=Pure(4.0), kind="ex-post")
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
    # A reserve that nobody stated cannot be summed, and a sum is never above its reserve.
    assert late.compose(guarantee(epsilon=0.1, delta=0.0, kind="ex-post")).reserved is None
    for change in ({"reserved": (0.2, 0.0)}, {"kind": "ex-ante"}, {"reserved": (2.0, -1.0)}):
        with pytest.raises(InvalidParameter):
            guarantee(**({"epsilon": 0.35, "delta": 0.0, "kind": "ex-post",
                          "reserved": (2.0, 0.0)} | change))  # fmt: skip


def test_only_guarantees_compose() -> None:
    with pytest.raises(InvalidParameter, match="Got str instead"):
        guarantee().compose("a model")  # type: ignore[arg-type]


def test_different_relations_do_not_compose() -> None:
    with pytest.raises(Incompatible, match="neighbours"):
        guarantee().compose(guarantee(neighbours="replace-one"))
    with pytest.raises(Incompatible, match="unit"):
        guarantee().compose(guarantee(unit="person"))


def test_json_round_trip() -> None:
    for original in (guarantee(), guarantee().compose(guarantee(event=Approximate(0.1, 1e-7)))):
        again = Guarantee.from_dict(json.loads(json.dumps(original.to_dict())))
        assert again == original


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
    assert "after the run" in str(guarantee(kind="ex-post"))


def test_a_notebook_shows_the_words() -> None:
    class Printer:
        shown = ""

        def text(self, words: str) -> None:
            self.shown += words

    printer, one = Printer(), guarantee()
    one._repr_pretty_(printer, cycle=False)
    assert printer.shown == str(one)
