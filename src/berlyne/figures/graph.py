"""Examples of the three classes of worlds: Figs. 1, S1 and S2."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from berlyne.figures.drawing import Drawing, FigureOfPaper
from berlyne.figures.maze import draw_maze
from berlyne.figures.style import RC, WIDTH
from berlyne.worlds import World

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from berlyne.reproduction.study import Study

FAINT = 0.02
"""Transitions less probable than this are not drawn in graphs."""


def draw_example_maze(study: Study) -> Drawing:
    """Fig. 1: walls, transporters, base, and two transition distributions."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    world = study.world("maze", 0)
    with mpl.rc_context(RC):
        figure = Figure(figsize=(WIDTH / 2, WIDTH / 2))
        ax = figure.subplots()
        rows = _two_rows(world)
        draw_maze(world, ax, rows=rows)
    drawing = Drawing(figure, ("action", "room", "next_room", "probability"))
    for a, s in rows:
        drawing.add((a, s, int(s_next), p) for s_next, p in zip(*world.rows.row(a, s), strict=True))
    return drawing


def _two_rows(world: World) -> tuple[tuple[int, int], tuple[int, int]]:
    """Two actions worth drawing: in rooms with walls and transporters, well apart."""
    geometry = world.geometry
    assert geometry is not None
    faces = (
        geometry.transporters.any(axis=1) & geometry.passages.any(axis=1) & (np.arange(world.n_states) != geometry.base)
    )
    walls = (~geometry.passages & ~geometry.transporters).any(axis=1)
    rooms = np.flatnonzero(faces & walls)
    if len(rooms) < 2:
        rooms = np.arange(world.n_states)
    first = int(rooms[0])
    line, column = np.divmod(rooms, geometry.side)
    apart = np.abs(line - first // geometry.side) + np.abs(column - first % geometry.side)
    return (0, first), (3, int(rooms[np.argmax(apart)]))


def draw_dense_world(study: Study) -> Drawing:
    """Fig. S1: every transition of an example Dense World, one panel per action."""
    return _graph_panels(study.world("dense", 0), "action {a}")


def draw_one_two_three(study: Study) -> Drawing:
    """Fig. S2: the targets of an example 1-2-3 World, one panel per action; state 1 is absorbing."""
    return _graph_panels(study.world("1-2-3", 0), "action {a}: targets {a}", absorbing=True)


def _graph_panels(world: World, title: str, absorbing: bool = False) -> Drawing:
    import matplotlib as mpl
    from matplotlib.figure import Figure

    with mpl.rc_context(RC):
        m = world.n_actions
        figure = Figure(figsize=(WIDTH, WIDTH / m + 0.25))
        drawing = Drawing(figure, ("action", "state", "next_state", "probability"))
        for a, ax in enumerate(figure.subplots(1, m, squeeze=False)[0]):
            _draw_graph(ax, world, a, absorbing)
            ax.set_title(title.format(a=a + 1))
            for s in range(world.n_states):
                drawing.add((a, s, int(s_next), p) for s_next, p in zip(*world.rows.row(a, s), strict=True))
    return drawing


def _draw_graph(ax: Axes, world: World, a: int, absorbing: bool) -> None:
    """States on a circle, transitions as bent arrows, darker where more probable; loops outside."""
    from matplotlib.patches import Circle, FancyArrowPatch

    n = world.n_states
    angle = np.pi / 2 - 2 * np.pi * np.arange(n) / n
    place = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    radius = 0.11 if n <= 12 else 0.085
    for s in range(n):
        for s_next, p in zip(*world.rows.row(a, s), strict=True):
            if p < FAINT:
                continue
            shade = {"alpha": float(0.08 + 0.92 * p), "color": "black", "linewidth": 0.5 + 0.9 * p, "zorder": 1 + p}
            if s_next == s:
                ax.add_patch(Circle(tuple(place[s] * (1 + 1.7 * radius)), radius * 0.9, fill=False, **shade))
            else:
                ax.add_patch(_arrow(FancyArrowPatch, place[s], place[s_next], radius, shade))
    for s in range(n):
        special = absorbing and s == 0
        ax.add_patch(
            Circle(
                tuple(place[s]),
                radius,
                facecolor="#2b55c4" if special else "white",
                edgecolor="black",
                zorder=3,
                linewidth=0.8,
            )
        )
        ax.text(
            float(place[s, 0]),
            float(place[s, 1]),
            str(s + 1),
            ha="center",
            va="center",
            fontsize=5.5,
            zorder=4,
            color="white" if special else "black",
        )
    ax.set(xlim=(-1.38, 1.38), ylim=(-1.38, 1.38), aspect="equal")
    ax.axis("off")


def _arrow(patch: Any, begin: Any, end: Any, radius: float, shade: dict[str, Any]) -> Any:
    along = (end - begin) / np.linalg.norm(end - begin)
    return patch(
        tuple(begin + along * radius),
        tuple(end - along * radius),
        arrowstyle="-|>",
        mutation_scale=5,
        connectionstyle="arc3,rad=0.14",
        shrinkA=0,
        shrinkB=0,
        **shade,
    )


EXAMPLES = (
    FigureOfPaper(
        "fig1",
        "Example maze",
        "Fig. 1, Sec. 2.4",
        "36 rooms, four noisy translations; flat heads lead into walls, dashed arrows through transporters (blue) "
        "to the base (target); darker arrows are more probable.",
        draw_example_maze,
    ),
    FigureOfPaper(
        "figS1",
        "Example Dense World",
        "Fig. S1, Sec. 2.4",
        "A complete directed graph of 10 states under each of four actions; darker arrows are more probable.",
        draw_dense_world,
    ),
    FigureOfPaper(
        "figS2",
        "Example 1-2-3 World",
        "Fig. S2, Sec. 2.4",
        "20 states; action a leads to one of a targets with equal probability, state 1 (blue) is often among them.",
        draw_one_two_three,
    ),
)
