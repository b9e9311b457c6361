"""1-2-3 Worlds: action a leads to one of a + 1 targets, often to an absorbing state (paper, Sec. 2.4)."""

from __future__ import annotations

from berlyne.priors import OneTwoThree
from berlyne.priors.one_two_three_sets import Formula
from berlyne.validation import Seed, check_count, generator
from berlyne.worlds.structure import is_ergodic, suppress_reachability_warning
from berlyne.worlds.world import World


def one_two_three_world(
    seed: Seed,
    n_states: int = 20,
    n_actions: int = 3,
    p_escape: float = 0.75,
    *,
    formula: Formula = "exact",
    ergodic: bool = True,
    max_draws: int = 10_000,
) -> World:
    """Draw a 1-2-3 World: action a (from zero) has a + 1 equally likely targets.

    Paper: Sec. 2.4, Eq. 9 (`eq:sne`). The defaults are the paper's. Worlds that are not ergodic are drawn again.

    Parameters
    ----------
    seed : int, SeedSequence or Generator
        Source of the random numbers.
    n_states, n_actions : int
        Number of states N and actions M.
    p_escape : float
        Probability that a target is not the absorbing state 0. With probability p_escape ** (a + 1),
        state 0 is not a target of action a.
    formula : {"exact", "printed"}
        Formula of the prior's estimates, exact or as printed in the paper (reading R3). It does not change the world.
    ergodic : bool
        Whether the world must be ergodic, as in the paper.
    max_draws : int
        Largest number of draws. If none of them is ergodic, a `ValueError` is raised.

    Returns
    -------
    World
        The world, with the prior that it was drawn from.
    """
    rng = generator(seed)
    prior = OneTwoThree(n_states, n_actions, p_escape, formula)
    for _ in range(check_count("max_draws", max_draws, 1)):
        world = World(prior.sample(rng), prior, name="1-2-3 World")
        if not ergodic:
            return suppress_reachability_warning(world)
        if is_ergodic(world):
            return world
    raise ValueError(
        f"none of {max_draws} draws with n_states={n_states}, n_actions={n_actions} and p_escape={p_escape:g} "
        f"was ergodic; use fewer states, more actions, or ergodic=False"
    )
