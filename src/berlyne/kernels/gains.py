"""Predicted and realised information gain of successive observations of single rows (Fig. 2)."""

from __future__ import annotations

import math

import numpy as np

from berlyne.arrays import FloatArray, IndexArray, IntArray
from berlyne.kernels.belief import LN2
from berlyne.kernels.compile import inlined, kernel
from berlyne.kernels.loop import draw

PIG, GAIN, PIG_SQUARE, GAIN_SQUARE = 0, 1, 2, 3


@inlined
def add(sums: FloatArray, k: int, pig: float, gain: float) -> None:
    """Count one prediction and what came of it, in bits, into the sums of the k-th observation."""
    sums[PIG, k] += pig
    sums[GAIN, k] += gain
    sums[PIG_SQUARE, k] += pig * pig
    sums[GAIN_SQUARE, k] += gain * gain


@kernel
def dirichlet_gains(
    indptr: IntArray, data: FloatArray, cumulative: FloatArray, sizes: IntArray, alpha: float, u: FloatArray
) -> FloatArray:
    """Sums over rows and trials, `(4, n_obs)`: PIG, gain, and their squares.

    indptr, data, cumulative : the true rows, as in `Rows`.
    sizes : (rows,), how many states each row can reach for all the explorer knows.
    u : (rows, n_trials, n_obs), uniform numbers.

    With c = alpha + n, PIG is a sum over the support of c (c + 1) log(1 + 1/c), of which one observation changes
    one term; the gain is theta log(1 + 1/c) - log(1 + 1/kappa).
    """
    n_rows, n_trials, n_obs = u.shape
    c = alpha + np.arange(n_obs + 1)
    log_c = np.log1p(1.0 / c)
    term = c * (c + 1.0) * log_c
    log_kappa, scale = np.empty(n_obs), np.empty(n_obs)
    n = np.zeros(np.max(indptr[1:] - indptr[:-1]), dtype=np.int64)
    sums = np.zeros((4, n_obs))
    for r in range(n_rows):
        for k in range(n_obs):
            kappa = alpha * sizes[r] + k
            log_kappa[k] = math.log1p(1.0 / kappa)
            scale[k] = 1.0 / (kappa * (kappa + 1.0))
        for trial in range(n_trials):
            n[:] = 0
            total = sizes[r] * term[0]
            for k in range(n_obs):
                e = draw(indptr, cumulative, r, u[r, trial, k])
                seen = n[e - indptr[r]]
                pig = max(total * scale[k] - log_kappa[k], 0.0)
                add(sums, k, pig / LN2, (data[e] * log_c[seen] - log_kappa[k]) / LN2)
                total += term[seen + 1] - term[seen]
                n[e - indptr[r]] = seen + 1
    return sums


@kernel
def one_two_three_gains(
    indptr: IntArray,
    indices: IndexArray,
    cumulative: FloatArray,
    pig: FloatArray,
    missing: FloatArray,
    n_actions: int,
    u: FloatArray,
) -> FloatArray:
    """The same for 1-2-3 Worlds; only targets not seen before teach anything.

    pig : [a, T, first_seen], as in the tables of the prior.
    missing : [a, T, first_seen, first_is_target], missing information of a row, in bits.
    """
    n_rows, n_trials, n_obs = u.shape
    seen = np.zeros(n_actions, dtype=np.bool_)
    sums = np.zeros((4, n_obs))
    for r in range(n_rows):
        a, is_target = r % n_actions, 1 if indices[indptr[r]] == 0 else 0
        for trial in range(n_trials):
            seen[:] = False
            n_seen, first = 0, 0
            for k in range(n_obs):
                predicted, before = pig[a, n_seen, first], missing[a, n_seen, first, is_target]
                e = draw(indptr, cumulative, r, u[r, trial, k])
                if not seen[e - indptr[r]]:
                    seen[e - indptr[r]] = True
                    n_seen += 1
                    if indices[e] == 0:
                        first = 1
                add(sums, k, predicted, before - missing[a, n_seen, first, is_target])
    return sums
