"""Noise on gradients, step by step."""

from discreet.algorithms.gradient.bolt_on import BoltOn
from discreet.algorithms.gradient.heavy_ball import HeavyBall
from discreet.algorithms.gradient.line_search import LineSearch, estimates_logit
from discreet.algorithms.gradient.mirror_descent import MirrorDescent
from discreet.algorithms.gradient.noisy_gradient import NoisyGradient, NoisyGradientPlan
from discreet.algorithms.gradient.noisy_newton import NoisyNewton

__all__ = [
    "BoltOn",
    "HeavyBall",
    "LineSearch",
    "MirrorDescent",
    "NoisyGradient",
    "NoisyGradientPlan",
    "NoisyNewton",
    "estimates_logit",
]
