"""An agent that runs compiled kernels.

Its whole state is one block of memory (`berlyne.engine.agent_state`), so that copying an agent copies that block.
"""

from __future__ import annotations

import copy
from typing import Any, ClassVar

import numpy as np

from berlyne.agents.base import NO_RESETS, KnownStatesAgent
from berlyne.engine.action_selection import METHODS, ChoiceState
from berlyne.engine.agent_state import compiled_spec_for, new_agent_state, refresh, reserve, reset, restore, widened
from berlyne.engine.blocks import Block, call
from berlyne.engine.environment import new_truth
from berlyne.engine.indices import GLOBAL_INDEX, can_compile_index
from berlyne.engine.learned_prior import LEARNERS, learner_of
from berlyne.engine.loop import (
    Draws,
    Imagined,
    act,
    arrive_in,
    evaluate_actions,
    explore,
    explore_and_refit,
    follow_history,
    imagine,
    observe,
    observe_move,
)
from berlyne.engine.own_methods import can_compile_method
from berlyne.engine.records import ReplayRecord, RunRecord
from berlyne.engine.row_beliefs import FULL, IMPOSSIBLE, Belief, is_compiled_prior
from berlyne.engine.successor_graph import round_up
from berlyne.labels import impossible_transition
from berlyne.models.history import TerminalChanges, iter_segments
from berlyne.models.internal_model import InternalModel
from berlyne.priors.refit import refit_schedule
from berlyne.sparse import Counts
from berlyne.strategies.choice import ChoiceRule
from berlyne.strategies.coordination import QLearning, UniformChoice
from berlyne.strategies.own_methods import RegisteredMethod
from berlyne.strategies.registry import Strategy
from berlyne.strategies.utilities import UTILITIES, compute_utility
from berlyne.validation import FloatArray, IntArray
from berlyne.worlds.world import World

