"""Draw the pictures of the README: run `python docs/images/make.py`.

Left, a maze as in the paper's Fig. 1. Middle, the same maze in the eyes of an explorer that has
walked in it at random: each room is split into its four actions, coloured by what the next
observation of each is expected to teach. Right, how fast four strategies learn it.
"""

from pathlib import Path

from matplotlib.figure import Figure

import berlyne
from berlyne.figures.maze import draw_maze, shade_rooms

SEED, N_STEPS = 9, 400
STRATEGIES = ("Random", "CB", "PIG(VI)", "Unembodied")


def main() -> None:
    """Write maze.png beside this file."""
    world = berlyne.maze(SEED)
    walk = berlyne.explore(world, "Random", n_steps=N_STEPS, seed=SEED)
    figure = Figure(figsize=(12.6, 4.1), layout="constrained")
    figure.get_layout_engine().set(w_pad=0.12)
    left, right, curves = figure.subplots(1, 3, width_ratios=(1, 1.13, 0.95))
    draw_maze(world, left)
    left.set_title("A world to learn", fontsize=12)
    shaded = shade_rooms(world, berlyne.pig(walk.model), right)
    shaded.set_clim(0.0, None)
    line, column = divmod(int(walk.states[-1]), 6)
    right.plot(column + 0.5, line + 0.5, "o", ms=9, mfc="black", mec="white", mew=1.6, zorder=6)
    right.set_title(f"What to try next? After {N_STEPS} random steps", fontsize=12)
    bar = figure.colorbar(shaded, ax=right, shrink=0.9, pad=0.02)
    bar.set_label("predicted information gain (bits)")
    bar.outline.set_visible(False)
    for name in STRATEGIES:
        berlyne.explore(world, name, n_steps=2500, seed=SEED).plot(curves)
    curves.set_title("How fast is it learned?", fontsize=12)
    curves.spines[["top", "right"]].set_visible(False)
    figure.savefig(Path(__file__).with_name("maze.png"), dpi=150)


if __name__ == "__main__":
    main()
