"""Choose settings of the explorers on the tuning split of the benchmark: python benchmarks/tune.py results.zarr.

Candidates are few and named here. They run on tasks with small worlds, preset quick. Taxi is left out, because PSRL
draws 1.5 million numbers for a plan there: "replan=doubling" alone would take 15 minutes of processor time, and all
others together two. The criterion is the missing information at the end divided by that of Random, averaged over
tasks. The best setting of each explorer is printed; it is `TUNED` of `berlyne.benchmarks.running`.
"""

from __future__ import annotations

import sys

import numpy as np

from berlyne import strategy
from berlyne.benchmarks import run, suite

TASKS = (
    "dense", "maze", "1-2-3", "river-swim", "forked-river-swim", "chain-kaufmann", "chain-kaufmann-20", "chain-russo",
    "n-arms", "deep-sea", "noisy-tv", "garnet", "garnet-20", "frozen-lake", "cliff-walking", "storck",
)  # fmt: skip
CANDIDATES = {
    "PIG(VI)": ("steps_back=30", "steps_back=30, gamma=0.95"),
    "parameter_gain(VI)": ("steps_back=30", "steps_back=30, gamma=0.95"),
    "BEB(VI)": ("steps_back=30", "steps_back=30, gamma=0.95"),
    "1/√n(VI)": ("steps_back=30", "steps_back=30, gamma=0.95"),
    "R-max(VI)": ("m=1", "m=20", "m=1, steps_back=30", "m=5, steps_back=30"),
    "RF-UCRL": ("replan=1", "steps_back=9", "replan=1, steps_back=9"),
    "RF-Express": ("replan=1", "steps_back=9", "replan=1, steps_back=9"),
    "MaxEnt": ("scale=0.01", "replan=1", "scale=0.01, replan=1", "scale=0, replan=1"),
    "MaxEnt(states)": ("scale=0.01", "replan=1", "scale=0.01, replan=1", "scale=0, replan=1"),
    "FW-AME": ("steps_back=30", "replan=10, steps_back=30", "replan=1, steps_back=30"),
    "PSRL(PIG)": ("steps_back=30", "replan=doubling", "replan=5"),
}
"""Settings to try beside that of the authors, by explorer."""


def with_settings(name: str, settings: str) -> str:
    """Return the name of a strategy with settings, in the order in which it lists them."""
    return strategy(f"{name[:-1]}, {settings})" if name.endswith(")") else f"{name}({settings})").name


def main() -> None:
    """Run all candidates, and print the criterion of each."""
    agents = [each for name, more in CANDIDATES.items() for each in (name, *(with_settings(name, s) for s in more))]
    results = run(suite().select(TASKS), [*agents, "Random"], sys.argv[1], split="tuning", preset="quick", jobs=2)
    left = []
    for task in TASKS:
        values = results.of(task)["missing_information"].isel(time=-1).mean("world")
        left.append((values / values.sel(strategy="Random")).values)
    criterion = dict(zip(results.strategies, np.mean(left, axis=0), strict=True))
    for name, more in CANDIDATES.items():
        tried = {each: criterion[each] for each in (name, *(with_settings(name, s) for s in more))}
        best = min(tried, key=tried.__getitem__)
        print(f"{best}: " + ", ".join(f"{each} {value:.3f}" for each, value in tried.items()))


if __name__ == "__main__":
    main()
