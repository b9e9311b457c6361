r"""Linear program over expected visits.

Let x_r be the expected number of looks at row r = (a, s) in the first T steps. Whatever an explorer does, every look
leads to s' with probability theta_r(s'). So expected arrivals and departures of every state agree:

$$\sum_a x_{a,s} + e_s = p_0(s) + \sum_r x_r \theta_r(s) + \rho\, p_0(s), \qquad \sum_r x_r = T,$$

where e is the distribution of the state after T steps, p_0 the start distribution and rho the expected number of
episodes that end. A look that leads to a terminal state ends an episode. With a horizon H, visits are counted
separately in every step of an episode, and the last of them ends it, wherever it leads. If that makes more than
`MAX_VISITS` variables, `berlyne.bounds.prices` bounds the value of the program instead. In worlds that are too large
for that, too, the program allows cuts anywhere, at most T / H of them.

The objective is a sum of convex functions, which is approximated from below by straight lines.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple, cast

import numpy as np

from berlyne.bounds.learning import Part
from berlyne.validation import FloatArray, IntArray
from berlyne.worlds.world import World

MAX_VISITS = 2_000
"""Largest number of pairs of a row and a step of an episode that are counted separately here."""
MAX_LEVELS = 20_000_000
"""Largest number of states times steps of an episode for which prices are searched instead."""
TOLERANCE, ROUGH_TOLERANCE = 1e-4, 1e-3
"""The program is solved again with more lines, until its value grows by less than this share."""
MAX_ROUNDS = 30
PRICE_RATIO = 1.02
"""Ratio of successive prices at which lines are drawn."""
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
    gap : float
        Share by which the value of the program can be larger; 0 if it was solved.
    """

    value: float
    slope: float
    visits: FloatArray
    gap: float = 0.0


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


class Envelope(NamedTuple):
    """A convex, piecewise linear function of the number of looks: the largest of several falling lines.

    Attributes
    ----------
    prices : ndarray of shape (L,)
        Minus the slope of each line, falling; the last is 0.
    values : ndarray of shape (L,)
        Value of each line at 0.
    ends : ndarray of shape (L - 1,)
        Number of looks at which each line but the last ends.
    """

    prices: FloatArray
    values: FloatArray
    ends: FloatArray

    @classmethod
    def of(cls, lines: dict[float, float]) -> Envelope:
        """Return the envelope of lines, given as value by price."""
        largest: list[tuple[float, float]] = []
        ends: list[float] = []
        for price, value in sorted(lines.items(), reverse=True):
            while largest:
                end = (largest[-1][1] - value) / (largest[-1][0] - price)
                if end > (ends[-1] if ends else 0.0):
                    ends.append(end)
                    break
                largest.pop()  # this line is never the largest
                if ends:
                    ends.pop()
            largest.append((price, value))
        prices, values = np.array(largest).T
        return cls(prices, values, np.array(ends))

    def price(self, looks: FloatArray) -> FloatArray:
        """Price of the line that is largest at each number of looks; just before it, where two lines meet."""
        return np.asarray(self.prices[np.searchsorted(self.ends, looks, side="left")])

    def refined(self, looks: FloatArray) -> set[float]:
        """Return prices between those of the lines that meet next to some numbers of looks."""
        i = np.searchsorted(self.ends, looks)
        low, high = np.maximum(i - 1, 0), np.minimum(i + 1, len(self.prices) - 1)
        between = [(self.prices[a] + self.prices[b]) / 2 for a, b in ((low, i), (i, high))]
        return set(np.concatenate(between).tolist())


def kinds_of(parts: Sequence[Sequence[Part]]) -> tuple[list[Sequence[Part]], IntArray]:
    """Return the different lists of parts, and the number of its list for each row."""
    kinds = {id(of_row): of_row for of_row in parts}
    number = {key: kind for kind, key in enumerate(kinds)}
    return list(kinds.values()), np.array([number[id(of_row)] for of_row in parts], dtype=np.int64)


