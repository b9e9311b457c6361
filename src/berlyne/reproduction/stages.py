"""What is worked out beyond the explorations: one function per stage, one labelled dataset each.

Every stage goes through the worlds of the study with `each`, which spreads them over threads; numbers
depend on seeds derived from ids, never on order.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from berlyne.experiments.settings import stream, world_id
from berlyne.explore import explore
from berlyne.gains import pig_against_gain
from berlyne.learned_prior import explore_learning_alpha
from berlyne.reproduction.study import SNAPSHOTS, Study
from berlyne.rows import Counts
from berlyne.strategies import PAPER_STRATEGIES
from berlyne.tasks import Tasks, draw_rewards
from berlyne.worlds import PAPER_WORLDS, WORLDS
from berlyne.worlds.structure import controllability, structure_index

if TYPE_CHECKING:
    import xarray as xr

WorldAt = tuple[str, int]
"""Class and index of a world."""
Each = Callable[[str, list[Any], Callable[[Any], Any]], list[Any]]
"""`each(label, items, function)`: the function of every item, in order, with progress shown."""

HORIZON = 20
N_OBS, N_TRIALS = 20, 50


def structure(study: Study, each: Each) -> xr.Dataset:
    """Structure index and controllability of every world (Sec. 3.4)."""
    import xarray as xr

    def of_world(at: WorldAt) -> tuple[float, Any]:
        world = study.world(*at)
        return structure_index(world), controllability(world, HORIZON)

    found = each("structure", _every_world(study), of_world)
    shape = (len(PAPER_WORLDS), study.n_worlds)
    index = np.array([f[0] for f in found]).reshape(shape)
    reach = np.array([f[1] for f in found]).reshape(*shape, HORIZON)
    return xr.Dataset(
        {
            "structure_index": (("world_class", "world"), index),
            "controllability": (("world_class", "world", "lag"), reach, {"units": "bits"}),
        },
        {"world_class": list(PAPER_WORLDS), "lag": np.arange(1, HORIZON + 1)},
    )


def gains(study: Study, each: Each) -> xr.Dataset:
    """Predicted against realised gain after 0 to 19 observations of every row (Fig. 2)."""
    import xarray as xr

    def of_world(at: WorldAt) -> Any:
        seed = stream(study.seed, f"{world_id(*at)}/gains")
        return pig_against_gain(study.world(*at), n_obs=N_OBS, n_trials=N_TRIALS, seed=seed)

    found = each("predicted and realised gain", _every_world(study), of_world)
    shape = (len(PAPER_WORLDS), study.n_worlds, N_OBS)
    arrays = {
        name: np.array([getattr(f, name) for f in found]).reshape(shape)
        for name in ("pig", "gain", "pig_sq", "gain_sq")
    }
    dims = ("world_class", "world", "n_obs")
    data: dict[str, Any] = {name: (dims, arrays[name], {"units": "bits"}) for name in ("pig", "gain")}
    for name in ("pig", "gain"):  # over all rows and trials of all worlds
        variance = arrays[f"{name}_sq"].mean(axis=1) - arrays[name].mean(axis=1) ** 2
        data[f"sd_{name}"] = (("world_class", "n_obs"), np.sqrt(np.maximum(variance, 0.0)), {"units": "bits"})
    return xr.Dataset(data, {"world_class": list(PAPER_WORLDS), "n_obs": np.arange(N_OBS)})


def tasks(study: Study, each: Each) -> xr.Dataset:
    """Navigation and reward loss of every strategy at every snapshot (Sec. 3.7)."""
    import xarray as xr

    counts = {name: _counts(study, name) for name in PAPER_WORLDS}

    def of_world(at: WorldAt) -> Any:
        world = study.world(*at)
        rewards = draw_rewards(world.n_states, stream(study.seed, f"{world_id(*at)}/rewards"))
        judge = Tasks(world, rewards)
        shape = (-1, world.n_actions, world.n_states, world.n_states)
        models = [Counts.from_dense(c) for c in counts[at[0]][at[1]].reshape(shape)]
        return np.stack([judge.navigation_loss(models), judge.reward_loss(models)], axis=-1)

    found = each("tasks", _every_world(study), of_world)
    losses = np.array(found).reshape(len(PAPER_WORLDS), study.n_worlds, len(PAPER_STRATEGIES), len(SNAPSHOTS), 2)
    dims = ("world_class", "world", "strategy", "snapshot")
    return xr.Dataset(
        {
            "navigation_loss": (dims, losses[..., 0], {"units": "steps"}),
            "reward_loss": (dims, losses[..., 1], {"units": "reward"}),
        },
        {"world_class": list(PAPER_WORLDS), "strategy": list(PAPER_STRATEGIES), "snapshot": list(SNAPSHOTS)},
    )


def learned(study: Study, each: Each) -> xr.Dataset:
    """Exploring with a concentration learned on the way, against one that is given (Fig. S5)."""
    import xarray as xr

    kinds = [WORLDS["dense"], WORLDS["maze"]]

    def of_world(at: WorldAt) -> Any:
        seed = stream(study.seed, f"{world_id(*at)}/learned prior")
        return explore_learning_alpha(study.world(*at), "PIG(VI)", WORLDS[at[0]].n_steps, seed=seed)

    worlds = [(kind.name, i) for kind in kinds for i in range(study.n_worlds)]
    found = each("learned prior", worlds, of_world)
    n_times = max(kind.n_steps for kind in kinds) + 1
    missing = np.full((2, study.n_worlds, 2, n_times), np.nan, dtype=np.float32)
    alpha = np.full((2, study.n_worlds, n_times), np.nan, dtype=np.float32)
    for c, kind in enumerate(kinds):
        given = study.results.of(kind.name)["missing_information"].sel(strategy="PIG(VI)").values
        missing[c, :, 0, : kind.n_steps + 1] = given[: study.n_worlds]
        for i in range(study.n_worlds):
            run = found[c * study.n_worlds + i]
            missing[c, i, 1, : kind.n_steps + 1] = run.missing_information
            alpha[c, i, : kind.n_steps + 1] = run.alpha
    return xr.Dataset(
        {
            "missing_information": (("world_class", "world", "prior", "time"), missing, {"units": "bits"}),
            "alpha": (("world_class", "world", "time"), alpha),
            "true_alpha": (("world_class",), [1.0, 0.25]),
        },
        {"world_class": [kind.name for kind in kinds], "prior": ["given", "learned"]},
    )


def lengths(study: Study, each: Each) -> xr.Dataset:
    """Areas of PIG(greedy) and Unembodied for runs of any length up to three times ours (reading R12)."""
    import xarray as xr

    strategies = ("PIG(greedy)", "Unembodied")
    relative = np.linspace(0.02, 3.0, 150)  # length of a run, in ours

    def of_world(at: WorldAt) -> Any:
        n_steps = WORLDS[at[0]].n_steps
        last = np.round(relative * n_steps).astype(int)
        areas = []
        for name in strategies:
            seed = stream(study.seed, f"{world_id(*at)}/{name}")  # the stored runs, gone on with
            run = explore(study.world(*at), name, n_steps=3 * n_steps, seed=seed)
            areas.append(np.cumsum(run.missing_information)[last])
        return np.array(areas)

    found = each("longer runs", _every_world(study), of_world)
    areas = np.array(found).reshape(len(PAPER_WORLDS), study.n_worlds, 2, len(relative))
    steps = np.array([np.round(relative * WORLDS[name].n_steps) for name in PAPER_WORLDS])
    return xr.Dataset(
        {
            "area": (("world_class", "world", "strategy", "share"), areas, {"units": "bits"}),
            "length": (("world_class", "share"), steps, {"units": "steps"}),
        },
        {"world_class": list(PAPER_WORLDS), "strategy": list(strategies), "share": relative},
    )


def _counts(study: Study, world_class: str) -> Any:
    """Counts at the snapshots of all worlds of a class, (world, strategy, snapshot, transition): read at once."""
    world = study.world(world_class, 0)
    size = world.n_actions * world.n_states**2
    return (
        study.results.of(world_class)["counts"]
        .sel(strategy=list(PAPER_STRATEGIES))
        .isel(transition=slice(0, size))
        .values
    )


def _every_world(study: Study) -> list[WorldAt]:
    """Class and index of every world."""
    return [(name, i) for name in PAPER_WORLDS for i in range(study.n_worlds)]
