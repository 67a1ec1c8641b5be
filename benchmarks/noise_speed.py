"""Samples a second of discreet's noise and of plain numpy, on one core.

Run ``python benchmarks/noise_speed.py run``; writes ``results/noise_speed.json``
beside this file, with the configuration it ran in. The plain numpy sampler is
the yardstick for speed only: it is neither unpredictable nor safe in floating
point.
"""

from __future__ import annotations

import json
import os
import platform
import time
from collections.abc import Callable
from pathlib import Path

import mpmath
import numpy as np
import scipy

from arguments import parser_of
from discreet.noise import (
    GammaSphere,
    Gaussian,
    Grid,
    Laplace,
    Noise,
    Randomness,
    Seeded,
    System,
)
from discreet.noise import randomness as bits

SAMPLES = 1 << 22
REPEATS = 7
RATIOS = (4, 24, 30, 36)  # log2 of noise scale over grid step; finer grids leave more open
SPHERE = 1000


class Urandom(System):
    """The system's words where ``cryptography`` is not installed."""

    def words(self, n: int) -> bits.Words:
        """Return ``n`` fresh words."""
        return np.frombuffer(os.urandom(8 * n), np.uint64)


def rates(draws: dict[str, tuple[int, Callable[[int], object]]]) -> dict[str, float]:
    """Return millions of samples a second; the best of rounds over all samplers."""
    best = dict.fromkeys(draws, 0.0)
    for _ in range(REPEATS):
        for name, (samples, draw) in draws.items():
            start = time.process_time()
            draw(samples)
            best[name] = max(best[name], samples / (time.process_time() - start) / 1e6)
    return {name: round(value, 2) for name, value in best.items()}


def main() -> None:
    """Measure everything and write the results."""
    plain = np.random.Generator(np.random.PCG64(0))
    draws: dict[str, tuple[int, Callable[[int], object]]] = {
        "numpy PCG64 normal": (SAMPLES, plain.standard_normal)
    }

    def add(noise: Noise, random: Randomness, samples: int, label: str) -> None:
        draws[f"{type(noise).__name__}, {label}"] = (
            samples,
            lambda n: noise.sample((n,), random),
        )

    for log_ratio in RATIOS:
        grid, samples = Grid(2.0**-log_ratio, 1.0), SAMPLES if log_ratio < 36 else SAMPLES // 8
        add(Gaussian(1.0, grid), System(), samples, f"scale/step 2^{log_ratio}")
        add(Laplace(1.0, grid), System(), samples, f"scale/step 2^{log_ratio}")
    grid = Grid(2.0**-24, 1.0)
    add(Gaussian(1.0, grid), Seeded(0), SAMPLES, "scale/step 2^24, seeded")
    add(Gaussian(1.0, grid), Urandom(), SAMPLES, "scale/step 2^24, os.urandom")
    add(Laplace(1.0, grid), Urandom(), SAMPLES, "scale/step 2^24, os.urandom")
    add(GammaSphere(1.0, grid), System(), SPHERE, f"scale/step 2^24, {SPHERE} coordinates")
    result = rates(draws)
    report = {
        "configuration": {
            "samples": SAMPLES,
            "repeats": REPEATS,
            "statistic": "processor time, best of interleaved rounds",
            "words from": "os.urandom" if bits.Cipher is None else "AES-256-CTR (cryptography)",
            "python": platform.python_version(),
            "numpy": np.__version__,
            "scipy": scipy.__version__,
            "mpmath": mpmath.__version__,
            "machine": platform.machine(),
        },
        "million samples a second": result,
    }
    path = Path(__file__).parent / "results" / "noise_speed.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(report, indent=2) + "\n")
    print(path.read_text())


if __name__ == "__main__":
    parser_of(__doc__).parse_args()
    main()
