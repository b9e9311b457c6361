"""Explore with an unknown concentration of the prior (Sec. 4.1, Fig. S5).

The explorer knows which transitions are possible, and that rows are drawn from a symmetric Dirichlet distribution,
but not the concentration. It uses the concentration with the maximum likelihood, given its observations.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from berlyne.agents.compiled_agent import CompiledAgent, can_compile
from berlyne.engine.blocks import Block, call
from berlyne.engine.learned_prior import explore_learning, new_refitting, with_own_table
from berlyne.engine.loop import Draws
from berlyne.engine.records import RunRecord
from berlyne.exploration.explore import initial_measures
from berlyne.exploration.streams import streams
from berlyne.frozen import FrozenArrays
from berlyne.labels import IMPOSSIBLE_TRANSITION
from berlyne.models.internal_model import InternalModel
from berlyne.priors import Dirichlet
from berlyne.priors.dirichlet import MAX_ALPHA, MIN_ALPHA
from berlyne.priors.fitting import check_bounds
from berlyne.sparse import Counts
from berlyne.strategies.registry import Strategy, get_strategy
from berlyne.strategies.utilities import UTILITIES
from berlyne.validation import FloatArray, IndexArray, Seed, check_count, check_number
from berlyne.worlds.episodes import draw_initial_state
from berlyne.worlds.world import World

BOUNDS = (1e-3, 1e3)
"""Range of the concentration, as in `berlyne.fit_alpha`."""


class Schedule(NamedTuple):
    """When to use a new estimate of the concentration.

    Attributes
    ----------
    always : int
        Number of first steps after each of which the new estimate is used.
    tolerance : float
        After these steps, relative difference from the concentration in use above which the new estimate is used.
    """

    always: int = 200
    tolerance: float = 1e-3


DEFAULT_SCHEDULE = Schedule()


@dataclass(frozen=True, eq=False)
class LearnedRun(FrozenArrays):
    """One exploration in which the concentration was learned.

    Attributes
    ----------
    world : World
        The world.
    strategy : Strategy
        The strategy.
    missing_information, l1_distance : ndarray of shape (n_steps + 1,)
        Missing information (bits) and L1 distance of the estimate, with the concentration in use at that time.
    alpha : ndarray of shape (n_steps + 1,)
        The concentration in use.
    states : ndarray of shape (n_steps + 1,)
        States, as in `berlyne.Run`.
    actions, next_states : ndarray of shape (n_steps,)
        Actions and their outcomes, as in `berlyne.Run`.
    counts : Counts
        All observed transitions.
    """

    world: World
    strategy: Strategy
    missing_information: FloatArray = field(repr=False)
    l1_distance: FloatArray = field(repr=False)
    alpha: FloatArray = field(repr=False)
    states: IndexArray = field(repr=False)
    actions: IndexArray = field(repr=False)
    next_states: IndexArray = field(repr=False)
    counts: Counts = field(repr=False)

    @property
    def model(self) -> InternalModel:
        """The internal model at the end, with the last concentration."""
        prior = self.world.prior
        assert isinstance(prior, Dirichlet)
        row = self.states[:-1].astype(np.int64) * self.world.n_actions + self.actions
        last = dict(zip(row.tolist(), self.next_states.tolist(), strict=True))
        return InternalModel.from_counts(Dirichlet(float(self.alpha[-1]), prior.support), self.counts, last)


def explore_learning_alpha(
    world: World,
    strategy: str | Strategy = "PIG(VI)",
    n_steps: int = 1000,
    seed: Seed = 0,
    *,
    start_alpha: float = 1.0,
    bounds: tuple[float, float] = BOUNDS,
    refit: Schedule | None = DEFAULT_SCHEDULE,
) -> LearnedRun:
    """Explore a world while learning the concentration of the Dirichlet prior by maximum likelihood.

    Paper: Sec. 4.1, Fig. S5; reading R24. After every step, the concentration inside `bounds` with the maximum
    likelihood of all observations is computed (as by `berlyne.fit_alpha`). When a new concentration is used, all
    estimates and utilities are recomputed.

    Parameters
    ----------
    world : World
        A world with a `Dirichlet` prior. The explorer uses the support of the prior, but not its concentration.
    strategy : str or Strategy
        Any built-in strategy except those with PEIG, which values past gains.
    n_steps : int
        Number of actions to take, as in `berlyne.explore`.
    seed : int, SeedSequence or Generator
        Seed, as in `berlyne.explore`. That function takes the same actions if `start_alpha` is the true concentration
        and `refit` is None.
    start_alpha : float
        Concentration used until a row with several possible outcomes has been observed twice.
    bounds : tuple of float
        Lower and upper bound of the concentration.
    refit : Schedule or None
        When to use a new estimate; None to keep `start_alpha`.

    Returns
    -------
    LearnedRun
        The path, and the concentration and missing information at every step.
    """
    strategy, prior = get_strategy(strategy), world.prior
    realised = isinstance(strategy.utility, str) and UTILITIES[strategy.utility].realised
    if not isinstance(prior, Dirichlet) or not can_compile(prior, strategy) or realised:
        raise ValueError(
            f"the concentration cannot be learned with {prior!r} and {strategy}; "
            "use a Dirichlet prior and a built-in strategy without PEIG"
        )
    if len(world.terminal):
        raise ValueError("the concentration cannot be learned in a world with terminal states; use with_resets()")
    check_bounds(bounds, MIN_ALPHA, MAX_ALPHA)
    alpha = check_number("start_alpha", start_alpha, MIN_ALPHA, MAX_ALPHA)
    n_steps = check_count("n_steps", n_steps, 0)
    assumed = world.with_prior(Dirichlet(alpha, prior.support))
    for_start, for_agent, for_world, _ = streams(seed)
    model = InternalModel(assumed.prior)  # type: ignore[arg-type]  # set above
    record = RunRecord.allocate(n_steps, draw_initial_state(world, None, for_start), *initial_measures(assumed, model))
    agent = CompiledAgent(model, strategy, assumed)
    u = for_agent.random((n_steps, 2))
    if strategy.ties == "first":
        u[:, 0] = 0.0
    alphas = np.full(n_steps + 1, alpha)
    if refit is not None:
        agent.block = with_own_table(agent.block)
        refitting = _make_refitting(agent, world, alphas, (float(bounds[0]), float(bounds[1])), refit)
        draws = Draws(u, for_world.random(n_steps), np.empty(0))
        blocks = agent.block, agent.truth(assumed), Block.around(record), Block.around(draws), refitting
        made = call(explore_learning, *blocks)
        alphas = refitting.record.alphas.copy()
    else:
        made = agent.run(assumed, record, u, for_world.random(n_steps))
    if made != n_steps:
        raise ValueError(f"step {made}: {IMPOSSIBLE_TRANSITION}")
    missing, l1 = np.maximum(record.missing, 0.0), np.maximum(record.l1, 0.0)
    return LearnedRun(
        world, strategy, missing, l1, alphas, record.states, record.actions, record.outcomes, agent.counts()
    )


def _make_refitting(
    agent: CompiledAgent, world: World, alphas: FloatArray, bounds: tuple[float, float], schedule: Schedule
) -> Block:
    prior: Any = agent.prior
    always = check_count("always", schedule.always, 0)
    tolerance = check_number("tolerance", schedule.tolerance, 0.0, 1e6)
    entropy = -float(np.sum(world.rows.data * np.log2(world.rows.data)))
    return new_refitting(agent.block, prior, alphas, *bounds, always, tolerance, entropy)
