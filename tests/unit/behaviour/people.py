"""Small tables of choices, and simulated people, for the tests of `berlyne.behaviour`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

import berlyne

WORLD = berlyne.maze(0)


def table() -> pd.DataFrame:
    """Two people, interleaved: ann has two episodes and a missing action, ben an end."""
    lines = [
        ("ann", 1, 1, "A", "x", "B", None, 0, "g"),
        ("ben", 1, 1, "A", "y", "A", "x y", 0, "h"),
        ("ann", 1, 2, "B", "y", "A", "x, y", 0, "g"),
        ("ann", 1, 3, "A", None, "B", None, 0, "g"),
        ("ben", 1, 2, "A", "y", "C", "y", 1, "h"),
        ("ann", 2, 4, "B", "y", "B", None, 0, "g"),
        ("ann", 2, 5, "B", "y", "A", None, 0, "g"),
        ("ben", 2, 3, "A", "x", "B", None, 0, "h"),
    ]
    names = ["who", "epi", "trial", "from", "did", "to", "could", "reward", "goal"]
    return pd.DataFrame(lines, columns=names)


COLUMNS: dict[str, Any] = {
    "subject": "who",
    "state": "from",
    "action": "did",
    "next_state": "to",
    "episode": "epi",
    "order": "trial",
    "allowed": "could",
    "ended": lambda d: d.reward > 0,
}


def walkers(n_people: int, n_steps: int = 150, temperature: float = 0.2) -> pd.DataFrame:
    """People who explore a maze by PIG(VI) with a softmax."""
    strategy = berlyne.strategy("PIG(VI)", temperature=temperature, lapse=0.05)
    runs = [berlyne.explore(WORLD, strategy, n_steps, seed) for seed in range(n_people)]
    frames = [pd.DataFrame(run.history, columns=["s", "a", "s_next"]).assign(subject=i) for i, run in enumerate(runs)]
    return pd.concat(frames, ignore_index=True).assign(rt=np.arange(n_people * n_steps) * 1.0)
