"""The exploration of an environment: its record, and the error that keeps the record of one that failed."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from berlyne.exploration.explorer import Explorer
from berlyne.exploration.replay import expected_missing_curve
from berlyne.frozen import FrozenArrays
from berlyne.plotting import figures_package
from berlyne.priors.protocols import discovers_states
from berlyne.validation import BoolArray, FloatArray, IndexArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True, eq=False)
class EnvRun(FrozenArrays):
    """One finished exploration of an environment.

    explorer : what explored it, ready to go on.
    states, actions, next_states : (n_steps,), numbers; labels are `explorer.states` and `explorer.actions`.
    rewards : (n_steps,), what the environment paid, which may be NaN or infinite; the explorer is not told.
    episode : (n_steps,), the number of the episode of each step: 0, 0, ..., 1, 1, ...
    terminated : (n_steps,), whether the environment said that the step led to an end.
    """

    explorer: Explorer
    states: IndexArray = field(repr=False)
    actions: IndexArray = field(repr=False)
    next_states: IndexArray = field(repr=False)
    rewards: FloatArray = field(repr=False)
    episode: IndexArray = field(repr=False)
    terminated: BoolArray = field(repr=False)

    def __repr__(self) -> str:
        counts = (self.n_steps, "step"), (self.n_episodes, "episode"), (self.explorer.n_states, "state")
        steps, episodes, states = (f"{n:,} {what}{'s' if n != 1 else ''}" for n, what in counts)
        return f"EnvRun({self.explorer.strategy}: {steps} in {episodes}, {states})"

    @property
    def n_steps(self) -> int:
        """Number of steps made."""
        return len(self.actions)

    @property
    def n_episodes(self) -> int:
        """Number of episodes begun."""
        return int(self.episode[-1]) + 1 if self.n_steps else 0

    @cached_property
    def history(self) -> list[tuple[Any, Any, Any]]:
        """What was observed, as lines `(s, a, s_next)` of labels."""
        states, actions = self.explorer.states, self.explorer.actions
        steps = zip(self.states.tolist(), self.actions.tolist(), self.next_states.tolist(), strict=True)
        return [(states[s], actions[a], states[s_next]) for s, a, s_next in steps]

    @cached_property
    def expected_missing_information(self) -> FloatArray:
        """What the explorer expected to be missing before the first and after every step, (n_steps + 1,), in bits.

        What is missing indeed nobody can tell without the truth. States that turn out to end episodes count no more
        from then on. All NaN for a prior that does not say it.
        """
        if not self.n_steps:
            return np.array([self.explorer.expected_missing_information().bits])
        prior, n_actions = self.explorer.prior, self.explorer.n_actions
        if discovers_states(prior):  # what it knew of before the first step
            known = [self.explorer.states[s] for s, t in self.explorer._declared_states.items() if t == 0]
            return expected_missing_curve(prior, self, n_actions=n_actions, states=known)
        return expected_missing_curve(prior, self, n_states=self.explorer.n_states, n_actions=n_actions)

    @property
    def area(self) -> float:
        """Area under the learning curve: the sum of expected missing information over steps 0..n_steps."""
        return float(np.sum(self.expected_missing_information))

    def plot(self, ax: Axes | None = None, **style: Any) -> Axes:
        """Draw the learning curve: expected missing information against time, over all episodes."""
        drawn: Axes = figures_package().draw_env_run(self, ax, **style)
        return drawn


class ExplorationError(ValueError):
    """An exploration that stopped in the middle, because its environment failed or returned something invalid.

    The exception that the environment raised, if it raised one, is `__cause__`.

    Parameters
    ----------
    place : str
        The step that could not be made, such as "step 17, action 2", or "before step 17" for a reset.
    reason : str
        What was wrong, and what would be right.
    step : int
        The number of that step, counted from 0; so many steps were finished.
    run : EnvRun or None
        The steps that were finished before. Its explorer knows these and no others, and can go on. None if the
        environment could not be made, and if the error comes from another process.
    """

    def __init__(self, place: str, reason: str, step: int, run: EnvRun | None) -> None:
        super().__init__(place, reason, step)
        self.place, self.reason, self.step, self.run = place, " ".join(reason.split()), step, run
        if run is not None:
            add_note(self, run)

    def __str__(self) -> str:
        return f"{self.place}: {self.reason}"

    def of(self, run: str) -> ExplorationError:
        """Name the run of a study in the message, and return the error."""
        self.place = f"{run}, {self.place}"
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.place, self.reason, self.step, None)  # an explorer cannot be pickled


def add_note(error: BaseException, run: EnvRun) -> None:
    """Let the traceback of an exception tell where the finished steps are, if there are any."""
    if run.n_steps:
        error.add_note(f"The attribute `run` of this exception holds what was explored: {run!r}.")
