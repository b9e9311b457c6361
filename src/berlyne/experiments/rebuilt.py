"""Worlds and runs from stored results: worlds drawn again from their streams, runs put together from their paths."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from berlyne.arrays import FloatArray
from berlyne.experiments.piece import world_at
from berlyne.experiments.settings import described_strategy, snapshot_steps
from berlyne.experiments.world_classes import WorldClass, function_name
from berlyne.explore import Run
from berlyne.strategies import Strategy, strategy
from berlyne.worlds import World
from berlyne.worlds.classes import WORLDS

if TYPE_CHECKING:
    from berlyne.experiments.results import Results


def world_of(results: Results, label: str) -> World:
    """The world of an id, or of a run in it."""
    parts = label.split("/")
    first = "/".join(parts[:2]) + ("/run-000" if len(parts) == 2 and results.settings.get("n_runs", 1) > 1 else "")
    results._check("world", first if len(parts) == 2 else label)
    name, index = parts[0], int(parts[1])
    if results.experiment is not None:
        kind = next(c for c in results.experiment.classes if c.name == name)
        if not kind.given or index < len(kind.given):
            return world_at(results.experiment, name, index)
    said = results.settings["worlds"][name]
    makes = {function_name(kind.make): kind.make for kind in WORLDS.values()}
    if said.get("make") not in makes or "first world" in said:
        raise ValueError(
            f"worlds.{name} of {results.path} are your own, and only their fingerprints are stored; "
            "open_results(path, experiment) knows them from the experiment"
        )
    made = WorldClass(name, said["n_steps"], makes[said["make"]], said["parameters"])
    return made.world(results.settings["seed"], index)


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
