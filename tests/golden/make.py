"""Write the pinned trajectories: python tests/golden/make.py."""

from __future__ import annotations

import json
from pathlib import Path

from berlyne import dense_world, explore, maze, one_two_three_world
from berlyne.strategies.registry import PAPER_STRATEGIES

FILE = Path(__file__).with_name("trajectories.json")
N_STEPS = 60
WORLDS = {"dense": dense_world, "maze": maze, "1-2-3": one_two_three_world}


def trajectory(kind: str, name: str, engine: str = "auto") -> dict[str, object]:
    """One run in world 0 of its class with seed 0."""
    run = explore(WORLDS[kind](0), name, n_steps=N_STEPS, seed=0, engine=engine)  # type: ignore[arg-type]
    return {
        "actions": "".join(map(str, run.actions.tolist())),
        "states": " ".join(map(str, run.states.tolist())),
        "missing_information": [round(float(x), 9) for x in run.missing_information[::20]],
        "l1_distance": [round(float(x), 9) for x in run.l1_distance[::20]],
    }


def main() -> None:
    """Write all of them."""
    pinned = {f"{kind}/{name}": trajectory(kind, name) for kind in WORLDS for name in PAPER_STRATEGIES}
    FILE.write_text(json.dumps(pinned, indent=1) + "\n")


if __name__ == "__main__":
    main()
