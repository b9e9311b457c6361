"""Worlds whose rows are drawn from their prior by NumPy alone."""

from __future__ import annotations

import numpy as np

import berlyne


def maze_from_the_prior(seed):
    """A world that can do what a maze can, each row drawn from the symmetric Dirichlet distribution that is believed.

    In a maze the largest probability of a row is that of its action's own direction.
    """
    prior, rng = berlyne.maze(seed).prior, np.random.default_rng([seed, 7])
    theta = np.zeros((prior.n_actions, prior.n_states, prior.n_states))
    for a, s in np.ndindex(theta.shape[:2]):
        reach = prior.support.row(a, s)
        theta[a, s, reach] = rng.dirichlet(np.full(len(reach), prior.alpha))
    return berlyne.World(theta, prior)
