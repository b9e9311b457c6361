"""Expected gain of more steps, by simulation in a world that responds as the explorer's own model predicts.

Outcomes are drawn from the predictive probabilities, which are updated after every outcome. On average this equals
drawing a world from the posterior (Eq. 4, `eq:be2`), so no world is drawn.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from berlyne.agents.numpy_agent import NumpyAgent
from berlyne.agents.open_state_agent import OpenStateAgent
from berlyne.exploration.streams import streams
from berlyne.models.internal_model import InternalModel
from berlyne.validation import FloatArray, Seed

if TYPE_CHECKING:
    from berlyne.agents.compiled_agent import CompiledAgent


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


def simulate_gain(
    agent: CompiledAgent | NumpyAgent,
    model: InternalModel,
    terminal: Collection[int],
    s: int,
    n_steps: int,
    n_samples: int,
    seed: Seed,
) -> Gain:
    """Return the mean decrease of expected missing information over `n_samples` simulations from state `s`, in bits.

    If an episode ends in one of the states `terminal`, the next one starts in `s`.
    """
    before = model.expected_missing_information(without=terminal).bits
    is_terminal = np.zeros(model.n_states, dtype=np.bool_)
    is_terminal[list(terminal)] = True
    _, for_agent, for_world, _ = streams(seed)
    gains = np.empty(n_samples)
    for i in range(n_samples):
        imagined = agent.copy(model)
        u = for_agent.random((n_steps, 2))
        if agent.strategy.ties == "first":
            u[:, 0] = 0.0
        if terminal:
            imagined.mark_terminal(np.flatnonzero(is_terminal))
        imagined.imagine(s, is_terminal, u, for_world.random(n_steps))
        after = InternalModel.from_counts(model.prior, imagined.counts(), {})
        gains[i] = before - after.expected_missing_information(without=terminal).bits
    return _mean(gains)


def simulate_gain_open_states(agent: OpenStateAgent, s: int, n_steps: int, n_samples: int, seed: Seed) -> Gain:
    """Return the mean gain over `n_samples` simulations from state `s`, for a prior that discovers states, in bits.

    States are also discovered in the simulations. Each new state adds missing information, so the difference before and
    after is not a gain. The gain is the sum of the PIG of all steps, each over the states known at that time.
    """
    _, for_agent, for_world, _ = streams(seed)
    gains = np.empty(n_samples)
    for i in range(n_samples):
        u = for_agent.random((n_steps, 2))
        if agent.strategy.ties == "first":
            u[:, 0] = 0.0
        gains[i] = agent.copy().imagine(s, u, for_world.random(n_steps))
    return _mean(gains)


def _mean(gains: FloatArray) -> Gain:
    """Return the mean and the standard error of sampled gains."""
    return Gain(float(gains.mean()), float(gains.std(ddof=1) / np.sqrt(len(gains))))
