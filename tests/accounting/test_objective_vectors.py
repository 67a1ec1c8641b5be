"""Strengths and costs of earlier rules for objective perturbation, next to the library's own."""

import math

import pytest

from discreet.accounting import MODES, LossTerms, gamma_scale
from discreet.errors import BudgetTooSmall

EPSILONS = (0.1, 1.0, 2.0, 4.0)


def terms_of(rank: int = 1, smoothness: float = 1.0) -> LossTerms:
    return LossTerms(
        lipschitz=1.0,
        smoothness=smoothness,
        trace=rank * smoothness,
        rank=rank,
        one_signed=False,
        slopes=(1.0, 1.0),
        scalar=rank == 1,
    )


@pytest.mark.parametrize(
    ("rank", "values"),
    [
        (1, (20.50416649307, 2.541494082537, 1.581976706869, 1.15651764275)),
        (3, (61.5124994792, 7.62448224761, 4.745930120608, 3.469552928249)),
    ],
)
def test_the_chapters_strength_is_valid_and_never_the_smallest(
    rank: int, values: tuple[float, ...]
) -> None:
    terms = terms_of(rank)
    for epsilon, printed in zip(EPSILONS, values, strict=True):
        chapter = rank / -math.expm1(-epsilon / 2)
        assert chapter == pytest.approx(printed, rel=1e-9)
        assert terms.jacobian(printed) < epsilon / 2
        # Kifer, Smith and Thakurta lie between; below theirs their mode refuses.
        between = 2 * rank / epsilon
        assert terms.strength_for(epsilon / 2) < between < printed
        assert gamma_scale(terms, epsilon, between, "zero-out", "kst12") == pytest.approx(
            2 / epsilon
        )
        with pytest.raises(BudgetTooSmall):
            gamma_scale(terms, epsilon, 0.999 * between, "zero-out", "kst12")
        if rank == 1:
            # 1 / (1 - exp(-x)) = 1 + 1 / (exp(x) - 1): one whole smoothness too much.
            assert printed - terms.strength_for(epsilon / 2) == pytest.approx(1.0, rel=1e-9)
            assert MODES["rkw23"].needed(terms, epsilon / 2, "zero-out") == pytest.approx(printed)


def test_strengths_of_chaudhuri_monteleoni_and_sarwate() -> None:
    values = (39.50208331163, 3.520811664188, 1.541494082537, 0.5819767068693)
    terms = terms_of()
    for epsilon, printed in zip(EPSILONS, values, strict=True):
        assert terms.strength_for(epsilon / 4) == pytest.approx(printed, rel=1e-9)
        # They pay the Jacobian twice, so a quarter of epsilon each leaves half for the noise.
        theirs = gamma_scale(terms, epsilon, printed, "replace-one", "cms11")
        assert theirs == pytest.approx(4 / epsilon, rel=1e-9)
        ours = gamma_scale(terms, epsilon, printed, "replace-one", "tight")
        assert ours == pytest.approx(2 / (0.75 * epsilon), rel=1e-9)
        assert printed > 2 * terms.strength_for(epsilon / 2)


def test_what_chaudhuri_monteleoni_and_sarwate_leave_for_the_noise() -> None:
    terms = terms_of(smoothness=0.25)
    left = 2 / gamma_scale(terms, 1.0, 1.0, "replace-one", "cms11")
    assert left == pytest.approx(0.553712897372, rel=1e-9)
    assert left == pytest.approx(1 - 2 * terms.jacobian(1.0), rel=1e-12)
    # The right determinant bound pays once.
    ours = 2 / gamma_scale(terms, 1.0, 1.0, "replace-one")
    assert ours - left == pytest.approx(terms.jacobian(1.0), rel=1e-9)


def test_the_jacobian_cost_of_much_strength() -> None:
    assert terms_of(smoothness=0.25).jacobian(50.0) == pytest.approx(0.00498754151104, rel=1e-9)
