"""Tasks that test an internal model: navigation and reward acquisition.

Paper: Sec. 3.7, Fig. 8. An explorer stops and uses its internal model. For each task, the best policy *under the
internal model* is computed, and then evaluated exactly *in the true world*. Its loss is measured relative to the
policy that is best in the true world (the objective policy).

- Navigation: reach every target from every state in as few steps as possible. The policy minimises the expected number
  of steps under the model. With a wrong model it may never arrive, so both policies are evaluated by the expected
  number of steps up to a cap (reading R18). The objective policy minimises the steps without a cap, so a loss may be
  slightly negative.
  If the number of steps is limited and the policy knows it (`horizon`), its policy minimises the expected number of
  steps up to the horizon and depends on the number of remaining steps, so no loss is negative.
- Reward: collect as much reward as possible in 100 steps from every state. Rewards are paid on entering a state (R20).
  The policy depends on the number of remaining steps.

Terminal states end an episode, in the model and in the true world: policies know them. A walk that ends in a state that
is not its target has missed it, and counts as one that never arrives: a policy without a horizon expects it to cost as
many steps as the cap. Nothing is earned after an end. Losses are averaged over the states that are not terminal. With a
discount, step t counts gamma^(t - 1), both as a step and as a reward. No policy takes an action that is not possible in
the world. In the paper's worlds no state is terminal and all actions are possible, and the paper does not discount.

A navigation loss can rise while a model improves. The policy of an empty model wanders, and arrives some time. A model
that knows some actions may believe in a short cut: under a prior over all states, an action never tried leads to the
target with some probability. If it leads back in truth, the policy repeats it up to the cap, because it learns nothing
on the way. The loss falls once such actions were tried.

If several actions are equally good under a model, within the tolerance of reading R8, a policy takes each of them with
equal probability at every step. An explorer that has tried no action of a state believes all of them equal, and their
numbers are arbitrary. `ties="lowest"` shows the effect of always taking the lowest number.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import cached_property
from typing import Literal

import numpy as np

from berlyne.engine.blocks import Block, call
from berlyne.engine.tasks.collect import Rewards, collect, new_ledger
from berlyne.engine.tasks.eliminate import GIVE_UP, Ends
from berlyne.engine.tasks.hub import through_hubs
from berlyne.engine.tasks.lanes import LANES, Chain, ChainBatch, pack_lanes, unpack_lanes
from berlyne.engine.tasks.models import Layout, Model, Models, Reader
from berlyne.engine.tasks.navigate import Policies, navigate, new_search
from berlyne.engine.tasks.walk import new_walk
from berlyne.frozen import Frozen, read_only
from berlyne.validation import FloatArray, IntArray, Seed, check_count, check_number, generator
from berlyne.worlds.world import World, check_world

Ties = Literal["uniform", "lowest"]
Over = Literal["mean", "worst"]

N_REWARDS = 10
"""Default number of reward structures."""
HORIZON = 100
"""Default number of steps in which to collect reward."""
CAP_PER_STATE = 20
"""The default cap of navigation is this many steps times N."""
NEGLIGIBLE = 1e-15
"""With an infinite horizon, later steps are left out if their discount is smaller than this."""


def draw_rewards(n_states: int, seed: Seed, n_structures: int = N_REWARDS) -> FloatArray:
    """Draw standard normal rewards for entering each state (Sec. 3.7).

    Parameters
    ----------
    n_states : int
        N.
    seed : int, SeedSequence or Generator
        Seed of the draws.
    n_structures : int
        Number of reward structures.

    Returns
    -------
    ndarray of shape (n_structures, N)
        The rewards.
    """
    return generator(seed).standard_normal((check_count("n_structures", n_structures, 1), n_states))


def navigation_loss(
    world: World,
    model: Model,
    cap: int | None = None,
    *,
    horizon: int | None = None,
    gamma: float = 1.0,
    ties: Ties = "uniform",
) -> float:
    """Navigation loss of a model, in steps, averaged over all targets, and all start states that are not terminal.

    Paper: Sec. 3.7; reading R18. Use `Tasks` for many models of one world.

    Parameters
    ----------
    world : World
        The true world.
    model : InternalModel, Counts, Rows or ndarray of shape (M, N, N)
        The internal model. `Counts` are used with the prior of the world; an array is `theta_hat[a, s, s_next]`.
    cap : int, optional
        Number of steps after which navigation ends; by default 20 N.
    horizon : int, optional
        Number of steps after which navigation ends, if policies know it and depend on the number of remaining steps.
    gamma : float
        Discount, in (0, 1].
    ties : {"uniform", "lowest"}
        Whether tied actions are taken with equal probability, or always the lowest.

    Returns
    -------
    float
        Expected additional steps compared with the objective policy.
    """
    return float(Tasks(world, cap=cap, gamma=gamma, ties=ties).navigation_loss([model], horizon)[0])


def reward_loss(
    world: World,
    model: Model,
    rewards: FloatArray,
    horizon: float = HORIZON,
    *,
    gamma: float = 1.0,
    over: Over = "mean",
    ties: Ties = "uniform",
) -> float:
    """Reward loss of a model, averaged over the start states that are not terminal.

    Paper: Sec. 3.7; reading R20. Use `Tasks` for many models of one world.

    Parameters
    ----------
    world : World
        The true world.
    model : InternalModel, Counts, Rows or ndarray of shape (M, N, N)
        The internal model. `Counts` are used with the prior of the world; an array is `theta_hat[a, s, s_next]`.
    rewards : ndarray of shape (R, N)
        Rewards for entering each state.
    horizon : int or inf
        Number of steps; `math.inf` only with a discount.
    gamma : float
        Discount, in (0, 1].
    over : {"mean", "worst"}
        Whether to return the mean over reward structures, or the largest loss of one of them.
    ties : {"uniform", "lowest"}
        Whether tied actions are taken with equal probability, or always the lowest.

    Returns
    -------
    float
        Expected reward lost compared with the objective policy.
    """
    return float(Tasks(world, rewards, horizon=horizon, gamma=gamma, ties=ties).reward_loss([model], over)[0])


class Tasks(Frozen):
    """The tasks of one world; the objective policies are computed once, when they are first needed.

    Methods take K models at once: a sequence of `berlyne.engine.tasks.models.Model`, or counts (K, M, N, N).

    Parameters
    ----------
    world : World
        The true world.
    rewards : ndarray of shape (R, N), optional
        Rewards for entering each state. Without them only navigation is available.
    cap : int, optional
        Number of steps after which navigation ends; by default 20 N (reading R18).
    horizon : int or inf
        Number of steps in which to collect reward; `math.inf` only with a discount.
    gamma : float
        Discount, in (0, 1]: step t counts gamma^(t - 1).
    ties : {"uniform", "lowest"}
        Whether tied actions are taken with equal probability, or always the lowest.

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

    _fixed = ("world", "n_states", "n_actions", "cap", "horizon", "gamma", "rewards")

    def __init__(
        self,
        world: World,
        rewards: FloatArray | None = None,
        *,
        cap: int | None = None,
        horizon: float = HORIZON,
        gamma: float = 1.0,
        ties: Ties = "uniform",
    ) -> None:
        if ties not in ("uniform", "lowest"):
            raise ValueError(f"ties is {ties!r}; it must be 'uniform' or 'lowest'")
        self.world, self.n_states, self.n_actions = check_world(world), world.n_states, world.n_actions
        self.cap = CAP_PER_STATE * world.n_states if cap is None else check_count("cap", cap, 1)
        self.gamma = check_number("gamma", gamma, 0.0, 1.0, open_low=True)
        self.horizon = horizon if horizon == math.inf else check_count("horizon", horizon, 0)  # type: ignore[arg-type]
        self._n_steps = _number_of_steps(self.horizon, self.gamma)
        self.rewards = None if rewards is None else _checked_rewards(rewards, world.n_states)
        self._lowest = ties == "lowest"
        self._reader = Reader(world)
        self._truth = self._reader.truth.chain(self._reader.rows)
        self._stops_at_ends = self._reader.stop_at_ends(self._reader.truth, self._truth.weight[None])
        missed = self.cap if self.gamma == 1.0 else (1.0 - self.gamma**self.cap) / (1.0 - self.gamma)
        self._allowed = read_only(np.ascontiguousarray(world.allowed.T).ravel())  # of rows s M + a
        if np.all(self._allowed):
            self._allowed = read_only(np.empty(0, dtype=np.bool_))
        give_up = max(GIVE_UP, 1.0 - self.gamma)
        self._ends = Ends(self.n_states, give_up, world.terminal, float(missed), self._allowed)

    def _remedy(self, name: str) -> str:
        return "create a new Tasks(world, rewards)"

    def navigation_times(self, models: Models, horizon: int | None = None) -> FloatArray:
        """E[min(steps, cap)] of each model's policies in the true world, `(K, N, N)`: [model, start, target].

        With a horizon, E[min(steps, horizon)] of policies that know it.
        """
        return self._navigation_times(self._reader.read(models), horizon)

    def reward_totals(self, models: Models) -> FloatArray:
        """Expected total reward of each model's policies in the true world, `(K, R, N)`: [model, structure, start]."""
        return self._reward_totals(self._reader.read(models))

    def navigation_loss(self, models: Models, horizon: int | None = None) -> FloatArray:
        """Additional steps compared with the objective policies, averaged over starts and targets, `(K,)`."""
        return self._navigation_loss(self._reader.read(models), horizon)

    def reward_loss(self, models: Models, over: Over = "mean") -> FloatArray:
        """Reward lost compared with the objective policies, averaged over starts, `(K,)`.

        Parameters
        ----------
        models : sequence of Model, or ndarray of int, shape (K, M, N, N)
            The models.
        over : {"mean", "worst"}
            Whether to return the mean over reward structures, or the largest loss of one of them.

        Returns
        -------
        ndarray of shape (K,)
            Expected reward lost.
        """
        if over not in ("mean", "worst"):
            raise ValueError(f"over is {over!r}; it must be 'mean' or 'worst'")
        return self._reward_loss(self._reader.read(models), over)

    def losses(self, models: Models) -> FloatArray:
        """Navigation loss and reward loss of each model, `(K, 2)`."""
        batches = list(self._reader.read(models))
        return np.stack([self._navigation_loss(batches), self._reward_loss(batches)], axis=1)

    @property
    def best_times(self) -> FloatArray:
        """E[min(steps, cap)] of the objective policies, `(N, N)`: [start, target]."""
        return unpack_lanes(self._optimum.times, self.n_states).T

    @cached_property
    def best_totals(self) -> FloatArray:
        """Expected total reward of the objective policies, `(R, N)`: [structure, start]."""
        return np.asarray(self._reward_totals([(self._reader.truth, self._stops_at_ends)])[0])

    @cached_property
    def _optimum(self) -> Policies:
        """The objective policies."""
        lowest = np.repeat(self.world.allowed.argmax(axis=0), LANES).astype(np.int32)
        lowest_actions = np.tile(lowest, (-(-self.n_states // LANES), 1))
        start = Policies(lowest_actions, np.empty((0, 0)), np.empty((0, 0)))
        optimum = self._navigate(self._reader.truth, self._discounted(self._stops_at_ends), start)
        return optimum._replace(times=optimum.times[0])

    @cached_property
    def _walk(self) -> Block:
        """Scratch for navigation in the true world; every call copies it, so that threads do not share it."""
        ends = self._ends._replace(terminal=np.empty(0, dtype=np.int64))
        truth = Chain(self._truth.graph, self._discounted(self._truth.weight))
        return Block.of(new_walk(truth, self._reader.truth.elimination, ends))

    @cached_property
    def _ledger(self) -> Block:
        """Scratch for rewards; every call copies it."""
        return Block.of(new_ledger(self.n_states, self.n_actions))

    @cached_property
    def _true_chain(self) -> Block:
        """The true world, without transitions out of terminal states."""
        return Block.of(Chain(self._truth.graph, read_only(self._stops_at_ends[0])))

    @cached_property
    def _starts(self) -> slice | IntArray:
        """The states over which losses are averaged: every state that is not terminal."""
        is_terminal = self.world.episodes.is_terminal
        return np.flatnonzero(~is_terminal) if is_terminal.any() else slice(None)

    def _discounted(self, weights: FloatArray) -> FloatArray:
        """Return transition probabilities times gamma: a walk ends at every step with probability 1 - gamma."""
        return weights if self.gamma == 1.0 else read_only(weights * self.gamma)

    def _navigation_times(self, batches: Iterable[tuple[Layout, FloatArray]], horizon: int | None = None) -> FloatArray:
        if horizon is not None:
            n_steps, cost = check_count("horizon", horizon, 0), np.full((self.n_states, self.n_states), -1.0)
            totals = [self._collect(layout, weights, cost, n_steps, self.n_states) for layout, weights in batches]
            return np.asarray(-np.concatenate(totals).transpose(0, 2, 1))
        discounted = ((layout, self._discounted(weights)) for layout, weights in batches)
        blocks = [self._navigate(layout, weights, self._optimum).times for layout, weights in through_hubs(discounted)]
        return np.asarray(unpack_lanes(np.concatenate(blocks), self.n_states).transpose(0, 2, 1))

    def _reward_totals(self, batches: Iterable[tuple[Layout, FloatArray]]) -> FloatArray:
        rewards = self._given_rewards
        return np.concatenate([self._collect(layout, weights, rewards, self._n_steps) for layout, weights in batches])

    def _navigation_loss(self, batches: Iterable[tuple[Layout, FloatArray]], horizon: int | None = None) -> FloatArray:
        if horizon is None:
            best = self.best_times
        else:
            best = self._navigation_times([(self._reader.truth, self._stops_at_ends)], horizon)[0]
        lost = self._navigation_times(batches, horizon) - best
        return np.asarray(lost[:, self._starts].mean(axis=(1, 2)))

    def _reward_loss(self, batches: Iterable[tuple[Layout, FloatArray]], over: Over = "mean") -> FloatArray:
        lost = (self.best_totals - self._reward_totals(batches))[:, :, self._starts]
        return np.asarray(lost.mean(axis=(1, 2)) if over == "mean" else lost.mean(axis=2).max(axis=1))

    def _navigate(self, layout: Layout, weights: FloatArray, start: Policies) -> Policies:
        """Compute the navigation policies of K models; see `berlyne.engine.tasks.navigate`.

        Parameters
        ----------
        layout : Layout
            Structure that the models share.
        weights : ndarray of shape (K, ...)
            Transition probabilities of each model.
        start : Policies
            The policies from which policy iteration starts. They always arrive if no true transition is impossible
            under the model. They do not affect the result.

        Returns
        -------
        Policies
            The policies of the last model, and the times (K, B, N 12) of all models.
        """
        n_blocks, size = len(start.actions), len(layout.graph.start) * LANES
        times, taken = np.zeros((len(weights), *start.actions.shape)), np.empty((n_blocks, size * self.n_actions))
        policies = Policies(np.empty((n_blocks, size), dtype=np.int32), taken, times)
        models = Block.of(ChainBatch(layout.graph, read_only(weights)))
        if layout.search is None:
            layout.search = Block.of(new_search(layout.elimination, self._ends, self.n_actions))
        search, walk = layout.search.copy(), self._walk.copy()
        call(navigate, models, search, walk, Block.around(start), Block.around(policies), self.cap, self._lowest)
        return policies

    @property
    def _given_rewards(self) -> FloatArray:
        if self.rewards is None:
            raise ValueError("these tasks have no rewards; create them as Tasks(world, rewards)")
        return self.rewards

    def _collect(
        self, layout: Layout, weights: FloatArray, rewards: FloatArray, n_steps: int, n_targets: int = 0
    ) -> FloatArray:
        """Compute the expected total reward of K models, `(K, R, N)`; see `berlyne.engine.tasks.collect`."""
        blocks = pack_lanes(rewards)
        totals = np.empty((len(weights), *blocks.shape))
        models = Block.of(ChainBatch(layout.graph, read_only(weights)))
        call(
            collect,
            models,
            self._true_chain,
            self._ledger.copy(),
            Block.around(Rewards(blocks, totals, np.arange(n_targets), self.world.terminal, self._allowed)),
            n_steps,
            self.gamma,
            self._lowest,
        )
        return unpack_lanes(totals, len(rewards))


def _number_of_steps(horizon: float, gamma: float) -> int:
    """Return the horizon, or the number of steps after which the discount of a step is negligible."""
    if horizon != math.inf:
        return int(horizon)
    if gamma == 1.0:
        raise ValueError("horizon is inf and gamma is 1; an infinite horizon needs a gamma below 1")
    return math.ceil(math.log(NEGLIGIBLE) / math.log(gamma))


def _checked_rewards(rewards: FloatArray, n_states: int) -> FloatArray:
    """Return a read-only copy of rewards `(R, N)`, or raise a `ValueError`."""
    array = np.array(rewards, dtype=np.float64)
    if array.ndim != 2 or array.shape[1] != n_states or not len(array) or not np.all(np.isfinite(array)):
        raise ValueError(f"rewards have shape {array.shape}; they must be finite numbers (n_structures, {n_states})")
    return read_only(array)
