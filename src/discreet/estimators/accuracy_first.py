"""AccuracyFirst: name the error that may remain, spend as little privacy as reaches it."""

from __future__ import annotations

from dataclasses import field, replace
from typing import Any, Self

import numpy as np
from sklearn.base import MetaEstimatorMixin, clone
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from discreet.accounting import Budget, Guarantee
from discreet.adaptive import AccuracyPlan, Outcome, Task, ThresholdStop, choose
from discreet.adaptive.methods import check_options
from discreet.adaptive.outcome import Watch, unwatched
from discreet.bounds import Array, Bounds
from discreet.checks import between, positive, usable_epsilon
from discreet.data import ArraySource
from discreet.errors import BudgetTooSmall, Incompatible, NotCertified
from discreet.estimators.linear import LinearModel
from discreet.estimators.shared.alike import ALIKE, answers_alike
from discreet.estimators.shared.base import assuming, numbered, warn_of_classes
from discreet.estimators.shared.charging import charged
from discreet.estimators.shared.claims import ACCURACY_FIRST, LABELS_PUBLIC
from discreet.estimators.shared.classes import read_classes
from discreet.estimators.shared.conditional import available_where
from discreet.estimators.shared.fitting import Seedless, all_or_nothing
from discreet.ledger import Ledger
from discreet.losses import AgainstRest
from discreet.noise import Randomness, as_randomness
from discreet.problem import Problem, with_randomness
from discreet.tuned.algorithms import RIDGE_A_ROW

METRIC_WORDS = {"excess-risk": "excess risk", "loss": "mean loss", "error-rate": "error rate"}
"""How a summary calls what the target is about."""


class FittedToTarget:
    """What a run leaves behind."""

    estimator_: LinearModel
    outcome_: Outcome
    guarantee_: Guarantee
    status_: str
    summary_: str
    plan_facts_: dict[str, Any]
    n_features_in_: int


