"""Calibrations of Gaussian objective perturbation: vectors, refusals and order."""

import math
from dataclasses import replace
from itertools import pairwise

import mpmath as mp
import numpy as np
import pytest

from discreet.accounting import (
    MODES,
    LossTerms,
    best_mode,
    default_strength,
    folded_multiplier,
    gamma_scale,
    gaussian_delta,
    gaussian_multiplier,
)
from discreet.accounting.curves import anchored, kinked_rdp
from discreet.accounting.gaussian_profile import least
from discreet.accounting.utility import mean_squared_noise, objective_excess
from discreet.bounds import Neighbours
from discreet.errors import BudgetTooSmall, Incompatible, InvalidParameter

LOGISTIC = LossTerms.logistic(radius=1.0)


def glm(
    smoothness: float = 0.25, one_signed: bool = False, slopes: tuple = (1.0, 1.0)
) -> LossTerms:  # type: ignore[type-arg]
    return LossTerms(
        lipschitz=max(slopes),
        smoothness=smoothness,
        trace=smoothness,
        rank=1,
        one_signed=one_signed,
        slopes=slopes,
    )


def softmax(classes: int, radius: float = 1.0) -> LossTerms:
    return LossTerms(
        lipschitz=math.sqrt(2) * radius,
        smoothness=radius**2 / 2,
        trace=radius**2 * (1 - 1 / classes),
        rank=classes - 1,
        one_signed=False,
        slopes=(radius, radius),
        vertices=(math.sqrt(2) * radius,) * (classes - 1),
        scalar=False,
    )


@pytest.mark.parametrize(
    ("rank", "values"),
    [
        (1, (19.50416649307, 1.541494082537, 0.5819767068693, 0.1565176427497)),
        (3, (59.50138888246, 5.513882463097, 2.527726473157, 1.05514833981)),
    ],
)
def test_smallest_strength_for_half_of_epsilon(rank: int, values: tuple[float, ...]) -> None:
    terms = LossTerms(
        lipschitz=1.0,
        smoothness=1.0,
        trace=float(rank),
        rank=rank,
        one_signed=False,
        slopes=(1.0, 1.0),
    )
    for epsilon, value in zip((0.1, 1.0, 2.0, 4.0), values, strict=True):
        assert terms.strength_for(epsilon / 2) == pytest.approx(value, rel=1e-9)
        assert terms.jacobian(value) == pytest.approx(epsilon / 2, rel=1e-9)


def test_softmax_jacobian() -> None:
    assert softmax(3).jacobian(1.0) == pytest.approx(0.575364144904, rel=1e-9)
    assert softmax(10).jacobian(1.0) == pytest.approx(0.857791618239, rel=1e-9)


@pytest.mark.parametrize(
    ("epsilon", "delta", "strength", "jacobian", "published", "tight", "sharp"),
    [
        (1, 1e-5, 0.5, 0.4054651081082, 11.54140652041, 6.265678537853, 5.999662673551),
        (1, 1e-5, 2.5, 0.09531017980432, 4.30178598594, 4.257895986182, 4.087203503897),
        (0.1, 1e-6, 10, 0.02469261259037, 49.79273443373, 49.40519343288, 47.30392261792),
        (3, 1e-5, 1, 0.2231435513142, 1.573000317146, 1.540380415682, 1.488779895836),
    ],
)
def test_sigma_vectors(
    epsilon: float,
    delta: float,
    strength: float,
    jacobian: float,
    published: float,
    tight: float,
    sharp: float,
) -> None:
    assert glm().jacobian(strength) == pytest.approx(jacobian, rel=1e-9)
    for mode, terms, value in [
        ("rkw23", glm(), published),
        ("rkw23-tight", glm(), tight),
        ("sharp", glm(), sharp),
        ("sharp", glm(one_signed=True), sharp),
    ]:
        sigma = MODES[mode].sigma(terms, epsilon, delta, strength, "zero-out")
        assert sigma == pytest.approx(value, rel=1e-9)


def test_sharp_needs_the_fold_when_the_jacobian_is_small() -> None:
    sigma = MODES["sharp"].sigma(glm(), 1, 1e-5, 50, "zero-out")
    assert sigma == pytest.approx(3.8841408046, rel=1e-9)
    assert sigma == pytest.approx(folded_multiplier(1, 1e-5), rel=1e-12)
    one_sided = MODES["sharp"].sigma(glm(one_signed=True), 1, 1e-5, 50, "zero-out")
    cost = glm().jacobian(50)
    assert one_sided == pytest.approx(gaussian_multiplier(1 - cost, 1e-5), rel=1e-12)


