"""Prepares the compiled kernels for a prior, a strategy and a world.

What does not change from run to run (slots, first utilities, which values a step can change) is
worked out once per prior or world and kept with it. The kernels themselves are in `berlyne.kernels`.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from berlyne.arrays import FloatArray, IndexArray, IntArray
from berlyne.coordination import (
    CounterBased,
    Greedy,
    KnowingWorld,
    LeastTaken,
    QLearning,
    Relocating,
    UniformChoice,
    ValueIteration,
)
from berlyne.model import InternalModel
from berlyne.priors import Dirichlet, OneTwoThree
from berlyne.record import Record
from berlyne.rows import Counts, Rows, Support
from berlyne.strategies import Strategy
from berlyne.utilities import UTILITIES, peig
from berlyne.worlds.world import World

LANES, BLOCK = 4, 5  # as in kernels.lanes, which is imported only when it is first needed
SMALL_FULL = 32
"""Up to this many states a row that can reach all of them has a slot for each from the start."""
TABLE = 1 << 12
"""Logarithms of counts below this come from a table."""
LISTED = 1 << 21
"""Most entries of the lists of values to repair; larger worlds search from step to step."""
KEPT = 1 << 20
"""Largest slot arrays that are kept between runs rather than made again."""

_METHODS: dict[type, int] = {
    UniformChoice: 0,
    LeastTaken: 1,
    CounterBased: 2,
    Greedy: 3,
    ValueIteration: 4,
    KnowingWorld: 4,
    QLearning: 5,
    Relocating: 6,
}
_ACT, _OBSERVE = 1, 2  # modes of kernels.loop.run, which is imported only when it is first needed
_UTILITIES: dict[str | None, int] = {None: -1, "PIG": 0, "PEIG": 1, "PMC": 2, "PLC": 3, "novelty": 4}


def _rounded_up(n: int) -> int:
    """The next multiple of `LANES`."""
    return -(-n // LANES) * LANES


def can_compile(prior: Any, strategy: Strategy) -> bool:
    """Whether prior, utility and method are all ones that the kernels know."""
    known_utility = strategy.utility is None or isinstance(strategy.utility, str)
    return type(prior) in (Dirichlet, OneTwoThree) and known_utility and type(strategy.coordinate) in _METHODS


@dataclass(eq=False)
class Slots:
    """The outcomes of every state, a slot each, for all its actions together; padded to fours.

    is_full : whether slot k of every state is state k.
    """

    start: IntArray
    length: IndexArray
    succ: IndexArray
    is_full: bool
    repairs: dict[int, tuple[IntArray, IndexArray]] = field(default_factory=dict)

    @classmethod
    def of(cls, support: Support) -> Slots:
        """The slots of an explicit support."""
        from berlyne.kernels.slots import pad_slots, union_slots

        indptr, indices = support.entries()
        start, length, succ = union_slots(indptr, indices, support.n_actions)
        return cls(*pad_slots(start, length, succ, LANES), bool(np.all(length == support.n_states)))

    def listed_repairs(self, depth: int) -> tuple[IntArray, IndexArray]:
        """Which values each step can change (see `kernels.plan`); empty for large worlds, and if it can change all."""
        from berlyne.kernels.plan import list_repairs

        if depth not in self.repairs:
            if self.is_full or len(self.start) ** 2 > LISTED:
                self.repairs[depth] = np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int32)
            else:
                self.repairs[depth] = list_repairs(self.start, self.length, self.succ, depth, LISTED)
        return self.repairs[depth]

    def spread(self, rows: Rows, stride: int) -> FloatArray:
        """Probabilities of `rows` in these slots, `[slot * stride + a]`."""
        from berlyne.kernels.slots import spread

        out = np.zeros(len(self.succ) * stride)
        spread(rows.indptr, rows.indices, rows.data, self.start, self.succ, stride, rows.n_actions, out)
        return out

    def spread_evenly(self, support: Support, stride: int) -> tuple[FloatArray, IndexArray]:
        """Estimates and counts before any data: even over each row's support, and 0, or -1 outside it."""
        from berlyne.kernels.slots import spread_evenly

        weight = np.zeros(len(self.succ) * stride)
        n = np.full(len(self.succ) * stride, -1, dtype=np.int32)
        spread_evenly(*support.entries(), self.start, self.succ, stride, support.n_actions, weight, n)
        return weight, n


