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
from berlyne.experiments.measures import MEASURES, Measure, check_shape, dim_sizes, evaluate_measure
from berlyne.experiments.opaque_env import OpaqueEnv
from berlyne.experiments.spec import Experiment, SettingsError, WorldClass, snapshot_steps
from berlyne.experiments.worlds import WorldOrEnv
from berlyne.exploration.explore import explore
from berlyne.exploration.explore_env import ExplorationError
from berlyne.exploration.run import Run
from berlyne.strategies.registry import Strategy
from berlyne.worlds import World

ProgressCallback = Callable[[int], None]
"""A function that is called with the position of each finished exploration."""

COUNTS_LIMIT = 1 << 16
"""Maximum number of transitions for which counts at snapshots are stored densely. Beyond it, they follow from paths."""
DTYPE_MAX = {dtype: int(np.iinfo(dtype).max) for dtype in ("uint8", "uint16", "uint32")}
"""Largest value of each type for states, actions and counts. In paths it marks a missing value."""
MAX_VALUES = 1 << 27
"""Maximum number of values of a measure of one run: they must fit in one chunk, below 2 GiB."""
MAX_BATCH_STEPS = 1 << 17
"""Maximum number of steps of explorations that are run as a batch, some megabytes."""
MAX_CACHED_ENTRIES = 1 << 24
"""Maximum number of transitions in cached worlds, about half a gigabyte."""


@dataclass(frozen=True)
class WorkUnit:
    """Worlds at some positions of one block, under one strategy: they are computed and written together.

    Attributes
    ----------
    first : int
        First position of the block.
    size : int
        Number of positions in the block. Each array of a work unit has a row for each of them.
    strategy : str
        Name of the strategy.
    positions : tuple of int
        Positions to compute.
    """

    first: int
    size: int
    strategy: str
    positions: tuple[int, ...]


