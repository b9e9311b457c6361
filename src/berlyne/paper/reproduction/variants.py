"""Variants of the readings that the paper leaves open, and the results that each changes.

A variant changes a few assumptions, like `berlyne reproduce --set`, and gives the same numbers as that command. Only
affected results are recomputed: strategies that act differently, worlds that are drawn differently, and tasks with
other settings.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from berlyne.paper.claims.published import FIGURE_POOLS
from berlyne.paper.reproduction.assumptions import Assumptions
from berlyne.strategies.registry import PAPER_STRATEGIES


@dataclass(frozen=True)
class Variant:
    """An alternative to one reading: a few changed assumptions.

    Parameters
    ----------
    id : str
        Name of the variant.
    reading : str
        Number of the reading.
    text : str
        Description in a few words.
    changes : mapping of str to object
        Changed assumptions, by key.
    tasks : bool
        Whether task losses are recomputed. This takes longer than exploring again. It is skipped if the variant changes
        all strategies of a class and is no fitted reading on which claims about tasks rest. These claims are then not
        checked again.
    """

    id: str
    reading: str
    text: str
    changes: Mapping[str, Any] = field(default_factory=dict)
    tasks: bool = True


VARIANTS = (
    Variant("printed-1-2-3", "R3", "the 1-2-3 estimate as printed", {"1-2-3.formula": "printed"}, tasks=False),
    Variant("peig-0", "R6", "PEIG of an untried pair 0", {"untried": 0.0}),
    Variant("q-epsilon", "R7", "epsilon of Q-learning 0.1", {"q.epsilon": 0.1}),
    Variant("q-rate", "R7", "learning rate 0.1, epsilon 0.3", {"q.learning_rate": 0.1, "q.epsilon": 0.3}),
    Variant("q-initial", "R7", "Q-learning starts from 1", {"q.initial": 1.0}),
    Variant("ties", "R8", "ties go to the lowest action", {"ties": "first"}, tasks=False),
    Variant("maze-law", "R11", "maze probabilities over four directions", {"maze.law": "directions"}, tasks=False),
    Variant(
        "half-length",
        "R12",
        "1500, 1250 and 625 steps, half as many",
        {"dense.n_steps": 1500, "maze.n_steps": 1250, "1-2-3.n_steps": 625},
    ),
    Variant("index", "R14", "embodiment index of average areas", {"index": "ratio of means"}),
    Variant("pool-figure", "R16", "only the strategies of the figure in a test", {"pool": "figure"}),
    Variant("pool-all", "R16", "all fifteen strategies in a test", {"pool": "all"}),
    Variant("cap", "R18", "navigation given up after 5 steps per state", {"tasks.cap_per_state": 5}),
    Variant("average-loss", "R19", "losses averaged before they are ranked", {"tasks.ranking": "average loss"}),
    Variant("leaving", "R20", "reward on leaving a state", {"tasks.paid": "leaving"}),
)


TASK_KEYS = ("ties", "cap_per_state", "horizon", "paid", "n_rewards")
"""Settings of tasks that affect the losses of a model."""
WITH_CURVES = ("Random", "PEIG(Q)")
"""Strategies whose mean curves a claim uses; for all others the areas are enough."""


class NeededRuns(NamedTuple):
    """Results of one class that a change of assumptions affects.

    Attributes
    ----------
    worlds : bool
        Whether the worlds are different.
    explore : tuple of str
        Strategies whose explorations are different.
    navigate, collect : tuple of str
        Strategies whose losses in navigation and in reward acquisition are different.
    only_shorter : bool
        Whether the only change is a shorter run, so that each exploration is the beginning of the stored one.
    """

    worlds: bool
    explore: tuple[str, ...]
    navigate: tuple[str, ...]
    collect: tuple[str, ...]
    only_shorter: bool = False

    @property
    def uses_stored_runs(self) -> bool:
        """Whether some losses are computed from stored explorations."""
        return not {*self.navigate, *self.collect} <= set(self.explore)


def needed_runs(before: Assumptions, after: Assumptions, world_class: str) -> NeededRuns:
    """Return the results of one class that differ between two sets of assumptions.

    Losses are needed only for the strategies of Fig. 8.
    """
    old_strategies, new_strategies, length = before.strategies, after.strategies, f"{world_class}.n_steps"
    worlds = before.world_parameters(world_class) != after.world_parameters(world_class)
    all_runs = worlds or before[length] != after[length] or before["tasks.times"] != after["tasks.times"]
    explore = tuple(s for s in PAPER_STRATEGIES if all_runs or old_strategies[s] != new_strategies[s])
    changed = {key for key in TASK_KEYS if before[f"tasks.{key}"] != after[f"tasks.{key}"]}

    def with_new_losses(*keys: str) -> tuple[str, ...]:
        return tuple(s for s in FIGURE_POOLS["fig8"] if changed & {"ties", *keys} or s in explore)

    navigate, collect = with_new_losses("cap_per_state"), with_new_losses("horizon", "paid", "n_rewards")
    only_shorter = after[length] < before[length] and not worlds and not changed and old_strategies == new_strategies
    return NeededRuns(worlds, explore, navigate, collect, only_shorter)
