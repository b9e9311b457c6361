"""Compare predicted information gain with realised information gain (Sec. 3.1, Fig. 2).

Every row of a world is observed repeatedly. For each observation, the prediction is PIG (Eq. 11), and the
realised gain is the decrease of the missing information (Eq. 10). By Theorem 2 the two agree on average,
over worlds as well as over outcomes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from berlyne.engine.agent_state import new_agent_state
from berlyne.engine.blocks import Block, call
from berlyne.engine.environment import new_truth
from berlyne.engine.prediction import Trials, observe_rows
from berlyne.engine.row_beliefs import is_compiled_prior
from berlyne.labels import IMPOSSIBLE_TRANSITION
from berlyne.models.internal_model import InternalModel
from berlyne.priors import PRIORS
from berlyne.strategies.choice import ChoiceRule
from berlyne.strategies.coordination import UniformChoice
from berlyne.validation import FloatArray, Seed, check_count, generator
from berlyne.worlds.world import World


@dataclass(frozen=True, eq=False)
class Gains:
    """PIG and realised gain in bits, after 0, 1, ... observations of a row; averages over all rows and trials.

    Attributes
    ----------
    pig, gain : ndarray of shape (n_obs,)
        Means, in bits.
    pig_sq, gain_sq : ndarray of shape (n_obs,)
        Means of squares. Averaged over worlds, they give the standard deviation over all worlds, rows and trials,
        which Fig. 2 shows.
    n_samples : int
        Number of samples in each average: rows times trials.
    """

    pig: FloatArray
    gain: FloatArray
    pig_sq: FloatArray
    gain_sq: FloatArray
    n_samples: int


def pig_against_gain(world: World, n_obs: int = 20, n_trials: int = 50, seed: Seed = 0) -> Gains:
    """Compute predicted and realised gain of successive observations of every row of a world, in bits.

    Paper: Sec. 3.1, Fig. 2; reading R2. In each trial a row is observed `n_obs` times; entry k is the
    observation made after k others.

    Parameters
    ----------
    world : World
        A world with a compiled prior; those of the paper are compiled.
    n_obs : int
        Number of observations of a row in a trial.
    n_trials : int
        Number of trials for each row.
    seed : int, SeedSequence or Generator
        Seed for the outcomes.

    Returns
    -------
    Gains
        Averages over all rows and trials.
    """
    n_rows = world.n_states * world.n_actions
    shape = (n_rows, check_count("n_trials", n_trials, 1), check_count("n_obs", n_obs, 1))
    sums = _sums(world, generator(seed).random(shape))
    pig, gain, pig_sq, gain_sq = sums / (n_rows * n_trials)
    return Gains(pig, gain, pig_sq, gain_sq, n_rows * n_trials)


def _sums(world: World, u: FloatArray) -> FloatArray:
    """Return the sums of PIG, gain and their squares over rows and trials, (4, n_obs); `u` are the uniforms."""
    if not is_compiled_prior(world.prior):
        kinds = " and ".join(PRIORS)
        raise ValueError(f"the world has the prior {world.prior!r}; gains can be computed only for {kinds}")
    model = InternalModel(world.prior)  # type: ignore[arg-type]  # `is_compiled_prior` has refused None
    agent, sums = new_agent_state(model, "PIG", None, UniformChoice(), ChoiceRule(), world), np.zeros((4, u.shape[-1]))
    truth = new_truth(world, model, agent)
    if not call(observe_rows, agent, truth, Block.around(Trials(u, sums))):
        raise ValueError(IMPOSSIBLE_TRANSITION)
    return sums