def test_asymmetric_slopes_need_less() -> None:
    # Quantile 0.1: slopes in [-0.1, 0.9]; the small side adds almost nothing.
    wide, narrow = glm(0.01, slopes=(0.9, 0.9)), glm(0.01, slopes=(0.1, 0.9))
    sigmas = [MODES["sharp"].sigma(t, 1, 1e-2, 50, "zero-out") for t in (wide, narrow)]
    assert sigmas[1] < sigmas[0]
    sides = sum(gaussian_delta(1, slope / sigmas[1]) for slope in (0.1, 0.9))
    expected = max(sides, gaussian_delta(1 - narrow.jacobian(50), 0.9 / sigmas[1]))
    assert expected == pytest.approx(1e-2, rel=1e-9)


@pytest.mark.parametrize(
    ("epsilon", "delta", "sigma"),
    [(1, 1e-5, 10.08209210255), (0.1, 1e-6, 107.9209256392), (2, 1e-8, 6.342527559974)],
)
def test_kst12_vectors(epsilon: float, delta: float, sigma: float) -> None:
    mode = MODES["kst12"]
    strength = mode.floor(glm(1.0), epsilon, "zero-out")
    assert strength == pytest.approx(2 / epsilon)
    found = mode.sigma(glm(1.0), epsilon, delta, strength, "zero-out")
    assert found == pytest.approx(sigma, rel=1e-9)
    replaced = mode.sigma(glm(1.0), epsilon, delta, strength, "replace-one")
    assert replaced == pytest.approx(2 * sigma, rel=1e-9)


@pytest.mark.parametrize(
    ("epsilon", "published", "sharp", "gaussian"),
    [
        (0.5, 0.06093731317352, 0.0193150133201, 0.002708880218318),
        (1, 4.569591571254e-4, 9.525856912852e-5, 2.924272104856e-6),
        (2, 6.085276086513e-13, 4.835999266914e-14, 5.092130893864e-17),
    ],
)
def test_profile_vectors(epsilon: float, published: float, sharp: float, gaussian: float) -> None:
    for mode, value in (("rkw23", published), ("sharp", sharp)):
        event = MODES[mode].event(glm(), 4.0, 1.0, "zero-out")
        assert event.delta(epsilon) == pytest.approx(value, rel=1e-9)
    assert gaussian_delta(epsilon, 0.25) == pytest.approx(gaussian, rel=1e-9)


@pytest.mark.parametrize(
    ("order", "published", "first", "second", "kinked", "replaced"),
    [
        (2, 0.5303451776023, 0.2426631051505, 0.3525089506256, 0.177269897001, 0.7973443165855),
        (8, 0.6308625813672, 0.3431805089154, 0.4798204037409, 0.269065709606, 1.322131340517),
        (32, 1.310041658921, 1.02235958647, 1.223143551314, 1.0, 4.245503137784),
    ],
)
def test_renyi_vectors(
    order: float, published: float, first: float, second: float, kinked: float, replaced: float
) -> None:
    def rdp(mode: str, terms: LossTerms, strength: float, neighbours: str = "zero-out") -> float:
        return MODES[mode].event(terms, 4.0, strength, neighbours).rdp(order)  # type: ignore[arg-type]

    assert rdp("rkw23", glm(), 1.0) == pytest.approx(published, rel=1e-9)
    assert rdp("rkw23-tight", glm(), 1.0) == pytest.approx(first + math.log1p(0.25), rel=1e-9)
    assert rdp("sharp", glm(), 1.0) == pytest.approx(max(first, second), rel=1e-9)
    assert rdp("sharp", glm(one_signed=True), 1.0) == pytest.approx(second, rel=1e-9)
    assert rdp("sharp", glm(), 1e9) == pytest.approx(first, rel=1e-6)
    assert kinked_rdp(0.1, 0.25, order) == pytest.approx(kinked, abs=1e-9)
    either = min(kinked, rdp("sharp", LOGISTIC, 10.0))
    assert rdp("logistic", LOGISTIC, 10.0) == pytest.approx(either, abs=1e-9)
    for mode in ("sharp", "rkw23-tight"):
        assert rdp(mode, glm(), 1.0, "replace-one") == pytest.approx(replaced, rel=1e-9)
    assert rdp("logistic", LOGISTIC, 1.0, "replace-one") == pytest.approx(replaced, rel=1e-9)
    assert rdp("kst12", glm(), 1.0) == math.inf
    assert MODES["sharp"].event(softmax(3), 4.0, 1.0, "zero-out").rdp(order) == math.inf


