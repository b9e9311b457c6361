"""The receding fluid plan in small worlds: areas relative to Unembodied, and the time of a step.

Usage: python benchmarks/fluid_plan.py [--worlds 20]

See docs/explanation/plans-that-expect-to-learn.md. Differences from PIG(VI) are paired, and ± is one standard error.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np

import berlyne
from berlyne import World

STRATEGIES = (
    "PIG(VI)", "PIG(VI, steps_back=20)", "PIG(hopeful VI)", "PIG(VI+)",
    "PIG(fluid, window=20, replan=2, gamma=1)", "PIG(fluid, window=20, replan=2, gamma=0.95)",
)  # fmt: skip
FIRST_SEED = 800_000
CLASSES: dict[str, tuple[Callable[[int], World], int]] = {
    "mazes of 9 rooms": (lambda seed: berlyne.maze(seed, side=3, n_transporters=3), 120),
    "mazes of 16 rooms": (lambda seed: berlyne.maze(seed, side=4, n_transporters=5), 240),
    "1-2-3 Worlds of 8 states": (lambda seed: berlyne.one_two_three_world(seed, n_states=8), 120),
}


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--worlds", type=int, default=20)
    parser.add_argument("--classes", type=int, nargs="*", default=[0, 1, 2])
    options = parser.parse_args()
    print("| worlds | steps | " + " | ".join(STRATEGIES) + " |")
    print("|---" * (2 + len(STRATEGIES)) + "|")
    for name in (list(CLASSES)[i] for i in options.classes):
        make, n_steps = CLASSES[name]
        areas, seconds = np.empty((options.worlds, len(STRATEGIES))), np.zeros(len(STRATEGIES))
        for i in range(options.worlds):
            world = make(FIRST_SEED + i)
            unembodied = berlyne.explore(world, "Unembodied", n_steps, seed=i).area
            for j, strategy in enumerate(STRATEGIES):
                begin = time.process_time()
                areas[i, j] = berlyne.explore(world, strategy, n_steps, seed=i).area / unembodied
                seconds[j] += time.process_time() - begin
        less = areas - areas[:, :1]
        error = less.std(axis=0, ddof=1) / np.sqrt(options.worlds)
        cells = [f"{areas[:, 0].mean():.3f}"]
        cells += [
            f"{areas[:, j].mean():.3f} ({less[:, j].mean():+.3f} ± {error[j]:.3f})" for j in range(1, len(STRATEGIES))
        ]
        print(f"| {name} | {n_steps} | " + " | ".join(cells) + " |", flush=True)
        per_step = 1e3 * seconds / (options.worlds * n_steps)
        print("| ms a step | | " + " | ".join(f"{t:.2g}" for t in per_step) + " |", flush=True)


if __name__ == "__main__":
    main()
