"""The inner solver: right answers, honest certificates, refusals."""

from __future__ import annotations

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize as scipy_minimize
from sklearn.linear_model import ElasticNet as SklearnElasticNet
from sklearn.linear_model import LogisticRegression

from discreet.bounds import unit_roundoff
from discreet.data import Rows, prox_error
from discreet.errors import Incompatible, InvalidParameter, NotCertified
from discreet.losses import (
    Clipped,
    Hinge,
    Huber,
    HuberisedHinge,
    Logistic,
    Poisson,
    SmoothedQuantile,
    Softmax,
    Squared,
)
from discreet.regularizers import L1, ElasticNet, Group, Ridge
from discreet.sets import Box, L1Ball, L2Ball, Simplex
from discreet.solvers import newton, proximal
from discreet.solvers.minimize import minimise
from discreet.solvers.objective import Objective, certainly_below, norm

SMOOTH = [
    Logistic(),
    HuberisedHinge(width=0.1),
    Huber(threshold=0.3),
    Squared(),
    SmoothedQuantile(),
    Poisson(limit=3.0),
    Clipped(loss=Squared(), clip=0.2),
    Softmax(n_classes=4),
]
TOLERANCE = 1e-9


def make(loss, n=2000, p=8, seed=0, *, sparse=False):
    """Rows of one loss, ill-conditioned, with a linear term."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p)) * np.logspace(0, -1.5, p)
    if sparse:
        X *= rng.random((n, p)) < 0.3
    X /= np.maximum(1.0, np.linalg.norm(X, axis=1))[:, None]
    z = X @ rng.standard_normal((p, max(loss.outputs, 1))) * 3.0
    noisy = z + rng.logistic(size=z.shape)
    y = {
        "sign": np.sign(noisy[:, 0]),
        "index": noisy.argmax(axis=1).astype(float),
        "count": rng.poisson(np.exp(np.clip(z[:, 0], -2, 2))).astype(float),
    }.get(loss.target, np.clip(noisy[:, 0] / 4, -1, 1))
    norms = np.linalg.norm(X, axis=1) * (1 + 1e-14)
    rows = Rows(sp.csr_array(X) if sparse else X, loss.attach(y, norms), None, norms)
    linear = rng.standard_normal((p,) if loss.outputs == 1 else (p, loss.outputs)) * 2
    return rows, linear


def full_gradient(rows, loss, w, linear, strength):
    """The gradient from plain numpy, apart from the library's kernels."""
    X = rows.X.toarray() if rows.sparse else rows.X
    slope = (rows.weight * loss.slope(X @ w, rows.y).T).T
    return X.T @ slope + strength * w + linear


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("loss", SMOOTH, ids=lambda loss: loss.name)
def test_smooth_problems_reach_the_tolerance(loss, sparse):
    rows, linear = make(loss, sparse=sparse)
    w = minimise(rows, loss, linear=linear, strength=0.5, tolerance=TOLERANCE)
    assert w.shape == linear.shape
    assert norm(full_gradient(rows, loss, w, linear, 0.5)) <= TOLERANCE


@pytest.mark.parametrize("loss", SMOOTH, ids=lambda loss: loss.name)
def test_agrees_with_scipy(loss):
    rows, linear = make(loss, n=400, p=4)

    def function(v):
        w = v.reshape(linear.shape)
        value = float(rows.weight @ loss.value(rows.X @ w, rows.y))
        value += 0.5 * float(v @ v) + float(linear.ravel() @ v)
        return value, full_gradient(rows, loss, w, linear, 1.0).ravel()

    options = {"ftol": 1e-15, "gtol": 1e-9, "maxiter": 5000}
    there = scipy_minimize(
        function, np.zeros(linear.size), jac=True, method="L-BFGS-B", options=options
    )
    w = minimise(rows, loss, linear=linear, strength=1.0, tolerance=1e-9)
    np.testing.assert_allclose(w.ravel(), there.x, atol=2e-4)
    assert function(w.ravel())[0] <= there.fun + 1e-9


def test_agrees_with_sklearn_logistic():
    loss = Logistic()
    rows, linear = make(loss)
    w = minimise(rows, loss, linear=0 * linear, strength=2.0, tolerance=1e-9)
    model = LogisticRegression(C=0.5, fit_intercept=False, tol=1e-10, solver="newton-cholesky")
    np.testing.assert_allclose(w, model.fit(rows.X, rows.y).coef_[0], rtol=1e-6)


