"""How many persons a study under local privacy takes, before anyone answers."""

from __future__ import annotations

import math
from dataclasses import dataclass

from discreet.checks import integer, positive
from discreet.local.aggregator import step_length
from discreet.local.randomizer import report_norm
from discreet.local.spec import Spec

SENTENCE = (
    "Local privacy needs no trusted server, and usually a hundred times as many persons as a fit "
    "on a trusted one."
)


@dataclass(frozen=True, kw_only=True)
class LocalPlan:
    """What a study costs and guarantees, from public values only.

    Parameters
    ----------
    spec
        The specification.
    persons
        How many persons answer.
    needed
        How many it takes, by a rule of thumb for rows of full norm without a preferred direction:
        of a linear model, so that the noise of the second moments is half of their least
        eigenvalue; of a logistic one, so that the noise of a gradient is a quarter of the gradient
        at weights of zero where classes separate.
    excess
        Of a logistic model, a bound on the mean excess loss per person; else None.
    error
        Of a linear model, the expected standard error of a coefficient of weights of half the
        largest length a prediction of the label allows, for rows without a preferred direction.
    """

    spec: Spec
    persons: int
    needed: int
    excess: float | None
    error: float | None

    def __str__(self) -> str:
        lines = [
            f"model           {self.spec.model}, {self.spec.n_features} features",
            f"persons         {self.persons:,}",
            f"persons needed  {self.needed:,}",
        ]
        if self.excess is not None:
            useful = self.excess < math.log(2)
            said = f"{self.excess:.4g} per person" if useful else "no useful bound"
            lines.append(f"mean excess <=  {said} (weights of zero lose 0.6931)")
        if self.error is not None:
            lines.append(f"standard error  about {self.error:.3g} per coefficient")
        lines.append(SENTENCE)
        if self.persons < self.needed:
            lines.append(
                "CAUTION: these are too few persons; the noise will outweigh what they say. Take "
                "more of them, fewer features or a larger epsilon."
            )
        return "\n".join([*lines, "", str(self.spec.guarantee)])


def plan(spec: Spec, persons: int, *, least_eigenvalue: float | None = None) -> LocalPlan:
    """Say how many persons a specification takes and what error to expect.

    Parameters
    ----------
    spec
        The specification.
    persons
        How many persons answer.
    least_eigenvalue
        For a linear model, a guess of the least eigenvalue of the mean of ``x x^T``, over the
        squared row norm. By default one over the number of features, as for rows of full norm
        without a preferred direction.

    Examples
    --------
    >>> spec = Spec(model="linear", n_features=5, row_norm=1.0, label=(-1, 1), epsilon=1.0)
    >>> plan(spec, 100_000).needed
    14230
    >>> spec = Spec(model="logistic", n_features=5, row_norm=1.0, label=(0, 1), epsilon=1.0,
    ...             radius=4.0, rounds=30)
    >>> found = plan(spec, 100_000)
    >>> found.needed, round(found.excess, 4)
    (16738, 0.3066)
    """
    persons = integer("persons", persons)
    if spec.model == "logistic":
        return LocalPlan(
            spec=spec,
            persons=persons,
            needed=math.ceil(
                32 * math.pi * spec.n_features * report_norm(spec.epsilon, spec.n_features) ** 2
            ),
            excess=logistic_excess(spec, persons),
            error=None,
        )
    p, (d, _) = spec.n_features, spec.sizes
    least = positive("least_eigenvalue", least_eigenvalue or 1 / p)
    matrix, product = (report_norm(spec.epsilon, k) for k in spec.sizes)
    # Half of the persons answer about second moments: t sqrt(2 p) <= least / 2.
    needed = math.ceil(16 * p * matrix**2 / (d * least**2))
    half = max(1, persons // 2)
    length = 0.5
    spread = product**2 / (p * half) + length**2 * matrix**2 / (2 * d * half)
    damped = least + matrix / math.sqrt(d * half) * math.sqrt(p)
    unit = (spec.label[1] - spec.label[0]) / 2 / spec.row_norm
    return LocalPlan(
        spec=spec,
        persons=persons,
        needed=needed,
        excess=None,
        error=unit * math.sqrt(spread) / damped,
    )


def logistic_excess(spec: Spec, persons: int) -> float:
    """Return a bound on the mean excess loss of a logistic model, per person.

    ``D^2 / (s T) + 2 s L^2 B^2 / m`` for steps ``s``, radius ``D``, row norm ``L``, ``T`` rounds of
    ``m`` reports of norm ``B``. With enough rounds it is ``2 sqrt(2) D L B / sqrt(n)``.

    >>> spec = Spec(model="logistic", n_features=5, row_norm=1.0, label=(0, 1), epsilon=1.0,
    ...             radius=4.0, rounds=30)
    >>> round(logistic_excess(spec, 10**6), 4)
    0.2707
    """
    assert spec.radius is not None
    reports, step = max(1, persons // spec.rounds), step_length(spec, persons)
    noise = (spec.row_norm * report_norm(spec.epsilon, spec.n_features)) ** 2
    return spec.radius**2 / (step * spec.rounds) + 2 * step * noise / reports
