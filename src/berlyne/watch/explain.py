"""Sentences that explain the strategies of a page to a reader who has not met them."""

from __future__ import annotations

import re
from typing import Any

from berlyne.strategies.coordination import (
    CounterBased,
    Greedy,
    LeastTaken,
    QLearning,
    Relocating,
    TrueModel,
    UniformChoice,
    ValueIteration,
)
from berlyne.strategies.fluid_plan import FluidPlan
from berlyne.strategies.planning import HopefulIteration, PosteriorSampling, RewardFree, RMax
from berlyne.strategies.registry import Strategy
from berlyne.strategies.utilities import UTILITIES

AIMS = {
    "PIG": "predicted information gain (PIG)",
    "PEIG": "information gain at the last try (PEIG)",
    "PMC": "predicted mode change (PMC)",
    "PLC": "predicted L1 change (PLC)",
    "parameter_gain": "expected missing information",
}
"""What a strategy with each utility of the paper seeks."""

REWARD_FREE_AIMS = {
    "ucrl": "to lower a bound on the error of any value (RF-UCRL)",
    "express": "to lower a bound on the error of any value (RF-Express)",
    "entropy": "to try all actions in all states equally often (maximum entropy)",
    "state_entropy": "to visit all states equally often (maximum entropy)",
}
"""What a strategy with each bonus of `RewardFree` seeks."""


def explain_strategy(strategy: Strategy) -> str:
    """Return one sentence about what a strategy seeks, and how it chooses an action.

    Parameters
    ----------
    strategy : Strategy
        A strategy of the table, or your own.

    Returns
    -------
    str
        A sentence whose subject is the explorer.
    """
    method = strategy.coordinate
    kind, aim = type(method), _aim(strategy.utility)
    inner = method.inner if kind is TrueModel else method
    if kind is UniformChoice:
        sentence = "It takes any action, with equal probability"
    elif kind is LeastTaken:
        sentence = "It takes the action that it has taken least often in this state"
    elif kind is CounterBased:
        sentence = "It takes the action whose next state it expects to have visited least often"
    elif kind is Greedy:
        sentence = f"It takes the action with the largest {aim}, and looks no further than the next step"
    elif kind is Relocating:
        sentence = f"A control that may jump to any state: it takes the action with the largest {aim}"
    elif type(inner) is ValueIteration:
        model = (
            "with the true world, which no explorer knows (a control)" if kind is TrueModel else "with its own model"
        )
        sentence = f"It plans {inner.steps_back} steps ahead {model}, for the largest sum of {aim}"
    elif kind is PosteriorSampling:
        sentence = f"It draws a world from its beliefs and plans {inner.steps_back} steps ahead in it, for {aim}"
    elif kind is RewardFree:
        sentence = f"It plans {inner.steps_back} steps ahead {REWARD_FREE_AIMS[inner.bonus]}"
    elif kind is RMax:
        sentence = (
            f"It plans {inner.steps_back} steps ahead to reach actions that it has tried less than {inner.m} times"
        )
    elif kind is HopefulIteration:
        sentence = (
            f"It plans {inner.steps_back} steps ahead for {aim}, and hopes for the best outcome where it knows little"
        )
    elif kind is FluidPlan:
        sentence = (
            f"It plans how often to try each action in the next {inner.window} steps, for the largest gain in all"
        )
    elif kind is QLearning:
        sentence = f"It learns by experience (Q-learning) which actions lead to {aim}"
    else:
        sentence = f"It chooses by its own method, {kind.__name__}"
        sentence += f", for {aim}" if strategy.utility is not None else ""
    return f"{sentence}{_chance(strategy)}."


def _aim(utility: Any) -> str:
    if isinstance(utility, str):
        meaning = re.sub(r" \([^()]*\d{4}\)$", "", UTILITIES[utility].meaning)  # without its source
        return AIMS.get(utility) or f"{utility} ({meaning})"
    return str(getattr(utility, "__name__", type(utility).__name__))


def _chance(strategy: Strategy) -> str:
    """Return the end of the sentence for a strategy that chooses partly by chance."""
    rule = strategy.rule
    parts = ["better actions are only more likely"] if rule.temperature > 0 else []
    parts += [f"{rule.lapse:.0%} of its actions are random"] if rule.lapse > 0 else []
    return f"; {' and '.join(parts)}" if parts else ""
