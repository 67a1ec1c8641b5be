"""``PrivateSearch``: choose settings on sensitive rows and pay for it."""

from __future__ import annotations

import math
import warnings
from dataclasses import field
from typing import Any, Self

import numpy as np
from sklearn.base import MetaEstimatorMixin, is_classifier
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from discreet.accounting import Budget, Guarantee, NegativeBinomialTries
from discreet.checks import between, one_of, row_count
from discreet.errors import Incompatible, InvalidParameter, MissingBound, NotCertified
from discreet.estimators.shared.base import PrivateEstimator
from discreet.estimators.shared.charging import charged
from discreet.estimators.shared.claims import SEARCH
from discreet.estimators.shared.fitting import Seedless, all_or_nothing
from discreet.evaluation import EvaluationPlan
from discreet.evaluation.holdout import count_rows, encoded, part_of, split_rows
from discreet.evaluation.result import Evaluation
from discreet.evaluation.scored_rows import add_up, read
from discreet.noise import Randomness, as_randomness, exponential_mechanism, integers
from discreet.problem import with_randomness
from discreet.schema import Encoded
from discreet.tuning.candidates import list_candidates
from discreet.tuning.plan import SearchPlan
from discreet.tuning.tries import LAWS, draw_tries

_LOSSES = ("log_loss", "mse", "mae")
_SUMS = ("accuracy", *_LOSSES)
FEW = 3
"""Most candidates of which each is fitted once: for more a random number of tries is cheaper."""


def _of_best(name: str) -> Any:
    def check(self: PrivateSearch) -> bool:
        return hasattr(getattr(self, "best_estimator_", self.estimator), name)

    return check


class _Found:
    """What a search leaves behind."""

    best_params_: dict[str, Any]
    best_estimator_: Any
    guarantee_: Guarantee
    plan_: SearchPlan
    classes_: Any
    n_features_in_: int
    feature_names_in_: Any


