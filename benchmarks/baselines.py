"""Published private methods in NumPy, every setting and seed of a grid fitted at once.

They are baselines to be tuned in hindsight, so each is given the best of what is known: exact
accounting of full batches, exact minimisers, an exact optimum as start of a solver. Rows have norm
at most 1 and labels are 0/1, classes, or numbers in [-1, 1]. The relation is zero-out (the
constants of add-remove); without a delta it is replace-one.

- ``descent``: noisy gradient descent with clipping (Abadi et al. 2016), all rows in each step;
- ``objective``: objective perturbation as calibrated by Redberg, Koskela and Wang (2023);
- ``pure_objective``: the same without delta, by Chaudhuri, Monteleoni and Sarwate (2011);
- ``moments``: sufficient statistics with a ridge, and AdaSSP (Wang 2018);
- ``pure_moments``: such statistics without delta.
"""

from __future__ import annotations

import math
import sys
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq, minimize

from discreet.accounting import gaussian_multiplier

sys.path.append(str(Path(__file__).parent / "peers"))
from rkw23 import profile

Array = NDArray[Any]
SEEDS, PURE_SEEDS = 3, 12

# Steps and momentum; total length of all steps for a mean of losses; clips of gradients.
STEPS = ((30, 0.0), (100, 0.9), (300, 0.9))
TIMES = {"binary": (30, 120, 500, 2000, 8000), "regression": (4, 16, 64, 256, 1024, 4096)}
TIMES |= {"classes": (120, 500, 2000), "text": (120, 1000, 8000)}
CLIPS = {"binary": (0.1, 0.3, 1.0), "regression": (0.1, 0.3, 1.0), "classes": (0.3, 1.0)}
CLIPS |= {"text": (0.3, 1.0)}
TIMES["huber"], CLIPS["huber"] = TIMES["regression"], CLIPS["regression"]

THRESHOLD = 0.25
"""Residual from which Huber's loss is linear: the default of ``PrivateHuberRegressor``."""

SHARES = (0.02, 0.05, 0.1, 0.2, 0.4)
RIDGES = (0.001, 0.01, 0.1, 1.0, 10.0, 100.0)
LADDER = tuple(10.0**k for k in np.arange(-1.0, 4.1, 0.5))


def slope(kind: str, margins: Array, y: Array) -> Array:
    """Return the derivative of each row's loss; labels have as many axes as margins."""
    if kind == "regression":
        return np.asarray(margins - y)
    if kind == "huber":
        return np.asarray(np.clip(margins - y, -THRESHOLD, THRESHOLD))
    return np.asarray(1.0 / (1.0 + np.exp(-margins)) - y)


def losses(kind: str, margins: Array, y: Array) -> Array:
    """Return the loss of each row; half a square for numbers."""
    if kind in ("regression", "huber"):
        s = slope(kind, margins, y)
        return np.asarray(s * (margins - y) - 0.5 * s**2)
    return np.asarray(np.logaddexp(0.0, margins) - y * margins)


def descent(
    kind: str,
    X: Any,
    y: Array,
    epsilon: float,
    delta: float,
    seeds: int = SEEDS,
    apart: float = 1.0,
) -> dict[str, list[Array]]:
    """Return the last iterates of every setting, by its name.

    ``apart`` is how many clips the sums of neighbours lie apart.
    """
    found: dict[str, list[Array]] = {}
    z = apart * gaussian_multiplier(epsilon, delta)
    for steps, momentum in STEPS[:2] if kind in ("text", "classes") else STEPS:
        grid = list(product(TIMES[kind], CLIPS[kind]))
        lengths = np.repeat([time / steps / X.shape[0] for time, _ in grid], seeds)
        clips = np.repeat([clip for _, clip in grid], seeds)
        run = _softmax_paths if kind == "classes" else _paths
        rng = np.random.default_rng([1, steps])
        W = run(kind, X, y, lengths, clips, z * math.sqrt(steps), steps, momentum, rng)
        for k, (time, clip) in enumerate(grid):
            name = f"descent T={steps} time={time} clip={clip}"
            found[name] = [W[j] for j in range(k * seeds, (k + 1) * seeds)]
    return found


