"""What one row changes in everything a run adds noise to, exactly.

A run adds noise to one value after the other, and later values depend on released ones. So one run
is recorded and replayed on the neighbour: each noisy value is released as before, and the value
beneath it is noted. The distances between the values of both runs, over the scale of their noise,
are the privacy loss: no chance, no confidence bound. That noise has the law it is named after
is tested in ``tests/noise``.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from discreet.accounting import gaussian_multiplier
from discreet.algorithms.perturbation import objective_perturbation
from discreet.noise import NOISES, Gaussian, Laplace, Noise
from discreet.solvers.minimize import minimise


@dataclass
class Transcript:
    """Values that noise was added to, what was released for them, and the noise."""

    replayed: Transcript | None = None
    values: list[Any] = field(default_factory=list)
    released: list[Any] = field(default_factory=list)
    noises: list[Noise] = field(default_factory=list)

    def add(self, value: Any, drawn: Any, noise: Noise) -> Any:
        place = len(self.values)
        out = value + drawn if self.replayed is None else self.replayed.released[place]
        self.values.append(np.array(value))
        self.released.append(out)
        self.noises.append(noise)
        return out


class Drawn(np.ndarray[Any, Any]):
    """Noise that tells a transcript what it is added to."""

    noise: Any = None
    transcript: Any = None

    def __array_finalize__(self, other: Any) -> None:
        self.noise, self.transcript = (getattr(other, n, None) for n in ("noise", "transcript"))

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        plain = [i.view(np.ndarray) if isinstance(i, Drawn) else i for i in inputs]
        if ufunc is np.add and method == "__call__" and not options:
            value = plain[1] if isinstance(inputs[0], Drawn) else plain[0]
            drawn = plain[0] if isinstance(inputs[0], Drawn) else plain[1]
            return self.transcript.add(value, drawn, self.noise)
        if "out" in options:  # in place: it stays noise
            options["out"] = tuple(o.view(np.ndarray) for o in options["out"])
            getattr(ufunc, method)(*plain, **options)
            return self
        return getattr(ufunc, method)(*plain, **options)


@contextmanager
def recorded(transcript: Transcript) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        for kind in NOISES.values():

            def sample(self: Any, shape: Any, random: Any, draw: Any = kind.sample) -> Any:
                found = draw(self, shape, random).view(Drawn)
                found.noise, found.transcript = self, transcript
                return found

            patch.setattr(kind, "sample", sample)

        def minimised(rows: Any, loss: Any, *, linear: Any, **options: Any) -> Any:
            # The minimiser fixes the noise: it is minus the gradient of all the rest.
            found = transcript.replayed
            if found is None:
                point = minimise(rows, loss, linear=linear.view(np.ndarray), **options)
            else:
                point = found.released[len(transcript.values)]
            transcript.values.append(-rows.gradient(loss, point))
            transcript.released.append(point)
            transcript.noises.append(linear.noise)
            return point

        patch.setattr(objective_perturbation, "minimise", minimised)
        yield


def transcripts(run: Any, pair: Any) -> tuple[Transcript, Transcript]:
    """A run on the first neighbour, and the same releases on the second."""
    first = Transcript()
    with recorded(first):
        one = run(pair[0])
    second = Transcript(replayed=first)
    with recorded(second):
        two = run(pair[1])
    assert len(first.values) == len(second.values) > 0
    # What leaves a run is made of the noisy values alone.
    np.testing.assert_array_equal(one, two)
    return first, second


def transcript_loss(run: Any, pair: Any) -> float:
    """The privacy loss of a run: in shifts of a Gaussian (root of a sum), or in epsilon (a sum).

    Minimisers of neighbours have one Jacobian here, since their losses do not curve.
    """
    first, second = transcripts(run, pair)
    total = 0.0
    for one, two, noise in zip(first.values, second.values, first.noises, strict=True):
        apart = np.ravel(one - two)
        if isinstance(noise, Gaussian):
            total += float(apart @ apart) / noise.sigma**2
        else:
            norm = 1 if isinstance(noise, Laplace) else 2
            total += float(np.linalg.norm(apart, norm)) / noise.scale
    (gaussian,) = {isinstance(noise, Gaussian) for noise in first.noises}
    return math.sqrt(total) if gaussian else total


def allowed(claim: Any) -> float:
    """What a claim of epsilon and delta allows for, in the same unit."""
    return (
        claim.epsilon if claim.delta == 0 else 1 / gaussian_multiplier(claim.epsilon, claim.delta)
    )
