"""Draw the agent and the last steps of a run on the map of its world."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import PathCollection
from matplotlib.colors import to_rgb
from matplotlib.path import Path

from berlyne.figures.arrows import curved_arrow
from berlyne.figures.map_layout import Map, map_of, map_of_model
from berlyne.figures.maps import align_to_world, draw_agent, draw_plain
from berlyne.figures.state_column import draw_coloured
from berlyne.figures.state_quantities import Quantity, model_quantity
from berlyne.figures.style import AGENT, RC
from berlyne.labels import DiscoveredLabels
from berlyne.validation import FloatArray, check_count, check_index

if TYPE_CHECKING:
    from berlyne.exploration.run import Run

TRAIL_OFFSET = 0.13
"""Distance of a trail from the centre of a room; its direction varies, so that repeated visits stay visible."""


class TrailSegment(NamedTuple):
    """One step of a trail, or a jump.

    Attributes
    ----------
    path : Path
        Line to draw.
    jump : bool
        Whether this is a jump: a transporter, the start of a new episode, or a relocation.
    t : int
        Time before the step.
    """

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

    If the world is unknown, the map is that of the model at the end of the run.
    Older steps are fainter. Jumps are dashed: transporters, starts of new episodes, and relocations of Unembodied. In a
    matrix, dots are the transitions made.

    Parameters
    ----------
    run : Run
        The exploration.
    t : int, optional
        Number of steps after which to draw the agent; by default the end of the run.
    ax : Axes, optional
        Axes to draw on; by default those of a new figure.
    last : int
        Number of steps of the trail.
    what : str or array_like, optional
        Quantity of the agent's model at time `t` that states are coloured by; see `draw_model`. By default states are
        not coloured. A matrix has a column of coloured states beside it.
    labels : bool, optional
        Whether to write the labels of states; see `draw_world`.
    bar : bool
        Whether to draw a colour bar.

    Returns
    -------
    Axes
        The axes of the map.
    """
    t = run.n_steps if t is None else check_index("t", t, run.n_steps + 1)
    last, world_map = check_count("last", last, 0), map_of_run(run)
    if what is None:
        ax = draw_plain(world_map, ax, labels, bar=False, faded=True)
    else:
        ax, _ = draw_coloured(world_map, quantity_of_run(run, t, what), ax, labels, bar)
    with mpl.rc_context(RC):
        Trail(ax, world_map).show(run, t, last)
        draw_agent(ax, world_map, int(run.states[t]))
    return ax


def map_of_run(run: Run) -> Map:
    """Return the map of the run's world or, if that is unknown, of the model at the end of the run."""
    return map_of_model(run.model) if run.world is None else map_of(run.world)


def quantity_of_run(run: Run, t: int, name_or_values: Any) -> Quantity:
    """Return a quantity of the model at time `t`, in the order of the states of `map_of_run`.

    It is NaN in undiscovered states.
    """
    model = run.model_at(t)
    quantity = model_quantity(model, name_or_values, run.world)
    if run.world is not None or not isinstance(model.state_labels, DiscoveredLabels):
        return align_to_world(run.world, model, quantity)
    discovered = quantity.values[..., :-1]
    values = np.full((*discovered.shape[:-1], run.model.n_states), np.nan)
    values[..., : discovered.shape[-1]] = discovered
    return replace(quantity, values=values)


class Trail:
    """The lines of a trail, which can be moved to another time."""

    def __init__(self, ax: Axes, world_map: Map) -> None:
        self.world_map = world_map
        zorder = 2.5 if world_map.kind == "graph" else 6
        style: Any = {"facecolors": "none", "zorder": zorder}
        self.walks = PathCollection([], linewidths=1.6, gid="walks", **style)
        self.jumps = PathCollection([], linewidths=1.1, linestyles=[(0, (2.5, 1.6))], gid="leaps", **style)
        for lines in (self.walks, self.jumps):
            ax.add_collection(lines, autolim=False)
        self.dots = (
            ax.scatter([], [], s=14, linewidths=0, zorder=zorder, gid="dots") if world_map.kind == "matrix" else None
        )

    def show(self, run: Run, t: int, last: int) -> None:
        """Show the steps before time t."""
        first = max(t - last, 0)
        if self.dots is not None:
            self.dots.set_offsets(np.stack([run.next_states[first:t], run.states[first:t]], axis=1))
            self.dots.set_facecolor(_faded(np.arange(first, t), t, last))  # type: ignore[arg-type]  # colours (n, 4)
            return
        segments = trail_segments(self.world_map, run, t, last)
        for lines, jump in ((self.walks, False), (self.jumps, True)):
            selected = [segment for segment in segments if segment.jump == jump]
            lines.set_paths([segment.path for segment in selected])
            lines.set_edgecolor(_faded(np.array([segment.t for segment in selected]), t, last))  # type: ignore[arg-type]


def trail_segments(world_map: Map, run: Run, t: int, last: int) -> list[TrailSegment]:
    """Return the segments of the last steps before time t, in order."""
    segments, middle = [], (world_map.places.min(axis=0) + world_map.places.max(axis=0)) / 2
    for i in range(max(t - last, 0), t):
        s, s_next, now = int(run.states[i]), int(run.next_states[i]), int(run.states[i + 1])
        if world_map.kind == "graph":
            segments.append(TrailSegment(world_map.arrow(s, s_next, 1.0).headless(), False, i))
            if now != s_next:
                segments.append(
                    TrailSegment(_jump_path(world_map.places[s_next], world_map.places[now], middle), True, i)
                )
            continue
        begin, end = _offset(world_map.places[s], i, t), _offset(world_map.places[s_next], i + 1, t)
        if world_map.neighbours(s, s_next):
            segments.append(TrailSegment(Path(np.stack([begin, end])), False, i))
        else:
            segments.append(TrailSegment(_jump_path(begin, end, middle), True, i))
        if now != s_next:
            segments.append(TrailSegment(_jump_path(end, _offset(world_map.places[now], i + 1, t), middle), True, i))
    return segments


def _offset(place: FloatArray, i: int, t: int) -> FloatArray:
    """Return a point near the centre of a room; at time t the centre, where the agent is drawn."""
    return place if i == t else place + TRAIL_OFFSET * np.array([np.cos(2.4 * i), np.sin(2.4 * i)])


def _jump_path(begin: FloatArray, end: FloatArray, middle: FloatArray) -> Path:
    """Return the curve of a jump, bent towards the middle of the map so that it does not leave the map."""
    across = np.array([begin[1] - end[1], end[0] - begin[0]])
    inwards = 1.0 if across @ (middle - (begin + end) / 2) >= 0 else -1.0
    return curved_arrow(begin, end, 0.0, 1.0, 0.18 * inwards).headless()


def _faded(times: Any, t: int, last: int) -> FloatArray:
    """Return colours (n, 4) of steps; older steps are fainter."""
    colours = np.tile((*to_rgb(AGENT), 1.0), (len(times), 1))
    colours[:, 3] = 1.0 - 0.8 * (t - 1 - np.asarray(times)) / max(last, 1)
    return colours
