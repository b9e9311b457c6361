"""The classes of worlds there are, by name, and which of them are the paper's."""

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
"""The classes there are."""

PAPER_WORLDS = ("dense", "maze", "1-2-3")
"""Names of the three classes of the paper, in its order. A class of one's own does not join them."""


def title(name: str) -> str:
    """What to call a class in figures and reports: the paper's words, or its own name if it has no other."""
    return WORLDS[name].title if name in WORLDS else name
