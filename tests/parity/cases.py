"""Worlds and strategies, ordinary and unusual ones, on which the engine and its NumPy twin must agree."""

from __future__ import annotations

import numpy as np

from berlyne import (
    STRATEGIES,
    UTILITIES,
    Dirichlet,
    Strategy,
    World,
    dense_world,
    maze,
    one_two_three_world,
    strategy,
)
from berlyne.strategies.coordination import METHODS_BY_NAME, Relocating

CLASSES = {"dense": dense_world, "maze": maze, "1-2-3": one_two_three_world}
"""The three classes of the paper, each a function of a seed."""


def uneven(seed, n_states=9, n_actions=3, alpha=0.5):
    """Actions of one state have different supports, and the world does less than the prior allows."""
    rng = np.random.default_rng(seed)
    support = rng.random((n_actions, n_states, n_states)) < 0.35
    support[:, np.arange(n_states), (np.arange(n_states) + 1) % n_states] = True
    possible = support & (rng.random(support.shape) < 0.7)
    possible[:, np.arange(n_states), (np.arange(n_states) + 1) % n_states] = True
    theta = rng.random(support.shape) * possible
    return World(theta / theta.sum(axis=-1, keepdims=True), Dirichlet(alpha, support), name="uneven")


def sparse_truth(seed, n_states=40, n_actions=3):
    """Everything is believed possible, little of it is: outcomes are given slots as they are seen."""
    rng = np.random.default_rng(seed)
    theta = np.zeros((n_actions, n_states, n_states))
    for a, s in np.ndindex(n_actions, n_states):
        theta[a, s, rng.choice(n_states, size=3, replace=False)] = rng.dirichlet(np.ones(3))
    return World(theta, Dirichlet(0.1, n_states=n_states, n_actions=n_actions), name="sparse truth")


def one_way(seed):
    """A corridor with no way back, ending in a state that is never left."""
    theta = np.zeros((2, 5, 5))
    for s in range(5):
        theta[0, s, min(s + 1, 4)] = 1.0
        theta[1, s, s], theta[1, s, min(s + 1, 4)] = 0.5, 0.5
    theta[1, 4] = theta[0, 4]
    return World(theta, Dirichlet(1.0, theta > 0), start=0, name="one way")


def unequal(seed):
    """A maze, and a prior with another alpha for every transition."""
    world = maze(seed, side=4, n_transporters=5)
    alpha = 10.0 ** np.random.default_rng(seed).uniform(-1.5, 0.7, size=len(world.rows.data))
    return world.with_prior(Dirichlet(alpha, world.prior.support))


AWKWARD = {
    "unequal alphas": unequal,
    "1 action": lambda seed: dense_world(seed, n_states=6, n_actions=1),
    "2 actions": lambda seed: dense_world(seed, n_states=6, n_actions=2),
    "3 actions": lambda seed: uneven(seed, n_actions=3),
    "5 actions": lambda seed: uneven(seed, n_actions=5),
    "7 actions": lambda seed: dense_world(seed, n_states=6, n_actions=7, alpha=0.3),
    "1 state": lambda seed: maze(seed, side=1, n_transporters=2),
    "4 rooms": lambda seed: maze(seed, side=2, n_transporters=3),
    "no transporters": lambda seed: maze(seed, side=7, n_transporters=0),
    "directions": lambda seed: maze(seed, side=5, n_transporters=10, law="directions"),
    "one way": one_way,
    "33 states": lambda seed: dense_world(seed, n_states=33),
    "40 states, 5 actions": lambda seed: dense_world(seed, n_states=40, n_actions=5, alpha=0.3),
    "sparse truth": sparse_truth,
    "1 target": lambda seed: one_two_three_world(seed, n_states=7, n_actions=1, ergodic=False),
    "2 targets": lambda seed: one_two_three_world(seed, n_states=8, n_actions=2, ergodic=False),
    "5 targets": lambda seed: one_two_three_world(seed, n_states=12, n_actions=5),
    "7 targets": lambda seed: one_two_three_world(seed, n_states=9, n_actions=7),
    "never absorbing": lambda seed: one_two_three_world(seed, n_states=9, p_escape=1.0, ergodic=False),
    "always absorbing": lambda seed: one_two_three_world(seed, n_states=9, p_escape=0.0, ergodic=False),
    "printed": lambda seed: one_two_three_world(seed, formula="printed"),
    "printed, 5 targets": lambda seed: one_two_three_world(seed, n_states=12, n_actions=5, formula="printed"),
}

COMPOSED = [f"{utility}({method})" for utility in UTILITIES for method in METHODS_BY_NAME]
"""Every utility with every method."""

VARIANTS = [
    *(strategy("PIG(VI)", steps_back=n) for n in (0, 1, 2, 30)),
    *(strategy("PIG(VI+)", steps_back=n) for n in (0, 1, 2, 30)),
    *(strategy("PIG(VI)", gamma=gamma) for gamma in (0.0, 0.95)),
    strategy("PLC(VI+)", steps_back=7, gamma=0.5),
    *(strategy("PEIG(VI)", untried=c) for c in (0.0, 0.3, -1.0)),
    strategy("PEIG(greedy)", untried=0.0),
    strategy("PEIG(Q)", untried=2.0, learning_rate=1.0),
    strategy("PIG(Q)", learning_rate=0.2, gamma=0.5, epsilon=0.5, initial=1.0),
    strategy("PMC(Q)", epsilon=0.0, initial=-1.0),
    *(Strategy(f"Unembodied by {utility}", Relocating(), utility) for utility in UTILITIES),
    Strategy("Unembodied by nothing", Relocating()),
    *(strategy(name, ties="first") for name in ("PIG(VI)", "Unembodied", "LTA")),
]
"""Parameters other than the paper's."""

OURS = [*STRATEGIES.values(), *VARIANTS]
EVERY = [*STRATEGIES.values(), *(strategy(name) for name in COMPOSED if name not in STRATEGIES), *VARIANTS]
PLANNING = [s for s in EVERY if "VI" in s.name]
