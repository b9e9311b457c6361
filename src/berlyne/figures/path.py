"""Where an agent is and where it came from: the last steps of a run on the map of its world."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import PathCollection
from matplotlib.colors import to_rgb
from matplotlib.path import Path

from berlyne.figures.arrows import curved_arrow
from berlyne.figures.map_layout import Map, map_of
from berlyne.figures.maps import align_to_world, draw_agent, draw_plain
from berlyne.figures.state_column import draw_coloured
from berlyne.figures.state_quantities import model_quantity
from berlyne.figures.style import AGENT, RC
from berlyne.validation import FloatArray, check_count, check_index

if TYPE_CHECKING:
    from berlyne.exploration.run import Run

ASIDE = 0.13
"""How far from the centre of a room a trail passes, now here, now there, so that one sees how often it did."""


class TrailSegment(NamedTuple):
    """One step of a trail, or a jump: through a transporter, at the end of an episode, or of one that may relocate."""

    path: Path
    jump: bool
    t: int


def draw_path(
    run: Run,
    t: int | None = None,
    ax: Axes | None = None,
    *,
    last: int = 30,
    what: Any = None,
    labels: bool | None = None,
    bar: bool = True,
) -> Axes:
    """Draw a run's world with the agent at time `t` and the trail of its last steps.

    Older steps are fainter. Jumps are dashed: a transporter, the beginning of another episode, and wherever Unembodied
    goes. In a matrix, dots are the transitions made.

    Parameters
    ----------
    run : the exploration.
    t : after how many steps; the end if left out.
    ax : where to draw; a new figure if left out.
    last : how many steps the trail has.
    what : a quantity to colour states by, as the agent's model had it at time t (`berlyne.figures.state_quantities`);
        None for none. Beside a matrix is a column of states that has the colours.
    labels, bar : as in `draw_world`.
    """
    t = run.n_steps if t is None else check_index("t", t, run.n_steps + 1)
    last, world, drawn = check_count("last", last, 0), run.world, map_of(run.world)
    if what is None:
        ax = draw_plain(drawn, ax, labels, bar=False, faded=True)
    else:
        model = run.model_at(t)
        found = align_to_world(world, model, model_quantity(model, what, world))
        ax, _ = draw_coloured(world, drawn, found, ax, labels, bar)
    with mpl.rc_context(RC):
        Trail(ax, drawn).show(run, t, last)
        draw_agent(ax, drawn, int(run.states[t]))
    return ax


class Trail:
    """The lines of a trail, which can be moved to another time."""

    def __init__(self, ax: Axes, drawn: Map) -> None:
        self.drawn = drawn
        zorder = 2.5 if drawn.kind == "graph" else 6
        style: Any = {"facecolors": "none", "zorder": zorder}
        self.walks = PathCollection([], linewidths=1.6, gid="walks", **style)
        self.jumps = PathCollection([], linewidths=1.1, linestyles=[(0, (2.5, 1.6))], gid="leaps", **style)
        for lines in (self.walks, self.jumps):
            ax.add_collection(lines, autolim=False)
        self.dots = (
            ax.scatter([], [], s=14, linewidths=0, zorder=zorder, gid="dots") if drawn.kind == "matrix" else None
        )

    def show(self, run: Run, t: int, last: int) -> None:
        """Show the steps before time t."""
        first = max(t - last, 0)
        if self.dots is not None:
            self.dots.set_offsets(np.stack([run.next_states[first:t], run.states[first:t]], axis=1))
            self.dots.set_facecolor(_faded(np.arange(first, t), t, last))  # type: ignore[arg-type]  # colours (n, 4)
            return
        pieces = trail_segments(self.drawn, run, t, last)
        for lines, jump in ((self.walks, False), (self.jumps, True)):
            mine = [piece for piece in pieces if piece.jump == jump]
            lines.set_paths([piece.path for piece in mine])
            lines.set_edgecolor(_faded(np.array([piece.t for piece in mine]), t, last))  # type: ignore[arg-type]


def trail_segments(drawn: Map, run: Run, t: int, last: int) -> list[TrailSegment]:
    """The pieces of the last steps before time t, in their order."""
    pieces, middle = [], (drawn.places.min(axis=0) + drawn.places.max(axis=0)) / 2
    for i in range(max(t - last, 0), t):
        s, z, now = int(run.states[i]), int(run.next_states[i]), int(run.states[i + 1])
        if drawn.kind == "graph":
            pieces.append(TrailSegment(drawn.arrow(s, z, 1.0).headless(), False, i))
            if now != z:
                pieces.append(TrailSegment(_leap(drawn.places[z], drawn.places[now], middle), True, i))
            continue
        begin, end = _aside(drawn.places[s], i, t), _aside(drawn.places[z], i + 1, t)
        if drawn.neighbours(s, z):
            pieces.append(TrailSegment(Path(np.stack([begin, end])), False, i))
        else:
            pieces.append(TrailSegment(_leap(begin, end, middle), True, i))
        if now != z:
            pieces.append(TrailSegment(_leap(end, _aside(drawn.places[now], i + 1, t), middle), True, i))
    return pieces


def _aside(place: FloatArray, i: int, t: int) -> FloatArray:
    """A point near the centre of a room; at time t the centre, where the agent is."""
    return place if i == t else place + ASIDE * np.array([np.cos(2.4 * i), np.sin(2.4 * i)])


def _leap(begin: FloatArray, end: FloatArray, middle: FloatArray) -> Path:
    """A way that crosses walls, bent towards the middle of the map, which it does not leave."""
    across = np.array([begin[1] - end[1], end[0] - begin[0]])
    inwards = 1.0 if across @ (middle - (begin + end) / 2) >= 0 else -1.0
    return curved_arrow(begin, end, 0.0, 1.0, 0.18 * inwards).headless()


def _faded(times: Any, t: int, last: int) -> FloatArray:
    """Colours (n, 4) of steps, the fainter the longer ago."""
    colours = np.tile((*to_rgb(AGENT), 1.0), (len(times), 1))
    colours[:, 3] = 1.0 - 0.8 * (t - 1 - np.asarray(times)) / max(last, 1)
    return colours