def test_agrees_with_sklearn_elastic_net():
    loss = Squared()
    rows, linear = make(loss)
    n = rows.n_rows
    penalty = ElasticNet(l1=5.0, l2=3.0)
    w = minimise(rows, loss, linear=0 * linear, strength=0.0, regularizer=penalty, tolerance=1e-8)
    model = SklearnElasticNet(
        alpha=8.0 / n, l1_ratio=5.0 / 8.0, fit_intercept=False, tol=1e-14, max_iter=100_000
    )
    np.testing.assert_allclose(w, model.fit(rows.X, rows.y).coef_, atol=1e-7)
    assert (w == 0).any()


@pytest.mark.parametrize("dense", [True, False], ids=["newton", "accelerated"])
@pytest.mark.parametrize("loss", SMOOTH, ids=lambda loss: loss.name)
def test_lasso_meets_its_optimality_conditions(loss, dense, monkeypatch):
    if not dense:
        monkeypatch.setattr(proximal, "DENSE", 0)
    rows, linear = make(loss, n=600)
    w = minimise(
        rows, loss, linear=linear, strength=1.0, regularizer=L1(strength=4.0), tolerance=1e-7
    )
    g = full_gradient(rows, loss, w, linear, 1.0)
    gap = np.where(w != 0, g + 4.0 * np.sign(w), np.maximum(np.abs(g) - 4.0, 0.0))
    assert norm(gap) <= 1e-7
    assert (w == 0).any()
    assert (w != 0).any()


SETS = [
    L2Ball(radius=0.7),
    L1Ball(radius=0.9),
    Box(low=-0.2, high=0.3),
    Simplex(),
]


@pytest.mark.parametrize("dense", [True, False], ids=["newton", "accelerated"])
@pytest.mark.parametrize("constraint", SETS, ids=lambda s: s.name)
@pytest.mark.parametrize(
    "loss", [Logistic(), Huber(threshold=0.3), Softmax(n_classes=3)], ids=lambda loss: loss.name
)
def test_constrained_points_satisfy_the_variational_inequality(
    loss, constraint, dense, monkeypatch
):
    if not dense:
        monkeypatch.setattr(proximal, "DENSE", 0)
    rows, linear = make(loss, n=600)
    w = minimise(rows, loss, linear=linear, strength=1.0, constraint=constraint, tolerance=1e-7)
    g = full_gradient(rows, loss, w, linear, 1.0)
    np.testing.assert_allclose(constraint.project(w), w, atol=1e-12)
    # <g, v - w> >= -tolerance * ||v - w|| on the set; a linear minimiser is the worst v.
    worst = constraint.minimize_linear(g)
    assert float(np.sum(g * (worst - w))) >= -1e-7 * norm(worst - w) - 1e-12
    free = minimise(rows, loss, linear=linear, strength=1.0, tolerance=1e-8)
    assert norm(constraint.project(free) - w) > 1e-3


def test_penalty_and_constraint_together():
    loss = Logistic()
    rows, linear = make(loss, n=600)
    w = minimise(
        rows,
        loss,
        linear=linear,
        strength=1.0,
        regularizer=ElasticNet(l1=3.0, l2=2.0),
        constraint=L2Ball(radius=0.5),
        tolerance=1e-8,
    )

    def total(v):
        value = rows.objective(loss, v)[0] + float(linear @ v) + 1.5 * float(v @ v)
        return value + 3.0 * float(np.abs(v).sum())

    rng = np.random.default_rng(0)
    for size in (1e-4, 1e-2, 1.0):
        for _ in range(100):
            v = L2Ball(radius=0.5).project(w + size * rng.standard_normal(len(w)))
            assert total(v) >= total(w) - 1e-9


def test_ridge_regularizer_adds_to_strength():
    loss = Logistic()
    rows, linear = make(loss)
    a = minimise(rows, loss, linear=linear, strength=3.0, tolerance=1e-9)
    b = minimise(
        rows, loss, linear=linear, strength=1.0, regularizer=Ridge(strength=2.0), tolerance=1e-9
    )
    np.testing.assert_allclose(a, b, atol=1e-9)


