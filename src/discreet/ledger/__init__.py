"""A budget that is kept: one account per data set, for everything released from it."""

from discreet.ledger.afford import Affordable
from discreet.ledger.filter import POLICIES, Filter
from discreet.ledger.ledger import Ledger
from discreet.ledger.reserving import NotSettled, Reserved, spending
from discreet.ledger.split import Split
from discreet.ledger.views import Balance, Spending

__all__ = [
    "POLICIES",
    "Affordable",
    "Balance",
    "Filter",
    "Ledger",
    "NotSettled",
    "Reserved",
    "Spending",
    "Split",
    "spending",
]
