"""Tuned numbers of the default rules, what they mean, and the script that chose them.

The axis is :func:`rows_against_noise`: rows per unit of noise, the number of rows over the norm of
noise that hides one row's gradient of norm one.
"""

from __future__ import annotations

import math
from typing import NamedTuple


class Region(NamedTuple):
    """A part of the axis, up to ``below`` rows per unit of noise."""

    name: str
    below: float


REGIONS = (
    Region("few rows", 400.0),  # weights_length.py: below, the line search always counts
    Region("some rows", 1000.0),  # descent_choice.py: above, the ridge of perturbation vanishes
    Region("many rows", 2000.0),  # few_rows.py: above, capped gradients no longer pay
    Region("plenty of rows", math.inf),
)
"""The regions of the axis, in order. Rules name the first and the last one they are for."""

# Natural units: typical_norms.py, on the choosing half of the bank.

TYPICAL = 0.5
"""Power of the longest norm that numbers of most rows have, where ranges alone are declared."""

# Capped gradients of logistic regression: few_rows.py.

CLIP_SCARCE = 0.25
"""Clip of gradients, in typical norms of rows, where noise dominates."""

CLIP_MANY, CLIP_ROWS = 0.7, 1000.0
"""The same from so many rows per unit of noise on."""

CLIP_PERTURBED = 0.75
"""The same for objective perturbation: the least that leaves no more curvature in one record."""

# Length of the early-stopped descent: tournament.py, on the choosing half of the bank.

REACH = {"sign": 1.4, "real": 0.35}
"""How far noise may move one weight, in label bounds over the typical norm; logits: one over it."""

REACH_ROWS = 50.0
"""Rows per unit of noise at which it moves that far; it grows with their cube root."""

REACH_LEAST = 0.7
"""The least it falls to with fewer rows, as a part."""

REACH_PERTURBED = 1.4
"""How much longer weights may be in objective perturbation without a delta (tournament.py)."""

LONGEST = 110.0
"""Norm of the weights to reach, in units of one over the typical norm, at most."""

MOMENTUM = 0.9
"""Part of the last direction that a step keeps, at most, unless steps are many."""

WINDOWS = 40.0
"""Windows of momentum in a path, at least; more steps than that takes are not taken (no script)."""

STEPS, STEPS_SHORT = 150, 30
"""Steps, at least; the second number where the time is short."""

USUAL = 2.0
"""Time is short below this: time times the curvature of all rows, for each weight."""

LINE_SEARCH, LINE_SEARCH_WEIGHTS = 2.0, 5.0
"""Sums of the line search for each step, over the number of weights and so many more."""

LINE_SEARCH_CONSERVATIVE = 0.03
"""Sums of the line search for each step where rows are not few."""

# Work: products of a run above which steps take batches, and the smallest and largest part of the
# rows, for fits of a few seconds: few_rows.py and classes.py.

WORK, LEAST_RATE, MOST_RATE = 1e8, 0.02, 0.2
WIDE = 100
"""Columns of a row that count as work, at most: wider rows are mostly zeros (tournament.py)."""

DRAWN = 0.05
"""Variance that drawing rows adds to a step, over that of the noise, at most (tournament.py)."""

PASSES = 300.0
"""Passes over ``NEWTON_ROWS`` rows or more in groups, at most (no script): draws then add one part
in 300 to the variance that weights have because the rows are a sample."""

WORK_SOFTMAX, LEAST_RATE_SOFTMAX = 5e9, 0.05

# Softmax regression: classes.py.

SOFTMAX_ROWS = 100.0
"""Rows per unit of noise, for each root of weights, from which usual directions stand out."""

# Two runs of objective perturbation: two_runs.py.

PULL = 0.5
"""Pull of the ridge on weights of the guessed norm, in norms of the noise, from which on."""

# Where residuals of squared losses are clipped, in half label ranges: ridge.py, elastic_net.py.

RESIDUAL_LEAST, RESIDUAL_MOST = 0.125, 1.0
RESIDUAL_ROOT = 50.0
"""Without a penalty: root of the rows per unit of noise over this (tournament.py)."""

RESIDUAL_ROWS, RESIDUAL_PENALTY = 1000.0, 32.0
"""With one: rows per unit of noise over the first, or the penalty of a row times the second."""

RESIDUAL_PLENTY = 1e5
"""Rows per unit of noise from which no residual within the label range is clipped:
longer_clips.py."""

# The same clip learned from a first run: learned_clips.py, on the choosing half of the bank.

LEARNED_ROWS = 100.0
"""Rows per unit of noise from which on a first run tells enough to pay for itself."""

LEARNED_FIRST, LEARNED_SIZE = 0.05, 0.01
"""Shares of the first run and of the size of its residuals: of squared signal to noise with a
delta, of epsilon without one."""

LEARNED_MOST, LEARNED_ONCE = 4.0, 250.0
"""Clip of the second run, in residuals of the first one: one of them up to so many rows per unit
of noise, then in proportion to the root of these, up to so many."""

LEARNED_MOMENTS, LEARNED_WIDTH = 0.1, 1000
"""Weights for each row per unit of noise, and weights, up to which the first run takes noisy
second moments if there is a delta: noise on more of them hides usual directions."""

# A count of rows whose number is secret: on the choosing half of the bank (no script).

COUNTED_SHARE = 0.02
"""Share of epsilon."""

# Losses with a corner under pure privacy: rounded_corners.py.

CORNER_NARROWEST, CORNER_WIDEST = 1e-6, 0.5
"""Widths of rounding that are tried, in units of the largest label: 1 for classes."""

# Any other problem: noisy_gradient.py, pure_dp.py.

FAINT = 1.0
"""Slope of the penalty over the norm of the noise below which the penalty is no reason to
leave the plan of a problem without one (elastic_net.py)."""

SAMPLED_WEIGHTS = 14
"""Weights up to which exponential sampling takes seconds; beyond, ask for it by name."""
