"""The action-perception loop: one exploration of one world by one strategy.

Paper: Sec. 2.1 and 2.2. At every step the agent chooses an action, the world answers with a
state, the agent learns from it, and what it still does not know is measured.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Union
from weakref import WeakKeyDictionary

import numpy as np

from berlyne.arrays import FloatArray, IndexArray, Seed, check_count, check_index, seed_sequence
from berlyne.frozen import FrozenArrays
from berlyne.growing import GrowingMind
from berlyne.labels import Cells, several
from berlyne.model import InternalModel
from berlyne.moments import Moments
from berlyne.pages import ENGINE, OWN_WORLDS, UNKNOWN_STATES
from berlyne.plain import PlainMind
from berlyne.plotting import Shown, figures, watching
from berlyne.priors import Prior
from berlyne.priors.prior import grows
from berlyne.rows import Counts
from berlyne.strategies import Strategy
from berlyne.strategies import strategy as strategy_called
from berlyne.trace import Trace
from berlyne.worlds.episodes import first_state
from berlyne.worlds.structure import warn_of_unreachable
from berlyne.worlds.world import World, check_world

if TYPE_CHECKING:
    from matplotlib.animation import FuncAnimation
    from matplotlib.axes import Axes

    from berlyne.engine.mind import CompiledMind

MOST_STEPS = 2**31 - 2
CHUNK = 1 << 16
"""Steps for which random numbers are drawn at a time; the numbers do not depend on it."""

NO_PRIOR = (
    f"the world has no prior, so an explorer would have nothing to infer from; make it as World(theta, prior)"
    f"{OWN_WORLDS}"
)

Engine = Literal["auto", "compiled", "numpy"]
Mind = Union["CompiledMind", PlainMind, GrowingMind]


@dataclass(frozen=True, eq=False)
class Run(Shown, FrozenArrays):
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
        ended = self.world.episodes.ends[self.next_states]
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
        return counts_of(self.world, self.states[:-1], self.actions, self.next_states)

    @cached_property
    def model(self) -> InternalModel:
        """The explorer's internal model at the end."""
        return self.model_at(self.n_steps)

    @cached_property
    def moments(self) -> Moments:
        """What had been observed at any time."""
        world = self.world
        return Moments(world.n_actions, world.n_states, self.states[:-1], self.actions, self.next_states)

    def model_at(self, t: int) -> InternalModel:
        """The explorer's internal model after `t` steps, found without replaying them, unless states are discovered."""
        t = check_index("t", t, self.n_steps + 1)
        prior: Any = self.world.prior
        if grows(prior):
            return self._discovered(prior, t)
        labels = self.world.state_labels, self.world.action_labels
        counts = self.counts if t == self.n_steps else self.moments.counts(t)
        return InternalModel.from_counts(prior, counts, self.moments.last(t), labels)

    def _discovered(self, prior: Any, t: int) -> InternalModel:
        """The model of an explorer that discovered its states: they are its cells in that order, and elsewhere."""
        mind = make_growing_mind(prior, self.world.n_actions, strategy_called("Random"))
        mind.discover(int(self.states[0]))
        steps = zip(self.states[:t], self.actions[:t], self.next_states[:t], self.states[1 : t + 1], strict=True)
        for s, a, s_next, now in steps:
            mind.observe(int(s), int(a), int(s_next))
            mind.discover(int(now))
        return mind.model((Cells(self.world.states[s] for s in mind.found), self.world.action_labels))

    def plot(self, ax: Axes | None = None, **style: Any) -> Axes:
        """Draw the learning curve: missing information against time."""
        drawn: Axes = figures().draw_run(self, ax, **style)
        return drawn

    def plot_path(self, t: int | None = None, ax: Axes | None = None, **options: Any) -> Axes:
        """Draw the world with the agent at time `t`, by default the end, and the trail of its last steps.

        options : `last`, how many steps; `what`, a quantity to colour states by, such as "missing information", as it
            was at that time (beside a matrix, in a column of states); `labels`; `bar`.
        """
        drawn: Axes = figures().draw_path(self, t, ax, **options)
        return drawn

    def animate(self, **options: Any) -> FuncAnimation:
        """The run as a matplotlib animation: path, what is missing where, and the learning curve with a cursor.

        `run.animate().save("run.gif")` or, where ffmpeg is, "run.mp4" writes it; in a notebook
        `IPython.display.HTML(run.animate().to_jshtml())` plays it.

        options : `fps`; `every` so many steps or `n_frames` in all (by default 120); `last`, steps of the trail;
            `what`, a quantity to colour states by; `labels`.
        """
        film: FuncAnimation = figures().animate_run(self, **options)
        return film

    def watch(self, path: str | os.PathLike[str] | None = None, *, open_browser: bool | None = None) -> Path:
        """Make a page that replays the run, and show it if no path is given; as `berlyne.watch` does with several."""
        page: Path = watching().watch(self, path, open_browser=open_browser)
        return page


