"""Draw which drives can be told apart in which worlds, for docs/explanation/telling-drives-apart.md.

`python docs/images/drives.py` simulates people in the paper's three classes of worlds, in a world of 61 states, and in
the world that `bb.separate` ranks first among random candidates. It prints the numbers of the page and writes its
figures. It takes a few minutes.
"""

from __future__ import annotations

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import berlyne
import berlyne.behaviour as bb

PLACE = Path(__file__).parent
DRIVES = ["PIG", "parameter_gain", "PMC", "PLC", "rarity", "CB", "count_bonus", "surprise"]
CONTRASTED = ["PIG(VI)", "PMC(VI)", "PLC(VI)", "rarity(VI)"]
NUISANCE = bb.bias() + bb.repeat() + bb.habit()
N_PEOPLE, N_STEPS, N_CANDIDATES = 25, 250, 24


def strategy(drive: str) -> str:
    """Return the strategy of a drive; CB has no plan."""
    return drive if drive == "CB" else f"{drive}(VI)"


def goal_world() -> berlyne.World:
    """Return a world of the kind of Modirshanechi et al. (PNAS 2025): 61 states, 3 actions, goals that end an episode.

    States 0 to 5 are a path: one action leads on, one stays and one leads to a trap, 6 or 7, from which people come
    back. The third action in state 3 leads to one of the 50 states of the stochastic part at random. Two actions there
    lead to any of these states, and the third leads back to state 3. The path ends in one of three goals, 58 to 60.
    """
    theta = np.zeros((3, 61, 61))
    stochastic, goals = slice(8, 58), [58, 59, 60]
    order = np.random.default_rng(0).permuted(np.tile(np.arange(3), (61, 1)), axis=1)
    for s in range(6):
        on, stay, away = order[s]
        if s == 5:
            theta[on, s, goals] = 1 / 3
        else:
            theta[on, s, s + 1] = 1.0
        theta[stay, s, s] = 1.0
        theta[away, s, 6 + s % 2] = 1.0
    theta[order[3][1], 3] = 0.0
    theta[order[3][1], 3, stochastic] = 1 / 50
    for s, other in ((6, 7), (7, 6)):
        for a, s_next in zip(order[s], (0, other, s), strict=True):
            theta[a, s, s_next] = 1.0
    for s in range(8, 58):
        theta[order[s][:2], s, stochastic] = 1 / 50
        theta[order[s][2], s, 3] = 1.0
    theta[:, goals, goals] = 1.0
    start = np.zeros(61)
    start[:2] = 0.5
    return berlyne.World(theta, terminal=goals, start=start)


def mixed_world(seed: int) -> berlyne.World:
    """Return a random candidate: 20 states, whose actions have 1 to 20 possible outcomes, which people know.

    The number of outcomes and the concentration of their probabilities differ among actions.
    """
    rng, n = np.random.default_rng(seed), 20
    support = np.zeros((4, n, n), dtype=bool)
    for a, s in np.ndindex(4, n):
        support[a, s, rng.choice(n, rng.choice([1, 2, 3, 6, n]), replace=False)] = True
    alpha = np.broadcast_to(rng.choice([0.05, 0.25, 1.0, 5.0], size=(4, n)), (4, n)).copy()
    prior = berlyne.Dirichlet(alpha, support)
    return berlyne.World(prior.sample(rng), prior, start=0)


def models_in(world: berlyne.World) -> dict[str, bb.Model]:
    """Return a model for each drive; in a world without a prior, people discover the states."""
    prior = bb.crp(c=1.0) if world.prior is None else world
    return {drive: bb.model(strategy(drive), prior) + NUISANCE for drive in DRIVES}


def draw_table(ax: plt.Axes, table: pd.DataFrame, title: str) -> None:
    """Draw a table of numbers between 0 and 1 in shades of grey."""
    values = table.to_numpy(float)
    ax.imshow(values, cmap="Greys", vmin=0.0, vmax=1.0, aspect="auto")
    for (i, j), value in np.ndenumerate(values):
        if value >= 0.005:
            text = f"{value:.2f}".lstrip("0") if value < 0.995 else "1"
            ax.text(j, i, text, ha="center", va="center", fontsize=6, color="white" if value > 0.5 else "black")
    ax.set_xticks(range(values.shape[1]), list(table.columns), rotation=60, ha="right", fontsize=6)
    ax.set_yticks(range(values.shape[0]), list(table.index), fontsize=6)
    ax.set_title(title, fontsize=8)


def main() -> None:
    """Simulate people, print the numbers and write the figures."""
    classes = {
        "Dense World": berlyne.dense_world(0),
        "maze": berlyne.maze(0),
        "1-2-3 World": berlyne.one_two_three_world(0),
    }
    candidates = {**classes, **{f"candidate {i}": mixed_world(i) for i in range(N_CANDIDATES)}}
    ranked = bb.separate(CONTRASTED, candidates, n_people=10, n_steps=200)
    best = ranked.table.index[0]
    print(ranked.table.round(4).to_string(), flush=True)
    top = {*classes, *ranked.table.index[:5]}
    figure = bb.Separation(
        ranked.strategies, {name: ranked.matrices[name] for name in ranked.matrices if name in top}
    ).plot()
    figure.savefig(PLACE / "drives-separate.png", dpi=130, bbox_inches="tight")
    worlds = {**classes, "61 states": goal_world(), f"{best}, found": candidates[best]}
    confusions, recovered = {}, {}
    for name, world in worlds.items():
        models = models_in(world)
        confusions[name] = bb.confuse(models, world, n_people=N_PEOPLE, n_steps=N_STEPS, seed=1)
        correlations = {d: bb.recover(m, world, n_people=N_PEOPLE, n_steps=N_STEPS, seed=2) for d, m in models.items()}
        recovered[name] = {d: r.table["r"].iloc[0] for d, r in correlations.items()}
        right = np.diag(confusions[name].table)
        print(f"\n{name}: right {right.mean():.2f}\n{confusions[name].table.round(2).to_string()}", flush=True)
        four = [d.removesuffix("(VI)") for d in CONTRASTED]
        some = bb.confuse({d: models[d] for d in four}, world, n_people=N_PEOPLE, n_steps=N_STEPS, seed=3)
        print(f"PIG, PMC, PLC and rarity alone: right {np.diag(some.table).mean():.2f}", flush=True)
        if name == "61 states":
            figure = correlations["rarity"].plot()
            figure.savefig(PLACE / "drives-recovery-61.png", dpi=130, bbox_inches="tight")
    figure, axes = plt.subplots(2, 3, figsize=(9.6, 6.4), layout="constrained")
    for ax, (name, confusion) in zip(axes.flat, confusions.items(), strict=False):
        right = np.diag(confusion.table).mean()
        draw_table(ax, confusion.table, f"{name}: {right:.0%} right")
        ax.set_ylabel("simulated", fontsize=7)
    correlations_table = pd.DataFrame(recovered)
    draw_table(axes.flat[5], correlations_table.clip(lower=0.0), "recovery: r of the drive's weight")
    figure.savefig(PLACE / "drives-confusion.png", dpi=110)
    print(correlations_table.round(2).to_string())


if __name__ == "__main__":
    main()
