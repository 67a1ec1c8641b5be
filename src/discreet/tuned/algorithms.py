"""Tuned numbers of the algorithms, what they mean, and the script that chose them."""

from __future__ import annotations

# All problems: logistic.py and ridge.py, by looking at results on Adult, wine, housing and
# artificial data.

NORM_GUESS = {"sign": 60.0, "index": 60.0, "real": 3.0, "count": 3.0, "vector": 1.0}
"""Norm of good weights in units of one over the row norm, where the user gives none.

Margins of a classifier grow where classes separate; predictions of a scaled label stay near
[-1, 1].
"""

ENOUGH_ROWS = 500.0
"""Rows per unit of noise below which noise, not the data, sets the error."""

NOISE_ONLY_ROWS = 1.0
"""Rows per unit of noise below which models say next to nothing of their rows (no script).

There all rows together, were they to pull one way, pull less than noise does.
"""

# The ridge of objective perturbation: logistic.py and two_runs.py.

RIDGE_NOISE = 1.1
"""How much more noise a weaker ridge may cost for the logistic loss.

A tenth more buys half the strength at epsilon 1 and a quarter of it at epsilon 8: less is lost
by noise than is won by shrinking less.
"""

RIDGE_WEAKER = 16.0
"""How much weaker the ridge may become by that."""

STRETCH = 2.5
"""How much longer than usual the weights of a classifier may be where rows are plenty."""

OUTPUT_SHARES = (0.01, 0.03, 0.1)
"""Shares of the budget that may hide the distance to the exact minimiser (no script).

The smallest is nearly always enough; more is worth it where rounding errors of very many rows or
features force a loose certificate.
"""

# Two runs of objective perturbation: two_runs.py.

FIRST_RUN = 0.1
"""Share of the first run: the noise of the runs has variances as one over their shares."""

FIRST_RIDGE = 6.0
"""How much stronger the first ridge is; a weak one would cost as much as in the second run."""

SECOND_RIDGE_NOISE = 1.03
"""How much more noise the second, weaker ridge may cost by itself."""

SECOND_LINE_SEARCH = 0.02
"""Share of the noisy sums that fit the norm of the weights (weights_length.py)."""

# Newton steps after objective perturbation: no script is kept.

NEWTON_ROWS = 2_000_000
"""Rows from which on Newton steps may follow; with a million they are level with two runs."""

NEWTON_RUN = 0.1
"""Share of the budget of the run that they follow."""

NEWTON_NOISE = 0.5
"""Share of the noise of a run alone that must not be exceeded for Newton steps to follow one."""

NEWTON_HESSIAN, NEWTON_FIRST, NEWTON_LAST = 0.04, 0.1, 0.86
"""Shares of the Hessian, of the first gradient and of the last one in the budget of both steps."""

# Noisy gradient, all rules: noisy_gradient.py, and artificial problems whose script is not kept.

NOISE_SHARE = 1 / 6
"""How much of the loss at zero noise may cost; good weights further out are given up.

Chosen among 1/4 to 1/12 on 24 artificial problems.
"""

BLUR = {"sign": 2.0, "index": 2.0, "real": 0.1, "count": 0.1, "vector": 0.1}
"""How far noise may move the prediction of an ordinary row before weights are given up.

That of classes was chosen on MNIST (noisy_gradient_peers.py), that of numbers on artificial
problems, where most labels are a part of their range.
"""

SMOOTH_SHARE = {"sign": 1.0, "index": 1.0, "real": 0.25, "count": 0.25, "vector": 0.25}
"""Part of the share above for smooth losses: of numbers noise costs its square."""

STABLE = 4.0
"""How many times longer than the worst case allows steps of the accelerated rule may be.

Rows rarely all point one way. Chosen on MNIST (noisy_gradient_peers.py).
"""

PASS_WORK = 4e10
"""Products a default run may take, about half a minute on two cores."""

BATCH_WORK, BATCH_RATE = 1e10, 0.02
"""The same where rows are drawn into batches, which takes longer, and their smallest part."""

FEWEST_PASSES, MOST_PASSES = 300, 5000
"""Passes a default run is never cut below, and never exceeds (noisy_gradient_peers.py)."""

# Noisy gradient on smooth losses, with momentum: about 50 artificial problems, no script is kept.

HEAVY_BALL_SHARE = 0.1
"""As ``NOISE_SHARE``; averaging the late part of a path noise has moved costs more where the loss
curves."""

HEAVY_BALL_WINDOWS = 20.0
"""How many times the directions that momentum averages over fit into the whole path."""

HEAVY_BALL_TIME = 600.0
"""Longest time in units of weights over the largest curvature: weaker directions are given up."""

HEAVY_BALL_STEPS = 100
"""Steps, at least, so that the average is one over many windows of momentum."""

# Noisy gradient on losses with corners: corner_steps.py.

CORNER_PREDICTION = 2.0
"""Time times noise, in units of weights that move the prediction of a full row by one."""

CORNER_SHARPNESS = {"sign": 1.0, "index": 1.0, "real": 8.0, "count": 8.0, "vector": 8.0}
"""How much more the losses curve together than if slopes turned while predictions move by one.

Residuals of numbers may all lie within a small part of their range. Steps are kept that short.
"""

CORNER_TIME, CORNER_FEATURES = 600.0, 20
"""Longest time, in units of what one of the features takes, or one of so many if there are fewer.

Weaker directions are given up, and the first steps, all of which go one way, not too far.
"""

CORNER_WINDOWS = 60.0
"""How many of the windows momentum averages over fit into the whole path."""

CORNER_FEWEST, CORNER_MOST = 600, 1500
"""Steps where noise allows them: more than the fewest where steps of that length would swing."""

# The line search of the norm of the weights: weights_length.py.

LINE_CLIP = 0.25
"""Clip of a calibrated derivative, in row norms over the root of the number of weights."""

LINE_SHORTEST, LINE_LONGEST = 1.0 / 8.0, 2.0
"""Lengths that are tried, against the one that was found."""

LINE_MARGIN, LINE_QUIET = 5.0, 1e-3
"""Clip of the derivative of the logistic loss by the logarithm of the length.

It is larger where the noise of all sums, for each row and unit of the clip, is below the second.
"""

LINE_RIGHT = 0.3
"""What a row on the right side adds to it, at most; for the variance of batches."""

LINE_DOUBTS, LINE_WRONG = 0.4, 2.0
"""Part of the sums that count rows wrong by more than the clip, and deviations that are enough."""

LINE_KEPT = 0.98
"""How certain it is beforehand that the length is right."""

LINE_ROUNDS = 8
"""Places at which the derivative is taken."""

# Other algorithms.

CLIP_RATE = 0.2
"""Rate at which the adaptive clip follows the median norm; that of Andrew et al. 2021 (no script).
"""

MIRROR_REST = 0.1
"""What too few steps of mirror descent may add to the bound of the noise, for smooth losses (no
script)."""

FRANK_WOLFE_CURVATURE = 24.0
"""How far the curvature of usual problems lies below its bound, for the default steps.

Chosen on synthetic problems, see ``frank_wolfe.py steps``. Real rows are sparse and their slopes
small, so a step gains more than its bound says.
"""

SUPPORT_SIZE = 5
"""Features that support selection looks for, where the user names no number (no script)."""

# Accuracy first: accuracy_first.py.

TEST_SHARE = 0.05
"""Share of the cap that tests of a mean loss or an error rate may cost by default."""

RIDGE_A_ROW = 0.005
"""Ridge strength per row, in units of the squared row norm, where the estimator names none."""