MAX_COUNT = 2**31 - 1
"""Counts are int32."""


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
    """

    replays_at_once: ClassVar[bool] = True
    _prior: Any

    def __init__(self, model: InternalModel, strategy: Strategy, world: World | None = None) -> None:
        if model.n_obs:
            raise ValueError("a compiled explorer starts from a model that has observed nothing")
        assert strategy.utility is None or isinstance(strategy.utility, str)
        super().__init__(model.prior, strategy, model.n_actions, model.n_states)
        self.has_state_dict = self.schedule is None  # what is learned about the prior depends on the whole history
        self._blank, self._world = model, world
        self.block = new_agent_state(
            model, strategy.utility, strategy.untried, strategy.coordinate, strategy.rule, world
        )
        self._truth: Block | None = None

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
            self._widen()
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
        return int(self.choice_state.current_state[0])

    def copy(self) -> CompiledAgent:
        """Return an independent copy."""
        clone = copy.copy(self)
        clone.block, clone.terminal, clone._truth = self.block.copy(), set(self.terminal), None
        return clone

    def with_more_states(self, prior: Any, last: IntArray) -> CompiledAgent:
        """Return an agent with the states of `prior`; see `KnownStatesAgent.with_more_states`."""
        memory = self.state_dict()
        n_new = prior.n_states - self.n_states
        memory["visits"] = np.append(memory["visits"], np.zeros(n_new, dtype=np.int64))
        memory["q"] = np.concatenate([memory["q"], *[memory["q"][-1:]] * n_new])
        clone = CompiledAgent(InternalModel(prior), self.strategy)
        clone.load_state(memory, last)
        return clone

    def imagine(self, begin: int, u_agent: FloatArray, u_world: FloatArray) -> None:
        """Explore from state `begin`, with outcomes drawn from the agent's own estimates; see `Agent.imagine`.

        A kernel draws outcomes that have slots first, then all others. With the same numbers they can differ from those
        of `NumpyAgent`.
        """
        path, done = np.full(len(u_world) + 1, begin, dtype=np.int32), 0
        ends = np.zeros(self.n_states, dtype=np.bool_)
        ends[sorted(self.terminal)] = True
        while True:
            imagined = Block.around(Imagined(ends, path[done:]))
            draws = Block.around(Draws(u_agent[done:], u_world[done:], NO_RESETS))
            done += call(imagine, self.block, imagined, draws, begin)
            if done == len(u_world):
                return
            self._widen()

    def mark_terminal(self, states: IntArray) -> None:
        """Mark states as terminal: no action can be taken in them.

        Their utilities become 0, or -inf if the strategy may relocate.
        """
        self.terminal.update(np.asarray(states).tolist())
        n_actions = self.n_actions
        worth = -np.inf if self.strategy.relocates else 0.0  # an agent that may relocate must not go there
        self._by_state(self.belief.utility)[states, :n_actions] = worth
        self.choice_state.terminal[states] = True
        if isinstance(self.strategy.coordinate, QLearning):
            self._by_state(self.memory.q)[states, :n_actions] = 0.0
        reset(self.block)

    def unmark_terminal(self, s: int) -> None:
        """Undo `mark_terminal` for a state in which no action was tried."""
        self.terminal.discard(s)
        strategy, n_actions = self.strategy, self.n_actions
        utility: Any = strategy.utility
        untried = compute_utility(InternalModel(self.prior), utility, strategy.untried)
        self._by_state(self.belief.utility)[s, :n_actions] = untried[:, s]
        self.choice_state.terminal[s] = False
        if isinstance(strategy.coordinate, QLearning):
            self._by_state(self.memory.q)[s, :n_actions] = strategy.coordinate.initial
        reset(self.block)

    def _by_state(self, values: FloatArray) -> FloatArray:
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
        return np.ascontiguousarray(self.utility().T)

    def replay(self, steps: IntArray, ends: TerminalChanges = ()) -> tuple[ReplayRecord, int]:
        """Replay a history in kernels, and record values and probabilities before each step; see `Agent.replay`."""
        self._reserve(len(steps))
        known, done = self._new_known(len(steps)), 0
        expected = float(self._missing_by_row(known).sum())
        record = ReplayRecord.allocate(len(steps), self.n_actions, expected, self.strategy.relocates)
        for begin, until, closed, opened in iter_segments(len(steps), ends):
            if closed:
                record.missing[begin] -= self._missing_by_row(known)[closed].sum()
                self.mark_terminal(np.array(closed, dtype=np.int64))
            before = record.missing[begin]
            for s in opened:  # when the line is made; until then its state was terminal
                record.missing[begin] += self._missing_by_row(known)[s].sum()
                self.unmark_terminal(s)
            known, done = self._replay_lines(known, record, steps[:until], begin)
            record.missing[begin] = before
            if done < until:
                break
        return record, done

    def replay_at_once(self, record: ReplayRecord, steps: IntArray, begin: int, last: IntArray) -> int:
        """Replay the lines from `begin` on in a kernel; see `KnownStatesAgent.replay_at_once`."""
        return self._replay_lines(self._copy_with_missing(last), record, steps, begin)[1]

    def _new_known(self, n_obs: int = 0) -> Block:
        """An agent before any data, with room for `n_obs`, whose utility is expected missing information."""
        known = new_agent_state(self._blank, "parameter_gain", None, UniformChoice(), ChoiceRule(), self._world)
        return reserve(known, self._prior, n_obs)

    def _copy_with_missing(self, last: IntArray) -> Block:
        """Return an agent that knows what this one knows, as from `_new_known`; `last` as in `load_state`."""
        known = self._new_known()
        if known.record.belief.graph.capacity < self.belief.graph.capacity:
            known = widened(known, self.belief.graph.capacity)
        restore(known, self.prior, self._observed(), last)
        return known

    def _replay_lines(self, known: Block, record: ReplayRecord, steps: IntArray, begin: int) -> tuple[Block, int]:
        """Value and learn the lines from `begin` on, and write into `record`.

        Parameters
        ----------
        known : Block
            An agent that knows the lines before `begin`, whose utility is expected missing information.
        record : ReplayRecord
            What is written.
        steps : ndarray of shape (T, 3)
            Lines s, a, s_next.
        begin : int
            The first line.

        Returns
        -------
        Block, int
            `known` after the lines, and the first line that could not be learned, or the number of lines.
        """
        done, why = begin, 0
        while done < len(steps) and why != IMPOSSIBLE:
            done, why = follow_history(self.block, known, record, steps, done, self.strategy.relocates)
            if why == FULL:
                self._widen()
                known = widened(known, self.belief.graph.capacity)
        record.probabilities[begin:done] = self._replay_probabilities(record, steps, slice(begin, done))
        return known, done

    def _missing_by_row(self, known: Block) -> FloatArray:
        """Expected missing information of every row, (N, M), from such an agent."""
        belief = known.record.belief
        by_state: FloatArray = belief.utility.reshape(-1, belief.graph.stride)[:, : self.n_actions]
        return by_state

    def _replay_probabilities(self, record: ReplayRecord, steps: IntArray, lines: slice) -> FloatArray:
        """Probability of every action in the state of each line, (T, M); among all pairs if the strategy relocates."""
        rule, n_actions, values = self.rule, self.n_actions, record.values[lines]
        if not self.strategy.relocates:
            return rule.probabilities(values)
        if rule.first:
            rows = steps[lines, :1] * self.belief.graph.stride + np.arange(n_actions)
            share = np.asarray(rows == record.first[lines, None], dtype=float)
        else:
            share = rule.weights(values, record.largest[lines, None]) / record.total[lines, None]
        n_possible = np.count_nonzero(self.belief.utility > -np.inf)  # neither where episodes end nor in the padding
        return rule.add_lapses(share, record.utility[lines] > -np.inf, n_possible)

    def truth(self, world: World) -> Block:
        """The true world as kernels see it, and the distance of this agent's model from it."""
        if self._truth is None:
            learner = learner_of(self._prior)
            missing_information = None if learner is None else learner.missing_information
            self._truth = new_truth(world, self._blank, self.block, missing_information)
        return self._truth

    def utility(self) -> FloatArray:
        """Current utilities `[a, s]`."""
        if self.block.record.index_kind == GLOBAL_INDEX:
            refresh(self.block)
        by_state = self.belief.utility.reshape(-1, self.belief.graph.stride)
        return np.ascontiguousarray(by_state[:, : self.belief.graph.n_actions].T)

    def counts(self) -> Counts:
        """Observed transitions."""
        row, s_next, n = self._observed().T
        return Counts.from_keys(self.n_actions, self.n_states, row * self.n_states + s_next, n)

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
            current state, or -1.
        """
        q = getattr(self.memory, "q", np.empty(0))
        return {
            "counts": self._observed(),
            "visits": self.choice_state.visits[:-1],
            "q": self._by_state(q)[:, : self.n_actions],
            "here": self.choice_state.current_state,
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
            self._widen()
        if not restore(self.block, self.prior, counts, last):
            raise ValueError("counts contain a transition that has probability zero under the prior")
        choice, n_states, n_actions = self.choice_state, self.n_states, self.n_actions
        choice.visits[:-1] = checked_numbers("visits", state["visits"], (n_states,), 0, MAX_COUNT)
        choice.visits[-1] = choice.visits[:-1].sum()
        choice.current_state[:] = checked_numbers("here", state["here"], (1,), -1, n_states - 1)
        if hasattr(self.memory, "q"):
            self._by_state(self.memory.q)[:, :n_actions] = checked_numbers("q", state["q"], (n_states, n_actions))

    def _widen(self) -> None:
        """Double the slots of every state."""
        capacity = min(2 * self.belief.graph.capacity, round_up(self.n_states))
        self.block = widened(self.block, capacity)


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