def _paths(
    kind: str,
    X: Any,
    y: Array,
    lengths: Array,
    clips: Array,
    noise: float,
    steps: int,
    momentum: float,
    rng: np.random.Generator,
) -> Array:
    dtype = np.float32
    X = X.astype(dtype)
    norms = np.sqrt(np.asarray(X.multiply(X).sum(axis=1))) if hasattr(X, "multiply") else None
    norms = np.linalg.norm(X, axis=1)[:, None] if norms is None else norms
    labels, transposed = y.astype(dtype)[:, None], X.T.tocsr() if hasattr(X, "tocsr") else X.T
    W = np.zeros((X.shape[1], len(clips)), dtype=dtype)
    V, caps = np.zeros_like(W), clips.astype(dtype)
    for _ in range(steps):
        s = slope(kind, X @ W, labels)
        s *= np.minimum(1.0, caps / np.maximum(np.abs(s) * norms, 1e-12))
        g = transposed @ s
        g += noise * caps * rng.standard_normal(W.shape, dtype=dtype)
        V = momentum * V + (1.0 - momentum) * g
        W -= lengths.astype(dtype) * V
    return np.asarray(W.T, dtype=float)


def _softmax_paths(
    kind: str,
    X: Array,
    y: Array,
    lengths: Array,
    clips: Array,
    noise: float,
    steps: int,
    momentum: float,
    rng: np.random.Generator,
) -> Array:
    dtype = np.float32
    X, classes, fits = X.astype(dtype), int(y.max()) + 1, len(clips)
    norms = np.linalg.norm(X, axis=1)[:, None]
    W = np.zeros((X.shape[1], fits, classes), dtype=dtype)
    V, one = np.zeros_like(W), np.eye(classes, dtype=dtype)[y.astype(int)][:, None, :]
    for _ in range(steps):
        s = (X @ W.reshape(X.shape[1], -1)).reshape(len(X), fits, classes)
        s = np.exp(s - s.max(axis=2, keepdims=True))
        s = s / s.sum(axis=2, keepdims=True) - one
        size = np.sqrt(np.sum(s * s, axis=2)) * norms
        s *= np.minimum(1.0, clips / np.maximum(size, 1e-12)).astype(dtype)[:, :, None]
        g = (X.T @ s.reshape(len(X), -1)).reshape(W.shape)
        scale = (noise * clips).astype(dtype)[None, :, None]
        g += scale * rng.standard_normal(W.shape, dtype=dtype)
        V = momentum * V + (1.0 - momentum) * g
        W -= lengths.astype(dtype)[None, :, None] * V
    return np.asarray(np.moveaxis(W, 1, 0), dtype=float)


def newton(X: Array, y: Array, ridge: float, linear: Array, start: Array) -> Array:
    """Return the minimiser of logistic losses, a ridge and a linear term, by damped Newton."""

    def value(w: Array) -> float:
        m = X @ w
        return float(np.sum(np.logaddexp(0.0, m) - y * m) + ridge / 2 * w @ w + linear @ w)

    w, now = start, value(start)
    for _ in range(30):
        chance = 1.0 / (1.0 + np.exp(-(X @ w)))
        gradient = X.T @ (chance - y) + ridge * w + linear
        bent = (X * (chance * (1.0 - chance))[:, None]).T @ X
        bent[np.diag_indices_from(bent)] += ridge
        way = np.linalg.solve(bent, gradient)
        size = 1.0
        while (then := value(w - size * way)) > now and size > 1e-6:
            size /= 2
        w, fallen, now = w - size * way, now - then, then
        if fallen < 1e-6 * max(1.0, ridge):
            break
    return w


