"""Batches of trials: imagined outcomes of pending trials, against asking repeatedly and against one trial at a time.

Worlds are drawn from the prior, Dirichlet(alpha) over all states. Every batch of eight trials is done in one state: a
state drawn at random ("embodied", PIG(VI)), or states that the strategy chooses ("anywhere", Unembodied). "Repeated"
asks eight times before any outcome is told, so it gets the same answer eight times. "One at a time" tells each outcome
before it asks again, which a batch cannot do. The measure is the true missing information, in bits.

    python benchmarks/batches.py [--worlds 200]
"""

from __future__ import annotations

import argparse

import numpy as np

from berlyne import Dirichlet, Explorer, World
from berlyne.exploration import pending
from berlyne.exploration.book_lines import PendingTrial

K = 8
BATCHES = (1, 3, 8)
SIZES = (3, 3, 1.0), (4, 6, 0.5)
"""Numbers of states and actions, and the concentration."""


def batch(explorer, method, s):
    """Return the pairs of one batch in state `s`."""
    trials = []
    for i in range(K):
        known = trials if method.startswith("batch") else []
        trials.append(PendingTrial(i + 1, *pending.choose_besides(explorer, known, i + 1, s), None, None))
    return [(trial.s, trial.a) for trial in trials]


def run(world, prior, strategy, method, seed):
    """Return the missing information after each of `BATCHES` batches, in bits."""
    explorer, rng, missing = Explorer(prior, strategy, seed=seed), np.random.default_rng([seed, 1]), []
    states, draws = rng.integers(prior.n_states, size=max(BATCHES)), rng.random((max(BATCHES), K))
    for b in range(max(BATCHES)):
        s = None if strategy == "Unembodied" else int(states[b])
        pairs = None if method == "one at a time" else batch(explorer, method, s)
        for i in range(K):
            z, a = pending.choose_besides(explorer, [], 1, s) if pairs is None else pairs[i]
            explorer.observe(z, a, world.sample(a, z, draws[b, i]))
        missing.append(explorer.model.missing_information(world))
    return [missing[b - 1] for b in BATCHES]


def main():
    """Print the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--worlds", type=int, default=200)
    n_worlds = parser.parse_args().worlds
    for n_states, n_actions, alpha in SIZES:
        prior = Dirichlet(alpha, n_states=n_states, n_actions=n_actions)
        worlds = [World(prior.sample(seed).dense(), prior) for seed in range(n_worlds)]
        print(f"{n_states} states, {n_actions} actions, alpha {alpha}, batches of {K}, {n_worlds} worlds; missing bits")
        print_table(prior, worlds)


def print_table(prior, worlds):
    """Print the means over worlds of one size, with standard errors."""
    for name, strategy in (("embodied", "PIG(VI)"), ("anywhere", "Unembodied")):
        for method, n_imagined in (
            ("repeated", 1), ("batch, 1 imagined", 1), ("batch, 8 imagined", 8), ("one at a time", 1),
        ):  # fmt: skip
            pending.N_IMAGINED = n_imagined
            bits = np.array([run(world, prior, strategy, method, seed) for seed, world in enumerate(worlds)])
            mean, error = bits.mean(axis=0), bits.std(axis=0, ddof=1) / np.sqrt(len(worlds))
            cells = "  ".join(f"after {b}: {m:.2f} ± {e:.2f}" for b, m, e in zip(BATCHES, mean, error, strict=True))
            print(f"{name:9} {method:18} {cells}", flush=True)


if __name__ == "__main__":
    main()
