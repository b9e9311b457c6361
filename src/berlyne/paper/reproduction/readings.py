"""Readings: where the paper is silent, ambiguous or misprinted; `docs/paper/readings.md` has the evidence."""

from __future__ import annotations

READINGS: dict[str, tuple[str, str]] = {
    "R1": ("Indices mix s,a and a,s.", "theta[a, s, s_next]; rows sum to one."),
    "R2": (
        "Theorem 2, Table 1 and the last three lines of the proof print D(current || updated).",
        "PIG is the average of D(updated || current), as in the line of the proof before them.",
    ),
    "R3": (
        "The 1-2-3 estimate of an unseen state 1 contains a binomial.",
        "The exact posterior under the prior of Eq. 9; you can also run the printed form.",
    ),
    "R4": ("Value iteration contains the true gain.", "It uses PIG, because the agent does not know the true gain."),
    "R5": ("Q at time -10.", "Ten backward steps from Q = U, which is eleven terms; discount 1."),
    "R6": ("PEIG of a pair never tried is undefined.", "Its prior PIG, so that untried pairs attract."),
    "R7": (
        "Parameters of Q-learning are missing.",
        "Rate 0.5, discount 0.9, epsilon 0.2, initial values 0. The reward is predicted for PIG and realised for PEIG.",
    ),
    "R8": ("Ties are not mentioned.", "Broken uniformly at random, within a relative tolerance of 1e-12."),
    "R9": (
        "The placement of walls is not described.",
        "A random spanning tree by depth-first search, with 35 passages.",
    ),
    "R10": ("30 transporters among the walls.", "30 of the 74 wall faces; walking into one leads to the base."),
    "R11": (
        "Several directions may lead to one state.",
        "Probabilities are drawn over distinct outcomes; the largest goes to the action's own direction.",
    ),
    "R12": ("Run lengths are missing.", "3000 (Dense), 2500 (Mazes) and 1250 steps (1-2-3)."),
    "R13": ("Start states are missing.", "Uniformly random, one per world and strategy."),
    "R14": (
        "The order of averaging for the embodiment index is not described.",
        "The index is computed for each world from areas over all steps, then averaged.",
    ),
    "R15": (
        "Post-hoc analysis of Friedman's test.",
        "Mean ranks compared with the studentised range (Nemenyi), if Friedman's test of the pool is significant.",
    ),
    "R16": (
        "Which strategies enter one test is not described.",
        "One test per class over the twelve strategies in the figures of learning curves; Fig. 8 has its own thirteen. "
        "Further columns show the strategies of the figure alone, and all fifteen.",
    ),
    "R17": ("Fig. 8: p = 0.001 in the text, 0.0001 in the caption.", "Both are reported."),
    "R18": ("A policy may never arrive.", "Expected steps are truncated at 20 N for both policies."),
    "R19": (
        "Several time points.",
        "2, 5, 10, 25, 50 and 100 % of the run; strategies are ranked at each time, and ranks are averaged.",
    ),
    "R20": (
        "The time at which reward is paid is not described.",
        "On entering a state, for 100 steps; the policy is the finite-horizon optimum.",
    ),
    "R21": ("PIG decreases monotonically.", "Only on average; a surprising observation can raise it."),
    "R22": ("Equilibrium for the structure index.", "Stationary distribution under uniformly random actions."),
    "R23": (
        "The start state for controllability is not described.",
        "Averaged over all start states, with uniformly random actions.",
    ),
    "R24": (
        "Maximum-likelihood concentration.",
        "Maximises the Dirichlet-multinomial likelihood of all rows within bounds; 1 or 10 until there is data.",
    ),
}
"""Statement or gap of the paper, and our default, by number."""
