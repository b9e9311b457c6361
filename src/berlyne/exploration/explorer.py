"""An explorer for worlds that are not ours: an experiment, a robot, another environment.

You tell the explorer the state, it returns what to try next, and you tell it what happened. It knows its prior and its
history, and nothing else. You can ask for its values, probabilities, what it expects to be missing, and what more
steps would teach. Asking changes nothing.
"""

from __future__ import annotations

import os
import threading
from array import array
from collections.abc import Hashable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from berlyne.agents.base import AnyAgent, make_agent, make_open_state_agent
from berlyne.agents.open_state_agent import OpenStateAgent
from berlyne.exploration.explorer_file import read_explorer, write_explorer
from berlyne.exploration.lookahead import Gain, simulate_gain, simulate_gain_open_states
from berlyne.exploration.streams import streams
from berlyne.frozen import Frozen
from berlyne.labels import (
    DiscoveredLabels,
    GrowingLabels,
    Labelled,
    Labels,
    TransitionError,
    as_list,
    labelled_history,
)
from berlyne.models.history import read_single_subject
from berlyne.models.internal_model import InternalModel, make_labels
from berlyne.models.uncertainty import MissingInformationEstimate
from berlyne.plotting import HtmlReprMixin, figures_package
from berlyne.priors import Prior
from berlyne.priors.protocols import check_prior, discovers_states
from berlyne.strategies.registry import Strategy, get_strategy
from berlyne.validation import FloatArray, IntArray, Seed, check_count, check_flag, check_number

if TYPE_CHECKING:
    from matplotlib.axes import Axes


MAX_OBSERVATIONS = 2**31 - 1
"""They are counted in 32 bits."""


