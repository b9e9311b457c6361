"""Whether predicted information gain predicts the information gained (Sec. 3.1, Fig. 2).

Every row of a world is observed again and again. Before each observation stands the explorer's prediction,
PIG (Eq. 11); after it, what the observation really did to the missing information (Eq. 10). Theorem 2 says
that the two agree on average, over worlds as well as over outcomes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from berlyne.arrays import FloatArray, Seed, check_count, generator
from berlyne.priors import Dirichlet, OneTwoThree
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
    world : with a prior of the paper, `Dirichlet` or `OneTwoThree`.
    n_obs, n_trials : observations of a row in a trial, and trials of each row.
    seed : int, `SeedSequence` or `Generator`.
    """
    n_rows = world.n_states * world.n_actions
    shape = (n_rows, check_count("n_trials", n_trials, 1), check_count("n_obs", n_obs, 1))
    sums = _sums(world, generator(seed).random(shape))
    pig, gain, pig_sq, gain_sq = sums / (n_rows * n_trials)
    return Gains(pig, gain, pig_sq, gain_sq, n_rows * n_trials)


def _sums(world: World, u: FloatArray) -> FloatArray:
    from berlyne.kernels.gains import dirichlet_gains, one_two_three_gains

    rows, prior = world.rows, world.prior
    if type(prior) is Dirichlet:
        return dirichlet_gains(rows.indptr, rows.data, rows.cumulative, prior.support.sizes, prior.alpha, u)
    if type(prior) is OneTwoThree:
        tables = prior.tables
        missing = _missing_of_rows(prior)
        return one_two_three_gains(rows.indptr, rows.indices, rows.cumulative, tables.pig, missing, prior.n_actions, u)
    raise ValueError(f"the world has the prior {prior!r}; gains are known for Dirichlet and OneTwoThree only")


def _missing_of_rows(prior: OneTwoThree) -> FloatArray:
    """Missing information of a row, in bits, by what is known of it: `[a, T, first_seen, first_is_target]`.

    Targets that were seen are known exactly, so only unseen ones count. Entries that cannot occur are zero.
    """
    missing = np.zeros((prior.n_actions, prior.n_actions + 1, 2, 2))
    for a, t, first, is_target in np.ndindex(missing.shape):
        unseen_first = is_target - first  # 1 if state 0 is a target still to be seen
        unseen_others = a + 1 - t - unseen_first
        if unseen_first < 0 or unseen_others < 0 or first > t:
            continue
        with np.errstate(divide="ignore"):  # where the prior is certain that state 0 is, or is not, a target
            if unseen_first:
                missing[a, t, first, is_target] -= np.log2((a + 1) * prior.tables.p_first[a, t])
            if unseen_others:
                surprise = np.log2((a + 1) * prior.tables.p_other[a, t, first])
                missing[a, t, first, is_target] -= unseen_others * surprise
    return missing / np.arange(1, prior.n_actions + 1)[:, None, None, None]
