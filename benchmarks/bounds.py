"""Bounds and explorers: the bits that they leave, and the time that the bounds take; see docs/explanation/bounds.md.

Usage: python benchmarks/bounds.py [--runs 20]
"""

from __future__ import annotations

import argparse
import time

import gymnasium
import numpy as np

import berlyne
from berlyne import Dirichlet, World

STRATEGIES = ("PIG(VI+)", "PIG(VI)", "Random", "Unembodied")


def worlds() -> list[tuple[str, World, int]]:
    """Return name, world and number of steps."""
    lake = berlyne.from_gymnasium(gymnasium.make("FrozenLake8x8-v1"))
    return [
        ("maze(9)", berlyne.maze(9), 2500),
        ("FrozenLake8x8", lake.with_prior(Dirichlet(1 / 64, n_states=64, n_actions=4)), 3000),
        ("four rooms", berlyne.four_rooms(alpha=1 / 104), 2000),
        ("RiverSwim", berlyne.river_swim(alpha=1 / 6), 1500),
        ("1-2-3(1)", berlyne.one_two_three_world(1), 300),
        ("dense(1)", berlyne.dense_world(1), 1000),
        ("double chain, H = 20", berlyne.double_chain_kaufmann(alpha=1 / 31).with_horizon(20), 3000),
    ]


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=20)
    n_runs = parser.parse_args().runs
    berlyne.bounds.fluid(berlyne.dense_world(0), 10)  # compile
    print("| world | steps | bound | s | curve, s | fixed looks | s | " + " | ".join(STRATEGIES) + " |")
    print("|---" * (7 + len(STRATEGIES)) + "|")
    for name, world, n_steps in worlds():
        cells = []
        for policies in ("adaptive", "fixed"):
            begin = time.process_time()
            bound = berlyne.bounds.fluid(world, n_steps, policies=policies)
            cells += [f"{bound.value:.4g}", f"{time.process_time() - begin:.1f}"]
            if policies == "adaptive":
                begin = time.process_time()
                assert len(bound.curve) == n_steps + 1
                cells.append(f"{time.process_time() - begin:.1f}")
        for strategy in STRATEGIES:
            runs = [berlyne.explore(world, strategy, n_steps, seed) for seed in range(n_runs)]
            left = [run.missing_information[-1] for run in runs]
            cells.append(f"{np.mean(left):.4g} ± {np.std(left, ddof=1) / np.sqrt(n_runs):.2g}")
        print(f"| {name} | {n_steps:,} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
