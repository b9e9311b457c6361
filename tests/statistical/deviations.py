"""Distances in standard errors. Seeds are fixed, so a test that passes once passes always."""

import numpy as np

MANY = 4.0
"""Standard errors that no mean may be away from its expectation."""


def z_of_mean(values, expected):
    values = np.asarray(values, dtype=float)
    return (values.mean() - expected) / (values.std(ddof=1) / np.sqrt(len(values)))


def z_of_frequency(n_hits, n_trials, p):
    return (np.asarray(n_hits) - n_trials * p) / np.sqrt(n_trials * p * (1 - p))