@pytest.mark.parametrize(
    ("terms", "neighbours", "strength", "sigma"),
    [
        (LOGISTIC, "zero-out", 1.0, 3.730631634816),
        (LossTerms.logistic(radius=math.sqrt(2)), "add-remove", 2.0, 5.27590985417),
        (LossTerms.logistic(radius=1.0, weight=3.0), "zero-out", 3.0, 11.1918949044),
    ],
)
def test_logistic_vectors(
    terms: LossTerms, neighbours: Neighbours, strength: float, sigma: float
) -> None:
    rule = MODES["logistic"]
    floor = rule.floor(terms, 1.0, neighbours)
    assert floor == pytest.approx(strength, rel=1e-12)
    assert rule.sigma(terms, 1.0, 1e-5, floor, neighbours) == pytest.approx(sigma, rel=1e-9)


def test_logistic_vector_of_a_replacement() -> None:
    rule, sigma = MODES["logistic"], 7.47786334248
    floor = rule.floor(LOGISTIC, 1.0, "replace-one")
    assert floor == pytest.approx(2.0, rel=1e-12)
    # The vector gives each record half of epsilon; a little less for the new one is better.
    halves = (1 + math.exp(0.5)) * gaussian_delta(0.5, 1 / sigma)
    assert halves == pytest.approx(1e-5, rel=1e-9)
    found = rule.sigma(LOGISTIC, 1.0, 1e-5, floor, "replace-one")
    assert 0.997 * sigma < found < sigma
    # Two rows can do what one of twice the length does, so this is nearly the least there is.
    assert found >= 2 * gaussian_multiplier(1.0, 1e-5)


def test_approximate_minima_vector() -> None:
    # 1% of the budget is kept for the output noise.
    rule = MODES["logistic"]
    strength = rule.floor(LOGISTIC, 0.99, "zero-out")
    sigma = rule.sigma(LOGISTIC, 0.99, 0.99e-5, strength, "zero-out")
    assert strength == pytest.approx(1.0101010101, rel=1e-9)
    assert sigma == pytest.approx(3.76721642095, rel=1e-9)
    tau = 1e-8 * sigma
    output = 2 * tau / strength * gaussian_multiplier(0.01, 1e-7)
    assert output == pytest.approx(2.70032689996e-5, rel=1e-9)


@pytest.mark.parametrize("classes", [3, 10])
def test_softmax_calibration_is_the_vertex_rule(classes: int) -> None:
    terms = softmax(classes, radius=2.0)
    strength = MODES["sharp"].floor(terms, 1.0, "zero-out")
    assert strength == pytest.approx(4 / (classes * math.expm1(0.1 / (classes - 1))))
    sigma = MODES["sharp"].sigma(terms, 1.0, 1e-5, strength, "zero-out")
    cost = terms.jacobian(strength)
    length = math.sqrt(8)
    expected = least(lambda s: (classes - 1) * gaussian_delta(1 - cost, length / s) <= 1e-5)
    assert sigma == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("neighbours", ["zero-out", "replace-one"])
def test_modes_are_ordered(neighbours: str) -> None:
    budgets = [(0.1, 1e-8), (4.0, 1e-3), (1.0, 1e-5)]
    for epsilon, delta in budgets[neighbours == "replace-one" :]:
        for strength in (1.2, 10.0):
            strength *= MODES["rkw23"].needed(LOGISTIC, epsilon, neighbours)
            sigmas = [
                MODES[mode].sigma(glm(), epsilon, delta, strength, neighbours)  # type: ignore[arg-type]
                for mode in ("sharp", "rkw23-tight", "rkw23")
            ]
            assert all(a <= b * (1 + 1e-12) for a, b in pairwise(sigmas))
            for mode, sigma in zip(("sharp", "rkw23-tight", "rkw23"), sigmas, strict=True):
                event = MODES[mode].event(glm(), sigma, strength, neighbours)  # type: ignore[arg-type]
                assert event.delta(epsilon) <= delta


