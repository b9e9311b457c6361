"""The agent that runs a strategy in compiled kernels, and its state as arrays.

Arrays that are the same in all runs are computed once per prior or world (`berlyne.engine.caches`).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from berlyne.engine.action_selection import METHODS, invalidate, new_choice_state, rebind_belief
from berlyne.engine.environment import Truth, new_truth
from berlyne.engine.initial_belief import compiled_spec_for, new_belief
from berlyne.engine.jit import entry_point
from berlyne.engine.loop import act, evaluate_actions, explore, imagine, observe, replay
from berlyne.engine.records import ReplayRecord, RunRecord
from berlyne.engine.row_beliefs import FULL, IMPOSSIBLE, Belief, is_compiled_prior, restore, with_capacity
from berlyne.engine.successor_graph import round_up
from berlyne.labels import impossible_transition
from berlyne.models.history import TerminalChanges, iter_segments
from berlyne.models.internal_model import InternalModel
from berlyne.sparse import Counts
from berlyne.strategies.registry import Strategy
from berlyne.validation import BoolArray, FloatArray, IntArray
from berlyne.worlds.world import World

NO_RESETS: FloatArray = np.empty(0)
"""The `u_start` of a world without terminal states."""
MAX_COUNT = 2**31 - 1
"""Largest number of observations: counts are int32."""


def can_compile(prior: Any, strategy: Strategy) -> bool:
    """Return whether kernels exist for the prior, the utility and the coordination method."""
    has_kernels = is_compiled_prior(prior) and type(strategy.coordinate) in METHODS
    if not has_kernels or not (strategy.utility is None or isinstance(strategy.utility, str)):
        return False
    try:
        compiled_spec_for(prior, strategy.utility)
    except KeyError:  # a utility for which this prior has no closed form
        return False
    return True


def make_method(name: str, parameters: dict[str, Any]) -> Any:
    """Make the coordination method whose class has this name."""
    return {method.__name__: method for method in METHODS}[name](**parameters)


class CompiledAgent:
    """Beliefs, utilities and choices of one explorer, in compiled kernels.

    It has the methods of `NumpyAgent` and takes the same actions.

    Parameters
    ----------
    model : InternalModel
        The initial model, without observations.
    strategy : Strategy
        A strategy for which `can_compile` is true.
    world : World, optional
        The true world. Strategies that may see the world plan with it. For all strategies, its number of outcomes
        sets how many slots are allocated per state.

    Attributes
    ----------
    belief : Belief
        Counts, estimates and utilities of all rows.
    choice_state : ChoiceState
        Memory of the coordination method.
    entry_points : dict
        Compiled kernels by name. Agents with the same strategy and kind of prior share them.
    """

    def __init__(self, model: InternalModel, strategy: Strategy, world: World | None = None) -> None:
        if model.n_obs:
            raise ValueError(f"the model of a compiled agent must have no observations; it has {model.n_obs}")
        prior: Any = model.prior
        assert strategy.utility is None or isinstance(strategy.utility, str)
        self.model, self.strategy = model, strategy
        self.belief = new_belief(model, strategy.utility, world, strategy.untried)
        self.choice_state = new_choice_state(strategy.coordinate, strategy.rule, self.belief, prior.support, world)
        self._truth: Truth | None = None
        self.entry_points: dict[str, Any] = {}

    def act(self, s: int, u: FloatArray) -> int:
        """Choose an action in state `s`; `u` holds two uniform numbers in [0, 1)."""
        return self._choose(s, u)[1]

    def choose_pair(self, u: FloatArray) -> tuple[int, int]:
        """Choose a state and an action in it, for a strategy that may relocate."""
        return self._choose(-1, u)

    def _choose(self, s: int, u: FloatArray) -> tuple[int, int]:
        s, a = self._call("act", act, self.belief, self.choice_state, s, float(u[0]), float(u[1]))
        return int(s), int(a)

    def _call(self, name: str, kernel: Any, *arguments: Any) -> Any:
        """Call a kernel, whose arguments must always have the same types."""
        if name not in self.entry_points:
            self.entry_points[name] = entry_point(kernel, arguments)
        return self.entry_points[name](*arguments)

    def observe(self, s: int, a: int, s_next: int) -> None:
        """Learn one transition."""
        status = self._observe_once(s, a, s_next)
        if status == FULL:
            self._widen()
            status = self._observe_once(s, a, s_next)
        if status == IMPOSSIBLE:
            raise impossible_transition(s, a, s_next)

    def _observe_once(self, s: int, a: int, s_next: int) -> int:
        return int(self._call("observe", observe, self.belief, self.choice_state, s, a, s_next))

    @property
    def current_state(self) -> int:
        """The current state; -1 if it is unknown."""
        return int(self.choice_state.current_state[0])

    def copy(self, model: InternalModel) -> CompiledAgent:
        """Return an independent copy; `model` is the internal model of this agent."""
        blank = InternalModel(model.prior, n_states=model.n_states, n_actions=model.n_actions)
        clone = CompiledAgent(blank, self.strategy)
        clone.entry_points = self.entry_points
        last = model.last_outcomes
        tried = np.flatnonzero(last >= 0)
        clone.load_state(self.state_dict(), np.stack([tried, last[tried]], axis=1))
        return clone

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
            done += imagine(self.belief, self.choice_state, s, ends, path[done:], u_agent[done:], u_world[done:])
            if done == len(u_world):
                return
            self._widen()

    def mark_terminal(self, states: IntArray) -> None:
        """Mark states as terminal: no action can be taken in them.

        Their utilities become 0, or -inf if the strategy may relocate.
        """
        graph, n_actions = self.belief.graph, self.model.n_actions
        value = -np.inf if self.strategy.relocates else 0.0  # an agent that may relocate must not go there
        self.belief.utility.reshape(-1, graph.stride)[states, :n_actions] = value
        if len(self.choice_state.q):
            self.choice_state.q.reshape(-1, graph.stride)[states, :n_actions] = 0.0
        invalidate(self.choice_state, self.belief)

    def unmark_terminal(self, s: int) -> None:
        """Undo `mark_terminal` for a state in which no action was tried."""
        utility = self.strategy.utility
        assert utility is None or isinstance(utility, str)
        fresh = new_belief(self.model, utility, None, self.strategy.untried)  # without observations
        stride, n_actions = self.belief.graph.stride, self.model.n_actions
        untried = fresh.utility.reshape(-1, fresh.graph.stride)[s, :n_actions]
        self.belief.utility.reshape(-1, stride)[s, :n_actions] = untried
        if len(self.choice_state.q):
            self.choice_state.q.reshape(-1, stride)[s, :n_actions] = self.strategy.coordinate.initial
        invalidate(self.choice_state, self.belief)

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
        return explore(self.belief, self.choice_state, self.truth(world), record, u_agent, u_world, u_start)

    def action_values(self, s: int) -> FloatArray:
        """Value of each action in state `s` to the coordination method, (M,)."""
        self._call("evaluate_actions", evaluate_actions, self.belief, self.choice_state, s)
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
        novelty_belief, done = new_belief(self.model, "novelty", world), 0
        missing = float(self._row_novelty(novelty_belief).sum())
        record = ReplayRecord.allocate(len(steps), self.model.n_actions, missing, self.strategy.relocates)
        for begin, until, terminal, not_terminal in iter_segments(len(steps), ends):
            if terminal:
                record.missing[begin] -= self._row_novelty(novelty_belief)[terminal].sum()
                self.mark_terminal(np.array(terminal, dtype=np.int64))
            before = record.missing[begin]
            for s in not_terminal:  # from this line on; `record.missing[begin]` still counts them as terminal
                record.missing[begin] += self._row_novelty(novelty_belief)[s].sum()
                self.unmark_terminal(s)
            novelty_belief, done = self.replay_lines(novelty_belief, record, steps[:until], begin)
            record.missing[begin] = before
            if done < until:
                break
        return record, done

    def copy_with_novelty(self, last: IntArray) -> Belief:
        """Copy the belief, with novelty as its utility; `last` is as in `load_state`."""
        novelty_belief = new_belief(self.model, "novelty")
        if novelty_belief.graph.capacity < self.belief.graph.capacity:
            novelty_belief = with_capacity(novelty_belief, self.belief.graph.capacity)
        restore(novelty_belief, self._observed(), last)
        return novelty_belief

    def replay_lines(
        self, novelty_belief: Belief, record: ReplayRecord, steps: IntArray, begin: int
    ) -> tuple[Belief, int]:
        """Replay the lines from `begin` on, and fill these lines of `record`.

        Parameters
        ----------
        novelty_belief : Belief
            The belief before line `begin`, with novelty as its utility.
        record : ReplayRecord
            Arrays to fill.
        steps : ndarray of int, shape (T, 3)
            Lines s, a, s_next.
        begin : int
            First line to replay.

        Returns
        -------
        novelty_belief : Belief
            The belief after the last line learned.
        done : int
            The first line that could not be learned, or T.
        """
        done, status = begin, 0
        while done < len(steps) and status != IMPOSSIBLE:
            done, status = replay(self.belief, self.choice_state, novelty_belief, record, steps, done)
            if status == FULL:
                self._widen()
                novelty_belief = with_capacity(novelty_belief, self.belief.graph.capacity)
        record.probabilities[begin:done] = self._replay_probabilities(record, steps, slice(begin, done))
        return novelty_belief, done

    def _row_novelty(self, novelty_belief: Belief) -> FloatArray:
        """Expected missing information of every row in bits, (N, M), from a belief with novelty as its utility."""
        return novelty_belief.utility.reshape(-1, novelty_belief.graph.stride)[:, : self.model.n_actions]

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
        n_possible = np.count_nonzero(self.belief.utility > -np.inf)  # neither terminal states nor padding
        return rule.add_lapses(share, record.utility[lines] > -np.inf, n_possible)

    def truth(self, world: World) -> Truth:
        """The true world in the form that kernels read."""
        if self._truth is None:
            self._truth = new_truth(world, self.model, self.belief.graph)
        return self._truth

    def utility(self) -> FloatArray:
        """Current utilities `[a, s]`."""
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
        q = self.choice_state.q.reshape(-1, self.belief.graph.stride)[:, : self.model.n_actions]
        return {
            "counts": self._observed(),
            "visits": self.choice_state.visits[:-1],
            "q": q,
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
        needed = (
            int(np.bincount(outcomes[:, 0], minlength=1).max()) + 1
        )  # one more for the state that the prior singles out
        while 0 < self.belief.graph.capacity < min(needed, round_up(self.model.n_states)):
            self._widen()
        if not restore(self.belief, counts, last):
            raise ValueError("it was observed what the prior calls impossible")
        graph, choice = self.belief.graph, self.choice_state
        choice.visits[:-1] = checked_numbers("visits", state["visits"], (self.model.n_states,), 0, MAX_COUNT)
        choice.visits[-1] = choice.visits[:-1].sum()
        choice.current_state[:] = checked_numbers("here", state["here"], (1,), -1, self.model.n_states - 1)
        if len(choice.q):
            shape = (self.model.n_states, graph.n_actions)
            choice.q.reshape(-1, graph.stride)[:, : graph.n_actions] = checked_numbers("q", state["q"], shape)
        invalidate(choice, self.belief)

    def _widen(self) -> None:
        """Double the slots of every state."""
        self.belief = with_capacity(self.belief, min(2 * self.belief.graph.capacity, round_up(self.model.n_states)))
        self.choice_state = rebind_belief(self.choice_state, self.belief)


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
