"""Draws from a tree of weights: a coordinate beside the tree is no longer drawn from it."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.mechanisms.selection_tree import SignedSampler
from discreet.noise import Seeded


@pytest.mark.parametrize("first", [[0], [2, 0]], ids=["alone", "after another"])
def test_what_a_hot_coordinate_weighed_in_the_tree_counts_no_more(first: list[int]) -> None:
    sampler, random = SignedSampler(np.array([30.0, 0.0, 0.0])), Seeded(3)
    places = sampler.warm(np.array(first))
    assert places.tolist() == list(range(len(first)))
    drawn = [sampler.draw(random, np.zeros(len(first)))[0] for _ in range(300)]
    # All three weigh the same now; each is drawn a hundred times, give or take six deviations.
    assert (np.abs(np.bincount(drawn, minlength=3) - 100) < 50).all()