class Program:
    """The linear program of a world, with lines that are shared by equal rows and by all numbers of steps.

    Parameters
    ----------
    world : World
        The world.
    parts : list of list of Part
        Parts of each row that counts; equal rows have the same list.
    n_steps : int
        Largest number of steps.
    """

    n_tangents = 12
    """Number of times at which the bound of a whole curve is computed."""

    def __init__(self, world: World, parts: Sequence[Sequence[Part]], n_steps: int) -> None:
        self.flow = flow_equations(world, n_steps)
        self.n_rows = len(world.measured_rows)
        self._counted = np.flatnonzero(world.measured_rows)
        self._kinds, self._kind = kinds_of(parts)
        self._lines: list[list[dict[float, float]]] = [[{} for _ in of_row] for of_row in self._kinds]
        for kind, of_row in enumerate(self._kinds):
            for i, part in enumerate(of_row):
                prices = {part.curve.price(looks) for looks in FIRST_LOOKS if looks <= 2 * n_steps}
                self._add(kind, i, prices | {float(part.curve.losses[0]), 0.0})

    def _add(self, kind: int, i: int, prices: set[float]) -> None:
        """Add lines of a part, at prices that are rounded so that many rows share them."""
        lines, part = self._lines[kind][i], self._kinds[kind][i]
        rounded = {PRICE_RATIO ** round(math.log(price, PRICE_RATIO)) if price > 0.0 else 0.0 for price in prices}
        lines.update({price: part.value(price) for price in rounded if price not in lines})

    def solve(self, n_steps: float, rough: bool = False) -> Solution:
        """Solve the program for a number of steps, adding lines until its value grows no more.

        Parameters
        ----------
        n_steps : float
            Number of steps.
        rough : bool
            Whether one round of little growth is enough, and what is little.
        """
        tolerance, patience = (ROUGH_TOLERANCE, 1) if rough else (TOLERANCE, 2)
        value, n_stalled = -np.inf, 0
        for _ in range(MAX_ROUNDS):
            envelopes = [[Envelope.of(lines) for lines in of_row] for of_row in self._lines]
            solution = self._solve(n_steps, envelopes)
            n_stalled = n_stalled + 1 if solution.value - value <= tolerance * solution.value else 0
            if n_stalled == patience:
                break
            value = solution.value
            for kind, of_row in enumerate(self._kinds):
                looks = np.unique(solution.visits[self._counted[self._kind == kind]])
                for i, part in enumerate(of_row):
                    slopes = {part.curve.price(x) for x in looks.tolist()}
                    self._add(kind, i, slopes | envelopes[kind][i].refined(looks))
        return solution

    def _solve(self, n_steps: float, envelopes: list[list[Envelope]]) -> Solution:
        """Solve the program with some lines.

        The loss of a row falls along the segments of its envelope, ever more slowly. So the looks at a row are a sum of
        variables, one for each segment, which are filled in this order because earlier segments are steeper.
        """
        from scipy import optimize

        linprog, flow = cast(Any, optimize.linprog), self.flow
        segments = [_segments(of_row) for of_row in envelopes]
        row = np.repeat(self._counted, [len(segments[kind][0]) for kind in self._kind])
        width = np.concatenate([segments[kind][0] for kind in self._kind])
        slope = np.concatenate([segments[kind][1] for kind in self._kind])
        initial = sum(float(envelope.values[0]) for kind in self._kind for envelope in envelopes[kind])
        matrix = _with_segments(flow, row, self.n_rows)
        n_flow = flow.matrix.shape[1]
        result = linprog(
            np.concatenate([np.zeros(n_flow), slope]),
            A_eq=matrix,
            b_eq=np.concatenate(
                [flow.at_start + n_steps * flow.per_step, np.zeros(matrix.shape[0] - len(flow.at_start))]
            ),
            bounds=np.stack([np.zeros(n_flow + len(width)), np.concatenate([np.full(n_flow, np.inf), width])], axis=1),
            method="highs",
        )
        if result.status != 0:
            raise RuntimeError(f"the linear program of expected visits was not solved: {result.message}")
        visits: FloatArray = np.bincount(flow.row, result.x[: len(flow.row)], self.n_rows).astype(float)
        change = min(float(result.eqlin.marginals[: len(flow.per_step)] @ flow.per_step), 0.0)
        return Solution(max(initial + float(result.fun), 0.0), change, visits)


def _segments(envelopes: Sequence[Envelope]) -> tuple[FloatArray, FloatArray]:
    """Return the widths of the segments of a sum of envelopes, and its slope on each."""
    ends = np.unique(np.concatenate([envelope.ends for envelope in envelopes]))
    width = np.diff(np.concatenate([[0.0], ends, [np.inf]]))
    right = np.append(ends, np.inf)
    slope: FloatArray = -np.sum([envelope.price(right) for envelope in envelopes], axis=0)
    return width, slope


def _with_segments(flow: Flow, row: IntArray, n_rows: int) -> Any:
    """Return the equations with further variables, segments of the looks at `row`, whose sums are the visits."""
    sp = _scipy_sparse()
    linked = np.unique(row)
    position = np.full(n_rows, -1)
    position[linked] = np.arange(len(linked))
    of_visit = position[flow.row]
    visit, segment = np.flatnonzero(of_visit >= 0), np.arange(len(row))
    visits = sp.csr_array((np.ones(len(visit)), (of_visit[visit], visit)), shape=(len(linked), flow.matrix.shape[1]))
    parts = sp.csr_array((-np.ones(len(row)), (position[row], segment)), shape=(len(linked), len(row)))
    return sp.csc_array(sp.block_array([[flow.matrix, None], [visits, parts]]))
