"""What an explorer thinks, for anybody to ask: values, chances, what it misses, what more steps would teach."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from berlyne.arrays import FloatArray, Seed, check_count, check_number
from berlyne.explore import Mind
from berlyne.foresight import Gain, discovering_gain, imagined_gain
from berlyne.growing import GrowingMind
from berlyne.labels import Labelled, Labels, several
from berlyne.model import InternalModel
from berlyne.plotting import Shown, figures
from berlyne.priors import Prior
from berlyne.strategies import Strategy
from berlyne.uncertainty import Expected

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class Thinking(Labelled, Shown):
    """The part of an `Explorer` that answers questions. None of them changes it."""

    prior: Prior
    strategy: Strategy
    _mind: Mind
    _last: dict[int, int]
    _closed: set[int]
    _one_at_a_time: threading.RLock

    @property
    def model(self) -> InternalModel:
        """A copy of the internal model."""
        raise NotImplementedError

    @property
    def here(self) -> Any:
        """The state that it was last led to; None if nothing was observed."""
        with self._one_at_a_time:
            return self.states[self._mind.where] if self._mind.where >= 0 else None

    @property
    def episode_is_over(self) -> bool:
        """Whether it was last led to where episodes end, so that somebody must say where the next one begins.

        Never so for a strategy that chooses the state itself.
        """
        with self._one_at_a_time:
            return not self.strategy.relocates and self._mind.where in self._closed

    def plot(self, what: Any = "utility", ax: Axes | None = None, **options: Any) -> Axes:
        """Draw states coloured by a quantity, and where the explorer is.

        what : "utility" (of its strategy), "expected missing information", "visits", the name of a utility, an array
            (N,) or (M, N), or "missing information", which needs `world=`.
        options : `world`, whose map is drawn; `rows`, whether each action has a part of its own (of a node, slices
            clockwise from the top, action 0 first); `labels`; `bar`.
        """
        drawn: Axes = figures().draw_explorer(self, what, ax, **options)
        return drawn

    def utility(self) -> FloatArray:
        """What the explorer values, `[a, s]`: why it acts as it does. Zero for heuristics."""
        with self._one_at_a_time:
            return self._mind.utility()

    def expected_missing_information(self, level: float = 0.95) -> Expected:
        """What is likely to be missing still, in bits: in all with an interval, and per row; see `InternalModel`.

        States in which episodes end do not count: nothing can be tried there. Nor does elsewhere: what is to be learned
        in states that nobody has seen is not known to be there.
        """
        left_out = {*self._closed, self.state_labels.size} if isinstance(self._mind, GrowingMind) else self._closed
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
        with self._one_at_a_time:
            here = self._mind.where if s is None else self._number("s", s, self.state_labels)
            if here < 0 and not self.strategy.relocates:
                raise ValueError("nothing was observed yet, so the explorer is nowhere; say where it starts: s=...")
            if here in self._closed and not self.strategy.relocates:
                raise ValueError(
                    f"the episode is over in state {self.states[here]!r}; say where the next one starts: s=..."
                )
            if self.strategy.relocates:
                self._check_somewhere()
            if isinstance(self._mind, GrowingMind):
                return discovering_gain(self._mind, here, n_steps, n_samples, seed)
            counted = InternalModel.from_counts(self.prior, self._mind.counts(), self._last)
            return imagined_gain(self._mind, counted, self._closed, max(here, 0), n_steps, n_samples, seed)

    def knows_enough(self, bits: float, confidence: float = 0.95) -> bool:
        """Whether at most `bits` are missing, with this probability: a rule for when to stop.

        It looks at the explorer's own belief, so it is right as often as it says in worlds like those that the prior
        expects, however often it is asked on the way. Where states are discovered it speaks of those that are; while
        nothing was observed it is never enough.
        """
        check_number("bits", bits, 0.0, np.finfo(float).max)
        confidence = check_number("confidence", confidence, 0.0, 1.0)
        if isinstance(self._mind, GrowingMind) and not self._last:
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
        with self._one_at_a_time, self._as_open(where):
            return self._mind.pair_values() if where is None else self._mind.action_values(where)

    def probabilities(self, s: Any = None, among: Iterable[Any] | None = None) -> FloatArray:
        """The chance of each action in state `s`, (M,), from which `act` draws: ties, epsilon, temperature and lapse.

        `among` names the actions that are possible just now, as in `act`; others have none. For Unembodied, without
        `s`, of all pairs, `[s, a]`. Asking changes nothing.
        """
        where, possible = self._asked("probabilities", s), self._possible(among)
        if where is None and possible is not None:
            raise ValueError(f"{self.strategy} chooses among all pairs of a state and an action; leave among out")
        with self._one_at_a_time, self._as_open(where):
            if where is None:
                self._check_somewhere()
                return self._mind.pair_probabilities()
            if possible is None:
                return self._mind.probabilities(where)
            chances = np.zeros(self.action_labels.size)
            chances[possible] = self.strategy.rule.probabilities(self._values_among(where, possible))
            return chances

    def _values_among(self, s: int, possible: list[int]) -> FloatArray:
        """What the actions that are possible are worth in state `s`."""
        values = self._mind.action_values(s)[possible]
        if np.any(np.isnan(values)) or getattr(self._mind, "by_itself", False):
            raise ValueError(f"{self.strategy} decides for itself, so it cannot choose among some actions")
        return values

    @contextmanager
    def _as_open(self, s: int | None) -> Iterator[None]:
        """While this lasts, actions can be taken in state `s`, even if it was taken for an end."""
        closed = s is not None and s in self._closed
        if closed:
            self._mind.open(s)  # type: ignore[arg-type]  # a number, as the line above says
        try:
            yield
        finally:
            if closed:
                self._mind.close(np.array([s], dtype=np.int64))

    def _check_somewhere(self) -> None:
        """Refuse to choose a state where there is none that actions can be taken in."""
        if not self.state_labels.size:
            raise ValueError(f"{self.strategy} knows of no state to go to; tell it of one by discover")
        if len(self._closed) == self.state_labels.size:
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
        return sorted({self._number(one, value, labels) for value in several(what, values)})

    @staticmethod
    def _number(name: str, value: Any, labels: Labels) -> int:
        if type(value) is int and labels.given is None and 0 <= value < labels.size:
            return value
        if labels.given is not None:
            return labels.number(value, name)
        if check_count(name, value, 0) >= labels.size:
            raise ValueError(f"{name} is {value}; it must be 0 to {labels.size - 1}")
        return int(value)
