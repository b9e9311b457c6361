"""Values of one outcome of an action, from the change of the estimate of a row.

The utilities of the paper are expectations of these values over the outcomes that are possible under the internal
model: PIG of the information gained, PMC of the change of the mode, PLC of the L1 change (Eqs. 11, 19, 20). PEIG is the
information gained from the outcome that occurred (Eq. 18).

All functions take `after` and `now`, the estimates with and without the outcome, along the last axis. `multiplicity` is
the number of states that each entry stands for.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from berlyne.information import kl_divergence
from berlyne.priors.closed_forms import clip_rounding_noise
from berlyne.validation import FloatArray

OutcomeValue = Callable[[FloatArray, FloatArray, Any], Any]


def information_gained(after: FloatArray, now: FloatArray, multiplicity: Any) -> Any:
    """D(after || now), in bits; the direction is that of the proof of Theorem 2 (reading R2)."""
    return kl_divergence(after * multiplicity, now * multiplicity)


def mode_change(after: FloatArray, now: FloatArray, multiplicity: Any) -> Any:
    """Increase of the largest probability (Eq. 19)."""
    present = np.asarray(multiplicity) > 0
    return np.where(present, after, 0.0).max(axis=-1) - np.where(present, now, 0.0).max(axis=-1)


def l1_change(after: FloatArray, now: FloatArray, multiplicity: Any) -> Any:
    """Mean absolute change of a probability (Eq. 20)."""
    return np.sum(multiplicity * np.abs(after - now), axis=-1) / np.sum(multiplicity)


OUTCOME_VALUE: dict[str, OutcomeValue] = {"PIG": information_gained, "PMC": mode_change, "PLC": l1_change}
"""Outcome values by the utility that is their expectation."""


def expected_outcome_value(name: str, theta_hat: FloatArray, theta_hat_after: FloatArray) -> float:
    """Expected value of one outcome: PIG in bits, PMC or PLC.

    Parameters
    ----------
    name : {"PIG", "PMC", "PLC"}
        The utility.
    theta_hat : ndarray of shape (N,)
        Current estimate of a row.
    theta_hat_after : ndarray of shape (N, N)
        Row `s_star` is the estimate after observing `s_star`.

    Returns
    -------
    float
        At least 0; values as small as the rounding errors of probabilities are set to 0.
    """
    expected = np.dot(theta_hat, OUTCOME_VALUE[name](theta_hat_after, theta_hat, np.ones(len(theta_hat))))
    return float(clip_rounding_noise(expected, theta_hat.max()))