def test_group_penalty_zeroes_whole_groups():
    loss = Softmax(n_classes=3)
    rows, linear = make(loss, n=600, p=6)
    w = minimise(
        rows,
        loss,
        linear=0 * linear,
        strength=1.0,
        regularizer=Group(strength=25.0, groups=3),
        tolerance=1e-7,
    )
    zero = (w.reshape(-1, 3) == 0).all(axis=1)
    assert zero.any()
    assert not zero.all()


def test_high_dimension_uses_products_only(monkeypatch):
    def refuse(*_):
        raise AssertionError("no Hessian may be formed")

    monkeypatch.setattr(newton, "DENSE", 5)
    monkeypatch.setattr(Rows, "hessian", refuse)
    for loss in (Logistic(), HuberisedHinge(width=0.3), Softmax(n_classes=4)):
        rows, linear = make(loss, sparse=True)
        w = minimise(rows, loss, linear=linear, strength=0.5, tolerance=1e-9)
        assert norm(full_gradient(rows, loss, w, linear, 0.5)) <= 1e-9


def test_quadratics_take_one_newton_step(monkeypatch):
    count = []
    plain = Rows.hessian
    monkeypatch.setattr(
        Rows, "hessian", lambda self, *a, **k: (count.append(self.n_rows), plain(self, *a, **k))[1]
    )
    loss = Squared()
    rows, linear = make(loss, n=500)
    minimise(rows, loss, linear=linear, strength=1.0, tolerance=1e-9)
    assert count == [500]


def test_warm_start_uses_a_sample_and_ends_at_the_same_point():
    loss = Logistic()
    rows, linear = make(loss, n=20_000, p=4)
    order = np.argsort(rows.y, kind="stable")
    mixed = minimise(rows, loss, linear=linear, strength=1.0, tolerance=1e-9)
    by_class = minimise(rows.take(order), loss, linear=linear, strength=1.0, tolerance=1e-9)
    np.testing.assert_allclose(mixed, by_class, atol=2e-9)


def test_compiled_gradients_end_at_the_same_point(monkeypatch):
    rows, linear = make(Logistic(), n=3000, p=5)
    given = {"linear": linear, "strength": 1.0, "tolerance": 1e-6}
    plain = minimise(rows, Logistic(), **given)
    monkeypatch.setattr("discreet.data.certified.LARGE", 0)
    # No value is asked for: all that the solver sees are gradients with a certificate.
    monkeypatch.setattr(Rows, "objective", None)
    monkeypatch.setattr("discreet.solvers.newton.STRIDE", 10**9)
    quick = minimise(rows, Logistic(), **given)
    assert 0.0 < np.linalg.norm(quick - plain) <= 2e-6


def test_the_sample_of_a_warm_start_does_not_grow_with_the_rows(monkeypatch):
    loss, sizes, plain = Logistic(), [], Rows.sampled
    rows, linear = make(loss, n=20_000, p=4)
    monkeypatch.setattr(newton, "SAMPLE", 500)
    monkeypatch.setattr(
        Rows, "sampled", lambda self, stride: (sizes.append(stride), plain(self, stride))[1]
    )
    found = minimise(rows, loss, linear=linear, strength=1.0, tolerance=1e-9)
    assert sizes[0] == 64  # 313 rows; one in 32 were 625
    monkeypatch.undo()
    same = minimise(rows, loss, linear=linear, strength=1.0, tolerance=1e-9)
    np.testing.assert_allclose(found, same, atol=2e-9)


def test_solver_is_deterministic():
    loss = Logistic()
    rows, linear = make(loss, n=5000)
    a, b = (minimise(rows, loss, linear=linear, strength=1.0, tolerance=1e-8) for _ in range(2))
    np.testing.assert_array_equal(a, b)


# Certificates.


@pytest.mark.parametrize(("size", "good"), [(0.0, True), (1e-6, False), (1e-3, False)])
def test_certificate_refuses_a_solver_that_lies(size, good, monkeypatch):
    loss = Logistic()
    rows, linear = make(loss)
    minimiser = minimise(rows, loss, linear=linear, strength=1.0, tolerance=1e-9)

    def lie(objective, point, step, certify, room):
        return newton.Point(minimiser + size, point.value, np.zeros_like(linear))

    # It claims a zero gradient wherever it is; only the true minimiser may get through.
    monkeypatch.setattr(newton, "_line_search", lie)
    monkeypatch.setattr(newton, "STEPS", 10)
    if good:
        found = minimise(rows, loss, linear=linear, strength=1.0, tolerance=1e-9)
        np.testing.assert_array_equal(found, minimiser)
    else:
        with pytest.raises(NotCertified, match="did not reach"):
            minimise(rows, loss, linear=linear, strength=1.0, tolerance=1e-9)


