"""Worlds to explore: the classes of the paper (Sec. 2.4), benchmark worlds, and files of worlds."""

from berlyne.worlds.benchmarks import (
    BENCHMARKS,
    deep_sea,
    double_chain_kaufmann,
    double_chain_russo,
    forked_river_swim,
    four_rooms,
    garnet,
    grid_world,
    n_arms,
    n_room,
    noisy_tv,
    river_swim,
    storck,
)
from berlyne.worlds.dense import dense_world
from berlyne.worlds.io import load_world
from berlyne.worlds.labels_of import labels_of
from berlyne.worlds.layout import Geometry, places
from berlyne.worlds.maze import maze
from berlyne.worlds.maze_text import maze_from_text
from berlyne.worlds.one_two_three import one_two_three_world
from berlyne.worlds.registry import PAPER_WORLDS, WORLDS, title
from berlyne.worlds.structure import is_ergodic
from berlyne.worlds.world import World

__all__ = [
    "BENCHMARKS",
    "PAPER_WORLDS",
    "WORLDS",
    "Geometry",
    "World",
    "deep_sea",
    "dense_world",
    "double_chain_kaufmann",
    "double_chain_russo",
    "forked_river_swim",
    "four_rooms",
    "garnet",
    "grid_world",
    "is_ergodic",
    "labels_of",
    "load_world",
    "maze",
    "maze_from_text",
    "n_arms",
    "n_room",
    "noisy_tv",
    "one_two_three_world",
    "places",
    "river_swim",
    "storck",
    "title",
]
