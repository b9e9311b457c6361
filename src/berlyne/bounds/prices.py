r"""The program over expected visits in worlds with a horizon, solved by prices of looks; its value is proved.

With visits counted in every step of an episode, the linear program of `berlyne.bounds.flow` grows with the horizon H.
Its dual does not. Let lambda_r be a price of a look at row r. For all prices, and all numbers eta and u >= 0 with

$$F(\lambda, \eta, u) \le u ,$$

no explorer leaves less after T steps than

$$\sum_r v_r(\lambda_r) - u - \eta T .$$

F is the value of an episode whose steps earn lambda_r - eta, if it may be stopped at any time, and u follows its end.
Backward induction over the H steps of an episode computes it (`berlyne.engine.episodes`). So every choice of prices is
proved by itself, and an optimizer may be inexact. docs/explanation/bounds.md has the argument.

The prices are found by L-BFGS, with maxima that are made smooth by a temperature, which is lowered in a few stages. The
policy of each stage is a solution of the flow equations. Its loss is at least the value of the program, so it tells how
much larger the bound could be (`Solution.gap`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple, cast

import numpy as np

from berlyne.bounds.flow import Solution, kinds_of
from berlyne.bounds.learning import Part
from berlyne.engine.episodes import EpisodeGraph, episode_values, episode_visits
from berlyne.validation import FloatArray, IntArray
from berlyne.worlds.world import World

RATIO = 1.1
"""Ratio of successive prices at which values of rows are computed."""
LOWEST_PRICE = 1e-7
"""Lowest price, as a share of the highest."""
TEMPERATURES = (1.0, 0.3, 0.1, 0.03, 0.01, 0.003)
"""Temperatures of the stages, as shares of eta."""
FIRST_CHECK = 3
"""Stages before this one are not checked for their gap."""
GAP, ROUGH_GAP = 5e-3, 1e-2
"""Gaps, as shares, at which the search for prices ends."""
MAX_ITERATIONS, ROUGH_ITERATIONS = 300, 120
"""Largest number of iterations of a stage."""
N_BISECTIONS = 25


class Episode(NamedTuple):
    """Policy of one episode with given prices.

    Attributes
    ----------
    eta : float
        Price of a step.
    ended : float
        Probability that an episode goes on to its end.
    n_steps : float
        Expected number of steps of an episode.
    visits : ndarray of shape (R,)
        Expected visits of the rows that count, in an episode.
    """

    eta: float
    ended: float
    n_steps: float
    visits: FloatArray


class RowValues:
    """Values v(price) of all kinds of rows, at prices in a geometric sequence, computed when they are needed.

    Parameters
    ----------
    kinds : sequence of sequence of Part
        Parts of each kind of row.
    kind : ndarray of int, shape (R,)
        Kind of each row that counts.
    """

    def __init__(self, kinds: Sequence[Sequence[Part]], kind: IntArray) -> None:
        self._kinds, self.kind = kinds, kind
        highest = 1.2 * max(sum(float(part.curve.losses[0]) for part in parts) for parts in kinds)
        n_prices = math.ceil(-math.log(LOWEST_PRICE) / math.log(RATIO))
        self._step = math.log(RATIO)
        self.logs = math.log(max(highest, 1e-12)) - self._step * np.arange(n_prices)[::-1]
        self.prices = np.exp(self.logs)
        self.middles = self.logs[:-1] + self._step / 2
        shape = len(kinds), n_prices
        self._values, self._looks, self._smooth = np.zeros(shape), np.zeros(shape), np.zeros(shape)
        self._lowest = np.full(len(kinds), n_prices)
        for k in range(len(kinds)):
            self._compute(k, n_prices - 2)
            self._smooth[k, -2] = self._values[k, -2:].mean()

    def _compute(self, k: int, lowest: int) -> None:
        """Compute the values of kind k at all prices from number `lowest` on."""
        for i in range(self._lowest[k] - 1, lowest - 1, -1):
            self._values[k, i] = sum(part.value(float(self.prices[i])) for part in self._kinds[k])
            if i + 1 < len(self.prices):
                change = self._values[k, i + 1] - self._values[k, i]
                self._looks[k, i] = max(change / (self.prices[i + 1] - self.prices[i]), self._looks[k, i + 1])
            if i + 2 < len(self.prices):
                low, high = self._looks[k, i : i + 2]
                ends = np.exp(self.middles[i : i + 2])
                self._smooth[k, i] = self._smooth[k, i + 1] - self._integral(low, high, self._step, *ends)
        self._lowest[k] = min(self._lowest[k], lowest)

    def _integral(self, low: Any, high: Any, width: Any, begin: Any, end: Any) -> Any:
        """Integral over prices from `begin` to `end`; looks change from `low` towards `high` with the log price."""
        return low * (end - begin) + (high - low) / self._step * (width * end - (end - begin))

    def smooth(self, logs: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return approximate values of all rows at log prices (R,), and their derivatives by the price: looks."""
        position = np.clip((logs - self.middles[0]) / self._step, 0.0, len(self.middles) - 1.0)
        i = np.minimum(position.astype(np.int64), len(self.middles) - 2)
        self._need(i)
        low, high = self._looks[self.kind, i], self._looks[self.kind, i + 1]
        width = (position - i) * self._step
        begin = np.exp(self.middles[i])
        end = begin * np.exp(width)
        looks = low + (high - low) * (position - i)
        within = self._integral(low, high, width, begin, end)
        return self._smooth[self.kind, i] + within + looks * (np.exp(logs) - end), looks

    def _need(self, i: IntArray) -> None:
        """Compute the values of each row from price number i (R,) on."""
        lowest = np.full(len(self._kinds), len(self.prices))
        np.minimum.at(lowest, self.kind, i)
        for k in np.flatnonzero(lowest < self._lowest):
            self._compute(int(k), int(lowest[k]))

    def total(self, logs: FloatArray) -> float:
        """Return a lower bound of the sum of the values at log prices (R,): values are concave in the price."""
        i = np.clip(((logs - self.logs[0]) / self._step).astype(np.int64), 0, len(self.logs) - 2)
        self._need(i)
        share = (np.exp(logs) - self.prices[i]) / (self.prices[i + 1] - self.prices[i])
        low, high = self._values[self.kind, i], self._values[self.kind, i + 1]
        return float(np.sum(low + np.clip(share, 0.0, 1.0) * (high - low)))

    def price_of(self, k: int, looks: float) -> float:
        """Return the price of one more look at a row of kind k after a number of looks."""
        return sum(part.curve.price(looks) for part in self._kinds[k])

    def losses(self, visits: FloatArray) -> float:
        """Return the sum of the losses of all rows after expected visits (R,): the largest of the lines v - price x."""
        total = 0.0
        for k in range(len(self._kinds)):
            x = visits[self.kind == k]
            while self._lowest[k] > 0 and self._looks[k, self._lowest[k]] < x.max():
                self._compute(k, int(self._lowest[k]) - 1)
            known = slice(self._lowest[k], None)
            total += float(np.sum(np.max(self._values[k, known] - np.outer(x, self.prices[known]), axis=1)))
        return total