def test_certificate_refuses_a_loose_proximal_point():
    loss = Logistic()
    rows, linear = make(loss)
    objective, penalty = Objective(rows, loss, linear, 1.0), L1(strength=4.0)
    w = minimise(rows, loss, linear=linear, strength=1.0, regularizer=penalty, tolerance=1e-8)
    top = objective.smoothness(w)
    for size, good in ((0.0, True), (1e-6, False), (1e-2, False)):
        v = w + size
        gradient = objective.evaluate(v)[1]
        found = proximal.certify(objective, penalty.prox, v, gradient, top, 1e-8)
        assert (found is not None) == good


def test_the_certificate_does_not_trust_the_solvers_gradient():
    # Whatever vector stands in for the gradient, the certificate is true of the point returned.
    loss = Logistic()
    rows, linear = make(loss)
    objective, penalty = Objective(rows, loss, linear, 1.0), L1(strength=4.0)
    w = minimise(rows, loss, linear=linear, strength=1.0, regularizer=penalty, tolerance=1e-8)
    gradient = objective.evaluate(w)[1]
    wrong = gradient + 1e-6
    assert proximal.certify(objective, penalty.prox, w, wrong, 100.0, 1e-8) is None


def exact_prox(part, v):
    """Proximal maps with step 1 in 50-digit arithmetic, by bisection on their one multiplier."""
    v = [mpmath.mpf(float(x)) for x in v]
    if isinstance(part, L1):
        return [mpmath.sign(x) * max(abs(x) - mpmath.mpf(part.strength), 0) for x in v]
    if isinstance(part, L2Ball):
        return [x * mpmath.mpf(part.size) / mpmath.norm(v) for x in v]
    if isinstance(part, Group):
        pairs = [(v[i], v[i + 1]) for i in range(0, len(v), 2)]
        cuts = [max(1 - mpmath.mpf(part.strength) / mpmath.norm(p), 0) for p in pairs]
        return [x * cut for p, cut in zip(pairs, cuts, strict=True) for x in p]
    signed = isinstance(part, L1Ball)
    total = mpmath.mpf(part.size if signed else part.total)
    size = [abs(x) if signed else x for x in v]
    low, high = min(size) - total, max(size)
    for _ in range(200):
        middle = (low + high) / 2
        over = mpmath.fsum(max(x - middle, 0) for x in size) > total
        low, high = (middle, high) if over else (low, middle)
    return [
        max(s - low, 0) * (mpmath.sign(x) if signed else 1) for s, x in zip(size, v, strict=True)
    ]


@pytest.mark.parametrize(
    "part",
    [
        L1(strength=0.3),
        Group(strength=0.3, groups=2),
        L2Ball(radius=1.0),
        L1Ball(radius=1.0),
        Simplex(),
    ],
    ids=lambda part: part.name,
)
def test_proximal_maps_are_as_accurate_as_certificates_assume(part):
    rng = np.random.default_rng(0)
    for _ in range(20):
        v = rng.standard_normal(40) * 10.0 ** rng.uniform(0, 4)
        t = part.prox(v, 1.0) if hasattr(part, "prox") else part.project(v)
        with mpmath.workdps(50):
            gap = [mpmath.mpf(float(a)) - b for a, b in zip(t, exact_prox(part, v), strict=True)]
            error = float(mpmath.norm(gap))
        assert error <= prox_error(40) * (norm(v) + norm(t))


@pytest.mark.parametrize("regularizer", [None, L1(strength=1.0)])
def test_unreachable_tolerance_is_refused_with_advice(regularizer):
    loss = Logistic()
    rows, linear = make(loss)
    with pytest.raises(NotCertified, match="did not reach"):
        minimise(rows, loss, linear=linear, strength=1.0, tolerance=1e-16, regularizer=regularizer)


