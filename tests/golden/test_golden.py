"""A part of the seeded fits that ``record.py`` keeps; ``record.py --check`` compares all."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path

import numpy as np
import pytest

_SPEC = importlib.util.spec_from_file_location("golden_record", Path(__file__).parent / "record.py")
assert _SPEC is not None
record = importlib.util.module_from_spec(_SPEC)
sys.modules[_SPEC.name] = record
_SPEC.loader.exec_module(record)  # type: ignore[union-attr]

KEPT = json.loads(record.KEPT.read_text())
CASES = list(record.cases())
SOME = [c for c in KEPT if c.endswith(("1/0/zero-out", "0/1/replace-one", "1/2/add-remove"))]


def test_every_estimator_and_algorithm_is_kept() -> None:
    assert sorted(KEPT) == sorted(CASES), "run tests/golden/record.py to record them"


@pytest.mark.parametrize("case", SOME)
def test_a_seeded_fit_is_what_it_was(case: str) -> None:
    found, kept = record.result(case), KEPT[case]
    assert {k: found.get(k) for k in ("refused", "epsilon", "delta")} == {
        k: kept.get(k) for k in ("refused", "epsilon", "delta")
    }
    # Other versions of numpy may round otherwise, and other minimisers of scipy give streams
    # slightly other decays; ``record.py --check`` wants every bit.
    rtol = 2e-3 if "Stream" in case or "ftrl" in case else 1e-6
    for name, weights in kept.get("weights", {}).items():
        np.testing.assert_allclose(found["weights"][name], weights, rtol=rtol, atol=1e-9)
