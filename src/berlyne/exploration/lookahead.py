"""Expected gain of more steps, by simulation in a world that responds as the explorer's own model predicts.

Outcomes are drawn from the predictive probabilities, which are updated after every outcome. On average this equals
drawing a world from the posterior (Eq. 4, `eq:be2`), so no world is drawn.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from berlyne.agents.base import Agent
from berlyne.exploration.streams import streams
from berlyne.validation import Seed


class Gain(NamedTuple):
    """Expected gain of more steps.

    Attributes
    ----------
    bits : float
        Expected decrease of missing information, in bits. With a prior that discovers states, the sum of the PIG of all
        steps, each over the states known at that time.
    standard_error : float
        Standard error of `bits`, in bits.
    """

    bits: float
    standard_error: float


def simulate_gain(agent: Agent, s: int, n_steps: int, n_samples: int, seed: Seed) -> Gain:
    """Return the mean gain of information over `n_samples` simulations from state `s`, in bits.

    After a terminal state the next episode begins where episodes begin, as far as the agent knows. The agent does not
    change.
    """
    _, for_agent, for_world, for_resets = streams(seed)
    before, gains = agent.information(), np.empty(n_samples)
    for i in range(n_samples):
        imagined = agent.copy()
        u = for_agent.random((n_steps, 2))
        if agent.strategy.ties == "first":
            u[:, 0] = 0.0
        imagined.imagine(s, u, for_world.random(n_steps), for_resets.random(n_steps))
        gains[i] = imagined.information() - before
    return Gain(float(gains.mean()), float(gains.std(ddof=1) / np.sqrt(n_samples)))