@pytest.mark.parametrize(("mode", "usual"), [("sharp", 3.0), ("logistic", 0.5)])
def test_noise_falls_with_every_kind_of_slack(mode: str, usual: float) -> None:
    def sigma(epsilon: float = 1.0, delta: float = 1e-5, strength: float = usual) -> float:
        terms = LOGISTIC if mode == "logistic" else glm()
        return MODES[mode].sigma(terms, epsilon, delta, strength, "zero-out")

    assert sigma(epsilon=1.1) < sigma() < sigma(epsilon=0.9)
    assert sigma(delta=2e-5) < sigma() < sigma(delta=5e-6)
    assert sigma(strength=1.3 * usual) < sigma() < sigma(strength=0.7 * usual)


@pytest.mark.parametrize("mode", sorted(MODES))
def test_noise_scales_with_the_rows(mode: str) -> None:
    base = MODES[mode].sigma(LOGISTIC, 1.0, 1e-5, 3.0, "zero-out")
    scaled = MODES[mode].sigma(LossTerms.logistic(radius=7.0), 1.0, 1e-5, 147.0, "zero-out")
    assert scaled == pytest.approx(7 * base, rel=1e-9)


@pytest.mark.parametrize("delta", [0.0, 1e-5])
@pytest.mark.parametrize("guess", [0.05, 0.5, 5.0])
@pytest.mark.parametrize("terms", [LOGISTIC, glm()], ids=["logistic", "general"])
def test_a_norm_guess_gives_nearly_the_least_excess(
    terms: LossTerms, guess: float, delta: float
) -> None:
    kind = "gaussian" if delta else "gamma"
    mode = MODES[best_mode(terms, "zero-out")]

    def scale(strength: float) -> float:
        if delta:
            return mode.sigma(terms, 1.0, delta, strength, "zero-out")
        return gamma_scale(terms, 1.0, strength, "zero-out")

    def excess(strength: float) -> float:
        square = mean_squared_noise(kind, scale(strength), 20)
        return objective_excess(math.sqrt(square), strength, guess)

    strength, noise = default_strength(terms, None, 1.0, delta, "zero-out", 20, guess)
    assert noise == scale(strength)
    # Others may go down to J < epsilon; the logistic loss stops where noise grows by a tenth.
    lowest = 1.05 * terms.strength_for(1.0)
    if terms.self_bounded:
        lowest, _ = default_strength(terms, None, 1.0, delta, "zero-out", 20)
    assert excess(strength) <= 1.1 * min(excess(s) for s in lowest * np.geomspace(1, 1e4, 60))


def test_impossible_terms_are_refused() -> None:
    for change in (
        {"slopes": (1.0, 2.0)},
        {"smoothness": math.nan},
        {"trace": -1.0},
        {"lipschitz": 0.0},
        {"rank": 0},
        {"scalar": False, "vertices": (3.0,)},
    ):
        with pytest.raises(InvalidParameter):
            replace(glm(), **change)


def test_best_mode() -> None:
    assert best_mode(LOGISTIC, "replace-one") == "logistic"
    assert best_mode(glm(), "zero-out") == "sharp"
    assert best_mode(softmax(3), "zero-out") == "sharp"


def test_refusals() -> None:
    rough = glm(math.inf)
    vague = LossTerms(
        lipschitz=1.0,
        smoothness=1.0,
        trace=2.0,
        rank=2,
        one_signed=False,
        slopes=(1.0, 1.0),
        scalar=False,
    )
    for mode in MODES.values():
        assert mode.refusal(rough, "zero-out")
        assert mode.refusal(vague, "zero-out")
        with pytest.raises(Incompatible):
            mode.sigma(vague, 1.0, 1e-5, 10.0, "zero-out")
        with pytest.raises(InvalidParameter):
            mode.refusal(LOGISTIC, "sideways")
    assert "pure epsilon" in str(MODES["sharp"].refusal(vague, "zero-out"))
    assert "hard labels" in str(MODES["logistic"].refusal(glm(), "zero-out"))
    for mode in ("rkw23", "rkw23-tight", "kst12"):
        assert MODES[mode].refusal(softmax(3), "zero-out")
    with pytest.raises(Incompatible, match="pure epsilon"):
        best_mode(vague, "zero-out")


