"""What ``"auto"`` means, decided by public facts alone."""

from discreet.defaults.choose import choose

__all__ = ["choose"]
