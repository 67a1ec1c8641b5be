"""What tests of accuracy targets share."""

from __future__ import annotations

from typing import Any

import pytest

from discreet.algorithms.perturbation import output_perturbation


@pytest.fixture
def solved_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Solve a problem once, however often it is released: noise comes after the minimiser."""
    minimise, found = output_perturbation.minimise, {}

    def once(rows: Any, loss: Any, *, linear: Any, **options: Any) -> Any:
        data = (part.tobytes() for part in (rows.X, rows.y, rows.weight, linear))
        key = (*data, loss, *options.values())
        if key not in found:
            found[key] = minimise(rows, loss, linear=linear, **options)
        return found[key].copy()

    monkeypatch.setattr(output_perturbation, "minimise", once)
