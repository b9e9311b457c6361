"""An explorer: built for a prior and a strategy, run, saved and restored.

What does not change from run to run is worked out once per prior or world (`berlyne.engine.caches`).
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
MAX_COUNT = 2**31 - 1
"""Most observations: they are counted in 32 bits."""


def can_compile(prior: Any, strategy: Strategy) -> bool:
    """Whether prior, utility and method are all ones that the kernels know."""
    known_parts = is_compiled_prior(prior) and type(strategy.coordinate) in METHODS
    if not known_parts or not (strategy.utility is None or isinstance(strategy.utility, str)):
        return False
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

    Same calls and same actions as `NumpyAgent`. `world` is needed by strategies that may see it, and
    tells how many slots each state may come to need.
    """

    def __init__(self, model: InternalModel, strategy: Strategy, world: World | None = None) -> None:
        if model.n_obs:
            raise ValueError("a compiled explorer starts from a model that has observed nothing")
        prior: Any = model.prior
        assert strategy.utility is None or isinstance(strategy.utility, str)
        self.model, self.strategy = model, strategy
        self.belief = new_belief(model, strategy.utility, world, strategy.untried)
        self.choice_state = new_choice_state(strategy.coordinate, strategy.rule, self.belief, prior.support, world)
        self._truth: Truth | None = None
        self.entry_points: dict[str, Any] = {}  # entry points; minds of the same strategy and kind of prior share them

    def act(self, s: int, u: FloatArray) -> int:
        """The action to take in state `s`."""
        return self._choose(s, u)[1]

    def choose_pair(self, u: FloatArray) -> tuple[int, int]:
        """The state to go to and the action to take there, of a strategy that may relocate."""
        return self._choose(-1, u)

    def _choose(self, s: int, u: FloatArray) -> tuple[int, int]:
        s, a = self._call("act", act, self.belief, self.choice_state, s, float(u[0]), float(u[1]))
        return int(s), int(a)

    def _call(self, name: str, kernel: Any, *arguments: Any) -> Any:
        """What a kernel returns, whose arguments always have the same types."""
        if name not in self.entry_points:
            self.entry_points[name] = entry_point(kernel, arguments)
        return self.entry_points[name](*arguments)

    def observe(self, s: int, a: int, s_next: int) -> None:
        """Learn one transition."""
        seen = self._take_in(s, a, s_next)
        if seen == FULL:
            self._widen()
            seen = self._take_in(s, a, s_next)
        if seen == IMPOSSIBLE:
            raise impossible_transition(s, a, s_next)

    def _take_in(self, s: int, a: int, s_next: int) -> int:
        return int(self._call("observe", observe, self.belief, self.choice_state, s, a, s_next))

    @property
    def current_state(self) -> int:
        """The state it is in as far as it knows; -1 for unknown."""
        return int(self.choice_state.current_state[0])

    def copy(self, model: InternalModel) -> CompiledAgent:
        """Another mind that knows what this one does, which `model` is, and goes its own way."""
        blank = InternalModel(model.prior, n_states=model.n_states, n_actions=model.n_actions)
        other = CompiledAgent(blank, self.strategy)
        other.entry_points = self.entry_points
        last = model.last_outcomes
        tried = np.flatnonzero(last >= 0)
        other.load_state(self.state_dict(), np.stack([tried, last[tried]], axis=1))
        return other

    def imagine(self, s: int, ends: BoolArray, u_agent: FloatArray, u_world: FloatArray) -> None:
        """Go on from state `s` where what is predicted happens: one step for each line of `u_agent`.

        Where `ends[s_next]` the episode is over and begins again in `s`.
        """
        path, done = np.full(len(u_world) + 1, s, dtype=np.int32), 0
        while True:
            done += imagine(self.belief, self.choice_state, s, ends, path[done:], u_agent[done:], u_world[done:])
            if done == len(u_world):
                return
            self._widen()

    def mark_terminal(self, states: IntArray) -> None:
        """Know that episodes end in these states: no action can be taken there, so none is worth anything."""
        graph, n_actions = self.belief.graph, self.model.n_actions
        worth = -np.inf if self.strategy.relocates else 0.0  # one that may go anywhere must not go there
        self.belief.utility.reshape(-1, graph.stride)[states, :n_actions] = worth
        if len(self.choice_state.q):
            self.choice_state.q.reshape(-1, graph.stride)[states, :n_actions] = 0.0
        invalidate(self.choice_state, self.belief)

    def unmark_terminal(self, s: int) -> None:
        """Forget that episodes end in a state in which nothing was tried."""
        utility = self.strategy.utility
        assert utility is None or isinstance(utility, str)
        fresh = new_belief(self.model, utility, None, self.strategy.untried)  # which has tried nothing anywhere
        stride, n_actions = self.belief.graph.stride, self.model.n_actions
        untried = fresh.utility.reshape(-1, fresh.graph.stride)[s, :n_actions]
        self.belief.utility.reshape(-1, stride)[s, :n_actions] = untried
        if len(self.choice_state.q):
            self.choice_state.q.reshape(-1, stride)[s, :n_actions] = self.strategy.coordinate.initial
        invalidate(self.choice_state, self.belief)

    def run(
        self, world: World, record: RunRecord, u_agent: FloatArray, u_world: FloatArray, u_start: FloatArray = NO_RESETS
    ) -> int:
        """Choose, transition, learn, measure; once for each line of `u_agent`, or until the world does the impossible.

        `u_start` (T,) draws where episodes begin; it may be empty if the world has no terminal states. Returns the
        steps made.
        """
        return explore(self.belief, self.choice_state, self.truth(world), record, u_agent, u_world, u_start)

    def action_values(self, s: int) -> FloatArray:
        """What the method thinks of each action in state `s`, (M,)."""
        self._call("weigh_up", evaluate_actions, self.belief, self.choice_state, s)
        return self.choice_state.values.copy()

    def pair_values(self) -> FloatArray:
        """What a method that may relocate thinks of all pairs, `[s, a]`."""
        return np.ascontiguousarray(self.utility().T)

    def probabilities(self, s: int) -> FloatArray:
        """The chance of each action in state `s`, (M,)."""
        return self.strategy.rule.probabilities(self.action_values(s))

    def pair_probabilities(self) -> FloatArray:
        """The chance of each pair, `[s, a]`."""
        values = self.pair_values()
        return self.strategy.rule.probabilities(values.ravel()).reshape(values.shape)

    def replay(
        self, steps: IntArray, world: World | None = None, ends: TerminalChanges = ()
    ) -> tuple[ReplayRecord, int]:
        """What this mind, which has seen nothing yet, thinks along a history (T, 3) of lines s, a, s_next.

        Returns the lines learned as well: fewer if the next one is impossible. `world` as it was when this was made;
        `ends` are what is known and learned of ends.
        """
        known, done = new_belief(self.model, "novelty", world), 0
        left = float(self._left(known).sum())
        record = ReplayRecord.allocate(len(steps), self.model.n_actions, left, self.strategy.relocates)
        for begin, until, closed, opened in iter_segments(len(steps), ends):
            if closed:
                record.missing[begin] -= self._left(known)[closed].sum()
                self.mark_terminal(np.array(closed, dtype=np.int64))
            before = record.missing[begin]
            for s in opened:  # when the line is made: before, it was an end
                record.missing[begin] += self._left(known)[s].sum()
                self.unmark_terminal(s)
            known, done = self.replay_lines(known, record, steps[:until], begin)
            record.missing[begin] = before
            if done < until:
                break
        return record, done

    def copy_with_novelty(self, last: IntArray) -> Belief:
        """All that this mind knows, with novelty as its utility; `last` is as `remember` takes it."""
        known = new_belief(self.model, "novelty")
        if known.graph.capacity < self.belief.graph.capacity:
            known = with_capacity(known, self.belief.graph.capacity)
        restore(known, self._observed(), last)
        return known

    def replay_lines(self, known: Belief, record: ReplayRecord, steps: IntArray, begin: int) -> tuple[Belief, int]:
        """Think and learn along the lines from `begin` on, of which `record` come to tell.

        `known` is what is known before them, with novelty as its utility. Returns what is known after them, and the
        first line that could not be learned, or how many lines there are.
        """
        done, why = begin, 0
        while done < len(steps) and why != IMPOSSIBLE:
            done, why = replay(self.belief, self.choice_state, known, record, steps, done)
            if why == FULL:
                self._widen()
                known = with_capacity(known, self.belief.graph.capacity)
        record.probabilities[begin:done] = self._chances(record, steps, slice(begin, done))
        return known, done

    def _left(self, known: Belief) -> FloatArray:
        """What is left to learn of every row, (N, M), of a belief that values novelty."""
        return known.utility.reshape(-1, known.graph.stride)[:, : self.model.n_actions]

    def _chances(self, record: ReplayRecord, steps: IntArray, lines: slice) -> FloatArray:
        """The chance of every action in the state of some lines, (T, M); for one who may relocate among all pairs."""
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

    def truth(self, world: World) -> Truth:
        """What the loop sees of the world, and measures this mind against."""
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
        """Row r = s M + a, s_next and n of observed transitions, `(K, 3)`, in the order of slots."""
        graph = self.belief.graph
        by_slot = self.belief.n.reshape(-1, graph.stride)
        slot, a = np.nonzero(by_slot > 0)
        s = np.searchsorted(graph.start, slot, side="right") - 1
        return np.stack([s * graph.n_actions + a, graph.succ[slot], by_slot[slot, a]], axis=1).astype(np.int64)

    def state_dict(self) -> dict[str, Any]:
        """What the explorer has learned and cannot be worked out again, as arrays.

        counts : (K, 3), row r = s M + a, s_next and n, in the order in which a state's outcomes were first seen.
        visits : (N,); q : Q-learning's table, [s, a], empty for other methods; here : (1,), where it is, or -1.
        """
        q = self.choice_state.q.reshape(-1, self.belief.graph.stride)[:, : self.model.n_actions]
        return {
            "counts": self._observed(),
            "visits": self.choice_state.visits[:-1],
            "q": q,
            "here": self.choice_state.current_state,
        }

    def load_state(self, memory: dict[str, Any], last: IntArray) -> None:
        """Take up where the explorer that gave this `memory` was, which has observed nothing yet itself.

        last : (rows, 2), row and last outcome of every row that was tried.

        Raises
        ------
        ValueError if it is the memory of another explorer, or of none.
        """
        counts, last = checked_state_counts(memory["counts"], last, self.model.n_actions, self.model.n_states)
        outcomes = np.unique(np.stack([counts[:, 0] // self.model.n_actions, counts[:, 1]], axis=1), axis=0)
        needed = int(np.bincount(outcomes[:, 0], minlength=1).max()) + 1  # and one that the prior singles out
        while 0 < self.belief.graph.capacity < min(needed, round_up(self.model.n_states)):
            self._widen()
        if not restore(self.belief, counts, last):
            raise ValueError("it was observed what the prior calls impossible")
        graph, choice = self.belief.graph, self.choice_state
        choice.visits[:-1] = checked_numbers("visits", memory["visits"], (self.model.n_states,), 0, MAX_COUNT)
        choice.visits[-1] = choice.visits[:-1].sum()
        choice.current_state[:] = checked_numbers("here", memory["here"], (1,), -1, self.model.n_states - 1)
        if len(choice.q):
            shape = (self.model.n_states, graph.n_actions)
            choice.q.reshape(-1, graph.stride)[:, : graph.n_actions] = checked_numbers("q", memory["q"], shape)
        invalidate(choice, self.belief)

    def _widen(self) -> None:
        """Double the slots of every state."""
        self.belief = with_capacity(self.belief, min(2 * self.belief.graph.capacity, round_up(self.model.n_states)))
        self.choice_state = rebind_belief(self.choice_state, self.belief)


def checked_numbers(name: str, values: Any, shape: tuple[int, ...], low: int = 0, high: int = 0) -> Any:
    """Numbers of that shape: whole ones within a range, or any finite ones if there is none."""
    array = np.asarray(values)
    whole = low < high
    right = array.shape == shape and array.dtype.kind in ("iu" if whole else "iuf")
    if not right or not np.all((array >= low) & (array <= high) if whole else np.isfinite(array)):
        raise ValueError(f"{name} are not numbers of the right shape and range")
    return array


def checked_state_counts(counts: Any, last: Any, n_actions: int, n_states: int) -> tuple[IntArray, IntArray]:
    """Counts and last outcomes, as `CompiledAgent.remember` takes them, that fit together and into their range."""
    rows = n_actions * n_states
    for name, lines, width in (("counts", counts, 3), ("last outcomes", last, 2)):
        array = np.asarray(lines)
        checked_numbers(name, array, (len(array), width), 0, MAX_COUNT)
        if np.any(array[:, 0] >= rows) or np.any(array[:, 1] >= n_states):
            raise ValueError(f"{name} lead outside the world")
    counts, last = (np.ascontiguousarray(lines, dtype=np.int64) for lines in (counts, last))
    totals = np.bincount(counts[:, 0], counts[:, 2], rows) if len(counts) else np.zeros(rows)
    if np.any(counts[:, 2] < 1) or np.any(totals > MAX_COUNT):
        raise ValueError("counts are not numbers of the right shape and range")
    if sorted(last[:, 0].tolist()) != np.flatnonzero(totals).tolist():
        raise ValueError("the last outcomes are not those of the rows that were tried")
    return counts, last
