"""Invented results: first as the paper describes them, then changed so that one claim fails."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import xarray as xr

from berlyne.paper.claims import Evidence
from berlyne.strategies.registry import PAPER_STRATEGIES

N = 200
LEVELS = {
    "dense": {
        **dict.fromkeys(PAPER_STRATEGIES, 100.0),
        "PIG(greedy)": 101.8, "Unembodied": 99.9, "CB": 130.0, "PEIG(Q)": 120.0, "PIG(Q)": 120.0, "PMC(VI)": 115.0,
    },
    "maze": {
        "Random": 359.0, "Unembodied": 100.0, "LTA": 359.0, "CB": 320.0, "PIG(greedy)": 359.0, "PIG(VI)": 220.0,
        "PIG(VI+)": 180.0, "PIG(Q)": 359.0, "PEIG(greedy)": 359.0, "PEIG(VI)": 220.0, "PEIG(Q)": 359.0,
        "PMC(greedy)": 359.0, "PMC(VI)": 280.0, "PLC(greedy)": 359.0, "PLC(VI)": 230.0,
    },
    "1-2-3": {
        "Random": 430.0, "Unembodied": 100.0, "LTA": 430.0, "CB": 1200.0, "PIG(greedy)": 227.0, "PIG(VI)": 170.0,
        "PIG(VI+)": 170.0, "PIG(Q)": 1000.0, "PEIG(greedy)": 380.0, "PEIG(VI)": 300.0, "PEIG(Q)": 1000.0,
        "PMC(greedy)": 380.0, "PMC(VI)": 300.0, "PLC(greedy)": 230.0, "PLC(VI)": 227.0,
    },
}  # fmt: skip


def as_published(n: int = N) -> Evidence:
    """Evidence on which every claim holds."""
    rng = np.random.default_rng(0)

    def noisy(levels: dict[str, float], sd: float) -> dict[str, np.ndarray]:
        return {name: level * np.exp(rng.normal(0, sd, n)) for name, level in levels.items()}

    areas = {name: noisy(levels, 0.06) for name, levels in LEVELS.items()}
    time = np.linspace(0, 1, 101)
    lag = np.where(time < 0.5, 40 * time, 20 * np.exp(-8 * (time - 0.5)))
    curves = {
        name: {s: 100 * np.exp(-2 * time) + (lag if s.endswith("(Q)") else 0.0) for s in PAPER_STRATEGIES}
        for name in LEVELS
    }
    return Evidence(
        areas, {name: noisy(levels, 0.06) for name, levels in LEVELS.items()}, curves, _stages(rng, areas, n)
    )


def _stages(rng: np.random.Generator, areas: dict[str, dict[str, np.ndarray]], n: int) -> dict[str, xr.Dataset]:
    classes = list(LEVELS)
    pig = np.broadcast_to(np.linspace(1.0, 0.05, 20), (3, n, 20)).copy()
    gains = xr.Dataset(
        {
            "pig": (("world_class", "world", "n_obs"), pig),
            "gain": (("world_class", "world", "n_obs"), pig + rng.normal(0, 0.01, pig.shape)),
        },
        {"world_class": classes},
    )
    index = np.stack([areas[c]["PIG(greedy)"] / areas[c]["Unembodied"] - 1.0 for c in classes])
    reach = np.stack(
        [
            np.outer(np.exp(rng.normal(0, 0.1, n)), a * d ** np.arange(20))
            for a, d in ((0.3, 0.2), (1.0, 0.9), (0.9, 0.5))
        ]
    )
    structure = xr.Dataset(
        {
            "structure_index": (("world_class", "world"), 0.1 * index + rng.normal(0, 0.01, index.shape)),
            "controllability": (("world_class", "world", "lag"), reach),
        },
        {"world_class": classes, "lag": np.arange(1, 21)},
    )
    return {"gains": gains, "structure": structure, "tasks": tasks(rng, n), "learned": learned(n)}


def tasks(rng: np.random.Generator, n: int, best: str = "PIG(VI)", equal: str | None = None) -> xr.Dataset:
    """Losses in which `best` (and `equal`, if any) leads everywhere."""
    loss = rng.normal(10, 1, (3, n, len(PAPER_STRATEGIES), 6))
    names = list(PAPER_STRATEGIES)
    for name in (best, equal):
        if name is not None:
            loss[:, :, names.index(name)] -= 5
    dims = ("world_class", "world", "strategy", "snapshot")
    return xr.Dataset(
        {"navigation_loss": (dims, loss), "reward_loss": (dims, loss + rng.normal(0, 0.5, loss.shape))},
        {"world_class": list(LEVELS), "strategy": names},
    )


def learned(n: int, late: float = 0.0, start: int = 0) -> xr.Dataset:
    """Curves with a learned prior that differ by half at first and, for one start, by `late` in the end."""
    time = np.linspace(0, 1, 101)
    informed = np.broadcast_to(100 * np.exp(-2 * time), (2, n, 101))
    apart = np.stack([1 + late * (i == start) + 0.5 * np.exp(-20 * time) for i in range(2)])
    return xr.Dataset(
        {
            "given": (("world_class", "world", "time"), informed),
            "learned": (("world_class", "world", "start", "time"), informed[:, :, None] * apart),
            "true_alpha": (("world_class",), [1.0, 0.25]),
        },
        {"world_class": ["dense", "maze"], "start": [1.0, 10.0]},
    )


def with_area(world_class: str, strategy: str, factor: float) -> Callable[[Evidence], Evidence]:
    """Spoil: one strategy learns faster or more slowly in one class."""

    def spoil(e: Evidence) -> Evidence:
        areas = {c: dict(by) for c, by in e.areas.items()}
        areas[world_class][strategy] = areas[world_class][strategy] * factor
        return replace(e, areas=areas)

    return spoil


def with_l1(strategy: str, factor: float) -> Callable[[Evidence], Evidence]:
    """Spoil: one strategy does better by L1 distance in 1-2-3 Worlds."""

    def spoil(e: Evidence) -> Evidence:
        l1 = {c: dict(by) for c, by in e.l1_areas.items()}
        l1["1-2-3"][strategy] = l1["1-2-3"][strategy] * factor
        return replace(e, l1_areas=l1)

    return spoil


def with_stage(name: str, change: Callable[[xr.Dataset], xr.Dataset]) -> Callable[[Evidence], Evidence]:
    """Spoil: the numbers of one stage."""
    return lambda e: replace(e, stages={**e.stages, name: change(e.stages[name])})


def never_catching_up(e: Evidence) -> Evidence:
    """Spoil: PEIG(Q) stays behind."""
    curves = {c: {**by, "PEIG(Q)": by["Random"] + np.linspace(0, 30, 101)} for c, by in e.curves.items()}
    return replace(e, curves=curves)


def shuffled(dataset: xr.Dataset) -> xr.Dataset:
    """Structure indices that belong to other worlds."""
    values = dataset["structure_index"].values
    mixed = np.random.default_rng(1).permutation(values.ravel()).reshape(values.shape)
    return dataset.assign(structure_index=(("world_class", "world"), mixed))


RNG = np.random.default_rng(2)
SPOILED: dict[str, list[Callable[[Evidence], Evidence]]] = {
    "pig-predicts": [with_stage("gains", lambda d: d.assign(gain=d["gain"] * 1.1))],
    "pig-falls": [with_stage("gains", lambda d: d.assign(pig=d["pig"][..., ::-1]))],
    "controls": [
        with_area("maze", "Random", 0.25),
        with_area("1-2-3", "Random", 0.2),
        with_area("dense", "Random", 1.5),
    ],
    "embodied-greedy": [
        with_area("maze", "PIG(greedy)", 0.25),
        with_area("1-2-3", "PIG(greedy)", 0.3),
        with_area("dense", "PIG(greedy)", 1.5),
    ],
    "embodiment-index": [with_area(name, "PIG(greedy)", 1.2) for name in LEVELS],
    "greedy-random": [
        with_area("dense", "PIG(greedy)", 0.7),
        with_area("maze", "PIG(greedy)", 0.7),
        with_area("1-2-3", "PIG(greedy)", 2.0),
    ],
    "vi-gain": [
        with_area("maze", "PIG(VI)", 1.65),
        with_area("1-2-3", "PIG(VI)", 1.4),
        with_area("dense", "PIG(VI)", 0.7),
        with_area("1-2-3", "PIG(greedy)", 3.0),
    ],
    "vi-plus": [
        with_area("maze", "PIG(VI+)", 1.25),
        with_area("maze", "PIG(VI+)", 0.5),
        with_area("dense", "PIG(VI+)", 0.7),
        with_area("1-2-3", "PIG(VI+)", 0.3),
    ],
    "structure": [with_stage("structure", shuffled)],
    "control-horizon": [
        with_stage(
            "structure",
            lambda d: d.assign(controllability=d["controllability"][::-1].assign_coords(world_class=d.world_class)),
        ),
        with_stage("structure", lambda d: d.assign(controllability=d["controllability"].where(d.lag < 5, 0.0))),
    ],
    "lta": [with_area(name, "LTA", 0.7) for name in LEVELS],
    "cb": [
        with_area("dense", "CB", 0.7),
        with_area("1-2-3", "CB", 0.5),
        with_area("maze", "CB", 1.3),
        with_area("maze", "CB", 0.5),
    ],
    "peig-q": [
        with_area("dense", "PEIG(Q)", 0.7),
        with_area("1-2-3", "PEIG(Q)", 0.3),
        with_area("maze", "PEIG(Q)", 1.5),
        never_catching_up,
    ],
    "best-of-previous": [
        with_area(name, rival, 0.1) for name in ("maze", "1-2-3") for rival in ("LTA", "CB", "PEIG(Q)")
    ],
    "pig-q": [with_area("maze", "PIG(Q)", 0.5), with_area("1-2-3", "PIG(Q)", 0.1), with_area("dense", "PIG(Q)", 0.7)],
    "peig-vi": [with_area("maze", "PEIG(VI)", 1.4), with_area("1-2-3", "PEIG(VI)", 0.5)],
    "utilities": [*(with_area(name, "PMC(VI)", 0.4) for name in LEVELS), with_area("1-2-3", "PLC(VI)", 0.5)],
    "utilities-help": [with_area(name, s, 4.0) for name in ("maze", "1-2-3") for s in ("PMC(VI)", "PLC(VI)")],
    "l1": [with_l1("PMC(VI)", 0.4), with_l1("PLC(VI)", 0.4)],
    "tasks-top": [with_stage("tasks", lambda d: tasks(RNG, N, best="LTA"))],
    "tasks-only": [
        with_stage("tasks", lambda d: tasks(RNG, N, equal="PEIG(VI)")),
        with_stage("tasks", lambda d: tasks(RNG, N, best="LTA")),
    ],
    "learned-prior": [with_stage("learned", lambda d, i=i: learned(N, late=0.2, start=i)) for i in range(2)],
}
