"""What more steps would teach, imagined: the explorer goes on in a world that answers as its own model predicts.

A world drawn from the posterior and a world that answers with the predictive probabilities, updated after every answer,
cannot be told apart (Eq. 4, `eq:be2`). So no world need be drawn: the model is.
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
    """bits : the decrease of missing information that is expected; standard_error : of this number, in bits.

    Where states are discovered: what all steps together are expected to teach, each of the states known by then.
    """

    bits: float
    standard_error: float


def simulate_gain(
    agent: CompiledAgent | NumpyAgent,
    model: InternalModel,
    closed: Collection[int],
    s: int,
    n_steps: int,
    n_samples: int,
    seed: Seed,
) -> Gain:
    """The mean decrease of expected missing information over `n_samples` imagined continuations from state `s`.

    An episode that ends, in a `closed` state, begins again in `s`.
    """
    before = model.expected_missing_information(without=closed).bits
    ends = np.zeros(model.n_states, dtype=np.bool_)
    ends[list(closed)] = True
    _, for_agent, for_world, _ = streams(seed)
    gains = np.empty(n_samples)
    for i in range(n_samples):
        imagined = agent.copy(model)
        u = for_agent.random((n_steps, 2))
        if agent.strategy.ties == "first":
            u[:, 0] = 0.0
        if closed:
            imagined.mark_terminal(np.flatnonzero(ends))
        imagined.imagine(s, ends, u, for_world.random(n_steps))
        after = InternalModel.from_counts(model.prior, imagined.counts(), {})
        gains[i] = before - after.expected_missing_information(without=closed).bits
    return _mean(gains)


def simulate_gain_open_states(agent: OpenStateAgent, s: int, n_steps: int, n_samples: int, seed: Seed) -> Gain:
    """The same where states are discovered, in imagination too.

    What is missing would rise with every state that is imagined, so before and after cannot be compared. The gain is
    the sum of what the steps are expected to teach, each of the cells there are when it is made: their PIG.
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
    return Gain(float(gains.mean()), float(gains.std(ddof=1) / np.sqrt(len(gains))))
