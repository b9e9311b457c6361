"""Draw the pictures of the documentation that are not drawn by the code of a page.

The build of the site draws them itself. `python docs/images/make.py` draws the committed copies beside this file, for
readers of the repository.

`maze.png`: left, a maze as in the paper's Fig. 1; middle, the same maze after random steps, each room divided into its
four actions, coloured by predicted information gain; right, learning curves of four strategies.

`unknown.png`: how much longer PIG(VI) takes to learn mazes if it does not know which rooms are one step away, or how
many rooms there are.

`pictures.png`: a maze with a trail, a graph of named states, and FrozenLake, drawn by methods of runs and models.
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
"""Seeds of the world and of the exploration, as in the first example of the README."""
N_STEPS = 400
TARGET_BITS = 100
"""Level of missing information at which steps are counted."""
STRATEGIES = ("Random", "CB", "PIG(VI)", "Unembodied")


def draw_maze_overview() -> Figure:
    """Draw a maze, its predicted information gain, and learning curves."""
    world = berlyne.maze(MAZE)
    walk = berlyne.explore(world, "Random", n_steps=N_STEPS, seed=SEED)
    figure = Figure(figsize=(12.6, 4.1), layout="constrained")
    figure.get_layout_engine().set(w_pad=0.12)
    left, middle, curves = figure.subplots(1, 3, width_ratios=(1, 1.13, 0.95))
    draw_maze(world, left)
    left.set_title("A world to learn", fontsize=12)
    shaded = shade_rooms(world, berlyne.pig(walk.model), middle)
    shaded.set_clim(0.0, None)
    middle.plot(*places(world)[walk.states[-1]], "o", ms=9, mfc="black", mec="white", mew=1.6, zorder=6)
    middle.set_title(f"What to try next? After {N_STEPS} random steps", fontsize=12)
    bar = figure.colorbar(shaded, ax=middle, shrink=0.9, pad=0.02)
    bar.set_label("predicted information gain (bits)")
    bar.outline.set_visible(False)
    for name in STRATEGIES:
        berlyne.explore(world, name, n_steps=2500, seed=SEED).plot(curves)
    curves.set_title("How fast is it learned?", fontsize=12)
    curves.spines[["top", "right"]].set_visible(False)
    return figure


def draw_unknown_states(n_worlds: int = 8, n_steps: int = 6000) -> Figure:
    """Draw the mean missing information over mazes under three priors that know less and less."""
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
        steps = int(np.argmax(mean < TARGET_BITS))
        axes.plot(mean, color=colour, ls=line, lw=1.8, label=f"{name}: {steps:,} steps")
        axes.plot(steps, TARGET_BITS, "o", color=colour, ms=5)
    axes.axhline(TARGET_BITS, color="grey", lw=0.8, zorder=0)
    axes.set(yscale="log", xlim=(0, n_steps), xlabel="time (steps)", ylabel="missing information (bits)")
    axes.yaxis.set_major_locator(FixedLocator([20, 50, 100, 200, 500]))
    axes.yaxis.set_major_formatter("{x:g}")
    axes.yaxis.set_minor_formatter(NullFormatter())
    axes.legend(title=f"Steps of PIG(VI) until {TARGET_BITS} bits are missing, if", frameon=False, alignment="left")
    axes.spines[["top", "right"]].set_visible(False)
    return figure


def house() -> berlyne.World:
    """Return a world of five named states."""
    theta = np.zeros((2, 5, 5))
    theta[0] = [[0, 1, 0, 0, 0], [0, 0, 0.5, 0.5, 0], [0, 1, 0, 0, 0], [0, 0, 0, 0, 1], [1, 0, 0, 0, 0]]
    theta[1] = 0.5 * np.eye(5) + 0.5 * theta[0]
    labels = {"states": ["cellar", "hall", "kitchen", "garden", "shed"], "actions": ["walk", "wait"], "start": "hall"}
    return berlyne.World(theta, berlyne.Dirichlet(1.0, n_states=5, n_actions=2), **labels)


def draw_maps() -> Figure:
    """Draw three worlds with the methods of runs and models."""
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
    "maze.png": (draw_maze_overview, 150),
    "unknown.png": (draw_unknown_states, 150),
    "pictures.png": (draw_maps, 110),
}
"""Drawing function and dots per inch of each picture."""


def draw_all() -> dict[str, bytes]:
    """Draw all pictures and return them as PNG files, by name."""
    files = {}
    for name, (draw, dpi) in PICTURES.items():
        file = BytesIO()
        draw().savefig(file, dpi=dpi)
        files[name] = file.getvalue()
    return files


if __name__ == "__main__":
    for name, picture in draw_all().items():
        Path(__file__).with_name(name).write_bytes(picture)
