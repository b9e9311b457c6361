"""What the machinery of a study costs beside the kernels: python benchmarks/experiment.py --worlds 200.

The paper's experiment (three classes of worlds, fifteen strategies, six snapshots) is run on one
thread, and the CPU time of the process is taken apart, relative to the bare kernels:

- kernels: the compiled action-perception loops, as `explore` calls them;
- worlds: drawing the worlds;
- explorations: what `explore` does besides the kernel (streams, random numbers, first beliefs);
- machinery: all the rest of `Experiment.run(jobs=1)`: scheduling, layout, compression, checksums, files.

"Bare" kernels are the same explorations without any study around them.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path
from typing import Any

import berlyne
from berlyne.agents.compiled_agent import CompiledAgent
from berlyne.experiments import work_unit as piece
from berlyne.experiments.spec import WorldClass, stream, world_id

SNAPSHOTS = (0.02, 0.05, 0.1, 0.25, 0.5, 1.0)


class Timed:
    """While it is entered, adds up the CPU time that a function of `owner` takes."""

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
    """CPU seconds of the kernels of all explorations, one after another."""
    with Timed(CompiledAgent, "run") as kernels:
        for kind in study.classes:
            for i in range(study.n_worlds):
                world = kind.world(study.seed, i)
                for strategy in study.strategies:
                    seed = stream(study.seed, f"{world_id(kind.name, i)}/{strategy}")
                    berlyne.explore(world, strategy, n_steps=kind.n_steps, seed=seed)
    return kernels.seconds


def whole_study(study: berlyne.Experiment, place: Path) -> dict[str, float]:
    """CPU seconds of a run on one thread and of its parts, wall seconds, and the bytes it stores."""
    with (
        Timed(CompiledAgent, "run") as kernels,
        Timed(piece, "explore") as explore,
        Timed(WorldClass, "world") as worlds,
    ):
        cpu, wall = time.process_time(), time.perf_counter()
        study.run(place, jobs=1)
        cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    return {
        "kernels": kernels.seconds,
        "worlds": worlds.seconds,
        "explorations": explore.seconds - kernels.seconds,
        "machinery": cpu - explore.seconds - worlds.seconds,
        "whole run": cpu,
        "wall": wall,
        "bytes": sum(f.stat().st_size for f in place.rglob("*") if f.is_file()),
    }


def measure(n_worlds: int) -> dict[str, float]:
    """One round of both."""
    study = berlyne.Experiment(n_worlds=n_worlds, snapshots=SNAPSHOTS)
    with tempfile.TemporaryDirectory() as folder:
        piece._WORLD_CACHE.cached.clear()  # so that worlds are drawn in every round
        return {"bare kernels": bare_kernels(study), **whole_study(study, Path(folder) / "results.zarr")}


def main() -> None:
    """Print the table of the round whose run was shortest."""
    parser = argparse.ArgumentParser(description="What the machinery of a study costs beside the kernels.")
    parser.add_argument("--worlds", type=int, default=40, help="worlds of each class; 200 is the paper's experiment")
    parser.add_argument("--rounds", type=int, default=3, help="the best of so many")
    asked = parser.parse_args()
    measure(2)  # compiles, imports
    best = min((measure(asked.worlds) for _ in range(asked.rounds)), key=lambda parts: parts["whole run"])
    n = 45 * asked.worlds
    print(f"{n:,} explorations, {best['bytes'] / 2**20:.1f} MiB stored, {best['wall']:.2f} s on the clock\n")
    print("| part | CPU seconds | ms per exploration | of the bare kernels |\n|---|---:|---:|---:|")
    for name in ("bare kernels", "kernels", "worlds", "explorations", "machinery", "whole run"):
        print(f"| {name} | {best[name]:.2f} | {best[name] / n * 1e3:.2f} | {best[name] / best['bare kernels']:.0%} |")


if __name__ == "__main__":
    main()
