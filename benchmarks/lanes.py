"""Compare the vectors of the tasks with plain loops over twelve lanes: python benchmarks/lanes.py.

Two inner loops are written as plain Numba code: one step back in time (reward), and the solution of linear equations
(navigation). Both versions run in one process, in alternation, on the same models.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from measure import print_environment, print_table, time_in_turns

import berlyne
from berlyne.engine.blocks import Block, call
from berlyne.engine.jit import inline, kernel
from berlyne.engine.tasks import collect, eliminate
from berlyne.engine.tasks.lanes import LANES, Chain, ChainBatch
from berlyne.engine.tasks.models import Reader
from berlyne.strategies.choice import TIE_TOLERANCE

REPEATS = 200


class Transitions(NamedTuple):
    """Transition probabilities of the equations, and scratch of twelve numbers."""

    p: Any
    scratch: Any


@inline
def plain_expected_values(out, chain, x, s):
    """As `berlyne.engine.tasks.lanes.expected_values`."""
    graph = chain.graph
    for i in range(graph.n_actions * LANES):
        out[i] = 0.0
    for k in range(graph.start[s], graph.start[s] + graph.length[s]):
        s_next = graph.succ[k]
        for a in range(graph.n_actions):
            weight = chain.weight[k * graph.stride + a]
            for lane in range(LANES):
                out[a * LANES + lane] += weight * x[s_next * LANES + lane]


@inline
def plain_step_back(model, truth, ledger, reward, total):
    """As `berlyne.engine.tasks.collect.step_back`."""
    q, real, n_actions = ledger.q, ledger.real, truth.graph.n_actions
    for i in range(len(reward)):
        ledger.expected_on_entry[i] = reward[i] + ledger.expected[i]
        ledger.real_on_entry[i] = reward[i] + total[i]
    for s in range(len(truth.graph.start)):
        plain_expected_values(q, model, ledger.expected_on_entry, s)
        plain_expected_values(real, truth, ledger.real_on_entry, s)
        for lane in range(LANES):
            best, value, n_tied = q[lane], 0.0, 0.0
            for a in range(1, n_actions):
                best = max(best, q[a * LANES + lane])
            for a in range(n_actions):
                if q[a * LANES + lane] >= best - TIE_TOLERANCE * abs(best):
                    value, n_tied = value + real[a * LANES + lane], n_tied + 1.0
            ledger.expected[s * LANES + lane], total[s * LANES + lane] = best, value / n_tied


@inline
def plain_solve(elimination, equations, factor):
    """As `berlyne.engine.tasks.eliminate.solve`."""
    row, column, p = elimination.row, elimination.column, equations.p
    leave, cost, inverse, values = equations.leave, equations.cost, equations.inverse, equations.values
    n_states, f = len(elimination.order), 0
    for t in range(n_states):
        s = elimination.order[t]
        for lane in range(LANES):
            inverse[s * LANES + lane] = leave[s * LANES + lane]
        for r in range(row[t], row[t + 1]):
            for lane in range(LANES):
                inverse[s * LANES + lane] += p[r * LANES + lane]
        for lane in range(LANES):
            inverse[s * LANES + lane] = 1.0 / inverse[s * LANES + lane]
        for c in range(column[t], column[t + 1]):
            i = elimination.column_state[c - column[0]]
            for lane in range(LANES):
                factor[lane] = p[c * LANES + lane] * inverse[s * LANES + lane]
            for lane in range(LANES):
                leave[i * LANES + lane] += factor[lane] * leave[s * LANES + lane]
            for lane in range(LANES):
                cost[i * LANES + lane] += factor[lane] * cost[s * LANES + lane]
            for r in range(row[t], row[t + 1]):
                product = elimination.fill[f]
                for lane in range(LANES):
                    p[product * LANES + lane] += factor[lane] * p[r * LANES + lane]
                f += 1
            for lane in range(LANES):
                p[c * LANES + lane] = factor[lane]
    for t in range(n_states - 1, -1, -1):
        s = elimination.order[t]
        for lane in range(LANES):
            factor[lane] = cost[s * LANES + lane]
        for r in range(row[t], row[t + 1]):
            s_next = elimination.row_state[r]
            for lane in range(LANES):
                factor[lane] += p[r * LANES + lane] * values[s_next * LANES + lane]
        for lane in range(LANES):
            values[s * LANES + lane] = factor[lane] * inverse[s * LANES + lane]


@kernel
def steps_back(models, truth, ledger, payoff, plain):
    """Go back many steps, with plain loops or with vectors."""
    model = Chain(models.graph, models.weights[0])
    reward, total = payoff.rewards[0], payoff.totals[0, 0]
    for i in range(len(total)):
        ledger.expected[i] = total[i] = 0.0
    for _ in range(REPEATS):
        if plain:
            plain_step_back(model, truth, ledger, reward, total)
        else:
            collect.step_back(model, truth, ledger, reward, 1.0, False, total)


@kernel
def solutions(elimination, ends, equations, transitions, plain):
    """Solve the same equations many times, with plain loops or with vectors."""
    for _ in range(REPEATS):
        for i in range(len(equations.p)):
            equations.p[i] = transitions.p[i]
        eliminate.end_at(equations, ends, 0)
        if plain:
            plain_solve(elimination, equations, transitions.scratch)
        else:
            eliminate.solve(elimination, equations)


def jobs(world: berlyne.World) -> dict[str, tuple[Any, Any]]:
    """Return, for each of the two loops, a call that takes whether it is plain, and the array that it fills."""
    counts = berlyne.explore(world, "Random", n_steps=300, seed=0).counts
    reader, n_states, n_actions = Reader(world), world.n_states, world.n_actions
    ((layout, weights),) = reader.read([counts])
    models, truth = Block.of(ChainBatch(layout.graph, weights)), Block.of(reader.truth.chain(world.rows))
    rewards = np.random.default_rng(0).standard_normal((1, n_states * LANES))
    payoff = Block.of(collect.Rewards(rewards, np.zeros((1, 1, n_states * LANES)), *([world.terminal] * 2)))
    ledger, elimination = Block.of(collect.new_ledger(n_states, n_actions)), layout.elimination
    p, apart = np.zeros((elimination.n_entries, LANES)), elimination.entry >= 0
    p[elimination.entry[apart]] = weights[0].reshape(-1, layout.graph.stride)[apart][:, :1]
    transitions, plan = Block.of(Transitions(p.ravel(), np.empty(LANES))), Block.of(elimination)
    ends = Block.of(eliminate.Ends(n_states, eliminate.GIVE_UP, np.empty(0, dtype=np.int64), 0.0))
    equations = Block.of(eliminate.new_equations(elimination))
    return {
        "reward, one step": (
            lambda plain: call(steps_back, models, truth, ledger, payoff, plain),
            payoff.record.totals,
        ),
        "navigation, one solution": (
            lambda plain: call(solutions, plan, ends, equations, transitions, plain),
            equations.record.values,
        ),
    }


def main() -> None:
    """Print the table."""
    print_environment()
    rows = []
    makers = {"Dense World": berlyne.dense_world, "Maze": berlyne.maze, "1-2-3 World": berlyne.one_two_three_world}
    for name, make in makers.items():
        for what, (run, result) in jobs(make(0)).items():
            results = []
            for plain in (False, True):
                run(plain)
                results.append(result.copy())
            np.testing.assert_allclose(results[1], results[0], rtol=1e-12)
            times = time_in_turns({p: (lambda run=run, p=p: run(p)) for p in (False, True)}, 50)
            us = [times[p] / REPEATS * 1e6 for p in (False, True)]
            rows.append([f"{name}: {what}", *(f"{x:.2f}" for x in us), f"{us[1] / us[0]:.1f}"])
    print_table(["twelve problems at once", "vectors, µs", "plain loops, µs", "ratio"], rows)


if __name__ == "__main__":
    main()
