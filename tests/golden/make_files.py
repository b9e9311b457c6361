"""Write a store and expected results with the current version: python tests/golden/make_files.py FOLDER.

The store in `files/` has format 4. Its areas and the histories are those of the first version.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np

from berlyne import Dirichlet, Experiment, Explorer, Prior, dense_world, maze, one_two_three_world, open_results

N_SAVED, N_AFTER = 60, 40
PRIORS: dict[str, Prior] = {
    "dense": dense_world(0).prior,  # type: ignore[dict-item]
    "maze": maze(0, side=4, n_transporters=6).prior,  # type: ignore[dict-item]
    "1-2-3": one_two_three_world(0).prior,  # type: ignore[dict-item]
    "large": Dirichlet(0.5, n_states=40, n_actions=2),
}
EXPLORERS = {
    "dense": "PIG(VI)",
    "maze": "PEIG(Q, epsilon=0.3)",
    "1-2-3": "PIG(VI)",
    "large": "CB",
}
STUDY = {"strategies": ["Random", "Unembodied", "PIG(VI)"], "n_worlds": 2, "n_steps": 40, "snapshots": (0.5, 1.0)}


def lead(explorer: Explorer, rng: np.random.Generator, s: int, n_steps: int) -> list[tuple[int, int, int]]:
    """Let an explorer act in a world in which every transition that its prior allows is equally likely."""
    history = []
    for _ in range(n_steps):
        a = explorer.act(s)
        possible = np.flatnonzero(explorer.model.theta_hat_row(a, s) > 0)
        s_next = int(rng.choice(possible))
        explorer.observe(s, a, s_next)
        history.append((s, a, s_next))
        s = s_next
    return history


def main(folder: Path) -> None:
    """Write a store, its areas, and the histories of explorers."""
    folder.mkdir(parents=True, exist_ok=True)
    histories = {}
    for kind, name in EXPLORERS.items():
        explorer, rng = Explorer(PRIORS[kind], name, seed=3), np.random.default_rng(5)
        history = lead(explorer, rng, 0, N_SAVED)
        histories[kind] = history + lead(explorer, rng, history[-1][2], N_AFTER)
    Experiment(**STUDY).run(folder / "store.zarr", jobs=1)  # type: ignore[arg-type]
    results = open_results(folder / "store.zarr")
    areas = {name: results.areas(name).values.tolist() for name in results.classes}
    (folder / "expected.json").write_text(json.dumps({"histories": histories, "areas": areas}) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