@pytest.mark.parametrize(
    ("mode", "strength", "neighbours", "needed"),
    [
        ("logistic", 0.145, "zero-out", 0.25 / math.expm1(1)),
        ("logistic", 0.145, "replace-one", 0.25 / math.expm1(1)),
        ("sharp", 0.145, "zero-out", 0.25 / math.expm1(1)),
        ("rkw23", 0.39, "zero-out", 0.25 / -math.expm1(-1)),
        ("kst12", 0.49, "replace-one", 0.5),
    ],
)
def test_too_small_a_strength_is_refused_and_named(
    mode: str, strength: float, neighbours: str, needed: float
) -> None:
    with pytest.raises(BudgetTooSmall, match=f"above {needed:.6g}"):
        MODES[mode].sigma(LOGISTIC, 1.0, 1e-5, strength, neighbours)  # type: ignore[arg-type]
    assert MODES[mode].sigma(LOGISTIC, 1.0, 1e-5, needed * 1.01, neighbours) > 0  # type: ignore[arg-type]


@pytest.mark.parametrize("mode", ["logistic", "sharp"])
def test_a_budget_beyond_all_noise_is_refused_without_numbers_nobody_passed(mode: str) -> None:
    strength = 2.0 * MODES[mode].floor(LOGISTIC, 1e-20, "zero-out")
    with pytest.raises(BudgetTooSmall, match="no calibration at so small an epsilon") as caught:
        MODES[mode].sigma(LOGISTIC, 1e-20, 1e-100, strength, "zero-out")
    assert "1e-20" not in str(caught.value)
    with pytest.raises(BudgetTooSmall, match=r"Use a strength above"):
        MODES[mode].sigma(LOGISTIC, 1.0, 1e-6, 1e-3, "zero-out")


def test_a_tiny_delta_is_not_rounded_away_below_the_start_of_a_curve() -> None:
    flat = anchored(lambda epsilons: np.full_like(epsilons, 1e-30), np.array([0.0]), 1e-40)
    assert flat[0] >= 1e-30


@pytest.mark.parametrize("mode", ["logistic", "sharp", "rkw23-tight"])
@pytest.mark.parametrize(("epsilon", "delta"), [(0.1, 1e-6), (1.0, 1e-6), (8.0, 1e-9)])
def test_many_epsilons_at_once_are_bounded_about_as_well_as_each_alone(mode, epsilon, delta):
    # Alone every epsilon has a fine search of its own; together most take over where others pass.
    rule = MODES[mode]
    strength = 3.0 * rule.floor(LOGISTIC, epsilon, "replace-one")
    sigma = rule.sigma(LOGISTIC, epsilon, delta, strength, "replace-one")
    event = rule.event(LOGISTIC, sigma, strength, "replace-one")
    epsilons = np.linspace(0.0, 2.0 * epsilon, 301)[::-1]
    alone = np.array([event.profile(e)[0] for e in epsilons.reshape(-1, 1)])
    assert (event.profile(epsilons) >= alone * (1 - 1e-3)).all()
    assert (event.profile(epsilons) <= alone * 1.05 + 1e-300).all()
    assert np.median(event.profile(epsilons) / alone) <= 1.005
    assert event.profile(epsilons[:40]) == pytest.approx(alone[:40], rel=1e-3)


def test_many_epsilons_of_an_event_that_hides_nothing():
    event = MODES["sharp"].event(LOGISTIC, 1e-5, 1.0, "replace-one")
    assert (event.profile(np.linspace(0.0, 1.0, 200)) == 1.0).all()


@pytest.mark.parametrize(
    ("epsilon", "delta", "radius", "strength"),
    [
        (1.459182185426367, 1.6763948024713446e-10, 11.118234098600697, 163.78754032411703),
        (0.5057885343737962, 2.042770616939031e-07, 3.5036964507467823, 402.7001324655879),
    ],
)
def test_noise_is_enough_in_exact_arithmetic(
    epsilon: float, delta: float, radius: float, strength: float
) -> None:
    """Without a Jacobian the curve is the Gaussian one, which float64 finds a little too small."""
    terms = LossTerms.logistic(radius=radius)
    assert terms.jacobian(strength) < epsilon
    sigma = MODES["logistic"].sigma(terms, epsilon, delta, strength, "zero-out")
    with mp.workdps(50):
        e, s = mp.mpf(epsilon), mp.mpf(terms.lipschitz) / mp.mpf(sigma)
        exact = mp.ncdf(s / 2 - e / s) - mp.exp(e) * mp.ncdf(-s / 2 - e / s)
        assert exact <= delta
        assert exact > delta * (1 - mp.mpf(2) ** -30)
