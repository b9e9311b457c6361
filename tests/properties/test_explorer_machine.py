"""Any sequence of calls of an `Explorer`: undo restores the previous state, and load continues exactly.

The model of the state machine is a list of declared states and observations. After every step a new explorer that gets
the remaining entries of this list must return the same answers. There are fourteen tests of 15 examples each;
`BERLYNE_EXAMPLES=150` runs ten times as many.
"""

import os
import tempfile
from pathlib import Path

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from berlyne import ChineseRestaurant, Dirichlet, Explorer, OneTwoThree, Strategy
from berlyne.strategies.coordination import Relocating
from berlyne.strategies.registry import get_strategy
from messages import raises

N, M, SEED = 4, 2, 5
SUPPORT = np.random.default_rng(8).random((M, N, N)) < 0.6
SUPPORT[:, np.arange(N), (np.arange(N) + 1) % N] = True
LABELS = {"numbers": None, "labels": ["red", ("a", 1), 7, None]}

FIXED = {
    "full": lambda: Dirichlet(0.5, n_states=N, n_actions=M),
    "support": lambda: Dirichlet(1.0, SUPPORT),
    "1-2-3": lambda: OneTwoThree(N, M),
}
GROWING = {
    "restaurant": lambda: ChineseRestaurant(1.0),
    "discount": lambda: ChineseRestaurant(0.2, 0.5),
    "learning": lambda: ChineseRestaurant("ml"),
}
TESTED_STRATEGIES = [
    get_strategy("PIG(VI)", steps_back=3),
    get_strategy("PEIG(Q)", epsilon=0.3, learning_rate=0.3, initial=0.2),
    get_strategy("PLC(greedy)", temperature=0.1, lapse=0.2),
    get_strategy("CB"),
    get_strategy("LTA", ties="first"),
    get_strategy("Random"),
    Strategy("Unembodied", Relocating(), "PIG", lapse=0.3),
]
STEPS = st.lists(st.tuples(st.integers(0, N - 1), st.integers(0, M - 1), st.integers(0, N - 1)), min_size=2, max_size=6)
"""Observations before anything else happens: s, a, and the number of a possible outcome."""
EXAMPLES = int(os.environ.get("BERLYNE_EXAMPLES", "15"))