def explore(
    world: World,
    /,
    strategy: str | Strategy,
    n_steps: int = 1000,
    seed: Seed = 0,
    *,
    start: Any = None,
    snapshots: Iterable[int] = (),
    engine: Engine = "auto",
) -> Run:
    """Let a strategy explore a world: choose, transition, learn, measure, `n_steps` times.

    Parameters
    ----------
    world : where to explore; it must have a prior.
    strategy : a name such as "PIG(VI)", or a `Strategy`.
    n_steps : how many actions to take.
    seed : int, `SeedSequence` or `Generator`; the agent, the world, the start state and resets draw from
        streams of their own.
    start : the first state, or probabilities of it; by default the world's, or else drawn uniformly (reading R13).
    snapshots : times at which to keep the counts.
    engine : "auto" runs compiled kernels where they know the prior, the utility and the method, and
        plain NumPy otherwise; "compiled" and "numpy" insist.

    Examples
    --------
    >>> import berlyne
    >>> run = berlyne.explore(berlyne.maze(0), "PIG(VI)", n_steps=2500, seed=0)
    >>> len(run.missing_information)
    2501
    """
    how = strategy_called(strategy)
    if check_world(world).prior is None:
        raise ValueError(NO_PRIOR)
    n_steps, times = _checked_times(n_steps, snapshots)
    for_start, for_agent, for_world, for_resets = streams(seed)
    first = first_state(world, start, for_start)
    if not how.relocates:  # else it goes wherever it likes
        warn_of_unreachable(world, first, start is not None)
    mind, measures = _begun(world, how, first, engine)
    trace = Trace.begun(n_steps, first, *measures)
    done, kept = 0, {}
    for until in [*times, n_steps]:
        while done < until:
            n = min(until - done, CHUNK)
            u = for_agent.random((n, 2))
            if how.ties == "first":
                u[:, 0] = 0.0
            u_start = for_resets.random(n if len(world.terminal) else 0)
            made = mind.run(world, trace.between(done, done + n), u, for_world.random(n), u_start)
            if made < n:
                raise ValueError(f"the world did at step {done + made} what the prior calls impossible")
            done += n
        if until in times:
            kept[until] = _counts(world, trace, until) if isinstance(mind, GrowingMind) else mind.counts()
    # sums of many gains: rounding may leave them a little below the zero of a world known for sure
    missing, l1 = np.maximum(trace.missing, 0.0), np.maximum(trace.l1, 0.0)
    return Run(world, how, missing, l1, trace.states, trace.actions, trace.outcomes, kept)


def _begun(world: World, how: Strategy, first: int, engine: Engine) -> tuple[Mind, tuple[float, float]]:
    """A mind in its first state, and how far it is from the truth."""
    prior: Any = world.prior
    if grows(prior):
        growing = make_growing_mind(prior, world.n_actions, how, engine)
        growing.discover(first)
        if len(world.terminal):
            growing.close(world.terminal)
        return growing, growing.measures(world)
    model = InternalModel(prior, n_states=world.n_states, n_actions=world.n_actions)
    return make_mind(model, how, world, engine), first_measures(world, model)


