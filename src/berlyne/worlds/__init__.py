"""What the explorer lives in (paper, Sec. 2.4)."""

from berlyne.worlds.classes import PAPER_WORLDS, WORLDS, title
from berlyne.worlds.dense import dense_world
from berlyne.worlds.files import load_world
from berlyne.worlds.maze import Geometry, maze
from berlyne.worlds.one_two_three import one_two_three_world
from berlyne.worlds.structure import is_ergodic
from berlyne.worlds.world import World

__all__ = [
    "PAPER_WORLDS",
    "WORLDS",
    "Geometry",
    "World",
    "dense_world",
    "is_ergodic",
    "load_world",
    "maze",
    "one_two_three_world",
    "title",
]