@lru_cache(64)
def _over_counts(alpha: float, which: int) -> FloatArray:
    """log(1 + 1/c) and the summand of PIG or novelty at c = alpha + n, for n below `TABLE`."""
    from scipy.special import digamma

    c = alpha + np.arange(TABLE)
    novelty = which == _UTILITIES["novelty"]
    summand = c * (digamma(c + 1.0) - np.log(c)) if novelty else c * (c + 1.0) * np.log1p(1.0 / c)
    return np.stack([np.log1p(1.0 / c), summand])


def _knowledge(prior: OneTwoThree, which: int) -> FloatArray:
    """Estimates, gains and utility over [a, T, first_seen], side by side."""
    tables = prior.tables
    chosen = {"PIG": tables.pig, "PMC": tables.pmc, "PLC": tables.plc, "novelty": tables.novelty}
    by_code = {_UTILITIES[name]: values for name, values in chosen.items()}
    p_first = np.repeat(tables.p_first[:, :, None], 2, axis=2)
    columns = [p_first, tables.p_other, tables.gain[..., 0], tables.gain[..., 1], by_code.get(which, tables.pig)]
    return np.ascontiguousarray(np.stack(columns, axis=-1))


class _Kept:
    """What is worked out once per prior and per world."""

    def __init__(self) -> None:
        self.slots: WeakKeyDictionary[Any, Slots] = WeakKeyDictionary()
        self.utilities: WeakKeyDictionary[Any, dict[Any, FloatArray]] = WeakKeyDictionary()
        self.alike: OrderedDict[tuple[Any, ...], dict[Any, FloatArray]] = OrderedDict()
        self.truths: WeakKeyDictionary[World, tuple[FloatArray, FloatArray]] = WeakKeyDictionary()
        self.worlds: WeakKeyDictionary[World, tuple[Slots, FloatArray]] = WeakKeyDictionary()

    def utilities_of(self, prior: Any) -> dict[Any, FloatArray]:
        """First utilities and tables of a prior, shared by those that a few numbers describe."""
        if isinstance(prior, OneTwoThree):
            described: tuple[Any, ...] = prior.n_states, prior.n_actions, prior.p_escape, prior.formula
        elif prior.support.is_full:
            described = prior.n_states, prior.n_actions, prior.alpha
        else:
            return self.utilities.setdefault(prior, {})
        kept = self.alike.setdefault(described, {})
        while len(self.alike) > 64:
            self.alike.popitem(last=False)
        return kept


_KEPT = _Kept()