class Explorer(Labelled, HtmlReprMixin, Frozen):
    """Chooses actions for a world that answers by itself.

    Given the same draws it takes the same actions as `explore`: with the same seed, and the states
    that an exploration went through, it repeats that exploration. What it answers depends on the seed and on what was
    observed, in order; asking changes nothing. Several threads may share one; they take turns.

    Parameters
    ----------
    prior : what may be assumed of the world.
    strategy : a name such as "PIG(VI)", or a `Strategy`; not one that needs the true world.
    seed : int, `SeedSequence` or `Generator`, for breaking ties and for random actions.
    n_states, n_actions : needed only for a prior that does not carry them; a `ChineseRestaurant` discovers its states.
    states, actions : labels in order, any hashable values, in which to ask and to tell; None for 0, 1, 2, ...

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
    ) -> None:
        check_prior(prior)
        rng = streams(seed).agent
        if discovers_states(prior):
            if n_states is not None:
                raise ValueError(f"n_states is {n_states}; {prior!r} discovers its states, so leave it out")
            self._initialize(prior, (GrowingLabels(), make_labels("action", n_actions, prior, actions)), strategy, rng)
            self.discover(() if states is None else states)
            return
        model = InternalModel(prior, n_states=n_states, n_actions=n_actions, states=states, actions=actions)
        self._initialize(prior, (model.state_labels, model.action_labels), strategy, rng)

    def _initialize(
        self, prior: Prior, labels: tuple[Labels, Labels], strategy: str | Strategy, rng: np.random.Generator
    ) -> None:
        self.prior, self.strategy = prior, get_strategy(strategy)
        self.state_labels, self.action_labels = labels
        self.n_actions = self.action_labels.size
        self._rng = rng
        self._declared_states: dict[int, int] = {}  # what it was told of, and after how many observations
        self._declared_terminal: dict[int, int] = {}
        self._lock = threading.RLock()  # kernels let other threads run
        self._forget()

    def _forget(self) -> None:
        """Know the prior, and no more."""
        self.n_obs = 0
        self._last_outcomes: dict[int, int] = {}
        self._terminal: set[int] = set()
        self._history: array[int] | None = array("i")  # s, a, s_next and ended of each observation; None if not known
        self._next_draw: FloatArray | None = None  # the draws of the next choice, once it was asked for
        self._agent: AnyAgent
        if isinstance(self.state_labels, GrowingLabels):
            self._agent = make_open_state_agent(self.prior, self.n_actions, self.strategy)
        else:
            model = InternalModel(self.prior, n_states=self.state_labels.size, n_actions=self.n_actions)
            self._agent = make_agent(model, self.strategy, None)

    def _remedy(self, name: str) -> str:
        return "make another Explorer(prior, strategy)"

    def __repr__(self) -> str:
        size = f"{self.n_states:,} states, {self.n_actions} actions"
        return f"Explorer({self.strategy}, {size}, {self.n_obs:,} observations)"

    @property
    def n_states(self) -> int:
        """N, or how many states were discovered."""
        return self.state_labels.size

    def act(self, s: Any, among: Iterable[Any] | None = None) -> Any:
        """The action to try in state `s`: the same one however often it is asked for, until something is observed.

        `among` names the actions that are possible just now; what is planned for later assumes all of them. In a state
        that was taken for an end it answers as if it were none, as it will be once something is observed from there.
        """
        if self.strategy.relocates:
            raise ValueError(f"{self.strategy} chooses the state as well as the action; call choose_pair()")
        s = self._number("s", s, self.state_labels)
        possible = self._possible(among)
        with self._lock:
            if s not in self._terminal:
                return self.action_labels[self._chosen(s, possible)]
            with self._as_nonterminal(s):
                return self.action_labels[self._chosen(s, possible)]

    def _chosen(self, s: int, possible: list[int] | None) -> int:
        """The action to try in state `s`, among those that are possible."""
        if possible is None:
            return self._agent.act(s, self._draw())
        return possible[self.strategy.rule.choose(self._values_among(s, possible), self._draw())]

    def choose_pair(self) -> tuple[Any, Any]:
        """The pair (s, a) to try, for a strategy that may go to any state: Unembodied."""
        if not self.strategy.relocates:
            raise ValueError(f"{self.strategy} acts in the state it is in; call act(s)")
        with self._lock:
            self._check_somewhere()
            s, a = self._agent.choose_pair(self._draw())
        return self.state_labels[s], self.action_labels[a]

    def _draw(self) -> FloatArray:
        """The two uniform numbers of the next choice; every observation has its own, asked for or not."""
        if self._next_draw is None:
            self._next_draw = self._rng.random(2)
            if self.strategy.ties == "first":
                self._next_draw[0] = 0.0
        return self._next_draw

    def observe(self, s: Any, a: Any, s_next: Any, *, ended: bool = False) -> None:
        """Learn that action `a` in state `s` led to `s_next`; `ended` says that the episode is over there.

        What comes next is then no transition: tell the explorer by `act` in which state it finds itself. No action
        is worth anything in a state where episodes end, unless one was, or is later, taken there.
        """
        a = self._number("a", a, self.action_labels)
        check_flag("ended", ended, optional=False)
        with self._lock:
            if isinstance(self.state_labels, GrowingLabels):  # both must be right before either is discovered
                self.state_labels.number(s, "s"), self.state_labels.number(s_next, "s_next")
            s = self._met("s", s)
            self._observe(s, a, self._met("s_next", s_next), bool(ended))

    def _met(self, name: str, state: Any) -> int:
        """The number of a state, which is discovered now if states are."""
        number = self._number(name, state, self.state_labels)
        if isinstance(self.state_labels, GrowingLabels) and number == self.state_labels.size:
            self.state_labels.add(state)
        return number

    def discover(self, states: Iterable[Any]) -> None:
        """Know that these states exist, without having been led there; for a prior whose states are discovered."""
        if not isinstance(self._agent, OpenStateAgent):
            raise ValueError(f"all states are known to {self.prior!r}; there is nothing to discover")
        with self._lock:
            for state in as_list("states", states):
                number = self._met("a state", state)
                self._agent.discover(number)
                self._declared_states.setdefault(number, self.n_obs)  # undo may take back how it was found before

    def _observe(self, s: int, a: int, s_next: int, ended: int) -> None:
        if self.n_obs >= MAX_OBSERVATIONS:
            raise ValueError(f"an explorer makes at most {MAX_OBSERVATIONS:,} observations")
        reopened = s in self._terminal  # actions can be taken here after all
        if reopened:
            self._terminal.remove(s)
            self._agent.unmark_terminal(s)
        try:
            self._agent.observe(s, a, s_next)
        except ValueError as error:
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
            self._mark_terminal([s_next])

    def observe_many(self, history: Any) -> None:
        """Learn a history of transitions in their order: a log of somebody's, a warm start. All of it or nothing.

        It may have any form that `berlyne.replay` takes: lines (s, a, s_next), three arrays, a `Run`, or a frame, whose
        column `ended`, if there is one, tells ends as `observe` does. It need not be one path: the explorer is taken to
        be wherever each line begins, so episodes need not be told apart. Lines of several subjects are refused, since
        one explorer cannot be all of them. Ends that a `Run` knew of are known as by `ends_in`.
        """
        with self._lock:
            known = self.state_labels
            labels = known.copy() if isinstance(known, GrowingLabels) else known
            lines = read_single_subject(history, labels, self.action_labels)
            told = zip(lines.steps.tolist(), lines.ended.tolist(), strict=True)
            if isinstance(
                known, GrowingLabels
            ):  # where nothing is impossible that has a name, and ends are known when found
                ends = set(lines.terminal.tolist())
                for (s, a, s_next), ended in told:
                    over = ended or s_next in ends
                    self.observe(labels[s], self.action_labels[a], labels[s_next], ended=over)
                return
            self.model.learn(lines.steps)  # refuses all of it if any is impossible
            self.ends_in([self.state_labels[s] for s in lines.terminal.tolist()])
            for (s, a, s_next), ended in told:
                self._observe(s, a, s_next, ended)

    def ends_in(self, states: Iterable[Any]) -> None:
        """Know that episodes end in these states: no action can be taken there, so none is worth anything.

        `observe(..., ended=True)` finds out one at a time. Where an action was taken already, it is no end.
        """
        states = as_list("states", states)
        with self._lock:
            if isinstance(self.state_labels, GrowingLabels):
                self.discover(states)
            numbers = self._numbers("states", states, "a terminal state", self.state_labels)
            for number in numbers:
                self._declared_terminal.setdefault(number, self.n_obs)  # when it was told first
            self._mark_terminal(numbers)

    def _tried(self, s: int) -> bool:
        return any(s * self.n_actions + a in self._last_outcomes for a in range(self.n_actions))

    def _mark_terminal(self, states: Iterable[int]) -> None:
        new = sorted(s for s in set(states) - self._terminal if not self._tried(s))  # some end where one can also go on
        if new:
            self._terminal.update(new)
            self._agent.mark_terminal(np.array(new, dtype=np.int64))

    @property
    def history(self) -> IntArray | list[tuple[Any, Any, Any]]:
        """What was observed, lines `(s, a, s_next)` in order: an array `(n_obs, 3)`, or a list if there are labels."""
        with self._lock:
            told: IntArray | list[Any] = labelled_history(self._lines()[:, :3], self.state_labels, self.action_labels)
            return told

    def _lines(self) -> IntArray:
        """Numbers s, a, s_next of each observation, and whether an episode ended with it, `(n_obs, 4)`."""
        if self._history is None:
            raise ValueError("this explorer comes from a file that does not hold its history")
        return np.array(self._history, dtype=np.int64).reshape(-1, 4)

    def undo(self, n: int = 1) -> None:
        """Forget the last `n` observations, as if they had never been made: what it will answer is as it was then."""
        if check_count("n", n, 1) > self.n_obs:
            raise ValueError(f"n is {n}; there are {self.n_obs} observations to undo")
        with self._lock:
            self._replay_steps(self._lines()[: self.n_obs - n])

    def _replay_steps(self, lines: IntArray) -> None:
        """Observe these lines from the beginning, with all that it was told between them, or after more of them."""
        n_lines = len(lines)
        told = [_by_time(these) for these in (self._declared_states, self._declared_terminal)]
        late = [[self.state_labels[s] for t, s in _in_time(these) if t > n_lines] for these in told]
        self._take_back(self.n_obs)
        self._forget()
        for t, line in enumerate([*lines.tolist(), None]):
            for s in told[0].get(t, []):
                cast(OpenStateAgent, self._agent).discover(s)
            self._mark_terminal(told[1].get(t, []))
            if line is not None:
                self._observe(*line)
        self._declared_states, self._declared_terminal = (
            {s: t for t, s in _in_time(these) if t <= n_lines} for these in told
        )
        if isinstance(self.state_labels, GrowingLabels):
            self.state_labels.truncate(len(cast(OpenStateAgent, self._agent).discovered))
            self.discover(late[0])
        self.ends_in(late[1])

    def _restore_steps(self, lines: IntArray, n_states: int, first_draws: Any) -> None:
        """Know these lines and the first `n_states` states alone, whatever an interrupt left half done.

        `first_draws` is the state of the random generator before the first line.
        """
        self._rng.bit_generator.state = first_draws
        self._next_draw, self.n_obs = None, 0  # there are no draws to take back
        self._declared_states = {s: t for s, t in self._declared_states.items() if s < n_states}
        if isinstance(self.state_labels, GrowingLabels):
            self.state_labels = self.state_labels.copy_first(n_states)
        self._replay_steps(lines)

    def _take_back(self, n: int = 0) -> None:
        """Take back the draws of the next choice, if it was asked for, and of the last `n` observations."""
        n += self._next_draw is not None
        self._next_draw = None
        self._rng.bit_generator.advance(-2 * n)  # type: ignore[attr-defined]  # PCG64, one step for each number

    @property
    def model(self) -> InternalModel:
        """A copy of the internal model: estimates, counts and all measures."""
        with self._lock:
            labels = self.state_labels, self.action_labels
            if isinstance(self._agent, OpenStateAgent):
                return self._agent.model((DiscoveredLabels(self.states), self.action_labels))
            return InternalModel.from_counts(self.prior, self._agent.counts(), self._last_outcomes, labels)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything to one file, without pickle; a loaded explorer goes on exactly as this one would.

        The prior and the strategy must be berlyne's own: code cannot be saved.
        """
        with self._lock:
            self._take_back()  # they are drawn again when asked for
            write_explorer(path, self)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Explorer:
        """Read an explorer that `save` wrote."""
        return read_explorer(path, cls.__new__(cls))

    @property
    def here(self) -> Any:
        """The state that it was last led to; None if nothing was observed."""
        with self._lock:
            return self.states[self._agent.current_state] if self._agent.current_state >= 0 else None

    @property
    def episode_is_over(self) -> bool:
        """Whether it was last led to where episodes end, so that somebody must say where the next one begins.

        Never so for a strategy that chooses the state itself.
        """
        with self._lock:
            return not self.strategy.relocates and self._agent.current_state in self._terminal

    def plot(self, what: Any = "utility", ax: Axes | None = None, **options: Any) -> Axes:
        """Draw states coloured by a quantity, and where the explorer is.

        what : "utility" (of its strategy), "expected missing information", "visits", the name of a utility, an array
            (N,) or (M, N), or "missing information", which needs `world=`.
        options : `world`, whose map is drawn; `rows`, whether each action has a part of its own (of a node, slices
            clockwise from the top, action 0 first); `labels`; `bar`.
        """
        drawn: Axes = figures_package().draw_explorer(self, what, ax, **options)
        return drawn

    def utility(self) -> FloatArray:
        """What the explorer values, `[a, s]`: why it acts as it does. Zero for heuristics."""
        with self._lock:
            return self._agent.utility()

    def expected_missing_information(self, level: float = 0.95) -> MissingInformationEstimate:
        """What is likely to be missing still, in bits: in all with an interval, and per row; see `InternalModel`.

        States in which episodes end do not count: nothing can be tried there. Nor does elsewhere: what is to be learned
        in states that nobody has seen is not known to be there.
        """
        left_out = (
            {*self._terminal, self.state_labels.size} if isinstance(self._agent, OpenStateAgent) else self._terminal
        )
        return self.model.expected_missing_information(level, left_out)

    def expected_gain(self, n_steps: int, s: Any = None, *, n_samples: int = 100, seed: Seed = 0) -> Gain:
        """What `n_steps` more steps are expected to teach, in bits, by imagining them.

        Each time the explorer goes on in a world that answers as its own model predicts, and what it expects to be
        missing is compared before and after. It stays where it is, and so does its random stream. An episode that ends
        begins again where the imagination began.

        Where states are discovered they are in imagination, too, and each step counts with what it is expected to
        teach of the states known by then, its PIG: what lies in a state that is only imagined was not missing before.

        Parameters
        ----------
        s : the state it starts from; by default the last one that was observed.
        n_samples : how often to imagine it; the standard error falls with the square root of it.
        seed : for the imagination alone.
        """
        n_steps, n_samples = check_count("n_steps", n_steps, 0), check_count("n_samples", n_samples, 2)
        with self._lock:
            here = self._agent.current_state if s is None else self._number("s", s, self.state_labels)
            if here < 0 and not self.strategy.relocates:
                raise ValueError("nothing was observed yet, so the explorer is nowhere; say where it starts: s=...")
            if here in self._terminal and not self.strategy.relocates:
                raise ValueError(
                    f"the episode is over in state {self.states[here]!r}; say where the next one starts: s=..."
                )
            if self.strategy.relocates:
                self._check_somewhere()
            if isinstance(self._agent, OpenStateAgent):
                return simulate_gain_open_states(self._agent, here, n_steps, n_samples, seed)
            counted = InternalModel.from_counts(self.prior, self._agent.counts(), self._last_outcomes)
            return simulate_gain(self._agent, counted, self._terminal, max(here, 0), n_steps, n_samples, seed)

    def knows_enough(self, bits: float, confidence: float = 0.95) -> bool:
        """Whether at most `bits` are missing, with this probability: a rule for when to stop.

        It looks at the explorer's own belief, so it is right as often as it says in worlds like those that the prior
        expects, however often it is asked on the way. Where states are discovered it speaks of those that are; while
        nothing was observed it is never enough.
        """
        check_number("bits", bits, 0.0, np.finfo(float).max)
        confidence = check_number("confidence", confidence, 0.0, 1.0)
        if isinstance(self._agent, OpenStateAgent) and not self._last_outcomes:
            return False  # it knows of nothing that could be missing, which is not to know enough
        found = self.expected_missing_information().quantile(confidence)
        if np.isnan(found):
            raise ValueError(
                f"{type(self.prior).__name__} does not say how far its expectation may be off; "
                f"give it a method missing_information_variance(counts) that returns bits squared [a, s]"
            )
        return found <= bits

    def action_values(self, s: Any = None) -> FloatArray:
        """What the next choice in state `s` goes by, (M,): Q of a planner or learner, utility, or a heuristic's score.

        For Unembodied, without `s`, of all pairs, `[s, a]`. Zero for Random; NaN for a method of your own that has no
        `values`. Asking changes nothing.
        """
        where = self._asked("action_values", s)
        with self._lock, self._as_nonterminal(where):
            return self._agent.pair_values() if where is None else self._agent.action_values(where)

    def probabilities(self, s: Any = None, among: Iterable[Any] | None = None) -> FloatArray:
        """The chance of each action in state `s`, (M,), from which `act` draws: ties, epsilon, temperature and lapse.

        `among` names the actions that are possible just now, as in `act`; others have none. For Unembodied, without
        `s`, of all pairs, `[s, a]`. Asking changes nothing.
        """
        where, possible = self._asked("probabilities", s), self._possible(among)
        if where is None and possible is not None:
            raise ValueError(f"{self.strategy} chooses among all pairs of a state and an action; leave among out")
        with self._lock, self._as_nonterminal(where):
            if where is None:
                self._check_somewhere()
                return self._agent.pair_probabilities()
            if possible is None:
                return self._agent.probabilities(where)
            chances = np.zeros(self.action_labels.size)
            chances[possible] = self.strategy.rule.probabilities(self._values_among(where, possible))
            return chances

    def _values_among(self, s: int, possible: list[int]) -> FloatArray:
        """What the actions that are possible are worth in state `s`."""
        values = self._agent.action_values(s)[possible]
        if np.any(np.isnan(values)) or getattr(self._agent, "chooses_without_values", False):
            raise ValueError(f"{self.strategy} decides for itself, so it cannot choose among some actions")
        return values

    @contextmanager
    def _as_nonterminal(self, s: int | None) -> Iterator[None]:
        """While this lasts, actions can be taken in state `s`, even if it was taken for an end."""
        closed = s is not None and s in self._terminal
        if closed:
            self._agent.unmark_terminal(s)  # type: ignore[arg-type]  # a number, as the line above says
        try:
            yield
        finally:
            if closed:
                self._agent.mark_terminal(np.array([s], dtype=np.int64))

    def _check_somewhere(self) -> None:
        """Refuse to choose a state where there is none that actions can be taken in."""
        if not self.state_labels.size:
            raise ValueError(f"{self.strategy} knows of no state to go to; tell it of one by discover")
        if len(self._terminal) == self.state_labels.size:
            raise ValueError(f"{self.strategy} has no state to go to; episodes end in every state that it knows of")

    def _asked(self, what: str, s: Any) -> int | None:
        """The state asked about; None for a strategy that chooses the state."""
        if self.strategy.relocates and s is not None:
            raise ValueError(f"{self.strategy} chooses the state as well as the action; call {what}()")
        if not self.strategy.relocates and s is None and None not in self.states:  # which may be a label
            raise ValueError(f"{self.strategy} acts in the state it is in; call {what}(s)")
        return None if self.strategy.relocates else self._number("s", s, self.state_labels)

    def _possible(self, among: Iterable[Any] | None) -> list[int] | None:
        """The numbers of the actions that are possible; None for all of them."""
        if among is None:
            return None
        possible = self._numbers("among", among, "an action", self.action_labels)
        if not possible:
            raise ValueError("among is empty; it must name the actions that are possible")
        return possible

    def _numbers(self, what: str, values: Any, one: str, labels: Labels) -> list[int]:
        """The numbers of several labels, each once, in order."""
        return sorted({self._number(one, value, labels) for value in as_list(what, values)})

    @staticmethod
    def _number(name: str, value: Any, labels: Labels) -> int:
        if type(value) is int and labels.custom is None and 0 <= value < labels.size:
            return value
        if labels.custom is not None:
            return labels.number(value, name)
        if check_count(name, value, 0) >= labels.size:
            raise ValueError(f"{name} is {value}; it must be 0 to {labels.size - 1}")
        return int(value)


def _by_time(told: dict[int, int]) -> dict[int, list[int]]:
    """States by the number of observations after which they were told of."""
    found: dict[int, list[int]] = {}
    for s, t in told.items():  # in the order in which it was told
        found.setdefault(t, []).append(s)
    return found


def _in_time(by_time: dict[int, list[int]]) -> list[tuple[int, int]]:
    return [(t, s) for t in sorted(by_time) for s in by_time[t]]
