"""Where a reading left a choice: the claims again, with the other choice, in all worlds.

A variant is a few assumptions changed, as `berlyne reproduce --set` changes them; the numbers here are those that it
would give. Only what the change can move is run again: strategies that act otherwise, worlds that are drawn otherwise,
tasks that are set otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from berlyne import tasks
from berlyne.experiments.spec import snapshot_steps, stream, world_id
from berlyne.experiments.work_unit import fill_counts, smallest_unsigned
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
    """One reading, read the other way: a few assumptions changed.

    tasks : whether tasks are set again, too. That costs more than exploring again, and is left out where all strategies
        of a class act otherwise and claims about tasks rest on no fitted reading: these are then not asked.
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
"""What decides the losses of a model."""
LOSSES = ("navigation_loss", "reward_loss")
WITH_CURVES = ("Random", "PEIG(Q)")
"""Strategies whose mean curves some claim looks at; of all others areas are enough."""


class NeededRuns(NamedTuple):
    """What a change of assumptions makes necessary in the worlds of one class.

    worlds : whether they are drawn otherwise.
    explore : strategies whose explorations are others.
    navigate, collect : strategies whose losses in the two tasks are others.
    begins : whether all that differs is that explorations end earlier, each with the beginning of the one as read.
    """

    worlds: bool
    explore: tuple[str, ...]
    navigate: tuple[str, ...]
    collect: tuple[str, ...]
    only_shorter: bool = False

    @property
    def uses_stored_runs(self) -> bool:
        """Whether some losses are those of explorations as they are stored."""
        return not {*self.navigate, *self.collect} <= set(self.explore)


def needed_runs(one: Assumptions, other: Assumptions, world_class: str) -> NeededRuns:
    """What differs between two sets of assumptions in one class; losses are of interest for strategies of Fig. 8."""
    ours, theirs, length = one.strategies, other.strategies, f"{world_class}.n_steps"
    worlds = one.world_parameters(world_class) != other.world_parameters(world_class)
    runs = worlds or one[length] != other[length] or one["tasks.times"] != other["tasks.times"]
    acting = tuple(s for s in PAPER_STRATEGIES if runs or ours[s] != theirs[s])
    changed = {key for key in TASK_KEYS if one[f"tasks.{key}"] != other[f"tasks.{key}"]}

    def losing(*keys: str) -> tuple[str, ...]:
        return tuple(s for s in FIG8_STRATEGIES if changed & {"ties", *keys} or s in acting)

    only_shorter = other[length] < one[length] and not worlds and not changed and ours == theirs
    return NeededRuns(worlds, acting, losing("cap_per_state"), losing("horizon", "paid", "n_rewards"), only_shorter)


VariantFindings = dict[tuple[str, str | None], Any]
"""What a variant gives in one world: by the name of the number, and of the strategy if it is one's."""


@dataclass(frozen=True)
class Sensitivity(Stage):
    """What the variants change: areas, mean curves, losses and structure; NaN where they are those as read."""

    name: ClassVar[str] = "sensitivity"
    version: ClassVar[int] = 2
    variants: tuple[Variant, ...] = VARIANTS

    def strategies_needed(self) -> tuple[str, ...]:
        """All of the paper's, which variants replace."""
        return PAPER_STRATEGIES

    def stamp(self, paper_run: PaperRun) -> str:
        """All that decides the numbers; the tasks are those of another stage."""
        return f"{super().stamp(paper_run)} {paper_run.configured(Tasks()).stamp(paper_run)}"

    def compute(self, paper_run: PaperRun, map_items: MapFunction) -> xr.Dataset:
        """The numbers, for all worlds of the study."""
        others = {v.id: paper_run.replace(v.changes) for v in self.variants}
        needed = {(v.id, c): _needed(paper_run, v, c) for v in self.variants for c in PAPER_WORLDS}
        # a world serves all its variants while it is at hand
        jobs = [(v, c, i) for c in PAPER_WORLDS for i in range(paper_run.n_worlds) for v in others if any(needed[v, c])]
        stored = {
            c: load_counts(paper_run, c) for c in PAPER_WORLDS if any(needed[v, c].uses_stored_runs for v in others)
        }

        as_read = paper_run.stage("tasks")
        lost = np.stack([as_read[loss].values for loss in LOSSES], axis=-1)  # (class, world, strategy, snapshot, task)

        def of_world(job: tuple[str, str, int]) -> VariantFindings:
            variant, world_class, i = job
            here = needed[variant, world_class]
            counts = stored[world_class][i] if here.uses_stored_runs else None
            losses = lost[PAPER_WORLDS.index(world_class), i] if here.only_shorter else None
            return _work_out(paper_run, others[variant], (world_class, i), here, AsRead(counts, losses))

        out = _blank(paper_run, others)
        arrays = {name: array.values for name, array in out.data_vars.items()}
        for (variant, world_class, i), found in zip(jobs, map_items("sensitivity", jobs, of_world), strict=True):
            place = (list(others).index(variant), PAPER_WORLDS.index(world_class))
            for (name, strategy), value in found.items():
                where = place if strategy is None else (*place, PAPER_STRATEGIES.index(strategy))
                if name == "curve":  # the mean over worlds is enough
                    line = arrays[name][where]
                    line[: len(value)] = np.nan_to_num(line[: len(value)]) + value / paper_run.n_worlds
                else:
                    arrays[name][(*where, i)] = value
        return out


def _needed(paper_run: PaperRun, variant: Variant, world_class: str) -> NeededRuns:
    found = needed_runs(paper_run.assumptions, paper_run.assumptions.replace(variant.changes), world_class)
    return found if variant.tasks else found._replace(navigate=(), collect=())


