"""Linear models that learn from a stream of rows and may be published at any moment.

Every ``partial_fit`` releases new weights. All releases together cost the
budget once, however many there are: see :mod:`discreet.algorithms.stream.ftrl`. What
has to hold for that is that no row is learned twice in a pass. So

* a call of ``partial_fit`` takes effect as a whole or not at all;
* with ``state_path`` the state after a call is on disk before the call's
  weights can be seen, and :meth:`resume` goes on from there after a crash;
* after ``resume`` the caller must say with ``start`` where in the stream the
  next rows lie, and rows already learned are refused;
* a pickled, copied, loaded or forked model predicts but cannot go on learning:
  two models that go on from the same state would add different noise to the same
  sums, and their mean would tell more than either.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted

from discreet.accounting import Budget
from discreet.algorithms.stream import FTRL, ONE_PASS, FTRLPlan, StreamLearner
from discreet.bounds import Array, Bounds
from discreet.checks import integer
from discreet.data import ArraySource
from discreet.errors import Incompatible, InvalidData
from discreet.estimators.journal import DAMAGED, Journal
from discreet.estimators.linear import LinearModel
from discreet.estimators.shared.base import assuming, with_poor_scores
from discreet.estimators.shared.charging import charged
from discreet.estimators.shared.persistence import Portable
from discreet.files.checksums import with_checksum
from discreet.noise import Randomness, as_randomness
from discreet.problem import Problem, with_randomness
from discreet.sets import AllSpace, ConvexSet

FIRST_ROWS = 4096
"""Length a stream is planned for at first when none is declared."""


class StreamState:
    """What a stream that has begun carries."""

    rows_seen_: int
    passes_begun_: int

    _learner: StreamLearner | None = None
    _journal: Journal | None = None
    _seeded: bool = False  # whether noise was seeded before the last resume
    _place_known: bool = True  # whether the place of the next rows is known without ``start``
    _settings: dict[str, Any]  # the parameters it began with, where a state is recorded


class PrivateStream(StreamState, LinearModel):
    """What both stream estimators share; not used directly."""

    _warns_of_noise = False  # more rows may come
    _assumes = (*LinearModel._assumes, ONE_PASS)
    _unsaved = (*LinearModel._unsaved, "state_path")  # a model file tells of no secret state

    strategy: str = "blt"
    batch_size: int | None = None
    passes: int = 1
    average: bool = False
    constraint: ConvexSet | None = None
    norm_guess: float | None = None
    state_path: str | Path | None = None

    def _constraint(self) -> ConvexSet:
        return self.constraint or AllSpace()

    # Starting and going on.

    def _forget(self) -> None:
        super()._forget()
        for name in StreamState.__annotations__:
            self.__dict__.pop(name, None)

    def begin_pass(self) -> Self:
        """Declare that rows fed before may come again, and pay for it.

        Needs ``passes`` of at least the number of passes begun. ``guarantee_``
        covers the new pass from here on.
        """
        learner = self._own_learner()
        with learner.alone:
            learner.begin_pass(record=self._recorder(position=0))
            self._publish(learner, 0)
        return self

    @classmethod
    def resume(cls, path: str | Path, *, random_state: Any = None) -> Self:
        """Go on with the stream whose secret state is in a file.

        The model is the last one that was released, or would have been. The
        first ``partial_fit`` needs ``start``: feed the rows from ``rows_seen_``
        on. Earlier owners of the file can no longer learn. A resume that is
        refused leaves the file, and whoever owns it, as they were.
        """
        random = as_randomness(random_state)
        # privacy: nobody else writes while the state is read, and only its owner gets a model.
        journal, model = Journal.take_over(path, lambda content: cls._resumed(content, random))
        model.random_state, model.state_path, model._journal = random_state, path, journal
        return model

    @classmethod
    def _resumed(cls, content: dict[str, Any], random: Randomness) -> Self:
        """Return the model of a state, which has no file yet to go on in."""
        model = Portable.from_dict(content["model"])
        if not isinstance(model, cls):
            name = type(model).__name__
            raise Incompatible(f"This is the state of a {name}. Use {name}.resume(path).")
        assumptions = content["assumptions"]
        if not isinstance(assumptions, list) or not all(isinstance(a, str) for a in assumptions):
            raise InvalidData(DAMAGED)
        plan = model._stream_plan(
            Bounds(**content["bounds"]), model.n_features_in_, content["n_rows"], *assumptions
        )
        learner = plan.start(random)
        learner.restore(content["learner"])
        position = integer("position", content["position"], 0)
        if position < learner.rows_of_pass:
            # privacy: rows already learned would be taken for new ones.
            raise InvalidData(DAMAGED)
        # privacy: a stream whose earlier noise was seeded stays insecure.
        model._seeded = content["seeded"] is not False
        model._learner, model._place_known = learner, False
        model._settings = content["model"]["parameters"]
        model._publish(learner, position)
        return model

    def _begin(self, bounds: Bounds, n_rows: int | None, *assumptions: str) -> None:
        plan = self._stream_plan(bounds, self.n_features_in_, n_rows, *assumptions)
        random = as_randomness(self.random_state)
        learner = plan.start(random)
        # All passes are paid for here; what is learned later costs nothing more.
        with charged(
            self, self.ledger, with_randomness(plan.guarantee, random), FTRL.name
        ) as entry:
            try:
                # Last of what may be refused: a file that was begun is in the way of the next try.
                self._journal = None if self.state_path is None else Journal.create(self.state_path)
            except BaseException:
                entry.void()  # privacy: no row was learned
                raise
        self._learner = learner
        self._seeded, self._place_known = False, True
        self._publish(self._learner, 0)  # the model before any row
        self._settings = {} if self._journal is None else self._saved_parameters()

    def _feed_in_passes(self, X: Any, labels: Any) -> None:
        for number in range(self.passes):
            if number:
                self.begin_pass()
            self._feed(X, labels, None)

    def _feed(self, X: Any, labels: Any, start: int | None) -> None:
        """Learn validated rows, record the state, and only then publish."""
        learner = self._own_learner()
        problem = learner.plan.problem
        # privacy: two threads that go on from the same state would each add their own noise to it,
        # and a warning of numpy would tell what the rows are like.
        with learner.alone, np.errstate(all="ignore"):
            first = self._place(start)
            # What the first rows were decides whether ranges are centred; see Bounds.
            dense = X.toarray() if sp.issparse(X) and problem.bounds.centred else X
            rows = problem.bounding.apply(ArraySource(dense, labels))
            position, steps = first + rows.n_rows, learner.steps
            try:
                learner.learn(rows, record=self._recorder(position))
                self._place_known = True
                self._publish(learner, position)
            except BaseException:
                if learner.steps != steps:
                    # privacy: these rows were learned but their place was not noted; fed again,
                    # they would count twice.
                    self._learner = None
                raise

    def _place(self, start: int | None) -> int:
        """Return the place of the next rows in the pass; refuse rows already learned."""
        if start is None:
            if not self._place_known:
                raise InvalidData(
                    f"A resumed stream must be told where the next rows lie, or rows could be "
                    f"learned twice. Pass start={self.rows_seen_} with the rows from there on."
                )
            return self.rows_seen_
        if integer("start", start, 0) < self.rows_seen_:
            raise InvalidData(
                f"Rows before place {self.rows_seen_} of this pass were learned and released "
                "already; learning them again would need more budget. Feed the rows from "
                f"start={self.rows_seen_} on, or call begin_pass()."
            )
        return start

    def _own_learner(self) -> StreamLearner:
        check_is_fitted(self)
        if self._learner is None:
            raise Incompatible(
                "This model is a copy: it predicts but cannot go on learning, because two models "
                "that go on from one state give away more than either. Use the original, or "
                "resume(state_path)."
            )
        # Before anything waits for a lock that another process took with it.
        self._learner.check_home()
        return self._learner

    # Publishing and recording.

    def _publish(self, learner: StreamLearner, position: int) -> None:
        weights = learner.average if self.average else learner.weights
        coef, intercept = learner.plan.problem.bounding.coefficients(weights)
        self.coef_, self.intercept_ = self._shaped(coef, intercept)
        guarantee = learner.guarantee
        self.guarantee_ = replace(guarantee, secure=guarantee.secure and not self._seeded)
        self.algorithm_ = FTRL.name
        self.rows_seen_, self.passes_begun_ = position, learner.passes

    def _shaped(self, coef: Array, intercept: Any) -> tuple[Array, Any]:
        return coef, intercept

    def _recorder(self, position: int) -> Any:
        if self._journal is None:
            return None
        journal = self._journal
        return lambda state: journal.write(self._content(state, position))

    def _content(self, state: dict[str, Any], position: int) -> dict[str, Any]:
        problem = self._own_learner().plan.problem
        return {
            # privacy: the settings the noise was planned with, not what they were set to since.
            "model": with_checksum(self._described(self._settings)),
            "bounds": problem.bounds.to_dict(),
            "n_rows": problem.n_rows,
            "assumptions": list(problem.assumptions),
            "seeded": not self.guarantee_.secure,
            "position": position,
            "learner": state,
        }

    def __getstate__(self) -> dict[str, Any]:
        state = super().__getstate__()
        # privacy: copies must not go on, and what they would go on from is secret.
        return {k: v for k, v in state.items() if k not in ("_learner", "_journal")}

    def __sklearn_tags__(self) -> Any:
        # One pass over the few hundred rows of scikit-learn's checks learns next to nothing.
        return with_poor_scores(super().__sklearn_tags__())

    # From configuration to a plan.

    def _stream_plan(
        self, bounds: Bounds, n_features: int, n_rows: int | None, *assumptions: str
    ) -> FTRLPlan:
        problem = assuming(self._problem(bounds, n_features, n_rows), *assumptions)
        return self._plan(problem, self._budget())

    def _problem(self, bounds: Bounds, n_features: int, n_rows: int | None) -> Problem:
        declared = self.n_rows if self.n_rows is not None else FIRST_ROWS
        return super()._problem(bounds, n_features, n_rows if n_rows is not None else declared)

    def _plan(self, problem: Problem, budget: Budget) -> FTRLPlan:
        config = FTRL(
            strategy=self.strategy,
            batch=self.batch_size,
            passes=self.passes,
            endless=True,
            norm_guess=self.norm_guess,
        )
        return config.plan(problem, budget)