def objective(
    X: Array, y: Array, epsilon: float, delta: float, start: Array
) -> dict[str, list[Array]]:
    """Return the minimisers for every share of the budget."""
    found = {}
    for share in SHARES:
        ridge = 0.25 / -math.expm1(-share * epsilon)
        left = epsilon + math.log1p(-0.25 / ridge)

        def excess(t: float, left: float = left) -> float:
            return float(profile(left, math.exp(-t)) - delta)

        sigma = math.exp(brentq(excess, math.log(1e-2), math.log(1e5)))
        noise = [
            sigma * np.random.default_rng([2, seed]).standard_normal(X.shape[1])
            for seed in range(SEEDS)
        ]
        found[f"objective share={share}"] = [newton(X, y, ridge, b, start) for b in noise]
    return found


def pure_objective(
    kind: str, X: Array, y: Array, epsilon: float, start: Array
) -> dict[str, list[Array]]:
    """Return the minimisers for every ridge, without delta; regressions cap their slopes too."""
    found = {}
    numbers = kind == "regression"
    curvature = 1.0 if numbers else 0.25
    ridges = (*RIDGES, 1000.0) if numbers else RIDGES
    for cap, ridge in product(CLIPS["regression"] if numbers else (1.0,), ridges):
        left = epsilon - 2.0 * math.log1p(curvature / ridge)
        raised = ridge
        if left <= 0:
            raised, left = max(ridge, curvature / math.expm1(epsilon / 4.0)), epsilon / 2.0
        fits = []
        for seed in range(PURE_SEEDS):
            rng = np.random.default_rng([3, seed])
            way = rng.standard_normal(X.shape[1])
            size = cap * rng.gamma(X.shape[1], 2.0 / left)
            linear = size * way / np.linalg.norm(way)
            if numbers:
                fits.append(capped(X, y, cap, raised, linear))
            else:
                fits.append(newton(X, y, raised, linear, start))
        found[f"pure cap={cap} ridge={ridge}" if numbers else f"pure ridge={ridge}"] = fits
    return found


def capped(X: Array, y: Array, cap: float, ridge: float, linear: Array) -> Array:
    """Return the minimiser of Huber losses with slopes of at most ``cap``, as ``newton`` does."""
    w = np.linalg.solve(X.T @ X + ridge * np.eye(X.shape[1]), X.T @ y - linear)

    def value(w: Array) -> tuple[float, Array]:
        r = X @ w - y
        s = np.clip(r, -cap, cap)
        total = np.sum(s * r - 0.5 * s**2) + ridge / 2 * w @ w + linear @ w
        return float(total), X.T @ s + ridge * w + linear

    return np.asarray(minimize(value, w, jac=True, method="L-BFGS-B").x)


def pure_moments(X: Array, y: Array, epsilon: float) -> dict[str, list[Array]]:
    """Return ridge regressions on second moments with gamma noise, replace-one without delta.

    Two rows differ by sqrt(4.5) at most in the triangle, weighted by sqrt(2), and the products.
    """
    p = X.shape[1]
    corner = np.triu_indices(p)
    found: dict[str, list[Array]] = {}
    weight = np.where(corner[0] == corner[1], 1.0, math.sqrt(2.0))
    for seed in range(PURE_SEEDS):
        rng = np.random.default_rng([5, seed])
        noise = rng.standard_normal(len(weight) + p)
        noise *= rng.gamma(len(noise), math.sqrt(4.5) / epsilon) / np.linalg.norm(noise)
        E = np.zeros((p, p))
        E[corner] = noise[:-p] / weight
        values, vectors = np.linalg.eigh(X.T @ X + E + np.triu(E, 1).T)
        turned = vectors.T @ (X.T @ y + noise[-p:])
        for ridge in (*LADDER, 10.0**4.5, 10.0**5):
            w = vectors @ (turned / (np.maximum(values, 0.0) + ridge))
            found.setdefault(f"pure-moments ridge={ridge:.3g}", []).append(w)
    return found


