"""Compare concentrations of the prior in worlds without a description: python benchmarks/priors.py.

Explorations of every benchmark world, of FrozenLake8x8 and of Taxi, whose explorers know only the number of states.
Their prior is a Dirichlet distribution over all states with the concentration 1, 1/N, or the one that they learn on
the way ("ml", which starts at 1/N). Numbers are means over seeds, with standard errors.
"""

from __future__ import annotations

import argparse
import itertools
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from measure import print_environment, print_table

import berlyne
from berlyne import Dirichlet, World
from berlyne.worlds import BENCHMARKS

WORLDS: dict[str, Callable[[], World]] = {
    **BENCHMARKS,
    "FrozenLake8x8-v1": lambda: berlyne.from_gymnasium("FrozenLake8x8-v1"),
    "Taxi-v4": lambda: berlyne.from_gymnasium("Taxi-v4"),
}
CONCENTRATIONS: dict[str, Callable[[int], Any]] = {"1": lambda n: 1.0, "1/N": lambda n: 1.0 / n, '"ml"': lambda n: "ml"}


def summary(values: list[float]) -> str:
    """Return the mean of values and its standard error."""
    return f"{np.mean(values):,.1f} ± {np.std(values, ddof=1) / len(values) ** 0.5:.1f}"


def measure(world: World, strategy: str, n_steps: int, n_seeds: int) -> tuple[str, str, str]:
    """Return area (1000 bits), bits left and number of states met of explorations with several seeds."""
    runs = [berlyne.explore(world, strategy, n_steps, seed) for seed in range(n_seeds)]
    met = [len(np.union1d(run.states, run.next_states)) for run in runs]
    left = [float(run.missing_information[-1]) for run in runs]
    return summary([run.area / 1000 for run in runs]), summary(left), f"{np.mean(met):.0f}"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=3000)
    parser.add_argument("--seeds", type=int, default=8)
    parser.add_argument("--worlds", nargs="*", default=list(WORLDS))
    options = parser.parse_args()
    warnings.simplefilter("ignore")  # states that cannot be reached
    print_environment()
    rows = []
    for name in options.worlds:
        world = WORLDS[name]()
        sizes = {"n_states": world.n_states, "n_actions": world.n_actions}
        for strategy in ("PIG(VI)", "Random"):
            priors = [Dirichlet(alpha(world.n_states), **sizes) for alpha in CONCENTRATIONS.values()]
            measured = [measure(world.with_prior(p), strategy, options.steps, options.seeds) for p in priors]
            rows.append([name, strategy, *itertools.chain(*zip(*measured, strict=True))])
    quantities = "area, 1000 bits", "bits left", "states met"
    header = [f"{quantity}: {alpha}" for quantity in quantities for alpha in CONCENTRATIONS]
    print_table(["world", "strategy", *header], rows)


if __name__ == "__main__":
    main()
