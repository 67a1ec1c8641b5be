"""Random labels and predictions that the laws of losses are tried at."""

from __future__ import annotations

import numpy as np

from discreet.bounds import Array
from discreet.losses import Loss

LABEL, REACH = 3.0, 9.0
"""Bounds on labels and predictions that the laws are tried at."""


def labels(loss: Loss, n: int, rng: np.random.Generator) -> Array:
    """Draw labels of the kind the loss declares, extreme ones included, without attachments."""
    if loss.target == "sign":
        return np.asarray(rng.choice([-1.0, 1.0], n))
    if loss.target == "index":
        return rng.integers(0, loss.outputs, n).astype(float)
    if loss.target == "vector":
        y = rng.normal(size=(n, loss.outputs)) * rng.choice([0.1, 1.0, 10.0], n)[:, None]
        return np.asarray(y * np.minimum(1.0, LABEL / np.linalg.norm(y, axis=1))[:, None])
    y = np.where(rng.random(n) < 0.3, rng.uniform(-LABEL, LABEL, n), 0.3)
    y = np.where(rng.random(n) < 0.4, rng.choice([-LABEL, LABEL, 0.0], n), y)
    return np.abs(y) if loss.target == "count" else y


def attached(loss: Loss, n: int, rng: np.random.Generator) -> Array:
    """Draw labels with what the loss attaches to them, for rows of many norms."""
    return loss.attach(labels(loss, n, rng), rng.choice([0.0, 1e-3, 0.5, 1.0, 2.0, 30.0], n))


def points(loss: Loss, n: int, rng: np.random.Generator) -> Array:
    """Draw predictions within reach, dense around zero, where losses have their joints."""
    if loss.outputs == 1:
        return np.where(rng.random(n) < 0.5, rng.uniform(-REACH, REACH, n), rng.uniform(-2, 2, n))
    z = rng.normal(size=(n, loss.outputs)) * rng.choice([0.01, 1.0, 10.0], n)[:, None]
    return np.asarray(z * np.minimum(1.0, REACH / np.linalg.norm(z, axis=1))[:, None])


def sample(loss: Loss, n: int = 4000, seed: int = 0) -> tuple[Array, Array]:
    """Draw predictions and labels."""
    rng = np.random.default_rng(seed)
    return points(loss, n, rng), attached(loss, n, rng)


def directions(z: Array) -> Array:
    """Draw unit directions shaped like the predictions."""
    d = np.random.default_rng(1).normal(size=z.shape)
    size = np.abs(d) if d.ndim == 1 else np.sqrt(np.sum(d * d, axis=1, keepdims=True))
    return np.asarray(d / size)


def top_eigenvalue(curvature: Array) -> Array:
    """Return the largest eigenvalue of each row's curvature."""
    return curvature if curvature.ndim == 1 else np.asarray(np.linalg.eigvalsh(curvature)[:, -1])


def trace(curvature: Array) -> Array:
    """Return the trace of each row's curvature."""
    return curvature if curvature.ndim == 1 else np.trace(curvature, axis1=1, axis2=2)


def lengths(slope: Array) -> Array:
    """Return the norm of each row's slope."""
    return np.abs(slope) if slope.ndim == 1 else np.asarray(np.linalg.norm(slope, axis=1))
