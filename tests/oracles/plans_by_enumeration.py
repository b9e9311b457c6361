"""The value of plans with ends, resets and forbidden actions, by enumeration of all plans.

A plan names an action for each state at each later time. Its value is the sum of the utilities that are expected along
it. The probabilities of states are carried forward in time, so no value is passed backward as in value iteration.
"""

from __future__ import annotations

import itertools

import numpy as np


def value_of_plan(problem, s, first, plan, gamma):
    """Expected discounted utility of the action `first` in state s, and then of `plan[k][state]`."""
    theta, utility, _, terminal, starts = problem
    weight = np.zeros(theta.shape[1])
    weight[s] = 1.0
    total = 0.0
    for k, actions in enumerate([{s: first}, *plan]):
        moved = np.zeros_like(weight)
        for z in np.flatnonzero(weight):
            total += gamma**k * weight[z] * utility[actions[z], z]
            moved += weight[z] * theta[actions[z], z]
        weight = np.where(terminal, 0.0, moved)
        if starts is not None:  # None: the plan stops at an end
            weight = weight + moved[terminal].sum() * starts
    return total


def best_plans(problem, s, n_later, gamma=1.0):
    """Value of each action in state s, followed by the best plan for `n_later` more steps; -inf if it is forbidden.

    Parameters
    ----------
    problem : tuple
        Probabilities [a, s, s_next], utilities [a, s], what is possible [a, s], which states are terminal, and the
        probabilities of the states in which episodes begin, or None if plans stop at ends.
    s : int
        The state.
    n_later : int
        Steps after the first.
    gamma : float
        Discount.
    """
    theta, _, possible, terminal, _ = problem
    choices = [np.flatnonzero(possible[:, z]).tolist() if not terminal[z] else [0] for z in range(theta.shape[1])]
    plans = list(itertools.product(itertools.product(*choices), repeat=n_later))
    return np.array(
        [
            max(value_of_plan(problem, s, a, plan, gamma) for plan in plans) if possible[a, s] else -np.inf
            for a in range(theta.shape[0])
        ]
    )