def _blank(paper_run: PaperRun, others: Mapping[str, PaperRun]) -> xr.Dataset:
    """A dataset with nothing in it."""
    import xarray as xr

    longest = max(o.assumptions.n_steps(c) for o in others.values() for c in PAPER_WORLDS) + 1
    sizes = {
        "variant": len(others), "world_class": len(PAPER_WORLDS), "strategy": len(PAPER_STRATEGIES),
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
        name: (of := ("variant", "world_class", *rest), np.full([sizes[dim] for dim in of], np.nan))
        for name, rest in dims.items()
    }
    coords = {"variant": list(others), "world_class": list(PAPER_WORLDS), "strategy": list(PAPER_STRATEGIES)}
    return xr.Dataset(data, {**coords, "lag": np.arange(1, N_LAGS + 1)})


class AsRead(NamedTuple):
    """What is known of one world as read, where it is of use.

    counts : (strategy, snapshot, transition), None unless explorations are as read.
    losses : (strategy, snapshot, task), None unless explorations begin as those as read.
    """

    counts: Any
    losses: Any


def _work_out(
    paper_run: PaperRun, other: PaperRun, at: WorldKey, needed: NeededRuns, as_read: AsRead
) -> VariantFindings:
    """What is other than as read in one world."""
    found: VariantFindings = {}
    world, n_steps = other.world(*at), other.assumptions.n_steps(at[0])
    steps = snapshot_steps(other.experiment.snapshots, n_steps)
    models: dict[str, Any] = {}
    for name in needed.explore:
        strategy = other.strategy(name)
        run = explore(world, strategy, n_steps=n_steps, seed=stream(other.seed, f"{world_id(*at)}/{strategy.name}"))
        found["area", name], found["l1_area", name] = run.area, float(run.l1_distance.sum())
        if name in WITH_CURVES:
            found["curve", name] = run.missing_information
        if name in needed.navigate or name in needed.collect:
            models[name] = np.zeros((len(steps), world.n_actions * world.n_states**2), smallest_unsigned(n_steps + 1))
            fill_counts(run, steps, models[name])
    for name in {*needed.navigate, *needed.collect} - set(models):
        models[name] = as_read.counts[PAPER_STRATEGIES.index(name)]
    if needed.navigate or needed.collect:
        before = (
            snapshot_steps(paper_run.experiment.snapshots, paper_run.assumptions.n_steps(at[0]))
            if needed.only_shorter
            else []
        )
        fresh = [k for k, step in enumerate(steps) if step not in before]
        found |= _losses(
            other.configured(Tasks()).world_tasks(other, *at), needed, {s: m[fresh] for s, m in models.items()}
        )
        for name in needed.navigate if before else ():
            old = as_read.losses[PAPER_STRATEGIES.index(name)]
            for task, loss in enumerate(LOSSES):
                new = iter(found[loss, name])
                found[loss, name] = [
                    next(new) if k in fresh else old[before.index(steps[k]), task] for k in range(len(steps))
                ]
    if needed.worlds:
        found["structure_index", None] = structure_index(world)
        found["controllability", None] = controllability(world, N_LAGS)
    return found


def _losses(world_tasks: tasks.Tasks, needed: NeededRuns, models: Mapping[str, Any]) -> VariantFindings:
    """Losses of some models of each strategy: of both tasks at once if the same strategies have both."""
    n, m = world_tasks.n_states, world_tasks.n_actions

    def of(names: tuple[str, ...], losses: Callable[[Any], Any]) -> Any:
        return losses(np.concatenate([models[s] for s in names]).reshape(-1, m, n, n)).reshape(len(names), -1)

    if needed.navigate == needed.collect:
        both = of(needed.navigate, world_tasks.losses).reshape(len(needed.navigate), -1, 2)
        return {(loss, s): both[i, :, k] for i, s in enumerate(needed.navigate) for k, loss in enumerate(LOSSES)}
    parts = zip(
        LOSSES, (needed.navigate, needed.collect), (world_tasks.navigation_loss, world_tasks.reward_loss), strict=True
    )
    return {
        (loss, s): one
        for loss, names, losses in parts
        if names
        for s, one in zip(names, of(names, losses), strict=True)
    }


def variant_evidence(paper_run: PaperRun, variant: Variant) -> Evidence:
    """What there would be to judge by if the paper were read as `variant` does."""
    base, other = paper_run.evidence, paper_run.replace(variant.changes)
    found = base.stages["sensitivity"].sel(variant=variant.id)
    areas, l1_areas, curves = (
        {c: dict(by) for c, by in old.items()} for old in (base.areas, base.l1_areas, base.curves)
    )
    for world_class in PAPER_WORLDS:
        for name in needed_runs(paper_run.assumptions, other.assumptions, world_class).explore:
            here = found.sel(world_class=world_class, strategy=name)
            areas[world_class][name], l1_areas[world_class][name] = here["area"].values, here["l1_area"].values
            if name in WITH_CURVES:
                curves[world_class][name] = here["curve"].values[: other.assumptions.n_steps(world_class) + 1]
    stages = {name: _overlaid(base.stages[name], found) for name in ("tasks", "structure")}
    return Evidence(areas, l1_areas, curves, stages, **other.assumptions.judging_options)


def _overlaid(stage: xr.Dataset, found: xr.Dataset) -> xr.Dataset:
    """A stage with the numbers of a variant where it has some."""
    new = {
        name: found[name].transpose(*values.dims).assign_coords(values.coords)
        for name, values in stage.data_vars.items()
        if name in found
    }
    return stage.assign({name: values.where(values.notnull(), stage[name]) for name, values in new.items()})
