"""The independent random generators of one exploration."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from berlyne.validation import (
    Seed,
    seed_sequence,
)


class Streams(NamedTuple):
    """Independent generators for one exploration.

    Attributes
    ----------
    start, agent, world, resets : numpy.random.Generator
        Generators for the start state, the choices of the agent, the outcomes and the starts of later episodes.
    """

    start: np.random.Generator
    agent: np.random.Generator
    world: np.random.Generator
    resets: np.random.Generator


def streams(seed: Seed) -> Streams:
    """Return the generators of one exploration, derived from `seed`."""
    root = seed_sequence(int(seed.integers(2**63)) if isinstance(seed, np.random.Generator) else seed)
    children = (np.random.SeedSequence(root.entropy, spawn_key=(*root.spawn_key, i)) for i in range(4))
    return Streams(*(np.random.default_rng(child) for child in children))


def method_seed(agent: np.random.Generator) -> np.random.SeedSequence:
    """Return the seed for methods that draw random numbers, derived from the seed of the agent's generator.

    Drawing from one of them does not change the other.
    """
    seed = agent.bit_generator.seed_seq
    assert isinstance(seed, np.random.SeedSequence)
    return seed
