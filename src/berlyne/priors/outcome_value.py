"""What one outcome of an action is worth, judged by how it changes the estimate of a row.

The utilities of the paper are expectations of these over the outcomes that the explorer thinks possible:
PIG of the information gained, PMC of the change of mode, PLC of the L1 change (Eqs. 11, 19, 20). PEIG is the
information gained by the outcome that did occur (Eq. 18).

All take `after` and `now`, the estimates with and without the outcome, along the last axis, and `many`: how
many states each entry stands for.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from berlyne.information import kl_divergence
from berlyne.priors.closed_forms import clip_rounding_noise
from berlyne.validation import FloatArray

OutcomeValue = Callable[[FloatArray, FloatArray, Any], Any]


def information_gained(after: FloatArray, now: FloatArray, many: Any) -> Any:
    """D(after || now), in bits. The direction is that of the proof of Theorem 2 (reading R2)."""
    return kl_divergence(after * many, now * many)


def mode_change(after: FloatArray, now: FloatArray, many: Any) -> Any:
    """Rise of the largest probability (Eq. 19)."""
    present = np.asarray(many) > 0
    return np.where(present, after, 0.0).max(axis=-1) - np.where(present, now, 0.0).max(axis=-1)


def l1_change(after: FloatArray, now: FloatArray, many: Any) -> Any:
    """Mean absolute change of a probability (Eq. 20)."""
    return np.sum(many * np.abs(after - now), axis=-1) / np.sum(many)


OUTCOME_VALUE: dict[str, OutcomeValue] = {"PIG": information_gained, "PMC": mode_change, "PLC": l1_change}
"""By the utility that is its expectation."""


def expected_outcome_value(name: str, theta_hat: FloatArray, theta_hat_after: FloatArray) -> float:
    """The expectation over outcomes s_star, given `theta_hat` (N,) and `theta_hat_after` (N, N), line s_star.

    Never negative, and zero if it may be but rounding errors of probabilities.
    """
    expected = np.dot(theta_hat, OUTCOME_VALUE[name](theta_hat_after, theta_hat, np.ones(len(theta_hat))))
    return float(clip_rounding_noise(expected, theta_hat.max()))