def make_mind(
    model: InternalModel, how: Strategy, world: World | None, engine: Engine = "auto"
) -> CompiledMind | PlainMind:
    """The mind that runs a strategy; only one that may see the world is handed it to plan with.

    Where the episodes of the world end, it is told.
    """
    from berlyne.engine.mind import CompiledMind  # here, so that `import berlyne` need not import Numba

    if hasattr(model.prior, "grows"):
        raise ValueError(
            f"{model.prior!r} has a number of cells, the last of which is no state; leave n_states out of the prior, "
            f"so that states are discovered{UNKNOWN_STATES}"
        )
    compiled = _is_compiled(model.prior, how, engine)
    if how.sees_world and world is None:
        raise ValueError(f"{how} plans with the true world, which is not known here; use one without +")
    mind: CompiledMind | PlainMind
    if compiled:
        mind = CompiledMind(model, how, world)
    else:
        mind = PlainMind(model, how, world if how.sees_world else None)
    if world is not None and len(world.terminal):
        mind.close(world.terminal)
    return mind


def make_growing_mind(prior: Any, n_actions: int, how: Strategy, engine: Engine = "auto") -> GrowingMind:
    """The mind that runs a strategy where states are discovered."""
    return GrowingMind(prior, n_actions, how, _is_compiled(prior.sized(1, n_actions), how, engine))


def _is_compiled(prior: Prior, how: Strategy, engine: Engine) -> bool:
    """Whether kernels run a strategy with this prior."""
    from berlyne.engine.mind import can_compile

    if engine not in ("auto", "compiled", "numpy"):
        raise ValueError(f"engine is {engine!r}; it must be 'auto', 'compiled' or 'numpy'")
    compilable = can_compile(prior, how)
    if engine == "compiled" and not compilable:
        raise ValueError(
            f"{how} with {prior!r} has a part that no kernel knows, which only engine='numpy' can run{ENGINE}"
        )
    return compilable and engine != "numpy"


def counts_of(world: World, states: IndexArray, actions: IndexArray, outcomes: IndexArray) -> Counts:
    """How often each transition of a path was made."""
    m, n = world.n_actions, world.n_states
    keys = (states.astype(np.int64) * m + actions) * n + outcomes
    return Counts.from_keys(m, n, *np.unique(keys, return_counts=True))


def _counts(world: World, trace: Trace, until: int) -> Counts:
    """Transitions made before a time, between states as the world numbers them."""
    return counts_of(world, trace.states[:until], trace.actions[:until], trace.outcomes[:until])


class Streams(NamedTuple):
    """Independent generators for the start state, the agent, the world and resets."""

    start: np.random.Generator
    agent: np.random.Generator
    world: np.random.Generator
    resets: np.random.Generator


def streams(seed: Seed) -> Streams:
    """The generators of one exploration."""
    root = seed_sequence(int(seed.integers(2**63)) if isinstance(seed, np.random.Generator) else seed)
    children = (np.random.SeedSequence(root.entropy, spawn_key=(*root.spawn_key, i)) for i in range(4))
    return Streams(*(np.random.default_rng(child) for child in children))


def _checked_times(n_steps: int, snapshots: Iterable[int]) -> tuple[int, list[int]]:
    if (n_steps := check_count("n_steps", n_steps, 0)) > MOST_STEPS:
        raise ValueError(f"n_steps is {n_steps}; it must be at most {MOST_STEPS}, as far as observations are counted")
    times = sorted({check_count("a snapshot", t, 0) for t in several("snapshots", snapshots)})
    if times and times[-1] > n_steps:
        raise ValueError(f"a snapshot is asked for at step {times[-1]}, after the last step {n_steps}")
    return n_steps, times


_MEASURES: WeakKeyDictionary[World, tuple[float, float]] = WeakKeyDictionary()


def first_measures(world: World, model: InternalModel) -> tuple[float, float]:
    """Missing information and L1 distance before any data, which `model` has not seen; worked out once per world."""
    if world not in _MEASURES:
        _MEASURES[world] = model.missing_information(world), model.l1_distance(world)
    return _MEASURES[world]