class Machine(RuleBasedStateMachine):
    """An explorer, and what was told to it."""

    strategy: Strategy

    def make(self):
        """An explorer that has been told nothing."""
        sizes = {"n_actions": M} if self.grows else {}
        return Explorer(self.prior(), self.strategy, seed=SEED, **self.named, **sizes)

    def begin(self, prior, labels, steps):
        self.prior, self.grows = prior, prior in GROWING.values()
        self.names = LABELS[labels] or list(range(N))
        self.named = {} if self.grows or labels == "numbers" else {"states": self.names}
        self.explorer = self.make()
        self.events = []
        self.fresh = None
        for s, a, choice in steps:
            self.happens(("observe", s, a, self.outcome(s, a, choice), False))

    @initialize(prior=st.sampled_from([*FIXED.values()]), labels=st.sampled_from([*LABELS]), steps=STEPS)
    def begin_fixed(self, prior, labels, steps):
        self.begin(prior, labels, steps)

    def tell(self, explorer, event):
        """Tell an explorer what the machine remembers."""
        kind, *arguments = event
        if kind == "observe":
            s, a, s_next, ended = arguments
            explorer.observe(self.names[s], a, self.names[s_next], ended=ended)
        elif kind == "discover":
            explorer.discover([self.names[s] for s in arguments[0]])
        else:
            explorer.ends_in([self.names[s] for s in arguments[0]])

    def happens(self, event):
        self.tell(self.explorer, event)
        self.events.append(event)
        self.fresh = None

    @property
    def known(self):
        """Numbers of the states that can be asked about."""
        return [s for s in range(N) if self.names[s] in self.explorer.states]

    @property
    def somewhere(self):
        """Whether there is a state that one may go to."""
        return len(self.explorer._terminal) < self.explorer.n_states

    @property
    def n_obs(self):
        return sum(event[0] == "observe" for event in self.events)

    def possible(self, s, a):
        row = self.explorer.model.theta_hat_row(a, self.names[s])
        return [s_next for s_next in range(N) if row[s_next] > 0]

    def outcome(self, s, a, choice):
        """A state that can follow."""
        if self.grows:
            return choice
        possible = self.possible(s, a)
        return possible[choice % len(possible)]

    @rule(s=st.integers(0, N - 1), a=st.integers(0, M - 1), choice=st.integers(0, N - 1), ended=st.booleans())
    def observe(self, s, a, choice, ended):
        self.happens(("observe", s, a, self.outcome(s, a, choice), ended and choice % 2 == 0))

    @rule(s=st.integers(0, N - 1), a=st.integers(0, M - 1), s_next=st.integers(0, N - 1))
    def observe_the_impossible(self, s, a, s_next):
        """A refused observation has no effect."""
        if self.grows or s_next in self.possible(s, a):
            return
        with raises(ValueError, "probability zero", "prior"):
            self.explorer.observe(self.names[s], a, self.names[s_next])
        self.fresh = None

    @rule(s=st.integers(0, N - 1))
    def ask(self, s):
        """Asking changes nothing, however often."""
        if self.strategy.relocates:
            if self.somewhere:
                assert self.explorer.choose_pair() == self.explorer.choose_pair()
        elif s in self.known:
            assert self.explorer.act(self.names[s]) == self.explorer.act(self.names[s])
            self.explorer.act(self.names[s], among=[0])

    @rule(states=st.lists(st.integers(0, N - 1), max_size=2))
    def ends_in(self, states):
        self.happens(("ends", tuple(states)))

    @precondition(lambda self: self.grows)
    @rule(states=st.lists(st.integers(0, N - 1), max_size=2))
    def discover(self, states):
        self.happens(("discover", tuple(states)))

    @precondition(lambda self: self.n_obs)
    @rule(n=st.integers(1, 6))
    def undo(self, n):
        """Declared states stay declared, as documented; undone observations are removed."""
        n = min(n, self.n_obs)
        self.explorer.undo(n)
        left = self.n_obs - n
        events, seen = [], 0
        for event in self.events:
            seen += event[0] == "observe"
            if event[0] != "observe" or seen <= left:
                events.append(event)
        self.events, self.fresh = events, None

    @rule()
    def save_and_load(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "explorer.npz"
            self.explorer.save(path)
            self.explorer = Explorer.load(path)
        self.fresh = None

    @rule()
    def save_and_go_on(self):
        with tempfile.TemporaryDirectory() as folder:
            self.explorer.save(Path(folder) / "explorer.npz")
        self.fresh = None

    @invariant()
    def is_what_a_fresh_one_would_be(self):
        if not hasattr(self, "explorer") or self.fresh is not None:
            return
        self.fresh = self.make()
        for event in self.events:
            self.tell(self.fresh, event)
        one, other = self.explorer, self.fresh
        assert (one.n_obs, one.n_states, list(one.states)) == (other.n_obs, other.n_states, list(other.states))
        assert (one.here, one.episode_is_over) == (other.here, other.episode_is_over)
        assert np.array_equal(np.array(one.history, dtype=object), np.array(other.history, dtype=object))
        assert np.array_equal(one.model.counts, other.model.counts)
        assert np.array_equal(one.model.last_outcomes, other.model.last_outcomes)
        near = {"rtol": 1e-12, "atol": 1e-14}
        assert np.allclose(one.model.theta_hat, other.model.theta_hat, **near)
        assert np.allclose(one.utility(), other.utility(), **near)
        ours, theirs = one.expected_missing_information(), other.expected_missing_information()
        assert np.allclose(ours.rows, theirs.rows, **near) and np.isclose(ours.bits, theirs.bits, **near)
        if self.strategy.relocates:
            if self.somewhere:
                assert np.allclose(one.action_values(), other.action_values(), **near)
                assert np.allclose(one.probabilities(), other.probabilities(), **near)
                assert one.choose_pair() == other.choose_pair()
            return
        for s in self.known:
            label = self.names[s]
            assert np.allclose(one.action_values(label), other.action_values(label), **near)
            assert np.allclose(one.probabilities(label), other.probabilities(label), **near)
            assert one.act(label) == other.act(label)


class Discovering(Machine):
    """The state machine for explorers that discover states."""

    begin_fixed = None

    @initialize(prior=st.sampled_from([*GROWING.values()]), labels=st.sampled_from([*LABELS]), steps=STEPS)
    def begin_discovering(self, prior, labels, steps):
        self.begin(prior, labels, steps)


def case(machine, strategy):
    """The machine with one strategy: Hypothesis stays near examples that it has, and may leave some strategies out."""
    test = type(machine.__name__, (machine,), {"strategy": strategy}).TestCase
    test.settings = settings(max_examples=EXAMPLES, stateful_step_count=12)
    return test


TestFixedPlanning, TestDiscoveringPlanning = (case(machine, TESTED_STRATEGIES[0]) for machine in (Machine, Discovering))
TestFixedLearning, TestDiscoveringLearning = (case(machine, TESTED_STRATEGIES[1]) for machine in (Machine, Discovering))
TestFixedWarm, TestDiscoveringWarm = (case(machine, TESTED_STRATEGIES[2]) for machine in (Machine, Discovering))
TestFixedCounting, TestDiscoveringCounting = (case(machine, TESTED_STRATEGIES[3]) for machine in (Machine, Discovering))
TestFixedLeastTaken, TestDiscoveringLeastTaken = (
    case(machine, TESTED_STRATEGIES[4]) for machine in (Machine, Discovering)
)
TestFixedRandom, TestDiscoveringRandom = (case(machine, TESTED_STRATEGIES[5]) for machine in (Machine, Discovering))
TestFixedAnywhere, TestDiscoveringAnywhere = (case(machine, TESTED_STRATEGIES[6]) for machine in (Machine, Discovering))
