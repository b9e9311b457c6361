"""Draw the pictures of the README: run `python docs/images/make.py`.

Left, a maze as in the paper's Fig. 1. Right, the same maze in the eyes of an explorer that has
walked in it at random: each room is split into its four actions, coloured by what the next
observation of each is expected to teach.
"""

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import berlyne
from berlyne.figures.maze import draw_maze, shade_rooms

SEED, N_STEPS = 9, 400


def random_walk(world: berlyne.World, n_steps: int, rng: np.random.Generator) -> tuple[berlyne.InternalModel, int]:
    """The internal model after actions chosen at random, and where they led."""
    assert world.prior is not None
    model = berlyne.InternalModel(world.prior)
    s = int(rng.integers(world.n_states))
    for _ in range(n_steps):
        a = int(rng.integers(world.n_actions))
        s_next = world.sample(a, s, rng.random())
        model.observe(s, a, s_next)
        s = s_next
    return model, s


def main() -> None:
    """Write maze.png beside this file."""
    world = berlyne.maze(SEED)
    model, s = random_walk(world, N_STEPS, np.random.default_rng(SEED))
    figure = Figure(figsize=(8.8, 4.4), layout="constrained")
    left, right = figure.subplots(1, 2)
    draw_maze(world, left)
    left.set_title("A world to learn", fontsize=12)
    shaded = shade_rooms(world, berlyne.pig(model), right)
    shaded.set_clim(0.0, None)
    line, column = divmod(s, 6)
    right.plot(column + 0.5, line + 0.5, "o", ms=9, mfc="black", mec="white", mew=1.6, zorder=6)
    right.set_title(f"What to try next? After {N_STEPS} random steps", fontsize=12)
    bar = figure.colorbar(shaded, ax=right, shrink=0.9, pad=0.02)
    bar.set_label("predicted information gain (bits)")
    bar.outline.set_visible(False)
    figure.savefig(Path(__file__).with_name("maze.png"), dpi=150)


if __name__ == "__main__":
    main()
