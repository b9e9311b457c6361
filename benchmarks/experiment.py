"""Measure the overhead of a study over its kernels: python benchmarks/experiment.py --worlds 200.

The paper's experiment (three classes of worlds, fifteen strategies, six snapshots) is run on one
thread. The CPU time of the process is divided into these parts, relative to the bare kernels:

- kernels: the compiled action-perception loops, as `explore` calls them;
- worlds: drawing the worlds;
- explorations: the work of `explore` besides the kernel (streams, random numbers, initial beliefs);
- machinery: the other work of `Experiment.run(jobs=1)` (scheduling, layout, compression, checksums, files).

"Bare" kernels are the kernels of the same explorations without a study.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path
from typing import Any

import berlyne
from berlyne.agents.compiled_agent import CompiledAgent
from berlyne.experiments import work_unit
from berlyne.experiments.spec import WorldClass, stream, world_id

SNAPSHOTS = (0.02, 0.05, 0.1, 0.25, 0.5, 1.0)


class Timed:
    """Context manager that adds up the CPU time of a function of `owner`."""

    def __init__(self, owner: Any, name: str) -> None:
        self.owner, self.name, self.function = owner, name, getattr(owner, name)
        self.seconds = 0.0

    def __enter__(self) -> Timed:
        def timed(*arguments: Any, **options: Any) -> Any:
            begin = time.thread_time()
            try:
                return self.function(*arguments, **options)
            finally:
                self.seconds += time.thread_time() - begin

        setattr(self.owner, self.name, timed)
        return self

    def __exit__(self, *_: object) -> None:
        setattr(self.owner, self.name, self.function)


def bare_kernels(study: berlyne.Experiment) -> float:
    """Return the CPU seconds of the kernels of all explorations, one after another."""
    with Timed(CompiledAgent, "run") as kernels:
        for kind in study.classes:
            for i in range(study.n_worlds):
                world = kind.world(study.seed, i)
                for strategy in study.strategies:
                    seed = stream(study.seed, f"{world_id(kind.name, i)}/{strategy}")
                    berlyne.explore(world, strategy, n_steps=kind.n_steps, seed=seed)
    return kernels.seconds


def whole_study(study: berlyne.Experiment, path: Path) -> dict[str, float]:
    """Return the CPU seconds of a run on one thread and of its parts, its wall seconds, and its size in bytes."""
    with (
        Timed(CompiledAgent, "run") as kernels,
        Timed(work_unit, "explore") as explore,
        Timed(WorldClass, "world") as worlds,
    ):
        cpu, wall = time.process_time(), time.perf_counter()
        study.run(path, jobs=1)
        cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    return {
        "kernels": kernels.seconds,
        "worlds": worlds.seconds,
        "explorations": explore.seconds - kernels.seconds,
        "machinery": cpu - explore.seconds - worlds.seconds,
        "whole run": cpu,
        "wall": wall,
        "bytes": sum(f.stat().st_size for f in path.rglob("*") if f.is_file()),
    }


def measure(n_worlds: int) -> dict[str, float]:
    """Measure the bare kernels and the whole study once."""
    study = berlyne.Experiment(n_worlds=n_worlds, snapshots=SNAPSHOTS)
    with tempfile.TemporaryDirectory() as folder:
        work_unit._WORLD_CACHE.cached.clear()  # so that worlds are drawn in every round
        return {"bare kernels": bare_kernels(study), **whole_study(study, Path(folder) / "results.zarr")}


def main() -> None:
    """Print the table of the fastest round."""
    parser = argparse.ArgumentParser(description="Measure the overhead of a study over its kernels.")
    parser.add_argument("--worlds", type=int, default=40, help="worlds of each class; 200 is the paper's experiment")
    parser.add_argument("--rounds", type=int, default=3, help="number of rounds; the shortest time counts")
    options = parser.parse_args()
    measure(2)  # compile and import
    best = min((measure(options.worlds) for _ in range(options.rounds)), key=lambda parts: parts["whole run"])
    n = 45 * options.worlds
    print(f"{n:,} explorations, {best['bytes'] / 2**20:.1f} MiB stored, {best['wall']:.2f} s on the clock\n")
    print("| part | CPU seconds | ms per exploration | of the bare kernels |\n|---|---:|---:|---:|")
    for name in ("bare kernels", "kernels", "worlds", "explorations", "machinery", "whole run"):
        print(f"| {name} | {best[name]:.2f} | {best[name] / n * 1e3:.2f} | {best[name] / best['bare kernels']:.0%} |")


if __name__ == "__main__":
    main()
