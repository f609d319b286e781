"""What the worlds of `helpers.worlds` must show, by formula.

Gathers the public names of `helpers.theory_convergence` and `helpers.theory_failures`; nothing else is here.
"""

from helpers.theory_convergence import (
    effective_evidence,
    episodes_needed,
    evidence,
    rank_correlation,
    rank_correlation_far,
    rank_correlation_sd,
    signal_to_noise,
    standard_error,
    uniform_worth,
)
from helpers.theory_failures import (
    difficulty_worth,
    discounted_lag,
    discounted_variance,
    half_power_share,
    hard_share,
    hitchhiker_gap,
    plain_lag,
)

__all__ = [
    "difficulty_worth",
    "discounted_lag",
    "discounted_variance",
    "effective_evidence",
    "episodes_needed",
    "evidence",
    "half_power_share",
    "hard_share",
    "hitchhiker_gap",
    "plain_lag",
    "rank_correlation",
    "rank_correlation_far",
    "rank_correlation_sd",
    "signal_to_noise",
    "standard_error",
    "uniform_worth",
]
