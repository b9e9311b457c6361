"""Entropy, divergence, missing information and information gain, all in bits.

Paper: Sec. 2.2. How much an explorer still has to learn is the *missing information*
(Eq. 2, `eq:IM`): the divergence of its internal model from the world, summed over all
transition distributions. What an observation teaches is its decrease, the *information gain*
(Eq. 10, `eq:IG`). The sums run over the last axis; `0 log 0` counts as zero.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from berlyne.validation import FloatArray


def entropy(p: ArrayLike) -> Any:
    r"""Shannon entropy of distributions along the last axis, in bits.

    $$H(p) = -\sum_i p_i \log_2 p_i$$

    Paper: Sec. 3.4. `p` is `(..., N)`; the result is `(...)`, between 0 and log2 N.
    """
    p = np.asarray(p, dtype=float)
    return -np.sum(p * np.log2(np.where(p > 0, p, 1.0)), axis=-1)


def kl_divergence(p: ArrayLike, q: ArrayLike) -> Any:
    r"""Kullback-Leibler divergence D(p || q) along the last axis, in bits.

    $$D(p \Vert q) = \sum_i p_i \log_2 \frac{p_i}{q_i}$$

    Paper: Sec. 2.2. Zero if and only if p equals q; infinite where q excludes what p allows.
    `p` and `q` are `(..., N)` and broadcast against each other.
    """
    p, q = np.broadcast_arrays(np.asarray(p, dtype=float), np.asarray(q, dtype=float))
    possible = p > 0
    with np.errstate(divide="ignore"):
        ratio = np.log2(np.where(possible, p, 1.0)) - np.log2(np.where(possible, q, 1.0))
    return np.sum(np.where(possible, p * ratio, 0.0), axis=-1)


def missing_information(theta: ArrayLike, theta_hat: ArrayLike) -> float:
    r"""Missing information of an internal model about a world, in bits.

    $$I_M = \sum_{a,s} D(\Theta_{a,s} \Vert \hat\Theta_{a,s})$$

    Paper: Eq. 2 (`eq:IM`). The sum over all rows of D(theta || theta_hat).
    For large worlds see `InternalModel.missing_information`, which never makes dense arrays.

    Parameters
    ----------
    theta, theta_hat : (M, N, N) or any (..., N); rows along the last axis.

    Returns
    -------
    float >= 0; infinite if the model excludes a transition that the world allows.
    """
    return float(np.sum(kl_divergence(theta, theta_hat)))


def information_gain(theta: ArrayLike, theta_hat: ArrayLike, theta_hat_after: ArrayLike) -> float:
    r"""Decrease of missing information from `theta_hat` to `theta_hat_after`, in bits.

    $$I_G = \sum_{a,s,s'} \Theta_{a,s,s'} \log_2 \frac{\hat\Theta^{after}_{a,s,s'}}{\hat\Theta_{a,s,s'}}$$

    Paper: Eq. 10 (`eq:IG`), third line.
    A surprising observation can make it negative. Shapes as in `missing_information`.
    """
    theta_, before, after = (np.asarray(x, dtype=float) for x in (theta, theta_hat, theta_hat_after))
    possible = theta_ > 0
    with np.errstate(divide="ignore"):
        ratio = np.log2(np.where(possible, after, 1.0)) - np.log2(np.where(possible, before, 1.0))
    return float(np.sum(np.where(possible, theta_ * ratio, 0.0)))


def l1_distance(theta: ArrayLike, theta_hat: ArrayLike) -> float:
    r"""Sum over all rows of |theta - theta_hat|, between 0 and 2 per row.

    $$\sum_{a,s,s'} |\Theta_{a,s,s'} - \hat\Theta_{a,s,s'}|$$

    Paper: Sec. 3.6 (Fig. S4), the other yardstick of learning. Shapes as in `missing_information`.
    """
    difference: FloatArray = np.asarray(theta, dtype=float) - np.asarray(theta_hat, dtype=float)
    return float(np.sum(np.abs(difference)))
