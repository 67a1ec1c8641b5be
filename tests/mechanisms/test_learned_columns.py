"""What of the columns is learned."""

from __future__ import annotations

import pytest

from discreet.accounting import Budget
from discreet.errors import InvalidParameter
from discreet.mechanisms.learned_columns import LearnedColumns, UnknownRange, interval_of


def test_ranges_or_categories_alone_are_learned_and_neither_is_refused() -> None:
    told = {"budget": Budget(1.0, 1e-6), "neighbours": "zero-out", "rows": 1000}
    assert len(LearnedColumns(**told, ranges={}, categories=("job",)).events) == 1
    assert len(LearnedColumns(**told, ranges={"age": UnknownRange(low=0.0)}).events) == 1
    with pytest.raises(InvalidParameter, match="No column has anything to be learned"):
        LearnedColumns(**told, ranges={})


@pytest.mark.parametrize("unit", [1.0, 1000.0])
@pytest.mark.parametrize("end", [0.0, 40.0, -40.0, 1e6])
def test_a_declared_end_stays_and_the_other_keeps_its_distance(end: float, unit: float) -> None:
    step = interval_of(0.0, 0.0, unit)[1]
    least = max(step, abs(end) * 0.01)
    up, down = UnknownRange(low=end, unit=unit), UnknownRange(high=end, unit=unit)
    # A learned end on the wrong side, or too near, would leave a range of no width.
    assert up.joined(0.0, end - 1.0) == (end, end + least)
    assert down.joined(end + 1.0, 0.0) == (end - least, end)
    assert up.joined(0.0, end + 7.0 * least) == (end, end + 7.0 * least)
    assert down.joined(end - 7.0 * least, 0.0) == (end - 7.0 * least, end)


def test_a_scan_aims_further_inwards_where_neighbours_move_a_value_by_two_ranks() -> None:
    kept, replaced = (
        LearnedColumns(
            budget=Budget(1.0), neighbours=neighbours, rows=1000, ranges={"age": UnknownRange()}
        ).scan("age", upper=True)
        for neighbours in ("zero-out", "replace-one")
    )
    assert kept.quantile < 0.995  # the noise decides, not the coverage
    assert 1.0 - replaced.quantile == pytest.approx(2.0 * (1.0 - kept.quantile))
