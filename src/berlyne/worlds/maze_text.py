"""Mazes as text: drawn by hand, and drawn from a maze.

A room is three characters wide and one line high, with walls around it::

    +---+-^-+---+
    |       | B |
    +   +---+   +
    |<      |   |
    +---+   +---+
    |   |       |
    +---+---+-v-+

`---` and `|` are walls, blanks in their places are passages, and `+` stands at every corner. A transporter is marked
by the direction in which one walks into it: `<` or `>` inside a room, next to the wall that carries it; `^` in the
wall above a room; `v` in the wall below it. All lead to the base, the room with a `B`.
"""

from __future__ import annotations

import textwrap

import numpy as np

from berlyne.priors.dirichlet import MIN_ALPHA
from berlyne.validation import BoolArray, Seed, check_number, generator
from berlyne.worlds.layout import Geometry
from berlyne.worlds.maze import Law, destinations, world_from_geometry
from berlyne.worlds.world import World

UP, DOWN, LEFT, RIGHT = range(4)


def maze_from_text(text: str, seed: Seed = 0, alpha: float = 0.25, *, law: Law = "outcomes") -> World:
    """The maze of a drawing, a `World` as `berlyne.maze` makes them.

    Parameters
    ----------
    text : the drawing (`berlyne.worlds.maze_text` says how), as many rooms high as wide. Indentation does not matter.
    seed : int, `SeedSequence` or `Generator`, for the probabilities of noisy steps.
    alpha, law : as in `berlyne.maze`.

    Raises
    ------
    ValueError that names the line and the column, if the drawing is no maze.
    """
    rng, alpha = generator(seed), check_number("alpha", alpha, MIN_ALPHA, 1e12)
    return world_from_geometry(geometry_from_text(text), alpha, law, rng)


def geometry_from_text(text: str) -> Geometry:
    """Walls, transporters and base of a drawing."""
    lines = _lines(text)
    side = (len(lines) - 1) // 2
    passages, transporters = np.zeros((side, side, 4), dtype=bool), np.zeros((side, side, 4), dtype=bool)
    bases = []
    for i in range(side):
        for j in range(side):
            inside = lines[2 * i + 1][4 * j + 1 : 4 * j + 4]
            if inside[1] == "B":
                bases.append(i * side + j)
            transporters[i, j, LEFT], transporters[i, j, RIGHT] = inside[0] == "<", inside[2] == ">"
            passages[i, j, LEFT] = lines[2 * i + 1][4 * j] == " "
            passages[i, j, RIGHT] = lines[2 * i + 1][4 * j + 4] == " "
            above, below = (lines[2 * i + k][4 * j + 1 : 4 * j + 4] for k in (0, 2))
            passages[i, j, UP], passages[i, j, DOWN] = above == "   ", below == "   "
            transporters[i, j, UP], transporters[i, j, DOWN] = "^" in above, "v" in below
    _check(passages, transporters)
    if len(bases) > 1 or (not bases and np.any(transporters)):
        i, j = divmod(bases[1], side) if bases else np.argwhere(transporters)[0, :2].tolist()
        found = f"another base; there are {len(bases)}" if bases else "a transporter, and there is no base"
        raise ValueError(f"{_room_at(i, j)} has {found}: transporters lead to exactly one, a room with a B")
    walls, doors, base = passages.reshape(-1, 4), transporters.reshape(-1, 4), bases[0] if bases else 0
    return Geometry(side, walls, doors, base, destinations(side, walls, doors, base))


def maze_text(geometry: Geometry, here: int | None = None) -> str:
    """The drawing of a maze; `here` marks the room an agent is in with an @."""
    side = geometry.side
    open_, doors = geometry.passages.reshape(side, side, 4), geometry.transporters.reshape(side, side, 4)
    lines = []
    for i in range(side + 1):
        wall = "+"
        for j in range(side):
            is_open = open_[i, j, UP] if i < side else open_[i - 1, j, DOWN]
            up = i < side and doors[i, j, UP]
            down = i > 0 and doors[i - 1, j, DOWN]
            wall += "   +" if is_open else f"{_face(up, down)}+"
        lines.append(wall)
        if i < side:
            lines.append("".join(_room(geometry, open_, doors, i, j, here) for j in range(side)) + "|")
    return "\n".join(lines)


def _face(up: bool, down: bool) -> str:
    """A wall with a transporter for the room below, the room above, both or neither."""
    if up and down:
        return "v-^"
    return "-^-" if up else "-v-" if down else "---"


def _room(geometry: Geometry, open_: BoolArray, doors: BoolArray, i: int, j: int, here: int | None) -> str:
    """A room with the wall to its left."""
    s = i * geometry.side + j
    middle = "@" if s == here else "B" if s == geometry.base else " "
    left, right = "<" if doors[i, j, LEFT] else " ", ">" if doors[i, j, RIGHT] else " "
    return f"{' ' if open_[i, j, LEFT] else '|'}{left}{middle}{right}"


def _lines(text: str) -> list[str]:
    """The lines of a drawing, of which every character stands where it may."""
    if not isinstance(text, str) or not text.strip():
        raise ValueError("the drawing is empty; it must be a maze of +---+ and |")
    lines = [line.rstrip() for line in textwrap.dedent("\n".join(text.expandtabs().splitlines())).split("\n")]
    while not lines[-1]:
        lines.pop()
    while not lines[0]:
        lines.pop(0)
    side = (len(lines) - 1) // 2
    lines = [line.ljust(4 * side + 1) for line in lines]
    for i, line in enumerate(lines):
        if len(line) != 4 * side + 1 or len(lines) != 2 * side + 1 or not side:
            raise ValueError(
                f"line {i + 1} of the drawing has {len(line)} characters and there are {len(lines)} lines; "
                "a maze of n by n rooms has 2 n + 1 lines of 4 n + 1 characters"
            )
        for j, character in enumerate(line):
            allowed = _allowed(i, j)
            if character not in allowed:
                raise ValueError(
                    f"line {i + 1}, column {j + 1} of the drawing is {character!r}; it must be one of {allowed!r}"
                )
        for j in range(0, len(line) - 1, 4) if i % 2 == 0 else ():
            if " " in line[j + 1 : j + 4] and line[j + 1 : j + 4].strip():
                raise ValueError(f"line {i + 1}, column {j + 2} of the drawing is neither a wall --- nor a passage")
    return lines


def _allowed(i: int, j: int) -> str:
    if j % 4 == 0:
        return "+" if i % 2 == 0 else "| "
    return " -^v" if i % 2 == 0 else ("", " <", " B", " >")[j % 4]


def _check(passages: BoolArray, transporters: BoolArray) -> None:
    """Refuse gaps in the outer wall, and transporters without a wall."""
    outer = np.zeros_like(passages)
    outer[0, :, UP] = outer[-1, :, DOWN] = outer[:, 0, LEFT] = outer[:, -1, RIGHT] = True
    for flaw, what in (
        (passages & outer, "is open to the outside; the outer wall of the maze must have no gap"),
        (passages & transporters, "has a transporter where there is no wall"),
    ):
        if flaw.any():
            i, j, _ = np.argwhere(flaw)[0].tolist()
            raise ValueError(f"{_room_at(i, j)} {what}")


def _room_at(i: int, j: int) -> str:
    """How messages name a room: by where its middle stands in the drawing."""
    return f"line {2 * i + 2}, column {4 * j + 3} of the drawing: this room"
