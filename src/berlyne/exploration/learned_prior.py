"""Exploring without being told the concentration of the prior (Sec. 4.1, Fig. S5).

The explorer knows which transitions are possible, and that rows are drawn from a symmetric Dirichlet distribution,
but not its concentration. It takes the one under which its observations so far are most likely.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from berlyne.agents.compiled_agent import CompiledAgent, can_compile
from berlyne.engine.learned_prior import TABLE_SIZE, Refitting, copy_prior_table, empty_histograms, explore_learning
from berlyne.engine.records import RunRecord
from berlyne.exploration.explore import initial_measures
from berlyne.exploration.streams import streams
from berlyne.frozen import FrozenArrays
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
"""Where the concentration is looked for, as in `berlyne.fit_alpha`."""


class Schedule(NamedTuple):
    """When a newly found concentration is put to use.

    always : after each of so many first steps;
    tolerance : from then on whenever it differs from the one in use by more than this share.
    """

    always: int = 200
    tolerance: float = 1e-3


DEFAULT_SCHEDULE = Schedule()


@dataclass(frozen=True, eq=False)
class LearnedRun(FrozenArrays):
    """One exploration in which the concentration was learned on the way.

    missing_information, l1_distance : (n_steps + 1,), of the estimate with the concentration then in use.
    alpha : (n_steps + 1,), that concentration.
    states : (n_steps + 1,); actions, next_states : (n_steps,); as in `berlyne.Run`.
    counts : all observations.
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
        """The internal model at the end, with the concentration learned by then."""
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
    """Explore a world with the concentration of the Dirichlet prior learned by maximum likelihood.

    Paper: Sec. 4.1, Fig. S5; reading R24. After every step the concentration inside `bounds` is found that makes all
    observations so far most likely (as `berlyne.fit_alpha` does). When it is put to use every estimate and every
    utility is worked out again.

    Parameters
    ----------
    world : with a `Dirichlet` prior, whose support the explorer is told, and whose concentration it is not.
    strategy : any strategy but those of PEIG, which value what has been rather than what is known.
    n_steps, seed : as in `berlyne.explore`, which takes the same actions if `start_alpha` is true and `refit` is None.
    start_alpha : used until a row with several possible outcomes has been observed twice.
    refit : when to put what was learned to use; None to learn no concentration at all.
    """
    strategy, prior = get_strategy(strategy), world.prior
    realised = isinstance(strategy.utility, str) and UTILITIES[strategy.utility].realised
    if not isinstance(prior, Dirichlet) or not can_compile(prior, strategy) or realised:
        raise ValueError(
            f"a concentration cannot be learned with {prior!r} and {strategy}; "
            "it takes a Dirichlet prior and a strategy of berlyne's own other than PEIG"
        )
    if len(world.terminal):
        raise ValueError(
            "the world has terminal states, which a concentration cannot be learned with; see with_resets()"
        )
    check_bounds(bounds, MIN_ALPHA, MAX_ALPHA)
    alpha = check_number("start_alpha", start_alpha, MIN_ALPHA, MAX_ALPHA)
    n_steps = check_count("n_steps", n_steps, 0)
    assumed = world.with_prior(Dirichlet(alpha, prior.support))
    for_start, for_agent, for_world, _ = streams(seed)
    model = InternalModel(assumed.prior)  # type: ignore[arg-type]  # given one line above
    record = RunRecord.allocate(n_steps, draw_initial_state(world, None, for_start), *initial_measures(assumed, model))
    agent = CompiledAgent(model, strategy, assumed)
    u = for_agent.random((n_steps, 2))
    if strategy.ties == "first":
        u[:, 0] = 0.0
    alphas = np.full(n_steps + 1, alpha)
    if refit is not None:
        refitting = _refitting(agent, world, alphas, (float(bounds[0]), float(bounds[1])), refit)
        belief, truth = copy_prior_table(agent.belief), agent.truth(assumed)
        made = explore_learning(belief, agent.choice_state, truth, record, refitting, u, for_world.random(n_steps))
    else:
        made = agent.run(assumed, record, u, for_world.random(n_steps))
    if made != n_steps:
        raise ValueError(f"the world did at step {made} what the prior calls impossible")
    missing, l1 = np.maximum(record.missing, 0.0), np.maximum(record.l1, 0.0)
    return LearnedRun(
        world, strategy, missing, l1, alphas, record.states, record.actions, record.outcomes, agent.counts()
    )


def _refitting(
    agent: CompiledAgent, world: World, alphas: FloatArray, bounds: tuple[float, float], schedule: Schedule
) -> Refitting:
    return Refitting(
        empty_histograms(agent.belief, len(alphas)),
        alphas,
        np.empty(TABLE_SIZE),
        *bounds,
        check_count("always", schedule.always, 0),
        check_number("tolerance", schedule.tolerance, 0.0, 1e6),
        -float(np.sum(world.rows.data * np.log2(world.rows.data))),
    )
