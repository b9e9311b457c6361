"""Where a reading left a choice: the claims again, with the other choice.

Each variant replaces some strategies, or the worlds of one class, in the first worlds of the study,
and asks which verdicts change. Run length and the pool of Friedman's test need no new runs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from berlyne.claims import CLAIMS, Evidence
from berlyne.experiments.settings import stream, world_id
from berlyne.explore import explore
from berlyne.reproduction.stage import Each, Stage
from berlyne.strategies import PAPER_STRATEGIES, strategy
from berlyne.worlds import PAPER_WORLDS, WORLDS

if TYPE_CHECKING:
    import xarray as xr

    from berlyne.reproduction.study import Study

AS_READ = "as read"
"""What stands for the readings we follow, beside the variants."""
PLANNED = tuple(name for name in PAPER_STRATEGIES if name.endswith(("(VI)", "(VI+)")))
LEARNED = tuple(name for name in PAPER_STRATEGIES if name.endswith("(Q)"))
AREA_CLAIMS = tuple(id_ for id_, claim in CLAIMS.items() if claim.needs == ("explorations",))
"""Claims that follow from learning curves alone, and so can be asked again of a variant."""


@dataclass(frozen=True)
class Variant:
    """One reading, read the other way.

    parameters : of the strategies in `strategies`; worlds : parameters of classes that are drawn anew.
    length : fraction of the run that counts; pool_all : one Friedman test over all strategies.
    """

    id: str
    reading: str
    text: str
    strategies: tuple[str, ...] = ()
    parameters: Mapping[str, Any] = field(default_factory=dict)
    worlds: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    length: float = 1.0
    pool_all: bool = False


VARIANTS = (
    Variant("gamma", "R5", "discount of value iteration 0.95 instead of 1", PLANNED, {"gamma": 0.95}),
    Variant("steps-5", "R5", "5 backward steps instead of 10", PLANNED, {"steps_back": 5}),
    Variant("steps-20", "R5", "20 backward steps instead of 10", PLANNED, {"steps_back": 20}),
    Variant(
        "ties",
        "R8",
        "ties go to the lowest action instead of a random one",
        tuple(n for n in PAPER_STRATEGIES if n != "Random" and n not in LEARNED),
        {"ties": "first"},
    ),
    Variant("peig-0", "R6", "PEIG of an untried pair 0", ("PEIG(greedy)", "PEIG(VI)", "PEIG(Q)"), {"untried": 0.0}),
    Variant("q-rate", "R7", "learning rate of Q-learning 0.1 instead of 0.5", LEARNED, {"learning_rate": 0.1}),
    Variant("q-epsilon", "R7", "exploration of Q-learning 0.3 instead of 0.1", LEARNED, {"epsilon": 0.3}),
    Variant("q-gamma", "R7", "discount of Q-learning 0.5 instead of 0.9", LEARNED, {"gamma": 0.5}),
    Variant(
        "maze-law",
        "R11",
        "maze probabilities drawn over four directions and added up",
        PAPER_STRATEGIES,
        worlds={"maze": {"law": "directions"}},
    ),
    Variant(
        "printed-1-2-3",
        "R3",
        "the 1-2-3 estimate as printed",
        PAPER_STRATEGIES,
        worlds={"1-2-3": {"formula": "printed"}},
    ),
    Variant("half-length", "R12", "runs half as long", length=0.5),
    Variant("quarter-length", "R12", "runs a quarter as long", length=0.25),
    Variant("pool", "R16", "Friedman's test over all strategies at once", pool_all=True),
)


@dataclass(frozen=True)
class Sensitivity(Stage):
    """Areas and mean curves of all variants that need new runs, by the strategy they stand for.

    most_worlds : variants are run in at most this many worlds of each class.
    """

    name: ClassVar[str] = "sensitivity"
    variants: tuple[Variant, ...] = VARIANTS
    most_worlds: int = 100

    def explorers(self) -> tuple[str, ...]:
        """Those that variants replace, with the parameters that they have instead."""
        return tuple(strategy(name, **v.parameters).name for v in self.variants for name in v.strategies)

    def work_out(self, study: Study, each: Each) -> xr.Dataset:
        """The numbers, for the first worlds of the study."""
        import xarray as xr

        n = min(study.n_worlds, self.most_worlds)
        run = [v for v in self.variants if v.strategies]
        jobs = [(v, name, i) for v in run for name in (v.worlds or PAPER_WORLDS) for i in range(n)]
        found = each("sensitivity", jobs, lambda job: _areas(study, *job))
        names = list(PAPER_STRATEGIES)
        n_times = max(WORLDS[name].n_steps for name in PAPER_WORLDS) + 1
        area = np.full((len(run), len(PAPER_WORLDS), len(names), n), np.nan)
        l1 = np.full_like(area, np.nan)
        curve = np.zeros((len(run), len(PAPER_WORLDS), len(names), n_times))
        for (variant, world_class, i), by_strategy in zip(jobs, found, strict=True):
            v, c = run.index(variant), PAPER_WORLDS.index(world_class)
            for name, (total, total_l1, missing) in by_strategy.items():
                s = names.index(name)
                area[v, c, s, i], l1[v, c, s, i] = total, total_l1
                curve[v, c, s, : len(missing)] += missing / n
        dims = ("variant", "world_class", "strategy")
        return xr.Dataset(
            {
                "area": ((*dims, "world"), area, {"units": "bits"}),
                "l1_area": ((*dims, "world"), l1),
                "curve": ((*dims, "time"), curve.astype(np.float32), {"units": "bits"}),
            },
            {"variant": [v.id for v in run], "world_class": list(PAPER_WORLDS), "strategy": names},
        )


def _areas(study: Study, variant: Variant, world_class: str, index: int) -> dict[str, tuple[float, float, Any]]:
    kind = WORLDS[world_class]
    world = study.world(world_class, index)
    if variant.worlds:
        seed = stream(study.seed, world_id(world_class, index))
        world = kind.make(seed, **variant.worlds[world_class])
    found = {}
    for name in variant.strategies:
        seed = stream(study.seed, f"{world_id(world_class, index)}/{name}")
        run = explore(world, strategy(name, **variant.parameters), n_steps=kind.n_steps, seed=seed)
        found[name] = run.area, float(run.l1_distance.sum()), run.missing_information
    return found


@lru_cache(maxsize=1)
def verdicts(study: Study) -> dict[str, dict[str, str]]:
    """Verdict of every area claim, by variant; those as read first, on the same worlds as the variants."""
    stage = study.stage("sensitivity")
    as_read = _judge(_first(study.evidence, stage.sizes["world"]))
    return {AS_READ: as_read, **{v.id: _judge(evidence_of(study, stage, v)) for v in VARIANTS}}


def evidence_of(study: Study, stage: xr.Dataset, variant: Variant) -> Evidence:
    """What there would be to judge by if the paper were read as `variant` does, in the worlds that `stage` has."""
    n = stage.sizes["world"]
    base = _first(study.evidence, n)
    if variant.strategies:
        return _changed(base, stage.sel(variant=variant.id), variant)
    if variant.length < 1.0:
        return _shorter(study, base, n, variant.length)
    return replace(base, pool_all=variant.pool_all)


def _judge(evidence: Evidence) -> dict[str, str]:
    return {id_: CLAIMS[id_].verdict(evidence).word for id_ in AREA_CLAIMS}


def _first(evidence: Evidence, n: int) -> Evidence:
    """The evidence of the first `n` worlds."""
    return replace(
        evidence,
        areas={c: {s: a[:n] for s, a in by.items()} for c, by in evidence.areas.items()},
        l1_areas={c: {s: a[:n] for s, a in by.items()} for c, by in evidence.l1_areas.items()},
    )


def _changed(base: Evidence, stage: xr.Dataset, variant: Variant) -> Evidence:
    """The evidence with the strategies of a variant in the place of their originals."""
    areas, l1_areas, curves = (
        {c: dict(by) for c, by in old.items()} for old in (base.areas, base.l1_areas, base.curves)
    )
    for world_class in variant.worlds or PAPER_WORLDS:
        for name in variant.strategies:
            here = stage.sel(world_class=world_class, strategy=name)
            areas[world_class][name] = here["area"].values
            l1_areas[world_class][name] = here["l1_area"].values
            curves[world_class][name] = here["curve"].values[: WORLDS[world_class].n_steps + 1]
    return replace(base, areas=areas, l1_areas=l1_areas, curves=curves)


def _shorter(study: Study, base: Evidence, n: int, length: float) -> Evidence:
    """The evidence of the first part of every run."""
    areas: dict[str, dict[str, Any]] = {}
    l1_areas: dict[str, dict[str, Any]] = {}
    curves: dict[str, dict[str, Any]] = {}
    for name in PAPER_WORLDS:
        last = round(length * WORLDS[name].n_steps) + 1
        dataset = (
            study.results.of(name).sel(strategy=list(PAPER_STRATEGIES)).isel(world=slice(0, n), time=slice(0, last))
        )
        for target, key in ((areas, "missing_information"), (l1_areas, "l1_distance")):
            values = dataset[key].values.astype(float).sum(axis=2)
            target[name] = {s: values[:, i] for i, s in enumerate(PAPER_STRATEGIES)}
        curves[name] = {s: curve[:last] for s, curve in base.curves[name].items()}
    return replace(base, areas=areas, l1_areas=l1_areas, curves=curves)
