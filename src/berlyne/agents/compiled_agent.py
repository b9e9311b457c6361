"""An agent that runs compiled kernels.

Its whole state is one block of memory (`berlyne.engine.agent_state`), so that copying an agent copies that block.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from berlyne.engine.action_selection import METHODS, ChoiceState
from berlyne.engine.agent_state import compiled_spec_for, new_agent_state, refresh, reset, restore, widened
from berlyne.engine.blocks import Block, call
from berlyne.engine.environment import new_truth
from berlyne.engine.indices import GLOBAL_INDEX, can_compile_index
from berlyne.engine.loop import Draws, Imagined, act, evaluate_actions, explore, follow_history, imagine, observe
from berlyne.engine.records import ReplayRecord, RunRecord
from berlyne.engine.row_beliefs import FULL, IMPOSSIBLE, Belief, is_compiled_prior
from berlyne.engine.successor_graph import round_up
from berlyne.labels import impossible_transition
from berlyne.models.history import TerminalChanges, iter_segments
from berlyne.models.internal_model import InternalModel
from berlyne.sparse import Counts
from berlyne.strategies.choice import ChoiceRule
from berlyne.strategies.coordination import QLearning, UniformChoice
from berlyne.strategies.registry import Strategy
from berlyne.strategies.utilities import UTILITIES, compute_utility
from berlyne.validation import BoolArray, FloatArray, IntArray
from berlyne.worlds.world import World

NO_RESETS: FloatArray = np.empty(0)
MAX_COUNT = 2**31 - 1
"""Counts are int32."""


def can_compile(prior: Any, strategy: Strategy) -> bool:
    """Whether prior, utility and method are all ones that the kernels know."""
    known_parts = is_compiled_prior(prior) and type(strategy.coordinate) in METHODS
    if not known_parts or not (strategy.utility is None or isinstance(strategy.utility, str)):
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


class CompiledAgent:
    """Beliefs, utilities and choices of one explorer, for compiled kernels.

    It has the same methods as `NumpyAgent` and takes the same actions.

    Parameters
    ----------
    model : InternalModel
        A model that has observed nothing.
    strategy : Strategy
        How the agent acts.
    world : World, optional
        The true world, for strategies that may see it. It also limits the number of slots.
    """

    def __init__(self, model: InternalModel, strategy: Strategy, world: World | None = None) -> None:
        if model.n_obs:
            raise ValueError("a compiled explorer starts from a model that has observed nothing")
        assert strategy.utility is None or isinstance(strategy.utility, str)
        self.model, self.strategy = model, strategy
        self.block = new_agent_state(
            model, strategy.utility, strategy.untried, strategy.coordinate, strategy.rule, world
        )
        self._truth: Block | None = None

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
        """Choose an action in state `s`; `u` holds two uniform numbers in [0, 1)."""
        return self._choose(s, u)[1]

    def choose_pair(self, u: FloatArray) -> tuple[int, int]:
        """Choose a state and an action in it, for a strategy that may relocate."""
        return self._choose(-1, u)

    def _choose(self, s: int, u: FloatArray) -> tuple[int, int]:
        pair: tuple[int, int] = call(act, self.block, s, float(u[0]), float(u[1]))
        return pair

    def observe(self, s: int, a: int, s_next: int) -> None:
        """Learn one transition."""
        before = call(observe, self.block, s, a, s_next)
        if before == FULL:
            self._widen()
            before = call(observe, self.block, s, a, s_next)
        if before == IMPOSSIBLE:
            raise impossible_transition(s, a, s_next)

    @property
    def current_state(self) -> int:
        """The state of the agent, -1 if unknown."""
        return int(self.choice_state.current_state[0])

    def copy(self, model: InternalModel) -> CompiledAgent:
        """Return an agent that knows what this one knows, and is independent of it; `model` is what it knows."""
        other = object.__new__(CompiledAgent)
        other.model, other.strategy, other._truth = self.model, self.strategy, None
        other.block = self.block.copy()
        return other

    def imagine(self, s: int, ends: BoolArray, u_agent: FloatArray, u_world: FloatArray) -> None:
        """Explore from state `s`, with outcomes drawn from the agent's own estimates.

        Parameters
        ----------
        s : int
            State in which every episode begins.
        ends : ndarray of bool, shape (N,)
            Whether an episode ends in each state.
        u_agent : ndarray of shape (T, 2)
            Uniform numbers in [0, 1) for the choices, two per step.
        u_world : ndarray of shape (T,)
            Uniform numbers in [0, 1) for the outcomes.
        """
        path, done = np.full(len(u_world) + 1, s, dtype=np.int32), 0
        while True:
            imagined = Block.around(Imagined(ends, path[done:]))
            draws = Block.around(Draws(u_agent[done:], u_world[done:], NO_RESETS))
            done += call(imagine, self.block, imagined, draws, s)
            if done == len(u_world):
                return
            self._widen()

    def mark_terminal(self, states: IntArray) -> None:
        """Mark states as terminal: no action can be taken in them.

        Their utilities become 0, or -inf if the strategy may relocate.
        """
        n_actions = self.model.n_actions
        worth = -np.inf if self.strategy.relocates else 0.0  # an agent that may relocate must not go there
        self._by_state(self.belief.utility)[states, :n_actions] = worth
        self.choice_state.terminal[states] = True
        if isinstance(self.strategy.coordinate, QLearning):
            self._by_state(self.memory.q)[states, :n_actions] = 0.0
        reset(self.block)

    def unmark_terminal(self, s: int) -> None:
        """Undo `mark_terminal` for a state in which no action was tried."""
        strategy, n_actions = self.strategy, self.model.n_actions
        utility: Any = strategy.utility
        untried = compute_utility(InternalModel(self.model.prior), utility, strategy.untried)
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
        """Explore a world: choose, transition, learn and measure, once per line of `u_agent`.

        Parameters
        ----------
        world : World
            The world to explore.
        record : RunRecord
            Arrays to fill. Their first entries are set: the initial state and its measures.
        u_agent : ndarray of shape (T, 2)
            Uniform numbers in [0, 1) for the choices.
        u_world : ndarray of shape (T,)
            Uniform numbers in [0, 1) for the outcomes.
        u_start : ndarray of shape (T,), optional
            Uniform numbers in [0, 1) for the initial states of episodes. It may be empty if the world has no terminal
            states.

        Returns
        -------
        int
            Number of steps made, less than T if the next transition has probability zero under the prior.
        """
        draws = Block.around(Draws(u_agent, u_world, u_start))
        steps: int = call(explore, self.block, self.truth(world), Block.around(record), draws)
        return steps

    def action_values(self, s: int) -> FloatArray:
        """Value of each action in state `s` to the coordination method, (M,)."""
        call(evaluate_actions, self.block, s)
        return self.choice_state.values.copy()

    def pair_values(self) -> FloatArray:
        """Value of every pair `[s, a]` to a method that may relocate."""
        return np.ascontiguousarray(self.utility().T)

    def probabilities(self, s: int) -> FloatArray:
        """Probability of each action in state `s`, (M,)."""
        return self.strategy.rule.probabilities(self.action_values(s))

    def pair_probabilities(self) -> FloatArray:
        """Probability of each pair, `[s, a]`."""
        values = self.pair_values()
        return self.strategy.rule.probabilities(values.ravel()).reshape(values.shape)

    def replay(
        self, steps: IntArray, world: World | None = None, ends: TerminalChanges = ()
    ) -> tuple[ReplayRecord, int]:
        """Replay a history, and record values and probabilities before each of its steps.

        The agent must have no observations.

        Parameters
        ----------
        steps : ndarray of int, shape (T, 3)
            Lines s, a, s_next.
        world : World, optional
            The world that this agent was made with.
        ends : sequence, optional
            Changes of the terminal states, as `berlyne.models.history.iter_segments` takes them.

        Returns
        -------
        record : ReplayRecord
            Values, utilities and probabilities before each step.
        n_learned : int
            Number of lines learned, less than T if the next one has probability zero under the prior.
        """
        known, done = self._new_known(world), 0
        expected = float(self._row_novelty(known).sum())
        record = ReplayRecord.allocate(len(steps), self.model.n_actions, expected, self.strategy.relocates)
        for begin, until, closed, opened in iter_segments(len(steps), ends):
            if closed:
                record.missing[begin] -= self._row_novelty(known)[closed].sum()
                self.mark_terminal(np.array(closed, dtype=np.int64))
            before = record.missing[begin]
            for s in opened:  # when the line is made; until then its state was terminal
                record.missing[begin] += self._row_novelty(known)[s].sum()
                self.unmark_terminal(s)
            known, done = self.replay_lines(known, record, steps[:until], begin)
            record.missing[begin] = before
            if done < until:
                break
        return record, done

    def _new_known(self, world: World | None = None) -> Block:
        """An agent before any data whose utility is novelty: expected missing information."""
        return new_agent_state(self.model, "novelty", None, UniformChoice(), ChoiceRule(), world)

    def copy_with_novelty(self, last: IntArray) -> Block:
        """Return an agent that knows what this one knows, with novelty as its utility; `last` as in `load_state`."""
        known = self._new_known()
        if known.record.belief.graph.capacity < self.belief.graph.capacity:
            known = widened(known, self.belief.graph.capacity)
        prior: Any = self.model.prior
        restore(known, prior, self._observed(), last)
        return known

    def replay_lines(self, known: Block, record: ReplayRecord, steps: IntArray, begin: int) -> tuple[Block, int]:
        """Value and learn the lines from `begin` on, and write into `record`.

        Parameters
        ----------
        known : Block
            An agent that knows the lines before `begin`, with novelty as its utility.
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

    def _row_novelty(self, known: Block) -> FloatArray:
        """Expected missing information of every row, (N, M), from an agent whose utility is novelty."""
        belief = known.record.belief
        by_state: FloatArray = belief.utility.reshape(-1, belief.graph.stride)[:, : self.model.n_actions]
        return by_state

    def _replay_probabilities(self, record: ReplayRecord, steps: IntArray, lines: slice) -> FloatArray:
        """Probability of every action in the state of each line, (T, M); among all pairs if the strategy relocates."""
        rule, n_actions, values = self.strategy.rule, self.model.n_actions, record.values[lines]
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
            self._truth = new_truth(world, self.model, self.belief.graph)
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
        return Counts.from_keys(self.model.n_actions, self.model.n_states, row * self.model.n_states + s_next, n)

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
            seen. `visits` (N,). `q` (N, M): the table of Q-learning, empty for other methods. `here` (1,): the current
            state, or -1.
        """
        q = self.memory.q if isinstance(self.strategy.coordinate, QLearning) else np.empty(0)
        return {
            "counts": self._observed(),
            "visits": self.choice_state.visits[:-1],
            "q": self._by_state(q)[:, : self.model.n_actions],
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
        counts, last = checked_state_counts(state["counts"], last, self.model.n_actions, self.model.n_states)
        outcomes = np.unique(np.stack([counts[:, 0] // self.model.n_actions, counts[:, 1]], axis=1), axis=0)
        needed = int(np.bincount(outcomes[:, 0], minlength=1).max()) + 1  # and one that the prior singles out
        while 0 < self.belief.graph.capacity < min(needed, round_up(self.model.n_states)):
            self._widen()
        prior: Any = self.model.prior
        if not restore(self.block, prior, counts, last):
            raise ValueError("counts contain a transition that has probability zero under the prior")
        choice, n_states, n_actions = self.choice_state, self.model.n_states, self.model.n_actions
        choice.visits[:-1] = checked_numbers("visits", state["visits"], (n_states,), 0, MAX_COUNT)
        choice.visits[-1] = choice.visits[:-1].sum()
        choice.current_state[:] = checked_numbers("here", state["here"], (1,), -1, n_states - 1)
        if isinstance(self.strategy.coordinate, QLearning):
            self._by_state(self.memory.q)[:, :n_actions] = checked_numbers("q", state["q"], (n_states, n_actions))

    def _widen(self) -> None:
        """Double the slots of every state."""
        capacity = min(2 * self.belief.graph.capacity, round_up(self.model.n_states))
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
