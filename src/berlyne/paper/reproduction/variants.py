"""Sensitivity of the claims to readings that the paper leaves open, in all worlds.

A variant changes a few assumptions, like `berlyne reproduce --set`, and gives the same numbers as that command. Only
affected results are recomputed: strategies that act differently, worlds that are drawn differently, and tasks with
other settings.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from berlyne import tasks
from berlyne.experiments.layout import smallest_unsigned
from berlyne.experiments.spec import snapshot_steps, stream, world_id
from berlyne.experiments.work_unit import fill_counts
from berlyne.exploration.explore import explore
from berlyne.paper.claims import Evidence
from berlyne.paper.claims.task_ranks import FIG8_STRATEGIES
from berlyne.paper.reproduction.assumptions import Assumptions
from berlyne.paper.reproduction.stage import N_LAGS, MapFunction, Stage, WorldKey
from berlyne.paper.reproduction.task_losses import Tasks, load_counts
from berlyne.strategies.registry import PAPER_STRATEGIES
from berlyne.worlds import PAPER_WORLDS
from berlyne.worlds.structure import controllability, structure_index

if TYPE_CHECKING:
    import xarray as xr

    from berlyne.paper.reproduction.paper_run import PaperRun


@dataclass(frozen=True)
class Variant:
    """An alternative to one reading: a few changed assumptions.

    Parameters
    ----------
    id : str
        Name of the variant.
    reading : str
        Number of the reading.
    text : str
        Description in a few words.
    changes : mapping of str to object
        Changed assumptions, by key.
    tasks : bool
        Whether task losses are recomputed. This takes longer than exploring again. It is skipped if the variant changes
        all strategies of a class and is no fitted reading on which claims about tasks rest. These claims are then not
        checked again.
    """

    id: str
    reading: str
    text: str
    changes: Mapping[str, Any] = field(default_factory=dict)
    tasks: bool = True


VARIANTS = (
    Variant("printed-1-2-3", "R3", "the 1-2-3 estimate as printed", {"1-2-3.formula": "printed"}, tasks=False),
    Variant("peig-0", "R6", "PEIG of an untried pair 0", {"untried": 0.0}),
    Variant("q-epsilon", "R7", "epsilon of Q-learning 0.1", {"q.epsilon": 0.1}),
    Variant("q-rate", "R7", "learning rate 0.1, epsilon 0.3", {"q.learning_rate": 0.1, "q.epsilon": 0.3}),
    Variant("q-initial", "R7", "Q-learning starts from 1", {"q.initial": 1.0}),
    Variant("ties", "R8", "ties go to the lowest action", {"ties": "first"}, tasks=False),
    Variant("maze-law", "R11", "maze probabilities over four directions", {"maze.law": "directions"}, tasks=False),
    Variant(
        "half-length",
        "R12",
        "1500, 1250 and 625 steps, half as many",
        {"dense.n_steps": 1500, "maze.n_steps": 1250, "1-2-3.n_steps": 625},
    ),
    Variant("index", "R14", "embodiment index of average areas", {"index": "ratio of means"}),
    Variant("pool-figure", "R16", "only the strategies of the figure in a test", {"pool": "figure"}),
    Variant("pool-all", "R16", "all fifteen strategies in a test", {"pool": "all"}),
    Variant("cap", "R18", "navigation given up after 5 steps per state", {"tasks.cap_per_state": 5}),
    Variant("average-loss", "R19", "losses averaged before they are ranked", {"tasks.ranking": "average loss"}),
    Variant("leaving", "R20", "reward on leaving a state", {"tasks.paid": "leaving"}),
)


TASK_KEYS = ("ties", "cap_per_state", "horizon", "paid", "n_rewards")
"""Settings of tasks that affect the losses of a model."""
LOSSES = ("navigation_loss", "reward_loss")
WITH_CURVES = ("Random", "PEIG(Q)")
"""Strategies whose mean curves a claim uses; for all others the areas are enough."""


class NeededRuns(NamedTuple):
    """Results of one class that a change of assumptions affects.

    Attributes
    ----------
    worlds : bool
        Whether the worlds are different.
    explore : tuple of str
        Strategies whose explorations are different.
    navigate, collect : tuple of str
        Strategies whose losses in navigation and in reward acquisition are different.
    only_shorter : bool
        Whether the only change is a shorter run, so that each exploration is the beginning of the stored one.
    """

    worlds: bool
    explore: tuple[str, ...]
    navigate: tuple[str, ...]
    collect: tuple[str, ...]
    only_shorter: bool = False

    @property
    def uses_stored_runs(self) -> bool:
        """Whether some losses are computed from stored explorations."""
        return not {*self.navigate, *self.collect} <= set(self.explore)


def needed_runs(before: Assumptions, after: Assumptions, world_class: str) -> NeededRuns:
    """Return the results of one class that differ between two sets of assumptions.

    Losses are needed only for the strategies of Fig. 8.
    """
    old_strategies, new_strategies, length = before.strategies, after.strategies, f"{world_class}.n_steps"
    worlds = before.world_parameters(world_class) != after.world_parameters(world_class)
    all_runs = worlds or before[length] != after[length] or before["tasks.times"] != after["tasks.times"]
    explore = tuple(s for s in PAPER_STRATEGIES if all_runs or old_strategies[s] != new_strategies[s])
    changed = {key for key in TASK_KEYS if before[f"tasks.{key}"] != after[f"tasks.{key}"]}

    def with_new_losses(*keys: str) -> tuple[str, ...]:
        return tuple(s for s in FIG8_STRATEGIES if changed & {"ties", *keys} or s in explore)

    navigate, collect = with_new_losses("cap_per_state"), with_new_losses("horizon", "paid", "n_rewards")
    only_shorter = after[length] < before[length] and not worlds and not changed and old_strategies == new_strategies
    return NeededRuns(worlds, explore, navigate, collect, only_shorter)


VariantResults = dict[tuple[str, str | None], Any]
"""Results of a variant in one world, by name of the number and name of the strategy (None for numbers of a world)."""


@dataclass(frozen=True)
class Sensitivity(Stage):
    """Areas, mean curves, losses and structure under the variants; NaN if a variant does not change them."""

    name: ClassVar[str] = "sensitivity"
    version: ClassVar[int] = 2
    variants: tuple[Variant, ...] = VARIANTS

    def strategies_needed(self) -> tuple[str, ...]:
        """Return all strategies of the paper, which variants change."""
        return PAPER_STRATEGIES

    def stamp(self, paper_run: PaperRun) -> str:
        """Return everything that affects the numbers as text, including the settings of the stage "tasks"."""
        return f"{super().stamp(paper_run)} {paper_run.configured(Tasks()).stamp(paper_run)}"

    def compute(self, paper_run: PaperRun, map_items: MapFunction) -> xr.Dataset:
        """Compute the numbers for all worlds of a reproduction."""
        changed_runs = {v.id: paper_run.replace(v.changes) for v in self.variants}
        needed = {(v.id, c): _needed_for_variant(paper_run, v, c) for v in self.variants for c in PAPER_WORLDS}
        jobs = [  # all variants of a world in a row, because the world and its tasks are cached
            (v, c, i)
            for c in PAPER_WORLDS
            for i in range(paper_run.n_worlds)
            for v in changed_runs
            if any(needed[v, c])
        ]
        stored_counts = {
            c: load_counts(paper_run, c)
            for c in PAPER_WORLDS
            if any(needed[v, c].uses_stored_runs for v in changed_runs)
        }
        task_losses = paper_run.stage("tasks")
        # (class, world, strategy, snapshot, task)
        stored_losses = np.stack([task_losses[loss].values for loss in LOSSES], axis=-1)

        def compute_world(job: tuple[str, str, int]) -> VariantResults:
            variant, world_class, i = job
            needed_here = needed[variant, world_class]
            counts = stored_counts[world_class][i] if needed_here.uses_stored_runs else None
            losses = stored_losses[PAPER_WORLDS.index(world_class), i] if needed_here.only_shorter else None
            stored = StoredResults(counts, losses)
            return _compute_variant(paper_run, changed_runs[variant], (world_class, i), needed_here, stored)

        dataset = _empty_dataset(paper_run, changed_runs)
        arrays = {name: array.values for name, array in dataset.data_vars.items()}
        for (variant, world_class, i), results in zip(jobs, map_items("sensitivity", jobs, compute_world), strict=True):
            position = (list(changed_runs).index(variant), PAPER_WORLDS.index(world_class))
            for (name, strategy), value in results.items():
                index = position if strategy is None else (*position, PAPER_STRATEGIES.index(strategy))
                if name == "curve":  # the mean over worlds is enough
                    line = arrays[name][index]
                    line[: len(value)] = np.nan_to_num(line[: len(value)]) + value / paper_run.n_worlds
                else:
                    arrays[name][(*index, i)] = value
        return dataset


def _needed_for_variant(paper_run: PaperRun, variant: Variant, world_class: str) -> NeededRuns:
    needed = needed_runs(paper_run.assumptions, paper_run.assumptions.replace(variant.changes), world_class)
    return needed if variant.tasks else needed._replace(navigate=(), collect=())


def _empty_dataset(paper_run: PaperRun, changed_runs: Mapping[str, PaperRun]) -> xr.Dataset:
    """Return a dataset filled with NaN."""
    import xarray as xr

    longest = max(run.assumptions.n_steps(c) for run in changed_runs.values() for c in PAPER_WORLDS) + 1
    sizes = {
        "variant": len(changed_runs), "world_class": len(PAPER_WORLDS), "strategy": len(PAPER_STRATEGIES),
        "world": paper_run.n_worlds, "snapshot": len(paper_run.assumptions["tasks.times"]),
        "time": longest, "lag": N_LAGS,
    }  # fmt: skip
    dims = {
        "area": ("strategy", "world"),
        "l1_area": ("strategy", "world"),
        "curve": ("strategy", "time"),
        "navigation_loss": ("strategy", "world", "snapshot"),
        "reward_loss": ("strategy", "world", "snapshot"),
        "structure_index": ("world",),
        "controllability": ("world", "lag"),
    }
    data = {
        name: (all_dims := ("variant", "world_class", *own_dims), np.full([sizes[dim] for dim in all_dims], np.nan))
        for name, own_dims in dims.items()
    }
    coords = {"variant": list(changed_runs), "world_class": list(PAPER_WORLDS), "strategy": list(PAPER_STRATEGIES)}
    return xr.Dataset(data, {**coords, "lag": np.arange(1, N_LAGS + 1)})


class StoredResults(NamedTuple):
    """Stored results of one world with the readings of the reproduction.

    Attributes
    ----------
    counts : ndarray of shape (n_strategies, n_snapshots, n_transitions) or None
        Counts; None if no loss is computed from stored explorations.
    losses : ndarray of shape (n_strategies, n_snapshots, 2) or None
        Losses in both tasks; None unless the only change is a shorter run.
    """

    counts: Any
    losses: Any


def _compute_variant(
    paper_run: PaperRun, changed_run: PaperRun, at: WorldKey, needed: NeededRuns, stored: StoredResults
) -> VariantResults:
    """Return the results of one world that differ from those with the readings of the reproduction."""
    results: VariantResults = {}
    world, n_steps = changed_run.world(*at), changed_run.assumptions.n_steps(at[0])
    steps = snapshot_steps(changed_run.experiment.snapshots, n_steps)
    counts: dict[str, Any] = {}
    for name in needed.explore:
        strategy = changed_run.strategy(name)
        seed = stream(changed_run.seed, f"{world_id(*at)}/{strategy.name}")
        run = explore(world, strategy, n_steps=n_steps, seed=seed)
        results["area", name], results["l1_area", name] = run.area, float(run.l1_distance.sum())
        if name in WITH_CURVES:
            results["curve", name] = run.missing_information
        if name in needed.navigate or name in needed.collect:
            counts[name] = np.zeros((len(steps), world.n_actions * world.n_states**2), smallest_unsigned(n_steps + 1))
            fill_counts(run, steps, counts[name])
    for name in {*needed.navigate, *needed.collect} - set(counts):
        counts[name] = stored.counts[PAPER_STRATEGIES.index(name)]
    if needed.navigate or needed.collect:
        stored_steps = (
            snapshot_steps(paper_run.experiment.snapshots, paper_run.assumptions.n_steps(at[0]))
            if needed.only_shorter
            else []
        )
        new_steps = [k for k, step in enumerate(steps) if step not in stored_steps]
        world_tasks = changed_run.configured(Tasks()).world_tasks(changed_run, *at)
        results |= _losses(world_tasks, needed, {s: table[new_steps] for s, table in counts.items()})
        for name in needed.navigate if stored_steps else ():
            old = stored.losses[PAPER_STRATEGIES.index(name)]
            for task, loss in enumerate(LOSSES):
                new = iter(results[loss, name])
                results[loss, name] = [
                    next(new) if k in new_steps else old[stored_steps.index(steps[k]), task] for k in range(len(steps))
                ]
    if needed.worlds:
        results["structure_index", None] = structure_index(world)
        results["controllability", None] = controllability(world, N_LAGS)
    return results


def _losses(world_tasks: tasks.Tasks, needed: NeededRuns, counts: Mapping[str, Any]) -> VariantResults:
    """Compute losses from the counts of each strategy; both tasks at once if the same strategies need both."""
    n, m = world_tasks.n_states, world_tasks.n_actions

    def compute(names: tuple[str, ...], loss: Callable[[Any], Any]) -> Any:
        return loss(np.concatenate([counts[s] for s in names]).reshape(-1, m, n, n)).reshape(len(names), -1)

    if needed.navigate == needed.collect:
        both = compute(needed.navigate, world_tasks.losses).reshape(len(needed.navigate), -1, 2)
        return {(loss, s): both[i, :, k] for i, s in enumerate(needed.navigate) for k, loss in enumerate(LOSSES)}
    strategies = needed.navigate, needed.collect
    functions: tuple[Callable[[Any], Any], ...] = world_tasks.navigation_loss, world_tasks.reward_loss
    return {
        (name, s): values
        for name, names, function in zip(LOSSES, strategies, functions, strict=True)
        if names
        for s, values in zip(names, compute(names, function), strict=True)
    }


def variant_evidence(paper_run: PaperRun, variant: Variant) -> Evidence:
    """Return the evidence under a variant: stored numbers, replaced where the variant changes them."""
    base, changed_run = paper_run.evidence, paper_run.replace(variant.changes)
    results = base.stages["sensitivity"].sel(variant=variant.id)
    areas, l1_areas, curves = (
        {c: dict(by_strategy) for c, by_strategy in by_class.items()}
        for by_class in (base.areas, base.l1_areas, base.curves)
    )
    for world_class in PAPER_WORLDS:
        for name in needed_runs(paper_run.assumptions, changed_run.assumptions, world_class).explore:
            new = results.sel(world_class=world_class, strategy=name)
            areas[world_class][name], l1_areas[world_class][name] = new["area"].values, new["l1_area"].values
            if name in WITH_CURVES:
                curves[world_class][name] = new["curve"].values[: changed_run.assumptions.n_steps(world_class) + 1]
    stages = {name: _overlay(base.stages[name], results) for name in ("tasks", "structure")}
    return Evidence(areas, l1_areas, curves, stages, **changed_run.assumptions.judging_options)


def _overlay(stage: xr.Dataset, results: xr.Dataset) -> xr.Dataset:
    """Return a stage with its numbers replaced by those of a variant that are not NaN."""
    new = {
        name: results[name].transpose(*values.dims).assign_coords(values.coords)
        for name, values in stage.data_vars.items()
        if name in results
    }
    return stage.assign({name: values.where(values.notnull(), stage[name]) for name, values in new.items()})
