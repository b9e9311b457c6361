"""The unit of work: some worlds and one strategy. Any worker computes it; the single writer writes it."""

from __future__ import annotations

import math
import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError
from dataclasses import dataclass, replace
from multiprocessing.synchronize import Event
from typing import Any

import numpy as np

from berlyne.experiments.layout import AREA, ArraySpec, Layout, max_states, standard_arrays
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


def compute_arrays(
    experiment: Experiment,
    unit: WorkUnit,
    layout: Layout,
    stop: threading.Event | Event | None = None,
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
    stop : Event or None
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
    arrays = layout.empty_arrays(unit.size)
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
            _fill(arrays, position - unit.first, run, steps, layout)
            for measure in experiment.custom_measures.values():
                _fill_measure(arrays, position - unit.first, measure, run, steps)
        if failure is not None:
            raise UnfinishedWorkUnitError(failure, unit.positions[: i + len(runs)], arrays)
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


def _fill(arrays: dict[str, Any], i: int, run: Run, steps: list[int], layout: Layout) -> None:
    """Write one exploration to row `i`."""
    n, area = run.n_steps, run.area
    if np.isnan(area):
        name = repr(run) if run.world is None else f"{run.strategy} in {run.world.name}"
        raise ValueError(f"{name}: the missing information is not a number")
    for name in layout.measures:
        values = MEASURES[name].of(run)
        if np.shape(values) != (n + 1,):
            raise ValueError(f"measure {name}: returned shape {np.shape(values)}; it must be ({n + 1},)")
        arrays[name][i, : n + 1] = values
    arrays["state"][i, : n + 1] = run.states
    arrays["action"][i, :n] = run.actions
    arrays["next_state"][i, :n] = run.next_states
    arrays["area"][i] = area
    if "counts" in arrays and run.world is not None:
        fill_counts(run, steps, arrays["counts"][i])


def _fill_measure(arrays: dict[str, Any], i: int, measure: Measure, run: Run, steps: list[int]) -> None:
    """Write a custom measure to row `i`; values that are shorter than the array are followed by NaN."""
    values, row = evaluate_measure(measure, run), arrays[measure.name][i]
    if measure.dims is None:
        shape = _shape_over_time(measure, values.shape, run, np.size(row))
        if shape != row.shape:
            raise ValueError(
                f"measures.{measure.name}: returned a single number in one run and one per time in another; it must "
                "return the same shape in all runs"
            )
    else:
        check_shape(measure, values.shape, row.shape, run)
        if "snapshot" in measure.dims:
            # from the order of time to the order of the experiment's snapshots
            times = list(run.snapshots)
            values = values.take([times.index(t) for t in steps], axis=measure.dims.index("snapshot"))
    arrays[measure.name][(i, *map(slice, values.shape))] = values


def _shape_over_time(measure: Measure, shape: tuple[int, ...], run: Run, n_times: int) -> tuple[int, ...]:
    """Return the shape to store of a measure without dims: () for one number, (n_times,) for one at each time."""
    if shape not in ((), (run.n_steps + 1,)):
        raise ValueError(
            f"measures.{measure.name}: returned shape {shape}; it must be () or ({run.n_steps + 1},), or you "
            "must label its axes, as in (('a', 's'), function)"
        )
    return (n_times,) if shape else ()


def make_layout(experiment: Experiment, max_block: int = 1, work_unit_bytes: int = 1) -> Layout:
    """Return the layout that suits every class of an experiment, as far as its first worlds show.

    Parameters
    ----------
    experiment : Experiment
        The study.
    max_block : int
        Maximum number of positions in a block.
    work_unit_bytes : int
        Maximum memory of a work unit, in bytes.
    """
    worlds = [w for kind in experiment.classes for w in kind.worlds or [_WORLD_CACHE.get(experiment.seed, kind, 0)]]
    n_times = max(kind.n_steps for kind in experiment.classes) + 1
    n_transitions = max((w.n_actions * w.n_states**2 for w in worlds if isinstance(w, World)), default=0)
    n_states, n_actions = max(max_states(w, n_times) for w in worlds), max(w.n_actions for w in worlds)
    standard = standard_arrays(
        n_times, n_states, n_actions, len(experiment.snapshots), n_transitions, experiment.standard_measures
    )
    custom = measure_arrays(experiment, dim_sizes(n_states, n_actions, n_times))
    layout = Layout({**standard, **custom, "area": AREA})
    return replace(layout, block=max(1, min(max_block, work_unit_bytes // layout.n_bytes)))


def measure_arrays(experiment: Experiment, known_sizes: dict[str, int]) -> dict[str, ArraySpec]:
    """Return the arrays of the user's own measures.

    A measure without dims has the shape of its values in the first run. A new dim has the largest size in the first run
    of any class.
    """
    known_sizes = known_sizes | {"snapshot": len(experiment.snapshots)}
    measures = experiment.custom_measures.values()
    shapes = {m.name: tuple(known_sizes.get(dim, 0) for dim in m.dims or ()) for m in measures}
    for position, kind in enumerate(experiment.classes):
        unknown = [m for m in measures if set(m.dims or ()) - known_sizes.keys() or (m.dims is None and not position)]
        if not unknown:
            break
        run = _first_run(experiment, position, kind)
        for measure in unknown:
            shape = evaluate_measure(measure, run).shape
            if measure.dims is None:
                shapes[measure.name] = _shape_over_time(measure, shape, run, known_sizes["time"])
            elif len(shape) == len(shapes[measure.name]):
                shapes[measure.name] = tuple(map(max, shapes[measure.name], shape))
    for name, shape in shapes.items():
        if not 0 < math.prod(shape) <= MAX_VALUES:
            raise SettingsError(f"measures.{name}: has shape {shape}; it must have from 1 to {MAX_VALUES} values")
    dims = {m.name: ("time",) * len(shapes[m.name]) if m.dims is None else m.dims for m in measures}
    return {m.name: ArraySpec("float64", dims[m.name], shapes[m.name], None, m.units, m.meaning) for m in measures}


def _first_run(experiment: Experiment, position: int, kind: WorldClass) -> Run:
    """Explore the first world of a class, which is at `position`, with the first strategy."""
    steps, strategy = snapshot_steps(experiment.snapshots, kind.n_steps), experiment.strategy_names[0]
    world = _WORLD_CACHE.get(experiment.seed, kind, 0)
    seed = experiment.stream_at(position, strategy)
    try:
        return _explore(world, experiment.strategy(strategy), kind.n_steps, seed, steps)
    except ExplorationError as error:
        raise error.of(f"{experiment.id_at(position)}, {strategy}") from error.__cause__


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
    arrays : dict of str to ndarray
        Arrays of the work unit, by name.
    """

    def __init__(self, error: ExplorationError, positions: tuple[int, ...], arrays: dict[str, Any]) -> None:
        super().__init__(error, positions, arrays)  # all arguments, so that it can be unpickled in another process
        self.error, self.positions, self.arrays = error, positions, arrays

    def __str__(self) -> str:
        return str(self.error)
