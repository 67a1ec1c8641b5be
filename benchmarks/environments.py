"""Create the peers' virtual environments under ``.peers/`` (git-ignored), by package name."""

from __future__ import annotations

import argparse
import subprocess
import sys
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent / ".peers"
# Each entry is one pip call; torch comes first so that Opacus accepts the build already there.
PACKAGES = {
    "diffprivlib": [["diffprivlib==0.6.6", "scikit-learn==1.5.2"]],
    "opacus": [["torch==2.13.0"], ["opacus==1.6.0"]],
    "jax_privacy": [["jax-privacy==2.0.0"]],
}


def interpreter(environment: str | None) -> Path:
    """Return the Python of a peer's environment; None is the environment running this."""
    return Path(sys.executable) if environment is None else ROOT / environment / "bin" / "python"


def create(environment: str) -> bool:
    """Create one environment and say whether all its packages could be installed."""
    venv.create(ROOT / environment, with_pip=True, clear=True)
    return all(
        subprocess.run(
            [interpreter(environment), "-m", "pip", "install", "-q", *packages]
        ).returncode
        == 0
        for packages in PACKAGES[environment]
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=list(PACKAGES), metavar="name")
    for name in parser.parse_args().names:
        print(f"{name}: {'ready' if create(name) else 'could not be installed'}", flush=True)