class PrivateSearch(_Found, MetaEstimatorMixin, Seedless):  # type: ignore[misc]
    """Choose settings of an estimator on sensitive rows, with one guarantee for all of it.

    A part of the rows is held out. A secret random number of tries is made: each draws
    a candidate, fits it to the other rows and scores it, with noise, on those held out.
    Only the best try is published; losers and scores never are. Up to three candidates
    are each fitted once instead, and one is chosen by a private choice.

    Parameters
    ----------
    estimator
        An estimator of this library; classes must be declared, in its bounds or schema.
    param_distributions
        Settings to choose among: lists, or distributions with a method ``rvs``.
    tries
        ``"geometric"``, ``"logarithmic"`` (fewer tries, mostly one), ``"all"`` (every
        candidate once) or ``"auto"``.
    expected_tries
        Mean number of tries; default: ten for each candidate, so that a given one is
        missed with probability 0.1.
    epsilon, delta
        Budget of the whole search.
    scoring
        A metric of :func:`discreet.evaluate`; default: accuracy, or mse.
    holdout
        Share of the rows that tries are scored on.
    candidates
        How many candidates are drawn where ``param_distributions`` holds a distribution.
    ledger
        Where the cost is reserved before a row is read; default: that of the estimator.
    verbose
        Whether costs and advice are printed before the first row is read.
    random_state
        For tests; a seed voids the guarantee.

    Attributes
    ----------
    best_params_, best_estimator_
        The winner; its ``guarantee_`` is that of the whole search.
    guarantee_
        What the search guarantees.
    plan_
        What was planned.

    See Also
    --------
    evaluate : score one model with a guarantee

    References
    ----------
    Liu, Talwar, *Private selection from private candidates*, 2019.
    Papernot, Steinke, *Hyperparameter tuning with Rényi differential privacy*, 2022.

    Examples
    --------
    >>> import numpy as np
    >>> from discreet import Bounds, PrivateLogisticRegression, PrivateSearch
    >>> X = np.random.default_rng(0).uniform(-1, 1, (4000, 2))
    >>> bounds = Bounds(features=(-1, 1), classes=(False, True))
    >>> search = PrivateSearch(PrivateLogisticRegression(bounds=bounds),
    ...                        {"norm_guess": [1.0, 10.0]}, epsilon=1.0, verbose=False)
    >>> search.fit(X, X[:, 0] > 0).guarantee_.epsilon
    1.0
    """

    estimator: Any = field(kw_only=False)
    param_distributions: Any = field(kw_only=False)
    tries: str = "auto"
    expected_tries: float | None = None
    epsilon: float = 1.0
    delta: float = 1e-6
    scoring: str | None = None
    holdout: float = 0.2
    candidates: int = 20
    ledger: Any = None
    verbose: bool = True
    random_state: Any = None

    # Before any row is read.

    def plan(self, n_features: int | None = None, n_rows: int | None = None) -> SearchPlan:
        """Price the search: what each fit gets, and when the default is likely to do better.

        Parameters
        ----------
        n_features, n_rows
            Public shape of the data. A schema of the estimator knows the number of
            features. Under ``add-remove`` neighbours ``n_rows`` is a
            declared size; default: that of the estimator.
        """
        if not isinstance(self.estimator, PrivateEstimator):
            raise Incompatible(
                "estimator must be one of this library, such as PrivateLogisticRegression(). Got "
                f"{type(self.estimator).__name__}; in a pipeline other steps may learn from rows, "
                "so search the last step alone."
            )
        if getattr(self.estimator, "inference", None) is not None:
            raise Incompatible(
                "Intervals of the winner of a search would not count the choice. Leave inference "
                "out of the estimator."
            )
        n_features = self.estimator._feature_count(n_features)
        budget = Budget(self.epsilon, self.delta)
        self._score(budget)  # refuses what cannot be scored
        between("holdout", self.holdout, 0, 1)
        listed = list_candidates(self.param_distributions, self.candidates)
        size = n_rows if n_rows is not None else self.estimator.n_rows
        train = None
        if size is not None:
            size = row_count("n_rows", size)
            train = max(1, size - round(self.holdout * size))
        return SearchPlan(
            estimator=self.estimator,
            candidates=tuple(listed),
            budget=budget,
            n_features=n_features,
            n_train=train,
            n_rows=size,
            tries=self._law(len(listed)),
            score=self._score,
        )

    def _law(self, count: int) -> NegativeBinomialTries | None:
        name = one_of("tries", self.tries, ("auto", "all", *LAWS))
        if name == "auto":
            name = "all" if count <= FEW and self.expected_tries is None else "geometric"
        if name == "all":
            if self.expected_tries is not None:
                raise InvalidParameter(
                    "tries='all' fits every candidate: leave expected_tries out."
                )
            if self._metric() not in _SUMS:
                raise Incompatible(
                    f"tries='all' chooses by sums over rows: {', '.join(_SUMS)}. For "
                    f"{self._metric()} use tries='geometric'."
                )
            return None
        mean = 10.0 * count if self.expected_tries is None else self.expected_tries
        return NegativeBinomialTries.expecting(mean, LAWS[name])

    def _metric(self) -> str:
        usual = "accuracy" if is_classifier(self.estimator) else "mse"
        return usual if self.scoring is None else self.scoring

    def _score(self, budget: Budget) -> EvaluationPlan:
        """Return the plan of a private score at some budget."""
        bounds, relation = self.estimator._given_bounds(), self.estimator.neighbours
        if hasattr(self.estimator, "_grouping") and self.estimator._grouping() is not None:
            raise Incompatible(
                "A search holds out single rows, and rows of one group would stand on both sides. "
                "Leave rows_per_group out, or fit without a search."
            )
        common: dict[str, Any] = {
            "budget": budget,
            "metrics": (self._metric(),),
            "neighbours": relation,
            "count_rows": relation == "add-remove",
        }
        if is_classifier(self.estimator):
            if bounds.classes is None:
                raise MissingBound(
                    "bounds does not declare classes, and what a fit costs may depend on their "
                    "number. Pass the estimator bounds=Bounds(classes=...)."
                )
            chances = hasattr(self.estimator, "predict_proba")
            classes = tuple(np.unique(np.asarray(bounds.classes)).tolist())
            return EvaluationPlan(classes=classes, probabilities=chances, **common)
        if bounds.label is None:
            raise MissingBound(
                "bounds does not declare label, and scores are scaled to its range. Pass the "
                "estimator bounds=Bounds(label=(low, high))."
            )
        low, high = bounds.label
        return EvaluationPlan(residual=high - low, label=bounds.label, **common)

    # The search.

    @all_or_nothing
    def fit(self, X: Any, y: Any = None) -> Self:
        """Search, and keep the best try.

        Parameters
        ----------
        X, y
            Rows and labels, as the estimator takes them: with a schema any table, whose
            column ``target`` holds the labels if ``y`` is None.
        """
        self._forget()
        random = as_randomness(self.random_state)
        X, y = encoded(self.estimator, X, y)
        cells = X.X if isinstance(X, Encoded) else X
        shape = np.shape(cells) if not hasattr(cells, "shape") else cells.shape
        if len(shape) != 2:
            raise InvalidParameter("X must have two dimensions, rows and features.")
        secret = getattr(self.estimator, "neighbours", "") == "add-remove"
        plan = self.plan(int(shape[1]), None if secret else int(shape[0]))
        guarantee = with_randomness(plan.guarantee, random)
        if self.verbose:
            print(plan)
        self._remark(plan)
        ledger = getattr(self.estimator, "ledger", None) if self.ledger is None else self.ledger
        name = type(self.estimator).__name__
        with charged(self, ledger, guarantee, "search", model=name):
            best = self._search(plan, X, y, int(shape[0]), random)
        if best is None:
            raise NotCertified(
                "No try ended with a model, so nothing was released. The budget is spent."
            )
        self.plan_, self.guarantee_ = plan, guarantee
        self.best_params_, self.best_estimator_ = best
        # privacy: what the winner claims is what the whole search cost.
        self.best_estimator_.guarantee_ = guarantee
        self.best_estimator_.algorithm_ = f"{SEARCH}{self.best_estimator_.algorithm_}"
        self.best_estimator_.random_state = None
        for name in ("n_features_in_", "feature_names_in_", "classes_"):
            if hasattr(self.best_estimator_, name):
                setattr(self, name, getattr(self.best_estimator_, name))
        return self

    def _remark(self, plan: SearchPlan) -> None:
        """Let the default say once what it would warn of: bounds that are not declared."""
        plan.prepared(plan.candidates[0], plan.fit_budget).plan(plan.n_features, plan.n_train)

    def _search(
        self, plan: SearchPlan, X: Any, y: Any, n_rows: int, random: Randomness
    ) -> tuple[dict[str, Any], Any] | None:
        # What cannot be read is refused here, once, and not in some secret number of tries.
        reader = plan.prepared(plan.candidates[0], plan.fit_budget)
        reader._validated(X, y)
        train, test = split_rows(n_rows, self.holdout, plan.neighbours, random)
        rows, held = part_of(X, y, train), part_of(X, y, test)
        # privacy: a warning for each try would count them.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if plan.tries is None:
                return self._all(plan, rows, held, random)
            return self._best(plan, rows, held, random)

    def _best(
        self, plan: SearchPlan, rows: Any, held: Any, random: Randomness
    ) -> tuple[dict[str, Any], Any] | None:
        """Make a random number of tries and return the best."""
        assert plan.tries is not None
        count = draw_tries(plan.tries, random)
        winner, best = None, -math.inf
        # privacy: tries are independent of one law, so the first of equal scores is as good
        # as one picked at random; nothing stops the loop before its secret end.
        for at in integers(len(plan.candidates), count, random):
            model = self._fitted(plan, int(at), rows, random)
            score = -math.inf if model is None else self._scored(plan, model, held, random)
            if model is not None and (winner is None or score > best):
                winner, best = (plan.candidates[int(at)], model), score
        return winner

    def _all(
        self, plan: SearchPlan, rows: Any, held: Any, random: Randomness
    ) -> tuple[dict[str, Any], Any] | None:
        """Fit every candidate once and choose one by its sum of scores, privately."""
        models = [self._fitted(plan, at, rows, random) for at in range(len(plan.candidates))]
        score = plan.score(plan.budget)
        name = score.blocks[0].name
        sums = []
        for model in models:
            # privacy: a fit that failed has the score of one that is always wrong. Failing is a
            # part of what its fit, on other rows, published.
            value = -count_rows(held[0]) / 2.0
            if model is not None:
                block = add_up(model, *read(model, held[0], held[1], score), score)[name]
                value = float(block.ravel()[0]) * (-1.0 if self._metric() in _LOSSES else 1.0)
            sums.append(value)
        at = exponential_mechanism(plan.rate * np.array(sums), random)
        return None if models[at] is None else (plan.candidates[at], models[at])

    def _fitted(self, plan: SearchPlan, at: int, rows: Any, random: Randomness) -> Any:
        """Fit one candidate; None if its fit failed."""
        model, expected = plan.prepared(plan.candidates[at], plan.fit_budget), plan.planned[at]
        model.random_state = random
        try:
            model.fit(*rows)
        except NotCertified:
            return None  # an output like others, of the lowest score
        if plan.budget.delta == 0:
            same = model.guarantee_.delta == 0 and model.guarantee_.epsilon <= expected.epsilon
        else:
            same = model.guarantee_.event == expected.event
        if not same:
            raise NotCertified("A fit cost something else than was planned; nothing was released.")
        return model

    def _scored(self, plan: SearchPlan, model: Any, held: Any, random: Randomness) -> float:
        """Return the private score of a try, larger for a better one."""
        score = plan.score(plan.fit_budget)
        released = score.run(add_up(model, *read(model, held[0], held[1], score), score), random)
        size = None if plan.neighbours == "add-remove" else count_rows(held[0])
        found = Evaluation(score, released, size, score.guarantee)
        value = found.estimates[self._metric()].value
        if math.isnan(value):
            return -math.inf
        return -value if self._metric() in _LOSSES else value

    # The winner.

    def predict(self, X: Any) -> Any:
        """Return the predictions of the winner."""
        check_is_fitted(self)
        return self.best_estimator_.predict(X)

    @available_if(_of_best("predict_proba"))  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> Any:
        """Return the probabilities of the winner."""
        check_is_fitted(self)
        return self.best_estimator_.predict_proba(X)

    @available_if(_of_best("decision_function"))  # type: ignore[untyped-decorator]
    def decision_function(self, X: Any) -> Any:
        """Return the scores of the winner."""
        check_is_fitted(self)
        return self.best_estimator_.decision_function(X)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = self.estimator.__sklearn_tags__()
        tags.estimator_type = inner.estimator_type
        tags.classifier_tags, tags.regressor_tags = inner.classifier_tags, inner.regressor_tags
        return tags
