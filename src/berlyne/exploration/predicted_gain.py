"""Whether predicted information gain predicts the information gained (Sec. 3.1, Fig. 2).

Every row of a world is observed again and again. Before each observation stands the explorer's prediction,
PIG (Eq. 11); after it, what the observation really did to the missing information (Eq. 10). Theorem 2 says
that the two agree on average, over worlds as well as over outcomes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from berlyne.engine.environment import new_truth
from berlyne.engine.initial_belief import new_belief
from berlyne.engine.prediction import observe_rows
from berlyne.engine.row_beliefs import is_compiled_prior
from berlyne.models.internal_model import InternalModel
from berlyne.priors import PRIORS
from berlyne.validation import FloatArray, Seed, check_count, generator
from berlyne.worlds.world import World


@dataclass(frozen=True, eq=False)
class Gains:
    """PIG and realised gain in bits, after 0, 1, ... observations of a row; averages over all rows and trials.

    pig, gain : (n_obs,), means.
    pig_sq, gain_sq : (n_obs,), means of squares: averaged over worlds they give the standard deviation over
        all worlds, rows and trials, which Fig. 2 draws.
    n_samples : how many rows and trials each is an average of.
    """

    pig: FloatArray
    gain: FloatArray
    pig_sq: FloatArray
    gain_sq: FloatArray
    n_samples: int


def pig_against_gain(world: World, n_obs: int = 20, n_trials: int = 50, seed: Seed = 0) -> Gains:
    """Predicted and realised gain of successive observations of every row of a world.

    Paper: Sec. 3.1, Fig. 2; reading R2. In each trial a row is observed `n_obs` times; entry k is about the
    observation made after k others.

    Parameters
    ----------
    world : with a prior that is compiled: those of the paper are.
    n_obs, n_trials : observations of a row in a trial, and trials of each row.
    seed : int, `SeedSequence` or `Generator`.
    """
    n_rows = world.n_states * world.n_actions
    shape = (n_rows, check_count("n_trials", n_trials, 1), check_count("n_obs", n_obs, 1))
    sums = _sums(world, generator(seed).random(shape))
    pig, gain, pig_sq, gain_sq = sums / (n_rows * n_trials)
    return Gains(pig, gain, pig_sq, gain_sq, n_rows * n_trials)


def _sums(world: World, u: FloatArray) -> FloatArray:
    if not is_compiled_prior(world.prior):
        raise ValueError(f"the world has the prior {world.prior!r}; gains are known for {' and '.join(PRIORS)} only")
    model = InternalModel(world.prior)  # type: ignore[arg-type]  # `is_compiled_prior` has refused None
    belief, sums = new_belief(model, "PIG", world), np.zeros((4, u.shape[-1]))
    if not observe_rows(belief, new_truth(world, model, belief.graph), u, sums):
        raise ValueError("the world did what its prior calls impossible")
    return sums
