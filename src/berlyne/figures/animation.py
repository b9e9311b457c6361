"""Animate a run: the agent on the map of its world, coloured by a quantity, beside the learning curve."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.animation import FuncAnimation
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable

from berlyne.figures.curves import draw_run
from berlyne.figures.map_layout import Map
from berlyne.figures.maps import colour_limits, draw_agent, draw_plain
from berlyne.figures.path import Trail, map_of_run, quantity_of_run
from berlyne.figures.state_column import draw_coloured, recolour
from berlyne.figures.style import AGENT, RC
from berlyne.validation import IntArray, check_count, check_number

if TYPE_CHECKING:
    from berlyne.exploration.run import Run

N_FRAMES = 120
"""Default number of frames, ten seconds."""
DPI = 110


def animate_run(
    run: Run,
    *,
    fps: float = 12.0,
    every: int | None = None,
    n_frames: int | None = None,
    last: int = 30,
    what: Any = "auto",
    labels: bool | None = None,
) -> FuncAnimation:
    """Return a matplotlib animation of a run; `.save("run.gif")` or `.save("run.mp4")` writes it.

    Parameters
    ----------
    run : Run
        The exploration.
    fps : float
        Frames per second.
    every : int, optional
        Number of steps between frames. Give `every` or `n_frames`, not both.
    n_frames : int, optional
        Number of frames, spaced evenly over the run; by default 120, or one for each step of a shorter run.
    last : int
        Number of steps of the trail.
    what : str, optional
        Name of the quantity that states are coloured by; see `draw_model`. By default missing information, or expected
        missing information if the world is unknown. None for no colours. A matrix has a column of coloured states
        beside it.
    labels : bool, optional
        Whether to write the labels of states; by default as in `World.plot`.

    Returns
    -------
    FuncAnimation
        The animation.
    """
    fps, last = check_number("fps", fps, 0.0, 1000.0, open_low=True), check_count("last", last, 0)
    film = _Film(run, frame_times(run.n_steps, every, n_frames), last, what, labels)
    return FuncAnimation(
        film.figure,
        film.show,
        frames=len(film.times),
        interval=1000.0 / fps,
        blit=False,
        cache_frame_data=False,
    )


def frame_times(n_steps: int, every: int | None = None, n_frames: int | None = None) -> IntArray:
    """Return the times of the frames in ascending order, from 0 to the end."""
    if every is not None and n_frames is not None:
        raise ValueError(f"every is {every!r} and n_frames is {n_frames!r}; give only one of them")
    if every is not None:
        return np.append(np.arange(0, n_steps, check_count("every", every, 1)), n_steps).astype(np.int64)
    n = N_FRAMES if n_frames is None else check_count("n_frames", n_frames, 1)
    return np.unique(np.round(np.linspace(n_steps if n == 1 else 0, n_steps, min(n, n_steps + 1))).astype(np.int64))


class _Film:
    """The figure of an animation and its moving parts; a frame depends on its time only."""

    def __init__(self, run: Run, times: IntArray, last: int, colour_by: Any, labels: bool | None) -> None:
        self.run, self.times, self.last = run, times, last
        world_map = map_of_run(run)
        if isinstance(colour_by, str) and colour_by == "auto":
            colour_by = "missing information" if run.world is not None else "expected missing information"
        self.quantities = None if colour_by is None else [quantity_of_run(run, int(t), colour_by) for t in times]
        with mpl.rc_context(RC):
            self.figure = plt.figure(figsize=(7.2, 3.4), dpi=DPI, layout="constrained")
            left, right = self.figure.subplots(1, 2, width_ratios=(1.15, 1.0))
            self.coloured = self._draw_map(left, world_map, labels)
            self.trail = Trail(left, world_map)
            self.agent = draw_agent(left, world_map, int(run.states[0]))
            draw_run(run, right)
            self.cursor = right.axvline(0, color=AGENT, linewidth=0.9, gid="cursor")
            self.point = right.plot([0], run.learning_curve[:1], "o", color=AGENT, markersize=4, gid="now")[0]
            # two axes side by side must not have the same label
            if self.quantities and self.quantities[0].label == right.get_ylabel():
                right.set_ylabel("in all states (bits)")
            right.set_title("")
            self.title = right.set_title(_title(run, run.n_steps), loc="right")
        self.world_map = world_map
        self.figure.draw_without_rendering()
        with mpl.rc_context({"figure.autolayout": False, "figure.constrained_layout.use": False}):
            self.figure.set_layout_engine(None)  # a layout for each frame would draw it twice

    def _draw_map(self, ax: Axes, world_map: Map, labels: bool | None) -> ScalarMappable | None:
        """Draw the map, coloured on a scale that is the same in all frames."""
        if self.quantities is None:
            draw_plain(world_map, ax, labels, bar=False, faded=True)
            return None
        coloured = draw_coloured(world_map, self.quantities[0], ax, labels)[1]
        all_values = np.concatenate([quantity.values.ravel() for quantity in self.quantities])
        coloured.set_clim(*colour_limits(all_values))
        return coloured

    def show(self, frame: int) -> list[Any]:
        """Draw a frame."""
        t = int(self.times[frame])
        s = int(self.run.states[t])
        if self.coloured is not None and self.quantities is not None:
            recolour(self.coloured, self.quantities[frame])
        self.trail.show(self.run, t, self.last)
        if self.world_map.kind == "matrix":
            self.agent.set_ydata([s, s])
        else:
            self.agent.set_data(*([x] for x in self.world_map.places[s]))
        self.cursor.set_xdata([t, t])
        self.point.set_data([t], [self.run.learning_curve[t]])
        self.title.set_text(_title(self.run, t))
        return [self.agent, self.cursor, self.point, self.title]


def _title(run: Run, t: int) -> str:
    expected = " expected to be" if run.world is None else ""
    return f"{t:,} steps, {run.learning_curve[t]:.1f} bits{expected} missing"
