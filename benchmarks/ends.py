"""Ends of episodes: bits left and episodes after 3,000 steps, for each way to go on after an end.

Run `python benchmarks/ends.py` with the package on the path. It prints one line for each world and strategy: the mean
and the standard error over the seeds. An older version of the package has no `after_end`, so only its default is run.
Bits are computed here, from the path, so that all versions count the same rows: those of states that are not terminal
and can be reached from the start.
"""

from __future__ import annotations

import sys
import warnings

import gymnasium
import numpy as np

import berlyne
from berlyne import Dirichlet, World

N_STEPS = 3_000
N_SEEDS = 8
MORE_SEEDS = {"Taxi": 32}
"""Number of seeds of worlds in which explorations differ much."""


def corridor(n: int = 20) -> World:
    """Return a corridor from state 0 to an end on the right; action 1 slips back with probability 1/2."""
    theta = np.zeros((2, n, n))
    for s in range(n):
        theta[0, s, min(s + 1, n - 1)] = 1.0
        theta[1, s, s] += 0.5
        theta[1, s, max(s - 1, 0)] += 0.5
    return World(theta, Dirichlet(1 / n, n_states=n, n_actions=2), start=0, terminal=[n - 1], name="corridor")


def table(name: str, alpha: float) -> World:
    """Return the world of a Gymnasium environment with a transition table."""
    world = berlyne.from_gymnasium(gymnasium.make(name))
    return world.with_prior(Dirichlet(alpha, n_states=world.n_states, n_actions=world.n_actions))


WORLDS = {
    "FrozenLake 4x4": lambda: table("FrozenLake-v1", 1 / 16),
    "FrozenLake 8x8": lambda: table("FrozenLake8x8-v1", 1 / 64),
    "CliffWalking": lambda: table("CliffWalking", 1 / 48),
    "Taxi": lambda: table("Taxi", 1 / 500),
    "corridor": corridor,
}
STRATEGIES = ("Random", "PIG(VI)", "PIG(VI, after_end=stop)", "PIG(VI, steps_back=30)")


def rows_that_count(world: World) -> np.ndarray:
    """Return whether each state is not terminal and can be reached from where episodes begin, (N,)."""
    theta, ends = np.asarray(world.theta).max(axis=0) > 0, np.isin(np.arange(world.n_states), world.terminal)
    reached = world.episodes.distribution > 0
    for _ in range(world.n_states):
        reached = reached | theta[reached & ~ends].any(axis=0)
    return reached & ~ends


def bits_left(world: World, run: berlyne.Run, counted: np.ndarray) -> float:
    """Return the missing information after the last step of a run, in bits."""
    counts = np.zeros((world.n_actions, world.n_states, world.n_states))
    np.add.at(counts, (run.actions, run.states[:-1], run.next_states), 1)
    pseudo = counts + world.prior.alpha
    theta, theta_hat = np.asarray(world.theta), pseudo / pseudo.sum(axis=2, keepdims=True)
    bits = np.where(theta > 0, theta * np.log2(np.where(theta > 0, theta, 1) / theta_hat), 0).sum(axis=2)
    return float(bits[:, counted].sum())


def measure(world: World, strategy: str, n_seeds: int) -> str:
    """Return bits left and episodes, as mean and standard error."""
    runs, counted = [berlyne.explore(world, strategy, N_STEPS, seed) for seed in range(n_seeds)], rows_that_count(world)
    columns = [bits_left(world, run, counted) for run in runs], [len(set(run.episode.tolist())) for run in runs]
    return " | ".join(f"{np.mean(c):.1f} ± {np.std(c, ddof=1) / np.sqrt(len(c)):.1f}" for c in columns)


def main() -> None:
    """Print the table, for the worlds whose names are given, or all."""
    warnings.simplefilter("ignore")  # some states of Taxi cannot be reached
    print("| world | strategy | bits left | episodes |\n|---|---|---|---|")
    for name in sys.argv[1:] or WORLDS:
        world = WORLDS[name]()
        for strategy in STRATEGIES:
            try:
                print(
                    f"| {name} | {strategy} | {measure(world, strategy, MORE_SEEDS.get(name, N_SEEDS))} |", flush=True
                )
            except ValueError as error:
                print(f"| {name} | {strategy} | {error} |")


if __name__ == "__main__":
    main()
