"""A strategy and a class of worlds of one's own, put into the tables of what there is before anything reads them.

Run as a script with the arguments of the command line of berlyne, it does what that does, beside the newcomers.
"""

from __future__ import annotations

import sys

from berlyne.strategies.coordination import Greedy
from berlyne.strategies.registry import STRATEGIES, Strategy
from berlyne.worlds import WORLDS, dense_world
from berlyne.worlds.registry import WorldKind

STRATEGY = Strategy("novelty(VI+)", Greedy(), "novelty")  # a name that the paper's own could be mistaken for
WORLD = WorldKind("mine", "Worlds of mine", dense_world, 7)


def arrive() -> None:
    """Join the tables of what there is."""
    STRATEGIES[STRATEGY.name] = STRATEGY
    WORLDS[WORLD.name] = WORLD


if __name__ == "__main__":
    arrive()
    from berlyne.cli import main

    sys.argv[0] = "berlyne"
    main()
