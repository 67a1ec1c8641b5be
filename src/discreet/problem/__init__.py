"""What is to be solved, what is planned, and what is released."""

from discreet.problem.plan import (
    Algorithm,
    CalibratedPlan,
    Plan,
    Release,
    checked,
    guarantee_for,
    releasing,
    with_randomness,
)
from discreet.problem.printing import Printed
from discreet.problem.problem import (
    ASSUMED,
    NOMINAL_ROWS,
    SIDE_CHANNELS,
    Problem,
    check_solvable,
    corner_refusal,
    instead_of,
    norm_guess_of,
    planned_tolerance,
    rows_against_noise,
    rows_remark,
    solver_error,
    usual_norm,
)

__all__ = [
    "ASSUMED",
    "NOMINAL_ROWS",
    "SIDE_CHANNELS",
    "Algorithm",
    "CalibratedPlan",
    "Plan",
    "Printed",
    "Problem",
    "Release",
    "check_solvable",
    "checked",
    "corner_refusal",
    "guarantee_for",
    "instead_of",
    "norm_guess_of",
    "planned_tolerance",
    "releasing",
    "rows_against_noise",
    "rows_remark",
    "solver_error",
    "usual_norm",
    "with_randomness",
]
