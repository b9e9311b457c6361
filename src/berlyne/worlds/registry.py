"""Table of the classes of worlds, and the names of those in the paper."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from berlyne.worlds.dense import dense_world
from berlyne.worlds.maze import maze
from berlyne.worlds.one_two_three import one_two_three_world
from berlyne.worlds.world import World


@dataclass(frozen=True)
class WorldKind:
    """Class of worlds.

    Parameters
    ----------
    name : str
        Short name, such as "maze".
    title : str
        Name in figures and reports.
    make : callable
        Function that draws a world, given a seed.
    n_steps : int
        Number of steps of an exploration (reading R12).
    """

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
"""Classes of worlds, by name."""

PAPER_WORLDS = ("dense", "maze", "1-2-3")
"""Names of the three classes of the paper, in its order. Classes added to `WORLDS` are not added here."""


def title(name: str) -> str:
    """Return the title of a class in figures and reports: the paper's words, or its name if it has no title."""
    return WORLDS[name].title if name in WORLDS else name
