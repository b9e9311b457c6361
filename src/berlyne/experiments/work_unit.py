"""The unit of work: some worlds and one strategy. Any worker computes it; the single writer writes it."""

from __future__ import annotations

import math
import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from berlyne.experiments.chunks import encode
from berlyne.experiments.measures import MEASURES, Measure, check_shape, dim_sizes, evaluate_measure, state_path
from berlyne.experiments.opaque_env import OpaqueEnv
from berlyne.experiments.spec import Experiment, SettingsError, WorldClass, snapshot_steps
from berlyne.experiments.worlds import WorldOrEnv
from berlyne.exploration.env_run import EnvRun, ExplorationError
from berlyne.exploration.explore import explore
from berlyne.exploration.run import Run
from berlyne.strategies.registry import Strategy
from berlyne.worlds import World

ProgressCallback = Callable[[int], None]
"""What is told the position of each exploration that ends."""

COUNTS_LIMIT = 1 << 16
"""Counts at snapshots are stored densely up to this many transitions; beyond, paths tell them."""
DTYPE_MAX = {kind: int(np.iinfo(kind).max) for kind in ("uint8", "uint16", "uint32")}
"""Largest value of each type that numbers of states, actions and observations are stored as."""
MAX_VALUES = 1 << 27
"""Most numbers that a measure may give of one run: they must fit into one chunk, below 2 GiB."""
TOGETHER = 1 << 17
"""Most steps of explorations that are laid out together, some megabytes."""
MAX_CACHED_ENTRIES = 1 << 24
"""Transitions in the worlds that are kept for the next strategy, about half a gigabyte."""


@dataclass(frozen=True)
class WorkUnit:
    """Worlds at some positions of one block, under one strategy: what is computed and written together.

    first, size : the block. What is stored of a piece has a line for each world of the block.
    positions : those to be computed.
    """

    first: int
    size: int
    strategy: str
    positions: tuple[int, ...]