class PricedProgram:
    """The program of a world with a horizon.

    Parameters
    ----------
    world : World
        The world, with a horizon.
    parts : list of list of Part
        Parts of each row that counts; equal rows have the same list.
    n_steps : int
        Largest number of steps.
    """

    n_tangents = 7
    """Number of times at which the bound of a whole curve is computed."""

    def __init__(self, world: World, parts: Sequence[Sequence[Part]], n_steps: int) -> None:
        assert world.horizon is not None
        rows = np.flatnonzero(world.possible_rows & np.repeat(world.reachable, world.n_actions))
        states = np.arange(world.n_states + 1)
        self._graph = EpisodeGraph(
            np.searchsorted(rows // world.n_actions, states).astype(np.int64),
            rows.astype(np.int64),
            world.rows.indptr.astype(np.int64),
            world.rows.indices.astype(np.int64),
            np.ascontiguousarray(world.rows.data, dtype=float),
            np.array(world.episodes.is_terminal),
            np.array(world.episodes.distribution, dtype=float),
        )
        self._counted, self._n_rows = np.flatnonzero(world.measured_rows), len(world.measured_rows)
        self.values = RowValues(*kinds_of(parts))
        self._levels = np.zeros((min(world.horizon, n_steps) + 1, world.n_states))
        self._visits = np.zeros(self._n_rows)
        self._eta = 0.0

    def episode(self, prices: FloatArray, restart: float, temperature: float) -> Episode:
        """Return the policy for prices (R,) and the smallest eta with F <= restart, by Newton's method.

        F is a convex, falling function of eta, and the derivative of F by eta is minus the expected number of steps.
        """
        reward, eta, episode = np.zeros(self._n_rows), self._eta, None
        for _ in range(100):
            reward[:] = -eta
            reward[self._counted] += prices
            excess = episode_values(self._graph, reward, restart, temperature, self._levels) - restart
            ended, n_steps = episode_visits(self._graph, reward, temperature, self._levels, self._visits)
            if n_steps < 1e-9:  # eta is so large that stopping at once is best
                eta /= 2.0
                continue
            episode = Episode(eta, ended, n_steps, self._visits[self._counted])
            eta += excess / n_steps
            if abs(eta - episode.eta) <= 1e-9 * eta:
                break
        assert episode is not None
        self._eta = eta
        return episode._replace(eta=eta)

    def objective(self, z: FloatArray, n_steps: float, temperature: float) -> tuple[float, FloatArray]:
        """Return minus the smooth bound, and its gradient by z: the log prices (R,) and log u."""
        prices, restart = np.exp(z[:-1]), math.exp(z[-1])
        values, looks = self.values.smooth(z[:-1])
        episode = self.episode(prices, restart, temperature)
        bound = values.sum() - restart - n_steps * episode.eta
        visits = n_steps / episode.n_steps * episode.visits
        stopped = n_steps / episode.n_steps * (1.0 - episode.ended)
        gradient = np.append((looks - visits) * prices, (stopped - 1.0) * restart)
        return -float(bound), -gradient

    def prove(self, z: FloatArray, n_steps: float) -> tuple[float, float]:
        """Return the bound of the log prices in z, and eta: with true maxima, and F <= u checked."""
        prices, log_u = np.exp(z[:-1]), self._balanced(z, n_steps, 0.0)
        restart, reward = math.exp(log_u), np.zeros(self._n_rows)
        eta = self.episode(prices, restart, 0.0).eta
        margin = 1e-10
        while True:  # ends, because F falls with eta
            larger = eta + margin * max(abs(eta), 1e-9)
            reward[:] = -larger
            reward[self._counted] += prices
            if episode_values(self._graph, reward, restart, 0.0, self._levels) <= restart:
                return self.values.total(z[:-1]) - restart - n_steps * larger, larger
            margin *= 10.0

    def _balanced(self, z: FloatArray, n_steps: float, temperature: float) -> float:
        """Return log u at which an exploration has at most `n_steps` steps before it stops, and nearly as many.

        With maxima the number of steps jumps, and the bound is largest at the jump.
        """
        prices, low, high = np.exp(z[:-1]), z[-1] - 12.0, z[-1] + 12.0
        for _ in range(N_BISECTIONS):
            middle = (low + high) / 2.0
            episode = self.episode(prices, math.exp(middle), temperature)
            if n_steps * (1.0 - episode.ended) >= episode.n_steps:
                low = middle
            else:
                high = middle
        return float(low)

    def feasible(self, z: FloatArray, n_steps: float, temperature: float) -> FloatArray | None:
        """Return expected visits of the rows that count, (R,), of an exploration of at most `n_steps` steps.

        Episodes follow each other until one of them is stopped, so their number is 1 / (1 - ended) on average. None if
        no such exploration is found.
        """
        log_u = self._balanced(z, n_steps, temperature)
        episode = self.episode(np.exp(z[:-1]), math.exp(log_u), temperature)
        stopped = 1.0 - episode.ended
        return episode.visits / stopped if n_steps * stopped >= episode.n_steps else None

    def solve(self, n_steps: float, rough: bool = False) -> Solution:
        """Search prices until the gap is small, or the last stage is over.

        Parameters
        ----------
        n_steps : float
            Number of steps.
        rough : bool
            Whether a larger gap will do.
        """
        z = self._begin(n_steps)
        best, least, visits = (-np.inf, 0.0), np.inf, np.zeros(len(self._counted))
        for stage, temperature in enumerate(TEMPERATURES):
            z = self._search(z, n_steps, temperature * self._eta, ROUGH_ITERATIONS if rough else MAX_ITERATIONS)
            if stage < FIRST_CHECK:
                continue
            eta = self._eta
            x = self.feasible(z, n_steps, temperature * eta)
            if x is not None and self.values.losses(x) < least:
                least, visits = self.values.losses(x), x
            self._eta = eta
            best = max(best, self.prove(z, n_steps))
            self._eta = eta
            if least - best[0] <= (ROUGH_GAP if rough else GAP) * least:
                break
        by_row = np.zeros(self._n_rows)
        by_row[self._counted] = visits
        value = max(best[0], 0.0)
        gap = 0.0 if least <= 0.0 else max(1.0 - value / least, 0.0)  # 1 if no such exploration was found
        return Solution(value, -best[1] if best[0] > 0.0 else 0.0, by_row, gap)

    def _begin(self, n_steps: float) -> FloatArray:
        """Return log prices and log u to begin with: those of equal visits of all rows."""
        target = n_steps / len(self._counted)
        looks = np.array([self._log_price(k, target) for k in range(self.values.kind.max() + 1)])
        logs = looks[self.values.kind]
        self._eta = float(np.exp(logs).mean())
        return np.append(logs, math.log(0.1 * self._eta * (len(self._levels) - 1)))

    def _log_price(self, k: int, looks: float) -> float:
        """Return the log price at which a row of kind k is worth about this number of looks."""
        price = self.values.price_of(k, looks)
        return float(np.clip(math.log(max(price, 1e-300)), self.values.logs[0], self.values.logs[-1]))

    def _search(self, z: FloatArray, n_steps: float, temperature: float, max_iterations: int) -> FloatArray:
        """Return better log prices and log u, by L-BFGS."""
        from scipy import optimize

        minimize = cast(Any, optimize.minimize)
        limits = (float(self.values.logs[0]), float(self.values.logs[-1]))
        result = minimize(
            self.objective,
            z,
            args=(n_steps, temperature),
            jac=True,
            method="L-BFGS-B",
            bounds=[limits] * (len(z) - 1) + [(limits[0] - 10.0, limits[1] + 10.0)],
            options={"maxiter": max_iterations, "maxcor": 30, "ftol": 1e-7},
        )
        return np.asarray(result.x)