def split_work_units(units: list[WorkUnit], n_workers: int) -> list[WorkUnit]:
    """Split work units if there are too few for all workers; then a block is computed and written in parts."""
    n_parts = -(-2 * n_workers // max(len(units), 1)) if n_workers > 1 else 1
    return [
        replace(unit, positions=unit.positions[i : i + size])
        for unit in units
        for size in [-(-len(unit.positions) // n_parts)]
        for i in range(0, len(unit.positions), size)
    ]


class _WorldCache:
    """Recently drawn worlds, so that all strategies use the same objects."""

    def __init__(self, max_worlds: int = 256) -> None:
        self.max_worlds, self.entries, self.lock = max_worlds, 0, threading.Lock()
        self.cached: OrderedDict[Any, tuple[Any, WorldOrEnv]] = OrderedDict()

    def get(self, seed: int, kind: WorldClass, index: int) -> WorldOrEnv:
        if kind.worlds:
            return kind.worlds[index]
        key = seed, kind.name, repr(kind.parameters), kind.horizon, index
        with self.lock:
            make, world = self.cached.get(key, (None, None))
            if world is not None and make is kind.make:  # another function may have the same name
                self.cached.move_to_end(key)
                return world
        world = kind.world(seed, index)
        with self.lock:
            self._remove(key)
            self.cached[key] = kind.make, world
            self.entries += _n_entries(world)
            while len(self.cached) > self.max_worlds or (self.entries > MAX_CACHED_ENTRIES and len(self.cached) > 1):
                self._remove(next(iter(self.cached)))
        return world

    def _remove(self, key: Any) -> None:
        if key in self.cached:
            self.entries -= _n_entries(self.cached.pop(key)[1])


def _n_entries(world: WorldOrEnv) -> int:
    return len(world.rows.data) if isinstance(world, World) else 0


_WORLD_CACHE = _WorldCache()


def world_at(experiment: Experiment, world_class: str, index: int) -> World:
    """Return world number `index` of a class, the same object that its explorations use."""
    kind = next(c for c in experiment.classes if c.name == world_class)
    world = _WORLD_CACHE.get(experiment.seed, kind, index)
    assert isinstance(world, World)  # callers do not ask for environments without a table
    return world


def compute_chunks(
    experiment: Experiment,
    unit: WorkUnit,
    layout: Layout,
    stop: threading.Event | None = None,
    on_explored: ProgressCallback | None = None,
) -> dict[str, bytes]:
    """Compute a work unit and encode it: the chunk of every array, by name."""
    arrays = compute_arrays(experiment, unit, layout, stop, on_explored)
    return {name: encode(values) for name, values in arrays.items()}


def compute_arrays(
    experiment: Experiment,
    unit: WorkUnit,
    layout: Layout,
    stop: threading.Event | None = None,
    on_explored: ProgressCallback | None = None,
) -> dict[str, Any]:
    """Explore the worlds of a work unit with its strategy.

    Parameters
    ----------
    experiment : Experiment
        The study.
    unit : WorkUnit
        Positions to compute, and the strategy.
    layout : Layout
        Shapes and types of the arrays.
    stop : threading.Event or None
        Once it is set, the remaining explorations are cancelled.
    on_explored : ProgressCallback or None
        Called with the position of each finished exploration.

    Returns
    -------
    dict of str to ndarray
        Arrays by name; row i is the world at position `unit.first + i`.

    Raises
    ------
    UnfinishedWorkUnitError
        If an environment fails. The error contains the results of the finished explorations.

    Notes
    -----
    Worlds are prepared, explored and stored in batches: a kernel evicts Python's data from the CPU caches, and one
    reload for a batch costs less than one for each world.
    """
    strategy = experiment.strategy(unit.strategy)
    arrays = layout.empty_arrays(unit.size, len(experiment.snapshots), strategy.relocates)
    batch_size = max(1, min(16, MAX_BATCH_STEPS // layout.n_times))
    for i in range(0, len(unit.positions), batch_size):
        batch = [_prepare(experiment, unit, layout, position) for position in unit.positions[i : i + batch_size]]
        runs: list[Run] = []
        failure: ExplorationError | None = None
        for position, (world, n_steps, seed, steps) in zip(unit.positions[i:], batch, strict=False):
            if stop is not None and stop.is_set():
                raise CancelledError
            # counts follow from the path; only custom measures may need snapshots
            times = steps if experiment.custom_measures else ()
            try:
                runs.append(_explore(world, strategy, n_steps, seed, times))
            except ExplorationError as error:
                failure = error.of(f"{experiment.id_at(position)}, {strategy.name}")
                break
            if on_explored is not None:
                on_explored(position)
        for position, run, (_, _, _, steps) in zip(unit.positions[i:], runs, batch, strict=False):
            layout.fill(arrays, position - unit.first, run, steps)
            for measure in experiment.custom_measures.values():
                layout.fill_measure(arrays, position - unit.first, measure, run, steps)
        if failure is not None:
            finished = unit.positions[: i + len(runs)]
            chunks = {name: encode(values) for name, values in arrays.items()}
            raise UnfinishedWorkUnitError(failure, finished, chunks if finished else {})
    return arrays


def _explore(world: WorldOrEnv, strategy: Strategy, n_steps: int, seed: Any, times: Sequence[int]) -> Run:
    if isinstance(world, OpaqueEnv):
        return world.explore(strategy, n_steps, seed)
    return explore(world, strategy, n_steps=n_steps, seed=seed, snapshots=times)


def _prepare(
    experiment: Experiment, unit: WorkUnit, layout: Layout, position: int
) -> tuple[WorldOrEnv, int, Any, list[int]]:
    """Return the world, length, random stream and snapshot times of one exploration."""
    kind, index = experiment.position(position)
    world = _WORLD_CACHE.get(experiment.seed, kind, index)
    layout.check_world(world, kind.name, index)
    seed = experiment.stream_at(position, unit.strategy)
    return world, kind.n_steps, seed, snapshot_steps(experiment.snapshots, kind.n_steps)


@dataclass(frozen=True)
class Layout:
    """Shapes and types of the stored arrays of one exploration; they suit all classes.

    Attributes
    ----------
    n_times : int
        Number of times 0..n_steps of the longest exploration.
    state_dtype, action_dtype, count_dtype : str
        Unsigned types. The largest value of a type marks a missing state or action.
    n_transitions : int
        Number of transitions of the largest world; 0 if counts are not stored.
    measures : tuple of str
        Names of the measures in `MEASURES` that are stored.
    sizes : dict of str to tuple of int
        Shapes of the custom measures that have dims.
    """

    n_times: int
    state_dtype: str
    action_dtype: str
    count_dtype: str
    n_transitions: int
    measures: tuple[str, ...] = ()
    sizes: dict[str, tuple[int, ...]] = field(default_factory=dict)

    @classmethod
    def for_experiment(cls, experiment: Experiment) -> Layout:
        """Return the layout that suits every class of an experiment, as far as its first worlds show."""
        worlds = [w for kind in experiment.classes for w in kind.worlds or [_WORLD_CACHE.get(experiment.seed, kind, 0)]]
        n_times = max(kind.n_steps for kind in experiment.classes) + 1
        counted = [w.n_actions * w.n_states**2 for w in worlds if isinstance(w, World) and experiment.snapshots]
        n_transitions = max(counted, default=0)
        n_states, n_actions = max(max_states(w, n_times) for w in worlds), max(w.n_actions for w in worlds)
        return cls(
            n_times,
            smallest_unsigned(n_states),
            smallest_unsigned(n_actions),
            smallest_unsigned(n_times),
            n_transitions if n_transitions <= COUNTS_LIMIT else 0,
            experiment.standard_measures,
            measure_shapes(experiment, dim_sizes(n_states, n_actions, n_times)),
        )

    def n_bytes(self, n_snapshots: int, n_custom: int) -> int:
        """Return the memory for one exploration with `n_custom` custom measures, in bytes."""
        n_without_dims = n_custom - len(self.sizes)
        dtypes = (
            *len(self.measures) * ["float32"],
            self.state_dtype,
            self.state_dtype,
            self.action_dtype,
            *n_without_dims * ["float64"],
        )
        per_time = sum(np.dtype(dtype).itemsize for dtype in dtypes)
        with_dims = 8 * sum(math.prod(sizes) for sizes in self.sizes.values())
        counts = n_snapshots * self.n_transitions * np.dtype(self.count_dtype).itemsize
        return self.n_times * per_time + with_dims + counts

    def check_world(self, world: WorldOrEnv, world_class: str, index: int) -> None:
        """Raise a `SettingsError` if a world is too large for the store."""
        n_states = max_states(world, self.n_times)
        too_many_counts = isinstance(world, World) and 0 < self.n_transitions < world.n_actions * n_states**2
        too_many_states = n_states > DTYPE_MAX[self.state_dtype]
        if too_many_states or world.n_actions > DTYPE_MAX[self.action_dtype] or too_many_counts:
            raise SettingsError(
                f"worlds.{world_class}: world {index} has {n_states} states and {world.n_actions} actions, more "
                f"than the store has room for; the first worlds of a class must be the largest"
            )

    def empty_arrays(self, n: int, n_snapshots: int, relocates: bool) -> dict[str, Any]:
        """Return arrays for `n` explorations, filled with missing values.

        The outcome of an action is the next state of the path. So `next_state` is stored only if the strategy
        relocates, or if an episode ended (see `fill`).
        """
        arrays: dict[str, Any] = {name: np.full((n, self.n_times), np.nan, dtype=np.float32) for name in self.measures}
        arrays |= {
            "state": np.full((n, self.n_times), DTYPE_MAX[self.state_dtype], dtype=self.state_dtype),
            "action": np.full((n, self.n_times), DTYPE_MAX[self.action_dtype], dtype=self.action_dtype),
            "area": np.full(n, np.nan),
        }
        if relocates:
            arrays["next_state"] = np.full((n, self.n_times), DTYPE_MAX[self.state_dtype], dtype=self.state_dtype)
        if self.n_transitions:
            arrays["counts"] = np.zeros((n, n_snapshots, self.n_transitions), dtype=self.count_dtype)
        return arrays

    def fill(self, arrays: dict[str, Any], i: int, run: Run, steps: list[int]) -> None:
        """Write one exploration to row `i`."""
        n, area = run.n_steps, run.area
        if np.isnan(area):
            name = repr(run) if run.world is None else f"{run.strategy} in {run.world.name}"
            raise ValueError(f"{name}: the missing information is not a number")
        for name in self.measures:
            values = MEASURES[name].of(run)
            if np.shape(values) != (n + 1,):
                raise ValueError(f"measure {name}: returned shape {np.shape(values)}; it must be ({n + 1},)")
            arrays[name][i, : n + 1] = values
        arrays["state"][i, : n + 1] = run.states
        arrays["action"][i, :n] = run.actions
        arrays["area"][i] = area
        # independently of the other runs in this block
        if run.world is None or run.strategy.relocates or run.world.episodes.begin_again:
            outcomes = arrays.setdefault("next_state", np.full_like(arrays["state"], DTYPE_MAX[self.state_dtype]))
            outcomes[i, :n] = run.next_states
        if "counts" in arrays and run.world is not None:
            fill_counts(run, steps, arrays["counts"][i])

    def fill_measure(self, arrays: dict[str, Any], i: int, measure: Measure, run: Run, steps: list[int]) -> None:
        """Write a custom measure to row `i`; values that are shorter than the array are followed by NaN."""
        values = evaluate_measure(measure, run)
        n, name, dims = len(arrays["area"]), measure.name, measure.dims
        if dims is None:
            if values.shape not in ((), (run.n_steps + 1,)):
                raise ValueError(
                    f"measures.{name}: returned shape {values.shape}; it must be () or ({run.n_steps + 1},), or you "
                    "must label its axes, as in (('a', 's'), function)"
                )
            max_shape: tuple[int, ...] = (self.n_times,) if values.shape else ()
        else:
            max_shape = self.sizes[name]
            check_shape(measure, values.shape, max_shape, run)
            if "snapshot" in dims:
                # from the order of time to the order of the experiment's snapshots
                times = list(run.snapshots)
                values = values.take([times.index(t) for t in steps], axis=dims.index("snapshot"))
        if arrays.setdefault(name, np.full((n, *max_shape), np.nan)).shape != (n, *max_shape):
            raise ValueError(
                f"measures.{name}: returned a single number in one run and one per time in another; it must return the "
                "same shape in all runs"
            )
        arrays[name][(i, *map(slice, values.shape))] = values


def max_states(world: WorldOrEnv, n_times: int) -> int:
    """Return the maximum number of states in a path: each step leads to one, and an episode may begin in another."""
    return 2 * n_times - 1 if world.n_states is None else world.n_states


def measure_shapes(experiment: Experiment, known_sizes: dict[str, int]) -> dict[str, tuple[int, ...]]:
    """Return the shapes of custom measures with dims. New dims have the largest size in the first run of any class."""
    known_sizes = known_sizes | {"snapshot": len(experiment.snapshots)}
    with_dims = {name: measure for name, measure in experiment.custom_measures.items() if measure.dims is not None}
    shapes: dict[str, tuple[int, ...]] = {
        name: tuple(known_sizes.get(dim, 0) for dim in measure.dims or ()) for name, measure in with_dims.items()
    }
    for position, kind in enumerate(experiment.classes):
        unknown = [measure for measure in with_dims.values() if set(measure.dims or ()) - known_sizes.keys()]
        if not unknown:
            break
        steps = snapshot_steps(experiment.snapshots, kind.n_steps)
        strategy = experiment.strategy_names[0]
        seed = experiment.stream_at(position, strategy)
        world = _WORLD_CACHE.get(experiment.seed, kind, 0)
        try:
            run = _explore(world, experiment.strategy(strategy), kind.n_steps, seed, steps)
        except ExplorationError as error:
            raise error.of(f"{experiment.id_at(position)}, {strategy}") from error.__cause__
        for measure in unknown:
            shape = evaluate_measure(measure, run).shape
            if len(shape) == len(shapes[measure.name]):
                shapes[measure.name] = tuple(map(max, shapes[measure.name], shape))
    for name, shape in shapes.items():
        if not 0 < math.prod(shape) <= MAX_VALUES:
            raise SettingsError(f"measures.{name}: has shape {shape}; it must have from 1 to {MAX_VALUES} values")
    return shapes


def smallest_unsigned(n: int) -> str:
    """Return the smallest unsigned type for the values 0..n - 1 and one more that marks a missing value."""
    return next(dtype for dtype, largest in DTYPE_MAX.items() if n <= largest)


def fill_counts(run: Run, steps: list[int], out: Any) -> None:
    """Count the transitions observed up to each of `steps`; row i of `out` is a flattened `counts[a, s, s_next]`."""
    from berlyne.engine.loop import accumulate_counts  # here, so that `import berlyne` need not import Numba

    order = sorted(range(len(steps)), key=steps.__getitem__)
    is_ascending = order == list(range(len(steps)))
    rows = out if is_ascending else np.zeros_like(out)
    until = np.array([steps[j] for j in order], dtype=np.int64)
    accumulate_counts(run.states, run.actions, run.next_states, run.labels[0].size, until, rows)
    if not is_ascending:
        out[order] = rows


class UnfinishedWorkUnitError(Exception):
    """An exploration failed, and those before it in the same work unit can be written.

    Parameters
    ----------
    error : ExplorationError
        The failure.
    positions : tuple of int
        Positions of the finished explorations.
    chunks : dict of str to bytes
        Chunks of the finished explorations, by the name of the array.
    """

    def __init__(self, error: ExplorationError, positions: tuple[int, ...], chunks: dict[str, bytes]) -> None:
        super().__init__(error, positions, chunks)  # all arguments, so that it can be unpickled in another process
        self.error, self.positions, self.chunks = error, positions, chunks

    def __str__(self) -> str:
        return str(self.error)
