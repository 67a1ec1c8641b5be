"""Models that may leave intervals of their coefficients behind."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from discreet.accounting import Budget
from discreet.algorithms import NoisyGradient
from discreet.bounds import Array
from discreet.checks import between, one_of
from discreet.data import Source
from discreet.errors import Incompatible
from discreet.estimators.linear import LinearModel
from discreet.estimators.shared.persistence import Portable
from discreet.inference import (
    REASONS,
    TARGETS,
    Inference,
    InferredRelease,
    Summary,
    algorithm_with_intervals,
    arriving_steps,
    with_intervals,
)
from discreet.problem import CalibratedPlan, Plan, Problem, Release

INFERENCE = """
    inference
        ``"table"`` for intervals of what the same table gives without noise,
        ``"population"`` for intervals that count sampling too, ``"robust"`` for
        intervals that hold for any law of the labels, None for none. With intervals
        ``algorithm="auto"`` takes an algorithm that they are known for.
    inference_share
        Share of the budget for what intervals need besides the fit; noisy second
        moments need none."""


class WithIntervals(LinearModel):
    """Models with intervals, where ``inference`` asks for them; not used directly."""

    inference: str | None = None
    inference_share: float = 0.2

    _saved: ClassVar[tuple[str, ...]] = (*Portable._saved, "inference_")

    def _planned(self, problem: Problem, fits: int = 1) -> Plan:
        if self.inference is not None and problem.loss.outputs * fits > 1:
            raise Incompatible(
                "Intervals are known for one output: two classes, or one column of labels. Leave "
                "inference out.",
                parameter="inference",
            )
        return super()._planned(problem, fits)

    def _plan(self, problem: Problem, budget: Budget) -> Plan:
        if self.inference is None:
            return super()._plan(problem, budget)
        target = one_of("inference", self.inference, TARGETS)
        if target != "table" and getattr(self, "class_weight", None) is not None:
            raise Incompatible(
                "Intervals for the population need rows that all weigh the same. Leave "
                "class_weight out, or use inference='table'.",
                parameter="inference",
            )
        share = between("inference_share", self.inference_share, 0, 1)
        chosen: Any = self
        reason = ""
        asked = getattr(self, "algorithm", None)
        if asked == "auto":
            chosen, name = copy.copy(self), algorithm_with_intervals(problem, target)
            chosen.algorithm, reason = name, REASONS[name]
        elif asked == NoisyGradient.name and not getattr(self, "settings", None):
            chosen, reason = copy.copy(self), REASONS[NoisyGradient.name]
            chosen.settings = arriving_steps(problem)
        fit = super(WithIntervals, chosen)._plan
        plan = with_intervals(lambda part: fit(problem, part), budget, target, share)
        return plan.explained(reason=reason) if isinstance(plan, CalibratedPlan) else plan

    def _run(self, plan: Plan, source: Source) -> Release:
        release = super()._run(plan, source)
        if isinstance(release, InferredRelease):
            self.inference_ = release.inference
        return release

    def _inferred(self) -> Inference:
        check_is_fitted(self)
        found: Inference | None = vars(self).get("inference_")
        if found is None:
            raise Incompatible(
                f"This {type(self).__name__} was fitted without intervals. Fit with "
                "inference='table', 'population' or 'robust'.",
                parameter="inference",
            )
        return found

    def interval(self, level: float = 0.95, *, exact: bool = False) -> Array:
        """Return the interval of every coefficient, in the user's units.

        Parameters
        ----------
        level
            Probability of covering, for each coefficient.
        exact
            Whether to return wider intervals that cover all coefficients of the table
            together, exactly for any data; noisy second moments with ``inference="table"``.

        Returns
        -------
        array of shape (n_features [+ 1], 2)
            Low and high ends, the intercept last. Infinite where a check failed.
        """
        return self._inferred().interval(level, exact=exact)

    @property
    def covariance_(self) -> Array:
        """Covariance of the estimates, the intercept last; infinite where a check failed."""
        return self._inferred().covariance

    def summary(self, level: float = 0.95) -> Summary:
        """Return the table of coefficients, to be printed: errors, intervals, what they cover.

        Parameters
        ----------
        level
            Probability of covering, for each coefficient.
        """
        check_is_fitted(self)
        level = between("level", level, 0, 1)
        names = getattr(self, "feature_names_in_", None)
        said = [f"x{i}" for i in range(self.n_features_in_)] if names is None else list(names)
        coefficients = np.ravel(self.coef_)
        if coefficients.size != self.n_features_in_:
            raise Incompatible("A summary has one coefficient for every feature: two classes.")
        if self.fit_intercept:
            said, coefficients = [*said, "intercept"], np.append(coefficients, self.intercept_)
        found: Any = vars(self).get("inference_")
        classes = vars(self).get("classes_")
        odds = None if classes is None else (str(classes[1]), str(classes[0]))
        return Summary(type(self).__name__, said, coefficients, self.guarantee_, found, level, odds)

    def plot_coefficients(self, path: str | Path, level: float = 0.95) -> None:
        """Draw the intervals of the coefficients; needs the extra ``plot``.

        Parameters
        ----------
        path
            File to write; its ending gives the format.
        level
            Probability of covering, for each coefficient.
        """
        self.summary(level).plot(path)
