"""Measure explorers whose rows share what they learn: python benchmarks/shared_weights.py.

The first table contains CPU times of PIG(VI) in mazes with the prior of the paper, with a learned concentration, and
with weights of labels that are learned on the way (`SharedDirichlet`): labels of moves, labels of every action and
move, and a label for each transition. In the last lines all rooms may follow, so the support is unknown.

The second table compares a learned concentration, `Dirichlet("ml")`, with a single class of `SharedDirichlet`, as in
Fig. S5: missing information relative to an explorer that knows the true concentration.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from measure import print_environment, print_table

from berlyne import Dirichlet, SharedDirichlet, World, dense_world, explore, maze
from berlyne.priors.refit import EVERY_STEP
from berlyne.sparse import Support
from berlyne.validation import IntArray

MOVES = ((-1, 0), (1, 0), (0, -1), (0, 1), (0, 0))


def labels_of_moves(support: Support, n_actions: int, side: int, *, by_action: bool) -> IntArray:
    """Return the move of each possible transition, up, down, left, right, stay or jump, or its action and move."""
    s, a = np.divmod(support.row_numbers(), n_actions)
    s_next = support.entries()[1]
    label = np.full(len(s), len(MOVES))
    for i, (down, right) in enumerate(MOVES):
        label[(s_next // side - s // side == down) & (s_next % side - s % side == right)] = i
    return label + by_action * (len(MOVES) + 1) * a


def priors(world: World) -> dict[str, Any]:
    """Return the priors to compare in a maze, by name."""
    known = world.prior.support  # type: ignore[union-attr]  # mazes have one
    side, n_actions = round(world.n_states**0.5), world.n_actions
    unknown = Support(n_actions, world.n_states)

    def shared(support: Support, *, by_action: bool) -> SharedDirichlet:
        labels = labels_of_moves(support, n_actions, side, by_action=by_action)
        return SharedDirichlet(labels, 0.25 if support is known else 1.0 / world.n_states, support=support)

    each = np.arange(int(known.sizes.sum()))
    return {
        "known support, alpha 0.25": world.prior,
        "known support, alpha learned": Dirichlet("ml", known),
        "known support, moves": shared(known, by_action=False),
        "known support, actions and moves": shared(known, by_action=True),
        "known support, every transition": SharedDirichlet(each, 0.25, support=known),
        "unknown support, alpha 1/N": Dirichlet(1.0 / world.n_states, n_states=world.n_states, n_actions=n_actions),
        "unknown support, alpha learned": Dirichlet("ml", n_states=world.n_states, n_actions=n_actions),
        "unknown support, moves": shared(unknown, by_action=False),
        "unknown support, actions and moves": shared(unknown, by_action=True),
    }


def cpu_times(side: int, n_steps: int, n_worlds: int, rounds: int) -> list[list[str]]:
    """Return a line for each prior: classes, CPU time of a step, its ratio to that of the first line, bits left."""
    worlds = [maze(seed, side=side, n_transporters=side * side * 30 // 36) for seed in range(n_worlds)]
    by_prior: dict[str, list[World]] = {}
    for world in worlds:
        for name, prior in priors(world).items():
            by_prior.setdefault(name, []).append(world.with_prior(prior))
    best, left = dict.fromkeys(by_prior, np.inf), dict.fromkeys(by_prior, 0.0)
    for rest in range(rounds + 1):  # the first round compiles
        for name, variants in by_prior.items():
            begin = time.process_time()
            runs = [explore(world, "PIG(VI)", n_steps, seed) for seed, world in enumerate(variants)]
            if rest:
                best[name] = min(best[name], (time.process_time() - begin) / (n_steps * n_worlds))
            left[name] = float(np.mean([run.missing_information[-1] for run in runs]))
    paper = next(iter(best.values()))
    return [
        [
            name,
            str(len(getattr(by_prior[name][0].prior, "classes", ()))),
            f"{1e6 * best[name]:.2f}",
            f"{best[name] / paper:.1f}",
            f"{left[name]:.1f}",
        ]
        for name in by_prior
    ]


def one_class(make: Callable[[int], World], n_steps: int, n_worlds: int) -> list[list[str]]:
    """Return a line for each way to learn one concentration, from the starts of Fig. S5."""
    lines, at = [], [int(part * n_steps) for part in (0.05, 0.1, 0.25, 0.5, 1.0)]
    curves: dict[Any, Any] = {}
    for seed in range(n_worlds):
        world: Any = make(seed)
        support, start_values = world.prior.support, (1.0, 10.0)
        zeros = np.zeros(int(support.sizes.sum()), dtype=int)
        variants = {("true", 0.0): world.prior}
        for start in start_values:
            learned = Dirichlet("ml", support, start=start, bounds=(1e-3, 1e3), schedule=EVERY_STEP)
            variants["maximum likelihood", start] = learned
            variants["one class", start] = SharedDirichlet(zeros, start, support=support, schedule=EVERY_STEP)
        for key, prior in variants.items():
            run = explore(world.with_prior(prior), "PIG(VI)", n_steps, seed)
            curves[key] = curves.get(key, 0.0) + run.missing_information / n_worlds
    true = curves.pop(("true", 0.0))
    for (name, start), curve in curves.items():
        difference = 100.0 * (curve - true) / true
        late = np.abs(difference[int(0.25 * len(difference)) :]).max()
        lines.append([make(0).name, name, f"{start:g}", *(f"{difference[t]:+.1f} %" for t in at), f"{late:.1f} %"])
    return lines


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=2500)
    parser.add_argument("--worlds", type=int, default=6)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--sides", type=int, nargs="*", default=[6, 10])
    parser.add_argument("--learned", type=int, default=20, help="worlds of each class in the second table")
    options = parser.parse_args()
    print_environment()
    for side in options.sides:
        print(f"\nMazes of {side * side} rooms, {options.steps:,} steps\n")
        lines = cpu_times(side, options.steps, options.worlds, options.rounds)
        print_table(["prior", "classes", "CPU µs a step", "ratio", "bits left"], lines)
    if options.learned:
        lines = one_class(dense_world, 3000, options.learned) + one_class(maze, 2500, options.learned)
        times = [f"after {part}" for part in ("5 %", "10 %", "25 %", "50 %", "100 %")]
        print()
        print_table(["world", "learned by", "start", *times, "largest after 25 %"], lines)


if __name__ == "__main__":
    main()
