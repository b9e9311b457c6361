"""The belief before any observation, from a prior, a utility and the number of slots."""

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
"""Largest number of states for which a full support has a slot for every state from the start."""
INITIAL_SLOTS = 16
"""Initial number of slots of each state, if the number of outcomes is unknown."""


def new_belief(
    model: InternalModel, utility: str | None, world: World | None = None, untried: float | None = None
) -> Belief:
    """Return the belief of a model without observations.

    Small beliefs are built once per prior and utility, and then copied.

    Parameters
    ----------
    model : InternalModel
        The model, without observations.
    utility : str or None
        Name of the utility.
    world : World, optional
        The true world; only its number of outcomes is used, to set the number of slots.
    untried : float, optional
        PEIG of a row that was not tried, instead of its PIG.
    """
    prior: Any = model.prior
    cache, spec = cache_for_prior(prior), compiled_spec_for(prior, utility)
    graph = _graph(prior, spec, world)
    key = "belief", utility, untried, graph.capacity
    if key in cache:
        return copy_belief(cache[key])
    values = np.full((model.n_states, graph.stride), -np.inf)
    values[:, : model.n_actions] = compute_utility(model, utility, untried).T
    realised = utility is not None and UTILITIES[utility].realised
    belief = build_belief(prior, spec, graph, values.ravel(), realised)
    if belief.weight.size > MAX_CACHED_SIZE:
        return belief
    cache[key] = belief
    return copy_belief(belief)


def compiled_spec_for(prior: CompiledPrior, utility: str | None) -> CompiledSpec:
    """Return the arrays and codes of a prior with a utility, computed once; a `KeyError` if it has no closed form."""
    cache = cache_for_prior(prior)
    if ("rule", utility) not in cache:
        cache["rule", utility] = prior.compiled_spec(utility)
    spec: CompiledSpec = cache["rule", utility]
    return spec


def _graph(prior: CompiledPrior, spec: CompiledSpec, world: World | None) -> Graph:
    """Return a graph with a slot for every possible outcome; or, if they are many, one to which slots are added.

    The number of slots to allocate is that of the prior, that of the world, or `INITIAL_SLOTS`.
    """
    n_states, n_actions = prior.n_states, prior.n_actions
    if spec.max_outcomes is None and not (prior.support.is_full and n_states > MAX_EXPLICIT_STATES):
        return cached_graph(prior.support)
    if spec.max_outcomes is not None:
        needed = spec.max_outcomes
    elif world is None:
        needed = INITIAL_SLOTS
    else:
        needed = int(np.diff(world.rows.indptr[::n_actions]).max())
    return growing_graph(n_states, n_actions, round_up(min(n_states, needed)), spec.special_states)
