"""Compare strategies: ranks within worlds as in the paper, and scores of a benchmark with bootstrap intervals.

Ranks, Friedman's test and its post-hoc comparisons (Secs. 3.2 to 3.7) compare one number of each strategy in each
world. Interquartile means, performance profiles and probabilities of improvement compare several runs in each world,
with scores between 0 (a random explorer) and 1 (the bound).
"""

from berlyne.stats.ranks import (
    Estimate,
    Friedman,
    critical_difference,
    embodiment_index,
    friedman,
    friedman_of_ranks,
    mean_rank_p_values,
    p_values_of_ranks,
    rank_variance,
    ranks,
    reach_of_ranks,
    relative_difference,
    share_larger,
    studentized_range_isf,
    studentized_range_sf,
)
from berlyne.stats.scores import (
    Interval,
    interquartile_mean,
    normalized_scores,
    optimality_gap,
    performance_profile,
    probability_of_improvement,
    stratified_bootstrap,
)

__all__ = [
    "Estimate",
    "Friedman",
    "Interval",
    "critical_difference",
    "embodiment_index",
    "friedman",
    "friedman_of_ranks",
    "interquartile_mean",
    "mean_rank_p_values",
    "normalized_scores",
    "optimality_gap",
    "p_values_of_ranks",
    "performance_profile",
    "probability_of_improvement",
    "rank_variance",
    "ranks",
    "reach_of_ranks",
    "relative_difference",
    "share_larger",
    "stratified_bootstrap",
    "studentized_range_isf",
    "studentized_range_sf",
]
