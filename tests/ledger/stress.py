"""Processes that race for one budget, and processes that are killed while they spend it."""

from __future__ import annotations

import multiprocessing
import os
import random
import signal
import time
from pathlib import Path

from discreet import Guarantee, Ledger
from discreet.accounting import Pure
from discreet.errors import BudgetExceeded

PRICE = 2.0**-20


def run() -> Guarantee:
    return Guarantee(
        epsilon=PRICE, delta=0.0, neighbours="zero-out", event=Pure(PRICE), theorem="t"
    )


def _spend(ledger: Ledger, log: str, settle: bool) -> None:
    """Spend until nothing is left, noting every reservation once it was promised."""
    file = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    try:
        while True:
            id = ledger.reserve(run())
            os.write(file, f"{id}\n".encode())  # what the fit would do with it comes after
            if settle:
                ledger.settle(id)
    except BudgetExceeded:
        os._exit(0)


def noted(log: Path) -> list[str]:
    return log.read_text().split() if log.exists() else []


def race(ledger: Ledger, log: Path, processes: int = 16) -> list[str]:
    """Let processes spend the whole budget; return what they were promised."""
    context = multiprocessing.get_context("fork")
    workers = [context.Process(target=_spend, args=(ledger, str(log), False))
               for _ in range(processes)]  # fmt: skip
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
        assert worker.exitcode == 0
    return noted(log)


def kill(ledger: Ledger, log: Path, kills: int, seed: int = 0, longest: float = 0.05) -> int:
    """Kill two spending processes at random moments, again and again; return the kills."""
    random_moment = random.Random(seed)
    context = multiprocessing.get_context("fork")
    done = 0
    while done < kills:
        workers = [context.Process(target=_spend, args=(ledger, str(log), True)) for _ in range(2)]
        for worker in workers:
            worker.start()
        for worker in workers:
            time.sleep(random_moment.uniform(0.0, longest))
            if worker.is_alive():
                os.kill(worker.pid, signal.SIGKILL)
            worker.join()
            done += worker.exitcode == -signal.SIGKILL
    return done


def check(ledger: Ledger, promised: list[str]) -> None:
    """Nothing that was promised is lost, and the sum is within the cap."""
    ledger.verify()
    history = ledger.history()
    kept = {entry.id for entry in history}
    assert set(promised) <= kept, "a reservation was lost"
    assert len(promised) == len(set(promised))
    [account] = ledger.balance().accounts.values()
    spent = len(history) * int(PRICE * 2**60)
    assert account.spent[0] == spent
    assert spent <= ledger.terms.rules.caps.basic_eps
