"""Where the paper is silent, ambiguous or misprinted, in a line each; `docs/paper/readings.md` has the evidence."""

from __future__ import annotations

READINGS: dict[str, tuple[str, str]] = {
    "R1": ("Indices mix s,a and a,s.", "theta[a, s, s_next]; rows sum to one."),
    "R2": (
        "Theorem 2, Table 1 and the last three lines of the proof print D(current || updated).",
        "PIG is the average of D(updated || current), as the line of the proof before them has it.",
    ),
    "R3": (
        "The 1-2-3 estimate of an unseen state 1 holds a binomial.",
        "The exact posterior under the prior of Eq. 9; the printed form can be run.",
    ),
    "R4": ("Value iteration is written with the true gain.", "It uses PIG: the true gain is unknown to the agent."),
    "R5": ("Q at time -10.", "Ten backward steps from Q = U, eleven terms; discount 1."),
    "R6": ("PEIG of a pair never tried is undefined.", "Its prior PIG, so that untried pairs attract."),
    "R7": (
        "Parameters of Q-learning are missing.",
        "Rate 0.5, discount 0.9, epsilon 0.2, starting at 0; the reward of PIG is predicted, of PEIG realised.",
    ),
    "R8": ("Ties are not mentioned.", "Broken uniformly, within a relative tolerance of 1e-12."),
    "R9": ("How walls are placed is not said.", "A random spanning tree by depth-first search: 35 passages."),
    "R10": ("30 transporters among the walls.", "30 of the 74 wall faces; walking into one leads to the base."),
    "R11": (
        "Several directions may lead to one state.",
        "Probabilities are drawn over distinct outcomes, the largest for the action's own direction.",
    ),
    "R12": ("Run lengths are missing.", "3000 (Dense), 2500 (Mazes) and 1250 steps (1-2-3)."),
    "R13": ("Start states are missing.", "Uniformly random, one per world and strategy."),
    "R14": ("Embodiment index.", "Per world, areas summed over all steps, then averaged."),
    "R15": (
        "Post-hoc analysis of Friedman's test.",
        "Mean ranks compared with the studentised range (Nemenyi), if Friedman's test of the pool is significant.",
    ),
    "R16": (
        "Which strategies enter one test is not said.",
        "One test per class over the twelve drawn in the figures of learning curves; Fig. 8 has its own thirteen. The "
        "strategies of the one figure, and all fifteen, as further columns.",
    ),
    "R17": ("Fig. 8: p = 0.001 in the text, 0.0001 in the caption.", "Both are reported."),
    "R18": ("A policy may never arrive.", "Expected steps are truncated at 20 N for both policies."),
    "R19": (
        "Several time points.",
        "2, 5, 10, 25, 50 and 100 % of the run; strategies are ranked at each, and ranks averaged.",
    ),
    "R20": (
        "When reward is paid is not said.",
        "On entering a state, in 100 steps; the policy is the finite-horizon optimum.",
    ),
    "R21": ("PIG decreases monotonically.", "On average only: a surprise can raise it."),
    "R22": ("Equilibrium for the structure index.", "Stationary distribution under uniformly random actions."),
    "R23": ("Controllability: from which state?", "Averaged over all start states; all actions uniform."),
    "R24": (
        "Maximum-likelihood concentration.",
        "Dirichlet-multinomial likelihood of all rows, inside bounds, from 1 and from 10 until there is data.",
    ),
}
