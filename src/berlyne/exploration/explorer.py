"""An explorer for worlds that berlyne does not simulate: an experiment, a robot, another environment.

You give the explorer the current state, it returns the action to try, and you report the outcome. It uses its prior and
its history, and nothing else. You can query its values and probabilities, the missing information that it expects, and
the expected gain of more steps. Queries change nothing.
"""

from __future__ import annotations

import copy
import os
import threading
import warnings
from array import array
from collections.abc import Hashable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from berlyne.agents.base import Agent
from berlyne.agents.make import Engine, make_agent, make_open_state_agent
from berlyne.exploration.explorer_file import read_explorer, write_explorer
from berlyne.exploration.lookahead import Gain, simulate_gain
from berlyne.exploration.streams import method_seed, streams
from berlyne.frozen import Frozen
from berlyne.labels import (
    DiscoveredLabels,
    GrowingLabels,
    Labelled,
    Labels,
    TransitionError,
    as_list,
)
from berlyne.models.frames import ColumnNames
from berlyne.models.history import (
    TIMED_OUT,
    UNKNOWN,
    History,
    RawHistory,
    Transition,
    read_raw_history,
    read_single_subject,
    transitions,
)
from berlyne.models.history_checks import warn_jumps, warn_untold_ends, warn_unused
from berlyne.models.internal_model import InternalModel, make_labels
from berlyne.models.prior_check import CHECK_PRIOR, FIRST_CHECK, PriorCheck, check_prior
from berlyne.models.uncertainty import MissingInformationEstimate
from berlyne.plotting import HtmlReprMixin, figures_package
from berlyne.priors import Prior
from berlyne.priors.predictive import observations_of
from berlyne.priors.protocols import check_prior as check_is_prior
from berlyne.priors.protocols import discovers_states
from berlyne.strategies.costs import parse_costs, strategy_per_cost
from berlyne.strategies.registry import Strategy, get_strategy
from berlyne.validation import (
    BoolArray,
    FloatArray,
    IntArray,
    Seed,
    check_count,
    check_flag,
    check_number,
    short_repr,
)
from berlyne.worlds.possible import check_some_possible, parse_actions, parse_possible

if TYPE_CHECKING:
    from matplotlib.axes import Axes


MAX_OBSERVATIONS = 2**31 - 1
"""Counts are int32."""


