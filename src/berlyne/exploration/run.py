"""One finished exploration."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from berlyne.agents.base import make_open_state_agent
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

    missing_information : (n_steps + 1,), in bits, before the first and after every step.
    l1_distance : (n_steps + 1,), the same in L1 distance (Fig. S4).
    states : (n_steps + 1,), the state in which each action was taken, and the last one reached.
    actions : (n_steps,).
    next_states : (n_steps,), what each action led to; `states[1:]`, except for Unembodied and where an episode ended.
    snapshots : observed transitions after each of the times asked for.
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
        """Number of steps made."""
        return len(self.actions)

    @property
    def area(self) -> float:
        """Area under the learning curve: the sum of missing information over steps 0..n_steps (R14)."""
        return float(np.sum(self.missing_information))

    @cached_property
    def episode(self) -> IndexArray:
        """The number of the episode that each step was made in, `(n_steps,)`: 0, 0, ..., 1, 1, ..."""
        ended = self.world.episodes.is_terminal[self.next_states]
        return np.asarray(np.cumsum(ended) - ended, dtype=np.int32)

    @property
    def episode_starts(self) -> IndexArray:
        """The steps with which episodes began, `(n_episodes,)`; the first is 0."""
        return np.flatnonzero(np.diff(self.episode, prepend=-1)).astype(np.int32)

    @property
    def history(self) -> list[tuple[Any, Any, Any]]:
        """What was observed, as lines `(s, a, s_next)` of labels."""
        states, actions = self.world.states, self.world.actions
        steps = zip(self.states[:-1].tolist(), self.actions.tolist(), self.next_states.tolist(), strict=True)
        return [(states[s], actions[a], states[s_next]) for s, a, s_next in steps]

    @cached_property
    def counts(self) -> Counts:
        """All observed transitions."""
        return count_transitions(self.world, self.states[:-1], self.actions, self.next_states)

    @cached_property
    def model(self) -> InternalModel:
        """The explorer's internal model at the end."""
        return self.model_at(self.n_steps)

    @cached_property
    def path_counts(self) -> PathCounts:
        """What had been observed at any time."""
        world = self.world
        return PathCounts(world.n_actions, world.n_states, self.states[:-1], self.actions, self.next_states)

    def model_at(self, t: int) -> InternalModel:
        """The explorer's internal model after `t` steps, found without replaying them, unless states are discovered."""
        t = check_index("t", t, self.n_steps + 1)
        prior: Any = self.world.prior
        if discovers_states(prior):
            return self._discovered(prior, t)
        labels = self.world.state_labels, self.world.action_labels
        counts = self.counts if t == self.n_steps else self.path_counts.counts(t)
        return InternalModel.from_counts(prior, counts, self.path_counts.last(t), labels)

    def _discovered(self, prior: Any, t: int) -> InternalModel:
        """The model of an explorer that discovered its states: they are its cells in that order, and elsewhere."""
        agent = make_open_state_agent(prior, self.world.n_actions, get_strategy("Random"))
        agent.discover(int(self.states[0]))
        steps = zip(self.states[:t], self.actions[:t], self.next_states[:t], self.states[1 : t + 1], strict=True)
        for s, a, s_next, now in steps:
            agent.observe(int(s), int(a), int(s_next))
            agent.discover(int(now))
        return agent.model((DiscoveredLabels(self.world.states[s] for s in agent.discovered), self.world.action_labels))

    def plot(self, ax: Axes | None = None, **style: Any) -> Axes:
        """Draw the learning curve: missing information against time."""
        drawn: Axes = figures_package().draw_run(self, ax, **style)
        return drawn

    def plot_path(self, t: int | None = None, ax: Axes | None = None, **options: Any) -> Axes:
        """Draw the world with the agent at time `t`, by default the end, and the trail of its last steps.

        options : `last`, how many steps; `what`, a quantity to colour states by, such as "missing information", as it
            was at that time (beside a matrix, in a column of states); `labels`; `bar`.
        """
        drawn: Axes = figures_package().draw_path(self, t, ax, **options)
        return drawn

    def animate(self, **options: Any) -> FuncAnimation:
        """The run as a matplotlib animation: path, what is missing where, and the learning curve with a cursor.

        `run.animate().save("run.gif")` or, where ffmpeg is, "run.mp4" writes it; in a notebook
        `IPython.display.HTML(run.animate().to_jshtml())` plays it.

        options : `fps`; `every` so many steps or `n_frames` in all (by default 120); `last`, steps of the trail;
            `what`, a quantity to colour states by; `labels`.
        """
        film: FuncAnimation = figures_package().animate_run(self, **options)
        return film

    def watch(self, path: str | os.PathLike[str] | None = None, *, open_browser: bool | None = None) -> Path:
        """Make a page that replays the run, and show it if no path is given; as `berlyne.watch` does with several."""
        page: Path = watch_package().watch(self, path, open_browser=open_browser)
        return page


def count_transitions(world: World, states: IndexArray, actions: IndexArray, outcomes: IndexArray) -> Counts:
    """How often each transition of a path was made."""
    m, n = world.n_actions, world.n_states
    keys = (states.astype(np.int64) * m + actions) * n + outcomes
    return Counts.from_keys(m, n, *np.unique(keys, return_counts=True))
