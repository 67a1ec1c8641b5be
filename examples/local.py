"""Local privacy in two processes: devices that answer with one bit each, and a server that fits.

The server starts the devices as another process and never sees a record. What passes between the
two is the public specification in one direction and 28 bytes a person in the other.
"""

import subprocess
import sys

import numpy as np

from discreet import local

PERSONS = 12_000
TRUTH = np.array([0.6, -0.4])


def devices() -> None:
    """Read the specification, and answer once for each of many invented persons."""
    spec = local.Spec.from_json(sys.stdin.readline())
    rng = np.random.default_rng(0)
    for _ in range(PERSONS):
        x = rng.uniform(-0.7, 0.7, size=2)
        y = x @ TRUTH + 0.1 * rng.normal()
        # On a real device pass slots=..., a folder in which given answers are counted.
        sys.stdout.buffer.write(local.Reporter(spec).report(x, y).to_bytes())


def server() -> None:
    """Plan the study, collect reports and fit."""
    spec = local.Spec(model="linear", n_features=2, row_norm=1.0, label=(-1.0, 1.0), epsilon=2.0)
    plan = local.plan(spec, persons=PERSONS, least_eigenvalue=0.15)
    print(f"persons needed: {plan.needed:,}")

    answers = subprocess.run(
        [sys.executable, __file__, "devices"],
        input=spec.to_json().encode() + b"\n",
        stdout=subprocess.PIPE,
        check=True,
    ).stdout
    aggregator = local.Aggregator(spec)
    used = aggregator.add(answers[k : k + 28] for k in range(0, len(answers), 28))
    model = aggregator.solve()
    print(f"reports used: {used:,}")
    for name, found, error, truth in zip("ab", model.coef_, model.stderr_, TRUTH, strict=True):
        print(f"coefficient {name}: {found:.2f} +- {error:.2f} (truth {truth:.2f})")
    print(model.guarantee_)

    shuffled = local.shuffled_guarantee(spec, persons=PERSONS, delta=1e-6)
    print(
        f"if shuffled: epsilon = {shuffled.epsilon:.3f}, delta = 1e-06; {shuffled.assumptions[0]}"
    )


if __name__ == "__main__":
    if sys.argv[1:] == ["devices"]:
        devices()
    else:
        server()
