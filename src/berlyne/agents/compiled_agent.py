"""An agent that runs compiled kernels.

Its whole state is one block of memory (`berlyne.engine.agent_state`), so that copying an agent copies that block.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from berlyne.agents.base import NO_OUTCOMES, NO_RESETS, KnownStatesAgent, seed_of_numbers
from berlyne.engine.action_selection import METHODS, ChoiceState
from berlyne.engine.agent_state import (
    INITIAL_SLOTS,
    compiled_spec_for,
    new_agent_state,
    reads_surprise,
    refresh_index,
    reserve,
    reset,
    restore,
    restore_surprise,
    widened,
    with_mask,
)
from berlyne.engine.blocks import Block, call
from berlyne.engine.discovery import expected_missing, layout_size, move, set_cells
from berlyne.engine.environment import new_truth
from berlyne.engine.indices import can_compile_index
from berlyne.engine.kept_plans import KeptPlans
from berlyne.engine.learned_prior import LEARNERS, learner_of
from berlyne.engine.loop import (
    Draws,
    History,
    Path,
    act,
    arrive_in,
    evaluate_actions,
    explore,
    explore_and_refit,
    imagine,
    new_comparison,
    observe,
    observe_move,
    renew_all_utilities,
    replay,
)
from berlyne.engine.open_exploration import (
    NEW_STATE,
    OpenTruth,
    add_cell,
    explore_cells,
    measure_all,
    new_open_truth,
    prepare,
)
from berlyne.engine.open_replay import Discoveries, replay_cells
from berlyne.engine.own_methods import can_compile_method
from berlyne.engine.records import ReplayRecord, RunRecord
from berlyne.engine.row_beliefs import FULL, IMPOSSIBLE, TOTAL, Belief, family_of, is_compiled_prior
from berlyne.engine.successor_graph import round_up
from berlyne.labels import impossible_transition
from berlyne.models.history import TerminalChanges, iter_segments
from berlyne.models.internal_model import InternalModel
from berlyne.priors import ChineseRestaurant
from berlyne.priors.dirichlet_draws import seeds_of
from berlyne.priors.refit import refit_schedule
from berlyne.sparse import Counts
from berlyne.strategies.choice import sample_index
from berlyne.strategies.coordination import QLearning, UniformChoice
from berlyne.strategies.own_methods import RegisteredMethod
from berlyne.strategies.registry import Strategy
from berlyne.strategies.utilities import UTILITIES
from berlyne.validation import BoolArray, FloatArray, IntArray
from berlyne.worlds.world import World

MAX_COUNT = 2**31 - 1
"""Counts are int32."""
EXPECTED_MISSING = Strategy("expected missing information", UniformChoice(), utility="parameter_gain")
"""A strategy whose utility is the expected missing information of each row."""


def can_compile(prior: Any, strategy: Strategy) -> bool:
    """Whether prior, utility and method are all ones that the kernels know."""
    known_parts = is_compiled_prior(prior) and type(strategy.coordinate) in METHODS
    if refit_schedule(prior) is not None and type(prior).__name__ not in LEARNERS:
        return False
    if not known_parts or not (strategy.utility is None or isinstance(strategy.utility, str)):
        return False
    if isinstance(strategy.coordinate, RegisteredMethod) and not can_compile_method(
        strategy.coordinate.method, strategy.coordinate.definition
    ):
        return False
    index = None if strategy.utility is None else UTILITIES[strategy.utility].index
    if index is not None:
        return can_compile_index(str(strategy.utility), index)
    try:
        compiled_spec_for(prior, strategy.utility)
    except KeyError:  # a utility for which this prior has no closed form
        return False
    return True


@lru_cache(maxsize=64)
def blank_restaurant(d: float, n_actions: int, n_states: int) -> InternalModel:
    """Return a model that has observed nothing; agents that discover states move to its layout."""
    return InternalModel(ChineseRestaurant(1.0, d, n_actions=n_actions, n_states=n_states))


def make_method(name: str, parameters: dict[str, Any]) -> Any:
    """The method of coordination of that name."""
    return {method.__name__: method for method in METHODS}[name](**parameters)


class CompiledAgent(KnownStatesAgent):
    """Beliefs, utilities and choices of one explorer, for compiled kernels.

    It takes the same actions as `NumpyAgent`. Kernels choose, learn, run, replay and imagine.

    Parameters
    ----------
    model : InternalModel
        A model that has observed nothing.
    strategy : Strategy
        How the agent acts.
    world : World, optional
        The true world, for strategies that may see it. It also limits the number of slots.
    seed : numpy.random.SeedSequence, optional
        Seed for a method that draws random numbers; by default 0.
    """

    _prior: Any

    def __init__(
        self,
        model: InternalModel,
        strategy: Strategy,
        world: World | None = None,
        seed: np.random.SeedSequence | None = None,
    ) -> None:
        if model.n_obs:
            raise ValueError("a compiled explorer starts from a model that has observed nothing")
        assert strategy.utility is None or isinstance(strategy.utility, str)
        super().__init__(model.prior, strategy, model.n_actions, model.n_states)
        self.grows = family_of(model.prior).grows  # type: ignore[arg-type]  # only compiled priors come here
        keeps_plans = bool(getattr(strategy.coordinate, "keeps_plans", False))
        self.has_state_dict = self.schedule is None and not keeps_plans  # others depend on the whole history
        self._blank, self._world = model, world
        self.block = new_agent_state(
            model, strategy.utility, strategy.untried, strategy.coordinate, strategy.rule, world
        )
        self._truth: Block | None = None
        self._seed = seed
        self._table: FloatArray = np.empty((0, 2))
        self._sow(seed)

    def _sow(self, seed: np.random.SeedSequence | None) -> None:
        """Set the seed of the random numbers of the method, if it draws any, and plan again."""
        if isinstance(self.memory, KeptPlans) and len(self.memory.sampled):
            self.memory.seeds[:] = seeds_of(seed)
            reset(self.block)

    @property
    def seeds(self) -> IntArray | None:
        """The two numbers that begin the random numbers of the method, (2,); None if it draws none."""
        draws = isinstance(self.memory, KeptPlans) and len(self.memory.sampled) > 0
        return np.array(self.memory.seeds) if draws else None

    def load_seeds(self, seeds: IntArray) -> None:
        """Set `seeds` to those of another agent; this one must have no observations."""
        self.memory.seeds[:] = checked_numbers("seeds", seeds, (2,), 1, MAX_COUNT)
        reset(self.block)

    def reseed(self, u: FloatArray) -> None:
        """Let the random numbers of the method depend on uniform numbers `u`; see `Agent.reseed`."""
        if isinstance(self.memory, KeptPlans) and len(self.memory.sampled):
            self.memory.seeds[:] = seeds_of(seed_of_numbers(u))

    @property
    def prior(self) -> Any:
        """The prior in force."""
        if self.schedule is not None and self.belief.numbers[0] != self._prior.learned:
            self._prior = self._prior.with_learned(self.belief.numbers[0])
        return self._prior

    @prior.setter
    def prior(self, prior: Any) -> None:
        self._prior = prior

    @property
    def belief(self) -> Belief:
        """Counts, estimates and utilities."""
        belief: Belief = self.block.record.belief
        return belief

    @property
    def choice_state(self) -> ChoiceState:
        """Values, visits and the current state."""
        choice: ChoiceState = self.block.record.choice
        return choice

    @property
    def memory(self) -> Any:
        """The memory of the method."""
        return self.block.record.memory

    def act(self, s: int, u: FloatArray) -> int:
        """Choose an action in state `s`; `u` holds two uniform numbers in [0, 1). No side effects."""
        return self._choose(s, u)[1]

    def choose_pair(self, u: FloatArray) -> tuple[int, int]:
        """Choose a state and an action in it, for a strategy that may relocate. No side effects."""
        return self._choose(-1, u)

    def _choose(self, s: int, u: FloatArray) -> tuple[int, int]:
        pair: tuple[int, int] = call(act, self.block, s, float(u[0]), float(u[1]))
        return pair

    def observe(self, s: int, a: int, s_next: int) -> None:
        """Learn one transition."""
        self._reserve(1)
        before = call(observe, self.block, s, a, s_next)
        if before == FULL:
            self.widen()
            before = call(observe, self.block, s, a, s_next)
        if before == IMPOSSIBLE:
            raise impossible_transition(s, a, s_next)

    def observe_move(self, s: int, s_next: int) -> None:
        """Go from state `s` to `s_next` without learning a transition; see `Agent.observe_move`."""
        call(observe_move, self.block, s, s_next)

    def _arrive(self, s: int) -> None:
        """Count a visit to a state that the last step did not lead to."""
        call(arrive_in, self.block, s)

    @property
    def current_state(self) -> int:
        """The state of the agent, -1 if unknown."""
        s = int(self.choice_state.current_state[0])
        return s if s >= -1 else -2 - s

    def copy(self) -> CompiledAgent:
        """Return an independent copy."""
        clone = copy.copy(self)
        clone.terminal, clone.allowed = set(self.terminal), dict(self.allowed)
        clone.block, clone._truth = self.block.copy(), None
        return clone

    def with_more_states(self, prior: Any, last: IntArray, n_expected: int = 0) -> CompiledAgent:
        """Return an agent with the states of `prior`; see `KnownStatesAgent.with_more_states`.

        If the family of the prior can grow, it is this agent, which moves to another layout if it has no room
        (`berlyne.engine.discovery`) for these states, or for as many as are expected.
        """
        if not self.grows:
            return self._rebuilt(prior, last)
        n_states, n_before = prior.n_states, self.n_states
        n_wanted = layout_size(max(n_states, n_expected))
        if n_wanted > len(self.choice_state.terminal):
            self._move(blank_restaurant(prior.d, self.n_actions, n_wanted))
        if reads_surprise(self.block):
            restore_surprise(self.block, prior, self._observed(), self._last_outcomes())
        call(set_cells, self.block, n_states, prior.learned, *self._untried(prior))
        self.prior, self.discovered, self.terminal, self.allowed = prior, range(n_states), set(), {}
        if self._has_table:
            table = self._by_state(self.memory.q)
            table[n_before:n_states] = table[n_before - 1]
        return self

    @property
    def adds_cells(self) -> bool:
        """Whether kernels can discover states: the memory of the method need not grow with them."""
        return self.grows and not (self._has_table or isinstance(self.memory, KeptPlans))

    def has_room(self, n_states: int, n_slots: int) -> bool:
        """Whether there is room for `n_states` states with `n_slots` slots each."""
        graph = self.belief.graph
        return len(graph.start) >= n_states and 0 < min(n_slots, round_up(len(graph.start))) <= graph.capacity

    def note_states(self, prior: Any) -> None:
        """Note that kernels have added states, up to those of `prior`."""
        self.prior, self.discovered = prior, range(prior.n_states)

    def _last_outcomes(self) -> IntArray:
        """Row `r = s * M + a` and last outcome of every row that was tried, (rows, 2), if states are discovered."""
        tried = np.flatnonzero(self.belief.row_stats[:, TOTAL] > 0)
        s, a = np.divmod(tried, self.belief.graph.stride)
        return np.stack([s * self.n_actions + a, self.belief.last[tried]], axis=1).astype(np.int64)

    def _rebuilt(self, prior: Any, last: IntArray) -> CompiledAgent:
        """Return a new agent with the states of `prior`."""
        memory = self.state_dict()
        n_new = prior.n_states - self.n_states
        memory["visits"] = np.append(memory["visits"], np.zeros(n_new, dtype=np.int64))
        memory["q"] = np.concatenate([memory["q"], *[memory["q"][-1:]] * n_new])
        clone = CompiledAgent(InternalModel(prior), self.strategy, seed=self._seed)
        clone.load_state(memory, last)
        clone.choice_state.left[:] = self.choice_state.left
        return clone

    def _move(self, model: InternalModel) -> None:
        """Move to the layout of an agent with the states of `model`, which has observed nothing."""
        strategy, utility = self.strategy, self.strategy.utility
        assert utility is None or isinstance(utility, str)
        parts = utility, strategy.untried, strategy.coordinate, strategy.rule
        wide, capacity = new_agent_state(model, *parts), INITIAL_SLOTS
        while not call(move, self.block, wide):
            capacity *= 2
            wide = widened(new_agent_state(model, *parts), capacity)
        if self._has_table:
            used = self.n_states * self.belief.graph.stride
            wide.record.memory.q[:used] = self.memory.q[:used]
        self.block = wide
        self._sow(self._seed)

    @property
    def _has_table(self) -> bool:
        """Whether the method remembers a number for each row."""
        return isinstance(self.strategy.coordinate, QLearning | RegisteredMethod)

    def _untried(self, prior: Any) -> tuple[float, float]:
        """Return the utility of a row without observations, and that of a row of the last cell."""
        name, untried = self.strategy.utility, self.strategy.untried
        if name is None or UTILITIES[str(name)].index is not None:
            return 0.0, 0.0
        realised = UTILITIES[str(name)].realised
        if realised and untried is not None:
            return untried, untried
        value = prior.untried_utility("PIG" if realised else str(name))
        return value, 0.0 if name == "parameter_gain" else value

    def untried_table(self, n_cells: int) -> FloatArray:
        """Return `_untried` with every number of cells up to `n_cells`, (n_cells + 1, 2); there is at least one."""
        if len(self._table) <= n_cells:
            sized = (self._prior.sized(n, self.n_actions) for n in range(1, n_cells + 1))
            self._table = np.array([(0.0, 0.0), *map(self._untried, sized)])
        return self._table[: n_cells + 1]

    def imagine(self, begin: int, u_agent: FloatArray, u_world: FloatArray, u_start: FloatArray) -> None:
        """Explore from state `begin`, with outcomes drawn from the agent's own estimates; see `Agent.imagine`.

        A kernel draws outcomes that have slots first, then all others. With the same numbers they can differ from those
        of `NumpyAgent`.
        """
        states, done = np.full(len(u_world) + 1, begin, dtype=np.int32), 0
        self.reseed(u_agent[:1])
        while True:
            draws = Block.around(Draws(u_agent[done:], u_world[done:], u_start[done:]))
            done += call(imagine, self.block, Block.around(Path(states[done:])), draws)
            if done == len(u_world):
                return
            self.widen()

    def possible(self) -> BoolArray:
        """Whether each action can be taken, `[a, s]`."""
        by_state = self._by_state(self.choice_state.possible)
        return np.ascontiguousarray(by_state[: self.n_states, : self.n_actions].T)

    def _update_possible(self, states: list[int]) -> None:
        """Update the mask of the rows of some states, and discard plans."""
        choice, rows = self.choice_state, self._by_state(self.choice_state.possible)[:, : self.n_actions]
        for s in states:
            possible = self.possible_actions(s)
            choice.n_impossible[0] += np.count_nonzero(rows[s]) - np.count_nonzero(possible)
            rows[s], choice.terminal[s] = possible, s in self.terminal
        self.block = with_mask(self.block, self.strategy.coordinate, bool(choice.n_impossible[0] > 0))
        reset(self.block)

    def tell_starts(self, distribution: FloatArray) -> None:
        """Tell the agent the probability (N,) that an episode begins in each state."""
        starts, states = self.choice_state.starts, np.flatnonzero(distribution)
        starts.weight[:-1], starts.weight[-1] = distribution, distribution.sum()
        starts.states[: len(states)], starts.n[:] = states, (len(states), 1)
        if isinstance(self.memory, KeptPlans):
            reset(self.block)

    def set_horizon(self, horizon: int) -> None:
        """Let episodes be cut after `horizon` steps."""
        self.choice_state.left[:] = horizon

    @property
    def episode_is_over(self) -> bool:
        """Whether the last observation ended an episode, or was the last one before it is cut."""
        return bool(self.choice_state.current_state[0] < -1)

    def end_episode(self) -> None:
        """Note that an episode ended with the last observation."""
        self.choice_state.current_state[0] = -2 - self.current_state

    def _draw_start(self, u: float) -> int:
        """Draw a state in which an episode begins."""
        return sample_index(self.choice_state.starts.weight[:-1], u)

    def _by_state(self, values: Any) -> Any:
        """An array over rows as `[s, a]`, with padding; a view."""
        return values.reshape(-1, self.belief.graph.stride)

    def run(
        self, world: World, record: RunRecord, u_agent: FloatArray, u_world: FloatArray, u_start: FloatArray = NO_RESETS
    ) -> int:
        """Explore a world in one kernel; see `Agent.run`."""
        self._reserve(len(u_world))
        loop = explore if self.schedule is None else explore_and_refit
        draws = Block.around(Draws(u_agent, u_world, u_start))
        steps: int = call(loop, self.block, self.truth(world), Block.around(record), draws)
        return steps

    def _reserve(self, n_obs: int) -> None:
        """Make room for more observations, if the prior learns from them."""
        if self.schedule is not None:
            self.block = reserve(self.block, self._prior, n_obs)

    def action_values(self, s: int) -> FloatArray:
        """Value of each action in state `s` to the coordination method, (M,)."""
        call(evaluate_actions, self.block, s)
        return self.choice_state.values.copy()

    def pair_values(self) -> FloatArray:
        """Value of every pair `[s, a]` to a method that may relocate."""
        return np.where(self.possible(), self.utility(), -np.inf).T.copy()

    def replay(
        self, steps: IntArray, ends: TerminalChanges = (), ended: BoolArray | None = None
    ) -> tuple[ReplayRecord, int]:
        """Replay a history in kernels, and record values and probabilities before each step; see `Agent.replay`."""
        self._reserve(len(steps))
        ended = np.zeros(len(steps), dtype=np.bool_) if ended is None else ended
        known, done = self.new_known(len(steps)), 0
        expected = self._expected_missing(known)
        record = ReplayRecord.allocate(len(steps), self.n_actions, expected, self.strategy.relocates)
        history = ReplayedHistory(self, known, record, History(steps, ended))
        for begin, until, closed, opened in iter_segments(len(steps), ends):
            if closed:
                self.mark_terminal(np.array(closed, dtype=np.int64))
                record.missing[begin] = self._expected_missing(known)
            before = record.missing[begin]
            for s in opened:  # when the line is made; until then its state was terminal
                self.unmark_terminal(s)
                record.missing[begin] = self._expected_missing(known)
            done = history.follow(2 * begin, 2 * until) // 2
            history.record_probabilities(begin, done)
            record.missing[begin] = before
            if done < until:
                break
        return record, done

    def replay_values(
        self, steps: IntArray, ends: TerminalChanges = (), ended: BoolArray | None = None
    ) -> tuple[FloatArray, int]:
        """Replay a history in kernels, and return the values before each step; see `Agent.replay_values`."""
        self._reserve(len(steps))
        ended = np.zeros(len(steps), dtype=np.bool_) if ended is None else ended
        record, done = ReplayRecord.allocate_values(len(steps), self.n_actions), 0
        history = ReplayedHistory(self, self, record, History(steps, ended))
        for begin, until, closed, opened in iter_segments(len(steps), ends):
            if closed:
                self.mark_terminal(np.array(closed, dtype=np.int64))
            for s in opened:
                self.unmark_terminal(s)
            done = history.follow(2 * begin, 2 * until) // 2
            if done < until:
                break
        return record.values, done

    def new_known(self, n_obs: int = 0) -> CompiledAgent:
        """Return an agent before any data, with room for `n_obs`, whose utility is the expected missing information."""
        known = CompiledAgent(self._blank, EXPECTED_MISSING, self._world)
        known._reserve(n_obs)
        return known

    def _expected_missing(self, known: CompiledAgent) -> float:
        """Expected missing information of all possible rows, from an agent whose utility it is."""
        return float(known.by_state().sum(where=self.possible().T))

    def by_state(self) -> FloatArray:
        """Utilities `[s, a]`, also of actions that are not possible; a view."""
        if len(self.belief.renewed):
            call(renew_all_utilities, self.block)
        utility: FloatArray = self._by_state(self.belief.utility)[: self.n_states, : self.n_actions]
        return utility

    def truth(self, world: World) -> Block:
        """The true world as kernels see it, and the distance of this agent's model from it."""
        if self._truth is None:
            learner = learner_of(self._prior)
            missing_information = None if learner is None else learner.missing_information
            self._truth = new_truth(world, self._blank, self.block, missing_information)
        return self._truth

    def utility(self) -> FloatArray:
        """Current utilities `[a, s]`; 0 for actions that are not possible."""
        refresh_index(self.block)
        return np.where(self.possible(), self.by_state().T, 0.0)

    def counts(self) -> Counts:
        """Observed transitions."""
        row, s_next, n = self._observed().T
        return Counts.from_keys(self.n_actions, self.n_states, row * self.n_states + s_next, n)

    def row_counts(self, s: int, a: int) -> Counts:
        """Observed transitions of action `a` in state `s`."""
        graph, row = self.belief.graph, s * self.n_actions + a
        slots = slice(int(graph.start[s]), int(graph.start[s] + graph.length[s]))
        n = self.belief.n.reshape(-1, graph.stride)[slots, a]
        s_next = graph.succ[slots][n > 0].astype(np.int64)
        return Counts.from_keys(self.n_actions, self.n_states, row * self.n_states + s_next, n[n > 0].astype(np.int64))

    def _observed(self) -> IntArray:
        """Row `r = s * M + a`, s_next and n of observed transitions, `(K, 3)`, in the order of slots."""
        graph = self.belief.graph
        by_slot = self.belief.n.reshape(-1, graph.stride)
        slot, a = np.nonzero(by_slot > 0)
        s = np.searchsorted(graph.start, slot, side="right") - 1
        return np.stack([s * graph.n_actions + a, graph.succ[slot], by_slot[slot, a]], axis=1).astype(np.int64)

    def state_dict(self) -> dict[str, Any]:
        """Return the state of the agent that cannot be recomputed, as arrays.

        Returns
        -------
        dict
            `counts` (K, 3): row `r = s * M + a`, s_next and n, in the order in which the outcomes of a state were first
            seen. `visits` (N,). `q` (N, M): the table of Q-learning or of an own method, else empty. `here` (1,): the
            current state, or -1, or -2 - s if an episode ended in state s. `starts` (K, 2): states in which episodes
            began, in the order of the first time, and how often.
        """
        starts = self.choice_state.starts
        states = starts.states[: starts.n[0]]
        q = getattr(self.memory, "q", np.empty(0))
        return {
            "counts": self._observed(),
            "visits": self.choice_state.visits[: self.n_states],
            "q": self._by_state(q)[: self.n_states, : self.n_actions],
            "here": self.choice_state.current_state,
            "starts": np.stack([states, starts.weight[states].astype(np.int64)], axis=1),
        }

    def load_state(self, state: dict[str, Any], last: IntArray) -> None:
        """Load the state of another agent; this one must have no observations.

        Parameters
        ----------
        state : dict
            Arrays from `state_dict`.
        last : ndarray of int, shape (rows, 2)
            Row and last outcome of every row that was tried.

        Raises
        ------
        ValueError
            If the arrays have wrong shapes or ranges, or do not fit this agent.
        """
        counts, last = checked_state_counts(state["counts"], last, self.n_actions, self.n_states)
        outcomes = np.unique(np.stack([counts[:, 0] // self.n_actions, counts[:, 1]], axis=1), axis=0)
        needed = int(np.bincount(outcomes[:, 0], minlength=1).max()) + 1  # and one that the prior singles out
        while 0 < self.belief.graph.capacity < min(needed, round_up(self.n_states)):
            self.widen()
        if not restore(self.block, self.prior, counts, last):
            raise ValueError("counts contain a transition that has probability zero under the prior")
        choice, n_states, n_actions = self.choice_state, self.n_states, self.n_actions
        choice.visits[:-1] = checked_numbers("visits", state["visits"], (n_states,), 0, MAX_COUNT)
        choice.visits[-1] = choice.visits[:-1].sum()
        choice.current_state[:] = checked_numbers("here", state["here"], (1,), -1 - n_states, n_states - 1)
        self._load_starts(np.asarray(state["starts"]))
        if hasattr(self.memory, "q"):
            self._by_state(self.memory.q)[:, :n_actions] = checked_numbers("q", state["q"], (n_states, n_actions))

    def _load_starts(self, starts: IntArray) -> None:
        """Load the states in which episodes began, and how often."""
        states, n = checked_numbers("starts", starts, (len(starts), 2), 0, MAX_COUNT).T
        if np.any(states >= self.n_states) or len(np.unique(states)) < len(states) or np.any(n < 1):
            raise ValueError("starts are not states of this agent and positive numbers")
        own = self.choice_state.starts
        own.states[: len(states)], own.n[0] = states, len(states)
        own.weight[states], own.weight[-1] = n, n.sum()

    def widen(self) -> None:
        """Double the slots of every state."""
        capacity = min(2 * self.belief.graph.capacity, round_up(len(self.belief.graph.start)))
        self.block = widened(self.block, capacity)


class ReplayedHistory:
    """A history that kernels replay.

    Parameters
    ----------
    agent : CompiledAgent
        The agent that learns the history.
    known : CompiledAgent
        An agent from `CompiledAgent.new_known`, which learns the same; `agent` if only values are recorded.
    record : ReplayRecord
        Arrays to fill.
    history : History
        The lines.

    Attributes
    ----------
    is_known : ndarray of bool, shape (T,)
        Whether action and next state of each line are known; others are not learned.
    """

    def __init__(self, agent: CompiledAgent, known: CompiledAgent, record: ReplayRecord, history: History) -> None:
        self._agent, self._known, self._record, self._steps = agent, known, record, history.steps
        self.is_known = np.all(history.steps >= 0, axis=1)
        self._into, self._history = Block.around(record), Block.around(history)
        self._comparison = new_comparison(agent.block, self._into, agent.strategy.relocates)

    def follow(self, begin: int, end: int) -> int:
        """Make half-steps as `berlyne.engine.loop.replay` does; return the first one not made, or `end`."""
        agent, known, why = self._agent, self._known, 0
        while begin < end and why != IMPOSSIBLE:
            blocks = agent.block, known.block, self._comparison, self._history, self._into
            begin, why = self._call(blocks, begin, end)
            if why == FULL:
                agent.widen()
                if known is not agent:
                    known.widen()
        return begin

    def _call(self, blocks: tuple[Block, ...], begin: int, end: int) -> tuple[int, int]:
        """Call the kernel with the blocks of both agents, comparison, history and record."""
        result: tuple[int, int] = call(replay, *blocks, begin, end)
        return result

    def n_learned(self, begin: int, end: int) -> int:
        """Return the number of lines from `begin` to `end` that are learned."""
        return int(np.count_nonzero(self.is_known[begin:end]))

    def expected_missing(self) -> float:
        """Return the expected missing information of all possible rows, in bits."""
        bits: float = call(expected_missing, self._agent.block, self._known.block)
        return bits

    def record_probabilities(self, begin: int, end: int) -> None:
        """Record the probability of every action in the lines from `begin` to `end`, whose values are recorded.

        If the strategy relocates, the probabilities are those among all pairs that exist now.
        """
        agent, record, lines = self._agent, self._record, slice(begin, end)
        rule, values = agent.rule, record.values[lines]
        if not agent.strategy.relocates:
            record.probabilities[lines] = rule.probabilities(values)
            return
        if rule.first:
            rows = self._steps[lines, :1] * agent.belief.graph.stride + np.arange(agent.n_actions)
            share = np.asarray(rows == record.first[lines, None], dtype=float)
        else:
            share = rule.weights(values, record.largest[lines, None]) / record.total[lines, None]
        record.probabilities[lines] = rule.add_lapses(share, values > -np.inf, np.count_nonzero(agent.possible()))


class DiscoveredHistory(ReplayedHistory):
    """A history that kernels replay, and whose states are discovered.

    Parameters
    ----------
    agent, known, record : CompiledAgent, CompiledAgent, ReplayRecord
        As for `ReplayedHistory`. The agents are laid out for all states that kernels discover.
    history : History
        The lines in cells.
    half_steps : sequence of int
        The half-steps at which kernels discover a state, ascending.
    n_cells : int
        Largest number of cells.
    """

    def __init__(
        self,
        agent: CompiledAgent,
        known: CompiledAgent,
        record: ReplayRecord,
        history: History,
        half_steps: Sequence[int],
        n_cells: int,
    ) -> None:
        super().__init__(agent, known, record, history)
        self._records_missing = len(record.missing) > 0
        untried = agent.untried_table(n_cells), known.untried_table(n_cells)
        self._discoveries = Discoveries(
            np.array(half_steps, dtype=np.int64),
            np.zeros(1, dtype=np.int64),
            np.full(1, np.nan),
            np.hstack(untried),
            np.empty(0),
        )

    @property
    def n_discovered(self) -> int:
        """Number of states that kernels have discovered."""
        return int(self._discoveries.n_made[0])

    def _call(self, blocks: tuple[Block, ...], begin: int, end: int) -> tuple[int, int]:
        surprise = getattr(self._agent.block.record.index, "surprise", self._discoveries.surprise)
        discoveries = Block.around(self._discoveries._replace(surprise=surprise))
        result: tuple[int, int] = call(replay_cells, *blocks, discoveries, begin, end)
        return result

    def missing_at(self, t: int) -> float:
        """Return the recorded expected missing information at time `t`; NaN if only values are recorded."""
        return float(self._record.missing[t]) if self._records_missing else np.nan

    def set_missing(self, t: int, bits: float | None = None) -> None:
        """Record the expected missing information at time `t`, by default that of all possible rows now."""
        if self._records_missing:
            self._record.missing[t] = self.expected_missing() if bits is None else bits

    def add_states(self, prior: Any) -> None:
        """Let `known` have the states of `prior`."""
        if self._records_missing:
            self._known.with_more_states(prior, NO_OUTCOMES)

    def note_states(self, prior: Any) -> None:
        """Note that kernels have added states, up to those of `prior`."""
        self._agent.note_states(prior)
        self._known.note_states(prior)


class ExploredWorld:
    """A world that kernels explore, and whose states are discovered.

    Parameters
    ----------
    agent : CompiledAgent
        The agent, whose states are cells.
    world : World
        The world.
    discovered : sequence of int
        States of the world in the order of discovery.
    record : RunRecord
        Arrays to fill. Their first entries are set.
    draws : Draws
        Uniform numbers.
    """

    def __init__(
        self, agent: CompiledAgent, world: World, discovered: Sequence[int], record: RunRecord, draws: Draws
    ) -> None:
        self._agent, self._record = agent, record
        self._truth: OpenTruth = new_open_truth(world, discovered)
        self._n_cells = len(discovered)
        self._blocks = Block.around(self._truth), Block.around(record), Block.around(draws)
        call(prepare, agent.block, self._blocks[0])

    def add_state(self, s: int) -> None:
        """Give state `s` of the world the next cell."""
        call(add_cell, self._blocks[0], s, self._n_cells)
        self._n_cells += 1

    def follow(self, begin: int, end: int) -> tuple[int, bool]:
        """Make half-steps as `berlyne.engine.open_exploration.explore_cells` does.

        Return the first one not made, or `end`, and whether a state must be discovered.
        """
        while True:
            begin, why = call(explore_cells, self._agent.block, *self._blocks, begin, end)
            if why != FULL:
                return begin, why == NEW_STATE
            self._agent.widen()

    def measure_all(self, t: int) -> None:
        """Measure all rows again at time `t`, because a discovery or a refit changed them."""
        self._record.missing[t], self._record.l1[t] = call(measure_all, self._agent.block, self._blocks[0])

    def last_outcomes(self) -> Iterator[tuple[int, int]]:
        """Row of cells `s * M + a` and cell of the outcome of each step, in order."""
        cells, record = self._truth.cells, self._record
        rows = cells[record.states[:-1]] * self._agent.n_actions + record.actions
        return zip(rows.tolist(), cells[record.outcomes].tolist(), strict=True)


def checked_numbers(name: str, values: Any, shape: tuple[int, ...], low: int = 0, high: int = 0) -> Any:
    """Return `values` as an array; a `ValueError` unless it has this shape and range.

    With `low < high` the values must be integers from `low` to `high`, otherwise finite numbers.
    """
    array = np.asarray(values)
    is_integer = low < high
    fits = array.shape == shape and array.dtype.kind in ("iu" if is_integer else "iuf")
    if not fits or not np.all((array >= low) & (array <= high) if is_integer else np.isfinite(array)):
        raise ValueError(f"{name} are not numbers of the right shape and range")
    return array


def checked_state_counts(counts: Any, last: Any, n_actions: int, n_states: int) -> tuple[IntArray, IntArray]:
    """Return `counts` and `last` of `CompiledAgent.load_state` as arrays; a `ValueError` unless they are consistent."""
    rows = n_actions * n_states
    for name, lines, width in (("counts", counts, 3), ("last outcomes", last, 2)):
        array = np.asarray(lines)
        checked_numbers(name, array, (len(array), width), 0, MAX_COUNT)
        if np.any(array[:, 0] >= rows) or np.any(array[:, 1] >= n_states):
            raise ValueError(f"{name} contain a row or state outside the world")
    counts, last = (np.ascontiguousarray(lines, dtype=np.int64) for lines in (counts, last))
    totals = np.bincount(counts[:, 0], counts[:, 2], rows) if len(counts) else np.zeros(rows)
    if np.any(counts[:, 2] < 1) or np.any(totals > MAX_COUNT):
        raise ValueError("counts are not numbers of the right shape and range")
    if sorted(last[:, 0].tolist()) != np.flatnonzero(totals).tolist():
        raise ValueError("the last outcomes do not belong to the rows that were tried")
    return counts, last
