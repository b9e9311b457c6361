"""The result of `explore`."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from berlyne.agents.make import make_open_state_agent
from berlyne.exploration.path_counts import PathCounts
from berlyne.frozen import FrozenArrays
from berlyne.labels import DiscoveredLabels
from berlyne.models.internal_model import InternalModel
from berlyne.plotting import HtmlReprMixin, figures_package, watch_package
from berlyne.priors.protocols import discovers_states
from berlyne.sparse import Counts
from berlyne.strategies.registry import Strategy, get_strategy
from berlyne.validation import (
    FloatArray,
    IndexArray,
    check_index,
)
from berlyne.worlds.world import World

if TYPE_CHECKING:
    from matplotlib.animation import FuncAnimation
    from matplotlib.axes import Axes


@dataclass(frozen=True, eq=False)
class Run(HtmlReprMixin, FrozenArrays):
    """One finished exploration.

    Attributes
    ----------
    world : World
        The world.
    strategy : Strategy
        The strategy.
    missing_information : ndarray of shape (n_steps + 1,)
        Missing information before the first and after every step, in bits.
    l1_distance : ndarray of shape (n_steps + 1,)
        L1 distance between the model and the world at the same times (Fig. S4).
    states : ndarray of shape (n_steps + 1,)
        The state in which each action was taken, and the last state.
    actions : ndarray of shape (n_steps,)
        The actions.
    next_states : ndarray of shape (n_steps,)
        The outcome of each action. Equals `states[1:]`, except for Unembodied and at the end of an episode.
    snapshots : dict of int to Counts
        Counts of observed transitions by time, in steps; the times are those passed to `explore`.
    """

    world: World
    strategy: Strategy
    missing_information: FloatArray = field(repr=False)
    l1_distance: FloatArray = field(repr=False)
    states: IndexArray = field(repr=False)
    actions: IndexArray = field(repr=False)
    next_states: IndexArray = field(repr=False)
    snapshots: dict[int, Counts] = field(repr=False)

    def __repr__(self) -> str:
        first, last = self.missing_information[0], self.missing_information[-1]
        return f"Run({self.strategy} in {self.world.name}: {first:.1f} -> {last:.1f} bits in {self.n_steps:,} steps)"

    @property
    def n_steps(self) -> int:
        """Number of steps."""
        return len(self.actions)

    @property
    def area(self) -> float:
        """Area under the learning curve, in bits: the sum of missing information over steps 0..n_steps (R14)."""
        return float(np.sum(self.missing_information))

    @cached_property
    def episode(self) -> IndexArray:
        """Number of the episode of each step, `(n_steps,)`: 0, 0, ..., 1, 1, ..."""
        ended = self.world.episodes.is_terminal[self.next_states]
        return np.asarray(np.cumsum(ended) - ended, dtype=np.int32)

    @property
    def episode_starts(self) -> IndexArray:
        """First step of each episode, `(n_episodes,)`; the first is 0."""
        return np.flatnonzero(np.diff(self.episode, prepend=-1)).astype(np.int32)

    @property
    def history(self) -> list[tuple[Any, Any, Any]]:
        """Observed transitions, a list of `(s, a, s_next)` in labels."""
        states, actions = self.world.states, self.world.actions
        steps = zip(self.states[:-1].tolist(), self.actions.tolist(), self.next_states.tolist(), strict=True)
        return [(states[s], actions[a], states[s_next]) for s, a, s_next in steps]

    @cached_property
    def counts(self) -> Counts:
        """Counts of all observed transitions."""
        return count_transitions(self.world, self.states[:-1], self.actions, self.next_states)

    @cached_property
    def model(self) -> InternalModel:
        """The explorer's internal model at the end."""
        return self.model_at(self.n_steps)

    @cached_property
    def path_counts(self) -> PathCounts:
        """Counts of observed transitions at any time."""
        world = self.world
        return PathCounts(world.n_actions, world.n_states, self.states[:-1], self.actions, self.next_states)

    def model_at(self, t: int) -> InternalModel:
        """Return the explorer's internal model after `t` steps.

        The steps are not replayed, unless the prior discovers states.

        Parameters
        ----------
        t : int
            Number of steps, from 0 to `n_steps`.
        """
        t = check_index("t", t, self.n_steps + 1)
        prior: Any = self.world.prior
        if discovers_states(prior):
            return self._open_state_model(prior, t)
        labels = self.world.state_labels, self.world.action_labels
        counts = self.counts if t == self.n_steps else self.path_counts.counts(t)
        return InternalModel.from_counts(prior, counts, self.path_counts.last(t), labels)

    def _open_state_model(self, prior: Any, t: int) -> InternalModel:
        """Return the model of an explorer that discovers states: its states in that order, then the unknown rest."""
        agent = make_open_state_agent(prior, self.world.n_actions, get_strategy("Random"))
        agent.discover(int(self.states[0]))
        steps = zip(self.states[:t], self.actions[:t], self.next_states[:t], self.states[1 : t + 1], strict=True)
        for s, a, s_next, following in steps:
            agent.observe(int(s), int(a), int(s_next))
            agent.discover(int(following))
        return agent.model((DiscoveredLabels(self.world.states[s] for s in agent.discovered), self.world.action_labels))

    def plot(self, ax: Axes | None = None, **style: Any) -> Axes:
        """Plot the learning curve: missing information against time.

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
        drawn: Axes = figures_package().draw_run(self, ax, **style)
        return drawn

    def plot_path(self, t: int | None = None, ax: Axes | None = None, **options: Any) -> Axes:
        """Draw the world with the agent at time `t` and the trail of its last steps.

        Parameters
        ----------
        t : int, optional
            Number of steps; by default the end of the run.
        ax : matplotlib.axes.Axes, optional
            Axes to draw on; by default new ones.
        **options : object
            `last` : number of steps in the trail; `what` : a quantity to colour states by, such as "missing
            information", at time `t` (beside a matrix, in a column of states); `labels` : whether to write the names of
            states; `bar` : whether to draw a colour bar.

        Returns
        -------
        matplotlib.axes.Axes
            The axes with the drawing.
        """
        drawn: Axes = figures_package().draw_path(self, t, ax, **options)
        return drawn

    def animate(self, **options: Any) -> FuncAnimation:
        """Return a matplotlib animation of the run: path, missing information of each state, and learning curve.

        Save it with `run.animate().save("run.gif")` or, if ffmpeg is installed, "run.mp4". In a notebook, play it with
        `IPython.display.HTML(run.animate().to_jshtml())`.

        Parameters
        ----------
        **options : object
            `fps` : frames per second; `every` : number of steps between frames; or `n_frames` : number of frames, by
            default 120; `last` : number of steps in the trail; `what` : a quantity to colour states by; `labels` :
            whether to write the names of states.

        Returns
        -------
        matplotlib.animation.FuncAnimation
            The animation.
        """
        film: FuncAnimation = figures_package().animate_run(self, **options)
        return film

    def watch(self, path: str | os.PathLike[str] | None = None, *, open_browser: bool | None = None) -> Path:
        """Write a web page that replays the run; see `berlyne.watch`, which shows several runs.

        Parameters
        ----------
        path : path-like, optional
            File to write; by default a temporary file.
        open_browser : bool, optional
            Whether to open the page; by default only if no path is given.

        Returns
        -------
        Path
            The file.
        """
        page: Path = watch_package().watch(self, path, open_browser=open_browser)
        return page


def count_transitions(world: World, states: IndexArray, actions: IndexArray, outcomes: IndexArray) -> Counts:
    """Count the transitions of a path."""
    m, n = world.n_actions, world.n_states
    keys = (states.astype(np.int64) * m + actions) * n + outcomes
    return Counts.from_keys(m, n, *np.unique(keys, return_counts=True))
