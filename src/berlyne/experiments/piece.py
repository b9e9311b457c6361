"""The unit of work: some worlds, one strategy. Computed anywhere, written by one."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import Any

import numpy as np

from berlyne.experiments.settings import Experiment, WorldClass, snapshot_steps, stream, world_id
from berlyne.explore import Run, explore
from berlyne.rows import Counts
from berlyne.strategies import strategy
from berlyne.worlds import World

COUNTS_LIMIT = 1 << 16
"""Counts at snapshots are stored densely up to this many transitions; beyond, paths tell them."""


class _RecentWorlds:
    """The worlds drawn last, so that all strategies of a piece of work meet the same objects."""

    def __init__(self, size: int = 256) -> None:
        self.size, self.lock = size, threading.Lock()
        self.kept: OrderedDict[Any, World] = OrderedDict()

    def get(self, seed: int, kind: WorldClass, index: int) -> World:
        key = seed, id(kind.make), repr(kind.describe()["parameters"] if not kind.given else id(kind)), index
        with self.lock:
            if key in self.kept:
                self.kept.move_to_end(key)
                return self.kept[key]
        world = kind.world(seed, index)
        with self.lock:
            self.kept[key] = world
            while len(self.kept) > self.size:
                self.kept.popitem(last=False)
        return world


_RECENT = _RecentWorlds()


def compute_piece(experiment: Experiment, positions: list[int], strategy_name: str) -> dict[str, Any]:
    """Explore the worlds at `positions` with one strategy. Each array has one line per position."""
    how = next(s for s in experiment.strategies if strategy(s).name == strategy_name)
    layout = Layout.of(experiment)
    arrays = layout.blank(len(positions), len(experiment.snapshots), strategy(how).relocates)
    for i, position in enumerate(positions):
        kind, index = experiment.position(position)
        world = _RECENT.get(experiment.seed, kind, index)
        steps = snapshot_steps(experiment.snapshots, kind.n_steps)
        seed = stream(experiment.seed, f"{world_id(kind.name, index)}/{strategy_name}")
        run = explore(world, strategy(how), n_steps=kind.n_steps, seed=seed, snapshots=steps)
        layout.fill(arrays, i, run, steps)
        for name, measure in experiment.measures.items():
            values = np.asarray(measure(run), dtype=np.float64)
            if values.shape not in ((), (kind.n_steps + 1,)):
                raise ValueError(f"measures.{name}: gave shape {values.shape}; it must be () or ({kind.n_steps + 1},)")
            if values.shape:
                line = arrays.setdefault(name, np.full((len(positions), layout.n_times), np.nan))
                line[i, : len(values)] = values
            else:
                arrays.setdefault(name, np.full(len(positions), np.nan))[i] = values
    return arrays


class Layout:
    """Shapes and types of what is stored of one exploration; all classes fit."""

    def __init__(self, n_times: int, n_states: int, n_actions: int, n_transitions: int) -> None:
        self.n_times = n_times
        self.state = smallest_unsigned(n_states)
        self.action = smallest_unsigned(n_actions)
        self.count = smallest_unsigned(n_times)
        self.n_transitions = n_transitions if n_transitions <= COUNTS_LIMIT else 0

    @classmethod
    def of(cls, experiment: Experiment) -> Layout:
        """The layout that holds every class of an experiment."""
        worlds = [_RECENT.get(experiment.seed, kind, 0) for kind in experiment.classes]
        return cls(
            max(kind.n_steps for kind in experiment.classes) + 1,
            max(w.n_states for w in worlds),
            max(w.n_actions for w in worlds),
            max(w.n_actions * w.n_states**2 for w in worlds),
        )

    def blank(self, n: int, n_snapshots: int, relocates: bool) -> dict[str, Any]:
        """Arrays for `n` explorations, filled with what stands for nothing.

        Where an action led is the next state of the path, unless the strategy relocates.
        """
        nothing = {
            "missing_information": np.full((n, self.n_times), np.nan, dtype=np.float32),
            "l1_distance": np.full((n, self.n_times), np.nan, dtype=np.float32),
            "state": np.full((n, self.n_times), np.iinfo(self.state).max, dtype=self.state),
            "action": np.full((n, self.n_times), np.iinfo(self.action).max, dtype=self.action),
            "area": np.full(n, np.nan),
        }
        if relocates:
            nothing["next_state"] = np.full((n, self.n_times), np.iinfo(self.state).max, dtype=self.state)
        if n_snapshots and self.n_transitions:
            nothing["counts"] = np.zeros((n, n_snapshots, self.n_transitions), dtype=self.count)
        return nothing

    def fill(self, arrays: dict[str, Any], i: int, run: Run, steps: list[int]) -> None:
        """Put one exploration into line `i`."""
        n = run.n_steps
        arrays["missing_information"][i, : n + 1] = run.missing_information
        arrays["l1_distance"][i, : n + 1] = run.l1_distance
        arrays["state"][i, : n + 1] = run.states
        arrays["action"][i, :n] = run.actions
        arrays["area"][i] = run.area
        if "next_state" in arrays:
            arrays["next_state"][i, :n] = run.next_states
        if "counts" in arrays:
            for j, t in enumerate(steps):
                where, n_times = _flat(run.snapshots[t])
                arrays["counts"][i, j, where] = n_times


def smallest_unsigned(n: int) -> Any:
    """The smallest unsigned type that holds 0..n - 1 and one more value for nothing."""
    return next(t for t in (np.uint8, np.uint16, np.uint32) if n <= np.iinfo(t).max)


def _flat(counts: Counts) -> tuple[Any, Any]:
    """Places in a flattened `counts[a, s, s_next]`, and the numbers there."""
    s, a = np.divmod(counts.row, counts.n_actions)
    return (a * counts.n_states + s) * counts.n_states + counts.s_next, counts.n
