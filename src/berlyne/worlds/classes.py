"""The classes of worlds by name, with the paper's run length of each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from berlyne.worlds.dense import dense_world
from berlyne.worlds.maze import maze
from berlyne.worlds.one_two_three import one_two_three_world
from berlyne.worlds.world import World


@dataclass(frozen=True)
class WorldKind:
    """A class of worlds: how to draw one, what to call it, and how long to explore it (reading R12)."""

    name: str
    title: str
    make: Callable[..., World]
    n_steps: int


WORLDS: dict[str, WorldKind] = {
    kind.name: kind
    for kind in (
        WorldKind("dense", "Dense Worlds", dense_world, 3000),
        WorldKind("maze", "Mazes", maze, 2500),
        WorldKind("1-2-3", "1-2-3 Worlds", one_two_three_world, 1250),
    )
}
"""The three classes of the paper."""
