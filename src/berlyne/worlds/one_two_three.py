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
    """A 1-2-3 World: action a (from zero) has a + 1 equally likely targets.

    Paper: Sec. 2.4, Eq. 9 (`eq:sne`); the defaults are the paper's. Worlds that are not ergodic
    are drawn again.

    Parameters
    ----------
    seed : int, `SeedSequence` or `Generator`.
    n_states, n_actions : N and M.
    p_escape : chance that one target is not the absorbing state 0; action a avoids it altogether
        with probability p_escape ** (a + 1).
    formula : how the prior estimates, "exact" or as "printed" (reading R3); the world is the same.
    ergodic : whether to insist on an ergodic world, as the paper does.
    max_draws : give up after this many worlds that are not ergodic.
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
