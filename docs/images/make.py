"""The pictures of the documentation that show more than one page's code does.

The site's build draws them itself; `python docs/images/make.py` draws those that lie beside this file, for readers of
the repository.

`maze.png`: left, a maze as in the paper's Fig. 1. Middle, the same maze in the eyes of an explorer that has
walked in it at random: each room is split into its four actions, coloured by what the next
observation of each is expected to teach. Right, how fast four strategies learn it.

`unknown.png`: how much later PIG(VI) learns mazes if it does not know which rooms are one step away, or not even how
many there are.

`pictures.png`: a maze with a trail, a graph of named states, and FrozenLake, drawn by the methods of runs and models.
"""

from collections.abc import Callable
from io import BytesIO
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, NullFormatter

import berlyne
from berlyne.figures.maze import draw_maze, shade_rooms
from berlyne.worlds import places

MAZE, SEED = 9, 0
"""As in the first example of the README."""
N_STEPS = 400
ENOUGH = 100
"""Bits that may be missing."""
STRATEGIES = ("Random", "CB", "PIG(VI)", "Unembodied")


def first() -> Figure:
    """A maze, what to try next in it, and how fast it is learned."""
    world = berlyne.maze(MAZE)
    walk = berlyne.explore(world, "Random", n_steps=N_STEPS, seed=SEED)
    figure = Figure(figsize=(12.6, 4.1), layout="constrained")
    figure.get_layout_engine().set(w_pad=0.12)
    left, right, curves = figure.subplots(1, 3, width_ratios=(1, 1.13, 0.95))
    draw_maze(world, left)
    left.set_title("A world to learn", fontsize=12)
    shaded = shade_rooms(world, berlyne.pig(walk.model), right)
    shaded.set_clim(0.0, None)
    right.plot(*places(world)[walk.states[-1]], "o", ms=9, mfc="black", mec="white", mew=1.6, zorder=6)
    right.set_title(f"What to try next? After {N_STEPS} random steps", fontsize=12)
    bar = figure.colorbar(shaded, ax=right, shrink=0.9, pad=0.02)
    bar.set_label("predicted information gain (bits)")
    bar.outline.set_visible(False)
    for name in STRATEGIES:
        berlyne.explore(world, name, n_steps=2500, seed=SEED).plot(curves)
    curves.set_title("How fast is it learned?", fontsize=12)
    curves.spines[["top", "right"]].set_visible(False)
    return figure


def unknown(n_worlds: int = 8, n_steps: int = 6000) -> Figure:
    """Mean missing information over some mazes, by what is known of them."""
    priors = {
        "rooms one step away are known": ("#4c72b0", "-", lambda world: world.prior),
        "only the rooms are known": (
            "#55a868",
            "--",
            lambda world: berlyne.Dirichlet(1 / world.n_states, n_states=world.n_states, n_actions=4),
        ),
        "not even how many rooms there are": ("#c44e52", "-.", lambda _: berlyne.ChineseRestaurant(1.0)),
    }
    figure = Figure(figsize=(7.2, 3.9), layout="constrained")
    axes = figure.subplots()
    for name, (colour, line, prior) in priors.items():
        worlds = [berlyne.maze(seed) for seed in range(n_worlds)]
        runs = [
            berlyne.explore(world.with_prior(prior(world)), "PIG(VI)", n_steps=n_steps, seed=seed)
            for seed, world in enumerate(worlds)
        ]
        mean = np.mean([run.missing_information for run in runs], axis=0)
        late = int(np.argmax(mean < ENOUGH))
        axes.plot(mean, color=colour, ls=line, lw=1.8, label=f"{name}: {late:,} steps")
        axes.plot(late, ENOUGH, "o", color=colour, ms=5)
    axes.axhline(ENOUGH, color="grey", lw=0.8, zorder=0)
    axes.set(yscale="log", xlim=(0, n_steps), xlabel="time (steps)", ylabel="missing information (bits)")
    axes.yaxis.set_major_locator(FixedLocator([20, 50, 100, 200, 500]))
    axes.yaxis.set_major_formatter("{x:g}")
    axes.yaxis.set_minor_formatter(NullFormatter())
    axes.legend(title=f"Steps of PIG(VI) until {ENOUGH} bits are missing, if", frameon=False, alignment="left")
    axes.spines[["top", "right"]].set_visible(False)
    return figure


def house() -> berlyne.World:
    """Five states with names."""
    theta = np.zeros((2, 5, 5))
    theta[0] = [[0, 1, 0, 0, 0], [0, 0, 0.5, 0.5, 0], [0, 1, 0, 0, 0], [0, 0, 0, 0, 1], [1, 0, 0, 0, 0]]
    theta[1] = 0.5 * np.eye(5) + 0.5 * theta[0]
    labels = {"states": ["cellar", "hall", "kitchen", "garden", "shed"], "actions": ["walk", "wait"], "start": "hall"}
    return berlyne.World(theta, berlyne.Dirichlet(1.0, n_states=5, n_actions=2), **labels)


def maps() -> Figure:
    """Three worlds, drawn by the methods of runs and models."""
    figure = Figure(figsize=(12.6, 3.7), layout="constrained")
    left, middle, right = figure.subplots(1, 3, width_ratios=(1, 1.1, 0.9))
    maze = berlyne.explore(berlyne.maze(7), "PIG(VI)", n_steps=200, seed=1)
    maze.plot_path(150, left, last=40, what="missing information")
    left.set_title("run.plot_path(150, what=...)", fontsize=11)
    graph = berlyne.explore(house(), "PIG(VI)", n_steps=8, seed=2)
    graph.model.plot("PIG", middle, world=graph.world)
    middle.set_title('model.plot("PIG", world=world)', fontsize=11)
    lake = berlyne.explore(berlyne.from_gymnasium("FrozenLake-v1"), "PIG(VI)", n_steps=150, seed=1)
    lake.plot_path(ax=right, last=40)
    right.set_title("run.plot_path()", fontsize=11)
    return figure


PICTURES: dict[str, tuple[Callable[[], Figure], int]] = {
    "maze.png": (first, 150),
    "unknown.png": (unknown, 150),
    "pictures.png": (maps, 110),
}
"""What draws each, and with how many dots per inch."""


def drawn() -> dict[str, bytes]:
    """All pictures, by name."""
    files = {}
    for name, (draw, dpi) in PICTURES.items():
        file = BytesIO()
        draw().savefig(file, dpi=dpi)
        files[name] = file.getvalue()
    return files


if __name__ == "__main__":
    for name, picture in drawn().items():
        Path(__file__).with_name(name).write_bytes(picture)