def split_work_units(pieces: list[WorkUnit], n_workers: int) -> list[WorkUnit]:
    """Pieces enough for all workers: if there are few, their blocks are computed and written in parts."""
    n_parts = -(-2 * n_workers // max(len(pieces), 1)) if n_workers > 1 else 1
    return [
        replace(piece, positions=piece.positions[i : i + size])
        for piece in pieces
        for size in [-(-len(piece.positions) // n_parts)]
        for i in range(0, len(piece.positions), size)
    ]


class _WorldCache:
    """The worlds drawn last, so that all strategies of a piece of work meet the same objects."""

    def __init__(self, max_worlds: int = 256) -> None:
        self.max_worlds, self.entries, self.lock = max_worlds, 0, threading.Lock()
        self.cached: OrderedDict[Any, tuple[Any, WorldOrEnv]] = OrderedDict()

    def get(self, seed: int, kind: WorldClass, index: int) -> WorldOrEnv:
        if kind.worlds:
            return kind.worlds[index]
        key = seed, kind.name, repr(kind.parameters), index
        with self.lock:
            make, world = self.cached.get(key, (None, None))
            if world is not None and make is kind.make:  # another function may go by the same name
                self.cached.move_to_end(key)
                return world
        world = kind.world(seed, index)
        with self.lock:
            self._forget(key)
            self.cached[key] = kind.make, world
            self.entries += _entries(world)
            while len(self.cached) > self.max_worlds or (self.entries > MAX_CACHED_ENTRIES and len(self.cached) > 1):
                self._forget(next(iter(self.cached)))
        return world

    def _forget(self, key: Any) -> None:
        if key in self.cached:
            self.entries -= _entries(self.cached.pop(key)[1])


def _entries(place: WorldOrEnv) -> int:
    return len(place.rows.data) if isinstance(place, World) else 0


_WORLD_CACHE = _WorldCache()


def world_at(experiment: Experiment, world_class: str, index: int) -> World:
    """World number `index` of a class, the very one that its explorations met."""
    kind = next(c for c in experiment.classes if c.name == world_class)
    world = _WORLD_CACHE.get(experiment.seed, kind, index)
    assert isinstance(world, World)  # of an environment without a table nobody asks for it
    return world


def compute_chunks(
    experiment: Experiment,
    piece: WorkUnit,
    layout: Layout,
    stop: threading.Event | None = None,
    explored: ProgressCallback | None = None,
) -> dict[str, bytes]:
    """A piece as it is stored: the chunk of every array, by name."""
    computed = compute_arrays(experiment, piece, layout, stop, explored)
    return {name: encode(values) for name, values in computed.items()}


def compute_arrays(
    experiment: Experiment,
    piece: WorkUnit,
    layout: Layout,
    stop: threading.Event | None = None,
    explored: ProgressCallback | None = None,
) -> dict[str, Any]:
    """Explore the worlds of a piece with its strategy. Line i of each array is the world at `first + i`.

    Some worlds are prepared, explored and laid out together: after a kernel, all that Python needs
    has left the caches, and it costs less to fetch it once for all of them. `explored` is told the position of each
    exploration as it ends; once `stop` is set, the rest is given up. If an environment fails, an `UnfinishedWorkUnitError`
    holds the explorations before.
    """
    strategy = experiment.strategy(piece.strategy)
    arrays = layout.empty_arrays(piece.size, len(experiment.snapshots), strategy.relocates)
    together = max(1, min(16, TOGETHER // layout.n_times))
    for i in range(0, len(piece.positions), together):
        some = [_prepared(experiment, piece, layout, position) for position in piece.positions[i : i + together]]
        runs: list[Run | EnvRun] = []
        failed: ExplorationError | None = None
        for position, (world, n_steps, seed, steps) in zip(piece.positions[i:], some, strict=False):
            if stop is not None and stop.is_set():
                raise CancelledError
            # counts are told by the path; only measures of the user's own may want to see snapshots
            times = steps if experiment.own else ()
            try:
                runs.append(_explored(world, strategy, n_steps, seed, times))
            except ExplorationError as error:
                failed = error.of(f"{experiment.id_at(position)}, {strategy.name}")
                break
            if explored is not None:
                explored(position)
        for position, run, (_, _, _, steps) in zip(piece.positions[i:], runs, some, strict=False):
            layout.fill(arrays, position - piece.first, run, steps)
            for measure in experiment.own.values():
                layout.measure(arrays, position - piece.first, measure, run, steps)
        if failed is not None:
            finished = piece.positions[: i + len(runs)]
            chunks = {name: encode(values) for name, values in arrays.items()}
            raise UnfinishedWorkUnitError(failed, finished, chunks if finished else {})
    return arrays


def _explored(place: WorldOrEnv, strategy: Strategy, n_steps: int, seed: Any, times: Sequence[int]) -> Run | EnvRun:
    if isinstance(place, OpaqueEnv):
        return place.explore(strategy, n_steps, seed)
    return explore(place, strategy, n_steps=n_steps, seed=seed, snapshots=times)


def _prepared(
    experiment: Experiment, piece: WorkUnit, layout: Layout, position: int
) -> tuple[WorldOrEnv, int, Any, list[int]]:
    """World, length, stream and snapshot times of one exploration."""
    kind, index = experiment.position(position)
    world = _WORLD_CACHE.get(experiment.seed, kind, index)
    layout.check_world(world, kind.name, index)
    seed = experiment.stream_at(position, piece.strategy)
    return world, kind.n_steps, seed, snapshot_steps(experiment.snapshots, kind.n_steps)


@dataclass(frozen=True)
class Layout:
    """Shapes and types of what is stored of one exploration; all classes fit.

    n_times : 0..n_steps of the longest.
    state, action, count : types of these, unsigned; the largest value stands for nothing.
    n_transitions : of the largest world; 0 if counts are not kept.
    measures : which of `MEASURES`.
    sizes : of the axes of those measures of the user's own that say their dims.
    """

    n_times: int
    state: str
    action: str
    count: str
    n_transitions: int
    measures: tuple[str, ...] = ()
    sizes: dict[str, tuple[int, ...]] = field(default_factory=dict)

    @classmethod
    def for_experiment(cls, experiment: Experiment) -> Layout:
        """The layout that holds every class of an experiment, as far as its first worlds tell."""
        places = [w for kind in experiment.classes for w in kind.worlds or [_WORLD_CACHE.get(experiment.seed, kind, 0)]]
        n_times = max(kind.n_steps for kind in experiment.classes) + 1
        counted = [w.n_actions * w.n_states**2 for w in places if isinstance(w, World) and experiment.snapshots]
        n_transitions = max(counted, default=0)
        n_states, n_actions = max(most_states(w, n_times) for w in places), max(w.n_actions for w in places)
        return cls(
            n_times,
            smallest_unsigned(n_states),
            smallest_unsigned(n_actions),
            smallest_unsigned(n_times),
            n_transitions if n_transitions <= COUNTS_LIMIT else 0,
            experiment.kept,
            sizes_of(experiment, dim_sizes(n_states, n_actions, n_times)),
        )

    def n_bytes(self, n_snapshots: int, n_measures: int) -> int:
        """Memory for one exploration, with so many measures of the user's own."""
        n_plain = n_measures - len(self.sizes)
        types = *len(self.measures) * ["float32"], self.state, self.state, self.action, *n_plain * ["float64"]
        per_time = sum(np.dtype(kind).itemsize for kind in types)
        shaped = 8 * sum(math.prod(sizes) for sizes in self.sizes.values())
        return self.n_times * per_time + shaped + n_snapshots * self.n_transitions * np.dtype(self.count).itemsize

    def check_world(self, world: WorldOrEnv, world_class: str, index: int) -> None:
        """Refuse a world that the store has no room for."""
        n_states = most_states(world, self.n_times)
        too_many_counts = isinstance(world, World) and 0 < self.n_transitions < world.n_actions * n_states**2
        if n_states > DTYPE_MAX[self.state] or world.n_actions > DTYPE_MAX[self.action] or too_many_counts:
            raise SettingsError(
                f"worlds.{world_class}: world {index} has {n_states} states and {world.n_actions} actions, more "
                f"than the store has room for; the first worlds of a class must be as large as any"
            )

    def empty_arrays(self, n: int, n_snapshots: int, relocates: bool) -> dict[str, Any]:
        """Arrays for `n` explorations, filled with what stands for nothing.

        Where an action led is the next state of the path, unless the strategy relocates (or an episode ended: `fill`).
        """
        nothing: dict[str, Any] = {name: np.full((n, self.n_times), np.nan, dtype=np.float32) for name in self.measures}
        nothing |= {
            "state": np.full((n, self.n_times), DTYPE_MAX[self.state], dtype=self.state),
            "action": np.full((n, self.n_times), DTYPE_MAX[self.action], dtype=self.action),
            "area": np.full(n, np.nan),
        }
        if relocates:
            nothing["next_state"] = np.full((n, self.n_times), DTYPE_MAX[self.state], dtype=self.state)
        if self.n_transitions:
            nothing["counts"] = np.zeros((n, n_snapshots, self.n_transitions), dtype=self.count)
        return nothing

    def fill(self, arrays: dict[str, Any], i: int, run: Run | EnvRun, steps: list[int]) -> None:
        """Put one exploration into line `i`."""
        n, area = run.n_steps, run.area
        if np.isnan(area):
            who = f"{run.strategy} in {run.world.name}" if isinstance(run, Run) else repr(run)
            raise ValueError(f"{who}: the missing information is not a number")
        for name in self.measures:
            values = MEASURES[name].of(run)
            if np.shape(values) != (n + 1,):
                raise ValueError(f"measure {name}: gave shape {np.shape(values)}; it must be ({n + 1},)")
            arrays[name][i, : n + 1] = values
        arrays["state"][i, : n + 1] = state_path(run)
        arrays["action"][i, :n] = run.actions
        arrays["area"][i] = area
        if not isinstance(run, Run) or run.strategy.relocates or len(run.world.terminal):  # whatever others do
            outcomes = arrays.setdefault("next_state", np.full_like(arrays["state"], DTYPE_MAX[self.state]))
            outcomes[i, :n] = run.next_states
        if "counts" in arrays and isinstance(run, Run):
            fill_counts(run, steps, arrays["counts"][i])

    def measure(self, arrays: dict[str, Any], i: int, measure: Measure, run: Run | EnvRun, steps: list[int]) -> None:
        """Put a measure of the user's own into line `i`; what is shorter than the store ends in NaN."""
        values = evaluate_measure(measure, run)
        n, name, dims = len(arrays["area"]), measure.name, measure.dims
        if dims is None:
            if values.shape not in ((), (run.n_steps + 1,)):
                raise ValueError(
                    f"measures.{name}: gave shape {values.shape}; it must be () or ({run.n_steps + 1},), or labels "
                    "for its axes must come with it, as in (('a', 's'), function)"
                )
            room: tuple[int, ...] = (self.n_times,) if values.shape else ()
        else:
            room = self.sizes[name]
            check_shape(measure, values.shape, room, run)
            if "snapshot" in dims and isinstance(run, Run):
                # given in the order of time, labelled in the order in which they were asked for
                times = list(run.snapshots)
                values = values.take([times.index(t) for t in steps], axis=dims.index("snapshot"))
        if arrays.setdefault(name, np.full((n, *room), np.nan)).shape != (n, *room):
            raise ValueError(f"measures.{name}: gave one number here and one per time there; it must always be alike")
        arrays[name][(i, *map(slice, values.shape))] = values


def most_states(place: WorldOrEnv, n_times: int) -> int:
    """States that a path may tell of: each step leads to one at most, and an episode begins in another."""
    return 2 * n_times - 1 if place.n_states is None else place.n_states


def sizes_of(experiment: Experiment, known: dict[str, int]) -> dict[str, tuple[int, ...]]:
    """Room for measures that say their dims: axes of the user's own are as long as in the first run of any class."""
    known = known | {"snapshot": len(experiment.snapshots)}
    shaped = {name: measure for name, measure in experiment.own.items() if measure.dims is not None}
    found: dict[str, tuple[int, ...]] = {
        name: tuple(known.get(dim, 0) for dim in measure.dims or ()) for name, measure in shaped.items()
    }
    for which, kind in enumerate(experiment.classes):
        unknown = [one for one in shaped.values() if set(one.dims or ()) - known.keys()]
        if not unknown:
            break
        steps = snapshot_steps(experiment.snapshots, kind.n_steps)
        seed, strategy = experiment.stream_at(which, experiment.strategy_names[0]), experiment.strategy_names[0]
        world = _WORLD_CACHE.get(experiment.seed, kind, 0)
        try:
            run = _explored(world, experiment.strategy(strategy), kind.n_steps, seed, steps)
        except ExplorationError as error:
            raise error.of(f"{experiment.id_at(which)}, {strategy}") from error.__cause__
        for one in unknown:
            shape = evaluate_measure(one, run).shape
            if len(shape) == len(found[one.name]):
                found[one.name] = tuple(map(max, found[one.name], shape))
    for name, room in found.items():
        if not 0 < math.prod(room) <= MAX_VALUES:
            raise SettingsError(f"measures.{name}: has shape {room}; it must hold from 1 to {MAX_VALUES} numbers")
    return found


def smallest_unsigned(n: int) -> str:
    """The smallest unsigned type that holds 0..n - 1 and one more value for nothing."""
    return next(kind for kind, most in DTYPE_MAX.items() if n <= most)


def fill_counts(run: Run, steps: list[int], out: Any) -> None:
    """Transitions observed up to each of `steps`, at their places in a flattened `counts[a, s, s_next]`."""
    from berlyne.engine.loop import accumulate_counts  # here, so that `import berlyne` need not import Numba

    order = sorted(range(len(steps)), key=steps.__getitem__)
    ascending = order == list(range(len(steps)))
    lines = out if ascending else np.zeros_like(out)
    until = np.array([steps[j] for j in order], dtype=np.int64)
    accumulate_counts(run.states, run.actions, run.next_states, run.world.n_states, until, lines)
    if not ascending:
        out[order] = lines


class UnfinishedWorkUnitError(Exception):
    """An exploration failed, and those before it in the same piece can be written.

    Parameters
    ----------
    error : ExplorationError
        The failure.
    positions : tuple of int
        Positions of the explorations that were finished.
    chunks : dict of str to bytes
        What is stored of them, by the name of the array.
    """

    def __init__(self, error: ExplorationError, positions: tuple[int, ...], chunks: dict[str, bytes]) -> None:
        super().__init__(error, positions, chunks)  # all of it, so that it can be sent from another process
        self.error, self.positions, self.chunks = error, positions, chunks

    def __str__(self) -> str:
        return str(self.error)
