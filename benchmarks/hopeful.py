"""Plans that expect to learn: areas relative to Unembodied; see docs/explanation/plans-that-expect-to-learn.md.

Usage: python benchmarks/hopeful.py [--worlds 300] [--bounds 30]

All strategies meet the same fresh worlds, with the same seeds. Differences are paired, and ± is one standard error. The
fluid bound is computed in the first worlds only, and its column is the mean of bound / Unembodied there.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable

import gymnasium
import numpy as np

import berlyne
from berlyne import Dirichlet, World
from berlyne.worlds import WORLDS

STRATEGIES = ("PIG(VI)", "PIG(VI, steps_back=20)", "PIG(hopeful VI)", "PIG(hopeful VI, steps_back=10)")
FIRST_SEED = 700_000
"""Worlds with seeds from here on were not used to choose any setting."""


def classes() -> list[tuple[str, Callable[[int], World], int, int]]:
    """Return name, maker, number of steps, and in how many worlds the bound is computed, at most."""
    lake = berlyne.from_gymnasium(gymnasium.make("FrozenLake8x8-v1"))
    lake = lake.with_prior(Dirichlet(1 / 64, n_states=64, n_actions=4))
    rooms = berlyne.four_rooms(alpha=1 / 104)
    drawn = {name: (kind.title, kind.make, kind.n_steps) for name, kind in WORLDS.items()}
    return [
        (*drawn["maze"], 1000),
        (*drawn["1-2-3"], 1000),
        ("FrozenLake8x8", lambda seed: lake, 3000, 1),
        ("four rooms", lambda seed: rooms, 2000, 1),
        ("Mazes of 100 rooms", lambda seed: berlyne.maze(seed, side=10), 7000, 1),
        (*drawn["dense"], 1),  # rows of ten outcomes take minutes
    ]


def area(run: berlyne.Run) -> float:
    """Return the area under the learning curve, in bits times steps."""
    return float(run.missing_information.sum())


def relative_areas(make: Callable[[int], World], n_steps: int, n_worlds: int) -> np.ndarray:
    """Return areas relative to Unembodied, `(n_worlds, n_strategies)`."""
    out = np.empty((n_worlds, len(STRATEGIES)))
    for i in range(n_worlds):
        world = make(FIRST_SEED + i)
        unembodied = area(berlyne.explore(world, "Unembodied", n_steps, seed=i))
        out[i] = [area(berlyne.explore(world, name, n_steps, seed=i)) / unembodied for name in STRATEGIES]
    return out


def relative_bound(make: Callable[[int], World], n_steps: int, n_worlds: int) -> float:
    """Return the mean area of the fluid bound relative to Unembodied."""
    shares = []
    for i in range(n_worlds):
        world = make(FIRST_SEED + i)
        unembodied = area(berlyne.explore(world, "Unembodied", n_steps, seed=i))
        shares.append(berlyne.bounds.fluid(world, n_steps).area / unembodied)
    return float(np.mean(shares))


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--worlds", type=int, default=300)
    parser.add_argument("--bounds", type=int, default=30)
    options = parser.parse_args()
    print("| worlds | bound | " + " | ".join(STRATEGIES) + " |")
    print("|---" * (2 + len(STRATEGIES)) + "|")
    for name, make, n_steps, max_bounds in classes():
        n_worlds = options.worlds if n_steps < 5000 else options.worlds // 3
        begin = time.process_time()
        areas = relative_areas(make, n_steps, n_worlds)
        bound = relative_bound(make, n_steps, min(options.bounds, n_worlds, max_bounds))
        less = areas[:, 1:] - areas[:, :1]
        error = less.std(axis=0, ddof=1) / np.sqrt(len(less))
        cells = [f"{areas[:, 0].mean():.3f}"]
        for mean, change, of_change in zip(areas[:, 1:].mean(0), less.mean(0), error, strict=True):
            cells.append(f"{mean:.3f} ({change:+.3f} ± {of_change:.3f})")
        print(f"| {name} | {bound:.2f} | " + " | ".join(cells) + " |", flush=True)
        print(f"{time.process_time() - begin:.0f} s", file=sys.stderr)


if __name__ == "__main__":
    main()