class Explorer(Labelled, HtmlReprMixin, Frozen):
    """Choose actions for a world that berlyne does not simulate.

    With the same seed and the same states, the explorer takes the same actions as `explore`. Its answers depend only on
    the seed and on the observations, in order; queries change nothing. Several threads can share an explorer: a lock
    protects every call.

    Parameters
    ----------
    prior : Prior
        Prior over transition probabilities.
    strategy : str or Strategy
        A strategy, or its name, such as "PIG(VI)"; it must not need the true world.
    seed : int, SeedSequence or Generator
        Seed for ties and random actions.
    n_states, n_actions : int, optional
        Numbers of states and actions, needed only if the prior does not define them. A `ChineseRestaurant` or
        a `SharedRestaurant` discovers its states, so `n_states` must be left out.
    states, actions : iterable of hashable, optional
        Labels of the states and actions, in order, used in all calls; by default 0, 1, 2, ...
    possible : mapping, or array of bool and shape (M, N), optional
        Actions that can be taken in each state: a mapping from states to actions, in which all actions are possible in
        the other states, or a mask `[a, s]`. By default all are possible. `allow` adds what you learn later.
    costs : mapping, or array of shape (M,) or (M, N), optional
        Costs of the actions, such as `{"heat": 5}`, in which the other actions cost 1; or costs `[a]` or `[a, s]`.
        The strategy then compares utilities per cost, see `berlyne.strategies.costs`.
    engine : {"auto", "compiled", "numpy"}
        Whether kernels or plain NumPy run the strategy; the answers are the same. "auto" uses kernels if it can. NumPy
        starts faster and runs slower.

    Attributes
    ----------
    prior : Prior
        The prior.
    strategy : Strategy
        The strategy.
    n_actions : int
        Number of actions, M.
    n_obs : int
        Number of observations.

    Examples
    --------
    >>> import berlyne
    >>> explorer = berlyne.Explorer(berlyne.Dirichlet(1.0, n_states=3, n_actions=2), seed=0)
    >>> a = explorer.act(0)
    >>> explorer.observe(0, a, 2)
    """

    _fixed = ("prior", "strategy", "n_actions")

    def __init__(
        self,
        prior: Prior,
        strategy: str | Strategy = "PIG(VI)",
        seed: Seed = 0,
        *,
        n_states: int | None = None,
        n_actions: int | None = None,
        states: Iterable[Hashable] | None = None,
        actions: Iterable[Hashable] | None = None,
        possible: Any = None,
        costs: Any = None,
        engine: Engine = "auto",
    ) -> None:
        check_is_prior(prior)
        self._engine: Engine = engine
        rng = streams(seed).agent
        if discovers_states(prior):
            if n_states is not None:
                raise ValueError(f"n_states is {n_states}; {prior!r} discovers its states, so leave it out")
            labels = GrowingLabels(), make_labels("action", n_actions, prior, actions)
            self._initialize(prior, labels, strategy, rng, costs)
            self.discover(() if states is None else states)
            if possible is not None and not isinstance(possible, Mapping):
                raise ValueError(
                    f"possible is {short_repr(possible)}; {prior!r} discovers its states, so use a mapping"
                )
            for state, listed in ({} if possible is None else possible).items():
                self.allow(state, listed)
            return
        model = InternalModel(prior, n_states=n_states, n_actions=n_actions, states=states, actions=actions)
        self._initialize(prior, (model.state_labels, model.action_labels), strategy, rng, costs)
        allowed = parse_possible(possible, self.state_labels, self.action_labels)
        if allowed is not None:
            for s in np.flatnonzero(~allowed.all(axis=0)).tolist():
                self._allow(self.states[s], allowed[:, s])

    def _initialize(
        self,
        prior: Prior,
        labels: tuple[Labels, Labels],
        strategy: str | Strategy,
        rng: np.random.Generator,
        costs: Any = None,
    ) -> None:
        self.prior, self.strategy = prior, get_strategy(strategy)
        self.state_labels, self.action_labels = labels
        self.n_actions = self.action_labels.size
        n_states = None if isinstance(self.state_labels, GrowingLabels) else self.state_labels.size
        self._costs = None if costs is None else parse_costs(costs, n_states, self.action_labels)
        self._rng = rng
        self._declared_states: dict[int, int] = {}  # n_obs at the time of the declaration, by state
        self._declared_terminal: dict[int, int] = {}
        self._allowed: dict[Any, BoolArray] = {}  # which actions are possible, by the label of the state
        self._lock = threading.RLock()  # kernels release the GIL
        self._prior_warned, self._next_prior_check = False, FIRST_CHECK
        self._reset()

    def _reset(self) -> None:
        """Forget all observations."""
        self.n_obs = 0
        self._last_outcomes: dict[int, int] = {}
        self._terminal: set[int] = set()
        self._history: array[int] | None = array("i")  # s, a, s_next, ended of each observation; None if unknown
        self._next_draw: FloatArray | None = None  # uniforms of the next choice, once drawn
        seed, seeds = method_seed(self._rng), self._agent.seeds if hasattr(self, "_agent") else None
        strategy = self.strategy if self._costs is None else strategy_per_cost(self.strategy, self._costs)
        engine: Engine = getattr(self, "_engine", "auto")  # files have none
        self._agent: Agent
        if isinstance(self.state_labels, GrowingLabels):
            labels = self.state_labels, self.action_labels
            self._agent = make_open_state_agent(self.prior, self.n_actions, strategy, engine, seed, labels)
        else:
            model = InternalModel(self.prior, n_states=self.state_labels.size, n_actions=self.n_actions)
            self._agent = make_agent(model, strategy, None, engine, seed)
        if seeds is not None:  # those of a file
            self._agent.load_seeds(seeds)
        for state, allowed in self._allowed.items():
            self._agent_allows(state, allowed)

    def _remedy(self, name: str) -> str:
        return "create a new Explorer(prior, strategy)"

    def __repr__(self) -> str:
        size = f"{self.n_states:,} states, {self.n_actions} actions"
        return f"Explorer({self.strategy}, {size}, {self.n_obs:,} observations)"

    @property
    def n_states(self) -> int:
        """Number of states, N; with a prior that discovers states, the number of known states."""
        return self.state_labels.size

    @property
    def costs(self) -> FloatArray:
        """Cost of each action in each known state, `[a, s]`; 1 unless `costs=` was set."""
        shape = self.n_actions, self.n_states
        return np.array(np.broadcast_to(1.0 if self._costs is None else self._costs, shape))

    @property
    def allowed(self) -> BoolArray:
        """Whether each action is allowed in each known state, `[a, s]`, as declared by `possible=` and `allow`."""
        with self._lock:
            allowed = np.ones((self.n_actions, self.n_states), dtype=np.bool_)
            for s, actions in self._agent.allowed.items():
                if s < self.n_states:
                    allowed[:, s] = actions
            return allowed

    def act(self, s: Any, among: Iterable[Any] | None = None) -> Any:
        """Return the action to try in state `s`.

        Repeated calls return the same action until the next observation. If `s` is terminal, it is treated as
        nonterminal, because it is not terminal any more once an action is observed there.

        Parameters
        ----------
        s : object
            The current state.
        among : iterable, optional
            Actions that are possible now; by default those that are possible in state `s`. Plans for later steps use
            `possible=` and `allow`, but not `among`.

        Returns
        -------
        object
            The label of the action.
        """
        if self.strategy.relocates:
            raise ValueError(f"{self.strategy} chooses the state as well as the action; call choose_pair()")
        number = self._number("s", s, self.state_labels)
        with self._lock:
            possible = self._possible_actions(among, number, s)
            if number not in self._terminal:
                return self.action_labels[self._choose(number, possible)]
            with self._as_nonterminal(number):
                return self.action_labels[self._choose(number, possible)]

    def _choose(self, s: int, possible: list[int] | None) -> int:
        """Return the number of the action to try in state `s`, among the possible ones."""
        if possible is None:
            return self._agent.act(s, self._draw())
        return possible[self.strategy.rule.choose(self._values_among(s, possible), self._draw())]

    def choose_pair(self) -> tuple[Any, Any]:
        """Return the state and the action to try, for a strategy that may go to any state, such as Unembodied."""
        if not self.strategy.relocates:
            raise ValueError(f"{self.strategy} acts in the current state; call act(s)")
        with self._lock:
            self._check_state_available()
            s, a = self._agent.choose_pair(self._draw())
        return self.state_labels[s], self.action_labels[a]

    def _draw(self) -> FloatArray:
        """Return the two uniforms of the next choice; each observation uses up two, even if no choice was queried."""
        if self._next_draw is None:
            self._next_draw = self._rng.random(2)
            if self.strategy.ties == "first":
                self._next_draw[0] = 0.0
        return self._next_draw

    def observe(self, s: Any, a: Any, s_next: Any, *, ended: bool = False, timed_out: bool = False) -> None:
        """Learn that action `a` in state `s` led to `s_next`.

        After the end of an episode, pass the start of the next episode to `act`; the reset is not a transition. A state
        in which an episode ended is terminal: no action can be taken there. It is nonterminal if an action was taken
        there, before or after. An episode that timed out is over, too, but `s_next` is not terminal.

        Parameters
        ----------
        s, a, s_next : object
            Labels of the state, the action and the next state.
        ended : bool
            Whether the episode ended in `s_next`.
        timed_out : bool
            Whether you cut the episode after this observation, for example because the time was over.
        """
        a = self._number("a", a, self.action_labels)
        code = end_code(ended, timed_out)
        with self._lock:
            if getattr(self.prior, "reads_states", False):
                with self._all_or_nothing():  # label functions can take long, so an interrupt often stops them
                    self._observe_states(s, a, s_next, code)
            else:
                self._observe_states(s, a, s_next, code)

    def _observe_states(self, s: Any, a: int, s_next: Any, code: int) -> None:
        """Learn a transition between two states, given by their labels, and discover them if they are new."""
        try:
            if isinstance(self.state_labels, GrowingLabels):  # validate both before either is discovered
                self.state_labels.number(s, "s"), self.state_labels.number(s_next, "s_next")
            s = self._find_or_add("s", s)
            self._observe(s, a, self._find_or_add("s_next", s_next), code)
        except BaseException:
            if isinstance(self.state_labels, GrowingLabels):
                self.state_labels.truncate(self._agent.n_states)  # those that the agent has not discovered
            raise

    def check_pair(self, s: Any, a: Any) -> None:
        """Raise a `ValueError` if there is no such state or action, or if the action is not possible in the state.

        Parameters
        ----------
        s, a : object
            Labels of the state and the action.
        """
        a = self._number("a", a, self.action_labels)
        with self._lock:
            self._check_possible(self._number("s", s, self.state_labels), a)

    @contextmanager
    def _all_or_nothing(self) -> Iterator[None]:
        """If an exception is raised, restore the explorer; only a prior that discovers states can call functions."""
        labels = self.state_labels
        if not isinstance(labels, GrowingLabels):
            yield
            return
        states, rng_state = list(labels.all), self._rng.bit_generator.state
        before = {k: copy.copy(v) if isinstance(v, dict | set | array) else v for k, v in vars(self).items()}
        before["_agent"] = self._agent.copy()
        try:
            yield
        except BaseException:
            vars(self).update(before)
            self._rng.bit_generator.state = rng_state
            labels.truncate(0)
            for state in states:
                labels.add(state)
            raise

    def _find_or_add(self, name: str, state: Any) -> int:
        """Return the number of a state; add its label if it is new and the prior discovers states."""
        number = self._number(name, state, self.state_labels)
        if isinstance(self.state_labels, GrowingLabels) and number == self.state_labels.size:
            self.state_labels.add(state)
            if self._allowed:  # also if all actions are possible: an undone state may have had the same number
                everything = np.ones(self.n_actions, dtype=np.bool_)
                self._agent.allow(number, self._allowed.get(self.state_labels[number], everything))
        return number

    def discover(self, states: Iterable[Any]) -> None:
        """Declare that states exist before they are observed, for a prior that discovers states.

        Parameters
        ----------
        states : iterable
            Labels of the states.
        """
        if not self._agent.discovers_states:
            raise ValueError(f"{self.prior!r} has a fixed number of states; there is nothing to discover")
        with self._lock, self._all_or_nothing():
            for state in as_list("states", states):
                number = self._find_or_add("a state", state)
                self._agent.discover(number)
                self._declared_states.setdefault(
                    number, self.n_obs
                )  # kept even if the state was observed before: undo may remove that

    def _observe(self, s: int, a: int, s_next: int, ended: int) -> None:
        if self.n_obs >= MAX_OBSERVATIONS:
            raise ValueError(f"an explorer can learn at most {MAX_OBSERVATIONS:,} observations")
        self._check_possible(s, a)
        reopened = s in self._terminal  # an action was taken in s, so s is not terminal
        if reopened:
            self._terminal.remove(s)
            self._agent.unmark_terminal(s)
        try:
            self._agent.observe(s, a, s_next)
        except BaseException as error:
            self._mark_terminal([s] if reopened else [])
            if isinstance(error, TransitionError):
                raise error.with_labels(self.state_labels, self.action_labels) from None
            raise
        self._draw()
        self._next_draw = None
        self.n_obs += 1
        self._last_outcomes[s * self.n_actions + a] = s_next
        if self._history is not None:
            self._history.extend((s, a, s_next, ended))
        if ended:
            self._agent.end_episode()
            self._mark_terminal([] if ended == TIMED_OUT else [s_next])

    def observe_many(self, history: Any, **columns: Unpack[ColumnNames]) -> None:
        """Learn a recorded history of transitions, for example as a warm start; if a line is invalid, learn nothing.

        The history need not be one path: each line sets the current state, so episodes need not be marked. Lines of
        several subjects are refused, since one explorer has one memory. A frame is checked as in `berlyne.replay`.

        A line without its action teaches only that its next state exists, and that an episode ended there. A line
        without its next state teaches nothing. Neither becomes part of `history`.

        Parameters
        ----------
        history : object
            Any form that `berlyne.replay` accepts: lines (s, a, s_next) or (s, a, s_next, ended), such as `history` of
            another explorer or of a run; three arrays; a `Run`; or a frame. `ended`, also as a column of a frame, is
            used as in `observe`. The terminal states of a `Run` in a world are declared as by `ends_in`.
        **columns : str
            Names of the columns of a frame, as in `berlyne.replay`.
        """
        raw = read_raw_history(history, columns)
        with self._lock, self._all_or_nothing():
            own_labels = self.state_labels
            labels = own_labels.copy() if isinstance(own_labels, GrowingLabels) else own_labels
            lines = read_single_subject(raw, labels, self.action_labels)
            self._check_history(raw, lines, labels)
            terminal: set[int] = set()
            if isinstance(own_labels, GrowingLabels):  # no transition is impossible; terminal states must be discovered
                terminal = set(lines.terminal.tolist())
            else:
                self.model.learn(lines.steps)  # on a copy: raises before anything is learned if a line is impossible
                for s, a, _ in lines.steps[lines.is_complete].tolist() if self._allowed else []:
                    self._check_possible(s, a)
                self.ends_in([self.state_labels[s] for s in lines.terminal.tolist()])
            cut = np.zeros(len(lines.steps), dtype=bool) if lines.timed_out is None else lines.timed_out
            codes = zip(lines.steps.tolist(), lines.ended.tolist(), cut.tolist(), strict=True)
            for (s, a, s_next), ended, timed_out in codes:
                over = ended or s_next in terminal
                if UNKNOWN not in (a, s_next):
                    self._observe_states(labels[s], a, labels[s_next], end_code(over, timed_out and not over))
                elif s_next != UNKNOWN:
                    self._learn_without_action(labels[s], labels[s_next], over)

    def _check_history(self, raw: RawHistory, lines: History, labels: Labels) -> None:
        """Warn about likely mistakes in a history."""
        warn_unused(raw)
        if not self.strategy.relocates:
            warn_jumps(raw, lines, labels)
        known = {*self._terminal, *lines.terminal.tolist()}
        warn_untold_ends(raw, lines, labels, known)

    def _learn_without_action(self, s: Any, s_next: Any, ended: bool) -> None:
        """Learn the states of a transition whose action is unknown, and whether the episode ended with it."""
        if isinstance(self.state_labels, GrowingLabels):
            self.discover([s, s_next])
        if ended:
            self.ends_in([s_next])

    def allow(self, s: Any, actions: Iterable[Any]) -> None:
        """Declare which actions are possible in a state, from now on.

        The others are no actions there: they are never chosen, no plan uses them, and they do not count in the missing
        information. With a prior that discovers states, the state need not be known yet.

        Parameters
        ----------
        s : object
            Label of the state.
        actions : iterable
            Labels of all actions that are possible in it, at least one.
        """
        allowed = parse_actions(actions, s, self.action_labels)
        if not np.any(allowed):
            raise ValueError(f"no action is possible in state {s!r}; declare it with ends_in, or allow an action there")
        with self._lock:
            self._allow(s, allowed)

    def _allow(self, state: Any, allowed: BoolArray) -> None:
        """Store which actions are possible in a state, and tell the agent."""
        if not np.any(allowed):
            check_some_possible(allowed[:, None], (), Labels("state", 1, [state]))
        number = self._number("s", state, self.state_labels)
        tried = [a for a in np.flatnonzero(~allowed) if number * self.n_actions + a in self._last_outcomes]
        if tried:
            raise ValueError(
                f"action {self.action_labels[int(tried[0])]!r} was taken in state {state!r}, so it is possible there"
            )
        self._allowed[state] = allowed
        self._agent_allows(state, allowed)

    def _agent_allows(self, state: Any, allowed: BoolArray) -> None:
        """Tell the agent which actions are possible in a state, unless it is still to be discovered."""
        number = self._number("s", state, self.state_labels)
        if number < self.state_labels.size:
            self._agent.allow(number, allowed)

    def _check_possible(self, s: int, a: int) -> None:
        """Raise a `ValueError` if action `a` is not possible in state `s`."""
        allowed = self._agent.allowed.get(s)
        if allowed is not None and not allowed[a]:
            possible = ", ".join(repr(self.action_labels[int(b)]) for b in np.flatnonzero(allowed))
            raise ValueError(
                f"action {self.action_labels[a]!r} is not possible in state {self.state_labels[s]!r}; "
                f"possible there: {possible}"
            )

    def ends_in(self, states: Iterable[Any]) -> None:
        """Declare terminal states: episodes end there, and no action can be taken in them.

        With `observe(..., ended=True)` they are found one at a time. A state in which an action was taken already stays
        nonterminal.

        Parameters
        ----------
        states : iterable
            Labels of the terminal states.
        """
        states = as_list("states", states)
        with self._lock:
            if isinstance(self.state_labels, GrowingLabels):
                self.discover(states)
            numbers = self._numbers("states", states, "a terminal state", self.state_labels)
            for number in numbers:
                self._declared_terminal.setdefault(number, self.n_obs)  # keep the time of the first declaration
            self._mark_terminal(numbers)

    def _is_tried(self, s: int) -> bool:
        """Return whether any action was taken in state `s`."""
        return any(s * self.n_actions + a in self._last_outcomes for a in range(self.n_actions))

    def _mark_terminal(self, states: Iterable[int]) -> None:
        # some environments end episodes in states in which actions can also be taken
        new = sorted(s for s in set(states) - self._terminal if not self._is_tried(s))
        if new:
            self._terminal.update(new)
            self._agent.mark_terminal(np.array(new, dtype=np.int64))

    @property
    def history(self) -> list[Transition]:
        """Observed transitions in order: tuples `(s, a, s_next)` in labels, with attributes `ended` and `timed_out`.

        An explorer that learns them with `observe_many` knows the same, except for states declared by `discover` and
        `ends_in`.
        """
        with self._lock:
            lines = self._history_array()
            return transitions(lines[:, :3], lines[:, 3], self.state_labels, self.action_labels)

    def _history_array(self) -> IntArray:
        """Return s, a, s_next and `ended` (2 for a time-out) of each observation as numbers, `(n_obs, 4)`."""
        if self._history is None:
            raise ValueError("this explorer was loaded from a file without a history")
        return np.array(self._history, dtype=np.int64).reshape(-1, 4)

    def undo(self, n: int = 1) -> None:
        """Remove the last `n` observations; all later answers are as if these had never been made.

        Parameters
        ----------
        n : int
            Number of observations to remove, at most `n_obs`.
        """
        if check_count("n", n, 1) > self.n_obs:
            raise ValueError(f"n is {n}; it must be at most {self.n_obs}, the number of observations")
        with self._lock, self._all_or_nothing():
            self._replay_steps(self._history_array()[: self.n_obs - n])

    def _replay_steps(self, lines: IntArray) -> None:
        """Start again and observe these lines, with all declarations in between and, at the end, those made later."""
        n_lines = len(lines)
        declared = [_by_time(times) for times in (self._declared_states, self._declared_terminal)]
        late = [[self.state_labels[s] for t, s in _sorted_by_time(by_time) if t > n_lines] for by_time in declared]
        self._rewind_draws(self.n_obs)
        self._reset()
        for t, line in enumerate([*lines.tolist(), None]):
            for s in declared[0].get(t, []):
                self._agent.discover(s)
            self._mark_terminal(declared[1].get(t, []))
            if line is not None:
                self._observe(*line)
        self._declared_states, self._declared_terminal = (
            {s: t for t, s in _sorted_by_time(by_time) if t <= n_lines} for by_time in declared
        )
        if isinstance(self.state_labels, GrowingLabels):
            self.state_labels.truncate(self._agent.n_states)
            self.discover(late[0])
        self.ends_in(late[1])

    def _restore_steps(self, lines: IntArray, n_states: int, initial_rng_state: Any) -> None:
        """Rebuild the explorer after an interrupt, from these lines and the first `n_states` states.

        `initial_rng_state` is the state of the random generator before the first line.
        """
        self._rng.bit_generator.state = initial_rng_state
        self._next_draw, self.n_obs = None, 0  # so that no draws are rewound
        self._declared_states = {s: t for s, t in self._declared_states.items() if s < n_states}
        if isinstance(self.state_labels, GrowingLabels):
            self.state_labels = self.state_labels.copy_first(n_states)
        self._replay_steps(lines)

    def _rewind_draws(self, n: int = 0) -> None:
        """Rewind the random generator: by the draws of the next choice, if drawn, and of the last `n` observations."""
        n += self._next_draw is not None
        self._next_draw = None
        self._rng.bit_generator.advance(-2 * n)  # type: ignore[attr-defined]  # PCG64 advances by one per number

    @property
    def model(self) -> InternalModel:
        """Copy of the internal model: estimates, counts and all measures."""
        with self._lock:
            labels = DiscoveredLabels(self.states) if self._agent.discovers_states else self.state_labels
            return self._agent.model((labels, self.action_labels), self._last_outcomes)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Save the explorer to one file, without pickle; a loaded explorer continues exactly as this one would.

        The prior and the strategy must be built-in ones: code cannot be saved.

        Parameters
        ----------
        path : path-like
            The file, an .npz archive.
        """
        with self._lock:
            self._rewind_draws()  # they are drawn again by the next choice
            write_explorer(path, self)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Explorer:
        """Load an explorer that `save` wrote.

        Parameters
        ----------
        path : path-like
            The file.

        Returns
        -------
        Explorer
            An explorer that continues exactly as the saved one.
        """
        return read_explorer(path, cls.__new__(cls))

    @property
    def here(self) -> Any:
        """The state that the last observation led to; None before the first observation."""
        with self._lock:
            return self.states[self._agent.current_state] if self._agent.current_state >= 0 else None

    @property
    def episode_is_over(self) -> bool:
        """Whether the last episode ended or timed out, so that you must give the start of the next one.

        Always False for a strategy that chooses the state itself.
        """
        with self._lock:
            if self.strategy.relocates:
                return False
            return self._agent.current_state in self._terminal or self._agent.episode_is_over

    def plot(self, what: Any = "utility", ax: Axes | None = None, **options: Any) -> Axes:
        """Draw the states coloured by a quantity, and mark the current state.

        Parameters
        ----------
        what : str or array_like of shape (N,) or (M, N)
            "utility" (of the strategy), "expected missing information", "visits", the name of a utility, an array, or
            "missing information", which needs `world=`.
        ax : matplotlib.axes.Axes, optional
            Axes to draw on; by default new ones.
        **options : object
            `world` : world whose map is drawn; `rows` : whether each action has its own part of a state (for a node,
            slices clockwise from the top, action 0 first); `labels` : whether to write the names of states; `bar` :
            whether to draw a colour bar.

        Returns
        -------
        matplotlib.axes.Axes
            The axes with the drawing.
        """
        drawn: Axes = figures_package().draw_explorer(self, what, ax, **options)
        return drawn

    def utility(self) -> FloatArray:
        """Return the utility of every action and state, `[a, s]`, which drives the choices; zero for heuristics."""
        with self._lock:
            return self._agent.utility()

    def expected_missing_information(self, level: float = 0.95) -> MissingInformationEstimate:
        """Return the expected missing information, in bits: the total with an interval, and per row.

        See `InternalModel.expected_missing_information`. Only possible actions count: none in terminal states. With a
        prior that discovers states, undiscovered states do not count either. One warning is given if the prior does
        not agree with the observations, see `check_prior`.

        Parameters
        ----------
        level : float
            Probability of the interval, between 0 and 1.

        Returns
        -------
        MissingInformationEstimate
            The expectation and its interval, in bits.
        """
        self._warn_if_prior_disagrees()
        return self._expected_missing_information(level)

    def _expected_missing_information(self, level: float = 0.95) -> MissingInformationEstimate:
        with self._lock:
            model, agent = self.model, self._agent
            excluded = np.zeros((model.n_actions, model.n_states), dtype=np.bool_)
            for s, allowed in agent.allowed.items():
                excluded[:, agent.position(s)] = ~allowed
            excluded[:, [agent.position(s) for s in self._terminal]] = True
            excluded[:, self.state_labels.size :] = True  # undiscovered states
        return model._expected_missing_information(level, excluded)

    def check_prior(self) -> PriorCheck:
        """Check how well the prior predicted the observations, in their order.

        The z-score compares the accumulated log predictive probability with its own expectation and variance, see
        `InternalModel.check_prior`. If it is below -4 or above 4, `expected_missing_information` and `knows_enough`
        are not to be trusted. They check the prior whenever the number of observations has grown by a quarter, and give
        one warning.

        Returns
        -------
        PriorCheck
            `z`, the concentration `best_alpha` that would have fitted best, and a `sentence`.
        """
        with self._lock:
            if self._history is None:
                return self.model.check_prior()
            lines = self._history_array()
            return check_prior(self.model, observations_of(lines[:, 0] * self.n_actions + lines[:, 1], lines[:, 2]))

    def _warn_if_prior_disagrees(self) -> None:
        """Give one warning if the prior does not agree with the observations; called by methods of the user's call."""
        with self._lock:
            if self._prior_warned or self.n_obs < self._next_prior_check:
                return
            self._next_prior_check = CHECK_PRIOR.next_refit(self.n_obs)
            model = self.model
            if model.exact is None and not model.rows_are_independent:
                return  # a check would take as many estimates of the whole world as there are observations
            check = self.check_prior()
            self._prior_warned = not check.agrees
        if not check.agrees:
            warnings.warn(check.sentence, UserWarning, stacklevel=3)

    def expected_gain(self, n_steps: int, s: Any = None, *, n_samples: int = 100, seed: Seed = 0) -> Gain:
        """Return the expected gain of `n_steps` more steps, in bits, by simulation.

        Each sample continues the exploration in a world that responds as the explorer's own model predicts. Its gain is
        the decrease of the expected missing information. The explorer and its random generator do not change. If an
        episode ends, the next one begins where episodes began so far.

        With a prior that discovers states, states are also discovered in the simulation. The gain of a step is then its
        PIG over the states known by that time, since the information in a state discovered in the simulation was not
        missing before.

        Parameters
        ----------
        n_steps : int
            Number of steps.
        s : object, optional
            Start state; by default the state of the last observation.
        n_samples : int
            Number of simulations. The standard error falls with its square root.
        seed : int, SeedSequence or Generator
            Seed for the simulations.

        Returns
        -------
        Gain
            Mean and standard error, in bits, with the expected cost of these steps and the gain per cost.
        """
        n_steps, n_samples = check_count("n_steps", n_steps, 0), check_count("n_samples", n_samples, 2)
        with self._lock:
            start = self._agent.current_state if s is None else self._number("s", s, self.state_labels)
            if start < 0 and not self.strategy.relocates:
                raise ValueError(
                    "nothing was observed yet, so the current state is unknown; set the start state: s=..."
                )
            is_over = start in self._terminal or (s is None and self._agent.episode_is_over)
            if is_over and not self.strategy.relocates:
                raise ValueError(
                    f"the episode is over in state {self.states[start]!r}; set the start state of the next one: s=..."
                )
            if self.strategy.relocates:
                self._check_state_available()
            costs = np.ones((self.n_actions, 1)) if self._costs is None else self._costs
            return simulate_gain(self._agent, max(start, 0), n_steps, n_samples, seed, costs=costs)

    def knows_enough(self, bits: float, confidence: float = 0.95) -> bool:
        """Return whether at most `bits` are missing, with probability `confidence`: a stopping rule.

        The probability comes from the explorer's posterior. It is correct on average over worlds drawn from the prior,
        even if you check it after every step. If the prior does not agree with the observations, one warning is given,
        see `check_prior`. With a prior that discovers states, it is about the known states only, and False before the
        first observation.

        Parameters
        ----------
        bits : float
            Missing information that is small enough, in bits.
        confidence : float
            Probability, between 0 and 1.

        Returns
        -------
        bool
            Whether you can stop.
        """
        check_number("bits", bits, 0.0, np.finfo(float).max)
        confidence = check_number("confidence", confidence, 0.0, 1.0)
        if self._agent.discovers_states and not self._last_outcomes:
            return False  # nothing is missing only because no state is known
        self._warn_if_prior_disagrees()
        quantile = self._expected_missing_information().quantile(confidence)
        if np.isnan(quantile):
            raise ValueError(
                f"{type(self.prior).__name__} does not define the variance of the missing information; "
                f"give it a method missing_information_variance(counts) that returns bits squared [a, s]"
            )
        return quantile <= bits

    def action_values(self, s: Any = None) -> FloatArray:
        """Return the action values of the next choice: Q of a planner or learner, a utility, or a heuristic's score.

        If actions have costs, the utility per cost of the best plan that begins with each action. Zero for Random; NaN
        for your own method without `values`. Does not change the explorer.

        Parameters
        ----------
        s : object, optional
            The state; leave it out for a strategy that chooses the state, such as Unembodied.

        Returns
        -------
        ndarray of shape (M,) or (N, M)
            Value of each action in state `s`, or without `s`, of each pair `[s, a]`.
        """
        number = self._check_state_argument("action_values", s)
        with self._lock, self._as_nonterminal(number):
            return self._agent.pair_values() if number is None else self._agent.action_values(number)

    def probabilities(self, s: Any = None, among: Iterable[Any] | None = None) -> FloatArray:
        """Return the probabilities from which `act` draws: with ties, epsilon, temperature and lapse.

        Does not change the explorer.

        Parameters
        ----------
        s : object, optional
            The state; leave it out for a strategy that chooses the state, such as Unembodied.
        among : iterable, optional
            Actions that are possible now, as in `act`; the others have probability 0.

        Returns
        -------
        ndarray of shape (M,) or (N, M)
            Probability of each action in state `s`, or without `s`, of each pair `[s, a]`.
        """
        number = self._check_state_argument("probabilities", s)
        possible = self._possible_actions(among, number, s)
        if number is None and possible is not None:
            raise ValueError(f"{self.strategy} chooses among all pairs of a state and an action; leave among out")
        with self._lock, self._as_nonterminal(number):
            if number is None:
                self._check_state_available()
                return self._agent.pair_probabilities()
            if possible is None:
                return self._agent.probabilities(number)
            probabilities = np.zeros(self.action_labels.size)
            probabilities[possible] = self.strategy.rule.probabilities(self._values_among(number, possible))
            return probabilities

    def _values_among(self, s: int, possible: list[int]) -> FloatArray:
        """Return the values of the possible actions in state `s`."""
        values = self._agent.action_values(s)[possible]
        if np.any(np.isnan(values)) or self._agent.chooses_without_values:
            raise ValueError(f"{self.strategy} chooses without action values, so among= cannot be used")
        return values

    @contextmanager
    def _as_nonterminal(self, s: int | None) -> Iterator[None]:
        """Treat state `s` as nonterminal within the context."""
        terminal = s is not None and s in self._terminal
        if terminal:
            self._agent.unmark_terminal(s)  # type: ignore[arg-type]  # not None, see above
        try:
            yield
        finally:
            if terminal:
                self._agent.mark_terminal(np.array([s], dtype=np.int64))

    def _check_state_available(self) -> None:
        """Raise a ValueError if there is no nonterminal state to choose."""
        if not self.state_labels.size:
            raise ValueError(f"{self.strategy} has no state to go to yet; add one with discover")
        if len(self._terminal) == self.state_labels.size:
            raise ValueError(f"{self.strategy} has no state to go to; all known states are terminal")

    def _check_state_argument(self, method: str, s: Any) -> int | None:
        """Return the number of the state `s` that `method` was called with; None for a relocating strategy."""
        if self.strategy.relocates and s is not None:
            raise ValueError(f"{self.strategy} chooses the state as well as the action; call {method}()")
        if not self.strategy.relocates and s is None and None not in self.states:  # None may be a label
            raise ValueError(f"{self.strategy} acts in the current state; call {method}(s)")
        return None if self.strategy.relocates else self._number("s", s, self.state_labels)

    def _possible_actions(self, among: Iterable[Any] | None, s: int | None, state: Any) -> list[int] | None:
        """Return the numbers of the actions in `among` that are possible in a state, given by number and label.

        None if the agent may choose among the actions that it knows to be possible. It does not know them in a state
        that is not discovered.
        """
        is_new = s == self.state_labels.size
        if among is None and not is_new:
            return None
        allowed = None if s is None else self._allowed.get(state) if is_new else self._agent.allowed.get(s)
        if among is None:
            return None if allowed is None else np.flatnonzero(allowed).tolist()
        listed = self._numbers("among", among, "an action", self.action_labels)
        if not listed:
            raise ValueError("among is empty; it must contain the possible actions")
        possible = listed if allowed is None else [a for a in listed if allowed[a]]
        if not possible and s is not None:
            raise ValueError(f"among contains no action that is possible in state {state!r}")
        return possible

    def _numbers(self, name: str, values: Any, item_name: str, labels: Labels) -> list[int]:
        """Return the distinct numbers of several labels, sorted; the names are for error messages."""
        return sorted({self._number(item_name, value, labels) for value in as_list(name, values)})

    @staticmethod
    def _number(name: str, value: Any, labels: Labels) -> int:
        if type(value) is int and labels.custom is None and 0 <= value < labels.size:
            return value
        if labels.custom is not None:
            return labels.number(value, name)
        if check_count(name, value, 0) >= labels.size:
            raise ValueError(f"{name} is {value}; it must be 0 to {labels.size - 1}")
        return int(value)


def end_code(ended: bool, timed_out: bool) -> int:
    """Return 0 if the episode goes on, 1 if it ended, or `TIMED_OUT`; raise a ValueError if it did both."""
    check_flag("ended", ended, optional=False)
    check_flag("timed_out", timed_out, optional=False)
    if ended and timed_out:
        raise ValueError("ended and timed_out are both True; an episode either ends in a state or is cut there")
    return TIMED_OUT if timed_out else int(ended)


def _by_time(times: dict[int, int]) -> dict[int, list[int]]:
    """Return the states declared at each time, in the order of declaration."""
    states: dict[int, list[int]] = {}
    for s, t in times.items():
        states.setdefault(t, []).append(s)
    return states


def _sorted_by_time(by_time: dict[int, list[int]]) -> list[tuple[int, int]]:
    """Return pairs (time, state), sorted by time."""
    return [(t, s) for t in sorted(by_time) for s in by_time[t]]
