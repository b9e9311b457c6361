"""Mazes as text: read a maze from a drawing, and draw a maze as text.

A room is three characters wide and one line high, with walls around it::

    +---+-^-+---+
    |       | B |
    +   +---+   +
    |<      |   |
    +---+   +---+
    |   |       |
    +---+---+-v-+

`---` and `|` are walls, and spaces instead of them are passages. Every corner is a `+`. A transporter is marked by the
direction in which an agent walks into it. `<` or `>` stands inside a room, next to the wall with the transporter. `^`
stands in the wall above the room, and `v` in the wall below it. All transporters lead to the base, the room with a `B`.
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
    """Create a maze from a drawing.

    Parameters
    ----------
    text : str
        Drawing (see `berlyne.worlds.maze_text`), with as many rooms in each line as lines of rooms. Indentation is
        ignored.
    seed : int, SeedSequence or Generator
        Source of the random numbers for the probabilities of noisy steps.
    alpha : float
        Concentration, as in `berlyne.maze`.
    law : {"outcomes", "directions"}
        Law of the noisy steps, as in `berlyne.maze`.

    Returns
    -------
    World
        The maze, as returned by `berlyne.maze`.

    Raises
    ------
    ValueError
        If the drawing is not a maze; the message contains the line and the column.
    """
    rng, alpha = generator(seed), check_number("alpha", alpha, MIN_ALPHA, 1e12)
    return world_from_geometry(geometry_from_text(text), alpha, law, rng)


def geometry_from_text(text: str) -> Geometry:
    """Read the walls, transporters and base of a drawing."""
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
        problem = "a second base" if bases else "a transporter, but there is no base"
        raise ValueError(f"{_room_at(i, j)} has {problem}; transporters need exactly one base, a room with a B")
    by_room, faces, base = passages.reshape(-1, 4), transporters.reshape(-1, 4), bases[0] if bases else 0
    return Geometry(side, by_room, faces, base, destinations(side, by_room, faces, base))


def maze_text(geometry: Geometry, agent: int | None = None) -> str:
    """Draw a maze as text; an @ marks the room of the agent."""
    side = geometry.side
    passages, transporters = geometry.passages.reshape(side, side, 4), geometry.transporters.reshape(side, side, 4)
    lines = []
    for i in range(side + 1):
        wall = "+"
        for j in range(side):
            is_open = passages[i, j, UP] if i < side else passages[i - 1, j, DOWN]
            up = i < side and transporters[i, j, UP]
            down = i > 0 and transporters[i - 1, j, DOWN]
            wall += "   +" if is_open else f"{_wall(up, down)}+"
        lines.append(wall)
        if i < side:
            lines.append("".join(_room(geometry, passages, transporters, i, j, agent) for j in range(side)) + "|")
    return "\n".join(lines)


def _wall(up: bool, down: bool) -> str:
    """Draw a wall with a transporter for the room below (`up`), the room above (`down`), both or neither."""
    if up and down:
        return "v-^"
    return "-^-" if up else "-v-" if down else "---"


def _room(geometry: Geometry, passages: BoolArray, transporters: BoolArray, i: int, j: int, agent: int | None) -> str:
    """Draw a room with the wall to its left."""
    s = i * geometry.side + j
    middle = "@" if s == agent else "B" if s == geometry.base else " "
    left, right = "<" if transporters[i, j, LEFT] else " ", ">" if transporters[i, j, RIGHT] else " "
    return f"{' ' if passages[i, j, LEFT] else '|'}{left}{middle}{right}"


def _lines(text: str) -> list[str]:
    """Split a drawing into lines; raise `ValueError` if a character is not allowed in its place."""
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
    """Return the characters that are allowed in line i, column j, counted from 0."""
    if j % 4 == 0:
        return "+" if i % 2 == 0 else "| "
    return " -^v" if i % 2 == 0 else ("", " <", " B", " >")[j % 4]


def _check(passages: BoolArray, transporters: BoolArray) -> None:
    """Raise `ValueError` for gaps in the outer wall, and for transporters without a wall."""
    outer = np.zeros_like(passages)
    outer[0, :, UP] = outer[-1, :, DOWN] = outer[:, 0, LEFT] = outer[:, -1, RIGHT] = True
    for wrong, problem in (
        (passages & outer, "is open to the outside; the outer wall of the maze must have no gap"),
        (passages & transporters, "has a transporter where there is no wall"),
    ):
        if wrong.any():
            i, j, _ = np.argwhere(wrong)[0].tolist()
            raise ValueError(f"{_room_at(i, j)} {problem}")


def _room_at(i: int, j: int) -> str:
    """Return the line and column of the middle of a room in the drawing, for messages."""
    return f"line {2 * i + 2}, column {4 * j + 3} of the drawing: this room"
