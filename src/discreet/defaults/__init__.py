"""What ``"auto"`` means, decided by public facts alone: one axis, a few rules, one table."""

from discreet.defaults.case import Asked
from discreet.defaults.recommend import recommend
from discreet.defaults.residuals import residual_clip

__all__ = ["Asked", "recommend", "residual_clip"]
