"""What every peer script shares: jobs come in as JSON on stdin, one JSON line goes out per fit.

This module is imported inside the peers' own environments, so it needs nothing but NumPy.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

Array = np.ndarray
Setting = dict[str, Any]
# (epsilon, delta, setting, shape of X) -> whatever the fit needs to know about its noise
Calibrate = Callable[[float, float, Setting, tuple[int, int]], Any]
# (X, y in {0, 1}, calibration, setting, seed) -> weights
Fit = Callable[[Array, Array, Any, Setting, int], Array]


def budget(epsilon: float, delta: float, setting: Setting, shape: tuple[int, int]) -> Any:
    """Calibrate nothing: pass (epsilon, delta) on to a fit that does it itself."""
    return epsilon, delta


def serve(
    calibrate: Calibrate, fit: Fit, versions: dict[str, str], needs: tuple[str, ...] = ()
) -> None:
    """Answer every job of the list on stdin with its weights and CPU seconds.

    A calibration depends on the budget and on what ``needs`` names of the setting; it is computed
    once and its cost added to every fit that uses it.
    """
    with np.load(sys.argv[1]) as file:
        X, y = file["X"], file["y"]
    print(json.dumps({"versions": {"numpy": np.__version__, **versions}}), flush=True)
    calibrations: dict[str, tuple[Any, float]] = {}
    for job in json.load(sys.stdin):
        key = json.dumps([job["epsilon"], job["delta"], *(job["setting"][k] for k in needs)])
        answer: dict[str, Any]
        try:
            if key not in calibrations:
                start = time.process_time()
                noise = calibrate(job["epsilon"], job["delta"], job["setting"], X.shape)
                calibrations[key] = noise, time.process_time() - start
            noise, calibration = calibrations[key]
            start = time.process_time()
            weights = fit(X, y, noise, job["setting"], job["seed"])
            seconds = time.process_time() - start + calibration
            answer = {"weights": np.asarray(weights, dtype=float).tolist(), "seconds": seconds}
            answer["calibration_seconds"] = calibration
        except Exception as error:  # one failed fit must not lose the others; it is recorded
            answer = {"error": f"{type(error).__name__}: {error}"[:300]}
        print(json.dumps(job | answer), flush=True)