def test_linear_error_counts_against_the_tolerance():
    loss = Logistic()
    rows, linear = make(loss)
    with pytest.raises(NotCertified):
        minimise(rows, loss, linear=linear, strength=1.0, tolerance=1e-8, linear_error=1e-8)
    w = minimise(rows, loss, linear=linear, strength=1.0, tolerance=1e-8, linear_error=0.99e-8)
    assert norm(full_gradient(rows, loss, w, linear, 1.0)) <= 1e-10


def test_a_diverging_problem_fails_instead_of_looping():
    # Separable data without strength: the logistic loss has no minimiser.
    X = np.array([[1.0], [2.0]])
    rows = Rows(X, np.array([1.0, 1.0]))
    with pytest.raises(NotCertified):
        minimise(rows, Logistic(), linear=np.array([-1.0]), strength=0.0, tolerance=1e-8)


def test_refusals():
    rows, linear = make(Logistic())
    with pytest.raises(Incompatible, match="for smooth losses"):
        minimise(rows, Hinge(), linear=linear, strength=1.0, tolerance=1e-8)
    with pytest.raises(InvalidParameter, match="shape"):
        minimise(rows, Logistic(), linear=np.zeros(3), strength=1.0, tolerance=1e-8)
    with pytest.raises(InvalidParameter, match="tolerance"):
        minimise(rows, Logistic(), linear=linear, strength=1.0, tolerance=math.inf)


def test_huge_labels_do_not_upset_the_solver():
    loss = Huber(threshold=1.0)
    rows, linear = make(loss)
    y = rows.y.copy()
    y[:50] = 1e300
    heavy = Rows(rows.X, y, None, rows.norms)
    w = minimise(heavy, loss, linear=linear, strength=1.0, tolerance=1e-9)
    assert norm(full_gradient(heavy, loss, w, linear, 1.0)) <= 1e-9


def test_the_error_of_a_gradient_counts_against_the_room():
    assert certainly_below(0.5e-8, 0.4e-8, 1e-8)
    assert not certainly_below(0.9e-8, 0.4e-8, 1e-8)
    with pytest.raises(NotCertified):
        certainly_below(0.0, 1e-8, 1e-8)


def test_the_error_of_a_gradient_covers_the_sum_of_its_parts():
    # Ridge and linear term cancel, so that nothing but their rounding is left.
    rng, worst = np.random.default_rng(0), 0.0
    rows = Rows(np.zeros((1, 8)), np.ones(1))
    for _ in range(50):
        w, strength = rng.standard_normal(8) * 1e6, float(rng.uniform(0.1, 1.0))
        linear = -strength * w
        found, error = Objective(rows, Logistic(), linear, strength).certified(w)
        off = [
            Fraction(g) - Fraction(strength) * Fraction(a) - Fraction(b)
            for g, a, b in zip(found, w, linear, strict=True)
        ]
        apart = math.sqrt(float(sum(v * v for v in off)))
        assert apart <= error
        worst = max(worst, apart)
    assert worst > 0.0


def test_a_proximal_certificate_covers_the_rounding_of_the_map():
    # At the minimum, but a step of 1e-6 of a map that is known up to rounding tells little.
    objective = Objective(Rows(np.zeros((1, 1)), np.ones(1)), Logistic(), np.array([-1.0]), 1.0)

    def certified(room):
        prox, w = (lambda v, _: v), np.ones(1)
        return proximal.certify(objective, prox, w, np.zeros(1), 1e6, room)

    with pytest.raises(NotCertified):
        certified(1e-10)
    assert certified(1e-8) is not None


def test_a_proximal_certificate_covers_the_rounding_of_its_sum():
    objective = Objective(Rows(np.zeros((1, 1)), np.ones(1)), Logistic(), np.array([-1e6]), 1.0)
    w, gradient = np.ones(1), np.array([1.0 - 1e6])
    needed = prox_error(1) * (1e6 + 1.0) * 3.0
    needed += 4 * unit_roundoff() * 2 * 999_999.0 + objective.certified(w)[1]

    def certified(room):
        return proximal.certify(objective, lambda v, _: np.clip(v, -1, 1), w, gradient, 1.0, room)

    assert certified(1.02 * needed) is not None
    with pytest.raises(NotCertified):
        certified(0.99 * needed)
