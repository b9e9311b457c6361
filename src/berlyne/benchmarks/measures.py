"""Value of the data of an explorer: the same measures, under the same prior, for all.

An explorer may plan with any model, and some have none. So nothing that it believes is measured. Its path is counted,
and the counts are read under one common prior for all explorers of a world. Only rows that can be reached count
(`World.measured_rows`).

`Evaluator(world, prior, rewards=...)` is created once for each world. `evaluator.measure(states, actions, next_states)`
returns the `PathMeasures` of a path: two curves over time, and the numbers that `MEASURES` lists:

    evaluator = Evaluator(world, prior, rewards=draw_rewards(world.n_states, seed))
    measures = evaluator.measure(run.states, run.actions, run.next_states, seconds=elapsed)
    measures.missing_information      # bits before the first and after every step, (n_steps + 1,)
    measures.numbers()                # {"missing_information": ..., "area": ..., "mean_l1": ..., ...}

Under a `Dirichlet` prior all steps of a path are measured at once, in NumPy. Every other prior whose rows are
independent is measured step by step.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from berlyne.agents.make import make_agent
from berlyne.engine.records import RunRecord
from berlyne.exploration.run import count_transitions
from berlyne.frozen import Frozen, FrozenArrays, read_only
from berlyne.information import entropy
from berlyne.models.internal_model import InternalModel
from berlyne.priors import Dirichlet, Prior
from berlyne.priors.protocols import discovers_states
from berlyne.priors.refit import refit_schedule
from berlyne.strategies.registry import get_strategy
from berlyne.tasks import HORIZON, Tasks
from berlyne.validation import FloatArray, IndexArray, IntArray, short_repr
from berlyne.worlds.world import NO_PRIOR, World, check_world

KNOWN = 0.1
"""A world counts as known when this share of the missing information is left."""


class Measure(NamedTuple):
    """A number that describes a path.

    Attributes
    ----------
    label : str
        Name in tables and figures, with its unit.
    sign : int
        -1 if smaller is better, 1 if larger is better, 0 if neither.
    """

    label: str
    sign: int


MEASURES = {
    "missing_information": Measure("missing information at the end (bits)", -1),
    "area": Measure("area under missing information (bits steps)", -1),
    "mean_l1": Measure("mean L1 error of rows", -1),
    "largest_l1": Measure("largest L1 error of a row", -1),
    "reward_loss": Measure("reward loss, mean over rewards", -1),
    "worst_reward_loss": Measure("reward loss, worst rewards", -1),
    "pair_entropy": Measure("entropy of visited pairs (bits)", 0),
    "share_tried": Measure("share of reachable rows tried", 1),
    "steps_to_tenth": Measure("steps until 10 % is missing", -1),
    "microseconds": Measure("µs per step", -1),
}
"""Numbers of a path, by the name of their attribute of `PathMeasures`."""


@dataclass(frozen=True, eq=False)
class PathMeasures(FrozenArrays):
    """Value of the data of one path under a common prior.

    Attributes
    ----------
    missing_information : ndarray of shape (n_steps + 1,)
        Missing information before the first and after every step, in bits (Eq. 2, `eq:IM`), of the rows that count.
    l1_distance : ndarray of shape (n_steps + 1,)
        L1 distance at the same times, summed over these rows.
    mean_l1, largest_l1 : float
        Mean and largest L1 distance of a row after the last step, from 0 to 2.
    reward_loss, worst_reward_loss : float
        Reward that the policies of the final estimate lose compared with the best ones, averaged over the states that
        count: the mean over reward structures, and the largest loss of one of them. NaN without rewards.
    pair_entropy : float
        Entropy of the share of steps in each pair of a state and an action, in bits.
    share_tried : float
        Share of the rows that count which were tried.
    steps_to_tenth : float
        First time at which at most a tenth of the initial missing information is left; inf if that never happens.
    microseconds : float
        Time per step, in µs; NaN if it was not measured.
    """

    missing_information: FloatArray = field(repr=False)
    l1_distance: FloatArray = field(repr=False)
    mean_l1: float
    largest_l1: float
    reward_loss: float
    worst_reward_loss: float
    pair_entropy: float
    share_tried: float
    steps_to_tenth: float
    microseconds: float

    @property
    def area(self) -> float:
        """Area under the missing information, its sum over steps 0..n_steps (R14), in bits times steps."""
        return float(self.missing_information.sum())

    def numbers(self) -> dict[str, float]:
        """Return the number of each of `MEASURES`, by name; the missing information is that after the last step."""
        values = {name: getattr(self, name) for name in MEASURES}
        return {**values, "missing_information": float(self.missing_information[-1])}


class Evaluator(Frozen):
    """Measure paths in one world under one common prior.

    Parameters
    ----------
    world : World
        The true world.
    prior : Prior, optional
        Common prior of all explorers; by default that of the world. Its rows must be independent, so it must neither
        learn parameters nor discover states.
    rewards : ndarray of shape (R, N), optional
        Rewards for entering each state, such as `berlyne.tasks.draw_rewards` draws. Without them no reward loss is
        computed.
    horizon : int or inf, optional
        Number of steps in which reward is collected. By default the horizon of the world or, if it has none, 100 steps
        without a discount, and no limit with one.
    gamma : float
        Discount of rewards, in (0, 1].

    Examples
    --------
    >>> import berlyne
    >>> world = berlyne.maze(0)
    >>> run = berlyne.explore(world, "PIG(VI)", n_steps=500, seed=0)
    >>> measures = Evaluator(world).measure(run.states, run.actions, run.next_states)
    >>> bool(np.allclose(measures.missing_information, run.missing_information))
    True
    """

    _fixed = ("world", "prior", "rewards", "horizon", "gamma")

    def __init__(
        self,
        world: World,
        prior: Prior | None = None,
        *,
        rewards: FloatArray | None = None,
        horizon: float | None = None,
        gamma: float = 1.0,
    ) -> None:
        world = check_world(world)
        self.world = world if prior is None else world.with_prior(prior)
        if self.world.prior is None:
            raise ValueError(NO_PRIOR)
        self.prior: Any = self.world.prior
        _check_fixed(self.prior)
        if horizon is None:
            horizon = world.horizon or (HORIZON if gamma == 1.0 else math.inf)
        self.rewards, self.horizon, self.gamma = rewards, horizon, gamma
        self._tasks = None if rewards is None else Tasks(self.world, rewards, horizon=horizon, gamma=gamma)

    def _remedy(self, name: str) -> str:
        return "create a new Evaluator(world, prior)"

    def measure(
        self, states: IndexArray, actions: IndexArray, next_states: IndexArray, seconds: float = math.nan
    ) -> PathMeasures:
        """Measure a path.

        Parameters
        ----------
        states : ndarray of int, shape (n_steps,) or (n_steps + 1,)
            Number of the state in which each action was taken. A last state, after the last step, is ignored.
        actions, next_states : ndarray of int, shape (n_steps,)
            Number of each action, and of the state to which it led.
        seconds : float
            Time that the explorer needed for all steps.

        Returns
        -------
        PathMeasures
            Curves and numbers of the path.

        Raises
        ------
        ValueError
            If the path is no path of numbers, or contains a transition that is impossible in the world.
        """
        path = self._checked(states, actions, next_states)
        missing, l1 = self._curves(*path)
        world, counts = self.world, count_transitions(self.world.n_actions, self.world.n_states, *path)
        model = InternalModel.from_counts(self.prior, counts, {})
        counted = world.measured_rows
        per_row = model.l1_distances(world).T.ravel()[counted]
        n_steps, tried = len(path[0]), counts.totals[counts.totals > 0]
        left = np.flatnonzero(missing <= KNOWN * missing[0])
        loss, worst = self._reward_losses(model)
        return PathMeasures(
            missing_information=missing,
            l1_distance=l1,
            mean_l1=float(per_row.mean()),
            largest_l1=float(per_row.max()),
            reward_loss=loss,
            worst_reward_loss=worst,
            pair_entropy=float(entropy(tried / tried.sum())) if n_steps else 0.0,
            share_tried=float(np.mean(counts.totals[counted] > 0)),
            steps_to_tenth=float(left[0]) if len(left) else math.inf,
            microseconds=1e6 * seconds / n_steps if n_steps else math.nan,
        )

    def _checked(self, states: Any, actions: Any, next_states: Any) -> tuple[IndexArray, IndexArray, IndexArray]:
        """Return a path of valid numbers, three arrays (n_steps,), or raise a `ValueError`."""
        n_steps, world = len(actions), self.world
        path = [np.asarray(states)[:n_steps], np.asarray(actions), np.asarray(next_states)]
        sizes = world.n_states, world.n_actions, world.n_states
        for name, numbers, size in zip(("states", "actions", "next_states"), path, sizes, strict=True):
            valid = numbers.shape == (n_steps,) and (not n_steps or np.issubdtype(numbers.dtype, np.integer))
            if not valid or np.any((numbers < 0) | (numbers >= size)):
                raise ValueError(f"{name} is {short_repr(numbers)}; it must be {n_steps} numbers from 0 to {size - 1}")
        s, a, s_next = (numbers.astype(np.int32) for numbers in path)
        row = s.astype(np.int64) * world.n_actions + a
        impossible = np.flatnonzero(~world.rows.support.contains(row, s_next.astype(np.int64)))
        if len(impossible):
            t = int(impossible[0])
            raise ValueError(
                f"step {t} leads from state {s[t]} by action {a[t]} to state {s_next[t]}; it must be a transition that "
                "is possible in the world"
            )
        return s, a, s_next

    def _curves(self, s: IndexArray, a: IndexArray, s_next: IndexArray) -> tuple[FloatArray, FloatArray]:
        """Missing information and L1 distance along a path, (n_steps + 1,) each."""
        if type(self.prior) is Dirichlet:  # a subclass may estimate otherwise
            row = s.astype(np.int64) * self.world.n_actions + a
            curves = [_accumulate(self._initial[i], change) for i, change in enumerate(self._changes(row, s_next))]
        else:
            record = RunRecord.allocate(
                len(a), int(s[0]) if len(s) else 0, self._initial[0].sum(), self._initial[1].sum()
            )
            record = record._replace(states=np.append(s, s[-1:]), actions=a, outcomes=s_next)
            model = InternalModel(self.prior, n_states=self.world.n_states, n_actions=self.world.n_actions)
            make_agent(model, get_strategy("Random"), None, engine="numpy").follow(self.world, record)
            curves = [record.missing, record.l1]
        missing, l1 = (np.maximum(curve, 0.0) for curve in curves)  # rounding errors of a sum that ends near zero
        return missing, l1

    @cached_property
    def _initial(self) -> FloatArray:
        """Missing information and L1 distance of each row before the first step, (2, M N); 0 if it does not count."""
        model = InternalModel(self.prior, n_states=self.world.n_states, n_actions=self.world.n_actions)
        by_row = model.missing_information_by_row(self.world), model.l1_distances(self.world)
        return read_only(np.stack([values.T.ravel() for values in by_row]))

    def _changes(self, row: IntArray, s_next: IndexArray) -> FloatArray:
        """Change of missing information and of L1 distance by each step under a Dirichlet prior, (2, n_steps)."""
        order = np.argsort(row, kind="stable")
        after = self._after_each_look(row[order], s_next[order].astype(np.int64))
        first = np.diff(row[order], prepend=-1) != 0  # the first look at a row
        before = np.where(first, self._initial[:, row[order]], np.roll(after, 1, axis=1))
        changes = np.empty_like(after)
        changes[:, order] = np.where(self.world.measured_rows[row[order]], after - before, 0.0)
        return changes

    def _after_each_look(self, row: IntArray, s_next: IntArray) -> FloatArray:
        """Missing information and L1 distance of a row after each look, (2, n_steps); looks are sorted by row.

        The outcomes of all rows are laid out in one array: row by row, outcome by outcome, look by look. A running sum
        over it counts the outcomes.
        """
        rows = self.world.rows
        visited, first, n_looks = np.unique(row, return_index=True, return_counts=True)
        size, group = np.diff(rows.indptr)[visited], np.repeat(np.arange(len(visited)), n_looks)
        begin = np.concatenate([[0], np.cumsum(size * n_looks)]).astype(np.int64)
        look = np.arange(len(row)) - first[group]  # 0 for the first look at a row
        outcome = rows.support.positions(row, s_next) - rows.indptr[row]
        hits = np.zeros(begin[-1], dtype=np.int64)
        hits[begin[group] + outcome * n_looks[group] + look] = 1
        of_row = np.repeat(np.arange(len(visited)), size * n_looks)
        nth, k = np.divmod(np.arange(len(hits)) - begin[of_row], n_looks[of_row])  # which outcome, after which look
        running = np.concatenate([[0], np.cumsum(hits)])
        n = running[1:] - running[begin[of_row] + nth * n_looks[of_row]]
        entry, step = rows.indptr[visited[of_row]] + nth, first[of_row] + k
        alpha, kappa = self.prior.concentrations(rows)
        theta, theta_hat = rows.data[entry], (alpha[entry] + n) / (kappa[visited[of_row]] + k + 1)
        missing = np.bincount(step, theta * np.log2(theta / theta_hat), len(row))
        impossible = 1.0 - np.bincount(step, theta_hat, len(row))  # probability of outcomes that the world excludes
        l1 = np.bincount(step, np.abs(theta - theta_hat), len(row)) + np.maximum(impossible, 0.0)
        return np.stack([missing, l1])

    def _reward_losses(self, model: InternalModel) -> tuple[float, float]:
        """Mean and largest loss over reward structures, averaged over the states that count; NaN without rewards."""
        if self._tasks is None:
            return math.nan, math.nan
        lost = self._tasks.best_totals - self._tasks.reward_totals([model])[0]
        by_structure = lost[:, self.world.is_measured].mean(axis=1)
        return float(by_structure.mean()), float(by_structure.max())


def _accumulate(initial: FloatArray, changes: FloatArray) -> FloatArray:
    """Return a curve that begins with the sum of `initial` and changes at every step."""
    return np.cumsum(np.concatenate([[initial.sum()], changes]))


def _check_fixed(prior: Any) -> None:
    """Raise a `ValueError` if a prior learns parameters or discovers states."""
    if refit_schedule(prior) is not None or discovers_states(prior):
        raise ValueError(
            f"prior is {short_repr(prior)}, which changes with the data of each explorer; a common prior must be "
            "fixed, such as Dirichlet(1 / n_states, n_states=n_states, n_actions=n_actions)"
        )
