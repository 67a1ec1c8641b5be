"""What ``"auto"`` means, decided by public facts alone: one axis, a few rules, one table."""

from discreet.defaults.case import Asked
from discreet.defaults.few_columns import over_l1_ball
from discreet.defaults.recommend import algorithm_names, recommend
from discreet.defaults.residuals import residual_clip

__all__ = ["Asked", "algorithm_names", "over_l1_ball", "recommend", "residual_clip"]
