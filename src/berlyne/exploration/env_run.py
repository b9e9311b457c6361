"""The result of `explore_env`, and the error it raises if an environment fails, which keeps the finished steps."""

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

    Attributes
    ----------
    explorer : Explorer
        The explorer after the last step; it can continue.
    states, actions, next_states : ndarray of shape (n_steps,)
        State, action and next state of each step, as indices. The labels are `explorer.states` and `explorer.actions`.
    rewards : ndarray of shape (n_steps,)
        Rewards of the environment, which may be NaN or infinite. The explorer does not see them.
    episode : ndarray of shape (n_steps,)
        Number of the episode of each step: 0, 0, ..., 1, 1, ...
    terminated : ndarray of bool of shape (n_steps,)
        Whether the environment returned `terminated` for the step.
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
        steps, episodes, states = (f"{n:,} {noun}{'s' if n != 1 else ''}" for n, noun in counts)
        return f"EnvRun({self.explorer.strategy}: {steps} in {episodes}, {states})"

    @property
    def n_steps(self) -> int:
        """Number of steps."""
        return len(self.actions)

    @property
    def n_episodes(self) -> int:
        """Number of episodes with at least one step."""
        return int(self.episode[-1]) + 1 if self.n_steps else 0

    @cached_property
    def history(self) -> list[tuple[Any, Any, Any]]:
        """Observed transitions, a list of `(s, a, s_next)` in labels."""
        states, actions = self.explorer.states, self.explorer.actions
        steps = zip(self.states.tolist(), self.actions.tolist(), self.next_states.tolist(), strict=True)
        return [(states[s], actions[a], states[s_next]) for s, a, s_next in steps]

    @cached_property
    def expected_missing_information(self) -> FloatArray:
        """Expected missing information before the first and after every step, (n_steps + 1,), in bits.

        The expectation is the explorer's own: without the true transition probabilities, the missing information is
        unknown. Once a state is known to be terminal, it is no longer counted. All values are NaN if the prior has no
        method `expected_missing_information`.
        """
        if not self.n_steps:
            return np.array([self.explorer.expected_missing_information().bits])
        prior, n_actions = self.explorer.prior, self.explorer.n_actions
        if discovers_states(prior):
            initial_states = [self.explorer.states[s] for s, t in self.explorer._declared_states.items() if t == 0]
            return expected_missing_curve(prior, self, n_actions=n_actions, states=initial_states)
        return expected_missing_curve(prior, self, n_states=self.explorer.n_states, n_actions=n_actions)

    @property
    def area(self) -> float:
        """Area under the learning curve, in bits: the sum of expected missing information over steps 0..n_steps."""
        return float(np.sum(self.expected_missing_information))

    def plot(self, ax: Axes | None = None, **style: Any) -> Axes:
        """Plot the learning curve: expected missing information against time, over all episodes.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Axes to draw on; by default new ones.
        **style : object
            Keyword arguments for the line.

        Returns
        -------
        matplotlib.axes.Axes
            The axes with the curve.
        """
        drawn: Axes = figures_package().draw_env_run(self, ax, **style)
        return drawn


class ExplorationError(ValueError):
    """An exploration stopped because its environment failed or returned something invalid.

    If the environment raised an exception, it is the `__cause__`.

    Parameters
    ----------
    place : str
        The step that failed, such as "step 17, action 2", or "before step 17" for a reset.
    reason : str
        Description of the problem and of a valid result.
    step : int
        Number of the failed step, counted from 0, which equals the number of finished steps.
    run : EnvRun or None
        The finished steps. Its explorer has learned exactly these and can continue. None if the environment could not
        be made, or if the error comes from another process.
    """

    def __init__(self, place: str, reason: str, step: int, run: EnvRun | None) -> None:
        super().__init__(place, reason, step)
        self.place, self.reason, self.step, self.run = place, " ".join(reason.split()), step, run
        if run is not None:
            add_note(self, run)

    def __str__(self) -> str:
        return f"{self.place}: {self.reason}"

    def of(self, run: str) -> ExplorationError:
        """Prepend the name of a run to the message, and return the error."""
        self.place = f"{run}, {self.place}"
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.place, self.reason, self.step, None)  # an explorer cannot be pickled


def add_note(error: BaseException, run: EnvRun) -> None:
    """Add a note to an exception, which names the attribute `run`, if any steps were finished."""
    if run.n_steps:
        error.add_note(f"The attribute `run` of this exception contains the finished steps: {run!r}.")
