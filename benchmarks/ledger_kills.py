"""Kill spending processes at random moments, and let sixteen race: is anything lost or overspent?

    python benchmarks/ledger_kills.py run --kills 1000
    python tests/ledger/server.py python benchmarks/ledger_kills.py run --kills 1000 --postgres

Also measures how many reservations a second one process makes.
"""

from __future__ import annotations

import argparse
import os
import secrets
import sys
import tempfile
import time
from pathlib import Path

from discreet import Ledger

sys.path.insert(0, str(Path(__file__).parent.parent / "tests" / "ledger"))

from stress import PRICE, check, kill, noted, race, run


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("step", choices=("run",), help="kill, race and measure")
    parser.add_argument("--kills", type=int, default=1000)
    parser.add_argument("--postgres", action="store_true", help="on the server DISCREET_POSTGRES")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:

        def create(epsilon: float) -> tuple[Ledger, Path]:
            name = secrets.token_hex(4)
            place = os.environ["DISCREET_POSTGRES"] if args.postgres else Path(folder) / name
            ledger = Ledger.create(place, dataset=name, epsilon=epsilon, delta=0.0)
            return ledger, Path(folder) / f"{name}.log"

        ledger, _ = create(1.0)
        began, count = time.perf_counter(), 300
        for _ in range(count):
            ledger.reserve(run())
        print(f"{count / (time.perf_counter() - began):.0f} reservations a second")
        ledger, log = create(1000 * PRICE)
        promised = race(ledger, log)
        check(ledger, promised)
        print(f"16 processes were promised {len(promised)} of 1000 reservations")
        ledger, log = create(1.0)
        began = time.perf_counter()
        kills = kill(ledger, log, args.kills)
        check(ledger, noted(log))
        print(
            f"{kills} kills in {time.perf_counter() - began:.0f} s: {len(noted(log))} reservations "
            f"were promised, {len(ledger.history())} are kept, none is lost"
        )


if __name__ == "__main__":
    main()
