"""Dense Worlds: every state can lead to every state (paper, Sec. 2.4, Eq. 6)."""

from __future__ import annotations

from berlyne.priors import Dirichlet
from berlyne.validation import Seed
from berlyne.worlds.world import World


def dense_world(seed: Seed, n_states: int = 10, n_actions: int = 4, alpha: float = 1.0) -> World:
    """Draw a Dense World: each row is drawn from a symmetric Dirichlet distribution over all states.

    Paper: Sec. 2.4, Eqs. 6 and 7 (`eq:sh`). The defaults are the paper's.

    Parameters
    ----------
    seed : int, SeedSequence or Generator
        Source of the random numbers.
    n_states, n_actions : int
        Number of states N and actions M.
    alpha : float
        Concentration; 1 draws uniformly from the simplex.

    Returns
    -------
    World
        The world, with the prior that it was drawn from.
    """
    prior = Dirichlet(alpha, n_states=n_states, n_actions=n_actions)
    return World(prior.sample(seed), prior, name="Dense World")
