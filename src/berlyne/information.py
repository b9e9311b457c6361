"""Entropy, divergence, missing information and information gain, all in bits.

Paper: Sec. 2.2. The *missing information* (Eq. 2, `eq:IM`) measures how much an explorer still has to learn. It is the
divergence of the internal model from the world, summed over all transition distributions. The *information gain* of an
observation (Eq. 10, `eq:IG`) is the decrease of the missing information. Sums run over the last axis. `0 log 0` is
zero.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from berlyne.validation import FloatArray


def entropy(p: ArrayLike) -> Any:
    r"""Shannon entropy of distributions along the last axis, in bits.

    $$H(p) = -\sum_i p_i \log_2 p_i$$

    Paper: Sec. 3.4.

    Parameters
    ----------
    p : array_like of shape (..., N)
        Probabilities that sum to 1 along the last axis.

    Returns
    -------
    ndarray of shape (...) or float
        Between 0 and log2 N.
    """
    p = np.asarray(p, dtype=float)
    return -np.sum(p * np.log2(np.where(p > 0, p, 1.0)), axis=-1)


def kl_divergence(p: ArrayLike, q: ArrayLike) -> Any:
    r"""Kullback-Leibler divergence D(p || q) along the last axis, in bits.

    $$D(p \Vert q) = \sum_i p_i \log_2 \frac{p_i}{q_i}$$

    Paper: Sec. 2.2.

    Parameters
    ----------
    p, q : array_like of shape (..., N)
        Probabilities that sum to 1 along the last axis; the shapes are broadcast.

    Returns
    -------
    ndarray of shape (...) or float
        At least 0; zero if and only if p equals q, infinite if an outcome has zero probability under q but not under p.
    """
    p, q = np.broadcast_arrays(np.asarray(p, dtype=float), np.asarray(q, dtype=float))
    possible = p > 0
    with np.errstate(divide="ignore"):
        ratio = np.log2(np.where(possible, p, 1.0)) - np.log2(np.where(possible, q, 1.0))
    return np.sum(np.where(possible, p * ratio, 0.0), axis=-1)


def missing_information(theta: ArrayLike, theta_hat: ArrayLike) -> float:
    r"""Missing information of an internal model about a world, in bits.

    $$I_M = \sum_{a,s} D(\Theta_{a,s} \Vert \hat\Theta_{a,s})$$

    Paper: Eq. 2 (`eq:IM`). The sum of D(theta || theta_hat) over all rows.
    For large worlds use `InternalModel.missing_information`, which creates no dense arrays.

    Parameters
    ----------
    theta : array_like of shape (M, N, N), or (..., N)
        The world; rows along the last axis.
    theta_hat : array_like of the same shape
        The internal model.

    Returns
    -------
    float
        At least 0; infinite if the model excludes a transition that the world allows.
    """
    return float(np.sum(kl_divergence(theta, theta_hat)))


def information_gain(theta: ArrayLike, theta_hat: ArrayLike, theta_hat_after: ArrayLike) -> float:
    r"""Decrease of missing information from `theta_hat` to `theta_hat_after`, in bits.

    $$I_G = \sum_{a,s,s'} \Theta_{a,s,s'} \log_2 \frac{\hat\Theta^{after}_{a,s,s'}}{\hat\Theta_{a,s,s'}}$$

    Paper: Eq. 10 (`eq:IG`), third line.

    Parameters
    ----------
    theta : array_like of shape (M, N, N), or (..., N)
        The world; rows along the last axis.
    theta_hat, theta_hat_after : array_like of the same shape
        The internal model before and after the observation.

    Returns
    -------
    float
        Negative if the observation increased the missing information, as a surprising one can.
    """
    theta_, before, after = (np.asarray(x, dtype=float) for x in (theta, theta_hat, theta_hat_after))
    possible = theta_ > 0
    with np.errstate(divide="ignore"):
        ratio = np.log2(np.where(possible, after, 1.0)) - np.log2(np.where(possible, before, 1.0))
    return float(np.sum(np.where(possible, theta_ * ratio, 0.0)))


def l1_distance(theta: ArrayLike, theta_hat: ArrayLike) -> float:
    r"""L1 distance between a world and an internal model.

    $$\sum_{a,s,s'} |\Theta_{a,s,s'} - \hat\Theta_{a,s,s'}|$$

    Paper: Sec. 3.6 (Fig. S4), the second measure of learning besides missing information.

    Parameters
    ----------
    theta : array_like of shape (M, N, N), or (..., N)
        The world; rows along the last axis.
    theta_hat : array_like of the same shape
        The internal model.

    Returns
    -------
    float
        Between 0 and 2 for each row.
    """
    difference: FloatArray = np.asarray(theta, dtype=float) - np.asarray(theta_hat, dtype=float)
    return float(np.sum(np.abs(difference)))
