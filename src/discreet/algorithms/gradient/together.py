"""Descents on the same rows with other labels, side by side: rows are read once for all of them.

Each descent takes the steps it would take by itself, with noise of its own. In every step the
sums that all of them ask for are found together, by products of matrices
(:class:`~discreet.data.clipped.SideBySide`). What is released has the law of one run after
the other, and costs what their composition costs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from discreet.algorithms.gradient.path import steps_of
from discreet.bounds import Array
from discreet.data import Rows, Source
from discreet.data.blocks import slices
from discreet.data.clipped import MOST_COLUMNS, SideBySide, few_are_active, labels_of
from discreet.mechanisms.batches import FullBatch
from discreet.noise import Randomness

if TYPE_CHECKING:
    from discreet.algorithms.gradient.noisy_gradient import NoisyGradientPlan

STOCK = 2**23
"""Numbers of noise or of labels that are no burden to memory."""


def run_together(
    plan: NoisyGradientPlan, sources: Sequence[Source], random: Randomness
) -> list[Array] | None:
    """Return the weights of a run on every source, which differ in labels alone.

    None says that each has to be run by itself: rows of clusters, of groups, and rows too many
    for memory.
    """
    problem = plan.problem
    if problem.grouping is not None or getattr(sources[0], "cluster", None) is not None:
        return None
    # privacy: as in a run.
    rows = problem.bound(sources[0], narrow=not plan.config.hidden_state)
    if rows.resident.spilled:
        return None
    side = _side_by_side(plan, rows)
    found: list[Array] = []
    for s in slices(len(sources), _columns(plan, rows) if side else 1):
        several = [
            Rows(rows.X, labels_of(problem.bounding, source, rows), rows.weight, rows.norms)
            for source in sources[s]
        ]
        found += _descents(plan, several, random) if side else [plan.fitted(several[0], random)]
    return found


def _side_by_side(plan: NoisyGradientPlan, rows: Rows) -> bool:
    """Return whether all runs take sums over the same rows at every step, and that pays."""
    # privacy: products of matrices may round a row by its position, so positions must be kept.
    alike = isinstance(plan.sampler, FullBatch) and not plan.shifting and plan.adaptive is None
    alike = alike and plan.hidden is None and plan.line_search is None
    return alike and plan.problem.loss.outputs == 1 and not few_are_active(rows, plan.problem.loss)


def _columns(plan: NoisyGradientPlan, rows: Rows) -> int:
    """Return how many runs go together, so that what they hold takes little more than rows do."""
    # privacy: sizes are public where positions are kept.
    p, n_rows = plan.problem.dimension, max(rows.n_rows, 1)
    noise = max(STOCK // p, n_rows) // plan.steps
    # Labels of a column, as they come and as slopes take them.
    labels = max(STOCK, n_rows * p) // (2 * n_rows)
    return max(1, min(MOST_COLUMNS, noise, labels))


def _descents(plan: NoisyGradientPlan, several: list[Rows], random: Randomness) -> list[Array]:
    """Return the weights of a descent on every set of labels, step by step together."""
    # Noise is drawn as by one run after the other, so that a seed has one result.
    paths = [steps_of(plan, rows, random, stocked=True) for rows in several]
    with SideBySide(several[0], plan.problem.loss, [rows.y for rows in several]) as sums:
        asked, ended = [next(path) for path in paths], []
        while asked:
            # All take as many steps, and the clip of none adapts.
            totals = sums.full(np.stack([ask.at for ask in asked], axis=1), asked[0].clip)
            asked = []
            for path, total in zip(paths, totals.T, strict=True):
                try:
                    asked.append(path.send(total.copy()))
                except StopIteration as end:
                    ended.append(end.value)
    return [np.asarray(plan.problem.constraint.project(weights)) for weights in ended]
