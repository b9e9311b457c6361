"""Sensitivity of the results to the readings that the paper leaves open, in all worlds."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from berlyne import tasks
from berlyne.experiments.layout import smallest_unsigned
from berlyne.experiments.spec import snapshot_steps
from berlyne.experiments.work_unit import fill_counts
from berlyne.experiments.worlds import stream, world_id
from berlyne.exploration.explore import explore
from berlyne.paper.reproduction.explorations import load_counts
from berlyne.paper.reproduction.stages.base import N_LAGS, MapFunction, Stage
from berlyne.paper.reproduction.stages.tasks import Tasks
from berlyne.paper.reproduction.variants import VARIANTS, WITH_CURVES, NeededRuns, Variant, needed_runs
from berlyne.strategies.registry import PAPER_STRATEGIES
from berlyne.worlds import PAPER_WORLDS
from berlyne.worlds.structure import controllability, structure_index

if TYPE_CHECKING:
    import xarray as xr

    from berlyne.paper.reproduction.paper_run import PaperRun

LOSSES = ("navigation_loss", "reward_loss")
VariantResults = dict[tuple[str, str | None], Any]
"""Results of a variant in one world, by name of the number and name of the strategy (None for numbers of a world)."""


@dataclass(frozen=True)
class Sensitivity(Stage):
    """Areas, mean curves, losses and structure under the variants; NaN if a variant does not change them."""

    name: ClassVar[str] = "sensitivity"
    needs: ClassVar[tuple[str, ...]] = ("explorations", "tasks")
    variants: tuple[Variant, ...] = VARIANTS

    def strategies_needed(self) -> tuple[str, ...]:
        """Return all strategies of the paper, which variants change."""
        return PAPER_STRATEGIES

    def settings(self, paper_run: PaperRun) -> dict[str, Any]:
        """Return all settings that affect the numbers, including those of the tasks."""
        return {**super().settings(paper_run), "tasks": asdict(paper_run.configured(Tasks()))}

    def compute(self, paper_run: PaperRun, map_items: MapFunction) -> xr.Dataset:
        """Compute the numbers for all worlds of a reproduction."""
        ids = [variant.id for variant in self.variants]
        jobs = list(_jobs(paper_run, self.variants))
        dataset = _empty_dataset(paper_run, self.variants)
        arrays = {name: array.values for name, array in dataset.data_vars.items()}
        work = _VariantWork(paper_run, self.variants)
        for job, results in zip(jobs, map_items("sensitivity", jobs, work), strict=True):
            position = (ids.index(job.variant), PAPER_WORLDS.index(job.world_class))
            for (name, strategy), value in results.items():
                index = position if strategy is None else (*position, PAPER_STRATEGIES.index(strategy))
                if name == "curve":  # the mean over worlds is enough
                    line = arrays[name][index]
                    line[: len(value)] = np.nan_to_num(line[: len(value)]) + value / paper_run.n_worlds
                else:
                    arrays[name][(*index, job.world)] = value
        return dataset


class _Job(NamedTuple):
    """One world under one variant, with the stored results that are needed.

    Attributes
    ----------
    variant, world_class : str
        Variant and class of worlds.
    world : int
        Index of the world.
    counts : ndarray of shape (n_strategies, n_snapshots, n_transitions) or None
        Stored counts; None if no loss is computed from stored explorations.
    losses : ndarray of shape (n_strategies, n_snapshots, 2) or None
        Stored losses in both tasks; None unless the only change is a shorter run.
    """

    variant: str
    world_class: str
    world: int
    counts: Any = None
    losses: Any = None


def _jobs(paper_run: PaperRun, variants: tuple[Variant, ...]) -> Iterator[_Job]:
    """Yield all variants of a world in a row, because the world and its tasks are cached."""
    tasks = paper_run.stage("tasks")
    losses = np.stack([tasks[loss].values for loss in LOSSES], axis=-1)  # (class, world, strategy, snapshot, task)
    for c, world_class in enumerate(PAPER_WORLDS):
        needed = {variant.id: _needed_for_variant(paper_run, variant, world_class) for variant in variants}
        uses_counts = any(runs.uses_stored_runs for runs in needed.values())
        counts = load_counts(paper_run, world_class) if uses_counts else None
        for i in range(paper_run.n_worlds):
            for variant, runs in needed.items():
                if any(runs):
                    yield _Job(
                        variant,
                        world_class,
                        i,
                        counts[i] if counts is not None and runs.uses_stored_runs else None,
                        losses[c, i] if runs.only_shorter else None,
                    )


@dataclass(frozen=True, eq=False)
class _VariantWork:
    """Function of a job; the reproductions with changed assumptions are cached in the process that calls it."""

    paper_run: PaperRun
    variants: tuple[Variant, ...]

    @cached_property
    def changed_runs(self) -> dict[str, PaperRun]:
        return {variant.id: self.paper_run.replace(variant.changes) for variant in self.variants}

    @cached_property
    def needed(self) -> dict[tuple[str, str], NeededRuns]:
        return {(v.id, c): _needed_for_variant(self.paper_run, v, c) for v in self.variants for c in PAPER_WORLDS}

    def __call__(self, job: _Job) -> VariantResults:
        needed = self.needed[job.variant, job.world_class]
        return _compute_variant(self.paper_run, self.changed_runs[job.variant], job, needed)


def _needed_for_variant(paper_run: PaperRun, variant: Variant, world_class: str) -> NeededRuns:
    needed = needed_runs(paper_run.assumptions, paper_run.assumptions.replace(variant.changes), world_class)
    return needed if variant.tasks else needed._replace(navigate=(), collect=())


def _empty_dataset(paper_run: PaperRun, variants: tuple[Variant, ...]) -> xr.Dataset:
    """Return a dataset filled with NaN."""
    import xarray as xr

    changed = [paper_run.assumptions.replace(variant.changes) for variant in variants]
    longest = max(assumptions.n_steps(c) for assumptions in changed for c in PAPER_WORLDS) + 1
    sizes = {
        "variant": len(variants), "world_class": len(PAPER_WORLDS), "strategy": len(PAPER_STRATEGIES),
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
    coords = {
        "variant": [v.id for v in variants],
        "world_class": list(PAPER_WORLDS),
        "strategy": list(PAPER_STRATEGIES),
    }
    return xr.Dataset(data, {**coords, "lag": np.arange(1, N_LAGS + 1)})


def _compute_variant(paper_run: PaperRun, changed_run: PaperRun, job: _Job, needed: NeededRuns) -> VariantResults:
    """Return the results of one world that differ from those with the readings of the reproduction."""
    results: VariantResults = {}
    at = (job.world_class, job.world)
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
        counts[name] = job.counts[PAPER_STRATEGIES.index(name)]
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
            old = job.losses[PAPER_STRATEGIES.index(name)]
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
