"""Caches of arrays that are computed once per support, prior or world."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any
from weakref import WeakKeyDictionary

from berlyne.engine.successor_graph import Graph, build_graph, slot_weights
from berlyne.engine.value_iteration import Repairs, list_repairs
from berlyne.frozen import read_only
from berlyne.priors.protocols import CompiledPrior
from berlyne.sparse import Support
from berlyne.validation import FloatArray
from berlyne.worlds.world import World

MAX_CACHED_SIZE = 1 << 20
"""Arrays with more elements than this are not cached, but computed in each run."""
MAX_SHARED_CACHES = 64
"""Number of caches that equal priors share."""

_CACHES: WeakKeyDictionary[Any, dict[Any, Any]] = WeakKeyDictionary()
"""Caches of single objects; an entry is dropped with its object."""
_SHARED_CACHES: OrderedDict[tuple[Any, ...], dict[Any, Any]] = OrderedDict()
"""Caches of priors without arrays, by their kind, size and parameters."""


def cache_for(owner: Support | World | CompiledPrior) -> dict[Any, Any]:
    """Return the cache of a support, of a prior, or of a world and its prior."""
    return _CACHES.setdefault(owner, {})


def cached_graph(support: Support) -> Graph:
    """Return the graph of a support; build it on the first call."""
    cache = cache_for(support)
    if "graph" not in cache:
        cache["graph"] = build_graph(support)
    graph: Graph = cache["graph"]
    return graph


def cached_repairs(support: Support, graph: Graph, depth: int) -> Repairs:
    """Return the repairs of value iteration on the graph of a support; list them on the first call."""
    cache = cache_for(support)
    if ("repairs", depth) not in cache:
        cache["repairs", depth] = list_repairs(graph, depth)
    repairs: Repairs = cache["repairs", depth]
    return repairs


def graph_and_weights(world: World, support: Support) -> tuple[Graph, FloatArray]:
    """Return the graph of a world's support, and the true probabilities in its slots."""
    graph, cache = cached_graph(support), cache_for(world)
    weight: FloatArray = cache["weight"] if "weight" in cache else read_only(slot_weights(graph, world.rows))
    if weight.size <= MAX_CACHED_SIZE:
        cache["weight"] = weight
    return graph, weight


def cache_for_prior(prior: CompiledPrior) -> dict[Any, Any]:
    """Return the cache of a prior; equal priors without arrays share one."""
    description = prior.describe()
    if description.arrays:
        return cache_for(prior)
    key = (description.kind, prior.n_states, prior.n_actions, *description.parameters.values())
    cache = _SHARED_CACHES.setdefault(key, {})
    while len(_SHARED_CACHES) > MAX_SHARED_CACHES:
        _SHARED_CACHES.popitem(last=False)
    return cache
