"""Worlds and runs from stored results: worlds read, or drawn again from their streams; runs from their paths."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from berlyne.arrays import FloatArray
from berlyne.experiments.files import StoreError
from berlyne.experiments.own_worlds import kept_world
from berlyne.experiments.piece import world_at
from berlyne.experiments.settings import described_strategy, snapshot_steps
from berlyne.experiments.world_classes import WorldClass, function_name, world_id
from berlyne.explore import Run
from berlyne.labels import Labels, column
from berlyne.strategies import Strategy, strategy
from berlyne.worlds import World
from berlyne.worlds.classes import WORLDS

if TYPE_CHECKING:
    import xarray as xr

    from berlyne.experiments.results import Results


def world_of(results: Results, label: str) -> World:
    """The world of an id, or of a run in it."""
    parts = label.split("/")
    first = "/".join(parts[:2]) + ("/run-000" if len(parts) == 2 and results.settings.get("n_runs", 1) > 1 else "")
    results._check("world", first if len(parts) == 2 else label)
    name, index = parts[0], int(parts[1])
    if results.has_no_table(name):
        raise ValueError(
            f"worlds.{name} of {results.path} shows no transition table, so there is no World and no Run of it; "
            "history(world, strategy) and to_frame() have what was done there, and berlyne.explore_env explores it"
        )
    if results.experiment is not None:
        kind = next(c for c in results.experiment.classes if c.name == name)
        if not kind.given or index < len(kind.given):
            return world_at(results.experiment, name, index)
    said = results.settings["worlds"][name]
    makes = {function_name(kind.make): kind.make for kind in WORLDS.values()}
    if said.get("make") not in makes or "first world" in said:
        kept = kept_world(results.path, results.settings, name, index)
        if kept is not None:
            return kept
        raise ValueError(
            f"worlds.{name} of {results.path} are your own, and {world_id(name, index)} is not kept there (too large, "
            "with labels that no file can hold, not explored yet, or run by an older version); "
            "open_results(path, experiment) knows it"
        )
    made = WorldClass(name, said["n_steps"], makes[said["make"]], said["parameters"])
    world = made.world(results.settings["seed"], index)
    assert isinstance(world, World)  # as all classes of ours give
    return world


def labels_of(results: Results, name: str) -> tuple[Labels, Labels] | None:
    """What states and actions are called in all worlds of a class of a user's own; None if not, or not alike."""
    said = results.settings["worlds"][name]
    if "worlds" not in said and "first world" not in said:
        return None
    found: list[World] = []
    for index in range(results.settings["n_worlds"]):
        try:
            found.append(world_of(results, world_id(name, index)))
        except (ValueError, StoreError):  # not explored, or not kept; `Results.world` says what is wrong
            continue
    every = {(one.n_states, one.n_actions, *map(_names, (one.state_labels, one.action_labels))) for one in found}
    if len(every) != 1 or all(labels.given is None for labels in (found[0].state_labels, found[0].action_labels)):
        return None
    return found[0].state_labels, found[0].action_labels


def _names(labels: Labels) -> tuple[Any, ...] | None:
    return None if labels.given is None else tuple(labels.given)


def labelled(dataset: xr.Dataset, labels: tuple[Labels, Labels]) -> xr.Dataset:
    """Arrays over states or actions with their labels as coordinates; axes end with the last state or action.

    Measures of one's own have the axes `a`, `s` and `s_next`. An entry of `transition` has all three.
    """
    states, actions = labels
    sizes = {"a": actions.size, "s": states.size, "s_next": states.size}
    sizes["transition"] = actions.size * states.size**2
    dataset = dataset.isel({dim: slice(n) for dim, n in sizes.items() if dim in dataset.dims})
    named = {"a": column(list(actions.all)), "s": column(list(states.all)), "s_next": column(list(states.all))}
    found: dict[str, Any] = {dim: names for dim, names in named.items() if dim in dataset.dims}
    if "transition" in dataset.dims:
        grid = np.indices((actions.size, states.size, states.size)).reshape(3, -1)
        found |= {
            f"transition_{dim}": ("transition", names[numbers])
            for (dim, names), numbers in zip(named.items(), grid, strict=True)
        }
    return dataset.assign_coords(found)


def run_of(results: Results, label: str, name: str) -> Run:
    """One exploration as it is stored."""
    history = results.history(label, name)
    world, n_steps = world_of(results, label), len(history)
    stored = results.dataset.sel(world=label, strategy=name)
    states = stored["state"].values[: n_steps + 1].astype(np.int32)

    def curve(measure: str) -> FloatArray:
        kept = stored[measure].values[: n_steps + 1] if measure in stored else np.full(n_steps + 1, np.nan)
        return np.asarray(kept, dtype=np.float64)

    times = sorted(set(snapshot_steps(results.settings["snapshots"], n_steps)))
    return Run(
        world,
        _strategy(results, name),
        curve("missing_information"),
        curve("l1_distance"),
        states,
        history[:, 1].astype(np.int32),
        history[:, 2].astype(np.int32),
        {t: results.counts(label, name, t, world.n_states, world.n_actions) for t in times},
    )


def _strategy(results: Results, label: str) -> Strategy:
    """The strategy that goes by a label, if it can be told what it does."""
    name = results.settings["strategies"][results.strategies.index(label)]
    if results.experiment is not None and name in results.experiment.strategy_names:
        return results.experiment.strategy(name)
    said = results.settings.get("own strategies", {})
    try:
        known = strategy(name)
        if name not in said or described_strategy(known) == said[name]:
            return known
    except ValueError:
        pass
    raise ValueError(
        f"the strategy {name!r} of {results.path} is your own; "
        "open_results(path, experiment) knows it from the experiment"
    )
