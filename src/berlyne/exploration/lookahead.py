"""Expected gain of more steps, by simulation in a world that responds as the explorer's own model predicts.

Outcomes are drawn from the predictive probabilities, which are updated after every outcome. On average this equals
drawing a world from the posterior (Eq. 4, `eq:be2`), so no world is drawn.
"""

from __future__ import annotations

from typing import Self

import numpy as np

from berlyne.agents.base import Agent
from berlyne.exploration.streams import streams
from berlyne.validation import FloatArray, Seed


class Gain(tuple[float, float]):
    """Expected gain of more steps: a tuple of `bits` and `standard_error`, which also knows the cost of the steps.

    Attributes
    ----------
    bits : float
        Expected decrease of missing information, in bits. With a prior that discovers states, the sum of the PIG of all
        steps, each over the states known at that time.
    standard_error : float
        Standard error of `bits`, in bits.
    cost : float
        Expected cost of the steps; their number if actions have no costs.
    per_cost_error : float
        Standard error of `per_cost`, in bits per unit of cost.
    """

    cost: float
    per_cost_error: float

    def __new__(cls, bits: float, standard_error: float, cost: float = 0.0, per_cost_error: float = 0.0) -> Self:
        """Create a gain."""
        gain = super().__new__(cls, (bits, standard_error))
        gain.cost, gain.per_cost_error = cost, per_cost_error
        return gain

    def __getnewargs__(self) -> tuple[float, ...]:
        return *self, self.cost, self.per_cost_error

    def __repr__(self) -> str:
        return f"Gain(bits={self.bits!r}, standard_error={self.standard_error!r}, cost={self.cost!r})"

    @property
    def bits(self) -> float:
        """Expected decrease of missing information, in bits."""
        return self[0]

    @property
    def standard_error(self) -> float:
        """Standard error of `bits`, in bits."""
        return self[1]

    @property
    def per_cost(self) -> float:
        """Expected gain divided by expected cost, in bits per unit of cost; 0 without steps."""
        return self.bits / self.cost if self.cost > 0.0 else 0.0


def simulate_gain(agent: Agent, s: int, n_steps: int, n_samples: int, seed: Seed, *, costs: FloatArray) -> Gain:
    """Return the mean gain of information over `n_samples` simulations from state `s`, in bits, and its cost.

    `costs` are those of the actions, (M, N), or (M, 1) if they do not depend on the state.

    After a terminal state the next episode begins where episodes begin, as far as the agent knows. The agent does not
    change.
    """
    _, for_agent, for_world, for_resets = streams(seed)
    before, gains, spent = agent.information(), np.empty(n_samples), np.empty(n_samples)
    spent_before = _total_cost(agent, costs)
    for i in range(n_samples):
        imagined = agent.copy()
        u = for_agent.random((n_steps, 2))
        if agent.strategy.ties == "first":
            u[:, 0] = 0.0
        imagined.imagine(s, u, for_world.random(n_steps), for_resets.random(n_steps))
        gains[i] = imagined.information() - before
        spent[i] = _total_cost(imagined, costs) - spent_before
    error, cost = float(gains.std(ddof=1) / np.sqrt(n_samples)), float(spent.mean())
    residuals = gains - gains.mean() / cost * spent if cost > 0.0 else gains  # of the ratio of two means
    ratio_error = float(residuals.std(ddof=1) / np.sqrt(n_samples) / cost) if cost > 0.0 else 0.0
    return Gain(float(gains.mean()), error, cost, ratio_error)


def _total_cost(agent: Agent, costs: FloatArray) -> float:
    """Return the cost of all observations of an agent."""
    counts = agent.counts()
    s, a = np.divmod(counts.row, counts.n_actions)
    return float((costs[a, s if costs.shape[1] > 1 else 0] * counts.n).sum())