def moments(X: Array, y: Array, epsilon: float, delta: float) -> dict[str, list[Array]]:
    """Return ridge regressions on noisy second moments: every ridge, and AdaSSP's."""
    p = X.shape[1]
    A, b = X.T @ X, X.T @ y
    found: dict[str, list[Array]] = {}
    z = gaussian_multiplier(epsilon, delta) * math.sqrt(2.0)
    for seed in range(SEEDS):
        rng = np.random.default_rng([4, seed])
        # A row changes the triangle, weighted by sqrt(2), and the products by 1 at most each.
        E = rng.standard_normal((p, p))
        E = np.triu(E, 1) / math.sqrt(2.0)
        E = E + E.T + np.diag(rng.standard_normal(p))
        noisy, right = A + z * E, b + z * rng.standard_normal(p)
        values, vectors = np.linalg.eigh(noisy)
        turned = vectors.T @ right
        for ridge in LADDER:
            w = vectors @ (turned / (np.maximum(values, 0.0) + ridge))
            found.setdefault(f"moments ridge={ridge:.3g}", []).append(w)
        third = gaussian_multiplier(epsilon / 3, delta / 3)
        E3 = E * third
        least = max(float(np.linalg.eigvalsh(A)[0]) + third * rng.standard_normal() - 4 * third, 0)
        wanted = math.sqrt(p * math.log(2 * p * p / 0.05)) * third
        w = np.linalg.solve(
            A + E3 + max(0.0, wanted - least) * np.eye(p), b + third * rng.standard_normal(p)
        )
        found.setdefault("adassp", []).append(w)
    return found


def optimum(kind: str, X: Any, y: Array) -> Array:
    """Return weights without privacy: the least mean loss, with a ridge of 1e-3 on the sum."""
    if kind == "regression":
        return np.asarray(np.linalg.solve(X.T @ X + 1e-3 * np.eye(X.shape[1]), X.T @ y))
    shape: tuple[int, ...] = (X.shape[1],)
    if kind == "classes":
        shape += (int(y.max()) + 1,)
    ridge = 1e-1 if kind == "text" else 1e-3

    def objective_of(flat: Array) -> tuple[float, Array]:
        w = flat.reshape(shape)
        m = X @ w
        if kind == "classes":
            top = m.max(axis=1, keepdims=True)
            chance = np.exp(m - top)
            total = chance.sum(axis=1, keepdims=True)
            at = np.arange(len(y)), y.astype(int)
            value = float(np.sum(np.log(total[:, 0]) + top[:, 0] - m[at]))
            s = chance / total
            s[at] -= 1.0
        else:
            value, s = float(np.sum(losses(kind, m, y))), slope(kind, m, y)
        gradient = np.asarray(X.T @ s).ravel() + ridge * flat
        n = len(y)
        return (value + ridge / 2 * flat @ flat) / n, gradient / n

    start = np.zeros(int(np.prod(shape)))
    options = {"maxiter": 3000, "maxcor": 30, "ftol": 1e-13, "gtol": 1e-8}
    found = minimize(objective_of, start, jac=True, method="L-BFGS-B", options=options)
    return np.asarray(found.x).reshape(shape)


def baselines(
    kind: str,
    X: Any,
    y: Array,
    epsilon: float,
    delta: float,
    best: Array,
    *,
    twice: bool = False,
) -> dict[str, list[Array]]:
    """Return the fits of every baseline that applies; ``twice`` is for replace-one with a delta.

    There it is the descent alone, with twice the noise.
    """
    found: dict[str, list[Array]] = {"zero": [np.zeros_like(best)]}
    if delta == 0.0:
        found |= pure_objective(kind, X, y, epsilon, best)
        return found | (pure_moments(X, y, epsilon) if kind == "regression" else {})
    if twice:
        return found | descent(kind, X, y, epsilon, delta, apart=2.0)
    found |= descent(kind, X, y, epsilon, delta)
    if kind == "binary" and X.shape[1] <= 300:
        found |= objective(X, y, epsilon, delta, best)
    if kind in ("regression", "huber"):
        found |= moments(X, y, epsilon, delta)
    return found
