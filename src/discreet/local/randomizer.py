"""The one-bit randomizer: the side of a public random hyperplane, by randomised response.

A person holds ``v`` of norm at most 1. A direction ``z``, uniform on the sphere, comes from a fresh
random seed that does not depend on ``v``. The bit is the side of ``z`` on which ``s v`` lies, with
a random sign ``s`` of mean ``|v|``; a fair coin where there is no side. It is told truly with
probability ``exp(epsilon) / (1 + exp(epsilon))``. The report is the seed and what was told.

*Privacy.* Given the seed, the report is randomised response on one bit. Its two outcomes have
chances ``exp(epsilon) / (1 + exp(epsilon))`` and ``1 / (1 + exp(epsilon))``, in an order that the
record decides: between any two records the odds of either change by ``exp(epsilon)`` at most,
however the bit was computed. Only the last coin must be exact, and it is.

*Mean.* ``z`` times the side of ``u`` is uniform on the half sphere around ``u``; its mean is ``u
Gamma(d/2) / (sqrt(pi) Gamma((d+1)/2))`` for ``|u| = 1``. So ``B z`` times what was told has the
mean ``v``, with ``B`` the norm :func:`report_norm` returns. This is the mechanism of Duchi, Jordan
and Wainwright (2018) with its half-sphere draw made public.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence

import numpy as np
from scipy.special import ndtri

from discreet.bounds import Array
from discreet.checks import integer, usable_epsilon
from discreet.noise import Randomness
from discreet.noise.coins import signs

SEED = 16
"""Bytes of a seed."""


def direction(seed: bytes, dim: int) -> Array:
    """Return the unit vector of a seed; device and server must find the same.

    >>> z = direction(bytes(16), 3)
    >>> round(float(z @ z), 12), bool((z == direction(bytes(16), 3)).all())
    (1.0, True)
    """
    return np.asarray(directions([seed], dim)[0])


def directions(seeds: Sequence[bytes], dim: int) -> Array:
    """Return the unit vectors of seeds, one a row.

    >>> directions([bytes(16), b"0123456789abcdef"], 4).shape
    (2, 4)
    """
    drawn = b"".join(hashlib.shake_256(b"discreet.local.1" + s).digest(8 * dim) for s in seeds)
    words = np.frombuffer(drawn, "<u8").reshape(len(seeds), dim)
    normal = ndtri(((words >> np.uint64(11)).astype(np.float64) + 0.5) * 2.0**-53)
    return np.asarray(normal / np.linalg.norm(normal, axis=1, keepdims=True), dtype=np.float64)


def report_norm(epsilon: float, dim: int) -> float:
    """Return the norm of a report that has the person's vector, of norm at most 1, as its mean.

    The mean squared error of one report is this squared, less the squared norm of the vector.

    >>> [round(report_norm(1.0, d), 4) for d in (5, 10, 1000)]
    [5.7705, 8.365, 85.7431]
    """
    epsilon, dim = usable_epsilon("epsilon", epsilon), integer("dim", dim)
    half_sphere = math.exp(math.lgamma((dim + 1) / 2) - math.lgamma(dim / 2))
    return math.sqrt(math.pi) * half_sphere / math.tanh(epsilon / 2)


def private_sign(v: Array, z: Array, epsilon: float, random: Randomness) -> int:
    """Return 1 or -1: the side of ``z`` on which ``v`` lies, made private.

    Parameters
    ----------
    v
        What the person holds; scaled down if its norm is above 1. What is not finite counts as 0.
    z
        The public direction.
    epsilon
        What the answer may tell.
    random
        Where the coins come from: never from what drew ``z``.

    Examples
    --------
    >>> from discreet.noise import Seeded
    >>> private_sign(np.array([1.0]), np.array([-1.0]), 60.0, Seeded(0))
    -1
    """
    words = random.words(2)
    side = _side(v, z, float(words[0] >> np.uint64(11)) * 2.0**-53, int(words[1]) & 1)
    # privacy: this coin alone is the guarantee; it has exactly the chance that epsilon asks for.
    return side if signs(np.array([epsilon]), random)[0] else -side


def _side(v: Array, z: Array, uniform: float, coin: int) -> int:
    """Return 1 or -1 for anything at all: the proof needs nothing but that."""
    fair = 1 if coin else -1
    with np.errstate(all="ignore"):
        norm = float(np.linalg.norm(v))
        along = float(z @ v)
        if not (math.isfinite(norm) and math.isfinite(along)) or along == 0.0:
            return fair
    side = 1 if along > 0 else -1
    return side if uniform < 0.5 + 0.5 * min(norm, 1.0) else -side
