"""What is believed before any data: a prior, a utility and the slots that outcomes will need."""

from __future__ import annotations

from typing import Any

import numpy as np

from berlyne.engine.caches import MAX_CACHED_SIZE, cache_for_prior, cached_graph
from berlyne.engine.row_beliefs import Belief, build_belief, copy_belief
from berlyne.engine.successor_graph import Graph, growing_graph, round_up
from berlyne.models.internal_model import InternalModel
from berlyne.priors.protocols import CompiledPrior, CompiledSpec
from berlyne.strategies.utilities import UTILITIES, compute_utility
from berlyne.worlds.world import World

MAX_EXPLICIT_STATES = 32
"""Up to this many states a row that can reach all of them has a slot for each from the start."""
INITIAL_SLOTS = 16
"""Slots of each state to begin with, where nothing tells how many it will need."""


def new_belief(
    model: InternalModel, utility: str | None, world: World | None = None, untried: float | None = None
) -> Belief:
    """What is believed before any data, which `model` has not seen; made once per prior and utility, then copied."""
    prior: Any = model.prior
    kept, rule = cache_for_prior(prior), compiled_spec_for(prior, utility)
    graph = _graph(prior, rule, world)
    key = "belief", utility, untried, graph.capacity
    if key in kept:
        return copy_belief(kept[key])
    values = np.full((model.n_states, graph.stride), -np.inf)
    values[:, : model.n_actions] = compute_utility(model, utility, untried).T
    realised = utility is not None and UTILITIES[utility].realised
    belief = build_belief(prior, rule, graph, values.ravel(), realised)
    if belief.weight.size > MAX_CACHED_SIZE:
        return belief
    kept[key] = belief
    return copy_belief(belief)


def compiled_spec_for(prior: CompiledPrior, utility: str | None) -> CompiledSpec:
    """How a prior is compiled with a utility, worked out once; a `KeyError` if it has no closed form of that."""
    kept = cache_for_prior(prior)
    if ("rule", utility) not in kept:
        kept["rule", utility] = prior.compiled_spec(utility)
    rule: CompiledSpec = kept["rule", utility]
    return rule


def _graph(prior: CompiledPrior, rule: CompiledSpec, world: World | None) -> Graph:
    """Slots for all that can follow, or for what does: as many as a world lets happen, or a few to begin with."""
    n_states, n_actions = prior.n_states, prior.n_actions
    if rule.max_outcomes is None and not (prior.support.is_full and n_states > MAX_EXPLICIT_STATES):
        return cached_graph(prior.support)
    if rule.max_outcomes is not None:
        needed = rule.max_outcomes
    elif world is None:
        needed = INITIAL_SLOTS
    else:
        needed = int(np.diff(world.rows.indptr[::n_actions]).max())
    return growing_graph(n_states, n_actions, round_up(min(n_states, needed)), rule.special_states)
