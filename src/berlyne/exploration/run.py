"""The result of an exploration, in a world or in an environment."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from berlyne.agents.make import make_agent, make_open_state_agent
from berlyne.engine.records import RunRecord
from berlyne.exploration.path_counts import PathCounts
from berlyne.exploration.replay import expected_missing_curve
from berlyne.frozen import FrozenArrays, read_only
from berlyne.labels import DiscoveredLabels, Labels
from berlyne.models.history import TerminalChange, Transition, read_history, transitions
from berlyne.models.internal_model import InternalModel
from berlyne.plotting import HtmlReprMixin, figures_package, watch_package
from berlyne.priors import Prior
from berlyne.priors.protocols import discovers_states
from berlyne.priors.refit import refit_schedule
from berlyne.sparse import Counts
from berlyne.strategies.registry import Strategy, get_strategy
from berlyne.validation import BoolArray, FloatArray, IndexArray, check_index
from berlyne.worlds.world import MeasuredRows, World

if TYPE_CHECKING:
    from matplotlib.animation import FuncAnimation
    from matplotlib.axes import Axes

    from berlyne.bounds import FluidBound
    from berlyne.bounds.learning import Policies
    from berlyne.exploration.explorer import Explorer


@dataclass(frozen=True, eq=False)
class Run(HtmlReprMixin, FrozenArrays):
    """One finished exploration, of a world (`explore`) or of an environment (`explore_env`).

    `world`, `explorer` or both are known. States and actions are numbers; `labels` converts them.

    Attributes
    ----------
    strategy : Strategy
        The strategy.
    states : ndarray of shape (n_steps + 1,)
        The state in which each action was taken. The last entry is the state in which the next action would be taken:
        the first state of a new episode, if the last step ended one. Empty if an environment failed before it returned
        a state.
    actions : ndarray of shape (n_steps,)
        The actions.
    next_states : ndarray of shape (n_steps,)
        The outcome of each action. Equals `states[1:]`, except for Unembodied and at the end of an episode.
    episode : ndarray of shape (n_steps,)
        Number of the episode of each step: 0, 0, ..., 1, 1, ...
    terminated : ndarray of bool of shape (n_steps,)
        Whether the episode ended with the step, because no action can be taken in the next state. An episode that was
        only cut short is not terminated.
    world : World or None
        The true world. In an environment, that of its transition table; None if it has none, if a wrapper may change
        it, if a step contradicts it, or if its states are not the numbers 0, 1, 2, ... of the explorer.
    explorer : Explorer or None
        In an environment, the explorer after the last step; it can continue. None in a world.
    rewards : ndarray of shape (n_steps,) or None
        Rewards of an environment, which may be NaN or infinite. The explorer does not see them. None in a world.
    snapshots : dict of int to Counts
        Counts of observed transitions by time, in steps; the times are those passed to `explore`.
    curves : dict of str to ndarray of shape (n_steps + 1,)
        Measures that were computed during the exploration, by name. `missing_information` and `l1_distance` are
        computed from the path if they are not among them.
    learned : ndarray of shape (n_steps + 1,) or (n_steps + 1, P), or None
        Parameter of the prior that was in force before the first and after every step, if the prior learns it: alpha
        of `Dirichlet("ml")`, the P weights of `SharedDirichlet`, c of `ChineseRestaurant("ml")`, or `learned` of your
        own prior. None if it learns nothing, if these were more than 16 million numbers, or if their number grows, as
        with `SharedRestaurant`; `model_at(t).prior.weights` has them.
    """

    strategy: Strategy
    states: IndexArray = field(repr=False)
    actions: IndexArray = field(repr=False)
    next_states: IndexArray = field(repr=False)
    episode: IndexArray = field(repr=False)
    terminated: BoolArray = field(repr=False)
    world: World | None
    explorer: Explorer | None = field(repr=False)
    rewards: FloatArray | None = field(repr=False)
    snapshots: dict[int, Counts] = field(repr=False, default_factory=dict)
    curves: dict[str, FloatArray] = field(repr=False, default_factory=dict)
    learned: FloatArray | None = field(repr=False, default_factory=lambda: None)  # no attribute of the class

    def __post_init__(self) -> None:
        super().__post_init__()
        vars(self)["curves"] = {name: read_only(curve) for name, curve in self.curves.items()}

    @classmethod
    def in_world(
        cls,
        world: World,
        strategy: Strategy,
        path: tuple[IndexArray, IndexArray, IndexArray],
        curves: dict[str, FloatArray],
        snapshots: dict[int, Counts],
        learned: FloatArray | None = None,
    ) -> Run:
        """Create the run of a path in a world, whose terminal states and horizon end the episodes.

        Parameters
        ----------
        world : World
            The world.
        strategy : Strategy
            The strategy.
        path : tuple of ndarray
            `states`, `actions` and `next_states`.
        curves : dict of str to ndarray
            Measures, as in the attribute.
        snapshots : dict of int to Counts
            Counts by time.
        learned : ndarray, optional
            Learned parameters of the prior, as in the attribute.
        """
        states, actions, next_states = path
        if world.episodes.begin_again:
            terminated, is_last = world.episodes.ends(next_states)
            episode: IndexArray = (np.cumsum(is_last) - is_last).astype(np.int32)
        else:
            terminated, episode = np.zeros(len(actions), dtype=bool), np.zeros(len(actions), dtype=np.int32)
        columns = states, actions, next_states, episode, terminated
        return cls(strategy, *columns, world, None, None, snapshots, curves, learned)

    def __repr__(self) -> str:
        place = "" if self.world is None else f" in {self.world.name}"
        if self.explorer is None:
            missing = self.missing_information
            return f"Run({self.strategy}{place}: {missing[0]:.1f} -> {missing[-1]:.1f} bits in {self.n_steps:,} steps)"
        counts = (self.n_steps, "step"), (self.n_episodes, "episode"), (self.labels[0].size, "state")
        steps, episodes, states = (f"{n:,} {noun}{'s' if n != 1 else ''}" for n, noun in counts)
        return f"Run({self.strategy}{place}: {steps} in {episodes}, {states})"

    @property
    def n_steps(self) -> int:
        """Number of steps."""
        return len(self.actions)

    @property
    def n_episodes(self) -> int:
        """Number of episodes with at least one step."""
        return int(self.episode[-1]) + 1 if self.n_steps else 0

    @property
    def truncated(self) -> BoolArray:
        """Whether the episode was cut short with each step, (n_steps,): another one began, but it had not ended.

        In an environment, a cut with the last step is not known if the next episode begins in the state that it led to.
        """
        cut = np.diff(self.episode, append=self.episode[-1:]) > 0
        if self.n_steps and not self.strategy.relocates:
            horizon = None if self.world is None else self.world.horizon
            n_last = np.count_nonzero(self.episode == self.episode[-1])
            cut[-1] = n_last == horizon or bool(self.states[-1] != self.next_states[-1])
        return np.asarray(cut & ~self.terminated)

    @property
    def episode_starts(self) -> IndexArray:
        """First step of each episode, `(n_episodes,)`; the first is 0."""
        return np.flatnonzero(np.diff(self.episode, prepend=-1)).astype(np.int32)

    @property
    def _source(self) -> Any:
        """The object whose labels and prior the path uses: the explorer, or else the world."""
        return self.world if self.explorer is None else self.explorer

    @property
    def prior(self) -> Prior:
        """The prior of the explorer."""
        prior: Prior = self._source.prior
        return prior

    @property
    def labels(self) -> tuple[Labels, Labels]:
        """Labels of the states and of the actions: `run.labels[0][s]` is the label of state number `s`."""
        return self._source.state_labels, self._source.action_labels

    @property
    def history(self) -> list[Transition]:
        """Observed transitions: tuples `(s, a, s_next)` in labels, with an attribute `ended`."""
        steps = np.stack([self._begin, self.actions, self.next_states], axis=1)
        return transitions(steps, self.terminated, *self.labels)

    @property
    def _begin(self) -> IndexArray:
        """The state in which each action was taken, (n_steps,)."""
        return self.states[: self.n_steps]

    @cached_property
    def counts(self) -> Counts:
        """Counts of all observed transitions."""
        states, actions = self.labels
        return count_transitions(actions.size, states.size, self._begin, self.actions, self.next_states)

    @cached_property
    def path_counts(self) -> PathCounts:
        """Counts of observed transitions at any time."""
        states, actions = self.labels
        return PathCounts(actions.size, states.size, self._begin, self.actions, self.next_states)

    @cached_property
    def model(self) -> InternalModel:
        """The explorer's internal model at the end of the run."""
        return self.model_at(self.n_steps)

    def model_at(self, t: int) -> InternalModel:
        """Return the explorer's internal model after `t` steps, with the prior that was in force then.

        The steps are not replayed, unless the prior discovers states, or learns parameters of which `learned` contains
        no record.

        Parameters
        ----------
        t : int
            Number of steps, from 0 to `n_steps`.
        """
        t = check_index("t", t, self.n_steps + 1)
        if discovers_states(self.prior):
            return self._open_state_model(t)
        prior: Any = self.prior
        if refit_schedule(prior) is not None:
            prior = self._replayed_prior(t) if self.learned is None else prior.with_learned(self.learned[t])
        counts = self.counts if t == self.n_steps else self.path_counts.counts(t)
        return InternalModel.from_counts(prior, counts, self.path_counts.last(t), self.labels)

    def _replayed_prior(self, t: int) -> Prior:
        """Return the prior that is in force after `t` steps, by observing them again."""
        states, actions = self.labels
        model = InternalModel(self.prior, n_states=states.size, n_actions=actions.size)
        agent = make_agent(model, get_strategy("Random"), None)
        for s, a, s_next in zip(self._begin[:t], self.actions[:t], self.next_states[:t], strict=True):
            agent.observe(int(s), int(a), int(s_next))
        prior: Prior = agent.prior
        return prior

    def _open_state_model(self, t: int) -> InternalModel:
        """Return the model of an explorer that discovers states: its states in that order, then the unknown rest."""
        states, actions = self.labels
        agent = make_open_state_agent(self.prior, actions.size, get_strategy("Random"), labels=self.labels)
        for s in self._known_states:
            agent.discover(s)
        steps = zip(self._begin[:t], self.actions[:t], self.next_states[:t], self.states[1 : t + 1], strict=True)
        for s, a, s_next, following in steps:
            agent.observe(int(s), int(a), int(s_next))
            agent.discover(int(following))
        return agent.model((DiscoveredLabels(states[s] for s in agent.discovered), actions))

    @property
    def _known_states(self) -> list[int]:
        """States that an explorer which discovers states knew before the first step, in that order."""
        if self.explorer is None:
            return [int(self.states[0])]
        return [s for s, t in self.explorer._declared_states.items() if t == 0]

    @cached_property
    def terminal_changes(self) -> dict[int, list[TerminalChange]]:
        """Changes of the states that the explorer takes as terminal, by the number of steps before the change.

        In a world it knows all terminal states from the start, in an environment those in which an episode has ended.
        """
        changes: dict[int, list[TerminalChange]] = {}
        for change in read_history(self, *self.labels).terminal_changes(np.arange(self.n_steps)):
            changes.setdefault(change.t, []).append(change)
        return changes

    @property
    def missing_information(self) -> FloatArray:
        """Missing information before the first and after every step, (n_steps + 1,), in bits (Eq. 2, `eq:IM`).

        Rows of terminal states are left out and, unless `rows` is "all", those of states that cannot be reached.

        Raises
        ------
        AttributeError
            If `world` is None. Use `expected_missing_information` then.
        """
        return self._curve("missing_information")

    @property
    def rows(self) -> MeasuredRows | None:
        """Rows that `missing_information` and `l1_distance` count: "reachable" or "all"; None if `world` is None."""
        return None if self.world is None else self.world.measured

    @property
    def l1_distance(self) -> FloatArray:
        """L1 distance between the model and the world at the same times, (n_steps + 1,) (Fig. S4).

        Raises
        ------
        AttributeError
            If `world` is None.
        """
        return self._curve("l1_distance")

    def _curve(self, name: str) -> FloatArray:
        if name in self.curves:
            return self.curves[name]
        if self.world is None:
            raise AttributeError(
                f"the {name} of this run is unknown, because the true transition probabilities of its environment are; "
                "use expected_missing_information"
            )
        return self._true_curves[name]

    @cached_property
    def _true_curves(self) -> dict[str, FloatArray]:
        """Missing information and L1 distance along the path, by name, computed from the path."""
        assert self.world is not None
        strategy, prior = get_strategy("Random"), self.prior  # what is learned does not depend on the strategy
        states, actions = self.labels
        if discovers_states(prior):
            agent: Any = make_open_state_agent(prior, actions.size, strategy, labels=self.labels)
            for s in self._known_states:
                agent.discover(s)
        else:
            model = InternalModel(prior, n_states=states.size, n_actions=actions.size)
            agent = make_agent(model, strategy, None, engine="numpy")
        record = RunRecord.allocate(self.n_steps, int(self.states[0]), *agent.measures(self.world))
        record = record._replace(states=self.states, actions=self.actions, outcomes=self.next_states)
        agent.follow(self.world, record)
        curves = {"missing_information": record.missing, "l1_distance": record.l1}
        return {name: read_only(np.maximum(curve, 0.0)) for name, curve in curves.items()}  # as in `explore`

    @cached_property
    def expected_missing_information(self) -> FloatArray:
        """Missing information that the explorer expects, before the first and after every step, (n_steps + 1,), bits.

        See `InternalModel.expected_missing_information`. In a world, the same rows count as in `missing_information`.
        In an environment, rows of terminal states are left out if the explorer knows them by then, and rows that an
        `action_mask` forbids from the start. All values are NaN if the prior has no method
        `expected_missing_information`.
        """
        states, actions = self.labels
        if discovers_states(self.prior) and not self.n_steps:
            expected = self.model.expected_missing_information(without=[self.model.n_states - 1])
            return read_only(np.array([expected.bits]))
        if self.world is not None and self.explorer is None:
            curve = expected_missing_curve(_without_uncounted(self.world), self)
        elif discovers_states(self.prior):
            known = [states[s] for s in self._known_states]
            curve = expected_missing_curve(self.prior, self, n_actions=actions.size, states=known)
        else:
            curve = expected_missing_curve(self.prior, self, n_states=states.size, n_actions=actions.size)
        return read_only(curve)

    @property
    def learning_curve(self) -> FloatArray:
        """Missing information, or expected missing information if `world` is None, (n_steps + 1,), in bits."""
        return self.expected_missing_information if self.world is None else self.missing_information

    @property
    def area(self) -> float:
        """Area under the learning curve, in bits: its sum over steps 0..n_steps (R14)."""
        return float(np.sum(self.learning_curve))

    def bound(self, policies: Policies = "adaptive") -> FluidBound:
        """Compute the smallest missing information that explorers of the world can leave, on average, at all times.

        Parameters
        ----------
        policies : {"adaptive", "fixed"}
            Explorers for which it is a bound; see `berlyne.bounds.fluid`.

        Returns
        -------
        FluidBound
            The bound for an exploration that begins as the world defines it, with the prior of this run.
        """
        from berlyne.bounds import fluid  # imported here, because it imports SciPy and Numba

        if self.world is None:
            raise ValueError("the world of this run is unknown; a bound needs a run with a known world")
        return fluid(self.world.with_prior(self.prior), self.n_steps, policies=policies)

    def plot(self, ax: Axes | None = None, *, bound: bool | FluidBound = False, **style: Any) -> Axes:
        """Plot the learning curve against time: missing information, or expected missing information if it is unknown.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Axes to draw on; by default new ones.
        bound : bool or FluidBound
            Whether to draw the line below which no explorer can stay on average, `Run.bound()`; or the bound to draw.
        **style : object
            Keyword arguments for the line.

        Returns
        -------
        matplotlib.axes.Axes
            The axes with the curve.
        """
        line = self.bound() if bound is True else bound or None
        drawn: Axes = figures_package().draw_run(self, ax, bound=line, **style)
        return drawn

    def plot_path(self, t: int | None = None, ax: Axes | None = None, **options: Any) -> Axes:
        """Draw the world with the agent at time `t` and the trail of its last steps.

        If the world is unknown, the map is that of the model at the end of the run (`InternalModel.plot`).

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

        If the world is unknown, the information is the expected one, and the map is that of `plot_path`. Save the
        animation with `run.animate().save("run.gif")` or, if ffmpeg is installed, "run.mp4". In a notebook, play it
        with `IPython.display.HTML(run.animate().to_jshtml())`.

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

    def watch(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        open_browser: bool | None = None,
        notes: Mapping[int, str] | None = None,
    ) -> Path:
        """Write a web page that replays the run; see `berlyne.watch`, which shows several runs.

        The page compares beliefs with the truth, so `world` must be known.

        Parameters
        ----------
        path : path-like, optional
            File to write; by default a temporary file.
        open_browser : bool, optional
            Whether to open the page; by default only if no path is given, and not in a notebook.
        notes : mapping of int to str, optional
            Texts by the step from which they are shown.

        Returns
        -------
        Path
            The file, which notebooks show inline.
        """
        page: Path = watch_package().watch(self, path, open_browser=open_browser, notes=notes)
        return page


def _without_uncounted(world: World) -> World:
    """Return a world in which all states whose rows do not count are terminal."""
    uncounted = np.flatnonzero(~world.is_measured).tolist()
    return (
        world if len(uncounted) == len(world.terminal) else world.replace(terminal=[world.states[s] for s in uncounted])
    )


def count_transitions(
    n_actions: int, n_states: int, states: IndexArray, actions: IndexArray, outcomes: IndexArray
) -> Counts:
    """Count the transitions of a path."""
    keys = (states.astype(np.int64) * n_actions + actions) * n_states + outcomes
    return Counts.from_keys(n_actions, n_states, *np.unique(keys, return_counts=True))
