"""What is believed before any data: a prior, a utility and the slots that outcomes will need."""

from __future__ import annotations

from typing import Any

import numpy as np

from berlyne.engine.caches import SMALL, kept_graph, kept_of_prior
from berlyne.engine.row_beliefs import Belief, copied, first_belief
from berlyne.engine.successor_graph import Graph, growing_graph, rounded_up
from berlyne.models.internal_model import InternalModel
from berlyne.priors.protocols import CompiledPrior, CompiledSpec
from berlyne.strategies.utilities import UTILITIES, first_utilities
from berlyne.worlds.world import World

EXPLICIT = 32
"""Up to this many states a row that can reach all of them has a slot for each from the start."""
A_FEW = 16
"""Slots of each state to begin with, where nothing tells how many it will need."""


def new_belief(
    model: InternalModel, utility: str | None, world: World | None = None, untried: float | None = None
) -> Belief:
    """What is believed before any data, which `model` has not seen; made once per prior and utility, then copied."""
    prior: Any = model.prior
    kept, rule = kept_of_prior(prior), compiled_spec_for(prior, utility)
    graph = _graph(prior, rule, world)
    key = "belief", utility, untried, graph.capacity
    if key in kept:
        return copied(kept[key])
    values = np.full((model.n_states, graph.stride), -np.inf)
    values[:, : model.n_actions] = first_utilities(model, utility, untried).T
    realised = utility is not None and UTILITIES[utility].realised
    belief = first_belief(prior, rule, graph, values.ravel(), realised)
    if belief.weight.size > SMALL:
        return belief
    kept[key] = belief
    return copied(belief)


def compiled_spec_for(prior: CompiledPrior, utility: str | None) -> CompiledSpec:
    """How a prior is compiled with a utility, worked out once; a `KeyError` if it has no closed form of that."""
    kept = kept_of_prior(prior)
    if ("rule", utility) not in kept:
        kept["rule", utility] = prior.rule(utility)
    rule: CompiledSpec = kept["rule", utility]
    return rule


def _graph(prior: CompiledPrior, rule: CompiledSpec, world: World | None) -> Graph:
    """Slots for all that can follow, or for what does: as many as a world lets happen, or a few to begin with."""
    n_states, n_actions = prior.n_states, prior.n_actions
    if rule.most_outcomes is None and not (prior.support.is_full and n_states > EXPLICIT):
        return kept_graph(prior.support)
    if rule.most_outcomes is not None:
        needed = rule.most_outcomes
    elif world is None:
        needed = A_FEW
    else:
        needed = int(np.diff(world.rows.indptr[::n_actions]).max())
    return growing_graph(n_states, n_actions, rounded_up(min(n_states, needed)), rule.singled_out)
