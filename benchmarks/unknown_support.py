"""Measure planning if every state may follow every other: python benchmarks/unknown_support.py.

The prior is a Dirichlet distribution over all N states. The explorer lives in a ring of 100 states and never meets the
others, so the cost of a step should not depend on N. The numbers are CPU times of the compiled loop after 1,000 steps,
without its setup, which takes a time proportional to N.
"""

from __future__ import annotations

import time
import warnings

import numpy as np
from measure import print_environment, print_table

from berlyne import Dirichlet, InternalModel, World, strategy
from berlyne.agents.make import make_agent
from berlyne.engine.records import RunRecord
from berlyne.exploration.explore import initial_measures
from berlyne.exploration.streams import streams
from berlyne.sparse import Rows

SIZES = (100, 1_000, 10_000, 100_000, 1_000_000)
N_MET, N_BEFORE = 100, 1_000
JOBS = {
    "PIG(VI), alpha 1/N": ("PIG(VI)", None),
    "PIG(VI), alpha learned": ("PIG(VI)", "ml"),
    "PIG(greedy), alpha 1/N": ("PIG(greedy)", None),
}
MAX_CPU = 2.0
"""Seconds of CPU time after which no more steps are made."""


def ring(n_states: int, alpha: float | str) -> World:
    """Return a ring of 100 states with noisy steps, and states that lead to it and are never reached."""
    s, a = np.divmod(np.arange(2 * n_states), 2)
    towards = np.where(a == 0, 1, -1)
    ahead = np.where(s < N_MET, (s + towards) % N_MET, s % N_MET)
    back = np.where(s < N_MET, (s - towards) % N_MET, (s + 1) % N_MET)
    row, s_next = np.tile(np.arange(2 * n_states), 2), np.concatenate([ahead, back])
    rows = Rows.from_entries(2, n_states, row, s_next, np.repeat([0.8, 0.2], 2 * n_states))
    return World(rows, Dirichlet(alpha, n_states=n_states, n_actions=2), start=0)


def microseconds(name: str, world: World, n_steps: int = 2_000) -> float:
    """Return the CPU time of a step after the first thousand, in microseconds."""
    assert world.prior is not None
    model, n_all = InternalModel(world.prior), N_BEFORE + n_steps
    agent = make_agent(model, strategy(name), world, "compiled")
    n_learned = 1 if getattr(world.prior, "schedule", None) else 0
    record = RunRecord.allocate(n_all, 0, *initial_measures(world, model), np.zeros(n_learned))
    _, for_agent, for_world, _ = streams(0)
    done, spent = 0, 0.0
    for piece in (N_BEFORE // 100,) * 100 + (n_steps // 100,) * 100:
        u_agent, u_world = for_agent.random((piece, 2)), for_world.random(piece)
        begin = time.process_time()
        agent.run(world, record.between(done, done + piece), u_agent, u_world)
        spent = spent + time.process_time() - begin if done != N_BEFORE else time.process_time() - begin
        done += piece
        if spent > MAX_CPU:  # a slow engine: these steps are enough
            return spent / (done - N_BEFORE if done > N_BEFORE else done) * 1e6
    return spent / n_steps * 1e6


def main() -> None:
    """Print the table."""
    warnings.simplefilter("ignore")  # most states cannot be reached
    print_environment()
    for name, (strategy_name, alpha) in JOBS.items():
        microseconds(strategy_name, ring(SIZES[0], alpha or 1.0 / SIZES[0]), 100)  # compile
        times = [microseconds(strategy_name, ring(n, alpha or 1.0 / n)) for n in SIZES]
        print_table(["CPU µs a step", *(f"{n:,} states" for n in SIZES)], [[name, *(f"{t:.1f}" for t in times)]])


if __name__ == "__main__":
    main()
