"""Privacy accounting: numbers only, no data and no randomness."""

from discreet.accounting.best_of import BestOf, NegativeBinomialTries, PoissonTries
from discreet.accounting.budget import Budget
from discreet.accounting.conversions import rdp_delta, zcdp_delta, zcdp_epsilon, zcdp_rho
from discreet.accounting.events import (
    EVENTS,
    ZCDP,
    Approximate,
    BoundedRange,
    Composed,
    Curve,
    Event,
    Gaussian,
    Laplace,
    Pure,
    epsilon_at,
    event_from_dict,
    register,
)
from discreet.accounting.gamma import (
    GAMMA_MODES,
    gamma_epsilon,
    gamma_floor,
    gamma_scale,
    output_sensitivity,
)
from discreet.accounting.gaussian_profile import (
    folded_delta,
    folded_multiplier,
    gaussian_delta,
    gaussian_multiplier,
)
from discreet.accounting.guarantee import INSECURE, Guarantee
from discreet.accounting.objective_noise import (
    MODES,
    Mode,
    ObjectivePerturbation,
    best_mode,
)
from discreet.accounting.parallel import Parallel, in_parallel
from discreet.accounting.strength import default_strength
from discreet.accounting.subsampling import (
    CappedPoissonGaussian,
    FixedSizeGaussian,
    PoissonGaussian,
    sampled_multiplier,
)
from discreet.accounting.terms import LossTerms
from discreet.accounting.utility import (
    best_strength,
    mean_squared_noise,
    noise_quantile,
    objective_excess,
    output_excess,
    solution_distance,
    sparse_regression_excess,
)

__all__ = [
    "EVENTS",
    "GAMMA_MODES",
    "INSECURE",
    "MODES",
    "ZCDP",
    "Approximate",
    "BestOf",
    "BoundedRange",
    "Budget",
    "CappedPoissonGaussian",
    "Composed",
    "Curve",
    "Event",
    "FixedSizeGaussian",
    "Gaussian",
    "Guarantee",
    "Laplace",
    "LossTerms",
    "Mode",
    "NegativeBinomialTries",
    "ObjectivePerturbation",
    "Parallel",
    "PoissonGaussian",
    "PoissonTries",
    "Pure",
    "best_mode",
    "best_strength",
    "default_strength",
    "epsilon_at",
    "event_from_dict",
    "folded_delta",
    "folded_multiplier",
    "gamma_epsilon",
    "gamma_floor",
    "gamma_scale",
    "gaussian_delta",
    "gaussian_multiplier",
    "in_parallel",
    "mean_squared_noise",
    "noise_quantile",
    "objective_excess",
    "output_excess",
    "output_sensitivity",
    "rdp_delta",
    "register",
    "sampled_multiplier",
    "solution_distance",
    "sparse_regression_excess",
    "zcdp_delta",
    "zcdp_epsilon",
    "zcdp_rho",
]
