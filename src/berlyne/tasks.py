"""What an internal model is good for: navigation and reward acquisition.

Paper: Sec. 3.7, Fig. 8. An explorer is stopped and asked to use what it has learned. For each task the policy that is
best *under its internal model* is worked out, then evaluated exactly *in the true world*, and compared with the
policy that is best there. The difference is its loss.

- Navigation: from every state to every target in as few steps as possible. The policy minimises the expected number of
  steps under the model. A policy that is wrong about the world may never arrive, so what counts is the
  expected number of steps up to a cap, for both policies (reading R18). The objective policy minimises
  the steps without a cap, so a loss may be negative by a trifle.
- Reward: as much reward as possible in 100 steps from every state, paid on entering a state (R20). The policy depends
  on the steps left.

Where a model finds several actions equally good, within the tolerance of reading R8, a policy takes any of them
with equal chance at every step. An explorer that has not tried any action of a state believes them equal, and
which of them comes first is an accident of numbering: `ties="lowest"` shows what that accident costs.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import Literal

import numpy as np

from berlyne.engine.tasks.collect import collect, new_ledger
from berlyne.engine.tasks.lanes import LANES, pack_lanes, unpack_lanes
from berlyne.engine.tasks.models import Layout, Model, Models, Reader
from berlyne.engine.tasks.navigate import Policies, navigate, new_search
from berlyne.engine.tasks.walk import new_walk
from berlyne.frozen import Frozen, read_only
from berlyne.validation import FloatArray, Seed, check_count, generator
from berlyne.worlds.world import World, check_world

Ties = Literal["uniform", "lowest"]

N_REWARDS = 10
HORIZON = 100
CAP_PER_STATE = 20


def draw_rewards(n_states: int, seed: Seed, n_structures: int = N_REWARDS) -> FloatArray:
    """Reward structures, `(n_structures, N)`: standard normal rewards for entering each state (Sec. 3.7)."""
    return generator(seed).standard_normal((check_count("n_structures", n_structures, 1), n_states))


def navigation_loss(world: World, model: Model, cap: int | None = None, *, ties: Ties = "uniform") -> float:
    """Expected number of steps that a model costs in navigation, averaged over N start states and N targets.

    Paper: Sec. 3.7; reading R18. `cap` is 20 N unless given. See `Tasks` for many models of one world.
    """
    return float(Tasks(world, cap=cap, ties=ties).navigation_loss([model])[0])


def reward_loss(
    world: World, model: Model, rewards: FloatArray, horizon: int = HORIZON, *, ties: Ties = "uniform"
) -> float:
    """Expected reward that a model costs, averaged over N start states and the structures `rewards` (R, N).

    Paper: Sec. 3.7; reading R20. See `Tasks` for many models of one world.
    """
    return float(Tasks(world, rewards, horizon=horizon, ties=ties).reward_loss([model])[0])


class Tasks(Frozen):
    """The tasks of one world; its objective optimum is worked out once, when it is first needed.

    Methods take K models at once: a sequence of `berlyne.engine.tasks.models.Model`, or counts (K, M, N, N).

    Parameters
    ----------
    world : the true world.
    rewards : (R, N), rewards for entering each state; None for navigation only.
    cap : steps after which navigation is given up, 20 N unless given (reading R18).
    horizon : steps in which to collect reward.
    ties : whether tied actions are taken with equal chance, or the lowest of them always.

    Examples
    --------
    >>> import berlyne
    >>> world = berlyne.maze(0)
    >>> tasks = Tasks(world, draw_rewards(world.n_states, seed=0))
    >>> run = berlyne.explore(world, "PIG(VI)", n_steps=500, seed=0, snapshots=[50, 500])
    >>> early, late = tasks.navigation_loss([run.snapshots[50], run.snapshots[500]])
    >>> bool(early > late > 0)
    True
    """

    _fixed = ("world", "n_states", "n_actions", "cap", "horizon", "rewards")

    def __init__(
        self,
        world: World,
        rewards: FloatArray | None = None,
        *,
        cap: int | None = None,
        horizon: int = HORIZON,
        ties: Ties = "uniform",
    ) -> None:
        if ties not in ("uniform", "lowest"):
            raise ValueError(f"ties is {ties!r}; it must be 'uniform' or 'lowest'")
        self.world, self.n_states, self.n_actions = check_world(world), world.n_states, world.n_actions
        self.cap = CAP_PER_STATE * world.n_states if cap is None else check_count("cap", cap, 1)
        self.horizon = check_count("horizon", horizon, 0)
        self.rewards = None if rewards is None else _checked_rewards(rewards, world.n_states)
        self._lowest = ties == "lowest"
        self._reader = Reader(world)
        self._truth = self._reader.truth.chain(world.rows)

    def _remedy(self, name: str) -> str:
        return "make another Tasks(world, rewards)"

    def navigation_times(self, models: Models) -> FloatArray:
        """E[min(steps, cap)] in the true world of each model's policies, `(K, N, N)` over [model, start, target]."""
        return self._navigation_times(self._reader.read(models))

    def reward_totals(self, models: Models) -> FloatArray:
        """Expected total reward in the true world of each model's policies, `(K, R, N)`: [model, structure, start]."""
        return self._reward_totals(self._reader.read(models))

    def navigation_loss(self, models: Models) -> FloatArray:
        """Steps lost to the objectively best policies, averaged over starts and targets, `(K,)`."""
        return self._navigation_loss(self._reader.read(models))

    def reward_loss(self, models: Models) -> FloatArray:
        """Reward lost to the objectively best policies, averaged over structures and starts, `(K,)`."""
        return self._reward_loss(self._reader.read(models))

    def losses(self, models: Models) -> FloatArray:
        """Both losses, `(K, 2)`: navigation, reward."""
        batches = list(self._reader.read(models))
        return np.stack([self._navigation_loss(batches), self._reward_loss(batches)], axis=1)

    @property
    def best_times(self) -> FloatArray:
        """E[min(steps, cap)] of the objectively best policies, `(N, N)` over [start, target]."""
        return unpack_lanes(self._optimum.times, self.n_states).T

    @cached_property
    def best_totals(self) -> FloatArray:
        """Expected total reward of the objectively best policies, `(R, N)` over [structure, start]."""
        return np.asarray(self._collect(self._reader.truth, self._truth.weight[None])[0])

    @cached_property
    def _optimum(self) -> Policies:
        """The objectively best policies."""
        first = np.zeros((-(-self.n_states // LANES), self.n_states * LANES), dtype=np.int32)
        none = Policies(first, np.empty((0, 0)), np.empty((0, 0)))
        found = self._navigate(self._reader.truth, self._truth.weight[None], none)
        return found._replace(times=found.times[0])

    def _navigation_times(self, batches: Iterable[tuple[Layout, FloatArray]]) -> FloatArray:
        blocks = [self._navigate(layout, weights, self._optimum).times for layout, weights in batches]
        return np.asarray(unpack_lanes(np.concatenate(blocks), self.n_states).transpose(0, 2, 1))

    def _reward_totals(self, batches: Iterable[tuple[Layout, FloatArray]]) -> FloatArray:
        return np.concatenate([self._collect(layout, weights) for layout, weights in batches])

    def _navigation_loss(self, batches: Iterable[tuple[Layout, FloatArray]]) -> FloatArray:
        return np.asarray((self._navigation_times(batches) - self.best_times).mean(axis=(1, 2)))

    def _reward_loss(self, batches: Iterable[tuple[Layout, FloatArray]]) -> FloatArray:
        return np.asarray((self.best_totals - self._reward_totals(batches)).mean(axis=(1, 2)))

    def _navigate(self, layout: Layout, weights: FloatArray, known: Policies) -> Policies:
        """The policies of the last of K models, and the times (K, B, N 12) of all; see `berlyne.engine.tasks.navigate`.

        Policy iteration starts from the policies that are `known`, which always arrive if the model thinks possible
        what is. Where it starts does not change where it ends.
        """
        n_blocks, size = known.actions.shape
        times, taken = np.zeros((len(weights), n_blocks, size)), np.empty((n_blocks, size * self.n_actions))
        found = Policies(np.empty_like(known.actions), taken, times)
        search, walk = (
            new_search(layout.elimination, self.n_actions),
            new_walk(self._truth, self._reader.truth.elimination),
        )
        navigate(layout.graph, weights, search, walk, known, found, self.cap, self._lowest)
        return found

    def _collect(self, layout: Layout, weights: FloatArray) -> FloatArray:
        if self.rewards is None:
            raise ValueError("these tasks have no rewards; make them as Tasks(world, rewards)")
        blocks, ledger = pack_lanes(self.rewards), new_ledger(self.n_states, self.n_actions)
        out = np.empty((len(weights), *blocks.shape))
        collect(layout.graph, weights, self._truth, ledger, blocks, self.horizon, self._lowest, out)
        return unpack_lanes(out, len(self.rewards))


def _checked_rewards(rewards: FloatArray, n_states: int) -> FloatArray:
    array = np.array(rewards, dtype=np.float64)
    if array.ndim != 2 or array.shape[1] != n_states or not len(array) or not np.all(np.isfinite(array)):
        raise ValueError(f"rewards have shape {array.shape}; they must be finite numbers (n_structures, {n_states})")
    return read_only(array)
