"""Every error discreet raises on purpose.

::

    DiscreetError
    ├── InvalidParameter (ValueError)   a public argument is outside its range
    ├── MissingBound     (ValueError)   noise needs a bound that was not declared
    ├── Incompatible     (ValueError)   parts that cannot work together, with the reason
    ├── InvalidData      (ValueError)   rows that fail the public schema
    │   └── NotNumbers   (TypeError)    cells that are not numbers
    ├── BudgetTooSmall   (ValueError)   no valid calibration at this epsilon and delta
    ├── BudgetExceeded   (ValueError)   a ledger has too little left, so nothing was read
    ├── LedgerUnavailable (RuntimeError) a ledger cannot be read or written
    └── NotCertified     (RuntimeError) a certificate failed, so nothing was released

Warnings: ``UndeclaredBounds`` and ``NoStableSupport`` of the estimators, and
``WeakBudget``, ``TooFewRows``, ``Uncounted`` and ``UncountedStep`` here.

A message is a release: it names parameters and says what to do, and never
contains a row, a label or any other value computed from the data.
"""


class DiscreetError(Exception):
    """Base of all errors raised by discreet.

    Parameters
    ----------
    parameter
        Name of the parameter the error is about, if it is about one.
    """

    def __init__(self, *args: object, parameter: str | None = None) -> None:
        super().__init__(*args)
        self.parameter = parameter


class InvalidParameter(DiscreetError, ValueError):
    """A public argument is outside its allowed range."""


class MissingBound(DiscreetError, ValueError):
    """A bound that noise is scaled to was not declared."""


class Incompatible(DiscreetError, ValueError):
    """Two parts cannot be used together."""


class InvalidData(DiscreetError, ValueError):
    """The rows do not fit the public schema."""


class NotNumbers(InvalidData, TypeError):
    """Cells are objects of which no number can be made."""


class BudgetTooSmall(DiscreetError, ValueError):
    """No calibration is valid at the requested budget."""


class BudgetExceeded(DiscreetError, ValueError):
    """A ledger refuses what would pass its cap; nothing was read or spent."""


class LedgerUnavailable(DiscreetError, RuntimeError):
    """A ledger could not be read or written, so nothing may be spent from it."""


class NotCertified(DiscreetError, RuntimeError):
    """A certificate could not be produced; nothing was released."""


class WeakBudget(UserWarning):
    """A budget that protects little: a large epsilon, or a delta of one row or more."""


class Uncounted(UserWarning):
    """A fit has used rows, and no ledger counts what that costs."""


class UncountedStep(Uncounted):
    """A step before a private fit learned from the same rows without a guarantee."""


class TooFewRows(UserWarning):
    """So few rows for the budget that noise outweighs them, judged by public facts alone."""
