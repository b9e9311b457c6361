"""A run as a film: the agent on the map of its world, what is still missing where, and the learning curve beside."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.animation import FuncAnimation
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable

from berlyne.figures.curves import draw_run
from berlyne.figures.map_layout import Map, map_of
from berlyne.figures.maps import align_to_world, colour_limits, draw_agent, draw_plain
from berlyne.figures.path import Trail
from berlyne.figures.state_column import draw_coloured, recolour
from berlyne.figures.state_quantities import Quantity, model_quantity
from berlyne.figures.style import AGENT, RC
from berlyne.validation import IntArray, check_count, check_number

if TYPE_CHECKING:
    from berlyne.exploration.run import Run

N_FRAMES = 120
"""Frames of a film if nothing else is said: ten seconds."""
DPI = 110


def animate_run(
    run: Run,
    *,
    fps: float = 12.0,
    every: int | None = None,
    n_frames: int | None = None,
    last: int = 30,
    what: Any = "missing information",
    labels: bool | None = None,
) -> FuncAnimation:
    """A matplotlib animation of a run; `.save("run.gif")` or `.save("run.mp4")` writes it.

    Parameters
    ----------
    run : the exploration.
    fps : frames a second.
    every : a frame after every so many steps; or
    n_frames : so many, evenly over the run; by default 120, or one for every step of a shorter run.
    last : steps of the trail.
    what : name of the quantity that states are coloured by (`berlyne.figures.state_quantities`), None for none; beside
        a matrix is a column of states that has the colours.
    labels : whether to write the names of states; by default as `World.plot` does.
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
    """The times of the frames, ascending, from 0 to the end."""
    if every is not None and n_frames is not None:
        raise ValueError(f"every is {every!r} and n_frames is {n_frames!r}; say one of them")
    if every is not None:
        return np.append(np.arange(0, n_steps, check_count("every", every, 1)), n_steps).astype(np.int64)
    n = N_FRAMES if n_frames is None else check_count("n_frames", n_frames, 1)
    return np.unique(np.round(np.linspace(n_steps if n == 1 else 0, n_steps, min(n, n_steps + 1))).astype(np.int64))


class _Film:
    """The figure of an animation and its moving parts; each frame is found from its time alone."""

    def __init__(self, run: Run, times: IntArray, last: int, what: Any, labels: bool | None) -> None:
        self.run, self.times, self.last = run, times, last
        drawn = map_of(run.world)
        self.values = None if what is None else [_found(run, int(t), what) for t in times]
        with mpl.rc_context(RC):
            self.figure = plt.figure(figsize=(7.2, 3.4), dpi=DPI, layout="constrained")
            left, right = self.figure.subplots(1, 2, width_ratios=(1.15, 1.0))
            self.coloured = self._begin(left, drawn, labels)
            self.trail = Trail(left, drawn)
            self.agent = draw_agent(left, drawn, int(run.states[0]))
            draw_run(run, right)
            self.cursor = right.axvline(0, color=AGENT, linewidth=0.9, gid="cursor")
            self.point = right.plot([0], run.missing_information[:1], "o", color=AGENT, markersize=4, gid="now")[0]
            # two scales side by side must not look alike
            if self.values and self.values[0].label == right.get_ylabel():
                right.set_ylabel("in all states (bits)")
            right.set_title("")
            self.title = right.set_title(_title(run, run.n_steps), loc="right")
        self.drawn = drawn
        self.figure.draw_without_rendering()
        with mpl.rc_context({"figure.autolayout": False, "figure.constrained_layout.use": False}):
            self.figure.set_layout_engine(None)  # laid out once: to save a frame would draw it once more for a layout

    def _begin(self, ax: Axes, drawn: Map, labels: bool | None) -> ScalarMappable | None:
        """The map, coloured on a scale that holds in all frames."""
        if self.values is None:
            draw_plain(drawn, ax, labels, bar=False, faded=True)
            return None
        coloured = draw_coloured(self.run.world, drawn, self.values[0], ax, labels)[1]
        everything = np.concatenate([found.values.ravel() for found in self.values])
        coloured.set_clim(*colour_limits(everything))
        return coloured

    def show(self, frame: int) -> list[Any]:
        """Show the frame of a number."""
        t = int(self.times[frame])
        s = int(self.run.states[t])
        if self.coloured is not None and self.values is not None:
            recolour(self.coloured, self.values[frame])
        self.trail.show(self.run, t, self.last)
        if self.drawn.kind == "matrix":
            self.agent.set_ydata([s, s])
        else:
            self.agent.set_data(*([x] for x in self.drawn.places[s]))
        self.cursor.set_xdata([t, t])
        self.point.set_data([t], [self.run.missing_information[t]])
        self.title.set_text(_title(self.run, t))
        return [self.agent, self.cursor, self.point, self.title]


def _found(run: Run, t: int, what: Any) -> Quantity:
    """A quantity of the model at a time, in the order of the world's states."""
    model = run.model_at(t)
    return align_to_world(run.world, model, model_quantity(model, what, run.world))


def _title(run: Run, t: int) -> str:
    return f"{t:,} steps, {run.missing_information[t]:.1f} bits missing"
