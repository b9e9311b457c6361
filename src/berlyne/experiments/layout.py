"""The arrays of a store: their shapes, types and meanings, for all explorations of a study."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from berlyne.experiments.measures import MEASURES
from berlyne.experiments.worlds import SettingsError, WorldOrEnv
from berlyne.worlds import World

COUNTS_LIMIT = 1 << 16
"""Maximum number of transitions for which counts at snapshots are stored densely. Beyond it, they follow from paths."""
DTYPE_MAX = {dtype: int(np.iinfo(dtype).max) for dtype in ("uint8", "uint16", "uint32")}
"""Largest value of each type for states, actions and counts. In paths it marks a missing value."""
PATH = {
    "state": "state in which the action was taken",
    "action": "action taken",
    "next_state": "state it led to",
}
"""Arrays of a path, and their meanings."""


@dataclass(frozen=True)
class ArraySpec:
    """One array of a store, for one exploration.

    Attributes
    ----------
    dtype : str
        Type of its values.
    dims : tuple of str
        Names of its axes.
    shape : tuple of int
        Size of each axis.
    missing : int or None
        Value of explorations that are not done, and of times after the end of a run; None for NaN.
    units, meaning : str
        Units and meaning of its values.
    """

    dtype: str
    dims: tuple[str, ...]
    shape: tuple[int, ...]
    missing: int | None
    units: str
    meaning: str

    @property
    def fill_value(self) -> float:
        """Value that marks a missing one."""
        return np.nan if self.missing is None else self.missing

    @property
    def n_bytes(self) -> int:
        """Memory for one exploration, in bytes."""
        return math.prod(self.shape) * np.dtype(self.dtype).itemsize


@dataclass(frozen=True)
class Layout:
    """The arrays of a store. They suit all classes.

    Attributes
    ----------
    arrays : dict of str to ArraySpec
        The arrays over worlds and strategies, by name.
    block : int
        Number of positions in a block: each chunk contains one block of worlds under one strategy.
    """

    arrays: dict[str, ArraySpec]
    block: int = 1

    @classmethod
    def from_json(cls, stored: dict[str, Any]) -> Layout:
        """Return the layout that `describe` described."""
        arrays = {
            name: ArraySpec(**{**spec, "dims": tuple(spec["dims"]), "shape": tuple(spec["shape"])})
            for name, spec in stored["arrays"].items()
        }
        return cls(arrays, stored["block"])

    def describe(self) -> dict[str, Any]:
        """Return the layout as plain data."""
        return dataclasses.asdict(self)

    @property
    def n_times(self) -> int:
        """Number of times 0..n_steps of the longest exploration."""
        return self.arrays["state"].shape[0]

    @property
    def n_transitions(self) -> int:
        """Number of transitions of the largest world; 0 if counts are not stored."""
        return self.arrays["counts"].shape[-1] if "counts" in self.arrays else 0

    @property
    def measures(self) -> tuple[str, ...]:
        """Names of the measures in `MEASURES` that are stored."""
        return tuple(name for name in MEASURES if name in self.arrays)

    @property
    def n_bytes(self) -> int:
        """Memory for one exploration, in bytes."""
        return sum(spec.n_bytes for spec in self.arrays.values())

    def empty_arrays(self, n: int) -> dict[str, Any]:
        """Return arrays for `n` explorations, filled with missing values."""
        return {
            name: np.full((n, *spec.shape), spec.fill_value, dtype=spec.dtype) for name, spec in self.arrays.items()
        }

    def check_world(self, world: WorldOrEnv, world_class: str, index: int) -> None:
        """Raise a `SettingsError` if a world is too large for the store."""
        n_states = max_states(world, self.n_times)
        too_many_counts = isinstance(world, World) and 0 < self.n_transitions < world.n_actions * n_states**2
        too_many_states = n_states > DTYPE_MAX[self.arrays["state"].dtype]
        if too_many_states or world.n_actions > DTYPE_MAX[self.arrays["action"].dtype] or too_many_counts:
            raise SettingsError(
                f"worlds.{world_class}: world {index} has {n_states} states and {world.n_actions} actions, more "
                f"than the store has room for; the first worlds of a class must be the largest"
            )


def standard_arrays(
    n_times: int, n_states: int, n_actions: int, n_snapshots: int, n_transitions: int, measures: tuple[str, ...]
) -> dict[str, ArraySpec]:
    """Return the arrays of every study except areas: standard measures, paths, and counts at snapshots.

    Parameters
    ----------
    n_times : int
        Number of times of the longest exploration.
    n_states, n_actions : int
        Largest numbers of states and actions.
    n_snapshots : int
        Number of snapshots.
    n_transitions : int
        Number of transitions of the largest world with a table.
    measures : tuple of str
        Names of the measures in `MEASURES` to store.
    """
    arrays = {
        name: ArraySpec("float32", ("time",), (n_times,), None, MEASURES[name].units, MEASURES[name].meaning)
        for name in measures
    }
    for name, meaning in PATH.items():
        dtype = smallest_unsigned(n_actions if name == "action" else n_states)
        arrays[name] = ArraySpec(dtype, ("time",), (n_times,), DTYPE_MAX[dtype], "1", meaning)
    if n_snapshots and 0 < n_transitions <= COUNTS_LIMIT:
        meaning = "observations of transition (a N + s) N + s_next up to each snapshot"
        dims, shape = ("snapshot", "transition"), (n_snapshots, n_transitions)
        arrays["counts"] = ArraySpec(smallest_unsigned(n_times), dims, shape, 0, "1", meaning)
    return arrays


AREA = ArraySpec("float64", (), (), None, "bits", "sum of missing information over all times")


def max_states(world: WorldOrEnv, n_times: int) -> int:
    """Return the maximum number of states in a path: each step leads to one, and an episode may begin in another."""
    return 2 * n_times - 1 if world.n_states is None else world.n_states


def smallest_unsigned(n: int) -> str:
    """Return the smallest unsigned type for the values 0..n - 1 and one more that marks a missing value."""
    return next(dtype for dtype, largest in DTYPE_MAX.items() if n <= largest)
