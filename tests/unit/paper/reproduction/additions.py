"""A custom strategy and a custom class of worlds, added to the tables before anything reads them.

Run this file with arguments of the command line to run `berlyne` with these additions. Figures are then written as
numbers only, because drawing pictures takes most of the time.
"""

from __future__ import annotations

import csv
import sys
from pathlib import Path
from typing import Any

from berlyne.strategies.coordination import Greedy
from berlyne.strategies.registry import STRATEGIES, Strategy
from berlyne.worlds import WORLDS, dense_world
from berlyne.worlds.registry import WorldKind

STRATEGY = Strategy("parameter_gain(VI+)", Greedy(), "parameter_gain")  # a name like the paper's own
WORLD = WorldKind("mine", "Worlds of mine", dense_world, 7)


def add_to_tables() -> None:
    """Add both to the tables of strategies and worlds."""
    STRATEGIES[STRATEGY.name] = STRATEGY
    WORLDS[WORLD.name] = WORLD


def save_numbers(drawing: Any, folder: Path, name: str, **_: Any) -> None:
    """Write only the numbers of a figure."""
    folder.mkdir(exist_ok=True)
    with (folder / f"{name}.csv").open("w", newline="") as file:
        csv.writer(file).writerows([drawing.header, *drawing.lines])


if __name__ == "__main__":
    add_to_tables()
    from berlyne.cli import main
    from berlyne.figures import Drawing

    Drawing.save = save_numbers  # type: ignore[method-assign,assignment]
    sys.argv[0] = "berlyne"
    main()