class AccuracyFirst(FittedToTarget, MetaEstimatorMixin, Seedless):  # type: ignore[misc]
    """Fit an estimator to an error target, with as little privacy loss as reaches it.

    The target is an error per row of the ridge objective in the scaled domain (features and
    labels in [-1, 1], half squared residuals). If no level up to the cap meets it, ``status_`` is
    ``"not-met"`` and ``guarantee_`` says what that cost; by default no model is released.

    Parameters
    ----------
    estimator
        A private ridge or logistic regression, or another private linear model with classes or
        real labels. With more than two classes the loss is softmax or, for support vectors, the
        sum of the losses of each class against the rest. Its bounds, neighbours, intercept,
        strength and ``delta`` are used; its epsilon is not. Without a strength of its own 0.005
        per row is used, times the squared row norm; for ``"loss"`` and ``"error-rate"`` at most
        the number of weights over ``max_epsilon``, for all rows, unless tests would then cost too
        much.
    max_error
        The error that may remain; smaller is harder. By ``metric``, it is how far the objective
        may be above its minimum (``"excess-risk"``), the mean loss (``"loss"``) or the share of
        rows classified wrongly (``"error-rate"``). The error rate of a model that predicts one
        class for all rows is the share of the other classes, so a larger ``max_error`` asks for
        nothing. ``summary_`` says so if the released model does that.
    metric
        Which error is meant.
    max_epsilon
        The most that may be spent. It is reserved before the data is read.
    confidence
        Probability that a released model meets the target.
    method
        ``"one-shot"`` works epsilon out from the target; ``"certificate"`` (ridge) stops when
        released values prove the target; both are for excess risk and test nothing.
        ``"noise-reduction"`` tests models on the data, for any metric. ``"doubling"`` and
        ``"theory"`` are published baselines. ``"auto"`` takes the cheapest method, in expectation,
        that is sure to end with a model. If none is sure, ridge may end without one (see the
        plan's facts).
    noise
        For ``"noise-reduction"``: ``"laplace"`` (exact arithmetic, the default), ``"gamma"`` or
        ``"brownian"`` (floating point).
    margin
        For tests: a model better than the target by this much is accepted with probability
        ``confidence``. By default four fifths of an excess-risk target; of others a tenth, or less
        if a test that narrow still costs no more than a twentieth of ``max_epsilon``.
    validation
        Share of rows kept apart for tests of ``"loss"`` or ``"error-rate"``; a stop then costs the
        larger of model and test, not their sum.
    row_l1
        Public bound on the l1 norm of bounded rows, intercept included, where it is much below
        ``sqrt(n_features)`` times the row norm. Ridge only.
    release_last
        Whether the last model of the path is released, at the same cost, if none met the target.
    random_state
        None draws from the operating system; a seed makes the run repeatable and not private.
    ledger
        A :class:`~discreet.Ledger` that the cap is reserved in; a pure run then pays what its
        output cost, where the ledger's basic rule allows it. None takes the estimator's, if it has
        one.

    Attributes
    ----------
    estimator_, status_, summary_, guarantee_
        The model, if one was released; how the run ended, as one word and in words; its cost.

    See Also
    --------
    PrivateRidge, PrivateLogisticRegression : models of a fixed budget

    References
    ----------
    Ligett, Neel, Roth, Waggoner, Wu, *Accuracy first*, 2017.

    Examples
    --------
    >>> import numpy as np
    >>> from discreet import AccuracyFirst, Bounds, PrivateRidge
    >>> X = np.linspace(-1, 1, 20000).reshape(-1, 1)
    >>> ridge = PrivateRidge(bounds=Bounds(features=(-1, 1), label=(-1, 1)))
    >>> model = AccuracyFirst(ridge, max_error=0.01, max_epsilon=1.0, random_state=0)
    >>> model.fit(X, X.ravel() / 2).status_
    'met'
    >>> print(model.summary_)
    Meets excess risk 0.01 (confidence 90%) at epsilon 0..., of at most 0... reserved.
    """

    estimator: LinearModel = field(kw_only=False)
    max_error: float = 0.05
    metric: str = "excess-risk"
    max_epsilon: float = 2.0
    confidence: float = 0.9
    method: str = "auto"
    noise: str | None = None
    margin: float | None = None
    validation: float | None = None
    row_l1: float | None = None
    release_last: bool = False
    random_state: Any = None
    ledger: Ledger | None = None

    # From configuration to a plan: no data here.

    def plan(self, n_features: int | None = None, n_rows: int | None = None) -> AccuracyPlan:
        """Return the plan of a fit with no data: method, levels, what is reserved.

        Parameters
        ----------
        n_features, n_rows
            Public shape of the data. A schema of the estimator knows the number of
            features. Under ``add-remove`` ``n_rows`` is a declared size, like the
            estimator's own.
        """
        self._check_inner()
        n_features = self.estimator._feature_count(n_features)
        inner = self.estimator._declaring(n_rows)
        bounds = inner._declared_bounds(n_features)
        assumptions: tuple[str, ...] = ()
        if inner._labels == "classes":
            if bounds.classes is None:
                warn_of_classes(type(self).__name__, "two are planned for; a fit takes those seen")
                assumptions = (LABELS_PUBLIC,)
            bounds = numbered(bounds, 2 if bounds.classes is None else len(bounds.classes))
        return self._planned(inner, bounds, n_features, n_rows, *assumptions)[1]

    def check(self) -> Budget:
        """Refuse settings that do not go together, before any row is read.

        Returns
        -------
        Budget
            The most that a run may cost.
        """
        self._check_inner()
        positive("max_error", self.max_error)
        between("confidence", self.confidence, 0, 1)
        if self.validation is not None:
            between("validation", self.validation, 0, 1)
        reserve = Budget(usable_epsilon("max_epsilon", self.max_epsilon), self.estimator.delta)
        schema = self.estimator._declared_schema()
        bounds = self.estimator._given_bounds()
        if bounds.classes is not None:
            bounds = numbered(bounds, len(bounds.classes))
        if schema is not None:
            # The size is not known yet, and nothing that is checked here depends on it.
            width = len(schema.names(self.estimator.target))
            task = self._tasks(self.estimator, bounds, width, 1)[-1]
            check_options(
                task,
                target=self.max_error,
                metric=self.metric,
                method=self.method,
                validation=self.validation,
            )
        return reserve

    def _check_inner(self) -> None:
        if not isinstance(self.estimator, LinearModel) or hasattr(self.estimator, "partial_fit"):
            raise Incompatible(
                "AccuracyFirst needs a private estimator of this library, a linear one that is "
                "fitted at once. In a "
                "Pipeline put it around the last step, not around the Pipeline."
            )
        if getattr(self.estimator, "class_weight", None) is not None:
            raise Incompatible(
                "Accuracy targets count all rows alike. Leave class_weight out of the estimator."
            )
        if getattr(self.estimator, "inference", None) is not None:
            raise Incompatible(
                "No intervals are known for a model whose noise was found along the way. Leave "
                "inference out of the estimator."
            )

    def _planned(
        self,
        inner: LinearModel,
        bounds: Bounds,
        n_features: int,
        n_rows: int | None,
        *assumptions: str,
    ) -> tuple[Task, AccuracyPlan]:
        *weaker, usual = self._tasks(inner, bounds, n_features, n_rows, *assumptions)
        for task in weaker:
            try:
                plan = self._plan(task)
            except BudgetTooSmall:
                continue
            # Long weights have a wide range of losses, and its width is what a test costs.
            if plan.test_epsilon <= 0.5 * self.max_epsilon:
                return task, plan
        return usual, self._plan(usual)

    def _tasks(
        self,
        inner: LinearModel,
        bounds: Bounds,
        n_features: int,
        n_rows: int | None,
        *assumptions: str,
    ) -> list[Task]:
        """Return what is asked for with one ridge or, the better first, with two."""
        problem = assuming(inner._problem(bounds, n_features, n_rows), *assumptions)
        count = 0 if bounds.classes is None else len(bounds.classes)
        if count > 2 and problem.loss.target == "sign":
            problem = replace(problem, loss=AgainstRest(each=problem.loss, n_classes=count))
        if problem.loss.inner.quadratic:
            # Targets are about least squares itself; the ball bounds residuals instead.
            problem = replace(problem, loss=problem.loss.inner)
        strengths = self._strengths(inner, problem)
        return [Task(problem=problem, strength=s, row_l1=self.row_l1) for s in strengths]

    def _strengths(self, inner: LinearModel, problem: Problem) -> list[float]:
        given = inner._strength()
        if given:
            return [given]
        unit = problem.row_norm**2 * problem.bounds.weight
        strengths = [RIDGE_A_ROW * unit * (1 if problem.n_rows is None else problem.n_rows)]
        if self.metric != "excess-risk":
            # Such targets are about predictions alone, so a ridge only has to tame the noise.
            weak = problem.dimension * unit / usable_epsilon("max_epsilon", self.max_epsilon)
            if weak < strengths[0]:
                strengths.insert(0, weak)
        return strengths

    def _plan(self, task: Task) -> AccuracyPlan:
        return choose(
            task,
            target=positive("max_error", self.max_error),
            metric=self.metric,
            max_epsilon=self.max_epsilon,
            failure=1 - between("confidence", self.confidence, 0, 1),
            delta=self.estimator.delta,
            method=self.method,
            noise=self.noise,
            margin=self.margin,
            validation=self.validation,
        )

    # The rows.

    @all_or_nothing
    def fit(self, X: Any, y: Any = None, *, watch: Watch = unwatched) -> Self:
        """Run until the target is met or the cap is reached.

        Parameters
        ----------
        X, y
            Rows and labels, as the estimator takes them.
        watch
            Called with every :class:`~discreet.adaptive.Step` of the path as
            soon as it is decided, to show progress. Steps are part of what the
            run releases and pays for.

        Returns
        -------
        self
            With ``status_``, ``guarantee_``, ``outcome_``, ``summary_`` and, if
            one was released, the model ``estimator_``.
        """
        self._check_inner()
        self._forget()
        inner: LinearModel = clone(self.estimator)
        X, y = inner._validated(X, y)
        bounds = inner._bounds_of(X)
        assumptions: tuple[str, ...] = ()
        if inner._labels == "classes":
            inner.classes_, y, assumptions = read_classes(type(self).__name__, bounds, y)
            bounds = numbered(bounds, len(inner.classes_))
        random = as_randomness(self.random_state)
        task, plan = self._planned(inner, bounds, *X.shape[::-1], *assumptions)
        ledger = self.ledger if self.ledger is not None else inner.ledger
        method = f"{ACCURACY_FIRST}{plan.method}"
        with charged(self, ledger, with_randomness(plan.guarantee, random), method) as entry:
            outcome = self._run(plan, X, y, random, watch)
            entry.settle(outcome.guarantee)
        self.n_features_in_ = inner.n_features_in_
        if hasattr(inner, "feature_names_in_"):
            self.feature_names_in_ = inner.feature_names_in_
        self.outcome_, self.status_ = outcome, outcome.status
        self.guarantee_ = outcome.guarantee
        self.plan_facts_ = plan.facts()
        if outcome.weights is not None:
            coef, intercept = task.problem.bounding.coefficients(outcome.weights)
            if inner._labels == "classes":
                coef, intercept = np.atleast_2d(coef.T), np.atleast_1d(intercept)
            inner.coef_, inner.intercept_ = coef, intercept
            inner.algorithm_ = method
            inner.guarantee_ = self.guarantee_
            self.estimator_ = inner
        self.summary_ = self._summary(outcome, plan.reserved[0])
        met = self.status_ == "met" and inner._labels == "classes"
        if met and answers_alike(bounds, inner.coef_, inner.intercept_):
            self.summary_ += ALIKE
        return self

    def _run(self, plan: AccuracyPlan, X: Any, y: Any, random: Randomness, watch: Watch) -> Outcome:
        last = bool(self.release_last)
        if not (isinstance(plan, ThresholdStop) and plan.validation):
            return plan.run(ArraySource(X, y), random, release_last=last, watch=watch)
        problem, held = plan.path.task.problem, plan.query.task.n
        if problem.neighbours == "add-remove":
            # privacy: a coin per row; a cut by position would shift with every removed row
            share = between("validation", self.validation, 0, 1)
            apart = random.words(X.shape[0]) < np.uint64(share * 2.0**64)
        else:
            apart = np.zeros(X.shape[0], dtype=bool)
            apart[np.random.default_rng(0).permutation(X.shape[0])[:held]] = True  # public places
        parts = [ArraySource(X[mask], y[mask]) for mask in (~apart, apart)]
        return plan.run(parts[0], random, validation=parts[1], release_last=last, watch=watch)

    def _summary(self, outcome: Outcome, reserved: float) -> str:
        spent, what = outcome.guarantee.epsilon, f"{METRIC_WORDS[self.metric]} {self.max_error:g}"
        if outcome.status == "met":
            return (
                f"Meets {what} (confidence {100 * self.confidence:g}%) at epsilon {spent:.3g}, of "
                f"at most {reserved:.3g} reserved."
            )
        model = "no model was released"
        if outcome.weights is not None:
            model = "the last model was released, with no guarantee of its accuracy"
        return (
            f"Does not meet {what} within the cap: epsilon {spent:.3g} of {reserved:.3g} reserved "
            f"was spent and {model}."
        )

    # The model, if one was released.

    def _fitted(self) -> LinearModel:
        check_is_fitted(self, "status_")
        if self.outcome_.weights is None:
            raise NotCertified(
                "The target was not met, so there is no model; what was spent stays spent. Allow "
                "a larger max_error or raise max_epsilon. If alpha or C was given, this ridge may "
                "miss the target at any epsilon; a weaker one, or none, may not."
            )
        return self.estimator_

    def predict(self, X: Any) -> Any:
        """Return the predictions of the released model."""
        return self._fitted().predict(X)

    @available_where(lambda self: hasattr(self.estimator, "decision_function"))
    def decision_function(self, X: Any) -> Array:
        """Return the scores of the released model."""
        scores: Array = self._fitted().decision_function(X)
        return scores

    @available_where(lambda self: hasattr(self.estimator, "predict_proba"))
    def predict_proba(self, X: Any) -> Array:
        """Return the probabilities of the released model."""
        found: Array = self._fitted().predict_proba(X)
        return found

    def score(self, X: Any, y: Any = None) -> float:
        """Return the score of the released model; it is a function of these rows."""
        return float(self._fitted().score(X, y))

    @property
    def classes_(self) -> Any:
        """Classes of the released model."""
        try:
            return self._fitted().classes_
        except NotCertified as error:  # so that whoever asks whether there are any gets an answer
            raise AttributeError(str(error)) from error

    def __sklearn_tags__(self) -> Any:
        tags, inner = super().__sklearn_tags__(), get_tags(self.estimator)
        for name in ("estimator_type", "classifier_tags", "regressor_tags", "target_tags"):
            setattr(tags, name, getattr(inner, name))
        tags.target_tags.multi_output = False
        tags.input_tags.sparse = inner.input_tags.sparse
        tags.non_deterministic = self.random_state is None
        return tags
