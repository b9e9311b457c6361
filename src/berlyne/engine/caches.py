"""What is worked out once per prior and per world, and kept with it."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any
from weakref import WeakKeyDictionary

from berlyne.engine.successor_graph import Graph, build_graph, slot_weights
from berlyne.engine.value_iteration import Repairs, list_repairs
from berlyne.priors.protocols import CompiledPrior
from berlyne.sparse import Support
from berlyne.validation import FloatArray
from berlyne.worlds.world import World

MAX_CACHED_SIZE = 1 << 20
"""Largest arrays that are kept between runs rather than made again."""
MAX_SHARED_CACHES = 64
"""Priors told by a few numbers, of which what follows is kept."""

_CACHES: WeakKeyDictionary[Any, dict[Any, Any]] = WeakKeyDictionary()
_SHARED_CACHES: OrderedDict[tuple[Any, ...], dict[Any, Any]] = OrderedDict()


def cache_for(what: Support | World | CompiledPrior) -> dict[Any, Any]:
    """Where to keep what follows from a support, a prior, or a world and its prior, as long as they live."""
    return _CACHES.setdefault(what, {})


def cached_graph(support: Support) -> Graph:
    """The graph of a support."""
    kept = cache_for(support)
    if "graph" not in kept:
        kept["graph"] = build_graph(support)
    graph: Graph = kept["graph"]
    return graph


def cached_repairs(support: Support, graph: Graph, depth: int) -> Repairs:
    """What steps can change on the graph of a support."""
    kept = cache_for(support)
    if ("repairs", depth) not in kept:
        kept["repairs", depth] = list_repairs(graph, depth)
    repairs: Repairs = kept["repairs", depth]
    return repairs


def graph_and_weights(world: World, support: Support) -> tuple[Graph, FloatArray]:
    """A graph of the support of a world, and its true probabilities there."""
    graph, kept = cached_graph(support), cache_for(world)
    weight: FloatArray = kept["weight"] if "weight" in kept else slot_weights(graph, world.rows)
    if weight.size <= MAX_CACHED_SIZE:
        kept["weight"] = weight
    return graph, weight


def cache_for_prior(prior: CompiledPrior) -> dict[Any, Any]:
    """Where to keep what follows from a prior alone; priors that a few numbers describe share it."""
    said = prior.describe()
    if said.arrays:
        return cache_for(prior)
    key = (said.kind, prior.n_states, prior.n_actions, *said.parameters.values())
    kept = _SHARED_CACHES.setdefault(key, {})
    while len(_SHARED_CACHES) > MAX_SHARED_CACHES:
        _SHARED_CACHES.popitem(last=False)
    return kept
