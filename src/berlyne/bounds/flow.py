r"""Linear program over expected visits.

Let x_r be the expected number of looks at row r = (a, s) in the first T steps. Whatever an explorer does, every look
leads to s' with probability theta_r(s'). So expected arrivals and departures of every state agree:

$$\sum_a x_{a,s} + e_s = p_0(s) + \sum_r x_r \theta_r(s) + \rho\, p_0(s), \qquad \sum_r x_r = T,$$

where e is the distribution of the state after T steps, p_0 the start distribution and rho the expected number of
episodes that end. A look that leads to a terminal state ends an episode. With a horizon H, visits are counted
separately in every step of an episode, and the last of them ends it, wherever it leads. If that makes more than
`MAX_VISITS` variables, the program instead allows cuts anywhere, at most T / H of them.

The objective is a sum of convex functions, which is approximated from below by straight lines.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, cast

import numpy as np

from berlyne.bounds.learning import Part
from berlyne.validation import FloatArray, IntArray
from berlyne.worlds.world import World

MAX_VISITS = 30_000
"""Largest number of pairs of a row and a step of an episode that are counted separately."""
TOLERANCE = 1e-4
"""The program is solved again with more lines, until its value grows by less than this share."""
MAX_ROUNDS = 30
FIRST_LOOKS = (0.5, 1, 2, 4, 8, 16, 32, 64, 128, 256, 512)
"""Numbers of looks at which the loss of a row is first approximated by lines."""


class Solution(NamedTuple):
    """Solution of the program for one number of steps.

    Attributes
    ----------
    value : float
        Smallest sum of losses.
    slope : float
        Change of the value with the number of steps, at most 0.
    visits : ndarray of shape (n_rows,)
        Expected looks at each possible row.
    """

    value: float
    slope: float
    visits: FloatArray


class Flow(NamedTuple):
    """Equations of expected visits, A (visits, others) = at_start + per_step * T.

    Attributes
    ----------
    matrix : sparse array of shape (n_equations, n_variables)
        The first variables are visits. The last equation counts the steps.
    at_start, per_step : ndarray of shape (n_equations,)
        Right-hand side, for T = 0 and its change with T.
    row : ndarray of int, shape (n_visits,)
        Row number r = s M + a of each visit variable.
    """

    matrix: Any
    at_start: FloatArray
    per_step: FloatArray
    row: IntArray


def flow_equations(world: World, n_steps: int) -> Flow:
    """Return the equations for all explorations of at most `n_steps` steps."""
    horizon = world.horizon if world.horizon is not None and world.horizon < n_steps else None
    rows = np.flatnonzero(world.possible_rows & np.repeat(world.reachable, world.n_actions))
    if horizon is None or horizon * len(rows) > MAX_VISITS:
        return _equations(world, rows, 1, horizon)
    return _equations(world, rows, horizon, None)


def _equations(world: World, rows: IntArray, n_phases: int, cut_every: int | None) -> Flow:
    """Return the equations of visits in `n_phases` steps of an episode; with `cut_every`, of episodes cut anywhere."""
    sp = _scipy_sparse()
    n, m, p0 = world.n_states, len(rows), world.episodes.distribution
    theta = sp.csr_array((world.rows.data, world.rows.indices, world.rows.indptr), shape=(n * world.n_actions, n))[rows]
    terminal = world.episodes.is_terminal
    continues = theta @ sp.diags_array((~terminal).astype(float))  # (m, n)
    ends = np.asarray(theta @ terminal.astype(float))  # (m,)
    leaves = sp.csr_array((np.ones(m), (rows // world.n_actions, np.arange(m))), shape=(n, m))
    phases, next_phase = sp.eye_array(n_phases), sp.eye_array(n_phases, k=-1) if n_phases > 1 else sp.eye_array(1)
    balance = sp.kron(phases, leaves) - sp.kron(next_phase, continues.T)  # (n_phases n, n_phases m)
    restarts = np.tile(ends, n_phases)
    if n_phases > 1:
        restarts[-m:] = 1.0  # the last step of an episode is cut wherever it leads
    start = np.concatenate([p0, np.zeros((n_phases - 1) * n)])
    last = sp.eye_array(n_phases * n)
    to_start = sp.csr_array(-start[:, None])  # column of the number of restarts
    blocks = [[balance, last, to_start], [sp.csr_array(-restarts[None]), None, sp.csr_array([[1.0]])]]
    blocks.append([sp.csr_array(np.ones((1, n_phases * m))), None, None])
    at_start, per_step = np.concatenate([start, [0.0, 0.0]]), np.zeros(n_phases * n + 2)
    per_step[-1] = 1.0
    if cut_every is not None:  # cuts[s] leave state s, and a slack variable makes their number at most T / H
        blocks[0] += [sp.eye_array(n), None]
        blocks[1] += [sp.csr_array(-np.ones((1, n))), None]
        blocks[2] += [None, None]
        blocks.insert(2, [None, None, None, sp.csr_array(np.ones((1, n))), sp.csr_array([[1.0]])])
        at_start, per_step = np.insert(at_start, -1, 0.0), np.insert(per_step, -1, 1.0 / cut_every)
    return Flow(sp.csc_array(sp.block_array(blocks)), at_start, per_step, np.tile(rows, n_phases))


def _scipy_sparse() -> Any:
    """Import `scipy.sparse` when it is first used; its types are incomplete."""
    import scipy.sparse

    return scipy.sparse


class Program:
    """The linear program of a world, with lines that are shared by all numbers of steps.

    Parameters
    ----------
    world : World
        The world.
    parts : list of list of Part
        Parts of each row that counts.
    n_steps : int
        Largest number of steps.
    """

    def __init__(self, world: World, parts: Sequence[Sequence[Part]], n_steps: int) -> None:
        self.flow = flow_equations(world, n_steps)
        counted = np.flatnonzero(world.measured_rows)
        self.parts = [part for of_row in parts for part in of_row]
        self.part_row = np.repeat(counted, [len(of_row) for of_row in parts])
        self.n_rows = len(world.measured_rows)
        self._lines: dict[tuple[int, float], float] = {}  # value of each part at each price
        for i, part in enumerate(self.parts):
            prices = {part.curve.price(looks) for looks in FIRST_LOOKS if looks <= 2 * n_steps}
            self._add(i, prices | {float(part.curve.losses[0])})

    def _add(self, i: int, prices: Any) -> None:
        for price in prices:
            if (i, price) not in self._lines:
                self._lines[i, price] = self.parts[i].value(price)

    def solve(self, n_steps: float, tolerance: float = TOLERANCE, patience: int = 2) -> Solution:
        """Solve the program for a number of steps, adding lines until its value grows no more.

        Parameters
        ----------
        n_steps : float
            Number of steps.
        tolerance : float
            Growth of the value that counts, as a share.
        patience : int
            Number of rounds without such growth before the end.
        """
        value, n_stalled = -np.inf, 0
        for _ in range(MAX_ROUNDS):
            solution, prices, looks = self._solve(n_steps)
            n_stalled = n_stalled + 1 if solution.value - value <= tolerance * solution.value else 0
            if n_stalled == patience:
                break
            value = solution.value
            for i, part in enumerate(self.parts):
                self._add(i, {float(prices[i]), part.curve.price(looks[i])})
        return solution

    def _solve(self, n_steps: float) -> tuple[Solution, FloatArray, FloatArray]:
        """Solve the program with the present lines; return also the price and the looks of each part."""
        from scipy import optimize

        sp, linprog = _scipy_sparse(), cast(Any, optimize.linprog)
        flow, n_parts, n_lines = self.flow, len(self.parts), len(self._lines)
        part, price = (np.array(column) for column in zip(*self._lines, strict=True))
        values = np.array(list(self._lines.values()))
        n_others = flow.matrix.shape[1]
        visit = np.arange(len(flow.row))
        of_row = sp.csr_array((np.ones(len(visit)), (flow.row, visit)), shape=(self.n_rows, len(visit)))
        looks = of_row[self.part_row]  # (n_parts, n_visits)
        # value - price * looks(part) <= loss(part)
        slopes = -sp.diags_array(price) @ looks[part]
        padding = sp.csr_array((n_lines, n_others - len(visit)))
        losses = sp.csr_array((-np.ones(n_lines), (np.arange(n_lines), part)), shape=(n_lines, n_parts))
        result = linprog(
            np.concatenate([np.zeros(n_others), np.ones(n_parts)]),
            A_ub=sp.csc_array(sp.hstack([slopes, padding, losses])),
            b_ub=-values,
            A_eq=sp.csc_array(sp.hstack([flow.matrix, sp.csr_array((len(flow.at_start), n_parts))])),
            b_eq=flow.at_start + n_steps * flow.per_step,
            bounds=(0, None),
            method="highs",
        )
        if result.status != 0:
            raise RuntimeError(f"the linear program of expected visits was not solved: {result.message}")
        weight = -result.ineqlin.marginals
        visits: FloatArray = np.asarray(np.bincount(flow.row, result.x[: len(visit)], self.n_rows), dtype=float)
        slope = min(float(result.eqlin.marginals @ flow.per_step), 0.0)
        prices: FloatArray = np.asarray(np.bincount(part, weight * price, n_parts), dtype=float)
        return Solution(float(result.fun), slope, visits), prices, visits[self.part_row]
