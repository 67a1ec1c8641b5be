"""What an evaluation promises: one row moves the released sums by no more than is said."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

from discreet import (
    Bounds,
    Budget,
    Ledger,
    PrivateLinearSVC,
    PrivateLogisticRegression,
    PrivatePoissonRegressor,
    PrivateRidge,
    PrivateSparseLogisticRegression,
    evaluate,
)
from discreet.accounting import Gaussian, Pure, gaussian_delta
from discreet.errors import BudgetExceeded, Incompatible
from discreet.evaluation import CLASSIFIER_METRICS, EvaluationPlan, plan_evaluation
from discreet.evaluation import scored_rows as reading_module
from discreet.evaluation.laws import REACH, STEP
from discreet.evaluation.scored_rows import add_up, read
from discreet.noise import Seeded
from discreet.problem import NUMERICS

RELATIONS = ("zero-out", "replace-one", "add-remove")


class Told:
    """A model whose prediction is a column of its rows."""

    def __init__(self, n_classes=0):
        self.classes_ = np.arange(n_classes)
        self.seen = []

    def predict(self, X):
        self.seen.append(X.shape)
        return X[:, 0] if not len(self.classes_) else X[:, 0].astype(int)

    def predict_proba(self, X):
        return X[:, 1:]


def regression(neighbours, **more):
    return EvaluationPlan(
        budget=Budget(1.0, 1e-6), metrics=("mse", "mae", "r2"), neighbours=neighbours,
        residual=2.0, label=(-1.0, 3.0), count_rows=True, **more,
    )  # fmt: skip


def classification(neighbours, metrics, n_classes=2, **more):
    return EvaluationPlan(
        budget=Budget(1.0, 1e-6), metrics=metrics, neighbours=neighbours, count_rows=True,
        classes=tuple(range(n_classes)), **more,
    )  # fmt: skip


def parts(model, X, y, plan):
    """Return what each row alone adds to every block, a blank row last."""
    X, y, good = read(model, np.asarray(X, dtype=float), y, plan)
    rows = [add_up(model, X[i : i + 1], y[i : i + 1], good[i : i + 1], plan) for i in range(len(y))]
    assert not good[-1]
    return rows


def regression_parts(neighbours):
    plan = regression(neighbours)
    grid = np.linspace(-1.5, 3.5, 41)  # beyond the declared range on both sides
    pairs = [*itertools.product((-5.0, -1.0, 0.0, 1.0, 3.0, 8.0), grid), (math.nan, 0.0)]
    found = parts(Told(), [[p] for p, _ in pairs], [t for _, t in pairs], plan)
    return plan, found


def classification_parts(neighbours, n_classes):
    metrics = ("accuracy", "log_loss", "confusion") + (("auc",) if n_classes == 2 else ())
    plan = classification(neighbours, metrics, n_classes)
    rows = []
    for predicted, true in itertools.product(range(n_classes), repeat=2):
        for share in (0.0, 0.003, 0.3, 0.5, 0.9999, 1.0):
            chances = np.full(n_classes, (1 - share) / (n_classes - 1))
            chances[predicted] = share
            rows.append(([predicted, *chances], true))
    rows.append(([math.nan] * (n_classes + 1), 0))
    return plan, parts(Told(n_classes), [r for r, _ in rows], [t for _, t in rows], plan)


def neighbours_of(found, relation):
    """Yield pairs of rows, by number, that a neighbour exchanges."""
    blank = len(found) - 1
    if relation == "replace-one":
        yield from itertools.combinations(range(len(found)), 2)
    else:
        yield from ((i, blank) for i in range(blank))


CASES = [
    *[(regression_parts, (r,)) for r in RELATIONS],
    *[(classification_parts, (r, k)) for r in RELATIONS for k in (2, 3)],
]


@pytest.mark.parametrize(("make", "arguments"), CASES)
def test_no_neighbour_moves_a_block_further_than_its_sensitivity_and_some_as_far(make, arguments):
    plan, found = make(*arguments)
    relation = arguments[0]
    for block in plan.blocks:
        values = np.array([row[block.name].ravel() for row in found])
        first, second = np.array(list(neighbours_of(found, relation))).T
        apart = values[first] - values[second]
        for norm, size in (("l1", np.abs(apart).sum(1)), ("l2", np.linalg.norm(apart, axis=1))):
            said = block.sensitivity(norm, relation)
            assert size.max() <= said
            assert size.max() >= 0.985 * said, (block, norm)


@pytest.mark.parametrize(("make", "arguments"), CASES)
def test_noise_of_all_blocks_together_is_what_the_budget_asks_for(make, arguments):
    plan, found = make(*arguments)
    pairs = np.array(list(neighbours_of(found, arguments[0])))
    shift = 0.0
    for block in plan.blocks:
        values = np.array([row[block.name].ravel() for row in found])
        apart = values[pairs[:, 0]] - values[pairs[:, 1]]
        shift = shift + (apart**2).sum(1) / plan.laws[block.name].scale ** 2
    worst = math.sqrt(shift.max())
    assert gaussian_delta(1.0, worst) <= 1e-6
    # An independent look at the event: no shift that happens is larger than it says.
    assert worst <= 1 / plan.guarantee.event.multiplier
    assert isinstance(plan.guarantee.event, Gaussian)


@pytest.mark.parametrize(("make", "arguments"), CASES)
def test_laplace_noise_of_all_blocks_together_costs_epsilon(make, arguments):
    from dataclasses import replace

    plan, found = make(*arguments)
    plan = replace(plan, budget=Budget(0.7, 0.0))
    pairs = np.array(list(neighbours_of(found, arguments[0])))
    loss = 0.0
    for block in plan.blocks:
        values = np.array([row[block.name].ravel() for row in found])
        apart = values[pairs[:, 0]] - values[pairs[:, 1]]
        law = plan.laws[block.name]
        assert law.kind == "laplace"
        loss = loss + np.abs(apart).sum(1) / law.scale
    assert loss.max() <= 0.7
    assert plan.guarantee.event == Pure(0.7)


def test_sums_lie_on_the_grid_so_that_noise_needs_no_surcharge():
    for make, arguments in CASES:
        for row in make(*arguments)[1]:
            for values in row.values():
                assert (values / STEP == np.rint(values / STEP)).all()
    assert REACH / STEP <= 2.0**51


def test_released_numbers_are_the_sums_plus_noise_of_the_stated_size():
    plan = classification("zero-out", ("accuracy", "auc", "log_loss"), bins=4)
    sums = {b.name: np.full(b.shape, 100.0) for b in plan.blocks}
    runs = [plan.run(sums, Seeded(i)) for i in range(400)]
    for block in plan.blocks:
        errors = np.array([run[block.name].ravel() - 100.0 for run in runs])
        deviation = plan.laws[block.name].deviation
        assert abs(errors.std() / deviation - 1) < 4 / math.sqrt(2 * errors.size)
        assert abs(errors.mean()) < 4 * deviation / math.sqrt(errors.size)


@pytest.mark.parametrize("relation", RELATIONS)
def test_a_row_moves_no_other_rows_cell(relation):
    random = np.random.default_rng(1)
    X, y = random.uniform(-1, 1, (203, 7)), random.integers(0, 2, 203)
    bounds = Bounds(features=(-1, 1), classes=(0, 1))
    model = PrivateLogisticRegression(bounds=bounds, random_state=0).fit(X, y)
    plan = plan_evaluation(model, epsilon=1.0, neighbours=relation, metrics=("auc", "log_loss"))
    for order in "CF":
        rows = np.array(X, order=order)
        whole = add_up(model, *read(model, rows, y, plan), plan)
        for i in (0, 77, 202):
            if relation == "add-remove":
                other = np.delete(rows, i, axis=0), np.delete(y, i)
            else:
                other = rows.copy(order=order), y
                other[0][i] = math.nan
            part = add_up(model, *read(model, *other, plan), plan)
            moved = whole["histogram"] - part["histogram"]
            assert np.abs(moved).sum() == 1
            assert abs((whole["log_loss"] - part["log_loss"])[0]) <= 0.5


def test_blank_rows_keep_their_places_and_lone_rows_are_scored_alone(monkeypatch):
    X, y = [[0.0], [math.nan], [1.0]], [0.0, 1.0, 1.0]
    for relation, shapes in (("zero-out", [(3, 1)]), ("add-remove", [(1, 1)] * 2)):
        model, plan = Told(), regression(relation)
        add_up(model, *read(model, np.array(X), y, plan), plan)
        assert model.seen == shapes


def models():
    """Fitted models of each way to a score, and rows for them."""
    random = np.random.default_rng(2)
    for width, n_classes in ((7, 2), (33, 3), (130, 10)):
        X, classes = random.normal(size=(260, width)), tuple(range(n_classes))
        y, common = np.arange(260) % n_classes, {"random_state": 0}
        bounds = Bounds(features=(-1, 1), classes=classes, label=(0, 9))
        yield PrivateLogisticRegression(bounds=bounds, **common).fit(X, y), X
        yield PrivateLinearSVC(bounds=bounds, **common).fit(X, y), X
        yield PrivateRidge(bounds=bounds, **common).fit(X, np.stack([y, 9 - y], axis=1)), X
        yield PrivatePoissonRegressor(bounds=bounds, **common).fit(X, y), X
        sparse = PrivateSparseLogisticRegression(bounds=replace(bounds, classes=(0, 1)), **common)
        yield sparse.fit(X, y % 2), X
        wide = Bounds(row_norm=1.0, classes=classes)
        yield (
            PrivateLogisticRegression(bounds=wide, fit_intercept=False, **common).fit(X, y),
            sp.csr_array(np.where(np.abs(X) > 1, X, 0.0)),
        )


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_own_models_score_a_row_alike_wherever_it_stands(dtype):
    for model, rows in models():
        X, alike = rows.astype(dtype), model._alike_anywhere()
        for ask in ("decision_function", "predict_proba", "predict"):
            if not hasattr(model, ask):
                continue
            whole = getattr(alike, ask)(X)
            np.testing.assert_allclose(whole, getattr(model, ask)(X), rtol=1e-4, atol=1e-6)
            for part in (slice(5, 6), slice(0, 3), slice(1, 258), slice(100, 260)):
                assert (getattr(alike, ask)(X[part]) == whole[part]).all(), (model, ask, part)


def test_own_models_score_all_rows_at_once(monkeypatch):
    X, y = np.linspace(-1, 1, 400).reshape(-1, 1), np.repeat([0, 1], 200)
    model = PrivateLogisticRegression(bounds=Bounds(features=(-1, 1), classes=(0, 1)))
    model.fit(X, y)
    plan = plan_evaluation(model, epsilon=1.0, neighbours="add-remove")
    assert NUMERICS in plan.guarantee.assumptions
    assert NUMERICS not in plan_evaluation(model, epsilon=1.0).guarantee.assumptions
    seen, known = [], reading_module._sums
    monkeypatch.setattr(
        reading_module, "_sums", lambda m, X, *more: seen.append(len(X)) or known(m, X, *more)
    )
    found = add_up(model, *read(model, X, y, plan), plan)
    assert seen == [400]
    alone = classification_sums(model, X, y, plan)
    assert all((found[name] == alone[name]).all() for name in found)


def classification_sums(model, X, y, plan):
    """Return sums of rows that were scored one at a time."""
    parts = [
        add_up(model, *read(model, X[i : i + 1], y[i : i + 1], plan), plan) for i in range(len(y))
    ]
    return {name: sum(part[name] for part in parts) for name in parts[0]}


def small_ledger(folder, epsilon=1.0):
    return Ledger.create(folder / "test.ledger", dataset="test", epsilon=epsilon, delta=1e-6)


def test_the_plan_is_reserved_before_any_row_is_read(tmp_path):
    class Untouchable:
        def __getattr__(self, name):
            raise AssertionError("read")

    model = PrivateLogisticRegression(bounds=Bounds(features=(-1, 1), classes=(0, 1)))
    model.fit(np.linspace(-1, 1, 400).reshape(-1, 1), np.repeat([0, 1], 200))
    ledger = small_ledger(tmp_path, epsilon=0.2)
    with pytest.raises(BudgetExceeded):
        evaluate(model, Untouchable(), Untouchable(), epsilon=0.25, delta=0.0, ledger=ledger)
    assert ledger.history() == []


def test_an_evaluation_is_one_entry_and_a_seeded_one_is_refused(tmp_path):
    model = PrivateLogisticRegression(bounds=Bounds(features=(-1, 1), classes=(0, 1)))
    X, y = np.linspace(-1, 1, 400).reshape(-1, 1), np.repeat([0, 1], 200)
    ledger = small_ledger(tmp_path)
    model.fit(X, y)
    with pytest.raises(Incompatible, match="seed"):
        evaluate(model, X, y, epsilon=0.5, delta=0.0, ledger=ledger, random_state=0)
    evaluate(model, X, y, epsilon=0.5, delta=0.0, ledger=ledger)
    [entry] = ledger.history()
    assert (entry.model, entry.algorithm) == ("PrivateLogisticRegression", "evaluation")
    assert entry.state == "spent"


def test_messages_quote_nothing():
    model = PrivateLogisticRegression(bounds=Bounds(features=(-1, 1), classes=(0, 1)))
    model.fit(np.linspace(-1, 1, 400).reshape(-1, 1), np.repeat([0, 1], 200))
    secret = "987654.321"
    bad = [
        ([[secret]], [0]),
        ([[0.0]], [secret]),
        ([[0.0], [0.0]], [1]),
        ([[0.0, 987654.321]], [1]),
        ([[0.0]], [[0, 1]]),
    ]
    for X, y in bad:
        with pytest.raises(ValueError) as raised:
            evaluate(model, X, y, epsilon=1.0)
        assert secret not in str(raised.value)


def test_what_a_foreign_model_says_is_withheld():
    class Loud(Told):
        def predict(self, X):
            raise ValueError(f"cannot read {X}")

    plan = regression("zero-out")
    model = Loud()
    with pytest.raises(ValueError, match="withheld") as raised:
        add_up(model, *read(model, np.array([[987654.321]]), [0.0], plan), plan)
    assert "987654" not in str(raised.value)
    assert raised.value.__cause__ is None


@pytest.mark.parametrize(
    ("broken", "arguments"),
    [
        # The middle is not taken out: a row moves a sum twice as far as is said.
        ({"centred": lambda correct, good: np.array([float((correct & good).sum())])}, 2),
        # A row lands in two cells.
        ({"cells": lambda shape, y, at, good: 2 * np.ones(shape) * good.sum()}, 2),
        # Values are not cut to [0, 1].
        ({"moments": lambda v, good: np.array([3.0, 3.0]) * good.sum()}, 3),
    ],
)
def test_the_search_over_neighbours_finds_planted_faults(monkeypatch, broken, arguments):
    for name, function in broken.items():
        monkeypatch.setattr(reading_module, name, function)
    with pytest.raises(AssertionError):
        test_no_neighbour_moves_a_block_further_than_its_sensitivity_and_some_as_far(
            classification_parts, ("zero-out", arguments)
        )


def test_every_metric_has_a_block():
    for metric in CLASSIFIER_METRICS:
        assert classification("zero-out", (metric,)).blocks