class CompiledMind:
    """Beliefs, utilities and choices of one explorer, for compiled kernels.

    Same calls and same actions as `PlainMind`. `world` is needed by strategies that may see it, and
    tells how many slots each state may come to need.
    """

    def __init__(self, model: InternalModel, strategy: Strategy, world: World | None = None) -> None:
        prior: Any = model.prior
        self.prior, self.strategy = prior, strategy
        self.n_states, self.n_actions = model.n_states, model.n_actions
        self.stride = _rounded_up(self.n_actions)
        self.explicit = isinstance(prior, Dirichlet) and not (prior.support.is_full and prior.n_states > SMALL_FULL)
        self.belief = self._first_belief(prior, world)
        self.plan = self._first_plan(world)
        self.agent = self._first_agent()
        self._states, self._actions, self._outcomes = (np.zeros(1, dtype=np.int32) for _ in range(3))
        self._aligned, self._l1 = np.empty(0), np.empty(0)
        self._none, self._u = np.empty(0), np.empty((1, 2))
        self._entry: Any = None
        self._no_truth = self._empty_truth()
        if model.n_obs:
            raise ValueError("a compiled explorer starts from a model that has observed nothing")

    def _first_belief(self, prior: Any, world: World | None) -> Any:
        from berlyne.kernels.belief import DIRICHLET, ONE_TWO_THREE, SIZE, Belief

        which = _UTILITIES[self.strategy.utility]  # type: ignore[index]
        tables = self._tables(prior, which)
        if self.explicit:
            slots = self._prior_slots(prior.support)
            start, length, succ = slots.start, slots.length, slots.succ
            weight, n = slots.spread_evenly(prior.support, self.stride)
            share, capacity = np.empty(0), 0
        else:
            capacity = self._capacity(prior, world)
            start = np.arange(self.n_states, dtype=np.int64) * capacity
            length = np.zeros(self.n_states, dtype=np.int32)
            succ = np.zeros(self.n_states * capacity, dtype=np.int32)
            weight, n = np.zeros(len(succ) * self.stride), np.zeros(len(succ) * self.stride, dtype=np.int32)
            share = self._first_share(prior, length, weight, capacity)
        tally = np.zeros((self.n_states, self.stride, 4), dtype=np.int32)
        if isinstance(prior, Dirichlet):
            tally[:, : self.n_actions, SIZE] = prior.support.sizes.reshape(self.n_states, self.n_actions)
        dirichlet = isinstance(prior, Dirichlet)
        return Belief(
            start, length, succ, weight, share, n, tally.reshape(-1, 4), self._first_utility(prior), *tables,
            DIRICHLET if dirichlet else ONE_TWO_THREE, which, capacity, self.n_states, self.stride,
            prior.alpha if dirichlet else 0.0,
        )  # fmt: skip

    def _prior_slots(self, support: Support) -> Slots:
        if support not in _KEPT.slots:
            _KEPT.slots[support] = Slots.of(support)
        return _KEPT.slots[support]

    def _capacity(self, prior: Any, world: World | None) -> int:
        """Slots a state may need: what a world lets happen, or a few to begin with; a multiple of four."""
        if isinstance(prior, OneTwoThree):
            needed = 1 + self.n_actions * (self.n_actions + 1) // 2
        elif world is None:
            needed = 16
        else:
            needed = int(np.diff(world.rows.indptr[:: self.n_actions]).max())
        return _rounded_up(min(self.n_states, needed))

    def _first_share(self, prior: Any, length: IndexArray, weight: FloatArray, capacity: int) -> FloatArray:
        share = np.zeros((self.n_states, self.stride))
        if isinstance(prior, Dirichlet):
            share[:, : self.n_actions] = 1.0 / self.n_states
            return share.ravel()
        share[:, : self.n_actions] = prior.tables.p_other[:, 0, 0]
        length[:] = 1  # slot 0 of each state is for state 0, which has an estimate of its own
        by_slot = weight.reshape(self.n_states, capacity, self.stride)
        by_slot[:, 0, : self.n_actions] = prior.tables.p_first[:, 0] - prior.tables.p_other[:, 0, 0]
        return share.ravel()

    def _first_utility(self, prior: Any) -> FloatArray:
        """Utilities before any data, `[s * stride + a]`, -inf in the padding."""
        key = self.strategy.utility, self.strategy.untried
        kept = _KEPT.utilities_of(prior)
        if key not in kept:
            model = InternalModel(prior)
            values = np.zeros((self.n_actions, self.n_states))
            if self.strategy.utility == "PEIG":
                values = peig(model, self.strategy.untried)
            elif self.strategy.utility is not None:
                values = UTILITIES[str(self.strategy.utility)].of(model)
            padded = np.full((self.n_states, self.stride), -np.inf)
            padded[:, : self.n_actions] = values.T
            if padded.size > KEPT:
                return padded.ravel()
            kept[key] = padded.ravel()
        return kept[key].copy()

    def _tables(self, prior: Any, which: int) -> tuple[FloatArray, FloatArray]:
        """Tables over counts (Dirichlet) and over knowledge (1-2-3), as in `Belief`; one of them empty."""
        kept = _KEPT.utilities_of(prior)
        key = "table", which
        if key not in kept:
            kept[key] = _knowledge(prior, which) if isinstance(prior, OneTwoThree) else _over_counts(prior.alpha, which)
        if isinstance(prior, OneTwoThree):
            return np.empty((2, 0)), kept[key]
        return kept[key], np.empty((0, 0, 0, 0))

    def _first_plan(self, world: World | None) -> Any:
        from berlyne.kernels.plan import Plan

        belief, coordinate = self.belief, self.strategy.coordinate
        start, length, succ = belief.start, belief.length, belief.succ
        weight, share = belief.weight, belief.share
        depth, gamma = 0, 1.0
        slots: Slots | None = None
        if isinstance(coordinate, KnowingWorld):
            assert world is not None
            slots, weight = self._world_slots(world)
            start, length, succ, share = slots.start, slots.length, slots.succ, np.empty(0)
            depth, gamma = coordinate.inner.steps_back, coordinate.inner.gamma
        elif isinstance(coordinate, ValueIteration):
            depth, gamma = coordinate.steps_back, coordinate.gamma
            slots = self._prior_slots(self.prior.support) if self.explicit else None
        edge, todo = np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int32)
        if slots is not None and depth:
            edge, todo = slots.listed_repairs(depth)
        values = np.zeros(self.n_states * depth)
        if depth:
            values[::depth] = gamma * belief.utility.reshape(self.n_states, self.stride).max(axis=1)
        in_one_piece = slots is not None and slots.is_full and self.n_states >= BLOCK
        searching = depth > 0 and len(share) == 0 and not in_one_piece
        return Plan(
            start, length, succ, weight, share, belief.utility, values, edge, todo,
            np.array([-1, 0], dtype=np.int64),
            np.zeros(self.n_states + 1 if searching else 1, dtype=np.int64),
            np.empty(self.n_states if searching else 0, dtype=np.int32),
            np.empty(depth if searching else 0, dtype=np.int64),
            np.empty(2 * self.n_states if in_one_piece else 0),
            self.stride, depth, float(gamma),
        )  # fmt: skip

    def _world_slots(self, world: World) -> tuple[Slots, FloatArray]:
        """The true world in slots, those of the prior where it has the same support."""
        kept = _KEPT.worlds.get(world)
        if kept is None:
            rows, prior = world.rows, world.prior
            same = isinstance(prior, Dirichlet) and prior.support.indices is rows.indices
            slots = self._prior_slots(prior.support) if same else Slots.of(rows.support)  # type: ignore[union-attr]
            kept = slots, slots.spread(rows, self.stride)
            if kept[1].size <= KEPT:
                _KEPT.worlds[world] = kept
        return kept

    def _first_agent(self) -> Any:
        from berlyne.kernels.choose import Q_LEARNING, RELOCATE, Agent, grow_tree

        coordinate: Any = self.strategy.coordinate
        method = _METHODS[type(coordinate)]
        n_rows = self.n_states * self.stride
        learns = method == Q_LEARNING
        n_nodes = 2 << (n_rows - 1).bit_length() if method == RELOCATE else 0
        agent = Agent(
            np.zeros(self.n_states + 1, dtype=np.int64),
            np.full(n_rows if learns else 0, float(coordinate.initial) if learns else 0.0),
            np.empty(n_nodes),
            np.empty(n_nodes, dtype=np.int64),
            np.empty(self.n_actions),
            np.array([-1], dtype=np.int64),
            method,
            self.n_actions,
            float(coordinate.learning_rate) if learns else 0.0,
            float(coordinate.gamma) if learns else 0.0,
            float(coordinate.epsilon) if learns else 0.0,
        )
        if method == RELOCATE:
            grow_tree(agent.top, agent.ties, self.belief.utility)
        return agent

    def act(self, s: int, u: FloatArray) -> int:
        """The action to take in state `s`."""
        self._states[0] = s
        self._u[0] = u
        self._step(_ACT)
        return int(self._actions[0])

    def choose_pair(self, u: FloatArray) -> tuple[int, int]:
        """The state to go to and the action to take there, of a strategy that may relocate."""
        from berlyne.kernels.choose import best_row

        s, a = divmod(int(best_row(self.agent.top, self.agent.ties, u[0])), self.stride)
        return s, a

    def observe(self, s: int, a: int, s_next: int) -> None:
        """Learn one transition."""
        self._states[0], self._actions[0], self._outcomes[0] = s, a, s_next
        made = self._step(_OBSERVE)
        if made < 0:
            self._widen()
            made = self._step(_OBSERVE)
        if made == 0:
            raise ValueError(f"action {a} in state {s} led to state {s_next}, which the prior calls impossible")

    def run(self, world: World, record: Record, u_agent: FloatArray, u_world: FloatArray) -> None:
        """Choose, transition, learn, measure; once for each line of `u_agent`."""
        from berlyne.kernels.loop import SIMULATE, run

        begin, end = record.t, record.t + len(u_world)
        made = run(
            self.belief, self.plan, self.agent, self._truth(world), SIMULATE, u_agent, u_world,
            record.states[begin : end + 1], record.actions[begin:end], record.outcomes[begin:end],
            record.missing[begin : end + 1], record.l1[begin : end + 1],
        )  # fmt: skip
        if made != len(u_world):
            raise ValueError(f"the world did at step {begin + made} what the prior calls impossible")
        record.t = end

    def _step(self, mode: int) -> int:
        """One call of the kernel with no world behind it."""
        arguments = (
            self.belief, self.plan, self.agent, self._no_truth, mode, self._u, self._none,
            self._states, self._actions, self._outcomes, self._none, self._none,
        )  # fmt: skip
        if self._entry is None:
            from berlyne.kernels.compile import entry_point
            from berlyne.kernels.loop import run

            self._entry = entry_point(run, arguments)
        return int(self._entry(*arguments))

    def _truth(self, world: World) -> Any:
        from berlyne.kernels.loop import Truth

        if len(self._l1) == 0:
            aligned, l1 = _KEPT.truths.get(world) or self._first_distances(world)
            if aligned.size <= KEPT:
                _KEPT.truths[world] = aligned, l1
            self._aligned, self._l1 = aligned, l1.copy()
        rows = world.rows
        return Truth(rows.indptr, rows.indices, rows.data, rows.cumulative, self._aligned, self._l1)

    def _empty_truth(self) -> Any:
        from berlyne.kernels.loop import Truth

        none = self._none
        return Truth(np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int32), none, none, none, none)

    def _first_distances(self, world: World) -> tuple[FloatArray, FloatArray]:
        """The true probabilities in the belief's slots, and the L1 distance of each row before any data."""
        l1 = np.zeros((self.n_states, self.stride))
        l1[:, : self.n_actions] = InternalModel(self.prior).l1_distances(world).T
        if not self.explicit:
            return np.empty(0), l1.ravel()
        if self.prior.support.indices is world.rows.indices:
            return self._world_slots(world)[1], l1.ravel()
        return self._prior_slots(self.prior.support).spread(world.rows, self.stride), l1.ravel()

    def utility(self) -> FloatArray:
        """Current utilities `[a, s]`."""
        by_state = self.belief.utility.reshape(self.n_states, self.stride)
        return np.ascontiguousarray(by_state[:, : self.n_actions].T)

    def counts(self) -> Counts:
        """Observed transitions."""
        belief = self.belief
        where = np.flatnonzero(belief.n > 0)
        slot, a = np.divmod(where, self.stride)
        s = np.searchsorted(belief.start, slot, side="right") - 1
        keys = (s * self.n_actions + a) * self.n_states + belief.succ[slot]
        return Counts.from_keys(self.n_actions, self.n_states, keys, belief.n[where].astype(np.int64))

    @property
    def _learned(self) -> list[tuple[Any, str]]:
        """Which arrays change as the explorer learns; slots only where they are added as outcomes are seen."""
        slots = () if self.explicit else ("length", "succ")
        believed = ("weight", "share", "n", "tally", "utility", *slots)
        return [(self.belief, name) for name in believed] + [(self.agent, name) for name in ("visits", "q", "place")]

    def memory(self) -> dict[str, Any]:
        """All that the explorer has learned, as arrays; what can be worked out again is left out."""
        return {"capacity": np.array(self.belief.capacity), **{name: getattr(of, name) for of, name in self._learned}}

    def remember(self, memory: dict[str, Any]) -> None:
        """Take up where the explorer that gave this `memory` was."""
        from berlyne.kernels.choose import grow_tree

        while self.belief.capacity < min(int(memory["capacity"]), _rounded_up(self.n_states)):
            self._widen()
        for of, name in self._learned:
            mine, theirs = getattr(of, name), memory[name]
            if (mine.shape, mine.dtype) != (theirs.shape, theirs.dtype):
                raise ValueError(f"{name} has shape {theirs.shape} and type {theirs.dtype}, not those of this explorer")
            mine[...] = theirs
        self._check_indices()
        if self.strategy.relocates:
            grow_tree(self.agent.top, self.agent.ties, self.belief.utility)
        if self.plan.depth:
            by_state = self.belief.utility.reshape(self.n_states, self.stride)
            self.plan.values[:: self.plan.depth] = self.plan.gamma * by_state.max(axis=1)
            self.plan.home[:] = -1, 0

    def _check_indices(self) -> None:
        """Refuse a memory that leads outside the arrays: kernels follow indices without looking."""
        from berlyne.kernels.belief import FIRST, ONE_TWO_THREE, SEEN

        b = self.belief
        ranges = [(b.succ, 0, self.n_states - 1), (self.agent.place, -1, self.n_states - 1)]
        if not self.explicit:
            ranges.append((b.length, 0, b.capacity))
        if b.family == ONE_TWO_THREE:
            ranges += [(b.tally[:, SEEN], 0, self.n_actions), (b.tally[:, FIRST], 0, 1)]
        if not all(np.all((low <= values) & (values <= high)) for values, low, high in ranges):
            raise ValueError("a number in the memory lies outside its range")

    def _widen(self) -> None:
        """Double the slots of every state; those in use keep their place in each state."""
        old = self.belief
        capacity = min(2 * old.capacity, _rounded_up(self.n_states))

        def wider(values: Any, width: int) -> Any:
            by_state = values.reshape(self.n_states, old.capacity * width)
            grown = np.zeros((self.n_states, capacity * width), dtype=values.dtype)
            grown[:, : by_state.shape[1]] = by_state
            return grown.ravel()

        self.belief = old._replace(
            start=np.arange(self.n_states, dtype=np.int64) * capacity,
            succ=wider(old.succ, 1),
            weight=wider(old.weight, self.stride),
            n=wider(old.n, self.stride),
            capacity=capacity,
        )
        b = self.belief
        self.plan = self.plan._replace(start=b.start, succ=b.succ, weight=b.weight)
