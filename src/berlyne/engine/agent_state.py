"""The state of an agent as kernels see it: its belief, its memory, and the functions of its prior and its method.

The functions are chosen here, in Python. Kernels call them through their address. So a kernel is compiled once, and a
prior or a method when it is first used. An agent starts as a copy of a block that is made once for each prior and
strategy.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Any, NamedTuple

import numpy as np
from numba import types

from berlyne.engine.action_selection import (
    METHODS,
    ChoiceState,
    NoMemory,
    choose_best,
    choose_softmax,
    new_choice_state,
)
from berlyne.engine.blocks import (
    OPAQUE,
    Block,
    CompiledFunction,
    FunctionType,
    NoFunction,
    Opaque,
    call,
    hide_fields,
    record_type,
    type_of,
)
from berlyne.engine.caches import MAX_CACHED_SIZE, cache_for, cache_for_prior, cached_graph
from berlyne.engine.hopeful_plans import HopefulPlan, widened_hope
from berlyne.engine.indices import GLOBAL_INDEX, NO_INDEX, ROW_INDEX, apply_index, new_index
from berlyne.engine.jit import COMPILING, inline, kernel
from berlyne.engine.kept_plans import KeptPlans
from berlyne.engine.learned_prior import CompiledLearner, learner_of
from berlyne.engine.own_methods import OwnMemory, new_view
from berlyne.engine.row_beliefs import Belief, Family, build_belief, count, family_of, with_capacity
from berlyne.engine.successor_graph import Graph, growing_graph, round_up, slot_of
from berlyne.engine.value_iteration import Plan
from berlyne.models.internal_model import InternalModel
from berlyne.priors.protocols import CompiledPrior, CompiledSpec
from berlyne.sparse import Counts
from berlyne.strategies.choice import ChoiceRule
from berlyne.strategies.coordination import Relocating, TrueModel
from berlyne.strategies.indices import is_global, probability_of_last
from berlyne.strategies.planning import outcomes_if_certain
from berlyne.strategies.utilities import UTILITIES, compute_utility
from berlyne.validation import OWN_UTILITY, IntArray
from berlyne.worlds.world import World

MAX_EXPLICIT_STATES = 32
"""Up to this many states, a row that can reach all of them has a slot for each from the start."""
MAX_TEMPLATES = 32
"""Largest number of agents that are kept for one prior, to be copied."""
INITIAL_SLOTS = 16
"""Slots of each state at the start, if nothing limits how many it will need."""


class AgentState(NamedTuple):
    """An agent as kernels see it.

    Attributes
    ----------
    belief : Belief
        What it knows.
    choice : ChoiceState
        What every agent needs to choose.
    memory : NamedTuple
        What its method remembers; only functions of the method read it.
    learn, gain, repeats_teach : CompiledFunction, CompiledFunction, bool
        Of the prior, see `berlyne.engine.row_beliefs.Family`.
    compute_values, choose, after_observation, reset : CompiledFunction
        Of the method, see `berlyne.engine.action_selection.CompiledMethod`.
    index, apply_index, index_kind : CompiledIndex, CompiledFunction, int
        Of a utility that is an index, see `berlyne.engine.indices`.
    learner, refit, learns : NamedTuple, CompiledFunction, bool
        Of a prior that is refitted, see `berlyne.engine.learned_prior.CompiledLearner`.
    relocates : bool
        Whether it chooses the state, too. Then it arrives in a state when it acts there, not before.
    keeps_plans : bool
        Whether its method follows a plan although an index of all rows has changed.
    """

    belief: Belief
    choice: ChoiceState
    memory: Any
    learn: Any
    gain: Any
    repeats_teach: bool
    compute_values: Any
    choose: Any
    after_observation: Any
    reset: Any
    index: Any
    apply_index: Any
    index_kind: int
    learner: Any
    refit: Any
    learns: bool
    relocates: bool
    keeps_plans: bool


hide_fields(AgentState, "memory", "index", "learner")
_I, _F, _B = types.int64, types.float64, types.boolean
_pair: Any = types.Tuple((_I, _I))  # type: ignore[no-untyped-call]  # Numba has no types
_FUNCTION_TYPES = (
    FunctionType(_I, (Belief, _I, _I, _I)),  # learn
    FunctionType(_F, (Belief, _I, _I, _I, _I, _F, _B)),  # gain
    FunctionType(types.none, (Belief, ChoiceState, OPAQUE, _I)),  # compute_values
    FunctionType(_pair, (AgentState, OPAQUE, _I, _F, _F)),  # choose
    FunctionType(types.none, (Belief, ChoiceState, OPAQUE, _I, _I, _I, _F)),  # after_observation
    FunctionType(types.none, (Belief, ChoiceState, OPAQUE)),  # reset
)
_APPLY_INDEX = FunctionType(types.none, (Belief, ChoiceState, OPAQUE, _I, _I))
_REFIT = FunctionType(_B, (Belief, ChoiceState, OPAQUE, _I, _I, _I, _I))


def new_agent_state(
    model: InternalModel,
    utility: str | None,
    untried: float | None,
    coordinate: Any,
    rule: ChoiceRule,
    world: World | None = None,
) -> Block:
    """Return the state of an agent before any data.

    Parameters
    ----------
    model : InternalModel
        A model that has observed nothing.
    utility, untried, coordinate, rule : str or None, float or None, Any, ChoiceRule
        The parts of a `berlyne.Strategy`.
    world : World, optional
        The true world, for methods that may see it. It also limits the number of slots.
    """
    prior: Any = model.prior
    index = None if utility is None else UTILITIES[utility].index
    formula = None if index is not None else utility
    spec = compiled_spec_for(prior, formula)
    graph = _graph(prior, spec, world)
    cache = cache_for_prior(prior)
    if isinstance(coordinate, TrueModel):
        assert world is not None
        cache = cache_for(world)
    templates: OrderedDict[Any, Block] = cache.setdefault("agents", OrderedDict())
    own_method = getattr(coordinate, "definition", None)  # a name can be registered again
    key = utility, index, untried, coordinate, own_method, rule, graph.capacity
    template = templates.get(key)
    if template is not None:
        return template.copy()
    values = np.full((model.n_states, graph.stride), -np.inf)
    values[:, : model.n_actions] = compute_utility(model, formula, untried).T
    realised = formula is not None and UTILITIES[formula].realised
    belief = build_belief(prior, spec, graph, values.ravel(), formula, realised)
    learner = learner_of(prior)
    method = METHODS[type(coordinate)]
    belief = belief if learner is None else learner.with_own_table(belief, method.renews)
    choice = new_choice_state(rule, model.n_states, model.n_actions, graph.stride)
    memory = method.new_memory(coordinate, belief, choice, prior.support, world)
    chooser = method.choose or (choose_best if rule.temperature == 0.0 else choose_softmax)
    family = family_of(prior)
    if isinstance(memory, KeptPlans) and len(memory.sampled):
        kinds = (type_of(belief), _I, _I) if COMPILING else ()
        memory = memory._replace(kappa=CompiledFunction(family.kappa, *kinds) if COMPILING else family.kappa)
    if isinstance(memory, HopefulPlan):
        memory.certain[:] = outcomes_if_certain(prior, model.n_actions)
    parts: tuple[Any, ...] = belief, choice, memory
    compute_values, *others = method.functions(memory, False)
    functions = family.learn, family.gain, compute_values, chooser, *others
    learn, gain, *of_method = _compile(parts, functions, chooses_by_values=method.choose is None)
    fields = *parts, learn, gain, family.repeats_teach, *of_method, *_index_fields(index, family, parts, model.n_states)
    flags = isinstance(coordinate, Relocating), isinstance(memory, KeptPlans)
    fields = *fields, *_learner_fields(learner, prior, parts, untried), *flags
    block = Block.of(AgentState._make(fields))
    try:
        refresh(block)
    except ValueError:
        raise ValueError(
            f"the index {utility} is not finite for a row that was never tried, whose n is 0; "
            f"write 1 / (1 + row.n), for example{OWN_UTILITY}"
        ) from None
    if belief.weight.size > MAX_CACHED_SIZE:
        return block
    templates[key] = block
    while len(templates) > MAX_TEMPLATES:  # a fit tries many parameters
        templates.popitem(last=False)
    return block.copy()


def _compile(parts: tuple[Any, ...], functions: tuple[Any, ...], *, chooses_by_values: bool) -> tuple[Any, ...]:
    """Return functions in the order of `_FUNCTION_TYPES`, compiled for the types of these parts of an agent.

    A function that chooses by values only passes the memory on, so one serves all methods.
    """
    if not COMPILING:
        return functions
    belief, choice, memory = map(type_of, parts)
    learn, gain, values, choose, after, reset = _FUNCTION_TYPES
    rest = OPAQUE, _APPLY_INDEX, _I, OPAQUE, _REFIT, _B, _B, _B
    agent = record_type(AgentState, (belief, choice, OPAQUE, learn, gain, _B, values, choose, after, reset, *rest))
    hidden = Opaque(memory)
    arguments = (
        (belief, _I, _I, _I),
        (belief, _I, _I, _I, _I, _F, _B),
        (belief, choice, hidden, _I),
        (agent, OPAQUE if chooses_by_values else hidden, _I, _F, _F),
        (belief, choice, hidden, _I, _I, _I, _F),
        (belief, choice, hidden),
    )
    return tuple(CompiledFunction(f, *kinds) for f, kinds in zip(functions, arguments, strict=True))


def with_mask(block: Block, coordinate: Any, masked: bool) -> Block:
    """Return an agent with the function of its method that computes values with a mask, or without one."""
    agent: AgentState = block.record
    function, *_ = METHODS[type(coordinate)].functions(agent.memory, masked)
    if function is (agent.compute_values.function if COMPILING else agent.compute_values):
        return block
    if not COMPILING:
        return Block.of(agent._replace(compute_values=function))
    return block.with_function("compute_values", CompiledFunction(function, *agent.compute_values.arguments))


def _index_fields(index: Any, family: Family, parts: tuple[Any, ...], n_states: int) -> tuple[Any, Any, int]:
    """Return `index`, `apply_index` and `index_kind` of an agent."""
    if index is None:
        return NoMemory(), NoFunction(_APPLY_INDEX), NO_INDEX
    kind = GLOBAL_INDEX if is_global(index) else ROW_INDEX
    belief, choice = map(type_of, parts[:2]) if COMPILING else (None, None)
    record = new_index(index, family, belief, n_states, len(parts[0].utility))
    if not COMPILING:
        return record, apply_index, kind
    return record, CompiledFunction(apply_index, belief, choice, Opaque(type_of(record)), _I, _I), kind


def _learner_fields(
    learner: CompiledLearner | None, prior: Any, parts: tuple[Any, ...], untried: float | None
) -> tuple[Any, Any, bool]:
    """Return `learner`, `refit` and `learns` of an agent."""
    if learner is None:
        return NoMemory(), NoFunction(_REFIT), False
    record = learner.new_learner(prior, parts[0], untried)
    if not COMPILING:
        return record, learner.refit, True
    belief, choice, hidden = *map(type_of, parts[:2]), Opaque(type_of(record))
    return record, CompiledFunction(learner.refit, belief, choice, hidden, _I, _I, _I, _I), True


def reserve(block: Block, prior: CompiledPrior, n_obs: int) -> Block:
    """Return an agent that has room to learn `n_obs` more observations; the same if its prior is never refitted."""
    agent: AgentState = block.record
    learner = learner_of(prior)
    wider = agent.learner if learner is None else learner.with_room(agent.learner, n_obs)
    return block if wider is agent.learner else Block.of(agent._replace(learner=wider))


def compiled_spec_for(prior: CompiledPrior, utility: str | None) -> CompiledSpec:
    """Return the compiled form of a prior with a utility, computed once; a `KeyError` if it has no closed form."""
    cache = cache_for_prior(prior)
    if ("spec", utility) not in cache:
        cache["spec", utility] = prior.compiled_spec(utility)
    spec: CompiledSpec = cache["spec", utility]
    return spec


def _graph(prior: CompiledPrior, spec: CompiledSpec, world: World | None) -> Graph:
    """Return slots for every possible outcome, or as many as the world allows, or a few at the start."""
    n_states, n_actions = prior.n_states, prior.n_actions
    shares_base = prior.support.is_full and n_states > MAX_EXPLICIT_STATES and not spec.per_transition
    if spec.max_outcomes is None and not shares_base:
        return cached_graph(prior.support)
    if spec.max_outcomes is not None:
        needed = spec.max_outcomes
    elif world is None:
        needed = INITIAL_SLOTS
    else:
        needed = int(np.diff(world.rows.indptr[::n_actions]).max())
    return growing_graph(n_states, n_actions, round_up(min(n_states, needed)), spec.special_states)


def widened(block: Block, capacity: int) -> Block:
    """Return an agent with more room for slots in every state."""
    agent: AgentState = block.record
    belief, memory = with_capacity(agent.belief, capacity), agent.memory
    if isinstance(memory, Plan) and memory.graph is agent.belief.graph:  # a plan on the true world stays as it is
        memory = memory._replace(graph=belief.graph, weight=belief.weight, base_weight=belief.base_weight)
    elif isinstance(memory, HopefulPlan):
        memory = widened_hope(memory, belief)
    elif isinstance(memory, OwnMemory):
        memory = memory._replace(knowledge=new_view(belief, agent.choice, memory.q))
    return Block.of(agent._replace(belief=belief, memory=memory))


class Observed(NamedTuple):
    """Observations of an agent, to be restored.

    Attributes
    ----------
    counts : ndarray of shape (K, 3)
        Row r = s M + a, s_next and n, in the order in which the outcomes of a state were first seen.
    last : ndarray of shape (rows, 2)
        Row and last outcome of every row that was tried.
    """

    counts: IntArray
    last: IntArray


class _RowFunctions(NamedTuple):
    """Functions of a family that only `restore` needs, see `berlyne.engine.row_beliefs.Family`."""

    find_slot: Any
    restore_row: Any


def restore(block: Block, prior: CompiledPrior, counts: IntArray, last: IntArray) -> bool:
    """Let an agent without data learn counts, as in `Observed`; whether that is possible and there is room."""
    family, belief = family_of(prior), block.type.fields["belief"][1] if COMPILING else None
    functions = Block.of(
        _RowFunctions(
            CompiledFunction(family.find_slot, belief, _I, _I, _I),
            CompiledFunction(family.restore_row, belief, _I, _I, _I, _I),
        )
    )
    if reads_surprise(block):
        restore_surprise(block, prior, counts, last)
    return bool(call(_restore, block, functions, Block.around(Observed(counts, last))))


def reads_surprise(block: Block) -> bool:
    """Whether the utility of an agent is an index that reads the surprise of last outcomes."""
    return bool(len(getattr(block.record.index, "surprise", ())))


def restore_surprise(block: Block, prior: CompiledPrior, counts: IntArray, last: IntArray) -> None:
    """Set the surprise of the last outcomes, as in `Observed`, for an index that reads it."""
    keys = counts[:, 0] * prior.n_states + counts[:, 1]
    observed = Counts.from_keys(prior.n_actions, prior.n_states, keys, counts[:, 2])
    s, a = np.divmod(last[:, 0], prior.n_actions)
    at = s * block.record.belief.graph.stride + a
    block.record.index.surprise[at] = -np.log2(probability_of_last(prior, observed, last[:, 0], last[:, 1]))


@kernel
def _restore(agent: AgentState, functions: _RowFunctions, observed: Observed) -> bool:
    belief, counts, last = agent.belief, observed.counts, observed.last
    n_actions, stride = belief.graph.n_actions, belief.graph.stride
    for e in range(len(counts)):
        s, a = counts[e, 0] // n_actions, counts[e, 0] % n_actions
        slot = functions.find_slot(belief, s, a, counts[e, 1])
        if slot < 0 or belief.n[slot * stride + a] != 0:
            return False
        count(belief, s, a, counts[e, 1], slot, counts[e, 2])
    for e in range(len(last)):
        s, a = last[e, 0] // n_actions, last[e, 0] % n_actions
        slot = slot_of(belief.graph, s, last[e, 1])
        if slot < 0 or belief.n[slot * stride + a] <= 0:
            return False
        functions.restore_row(belief, s, a, last[e, 1], belief.n[slot * stride + a] - 1)
    n_obs = 0
    for e in range(len(counts)):
        n_obs += counts[e, 2]
    agent.choice.n_obs[0] = n_obs
    refresh_all(agent)
    return True


def reset(block: Block) -> None:
    """Discard what the method of an agent has computed, after its utilities or what is possible were changed."""
    call(_reset, block)


@kernel
def _reset(agent: AgentState) -> None:
    agent.reset(agent.belief, agent.choice, agent.memory)


def refresh(block: Block) -> None:
    """Compute the index of all rows, if the utility is one, and discard what the method has computed."""
    call(_refresh, block)


@kernel
def _refresh(agent: AgentState) -> None:
    refresh_all(agent)


def refresh_index(block: Block) -> None:
    """Compute the index of all rows, if an observation or a visit can change all of them."""
    call(_refresh_index, block)


@kernel
def _refresh_index(agent: AgentState) -> None:
    refresh_global_index(agent)


@inline
def refresh_all(agent: AgentState) -> None:
    """Compute the index of all rows, if the utility is one, and discard what the method has computed."""
    if agent.index_kind != NO_INDEX:
        agent.apply_index(agent.belief, agent.choice, agent.index, -1, -1)
    agent.reset(agent.belief, agent.choice, agent.memory)


@inline
def refresh_global_index(agent: AgentState) -> None:
    """Compute the index of all rows, if an observation or a visit can change all of them."""
    if agent.index_kind == GLOBAL_INDEX:
        agent.apply_index(agent.belief, agent.choice, agent.index, -1, -1)
        if not agent.keeps_plans:
            agent.reset(agent.belief, agent.choice, agent.memory)
